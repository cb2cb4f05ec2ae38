package main

const about = `One source for what AI-agent modes and roles may do, compiled into every agent's own configuration.

Exit codes: 0 clean; 1 findings, drift or denied; 2 usage or environment.`

// globals are the flags of every command.
type globals struct {
	Dir     string `short:"C" name:"dir" placeholder:"DIR" default:"." help:"Project folder: the one that holds modec.toml."`
	Format  string `enum:"text,json,markdown,sarif,github" default:"text" help:"Form of the output: text or json; for diff markdown and github too, for lint sarif and github."`
	JSON    bool   `name:"json" help:"Short for --format=json."`
	Color   string `enum:"auto,always,never" default:"auto" help:"Colour: auto (on a terminal, unless NO_COLOR is set), always or never."`
	Quiet   bool   `short:"q" help:"Print results and errors only."`
	Verbose bool   `short:"v" help:"Print every artifact and every loss."`
}

// cli is the grammar of the command line.
type cli struct {
	globals

	Init       initCmd       `cmd:"" help:"Write a project that builds at once."`
	Migrate    migrateCmd    `cmd:"" help:"Import what the agents' own files say into a source."`
	Build      buildCmd      `cmd:"" help:"Compile the project for its targets."`
	Lint       lintCmd       `cmd:"" help:"Check the source, and suggest where it could permit less."`
	Verify     verifyCmd     `cmd:"" help:"Prove that no artifact permits more than the source."`
	Diff       diffCmd       `cmd:"" help:"Tell what changes in permissions between two sources or revisions."`
	Explain    explainCmd    `cmd:"" help:"Tell what a subject may do and which rule says so."`
	List       listCmd       `cmd:"" help:"List modes, roles, servers and tools."`
	Args       argsCmd       `cmd:"" help:"Print the arguments that start an agent as a subject."`
	Run        runCmd        `cmd:"" help:"Start an agent as a subject."`
	Install    installCmd    `cmd:"" help:"Hold the agents of your machine to a subject, in your home folder."`
	Uninstall  uninstallCmd  `cmd:"" help:"Take out again what install put into your home folder."`
	Cursor     cursorCmd     `cmd:"" help:"Check and edit Cursor's list of MCP tools."`
	Serve      serveCmd      `cmd:"" help:"Serve the compiled project over the Model Context Protocol."`
	Hook       hookCmd       `cmd:"" help:"Answer an agent's hook from the compiled policy."`
	Targets    targetsCmd    `cmd:"" help:"List the targets, their artifacts and options."`
	Schema     schemaCmd     `cmd:"" help:"Print the schema of the source or of modec.toml."`
	Doctor     doctorCmd     `cmd:"" help:"Check the machine and the repository."`
	Fmt        fmtCmd        `cmd:"" help:"Write the CUE files of the source in CUE's own format."`
	Why        whyCmd        `cmd:"" help:"Tell which part of the source made a line of an artifact."`
	Clean      cleanCmd      `cmd:"" help:"Take out exactly what modec wrote."`
	Completion completionCmd `cmd:"" help:"Print the completion script of a shell."`
	Complete   completeCmd   `cmd:"" hidden:""`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

package main

import "github.com/alecthomas/kong"

const about = "Write down once what AI-agent modes and roles may do. " +
	"modec compiles it into every agent's own configuration and checks that no agent gets more.\n\n" +
	"`modec help` lists the topics that explain the rest.\n\n" +
	"Exit codes: 0 success; 1 findings, drift or denied; 2 usage or environment; 130 interrupted."

// cli is the grammar of the command line.
type cli struct {
	globals `group:"global"`

	Init    initCmd    `cmd:"" group:"start" help:"Create a project that builds at once."`
	Migrate migrateCmd `cmd:"" group:"start" help:"Turn the agents' files of a repository into a source."`

	Build  buildCmd  `cmd:"" group:"build" help:"Write every agent's files from the source."`
	Lint   lintCmd   `cmd:"" group:"build" help:"Report mistakes and needless permissions in the source."`
	Verify verifyCmd `cmd:"" group:"build" help:"Check that no agent's files permit more than the source."`
	Diff   diffCmd   `cmd:"" group:"build" help:"Show which permissions differ between two versions of the source."`
	Fmt    fmtCmd    `cmd:"" group:"build" help:"Format the CUE files of the source."`
	Clean  cleanCmd  `cmd:"" group:"build" help:"Remove everything that builds wrote."`
	Eject  ejectCmd  `cmd:"" group:"build" help:"Leave the agents' files to the team, without modec."`

	Show      showCmd      `cmd:"" group:"ask" help:"Show what modes and roles may do, and what holds them to it."`
	Explain   explainCmd   `cmd:"" group:"ask" help:"Show what a mode or role may do, and which rule decides."`
	Why       whyCmd       `cmd:"" group:"ask" help:"Show which part of the source caused a line of an agent's file."`
	List      listCmd      `cmd:"" group:"ask" help:"List modes, roles, servers and tools."`
	Inventory inventoryCmd `cmd:"" group:"ask" help:"Ask the MCP servers for their tools, and compare with the source."`
	Targets   targetsCmd   `cmd:"" group:"ask" help:"List the agents that modec writes for, and their options."`
	Schema    schemaCmd    `cmd:"" group:"ask" help:"Print the schema of the source, modec.toml or a JSON output."`
	Help      helpCmd      `cmd:"" group:"ask" help:"Explain a topic or a command."`

	Args      argsCmd      `cmd:"" group:"run" help:"Print the arguments that start an agent as a mode or role."`
	Run       runCmd       `cmd:"" group:"run" help:"Start an agent as a mode or role."`
	Install   installCmd   `cmd:"" group:"run" help:"Hold the agents of your home folder to a mode or role."`
	Off       offCmd       `cmd:"" group:"run" help:"Turn the hooks of the project off for a while, on the record."`
	On        onCmd        `cmd:"" group:"run" help:"Turn the hooks on again."`
	Uninstall uninstallCmd `cmd:"" group:"run" help:"Undo install."`
	Cursor    cursorCmd    `cmd:"" group:"run" help:"Check and edit Cursor's own list of MCP tools."`

	Serve   serveCmd   `cmd:"" group:"serve" help:"Serve modes, roles and permission checks over MCP."`
	Gateway gatewayCmd `cmd:"" group:"serve" help:"Serve the inventory's MCP servers as the policy says."`
	Hook    hookCmd    `cmd:"" group:"serve" help:"Answer an agent that asks before it runs a tool."`

	Doctor     doctorCmd     `cmd:"" group:"machine" help:"Look for problems of this machine and repository."`
	Completion completionCmd `cmd:"" group:"machine" help:"Print the completion script of a shell."`
	Version    versionCmd    `cmd:"" group:"machine" help:"Print the version, as --version does."`
	Complete   completeCmd   `cmd:"" group:"machine" hidden:""`
}

// groups are the headings of help, in this order.
var groups = []kong.Group{
	{Key: "start", Title: "Start:"},
	{Key: "build", Title: "Build and check:"},
	{Key: "ask", Title: "Ask:"},
	{Key: "run", Title: "Run agents:"},
	{Key: "serve", Title: "Serve agents:"},
	{Key: "machine", Title: "Machine:"},
	{Key: "subcommands", Title: "Commands:"},
	{Key: "global", Title: "Global flags:"},
}

// globals are the flags of every command.
type globals struct {
	Dir     string `short:"C" name:"dir" placeholder:"DIR" help:"The project. Default: the nearest folder upwards."`
	JSON    bool   `name:"json" help:"Print the result as JSON."`
	Color   string `enum:"auto,always,never" default:"auto" help:"auto, always or never; auto obeys NO_COLOR."`
	Quiet   bool   `short:"q" help:"Print results and errors only, no warnings."`
	Verbose bool   `short:"v" help:"Print more: every artifact, loss and verdict."`

	VersionFlag kong.VersionFlag `name:"version" hidden:""`
}

// A command that has one of these prints its result in the forms that it lists; --json
// is short for --format=json.
type (
	textOrJSON struct {
		Format string `enum:"text,json" default:"text" help:"Form of the output: text or json."`
	}
	diffForms struct {
		Format string `enum:"text,json,markdown,github" default:"text" help:"${diff_forms}"`
	}
	findingForms struct {
		Format string `enum:"text,json,sarif,github" default:"text" help:"${finding_forms}"`
	}
)

func (f textOrJSON) form() string   { return f.Format }
func (f diffForms) form() string    { return f.Format }
func (f findingForms) form() string { return f.Format }

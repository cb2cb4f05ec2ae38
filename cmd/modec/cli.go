package main

import (
	"slices"

	"github.com/alecthomas/kong"
)

const about = "Write down once what AI-agent modes and roles may do. " +
	"modec compiles it into every agent's own configuration and checks that no agent gets more.\n\n" +
	"`modec help` lists the topics that explain the rest.\n\n" +
	"Exit codes: 0 success; 1 findings, drift or denied; 2 usage or environment; 130 interrupted."

// cli is the grammar of the command line before a command.
type cli struct {
	globals `group:"global"`
}

// entry is a command of the grammar.
type entry struct {
	name, group, help string
	command           any      // a pointer to its struct
	tags              []string // more of kong's own
	reads             bool     // it reads the whole grammar
}

// commands returns the whole grammar, in the order of the help.
func commands() []entry {
	return []entry{
		{name: "init", group: "start", command: &initCmd{}, help: "Create a project that builds at once."},
		{name: "migrate", group: "start", command: &migrateCmd{},
			help: "Turn the agents' files of a repository into a source."},

		{name: "build", group: "build", command: &buildCmd{}, help: "Write every agent's files from the source."},
		{name: "lint", group: "build", command: &lintCmd{},
			help: "Report mistakes and needless permissions in the source."},
		{name: "verify", group: "build", command: &verifyCmd{},
			help: "Check that no agent's files permit more than the source."},
		{name: "diff", group: "build", command: &diffCmd{},
			help: "Show which permissions differ between two versions of the source."},
		{name: "fmt", group: "build", command: &fmtCmd{}, help: "Format the CUE files of the source."},
		{name: "clean", group: "build", command: &cleanCmd{},
			help: "Remove what builds wrote, or leave it without modec."},

		{name: "show", group: "ask", command: &showCmd{},
			help: "Show what modes and roles may do, and what holds them to it."},
		{name: "ui", group: "ask", command: &uiCmd{}, help: "Show the permissions as a page on this machine."},
		{name: "explain", group: "ask", command: &explainCmd{},
			help: "Show which rule decides an action, or what of the source made a line of an agent's file."},
		{name: "inventory", group: "ask", command: &inventoryCmd{},
			help: "Ask the MCP servers for their tools, and compare with the source."},
		{name: "targets", group: "ask", command: &targetsCmd{},
			help: "List the agents that modec writes for, and their options."},
		{name: "schema", group: "ask", command: &schemaCmd{},
			help: "Print the schema of the source, modec.toml or a JSON output.", reads: true},
		{name: "help", group: "ask", command: &helpCmd{}, help: "Explain a topic or a command.", reads: true},

		{name: "args", group: "run", command: &argsCmd{},
			help: "Print the arguments that start an agent as a mode or role."},
		{name: "run", group: "run", command: &runCmd{}, help: "Start an agent as a mode or role."},
		{name: "off", group: "run", command: &offCmd{},
			help: "Turn the hooks of the project off for a while, on the record."},
		{name: "cursor", group: "run", command: &cursorCmd{}, help: "Check and edit Cursor's own list of MCP tools."},

		{name: "serve", group: "serve", command: &serveCmd{},
			help: "Serve modes, roles and permission checks over MCP."},
		{name: "gateway", group: "serve", command: &gatewayCmd{},
			help: "Serve the inventory's MCP servers as the policy says."},
		{name: "hook", group: "serve", command: &hookCmd{}, help: "Answer an agent that asks before it runs a tool."},

		{name: "audit", group: "serve", command: &auditCmd{},
			help: "Show what was asked, allowed and refused, and check the record."},

		{name: "doctor", group: "machine", command: &doctorCmd{},
			help: "Look for problems of this machine and repository."},
		{name: "completion", group: "machine", command: &completionCmd{},
			help: "Print the completion script of a shell."},
		{name: "version", group: "machine", command: &versionCmd{}, help: "Print the version, as --version does."},
		{name: "complete", group: "machine", command: &completeCmd{}, tags: []string{`hidden:""`}, reads: true},
	}
}

// called returns the commands of which the parser of some arguments is made: the one that they call, where
// that is plain, since a parser of them all takes longer than a small build.
func called(args []string) []entry {
	all := commands()
	for _, arg := range args {
		i := slices.IndexFunc(all, func(c entry) bool { return c.name == arg && !c.reads })
		switch {
		case i >= 0:
			return all[i : i+1]
		case !slices.Contains([]string{"-q", "--quiet", "-v", "--verbose", "--json"}, arg):
			return all
		}
	}
	return all
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

// Modec compiles one source of truth for what AI-agent modes and roles may do
// into every agent's own configuration.
//
// cli.go is the grammar of the command line. Each command has a file: its flags, its
// help, the structs of its JSON output and its Run. Package report prints.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/cursor/model"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, targets.All(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program with its surroundings as arguments. It returns the exit code.
func run(ctx context.Context, all []contract.Target, args []string, stdin io.Reader, stdout, stderr io.Writer) (
	code int) {
	defer func() {
		if r := recover(); r != nil {
			c, ok := r.(kongExit)
			if !ok {
				panic(r)
			}
			code = int(c)
		}
	}()
	list := called(args)
	isCommand := func(arg string) bool { return slices.ContainsFunc(list, func(c entry) bool { return c.name == arg }) }
	said := &counting{Writer: stdout}
	if i := slices.IndexFunc(args, isCommand); i >= 0 && args[i] == "args" && !slices.Contains(args, "--json") {
		stdout = said
		defer func() { // of a command line that is wrong, too
			if code != 0 && said.n == 0 {
				fmt.Fprintln(stdout, argsFailed)
			}
		}()
	}
	var grammar cli
	parser, err := newParser(&grammar, list, all, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "modec: %v\n", err)
		return int(report.ExitUsage)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "modec: error: %v\nmodec: hint: %s\n", err, usageHint(err))
		return int(report.ExitUsage)
	}
	e, err := newEnv(ctx, all, &grammar.globals, commandOf(parsed), stdin, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "modec: error: %v\n", err)
		return int(report.ExitUsage)
	}
	if err := e.checkTargets(parsed.Flags()); err != nil {
		return e.exit(err)
	}
	return e.exit(parsed.Run(e))
}

// counting counts what is written.
type counting struct {
	io.Writer
	n int
}

func (c *counting) Write(data []byte) (int, error) {
	c.n += len(data)
	return c.Writer.Write(data)
}

// kongExit is thrown where kong would exit: after --help and --version.
type kongExit int

// newParser makes the parser of a command line that may have these commands.
func newParser(grammar *cli, list []entry, all []contract.Target, stdout, stderr io.Writer) (*kong.Kong, error) {
	options := []kong.Option{
		kong.Name("modec"),
		kong.Description(about),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(kongExit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact: true, NoExpandSubcommands: true, FlagsLast: true, WrapUpperBound: 100,
		}),
		kong.ExplicitGroups(groups),
		kong.PostBuild(globalHelp),
		kong.PostBuild(describeCommands),
		kong.PostBuild(serveVariables),
		vocabulary(all),
	}
	for _, c := range list {
		options = append(options, kong.DynamicCommand(c.name, c.help, c.group, c.command, c.tags...))
	}
	return kong.New(grammar, options...)
}

// globalHelp puts --help beside the other global flags.
func globalHelp(k *kong.Kong) error {
	help := k.Model.HelpFlag
	help.Help = "Print help."
	for _, f := range k.Model.Flags {
		if f.Group != nil {
			help.Group = f.Group
		}
	}
	return nil
}

// usageHint returns what to do about a command line that does not parse.
func usageHint(err error) string {
	var bad *kong.ParseError
	if errors.As(err, &bad) {
		if n := bad.Context.Selected(); n != nil {
			if len(n.Positional) > 0 && strings.HasPrefix(err.Error(), "unknown flag") {
				return fmt.Sprintf("an argument that begins with - stands behind --, as in `%s ... -- -x`; "+
					"`%[1]s --help` shows the flags and examples", n.FullPath())
			}
			return fmt.Sprintf("`%s --help` shows its flags and examples", n.FullPath())
		}
	}
	return "`modec --help` lists the commands"
}

// command is what was called, with the form of the output that was asked for.
type command struct {
	name string // "build", "cursor add"
	form string // one of the command's forms; "" where it has none
	// here is set for a command that works in the folder where it is called, also below a project.
	here bool
}

// inPlace is a command that does not look for the project upwards: it makes one, or is told
// where it is.
type inPlace interface{ here() }

func commandOf(parsed *kong.Context) command {
	n := parsed.Selected()
	c := command{name: commandName(n)}
	called := n.Target.Interface()
	if f, ok := called.(interface{ form() string }); ok {
		c.form = f.form()
	}
	_, c.here = called.(inPlace)
	return c
}

// commandName returns a command's words: "build", "cursor add".
func commandName(n *kong.Node) string {
	var words []string
	for ; n != nil && n.Type == kong.CommandNode; n = n.Parent {
		words = append(words, n.Name)
	}
	slices.Reverse(words)
	return strings.Join(words, " ")
}

// vocabulary lets help texts name what the targets offer.
func vocabulary(all []contract.Target) kong.Vars {
	names := func(offers func(contract.Target) bool) string {
		some := slices.DeleteFunc(slices.Clone(all), func(t contract.Target) bool { return !offers(t) })
		return strings.Join(contract.Names(some), ", ")
	}
	return kong.Vars{
		"version":        "modec " + version(),
		"hookers":        names(func(t contract.Target) bool { _, ok := t.(contract.Hooker); return ok }),
		"launchers":      names(func(t contract.Target) bool { _, ok := t.(contract.Launcher); return ok }),
		"clients":        strings.Join(slices.Sorted(maps.Keys(clients(all))), ", "),
		"formats":        strings.Join(slices.Sorted(maps.Keys(migrate.Formats(all))), ", "),
		"diff_forms":     "Form of the output: text, json, markdown, or github for a comment on a pull request.",
		"finding_forms":  "Form of the output: text, json, sarif (2.1.0), or github for annotations of GitHub Actions.",
		"cursor_modes":   "," + strings.Join(slices.Sorted(maps.Keys(model.RunModes)), ","),
		"namespace_help": "The prefix of a server's tools. Default: its name and \"_\".",
		"topics":         strings.Join(topicNames(), ", "),
	}
}

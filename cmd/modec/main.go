// Modec compiles one source of truth for what AI-agent modes and roles may do
// into every agent's own configuration.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/targets"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, targets.All(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// exitCode ends a command whose message has been printed. 1: findings, drift
// or denied; 2: usage or environment.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// env is what a command runs in.
type env struct {
	ctx     context.Context   // ends with ^C
	targets []contract.Target // every target there is, in printing order
	ui      *ui
	stdin   io.Reader
	dir     string // the project's root, absolute
	cwd     string // where modec was called
}

// request asks the compiler for the project that the command line names.
func (e *env) request() compiler.Request {
	return compiler.Request{Root: e.dir, Targets: e.targets, Today: time.Now().UTC()}
}

// run is the whole program with its surroundings as arguments.
func run(ctx context.Context, all []contract.Target, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	type exited int
	defer func() { // kong exits from within --help and --version
		if r := recover(); r != nil {
			c, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(c)
		}
	}()
	var grammar cli
	parser, err := kong.New(&grammar,
		kong.Name("modec"),
		kong.Description(about),
		kong.Writers(stdout, stderr),
		kong.Exit(func(c int) { panic(exited(c)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.UsageOnError(),
		vocabulary(all),
	)
	if err != nil {
		fmt.Fprintf(stderr, "modec: %v\n", err)
		return 2
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "modec: error: %v\nmodec: hint: `modec --help` lists the commands\n", err)
		return 2
	}
	e, err := grammar.env(ctx, all, stdin, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "modec: error: %v\n", err)
		return 2
	}
	command, _, _ := strings.Cut(parsed.Command(), " ")
	if err = e.ui.checkFormat(command); err == nil {
		err = parsed.Run(e)
	}
	var c exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &c):
		return int(c)
	}
	e.ui.failure(err)
	return 2
}

// vocabulary lets help texts name what the targets offer.
func vocabulary(all []contract.Target) kong.Vars {
	names := func(offers func(contract.Target) bool) string {
		return strings.Join(contract.Names(slices.DeleteFunc(slices.Clone(all), func(t contract.Target) bool { return !offers(t) })), ", ")
	}
	return kong.Vars{
		"hookers":    names(func(t contract.Target) bool { _, ok := t.(contract.Hooker); return ok }),
		"installers": names(func(t contract.Target) bool { _, ok := t.(contract.Installer); return ok }),
		"launchers":  names(func(t contract.Target) bool { _, ok := t.(contract.Launcher); return ok }),
		"clients":    strings.Join(slices.Sorted(maps.Keys(clients(all))), ", "),
		"formats":    strings.Join(slices.Sorted(maps.Keys(migrate.Formats(all))), ", "),
	}
}

// env resolves the global flags.
func (c *cli) env(ctx context.Context, all []contract.Target, stdin io.Reader, stdout, stderr io.Writer) (*env, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("cannot find the working directory: %w", err)
	}
	e := &env{ctx: ctx, targets: all, stdin: stdin, cwd: cwd}
	e.dir = filepath.Clean(e.abs(c.Dir))
	e.ui = newUI(stdout, stderr, &c.globals, e.dir)
	return e, nil
}

// abs makes a path of the command line absolute: it is relative to the working
// directory.
func (e *env) abs(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(e.cwd, p)
}

// output is the output root that --out names, the project folder where it names none.
func (e *env) output(out string) string {
	if out == "" {
		return e.dir
	}
	return e.abs(out)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/lint"
)

// env is the surroundings of a command.
type env struct {
	ctx     context.Context   // ends with ^C
	targets []contract.Target // every target there is, in printing order
	ui      *report.Printer
	stdin   io.Reader
	dir     string // the project's root, absolute
	cwd     string // where modec was called
	named   bool   // the command line names the project: -C
}

// newEnv resolves the global flags.
func newEnv(ctx context.Context, all []contract.Target, g *globals, cmd command,
	stdin io.Reader, stdout, stderr io.Writer) (*env, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("cannot find the working directory: %w", err)
	}
	e := &env{ctx: ctx, targets: all, stdin: stdin, cwd: cwd, named: g.Dir != ""}
	e.dir = filepath.Clean(e.abs(g.Dir))
	if !e.named && !cmd.here {
		if project, ok := e.project(); ok {
			e.dir = project
		}
	}
	e.ui = report.New(stdout, stderr, report.Options{Command: cmd.name, JSON: g.JSON || cmd.form == "json",
		Quiet: g.Quiet, Verbose: g.Verbose, Color: g.Color, Dir: e.dir})
	if e.named {
		e.ui.At = e.elsewhere(e.dir)
	} else {
		e.ui.Up = e.elsewhere(e.dir)
	}
	e.ui.Annotator = e.annotations().Annotator(e.ui, cmd.form)
	return e, nil
}

// annotations returns what findings need to be shown by other programs.
func (e *env) annotations() report.Annotations {
	folder := ""
	if dir := e.relativeDir(); dir != "." && filepath.IsLocal(dir) {
		folder = filepath.ToSlash(dir) + "/"
	}
	return report.Annotations{Version: version(), Codes: e.allCodes, Folder: folder,
		Rules: func() []lint.Rule { return lint.All(e.targets) }}
}

// elsewhere returns the flag that names a folder where modec was called, "" there.
func (e *env) elsewhere(dir string) string {
	if dir := e.seen(dir); dir != "" {
		return "-C " + dir
	}
	return ""
}

// seen returns a folder as it is typed where modec was called, "" for that one.
func (e *env) seen(dir string) string {
	rel, err := filepath.Rel(e.cwd, dir)
	switch {
	case err != nil:
		rel = dir
	case rel == ".":
		return ""
	}
	return contract.ShellQuote(filepath.ToSlash(rel))
}

// project returns the project that a person stands in.
func (e *env) project() (string, bool) {
	home, _ := os.UserHomeDir()
	return config.Find(e.cwd, home)
}

// apart fails where a new project would lie below another one, and nobody said that this is meant.
func (e *env) apart() error {
	if e.named {
		return nil
	}
	project, ok := e.project()
	if !ok || project == e.cwd {
		return nil
	}
	return fmt.Errorf("this folder belongs to the project %s, and nothing was written: "+
		"write `%s` for that one, or `-C .` for a project of its own here, to which that one's rules do not apply",
		project, e.elsewhere(project))
}

// inProject returns a path of the command line as one of the project. A relative one begins where
// modec was called, with -C in the project.
func (e *env) inProject(p string) string {
	rel, err := filepath.Rel(e.dir, e.cwd)
	if e.named || err != nil || rel == "." || filepath.IsAbs(p) || strings.HasPrefix(p, "~") {
		return p
	}
	return filepath.ToSlash(rel) + "/" + p
}

// exit prints the error that ended a command, unless it has been printed, and returns
// the exit code: after ^C 130, whatever the command found by then.
func (e *env) exit(err error) int {
	var code report.ExitCode
	printed, ended := errors.As(err, &code), e.ctx.Err() != nil
	switch {
	case err == nil && (!ended || e.ui.Endless):
		return 0
	case printed && (!ended || e.ui.Endless || code != report.ExitFindings):
		return int(code)
	case ended && !e.ui.Endless:
		return int(e.ui.Interrupted())
	case ended && errors.Is(err, context.Canceled):
		return 0
	}
	e.ui.Failure(err)
	return int(report.ExitUsage)
}

// request returns a request for the project that the command line names.
func (e *env) request() compiler.Request {
	return compiler.Request{Root: e.dir, Targets: e.targets, Today: time.Now().UTC(),
		Version: version()}
}

// sourceRequest returns a request for what is asked of the source, whatever targets there are.
func (e *env) sourceRequest() compiler.Request {
	req := e.request()
	req.SourceAlone = true
	return req
}

// tree is where a command finds the source.
type tree bool

const (
	workTree tree = false
	gitIndex tree = true
)

// source returns a request for the project as it lies on disk or in git's index.
// Excerpts of diagnostics come from the same place. done releases what the request needs.
func (e *env) source(from tree) (req compiler.Request, done func(), err error) {
	req = e.request()
	if from == workTree {
		return req, func() {}, nil
	}
	index, err := gittree.Open(e.ctx, e.dir, gittree.Index)
	if err != nil {
		return req, nil, err
	}
	e.ui.Render.Source = func(file string) ([]byte, error) { return fs.ReadFile(index, file) }
	req.FS = index
	return req, func() { index.Close() }, nil
}

// abs makes a path of the command line absolute: it is relative to the working
// directory.
func (e *env) abs(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(e.cwd, p)
}

// output returns the output root that --out names, the project folder where it names
// none.
func (e *env) output(out string) string {
	if out == "" {
		return e.dir
	}
	return e.abs(out)
}

// relativeDir returns the project folder as the caller can name it: relative to the
// working directory where it is below it, else absolute.
func (e *env) relativeDir() string {
	rel, err := filepath.Rel(e.cwd, e.dir)
	if err != nil || strings.HasPrefix(rel, "..") {
		return e.dir
	}
	return rel
}

// folder returns the folder that an argument names, if it is a project.
func (e *env) folder(name string) (string, bool) {
	if name == "" {
		return "", false
	}
	dir := e.abs(name)
	info, err := os.Stat(filepath.Join(dir, config.File))
	return dir, err == nil && info.Mode().IsRegular()
}

// notThere reports whether an error says that there is no such file, also because a file is in the place of its folder.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// readable fails where a file or a folder that the command line names cannot be looked at.
func (e *env) readable(paths []string) error {
	for _, p := range paths {
		if _, err := os.Stat(e.abs(p)); err != nil {
			return fmt.Errorf("%s cannot be read: %w", p, diag.WithoutPath(err))
		}
	}
	return nil
}

// below reports whether a file of the project is one of those named on the command
// line, or in one of those folders.
func (e *env) below(file string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return file != "" && below(e.abs(p), filepath.Join(e.dir, filepath.FromSlash(file)))
	})
}

// below reports whether a path lies in a folder. Every path is in the topmost folder.
func below(folder, path string) bool {
	if filepath.Dir(folder) == folder {
		return true
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

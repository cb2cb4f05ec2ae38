package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
)

type doctorCmd struct{}

func (doctorCmd) Help() string {
	return `Looks at what a build cannot know: whether the hooks find modec, which of the agents are on this machine and in which version, whether an artifact is one that no agent here reads, which files an agent would ignore and why, whether a build was interrupted or the files are not those of the source, and whether git leaves out what has to be committed.

It runs the agents that it finds on your path with --version, and git. Exits 1 where something is wrong; what is only worth knowing is a note.

Examples:
  modec doctor
  modec doctor --json`
}

// Levels of what doctor finds.
const (
	good  = "ok"
	note  = "note"
	wrong = "wrong"
)

// checkup is one thing that doctor looked at.
type checkup struct {
	Level string `json:"level"` // ok, note, wrong
	What  string `json:"what"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
}

func (c *doctorCmd) Run(e *env) error {
	d := &doctor{env: e}
	d.program()
	d.repository()
	status, code := "ok", error(nil)
	if slices.ContainsFunc(d.found, func(c checkup) bool { return c.Level == wrong }) {
		status, code = "wrong", exitCode(1)
	}
	if e.ui.json {
		if err := e.ui.emit(struct {
			Version int       `json:"version"`
			Command string    `json:"command"`
			Status  string    `json:"status"`
			Checks  []checkup `json:"checks"`
		}{1, "doctor", status, d.found}); err != nil {
			return err
		}
		return code
	}
	for _, c := range d.found {
		e.ui.printf("%-6s %s: %s\n", c.Level, diag.Clean(c.What), diag.Clean(c.Text))
		if c.Hint != "" {
			e.ui.printf("       hint: %s\n", diag.Clean(c.Hint))
		}
	}
	return code
}

type doctor struct {
	*env
	found []checkup
}

func (d *doctor) tell(level, what, hint, format string, args ...any) {
	d.found = append(d.found, checkup{level, what, fmt.Sprintf(format, args...), hint})
}

// program looks whether a hook that calls modec calls this one.
func (d *doctor) program() {
	own, err := os.Executable()
	if err != nil {
		d.tell(wrong, "modec", "", "cannot tell where it runs from: %v", err)
		return
	}
	found, err := exec.LookPath("modec")
	switch {
	case err != nil:
		d.tell(wrong, "modec", "put the folder of "+own+" on the path", "is not on the path: every hook that a build writes refuses what it is asked")
	case !sameFile(own, found):
		d.tell(note, "modec", "", "%s runs, and hooks call %s", own, found)
	default:
		d.tell(good, "modec", "", "%s, at %s", version(), found)
	}
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func (d *doctor) repository() {
	res, diags := compiler.Compile(d.ctx, d.request())
	if diags.HasErrors() {
		first := diags[slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })]
		d.tell(wrong, "source", "`modec lint` tells all of it", "does not compile: %s", first)
		return
	}
	d.tell(good, "source", "", "%s, %s and %s for %s", count(len(res.Project.Modes), "mode"), count(len(res.Project.Roles), "role"), count(len(res.Project.Servers), "server"), count(len(res.Outputs), "target"))
	changes, list := res.Write(d.ctx, output.Options{Dir: d.dir, Version: version(), Check: true})
	for _, x := range list {
		d.tell(wrong, "artifacts", x.Hint, "%s", x)
	}
	if _, err := os.Lstat(filepath.Join(d.dir, filepath.FromSlash(output.PendingLock))); err == nil {
		d.tell(wrong, "artifacts", "`modec build` finishes it", "a build was interrupted")
	}
	states := map[output.State][]string{}
	for _, c := range changes {
		if c.State != "" {
			states[c.State] = append(states[c.State], c.Path)
		}
	}
	for _, s := range []output.State{output.Missing, output.Stale, output.Edited, output.Foreign, output.Orphaned} {
		if names := states[s]; len(names) > 0 {
			d.tell(wrong, "artifacts", "`modec build --check` tells the difference", "%s %s: %s", count(len(names), "file"), s, some(names))
		}
	}
	if len(states) == 0 && len(list) == 0 {
		d.tell(good, "artifacts", "", "%s as the source makes them", count(len(changes), "file"))
	}
	d.ignored(changes)
	for _, o := range res.Outputs {
		d.agent(o)
		d.unread(res, o)
	}
}

// some names a few of a list.
func some(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// patience is how long an agent may take to tell its version.
const patience = 10 * time.Second

var versionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+(?:\.\d+)*`) })

// agent looks for the agent behind a target.
func (d *doctor) agent(o contract.Artifacts) {
	t, ok := o.Target.(contract.Installed)
	if !ok || len(o.Files) == 0 {
		return
	}
	a := t.Agent()
	found := d.extensions(a)
	for _, name := range a.Programs {
		file, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		out, err := exec.CommandContext(ctx, file, "--version").Output()
		cancel()
		number := versionNumber().FindString(string(out))
		if err != nil || number == "" {
			number = "of a version that it does not tell"
		}
		found = append(found, name+" "+number)
	}
	switch {
	case len(found) == 0:
		d.tell(note, a.Name, "", "is not on this machine: nothing here reads what the target %s writes", t.Name())
	case a.Observed != "" && !slices.ContainsFunc(found, func(s string) bool { return strings.HasSuffix(s, " "+a.Observed) }):
		d.tell(note, a.Name, "", "%s; the target was held against %s", strings.Join(found, ", "), a.Observed)
	default:
		d.tell(good, a.Name, "", "%s", strings.Join(found, ", "))
	}
}

// editors are the folders below the home folder in which editors keep extensions.
var editors = []string{".vscode", ".vscode-server", ".vscode-insiders", ".vscode-oss", ".cursor", ".cursor-server", ".windsurf"}

func (d *doctor) extensions(a contract.Agent) (found []string) {
	home, err := os.UserHomeDir()
	if err != nil || a.Extension == "" {
		return nil
	}
	for _, editor := range editors {
		entries, err := os.ReadDir(filepath.Join(home, editor, "extensions"))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if rest, ok := strings.CutPrefix(strings.ToLower(e.Name()), a.Extension+"-"); ok {
				found = append(found, strings.TrimPrefix(editor, ".")+" "+versionNumber().FindString(rest))
			}
		}
	}
	return found
}

// unread tells what the agent would ignore in the files as they lie.
func (d *doctor) unread(res *compiler.Result, o contract.Artifacts) {
	t, ok := o.Target.(contract.Judged)
	if !ok {
		return
	}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return
	}
	defer root.Close()
	_, list := t.Open(root.FS(), res.Input(o.Target).Options)
	for _, x := range list {
		d.tell(wrong, t.Name(), x.Hint, "%s: %s", x.Pos, x.Message)
	}
}

// ignored looks whether git leaves out what has to be committed.
func (d *doctor) ignored(changes []output.Change) {
	names := []string{config.File, output.LockFile}
	for _, c := range changes {
		names = append(names, c.Path)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-C", d.dir, "-c", "core.fsmonitor=false", "check-ignore", "--stdin", "-z")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\x00") + "\x00")
	out, err := cmd.Output()
	if err != nil { // 1: none is; else no git, or no repository
		return
	}
	if list := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); len(list) > 0 && list[0] != "" {
		level := note
		if slices.Contains(list, config.File) || slices.Contains(list, output.LockFile) {
			level = wrong
		}
		d.tell(level, "git", "take it out of .gitignore", "leaves out %s: who checks the repository out has to build first", some(list))
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/pause"
)

type doctorCmd struct {
	textOrJSON
}

// Levels of what doctor finds.
const (
	levelOK    = "ok"
	levelNote  = "note"
	levelWrong = "wrong"
)

// checkup is one thing that doctor looked at.
type checkup struct {
	Level string `json:"level" jsonschema:"ok, note or wrong"`
	What  string `json:"what"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty" jsonschema:"what to do about it"`
}

func (doctorCmd) reports() []any { return []any{doctorReport{}} }

// doctorReport is the JSON of a doctor.
type doctorReport struct {
	report.Envelope
	Status string    `json:"status" enum:"ok,wrong"`
	Checks []checkup `json:"checks"`
}

func (c *doctorCmd) Run(e *env) error {
	d := &doctor{env: e}
	d.disarmed()
	res := d.repository()
	found := d.found
	d.found = nil
	d.program(res)
	d.found = append(d.found, found...)
	if err := e.ctx.Err(); err != nil {
		return err
	}
	status, code := "ok", error(nil)
	if slices.ContainsFunc(d.found, func(c checkup) bool { return c.Level == levelWrong }) {
		status, code = "wrong", report.ExitFindings
	}
	if e.ui.JSON {
		if err := e.ui.Emit(doctorReport{e.ui.Envelope(), status, d.found}); err != nil {
			return err
		}
		return code
	}
	for _, c := range d.found {
		e.ui.Printf("%-6s %s: %s\n", c.Level, diag.Clean(c.What), diag.Clean(c.Text))
		if c.Hint != "" {
			e.ui.Printf("       hint: %s\n", diag.Clean(c.Hint))
		}
	}
	return code
}

type doctor struct {
	*env
	found []checkup
}

// finding is the last checkup; hint says what to do about it.
type finding struct{ *checkup }

func (f finding) hint(text string) { f.Hint = text }

func (d *doctor) add(c checkup) finding {
	d.found = append(d.found, c)
	return finding{&d.found[len(d.found)-1]}
}

func (d *doctor) good(what, format string, args ...any) {
	d.add(checkup{Level: levelOK, What: what, Text: fmt.Sprintf(format, args...)})
}

func (d *doctor) note(what, format string, args ...any) {
	d.add(checkup{Level: levelNote, What: what, Text: fmt.Sprintf(format, args...)})
}

func (d *doctor) wrong(what, format string, args ...any) finding {
	return d.add(checkup{Level: levelWrong, What: what, Text: fmt.Sprintf(format, args...)})
}

// program checks that a hook that calls modec calls this one. res is nil where the source does not compile.
func (d *doctor) program(res *compiler.Result) {
	own, err := os.Executable()
	if err != nil {
		d.wrong("modec", "its own place cannot be found: %v", err)
		return
	}
	found, err := exec.LookPath("modec")
	switch {
	case err != nil && (res == nil || res.Config.Hooks == contract.Off):
		d.note("modec", "is not on the path; nothing here calls it")
	case err != nil:
		d.wrong("modec", "is not on the path: the hooks that a build writes refuse every tool call").
			hint("put the folder of " + own + " on the path")
	case !contract.SameFolder(own, found):
		d.note("modec", "%s runs, and hooks call %s", own, found)
	default:
		d.good("modec", "%s, at %s", version(), found)
	}
}

// repository looks at the project. It returns nil where the source does not compile.
func (d *doctor) repository() *compiler.Result {
	res, changes := d.built()
	if res != nil {
		d.ignored(changes)
		d.foreign(res)
		for _, o := range res.Outputs {
			d.agent(o)
			d.unread(res, o)
			d.unsaid(res, o)
		}
	}
	return res
}

// built compares what lies here with what the source makes. It returns nil where the source does not
// compile.
func (d *doctor) built() (*compiler.Result, []output.Change) {
	res, diags := compiler.Compile(d.ctx, d.request())
	if diags.HasErrors() {
		first := diags[slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })]
		hint := "`modec lint` shows all of it"
		if len(diags) == 1 && first.Hint != "" {
			hint = first.Hint
		}
		d.wrong("source", "does not compile: %s", first).hint(hint)
		return nil, nil
	}
	p := res.Project
	d.good("source", "%s, %s and %s for %s", report.Count(len(p.Modes), "mode"), report.Count(len(p.Roles), "role"),
		report.Count(len(p.Servers), "server"), report.Count(len(res.Outputs), "target"))
	changes, list := res.Write(d.ctx, d.checking(d.dir))
	for _, x := range list {
		d.wrong("artifacts", "%s", x).hint(x.Hint)
	}
	if _, err := os.Lstat(filepath.Join(d.dir, filepath.FromSlash(output.PendingLock))); err == nil {
		d.wrong("artifacts", "a build was interrupted").hint("`modec build` finishes it")
	}
	states := map[output.State][]output.Change{}
	for _, c := range changes {
		if c.State != "" {
			states[c.State] = append(states[c.State], c)
		}
	}
	for _, s := range []output.State{
		output.Missing, output.Stale, output.Edited, output.Foreign, output.Orphaned, output.Touched, output.Removed,
	} {
		if list := states[s]; len(list) > 0 {
			hint := "`modec build --check` shows the difference"
			if s == output.Removed {
				hint = d.mended(list)
			}
			d.wrong("artifacts", "%s %s: %s", report.Count(len(list), "file"), s, report.Some(paths(list))).hint(hint)
		}
	}
	if len(states) == 0 && len(list) == 0 {
		d.good("artifacts", "%s as the source makes them", report.Count(len(changes), "file"))
	}
	return res, changes
}

// foreign tells of modes and roles that an agent would load and that are none of the source's, and of links that lead
// out of the project to such files.
func (d *doctor) foreign(res *compiler.Result) {
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return
	}
	defer root.Close()
	files := contract.Plain(root.FS())
	for _, x := range d.env.foreign(res, files, d.env.ignored(d.dir, d.dir)) {
		level := levelNote
		if x.Code == diag.LinkOut {
			level = levelWrong
		}
		d.add(checkup{Level: level, What: x.Target, Text: x.Pos.String() + ": " + x.Message, Hint: x.Hint})
	}
	for _, x := range d.env.personal(res, files, d.env.ignored(d.dir, d.dir)) {
		d.add(checkup{Level: levelNote, What: x.Target, Text: x.Pos.String() + ": " + x.Message, Hint: x.Hint})
	}
	req := migrate.Request{Root: files, Targets: d.env.targets,
		Ignored: d.env.ignored(d.dir, d.dir), Below: d.env.inFolders}
	lock, _ := contract.ReadImport(files, output.LockFile)
	was := output.WasUnheld(lock)
	for _, x := range migrate.Unheld(d.env.ctx, req, res) {
		if !was(x.What) {
			continue // it is among those that a check warns of
		}
		d.add(checkup{Level: levelNote, What: x.Of, Hint: "`modec migrate` shows what it permits",
			Text: x.Pos.String() + ": this file is of an agent that is no target: nothing of the source holds it"})
	}
	for _, x := range migrate.InFolders(d.env.ctx, req, res) {
		if was(x.What) {
			d.add(checkup{Level: levelNote, What: x.Of, Hint: "start sessions at the root of the project",
				Text: x.What + ": a session that starts in its folder reads this file, and it is not judged"})
		}
	}
}

// disarmed tells of hooks that a person turned off.
func (d *doctor) disarmed() {
	r := pause.Load(d.dir)
	entry, off := r.Until(time.Now())
	switch {
	case r.Broken:
		d.wrong("hooks", "the record of `modec off` is not as modec wrote it: it does not count, and the hooks are on").
			hint("`modec off --end` begins a new one")
	case off:
		d.add(checkup{Level: levelNote, What: "hooks", Text: offText(entry), Hint: "`modec off --end` turns them on"})
	case len(r.Entries) > 0:
		last := r.Entries[len(r.Entries)-1]
		d.note("hooks", "are on; `modec off` was last used on %s",
			last.At.Local().Format("2006-01-02 15:04"))
	}
}

// unsaid lists what the user's own files allow where roles leave something to the agent.
func (d *doctor) unsaid(res *compiler.Result, o contract.Artifacts) {
	type entry struct {
		rule   string
		at, by diag.Pos
		void   bool
	}
	roles := map[entry][]string{}
	var order []entry
	add := func(x entry, role string) {
		if roles[x] == nil {
			order = append(order, x)
		}
		roles[x] = append(roles[x], role)
	}
	for _, role := range res.Project.RoleNames() {
		fills, void := d.filling(res, o.Target, role)
		for _, a := range fills {
			add(entry{rule: a.Rule, at: a.At}, role)
		}
		for _, v := range void {
			add(entry{v.Rule, v.At, v.by, true}, role)
		}
	}
	for _, x := range order {
		if x.void {
			why := voidAllow{by: x.by}.why(roles[x]...)
			d.note(o.Target.Name(), "%s: your own %q has no effect: %s", x.at, x.rule, why)
			continue
		}
		d.note(o.Target.Name(), "%s: your own %q holds for role %s, which leaves that to the agent",
			x.at, x.rule, strings.Join(roles[x], ", "))
	}
}

// patience is how long an agent may take to print its version.
const patience = 10 * time.Second

var versionNumber = lazy.Regexp(`\d+\.\d+(?:\.\d+)*`)

// agent looks for the agent behind a target.
func (d *doctor) agent(o contract.Artifacts) {
	t, ok := o.Target.(contract.Installed)
	if !ok || len(o.Files)+len(o.Sessions) == 0 {
		return
	}
	a := t.Agent()
	observed := func(s string) bool { return strings.HasSuffix(s, " "+a.Observed) }
	found := d.extensions(a)
	for _, name := range a.Programs {
		file, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(d.ctx, patience)
		out, err := exec.CommandContext(ctx, file, "--version").Output()
		cancel()
		number := versionNumber().FindString(string(out))
		if err != nil || number == "" {
			number = "of an unknown version"
		}
		found = append(found, name+" "+number)
	}
	switch {
	case len(found) == 0:
		d.note(a.Name, "is not on this machine: nothing here reads what the target %s writes", t.Name())
	case a.Observed != "" && !slices.ContainsFunc(found, observed):
		d.note(a.Name, "%s; the target was tested with %s", strings.Join(found, ", "), a.Observed)
	default:
		d.good(a.Name, "%s", strings.Join(found, ", "))
	}
}

// editors are the folders below the home folder in which editors keep extensions.
var editors = []string{
	".vscode", ".vscode-server", ".vscode-insiders", ".vscode-oss", ".cursor", ".cursor-server", ".windsurf",
}

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

// unread reports what the agent would ignore in the files as they lie.
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
	files := contract.Plain(root.FS())
	_, list := t.Open(res.Over(files), res.Input(o.Target).Options)
	lock, _ := contract.ReadImport(files, output.LockFile) // without one nothing is known
	known := output.KnownOf(lock)
	for _, x := range list {
		known.Ease(&x)
		if x.Severity == diag.Note {
			d.note(t.Name(), "%s: %s", x.Pos, x.Message)
			continue
		}
		d.wrong(t.Name(), "%s: %s", x.Pos, x.Message).hint(x.Hint)
	}
}

// ignored reports files that have to be committed and that git ignores.
func (d *doctor) ignored(changes []output.Change) {
	names := []string{config.File, output.LockFile}
	for _, c := range changes {
		names = append(names, c.Path)
	}
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	list, err := gittree.Ignored(ctx, d.dir, names)
	if err != nil || len(list) == 0 { // an error: no git, or no repository
		return
	}
	level := levelNote
	if slices.Contains(list, config.File) || slices.Contains(list, output.LockFile) {
		level = levelWrong
	}
	d.add(checkup{Level: level, What: "git", Hint: "take it out of .gitignore",
		Text: fmt.Sprintf("ignores %s: whoever checks the repository out has to build first", report.Some(list))})
}

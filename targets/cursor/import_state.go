package cursor

import (
	"errors"
	"io/fs"
	"path"

	"modec.dev/modec/compiler/artifact"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/target"
)

// stateFiles are where the IDE keeps its settings, below the home folder, on Linux,
// macOS and Windows.
var stateFiles = []string{
	".config/Cursor/User/globalStorage/state.vscdb",
	"Library/Application Support/Cursor/User/globalStorage/state.vscdb",
	"AppData/Roaming/Cursor/User/globalStorage/state.vscdb",
}

// stateKey is the row that holds the settings of every window as one JSON value.
const stateKey = "src.vs.platform.reactivestorage.browser.reactiveStorageServiceImpl.persistentStorage.applicationUser"

// stateFile reads the lists that the IDE keeps by itself. Where a permissions.json
// has a list, that one holds.
func (im *importer) stateFile(fsys fs.FS, name, file string) {
	d, err := artifact.OpenDatabase(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	im.out.Files = append(im.out.Files, file)
	fail := func(err error) {
		im.diags.Errorf(diag.Pos{File: file}, "cursor-import", "", "got a database that cannot be read: %v", err)
	}
	if err != nil {
		fail(err)
		return
	}
	defer d.Close()
	rows, err := d.Rows("SELECT value FROM ItemTable WHERE key = ?", stateKey)
	if err != nil {
		fail(err)
		return
	}
	at := diag.Pos{File: file}
	if d.Pending {
		im.out.Note(target.Left, diag.Pos{File: file + "-wal"}, "", path.Base(name)+"-wal", "changes that Cursor has not written back yet are not seen: close it first")
	}
	if len(rows) == 0 {
		im.out.Note(target.Left, at, "", path.Base(name), "Cursor keeps no lists in it")
		return
	}
	v, err := artifact.JSON(file, []byte(rows[0][0]))
	if err != nil {
		fail(err)
		return
	}
	im.state(v.Get("composerState"), at)
}

// state reads composerState: the lists of Settings, Agents, Auto-Run.
func (im *importer) state(v *artifact.Value, at diag.Pos) {
	subject := "role " + ideRole
	fresh := im.roles[ideRole] == nil
	r := im.role(ideRole, at)
	if fresh && v.Get("yoloEnableRunEverything").True() {
		unrestricted(r, at)
		im.out.NoteRule(target.Understood, at, subject, "yoloEnableRunEverything", "")
	} else if fresh && !v.Get("useYoloMode").True() {
		im.out.Note(target.NeedsDecision, at, subject, "run mode", "the mode of each kind of session decides whether the lists hold; what no list holds is asked about")
	}
	for _, l := range []struct {
		key, file string
		d         ir.Decision
		add       func(*ir.Role, string, ir.Decision, diag.Pos) string
	}{{"mcpAllowedTools", "mcpAllowlist", ir.Allow, im.tool}, {"yoloCommandAllowlist", "terminalAllowlist", ir.Allow, im.command}, {"yoloCommandDenylist", "", ir.Deny, im.command}} {
		if im.replaced[l.file] {
			im.out.Note(target.Left, at, subject, l.key, "permissions.json has a list of its own, which holds")
			continue
		}
		for _, item := range v.Get(l.key).List() {
			text, ok := item.Str()
			if !ok {
				im.out.NoteRule(target.Refused, at, subject, l.key, "Cursor drops what is no text")
				continue
			}
			placed := *item
			placed.Pos = at
			im.entry(r, l.add, text, l.d, &placed, subject, l.key+" "+text)
		}
	}
}

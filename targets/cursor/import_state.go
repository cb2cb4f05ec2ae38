package cursor

import (
	"cmp"
	"errors"
	"io/fs"
	"path"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
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
	d, err := located.OpenDatabase(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	im.out.Files = append(im.out.Files, file)
	fail := func(err error) {
		im.diags.Errorf(codeImport, diag.Pos{File: file}, "got a database that cannot be read: %v", err)
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
		im.out.Note(contract.Left, diag.Pos{File: file + "-wal"}, "", path.Base(name)+"-wal", "changes that Cursor has not written back yet are not seen: close it first")
	}
	if len(rows) == 0 {
		im.out.Note(contract.Left, at, "", path.Base(name), "Cursor keeps no lists in it")
		return
	}
	v, err := located.JSON(file, []byte(rows[0][0]))
	if err != nil {
		fail(err)
		return
	}
	im.state(v.Get("composerState"), at)
}

// state reads composerState: the lists of Settings, Agents, Auto-Run.
func (im *importer) state(v *located.Value, at diag.Pos) {
	subject := "role " + ideRole
	fresh := im.roles[ideRole] == nil
	r := im.role(ideRole, at)
	if fresh && v.Get("yoloEnableRunEverything").True() && autoRuns(v) {
		unrestricted(r, at)
		im.out.NoteRule(contract.Understood, at, subject, "yoloEnableRunEverything", "")
		if v.Get("yoloMcpToolsDisabled").True() {
			r.Can.MCP.Default = &ir.Default{Decision: ir.Ask, Pos: at}
		}
	}
	lists := autoRuns(v)
	if im.pinned != "" {
		lists = im.pinned != AskEveryTime
	}
	if !lists {
		im.out.Note(contract.NeedsDecision, at, subject, "run mode", "Cursor is not set to run by itself what the lists hold: everything is asked about, and what they deny stays denied")
	}
	for _, key := range []string{"yoloDeleteFileDisabled", "yoloDotFilesDisabled", "yoloOutsideWorkspaceDisabled", "playwrightProtection"} {
		if v.Get(key).True() {
			im.out.Note(contract.Left, at, subject, key, "Cursor's own protection, which the source has no word for: Cursor asks where the source may not")
		}
	}
	for _, l := range []struct {
		key, file string
		d         ir.Decision
		add       func(*ir.Role, string, ir.Decision, diag.Pos) string
	}{{"mcpAllowedTools", "mcpAllowlist", ir.Allow, im.tool}, {"yoloCommandAllowlist", "terminalAllowlist", ir.Allow, im.command}, {"yoloCommandDenylist", "", ir.Deny, im.command}} {
		if im.replaced[l.file] {
			im.out.Note(contract.Left, at, subject, l.key, "permissions.json has a list of its own, which holds")
			continue
		}
		for _, item := range v.Get(l.key).List() {
			text, ok := item.Str()
			if !ok {
				im.out.NoteRule(contract.Refused, at, subject, l.key, "Cursor drops what is no text")
				continue
			}
			if why := held(v, l.key); l.d == ir.Allow && (!lists || why != "") {
				im.out.NoteRule(contract.NeedsDecision, at, subject, l.key+" "+text, cmp.Or(why, "the run mode asks every time"))
				continue
			}
			placed := *item
			placed.Pos = at
			im.entry(r, l.add, text, l.d, &placed, subject, l.key+" "+text)
		}
	}
}

// autoRuns reports whether the IDE's agent runs by itself what its lists hold: the
// setting of the agent's mode, or in older builds that of every mode.
func autoRuns(v *located.Value) bool {
	for _, m := range v.Get("modes4").List() {
		if id, _ := m.Get("id").Str(); id == "agent" && m.Get("autoRun") != nil {
			return m.Get("autoRun").True()
		}
	}
	return v.Get("useYoloMode").True()
}

// held says why a list is void.
func held(v *located.Value, list string) string {
	if list == "mcpAllowedTools" && v.Get("yoloMcpToolsDisabled").True() {
		return "a setting of Cursor asks about every tool of a server"
	}
	return ""
}

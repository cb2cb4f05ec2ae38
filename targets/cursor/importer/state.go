package importer

import (
	"errors"
	"io/fs"
	"path"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/cursor/format"
)

// stateFiles are where the IDE keeps its settings, below the home folder, on Linux,
// macOS and Windows.
var stateFiles = []string{
	".config/Cursor/User/globalStorage/" + format.StateFile,
	"Library/Application Support/Cursor/User/globalStorage/" + format.StateFile,
	"AppData/Roaming/Cursor/User/globalStorage/" + format.StateFile,
}

// stateKey is the row that contains the settings of every window as one JSON value.
const stateKey = "src.vs.platform.reactivestorage.browser.reactiveStorageServiceImpl.persistentStorage.applicationUser"

// settings reads the database of the IDE's settings.
func (im *importer) settings(f input) {
	v, err := im.stored(f)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		im.diags.Errorf(codeImport, diag.Pos{File: f.at}, "got a database that cannot be read: %v", err)
	case v != nil:
		im.state(v.Get("composerState"), diag.Pos{File: f.at})
	}
}

// stored returns the settings in a database; nil where it contains none.
func (im *importer) stored(f input) (*located.Value, error) {
	d, err := located.OpenDatabase(f.fsys, f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	im.out.Files = append(im.out.Files, f.at)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	rows, err := d.Rows("SELECT value FROM ItemTable WHERE key = ?", stateKey)
	if err != nil {
		return nil, err
	}
	if d.Pending {
		im.out.Note(contract.Left, diag.Pos{File: f.at + "-wal"}, "", path.Base(f.name)+"-wal",
			"changes that Cursor has not written back yet are not seen: close it first")
	}
	if len(rows) == 0 {
		im.out.Note(contract.Left, diag.Pos{File: f.at}, "", path.Base(f.name), "Cursor keeps no lists in it")
		return nil, nil
	}
	return located.JSON(f.at, []byte(rows[0][0]))
}

// state reads composerState: the lists of Settings, Agents, Auto-Run. Where a
// permissions.json has a list, that one counts.
func (im *importer) state(v *located.Value, at diag.Pos) {
	fresh := im.roles[ideRole] == nil
	r := im.role(ideRole, at)
	if fresh && v.Get("yoloEnableRunEverything").True() && autoRuns(v) {
		unrestricted(r, at)
		im.out.NoteRule(contract.Understood, at, ideSubject, "yoloEnableRunEverything", "")
	}
	runs, void := autoRuns(v), ""
	if im.pinned != "" {
		runs = im.pinned != format.AskEveryTime
	}
	if !runs {
		void = "the run mode asks every time"
		asks(r, at)
		im.out.Note(contract.NeedsDecision, at, ideSubject, "run mode", "Cursor is not set to run by itself what the "+
			"lists contain: everything is asked about, and what they deny stays denied")
	}
	for _, key := range []string{
		"yoloDeleteFileDisabled", "yoloDotFilesDisabled", "yoloOutsideWorkspaceDisabled", "playwrightProtection",
	} {
		if v.Get(key).True() {
			im.out.Note(contract.Left, at, ideSubject, key,
				"Cursor's own protection, which the source has no word for: Cursor asks where the source may not")
		}
	}
	voidTools := void
	if v.Get("yoloMcpToolsDisabled").True() {
		voidTools = "a setting of Cursor asks about every tool of a server"
		if im.pinned == "" {
			r.Can.MCP.Default = &ir.Default{Decision: ir.Ask, Pos: at}
		}
	}
	for _, l := range []stateList{
		{"mcpAllowedTools", "mcpAllowlist", ir.Allow, voidTools, im.tool},
		{"yoloCommandAllowlist", "terminalAllowlist", ir.Allow, void, im.command},
		{"yoloCommandDenylist", "", ir.Deny, "", im.command},
	} {
		im.stateList(r, l, v.Get(l.key).List(), at)
	}
}

// stateList is a list of the settings.
type stateList struct {
	key      string
	replaced string // the list of permissions.json that counts in its place
	decision ir.Decision
	void     string // why the list does not count
	read     reader
}

func (im *importer) stateList(r *ir.Role, l stateList, items []*located.Value, at diag.Pos) {
	if im.replaced[l.replaced] {
		im.out.Note(contract.Left, at, ideSubject, l.key, "permissions.json has a list of its own, which counts")
		return
	}
	for _, item := range items {
		text, ok := item.Str()
		switch {
		case !ok:
			im.out.NoteRule(contract.Refused, at, ideSubject, l.key, "Cursor ignores what is not a text")
		case l.void != "":
			im.out.NoteRule(contract.NeedsDecision, at, ideSubject, l.key+" "+text, l.void)
		default:
			placed := *item
			placed.Pos = at
			im.add(r, entry{text, l.decision, &placed, l.key}, l.read)
		}
	}
}

// autoRuns reports whether the IDE's agent runs by itself what its lists contain: the
// setting of the agent's mode, or in older builds that of every mode.
func autoRuns(v *located.Value) bool {
	for _, m := range v.Get("modes4").List() {
		if id, _ := m.Get("id").Str(); id == "agent" && m.Get("autoRun") != nil {
			return m.Get("autoRun").True()
		}
	}
	return v.Get("useYoloMode").True()
}

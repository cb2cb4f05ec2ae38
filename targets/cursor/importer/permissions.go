package importer

import (
	"path"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/cursor/format"
)

const ideSubject = "role " + ideRole

// permissionsFile reads the IDE's lists.
func (im *importer) permissionsFile(d document) {
	v := im.parse(d, object(located.JSONC), "Cursor")
	if v == nil {
		return
	}
	at := diag.Pos{File: d.name, Line: 1, Col: 1}
	if im.roles[ideRole] != nil {
		im.out.Note(contract.Refused, at, ideSubject, path.Base(d.name),
			"the user's own file decides for the IDE; its lists are imported")
		return
	}
	r := im.role(ideRole, at)
	im.runMode(r, v)
	if !strings.HasPrefix(d.name, "~/") {
		im.out.Note(contract.Left, at, ideSubject, path.Base(d.name),
			"up to 3.20.17 Cursor did not apply the lists of a repository; the documentation says that it does")
	}
	im.allowlist(r, v, "mcpAllowlist", im.tool)
	im.allowlist(r, v, "terminalAllowlist", im.command)
	for _, m := range v.Members {
		switch m.Key {
		case "mcpAllowlist", "terminalAllowlist", "approvalMode", "$schema":
		case "autoRun", "autoReview":
			im.out.Note(contract.Left, m.Pos, ideSubject, m.Key,
				"sentences for a classifier, which hold nothing for sure")
		default:
			im.out.Note(contract.Left, m.Pos, ideSubject, m.Key, "Cursor ignores this key")
		}
	}
	mode := v.Get("approvalMode")
	text, _ := mode.Str()
	im.listed = d.name == inDir(format.PermissionsFile) && (mode == nil || text == string(format.UseAllowlist)) &&
		(v.Get("mcpAllowlist") != nil || v.Get("terminalAllowlist") != nil)
	im.original(d, r, "ide")
}

// runMode reads the run mode that a permissions.json forces on the IDE.
func (im *importer) runMode(r *ir.Role, v *located.Value) {
	if len(v.Get("mcpAllowlist").List())+len(v.Get("terminalAllowlist").List()) > 0 {
		im.pinned = format.UseAllowlist
	}
	text, _ := v.Get("approvalMode").Str()
	mode, ok := format.ParseRunMode(text)
	if !ok {
		im.out.Note(contract.NeedsDecision, r.Pos, ideSubject, "approvalMode", "the run mode is a setting of each "+
			"user (Auto-review may approve what no list contains): what no list contains is left to the agent")
		return
	}
	im.pinned = mode
	at := v.Get("approvalMode").Pos
	im.out.NoteRule(contract.Understood, at, ideSubject, "approvalMode "+text, "")
	switch mode {
	case format.RunEverything:
		unrestricted(r, at)
	case format.AskEveryTime:
		asks(r, at)
	}
}

// allowlist reads one of the lists, which replaces that of the settings. Where a file says
// that Cursor asks every time, its list allows nothing.
func (im *importer) allowlist(r *ir.Role, v *located.Value, key string, read reader) {
	list := v.Get(key)
	if list != nil {
		im.replaced[key] = true
	}
	if list != nil && !list.Is(located.List) {
		im.out.NoteRule(contract.Refused, list.Pos, ideSubject, key, "Cursor takes a list only")
	}
	mode, _ := v.Get("approvalMode").Str()
	if im.pinned == format.UseAllowlist && list.Is(located.List) && len(list.Items) == 0 {
		ask := &ir.Default{Decision: ir.Ask, Pos: list.Pos} // nothing runs without a question
		if key == "mcpAllowlist" {
			r.Can.MCP.Default = ask
		} else {
			r.Can.Command.Default = ask
		}
	}
	for _, item := range list.List() {
		text, ok := item.Str()
		switch {
		case !ok:
			im.out.NoteRule(contract.Refused, item.Pos, ideSubject, key, "Cursor ignores what is not a text")
		case mode == string(format.AskEveryTime):
			im.out.NoteRule(contract.Left, item.Pos, ideSubject, key+" "+text, "the run mode asks every time")
		default:
			im.add(r, entry{text, ir.Allow, item, key}, read)
		}
	}
}

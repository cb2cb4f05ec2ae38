package importer

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/vscode/format"
)

// role is what the settings of a project become.
const role = "vscode"

const subject = "role " + role

// settings reads what the settings of a project ask about.
func (im *importer) settings(file string, data []byte) error {
	root, err := format.ReadSettings(file, data)
	if err != nil {
		return err
	}
	for _, m := range root.Fields() {
		switch {
		case root.Get(m.Key) != m.Value: // the last one counts
		case m.Key == format.TerminalKey:
			im.commands(root, m)
		case m.Key == format.EditsKey:
			im.edits(root, m)
		case format.IsSetting(m.Key):
			im.out.NoteRule(contract.Left, m.Pos, "", m.Key, "it stays in the file, and in force for everybody")
		}
	}
	if im.role != nil {
		im.tree = memfs.FS{format.SettingsFile: data}
	}
	return nil
}

// keep leaves an entry as it is written to VS Code alone. What is taken over begins with the name of the entry in the
// file.
func (im *importer) keep(root *located.Value, entry, text string, approve bool, m located.Member) {
	d := ir.Ask
	if approve {
		d = ir.Allow
	}
	if im.role == nil {
		im.role = &ir.Role{Name: role, Pos: diag.Pos{File: root.Pos.File, Line: 1, Col: 1}}
	}
	im.role.Native = append(im.role.Native,
		ir.NativeRule{Target: role, Decision: d, Text: text, Pos: m.Pos, Own: true})
	if m.Value.Comment != "" {
		im.out.Comments[m.Pos] = m.Value.Comment
	}
	im.out.NoteRule(contract.Kept, m.Pos, subject, entry+" "+d.String(), "it stays as it is written, for VS Code alone")
}

// commands keeps the entries about commands.
func (im *importer) commands(root *located.Value, of located.Member) {
	for _, m := range of.Value.Fields() {
		approve, line, ok := format.Says(m.Value)
		r := format.TerminalRule{Key: m.Key, Approve: approve, Line: line}
		switch {
		case of.Value.Get(m.Key) != m.Value:
		case !ok || m.Key == "":
			im.out.Note(contract.Left, m.Pos, subject, m.Key, "it says nothing by itself: it stays in the file")
		default:
			im.keep(root, m.Key, r.Text(), approve, m)
		}
	}
}

// edits keeps the entries about files, where a build writes them in the order in which they stand: it decides.
func (im *importer) edits(root *located.Value, of located.Member) {
	rules := format.EditRules(root)
	fields := of.Value.Fields()
	whole := !slices.ContainsFunc(fields, func(m located.Member) bool {
		return !m.Value.Is(located.Bool) || m.Key == "" || of.Value.Get(m.Key) != m.Value
	})
	if !whole || !slices.Equal(rules, format.InOrder(rules)) {
		im.out.NoteRule(contract.Left, of.Pos, subject, of.Key,
			"the order of its entries decides, which the source cannot say: it stays in the file, and in force")
		return
	}
	for i, m := range fields {
		im.keep(root, of.Key+" "+m.Key, rules[i].Text(), rules[i].Approve, m)
	}
}

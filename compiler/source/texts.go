package source

import (
	"bytes"
	"path"
	"strings"

	"modec.dev/modec/compiler/diag"
)

// textFields are the fields that name a text file, by section.
var textFields = map[string][]string{
	"modes": {"customInstructionsFile", "roleDefinitionFile"},
	"roles": {"appendSystemPromptFile"},
}

// rulesField is the field of a mode that lists text files.
const rulesField = "rules"

// texts reads the text files that modes and roles name. The schema's check reports names of
// the wrong form.
func (l *loader) texts() {
	for _, section := range []string{"modes", "roles"} {
		subjects := l.tree.Root.Get(section)
		if subjects == nil {
			continue
		}
		for _, s := range subjects.Fields {
			at := section + "." + diag.Label(s.Name)
			for _, name := range textFields[section] {
				l.text(s.Node.Get(name), diag.Join(at, name))
			}
			if rules := s.Node.Get(rulesField); rules != nil && section == "modes" {
				for i, n := range rules.Elems {
					l.text(n, diag.Join(at, diag.Index(rulesField, i)))
				}
			}
		}
	}
}

// text reads one file. Its path is relative to the file that names it, and inside the
// project.
func (l *loader) text(n *Node, at string) {
	if n == nil || n.Kind != String {
		return
	}
	name, ok := TextPath(n)
	if !ok {
		l.diags.Errorf(diag.PathOutside, n.Pos, "got %q, want a file inside the project", n.Text).Path(at)
		return
	}
	if _, ok := l.tree.Texts[name]; ok {
		return
	}
	if b, ok := l.read(name, n.Pos); ok {
		if bytes.IndexByte(b, 0) >= 0 {
			l.diags.Errorf(diag.BadValue, n.Pos, "%s has a NUL character; remove it", name).Path(at)
		}
		l.tree.Texts[name] = strings.ReplaceAll(strings.TrimPrefix(string(b), "\uFEFF"), "\r\n", "\n")
	}
}

// TextPath returns the path of the text file that a node names, relative to the root; false
// for a path outside of it.
func TextPath(n *Node) (string, bool) {
	name := path.Join(path.Dir(n.Pos.File), n.Text)
	outside := path.IsAbs(n.Text) || name == ".." || strings.HasPrefix(name, "../") ||
		strings.ContainsAny(n.Text, "\\\x00")
	return name, !outside
}

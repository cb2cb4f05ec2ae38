package roo

import (
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// ignoreFile reads what no mode may read or edit. A line that the source cannot
// say denies more: every special character becomes "*".
func (im *importer) ignoreFile(file string, data []byte) {
	im.originals[file], im.kinds[file] = data, ignoreKind
	if len(data) > 0 { // the agent adds the names of the file itself
		for _, name := range im.layout.ignore {
			im.ignores = append(im.ignores, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: name}, Pos: diag.Pos{File: file, Line: 1, Col: 1}, From: sharedIgnore})
		}
	}
	note := ""
	for i, line := range strings.Split(string(data), "\n") {
		at := diag.Pos{File: file, Line: i + 1, Col: 1}
		line = strings.TrimRight(strings.TrimSuffix(line, "\r"), " \t")
		switch {
		case strings.HasPrefix(line, "#"):
			note = strings.TrimSpace(note + "\n" + strings.TrimSpace(strings.TrimLeft(line, "#")))
			continue
		case line == "":
			note = ""
			continue
		case strings.HasPrefix(line, "!"):
			im.out.NoteRule(contract.Refused, at, "", line, "a deny has no exception here: what it takes back stays denied")
			continue
		}
		glob, exact := ignoreGlob(line)
		if err := policy.CheckGlob(glob); err != nil {
			glob, exact = "**", false
		}
		why := ""
		if !exact {
			why = "written as " + glob + ", which denies more"
		}
		im.out.NoteRule(contract.Understood, at, "", line, why)
		if note != "" && !strings.HasPrefix(note, "Written by modec") {
			im.out.Comments[at] = note
		}
		note = ""
		im.ignores = append(im.ignores, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: glob}, Pos: at, From: sharedIgnore})
	}
}

// ignoreGlob writes a line of a gitignore file as a deny that holds no less.
func ignoreGlob(line string) (glob string, exact bool) {
	exact = true
	text := strings.NewReplacer("[k\u212A]", "k", "[K\u212A]", "K", "[s\u017F]", "s", "[S\u017F]", "S").Replace(line)
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '[':
			end := strings.IndexByte(text[i:], ']')
			if end < 0 {
				end = len(text) - i - 1
			}
			b.WriteByte('*')
			i, exact = i+end, false
		case c == '\\' || c == '?' || c == '{' || c == '}' || c == ',' || c == '!' && b.Len() == 0:
			b.WriteByte('*')
			exact = false
			if c == '\\' {
				i++
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), exact
}

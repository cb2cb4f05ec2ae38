package importer

import (
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// sharedIgnore is the policy of what the ignore file holds for every mode.
const sharedIgnore = "policy ignore_file"

// ignoreFile reads what no mode may read or edit. A line that the source cannot
// say denies more: every special character becomes "*".
func (im *importer) ignoreFile(file string, data []byte) {
	im.originals[file], im.kinds[file] = data, ignoreKind
	deny := func(glob string, at diag.Pos) {
		im.ignores = append(im.ignores, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: glob}, Pos: at,
			From: sharedIgnore})
	}
	if len(data) > 0 { // the agent adds the names of the file itself
		for _, name := range im.Ignore {
			deny(name, diag.Pos{File: file, Line: 1, Col: 1})
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
			im.out.NoteRule(contract.Refused, at, "", line,
				"a deny has no exception here: what it takes back stays denied")
			continue
		}
		glob, why := ignoreGlob(line)
		im.out.NoteRule(contract.Understood, at, "", line, why)
		if note != "" && !strings.HasPrefix(note, "Written by modec") {
			im.out.Comments[at] = note
		}
		note = ""
		deny(glob, at)
	}
}

// specialCharacters are those of a gitignore file that a glob reads otherwise.
const specialCharacters = `\?{},`

// ignoreGlob writes a line of a gitignore file as a deny that holds no less. why is
// set where it holds more.
func ignoreGlob(line string) (glob, why string) {
	exact := true
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
		case strings.IndexByte(specialCharacters, c) >= 0, c == '!' && b.Len() == 0:
			b.WriteByte('*')
			exact = false
			if c == '\\' {
				i++
			}
		default:
			b.WriteByte(c)
		}
	}
	glob = b.String()
	if policy.CheckGlob(glob) != nil {
		glob, exact = "**", false
	}
	if !exact {
		why = "written as " + glob + ", which denies more"
	}
	return glob, why
}

package importer

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
)

// sharedIgnore is the policy of what the ignore file holds for every mode.
const sharedIgnore = "policy ignore_file"

// ignoreFile reads what no mode may read or edit. A line that the source cannot
// say denies more: every special character becomes "*". One that takes something back has no place in a
// source, in which any deny that matches holds.
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
	before := len(im.ignores)
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
		case matchesNothing(strings.TrimPrefix(line, "!")):
			im.out.NoteRule(contract.Understood, at, "", line, "it matches no path: the agent resolves them first")
			continue
		case strings.HasPrefix(line, "!"):
			im.takenBack(line, at, im.ignores[before:])
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

// matchesNothing reports whether a line is about paths that no tool tests, since the agent resolves a path
// first, or has a class that does not end.
func matchesNothing(line string) bool {
	switch {
	case strings.Contains(line, `\`):
		return false
	case strings.LastIndexByte(line, '[') > strings.LastIndexByte(line, ']'):
		return true
	case strings.ContainsAny(line, "*?["):
		return false
	}
	return slices.ContainsFunc(strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "/"), "/"), "/"),
		func(name string) bool { return name == "" || name == "." || name == ".." })
}

// takenBack notes a line that takes back what those before it refuse. It takes nothing back where none
// of them matches, and below a folder that one of them matches.
func (im *importer) takenBack(line string, at diag.Pos, before []ir.Rule) {
	text := line[1:]
	glob, _ := ignoreGlob(text)
	engine := policy.New(&ir.Project{})
	meets := func(r ir.Rule) bool {
		hold, back := r.Pattern.Text, glob
		if isName(hold) && isName(back) { // one below the other is held by its folder
			hold, back = "/"+hold, "/"+back
		}
		return engine.Meet(ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: hold}},
			ir.Rule{Decision: ir.Allow, Pattern: ir.Pattern{Text: back}})
	}
	holds := func(r ir.Rule) bool { return holdsFolder(r.Pattern.Text, text) }
	switch {
	case !slices.ContainsFunc(before, meets):
		im.out.NoteRule(contract.Understood, at, "", line, "no line before it refuses what it would take back")
	case !im.takesBack && slices.ContainsFunc(before, holds):
		im.out.NoteRule(contract.Understood, at, "", line, "it takes nothing back: a folder above is refused")
	default:
		im.takesBack = true
		im.out.NoteRule(contract.Refused, at, "", line,
			"a deny has no exception here: what it takes back is denied, and a build leaves the line out")
	}
}

// isName reports whether a glob is about names at any depth.
func isName(glob string) bool {
	return !strings.Contains(strings.TrimSuffix(glob, "/"), "/") && !strings.Contains(glob, "**")
}

// holdsFolder reports whether a line without a wildcard is about a folder in which a path without one lies.
func holdsFolder(line, name string) bool {
	if strings.ContainsAny(line+name, `*?[\`) {
		return false
	}
	folder := policy.Fold(strings.Trim(line, "/"))
	anywhere := isName(line)
	if name = strings.Trim(name, "/"); !strings.Contains(name, "/") {
		return false
	}
	for at := path.Dir(policy.Fold(name)); at != "."; at = path.Dir(at) {
		if at == folder || anywhere && path.Base(at) == folder {
			return true
		}
	}
	return false
}

// specialCharacters are those of a gitignore file that a glob reads otherwise.
const specialCharacters = `\?{},`

var stars = lazy.Regexp(`([^/*])\*{2,}|\*{2,}([^/*])`)

// ignoreGlob writes a line of a gitignore file as a deny that holds no less. why is
// set where it holds more.
func ignoreGlob(line string) (glob, why string) {
	exact := true
	text := strings.NewReplacer("[k\u212A]", "k", "[K\u212A]", "K", "[s\u017F]", "s", "[S\u017F]", "S").Replace(line)
	text = stars().ReplaceAllString(text, "$1*$2") // beside other letters they are one
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case i == 0 && strings.HasPrefix(text, `\#`):
			b.WriteByte('#')
			i++
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

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

// ignoreFile reads what no mode may read or edit. A line that the source cannot say denies more: every special
// character becomes "*". A file of which one line takes something back stays as it is, since in a source any deny that
// matches holds.
func (im *importer) ignoreFile(file string, data []byte) {
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
	notes := len(im.out.Notes)
	var before []string
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
			why, nothing := takesNothingBack(line[1:], before)
			if !nothing {
				im.ignores, im.out.Notes = nil, im.out.Notes[:notes]
				im.out.Files = slices.DeleteFunc(im.out.Files, func(f string) bool { return f == file })
				im.out.Note(contract.Left, at, "", line, "it takes back what lines before it refuse, and a deny "+
					"of the source has no exception: all of the file stays as it is and goes on to hold, beside "+
					"what modec writes")
				return
			}
			im.out.NoteRule(contract.Understood, at, "", line, why)
			continue
		}
		glob, why := lineGlob(line)
		before = append(before, glob)
		im.out.NoteRule(contract.Understood, at, "", line, why)
		if note != "" && !strings.HasPrefix(note, "Written by modec") {
			im.out.Comments[at] = note
		}
		note = ""
		deny(within(glob), at)
	}
	im.originals[file], im.kinds[file] = data, ignoreKind
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

// takesNothingBack returns why a line takes nothing back of what those before it refuse: none of them matches, or one
// matches a folder above.
func takesNothingBack(text string, before []string) (why string, nothing bool) {
	glob, _ := lineGlob(text)
	engine := policy.New(&ir.Project{})
	meets := func(hold string) bool {
		back := glob
		if isName(hold) && isName(back) { // one below the other is held by its folder
			hold, back = "/"+hold, "/"+back
		}
		return engine.Meet(ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: hold}},
			ir.Rule{Decision: ir.Allow, Pattern: ir.Pattern{Text: back}})
	}
	switch {
	case !slices.ContainsFunc(before, meets):
		return "no line before it refuses what it would take back", true
	case slices.ContainsFunc(before, func(hold string) bool { return holdsFolder(hold, text) }):
		return "it takes nothing back: a folder above is refused", true
	}
	return "", false
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

// plainClass matches a class of ASCII letters and digits, which a glob reads alike.
var plainClass = lazy.Regexp(`^\[[0-9A-Za-z]+\]`)

var stars = lazy.Regexp(`([^/*])\*{2,}|\*{2,}([^/*])`)

// Line returns the deny that a line of a gitignore file is, "" for one that the source cannot say.
func Line(line string) string {
	glob, why := lineGlob(strings.TrimRight(line, " \t"))
	if why != "" {
		return ""
	}
	return within(glob)
}

// within returns a glob about what is in the folders of a name, where it is about folders: a gitignore file does not
// mean a file of the folder's name, as a deny would.
func within(glob string) string {
	folder, ok := strings.CutSuffix(glob, "/")
	switch {
	case !ok || strings.HasSuffix(folder, "**") || strings.Trim(folder, "/") == "":
		return glob
	case !strings.Contains(folder, "/"):
		return "**/" + folder + "/*"
	}
	return folder + "/*"
}

// lineGlob writes a line of a gitignore file as a glob that takes no less. why is set where it takes more.
func lineGlob(line string) (glob, why string) {
	exact := true
	text := strings.NewReplacer("[k\u212A]", "k", "[K\u212A]", "K", "[s\u017F]", "s", "[S\u017F]", "S").Replace(line)
	text = stars().ReplaceAllString(text, "$1*$2") // beside other letters they are one
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case i == 0 && strings.HasPrefix(text, `\#`):
			b.WriteByte('#')
			i++
		case c == '[' && plainClass().MatchString(text[i:]):
			class := plainClass().FindString(text[i:])
			b.WriteString(class)
			i += len(class) - 1
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

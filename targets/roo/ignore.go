package roo

import (
	"slices"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
)

// hoistReads finds the read denies that every reading mode has and that
// gitignore can say: the ignore file refuses them in all modes at once, and
// no mode loses its group. A mode that reads nothing agrees with every deny.
func (e *emitter) hoistReads() {
	var shared map[string]string
	for i := range e.in.Project.Modes {
		s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: e.in.Project.Modes[i].Slug})
		if err != nil {
			return // reported where the mode is emitted
		}
		if !may(s, ir.Read) {
			continue
		}
		own := map[string]string{}
		for _, r := range s.Rules(ir.Read) {
			if r.Decision != ir.Deny {
				continue
			}
			_, everywhere := shared[r.Pattern.Text]
			if line, ok := ignoreLine(r.Pattern); ok && (everywhere || shared == nil) {
				own[r.Pattern.Text] = line
			}
		}
		shared = own
	}
	e.ignored = shared
}

// may reports whether a subject may do anything at all in a group.
func may(s *policy.Subject, g ir.Group) bool {
	some := s.Default(g).Decision > ir.Deny
	for _, r := range s.Rules(g) {
		if r.Decision > ir.Deny {
			some = true
		} else if r.Pattern.Everything() || g == ir.Read && r.Pattern.Text == "/**" { // the root too
			return false
		}
	}
	return some
}

// plainCharacters mean themselves in a glob and in a gitignore file, or the same.
const plainCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@+*/"

// classes are those of ASCII letters and digits, which both read alike.
var classes = lazy.Regexp(`\[[0-9A-Za-z]+\]`)

// ignoreLine writes a deny as a line of a gitignore file for the same paths. It
// takes plain globs only: no brace or escape, no class but a plain one, and no "?", which is half a
// character above U+FFFF to Roo's reader ("ignore" on npm). That reader ignores
// the case of ASCII letters.
func ignoreLine(p ir.Pattern) (line string, ok bool) {
	special := func(c rune) bool {
		// One that folds to others is each of them, too.
		letter := unicode.IsLetter(c) && policy.Fold(string(c)) == string(unicode.ToLower(c))
		return !letter && !strings.ContainsRune(plainCharacters+"# ", c)
	}
	if p.Kind != ir.Plain || p.Text == "" || strings.TrimRight(p.Text, " /") != strings.TrimRight(p.Text, "/") ||
		strings.ContainsFunc(classes().ReplaceAllString(p.Text, ""), special) {
		return "", false
	}
	anchored := strings.Contains(strings.TrimSuffix(p.Text, "/"), "/")
	text := strings.Trim(p.Text, "/")
	for strings.HasSuffix(text, "/**") { // what is below counts in either file
		text = strings.TrimRight(strings.TrimSuffix(text, "/**"), "/")
	}
	for name := range strings.SplitSeq(text, "/") {
		if name == "" || name == "." || name == ".." {
			return "", false
		}
	}
	if anchored && !strings.Contains(text, "/") {
		text = "/" + text
	}
	if text[0] == '#' { // else a comment
		text = `\` + text
	}
	return text, true
}

// ignoredEdits reports what a mode may edit and cannot, because the ignore file
// applies to every tool.
func (e *emitter) ignoredEdits(m *ir.Mode, s *policy.Subject) {
	edits, rest := s.Rules(ir.Edit), s.Default(ir.Edit).Decision
	denied := map[string]bool{}
	for _, r := range edits {
		if r.Decision == ir.Deny && r.Pattern.Kind == ir.Plain {
			denied[r.Pattern.Text] = true
		}
	}
	for _, r := range s.Rules(ir.Read) {
		if !e.ignores(r) || denied[r.Pattern.Text] || rest == ir.Deny && !e.reached(r, edits) {
			continue
		}
		denied[r.Pattern.Text] = true
		e.loss(m, ir.Edit, codeIgnore, r.Pos, "%s refuses %s to every tool: the mode cannot edit it either",
			e.dir()+"ignore", r.Pattern).Hint("deny it for edit too, or let one mode read it")
	}
}

// ignores reports whether the ignore file contains a read rule.
func (e *emitter) ignores(r ir.Rule) bool {
	_, ok := e.ignored[r.Pattern.Text]
	return ok && r.Decision == ir.Deny && r.Pattern.Kind == ir.Plain
}

// ignoreFile writes the ignore file, unless it would be empty.
func (e *emitter) ignoreFile() []contract.File {
	if len(e.ignored) == 0 {
		return nil
	}
	var lines []string
	own := e.dialect.Layout().Ignore // the agent adds them to what a file has
	for _, line := range e.ignored {
		if len(e.ignored) == 1 || !slices.Contains(own, line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	text := "# Written by modec: what no mode may read.\n" + strings.Join(slices.Compact(lines), "\n") + "\n"
	return []contract.File{{Path: e.dir() + "ignore", Data: []byte(text)}}
}

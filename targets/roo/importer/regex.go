package importer

import (
	"errors"
	"strings"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/roo/format"
)

// access is what a fileRegex permits and denies, as expressions and globs.
type access struct {
	permits []string
	denies  []ir.Pattern
	all     bool // what is not denied is permitted
	outside bool // files outside the project are permitted, too
}

// accessOf takes a fileRegex apart that refuses something before what it permits, as modec writes them. Any other
// expression is the one thing that it permits, wherever it takes a path.
func accessOf(source string, known map[string]bool) access {
	p, err := ecma.Parse(source)
	if err == nil {
		if a, ok := written(p, known); ok {
			return a
		}
	}
	return access{permits: []string{source}, outside: err != nil || leads(p)}
}

// leads reports whether an expression takes a path that leads out of the project, written as systems
// write it. One that is not regular may.
func leads(p *ecma.Pattern) bool {
	sp := everyLetter()
	l, err := sp.ECMAScriptWithin(p, regexlang.Bound{})
	out, out1 := sp.Go(`^(/|~/|[A-Za-z]:/|(\.\./)+)$`)
	odd, odd1 := sp.Go(`(?s)^(.*/)?\.{0,2}(/.*)?$`)
	return errors.Join(err, out1, odd1) != nil || sp.Meets(l, sp.Cat(out, sp.Not(odd)))
}

func everyLetter() *regexlang.Space {
	return regexlang.New(regexlang.SetOf(func(rune) bool { return true }))
}

// written takes an expression apart as today's emitter writes it; false for any other.
func written(p *ecma.Pattern, known map[string]bool) (a access, ok bool) {
	if len(p.Root) != 1 || p.Root[0][:min(1, len(p.Root[0]))].String() != "^" {
		return a, false
	}
	rest := p.Root[0][1:]
	body, ok := looked(rest, ecma.NotAhead)
	if !ok {
		return a, false
	}
	for _, s := range body {
		if !a.refused(s, known) {
			a.denies = append(a.denies, ir.Pattern{Kind: ir.Regex, Text: loosened(s)})
		}
	}
	rest = rest[1:]
	last := len(rest) - 1
	switch {
	case last < 1 || rest[last:].String() != "$":
		return a, false
	case rest.String() == ".*$":
		a.all = true
		return a, true
	}
	permits := ecma.Alternation{rest[:last]}
	if group, ok := groupBody(rest[:last]); ok {
		permits = group
	}
	for _, s := range permits {
		a.permits = append(a.permits, unanchored(s))
	}
	return a, true
}

// refused adds what a sequence refuses: names, with all that is below them. It fails on one
// that is not written as the emitter does.
func (a *access) refused(s ecma.Sequence, known map[string]bool) bool {
	last := len(s) - 1
	if last < 1 || s[last:].String() != format.NameEnd {
		return false
	}
	all := ecma.Alternation{s[:last]}
	if group, ok := groupBody(s[:last]); ok {
		all = group
	}
	for _, s := range all {
		if s[:min(1, len(s))].String() != "(.*/)?" {
			a.names(s, "/", known)
			continue
		}
		a.names(s[1:], "", known)
	}
	return true
}

// names adds the names that a sequence refuses, but for those that are known. A root is "/"
// where they begin at the root of the project.
func (a *access) names(s ecma.Sequence, root string, known map[string]bool) {
	for _, name := range spelledOut(ecma.Alternation{s}) {
		if isKnown(known, name) || isKnown(known, "/"+name) && root != "" {
			continue
		}
		if glob, ok := nameGlob(name, root); ok {
			a.denies = append(a.denies, ir.Pattern{Text: glob})
			continue
		}
		begin := "(^|/)"
		if root != "" {
			begin = "^"
		}
		a.denies = append(a.denies, ir.Pattern{Kind: ir.Regex, Text: begin + name + format.NameEnd})
	}
}

// isKnown reports whether a name is known, or a folder that it lies in.
func isKnown(known map[string]bool, name string) bool {
	name = policy.Fold(name)
	for i := range name {
		if name[i] == '/' && i > 0 && known[name[:i]] {
			return true
		}
	}
	return known[name]
}

// nameGlob returns the glob for a name and what is below it.
func nameGlob(name, root string) (string, bool) {
	p, err := ecma.Parse(name)
	if err != nil || len(p.Root) != 1 {
		return "", false
	}
	var b strings.Builder
	for _, t := range p.Root[0] {
		text := ecma.Sequence{t}.String()
		atom, ok := wildcards[text]
		if !ok {
			atom, ok = globTerm(t)
		}
		if l, is := t.(*ecma.Literal); is && l.Escape == "" && l.Unit >= 0x80 && !l.Half() {
			atom, ok = text, true
		}
		if !ok {
			return "", false
		}
		b.WriteString(atom)
	}
	glob := b.String()
	switch {
	case strings.Contains(glob, "/") && root == "":
		glob = "**/" + glob
	case !strings.Contains(glob, "/"):
		glob = root + glob
	}
	return glob, policy.CheckGlob(glob) == nil
}

// maxNames bounds what an expression is spelled out to.
const maxNames = 1024

// spelledOut returns the expressions without alternatives that an expression stands for.
func spelledOut(a ecma.Alternation) []string {
	var out []string
	for _, s := range a {
		texts := []string{""}
		for _, t := range s {
			var longer []string
			for _, more := range choices(t) {
				for _, text := range texts {
					longer = append(longer, text+more)
				}
			}
			if texts = longer; len(texts) > maxNames {
				return []string{a.String()}
			}
		}
		out = append(out, texts...)
	}
	return out
}

// choices returns what a term stands for.
func choices(t ecma.Term) []string {
	text := ecma.Sequence{t}.String()
	if _, ok := wildcards[text]; ok {
		return []string{text}
	}
	switch t := t.(type) {
	case *ecma.Group:
		if t.Name == "" {
			return spelledOut(t.Body)
		}
	case *ecma.Repetition:
		if t.Min == 0 && t.Max == 1 && !t.Lazy {
			return append([]string{""}, choices(t.Term)...)
		}
	}
	return []string{text}
}

// unanchored writes an expression over the whole path as one that is looked for anywhere.
func unanchored(s ecma.Sequence) string {
	begin, end := "^", "$"
	if len(s) > 0 {
		switch s[:1].String() {
		case ".*":
			begin, s = "", s[1:]
		case "(.*/)?":
			begin, s = "(^|/)", s[1:]
		}
	}
	if last := len(s) - 1; last >= 0 {
		switch s[last:].String() {
		case ".*":
			end, s = "", s[:last]
		case "(/.*)?":
			end, s = format.NameEnd, s[:last]
		}
	}
	return begin + s.String() + end
}

// loosened writes an expression from the begin of a path on as one that is looked for anywhere.
func loosened(s ecma.Sequence) string {
	if s[:min(1, len(s))].String() != ".*" {
		return "^" + s.String()
	}
	if group, ok := groupBody(s[1:]); ok {
		return group.String()
	}
	return s[1:].String()
}

// looked returns the body of a look-around that a sequence begins with.
func looked(s ecma.Sequence, kind ecma.LookKind) (ecma.Alternation, bool) {
	if len(s) == 0 {
		return nil, false
	}
	l, ok := s[0].(*ecma.Look)
	if !ok || l.Kind != kind {
		return nil, false
	}
	return l.Body, true
}

// groupBody returns what stands in the group that a sequence is: one without a name.
func groupBody(s ecma.Sequence) (ecma.Alternation, bool) {
	if len(s) != 1 {
		return nil, false
	}
	g, ok := s[0].(*ecma.Group)
	if !ok || g.Name != "" {
		return nil, false
	}
	return g.Body, true
}

// names returns what globs are in an expression that refuses them, folded.
func names(globs []string) map[string]bool {
	out := map[string]bool{}
	for _, g := range globs {
		all, err := policy.ECMAScript(g, ir.Deny)
		if err != nil {
			continue
		}
		for _, x := range all {
			root := "/"
			if x.Anywhere {
				root = ""
			}
			p, err := ecma.Parse(strings.Join(x.Parts, ""))
			if err != nil {
				continue
			}
			for _, name := range spelledOut(p.Root) {
				out[policy.Fold(root+name)] = true
				if folder, ok := strings.CutSuffix(name, "/.+"); ok && x.Anywhere { // refused whole
					out[policy.Fold(folder)] = true
				}
			}
		}
	}
	return out
}

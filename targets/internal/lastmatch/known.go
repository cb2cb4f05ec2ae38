package lastmatch

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/opencode/format"
)

// known is what an emitter has worked out: subjects have most rules in common, and a subject stands in several files.
type known struct {
	alone    *policy.Engine   // without what everyone states
	space    *regexlang.Space // of the texts that patterns match
	subjects map[ir.SubjectRef]subject
	paths    map[pathRule]pathPart
	parts    map[string]regexlang.Language
	common   map[[2]regexlang.Language]bool // whether some text is in both
}

// subject is a subject's permission, with what was reported of it.
type subject struct {
	writer *writer
	ok     bool
	diags  diag.List
}

// pathRule is what the patterns of a rule about paths depend on.
type pathRule struct {
	ir.Pattern
	restricts bool // the rule is no allow
}

// pathPart is what paths returns.
type pathPart struct {
	part part
	err  error
}

func newKnown(in contract.Input) *known {
	alone := in.Policy
	if in.Project.Everyone != nil {
		p := *in.Project
		p.Everyone = nil
		alone = policy.New(&p)
	}
	return &known{
		alone:    alone,
		space:    regexlang.New(regexlang.SetOf(func(rune) bool { return true })),
		subjects: map[ir.SubjectRef]subject{},
		paths:    map[pathRule]pathPart{},
		parts:    map[string]regexlang.Language{},
		common:   map[[2]regexlang.Language]bool{},
	}
}

// meets reports whether some text may be in two parts of ASCII.
func (k *known) meets(a, b part) bool {
	overlap := slices.ContainsFunc(a.patterns, func(p string) bool {
		return slices.ContainsFunc(b.patterns, func(o string) bool { return format.Overlap(p, o) })
	})
	if !overlap || len(a.but)+len(b.but) == 0 { // a language would say the same, and takes long to make
		return overlap
	}
	return k.share(k.language(a), k.language(b))
}

// within reports whether a part has all of another one.
func (k *known) within(p, all part) bool {
	for _, pattern := range p.patterns {
		if text := sample(pattern); text != "" && p.has(text) && !all.has(text) {
			return false
		}
	}
	return !k.share(k.language(p), k.space.Not(k.language(all)))
}

// share reports whether some text is in two languages.
func (k *known) share(a, b regexlang.Language) bool {
	of := [2]regexlang.Language{a, b}
	meets, ok := k.common[of]
	if !ok {
		meets = k.space.Meets(a, b)
		k.common[of] = meets
	}
	return meets
}

// sample returns a text that a pattern matches.
func sample(pattern string) string {
	return strings.ReplaceAll(strings.ReplaceAll(pattern, "*", ""), "?", "x")
}

// has reports whether a text is in a part.
func (p part) has(text string) bool {
	matches := func(pattern string) bool { return format.Match(pattern, text) }
	return slices.ContainsFunc(p.patterns, matches) && !slices.ContainsFunc(p.but, matches)
}

// language returns the texts that patterns match, but for some.
func (k *known) language(p part) regexlang.Language {
	name := strings.Join(p.patterns, "\n") + "\n\n" + strings.Join(p.but, "\n")
	l, ok := k.parts[name]
	if !ok {
		l = k.space.Without(k.union(p.patterns), k.union(p.but))
		k.parts[name] = l
	}
	return l
}

// union returns the texts that some patterns match.
func (k *known) union(patterns []string) regexlang.Language {
	var any []regexlang.Language
	for _, pattern := range patterns {
		l, err := format.Language(k.space, pattern, format.AsWritten)
		if err != nil {
			l = regexlang.All
		}
		any = append(any, l)
	}
	return k.space.Or(any...)
}

package model

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/cursor/format"
)

// Contains reports whether a subject has files.
func (d *decider) Contains(ref ir.SubjectRef) bool { return len(d.setups[ref]) > 0 }

// KnownPrograms returns those in whose lines the engine finds no command.
func (d *decider) KnownPrograms() []string { return slices.Sorted(maps.Keys(notCommands)) }

// Languages returns what decides about a subject's plain files, lines, hosts and subagents: the
// tokens of the CLI, what they are written for, the entries of the IDE, and the policy of each hook.
func (d *decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	var all []regexlang.Language
	g := of.Group
	for _, s := range d.setups[ref] {
		if s.hooks != nil {
			said, err := s.hooks.languages(of, sp)
			if err != nil {
				return nil, err
			}
			all = append(all, said...)
		}
		switch g {
		case ir.MCP:
			all = append(all, d.named(s, sp)...)
			continue
		case ir.Command:
			matched, meant := lines(d.entries(s), sp)
			all = append(all, matched, meant)
		}
		if d.surface != cli || s.tokens == nil {
			continue
		}
		if g == ir.Command {
			denied, _ := lines(s.tokens.shellDeny, sp)
			all = append(all, denied)
		} else {
			all = append(all, matched(s.tokens.allow, g, sp), matched(s.tokens.deny, g, sp))
		}
		if s.tokens.meaning != nil {
			meant, err := s.tokens.meaning.Languages(sp, of)
			if err != nil {
				return nil, err
			}
			all = append(all, meant...)
		}
	}
	return all, nil
}

// Languages returns none: by itself Cursor treats all plain files, hosts and subagents alike.
func (d alone) Languages(ir.SubjectRef, policy.Field, *regexlang.Space) ([]regexlang.Language, error) {
	return nil, nil
}

// matched returns what the tokens of a list for a group match.
func matched(list []token, g ir.Group, sp *regexlang.Space) regexlang.Language {
	keyword := map[ir.Group]format.Keyword{ir.Read: format.Read, ir.Edit: format.Write, ir.Web: format.WebFetch}[g]
	var any []regexlang.Language
	for i := range list {
		t := &list[i]
		if t.Keyword != keyword {
			continue
		}
		if g == ir.Web {
			any = append(any, t.host.language(sp))
			continue
		}
		any = append(any, sp.After(t.whole.language(sp), root+"/")) // the path begins with that of the project
	}
	return sp.Or(any...)
}

// lines returns the plain lines that tokens match ([token.matchesShell]), and those for which they
// were written ([token.means]).
func lines(list []token, sp *regexlang.Space) (matched, meant regexlang.Language) {
	word := sp.Word()
	begins := func(first regexlang.Language) regexlang.Language { return sp.Cat(sp.And(first, word), sp.MoreWords()) }
	// named returns what some languages have, or what begins with a word of others.
	named := func(whole, first []regexlang.Language) regexlang.Language {
		return sp.Or(sp.Or(whole...), begins(sp.Or(first...)))
	}
	var names, firstNames, colons, firstColons, pairs []regexlang.Language
	for i := range list {
		t := &list[i]
		whole, longer := t.whole.language(sp), sp.Cat(sp.Text(t.Inside+" "), regexlang.All)
		if !t.pair {
			names, firstNames = append(names, whole, longer), append(firstNames, whole, sp.Text(t.Inside))
			continue
		}
		colons, firstColons = append(colons, whole, longer), append(firstColons, whole, sp.Text(t.Inside))
		first, rest := t.first.language(sp), t.second.language(sp)
		behind := sp.Cat(word, sp.Text(" "), rest)
		if sp.Has(rest, "") {
			behind = sp.Or(behind, word)
		}
		pairs = append(pairs, sp.And(sp.Or(first, begins(first)), behind))
	}
	meant = sp.Or(named(names, firstNames), sp.Or(pairs...))
	return sp.Or(meant, named(colons, firstColons)), meant
}

// language returns the plain arguments that a glob matches.
func (g glob) language(sp *regexlang.Space) regexlang.Language {
	return sp.Or(sp.Pieces(g.parts, sp.Text), g.also.language(sp, nil))
}

// folded returns the plain arguments that a glob in lower case matches in any case.
func (g glob) folded(sp *regexlang.Space) regexlang.Language {
	return sp.Or(sp.Pieces(g.parts, sp.TextInAnyCase), g.also.language(sp, unicode.ToLower))
}

// language returns the plain hosts that an entry matches: no network has one.
func (h hostEntry) language(sp *regexlang.Space) regexlang.Language {
	switch {
	case h.text == "*":
		return regexlang.All
	case strings.HasPrefix(h.text, "*."):
		return sp.Cat(sp.Optional(sp.Cat(regexlang.All, sp.Text("."))), sp.Text(h.text[2:]))
	}
	return sp.Text(h.text)
}

// languages returns what the hooks of a file decide by.
func (f *hooksFile) languages(of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	var all []regexlang.Language
	type asked struct {
		*policy.Engine
		ir.SubjectRef
	}
	seen := map[asked]bool{}
	for _, event := range slices.Sorted(maps.Keys(f.events)) {
		list := f.events[event]
		prefix, held := matchedNames[of.Group][event]
		for i := range list {
			e := &list[i]
			if held && e.Matcher != nil { // against the name or the line
				l, err := sp.ECMAScript(e.Matcher.Pattern, false)
				if err != nil {
					return nil, err
				}
				all = append(all, sp.After(l, prefix))
			}
			who := asked{e.Policy, e.Subject}
			if e.Role != contract.HookModec || seen[who] {
				continue
			}
			seen[who] = true
			subject, err := e.Policy.Subject(e.Subject)
			if err != nil {
				return nil, err
			}
			said, err := subject.Languages(sp, of)
			if err != nil {
				return nil, err
			}
			all = append(all, said...)
		}
	}
	return all, nil
}

// matchedNames has the events whose matchers are held against an argument, with what stands before
// it there.
var matchedNames = map[ir.Group]map[string]string{
	ir.Modes:   {"subagentStart": ""},
	ir.Command: {"beforeShellExecution": ""},
	ir.MCP:     {"beforeMCPExecution": "MCP:", "preToolUse": "MCP:"},
}

// named returns the tools that the entries of a setup name, on whatever server.
func (d *decider) named(s setup, sp *regexlang.Space) (all []regexlang.Language) {
	var tokens []token
	var list Allowlist
	switch {
	case d.surface == cli && s.tokens != nil:
		tokens = slices.Concat(s.tokens.allow, s.tokens.deny)
	case d.surface == ide && s.permissions != nil:
		tokens, list = s.permissions.globs, s.permissions.mcp
	}
	for i := range tokens {
		if t := &tokens[i]; t.Keyword == format.MCP && t.pair && !t.anySecond {
			all = append(all, t.second.folded(sp), t.written.language(sp))
		}
	}
	for _, e := range slices.Concat(list, d.settings.admin) {
		if e.Tool != "*" {
			all = append(all, sp.TextInAnyCase(format.Fold(e.Tool)), sp.Text(format.Trim(e.Tool)))
		}
	}
	return all
}

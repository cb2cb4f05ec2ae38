package model

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regular"
	"modec.dev/modec/targets/cursor/format"
)

// Contains reports whether a subject has files.
func (d *decider) Contains(ref ir.SubjectRef) bool { return len(d.setups[ref]) > 0 }

// Coded returns the lines in which the engine finds no command.
func (d *decider) Coded(g ir.Group, sp *regular.Space) regular.Language {
	if g != ir.Command {
		return regular.None
	}
	return policy.Lines(sp, slices.Sorted(maps.Keys(notCommands))...)
}

// Languages returns what decides about a subject's plain files, lines, hosts and subagents: the
// tokens of the CLI, what they are written for, the entries of the IDE, and the policy of each hook.
func (d *decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regular.Space) ([]regular.Language, error) {
	var all []regular.Language
	g := of.Group
	for _, s := range d.setups[ref] {
		if s.hooks != nil {
			said, err := s.hooks.languages(of, sp)
			if err != nil {
				return nil, err
			}
			all = append(all, said...)
		}
		if g == ir.MCP {
			all = append(all, d.named(s, sp)...)
			continue
		}
		if g == ir.Command {
			matched, meant := lines(d.entries(s), sp)
			all = append(all, matched, meant)
		}
		if d.surface != cli || s.tokens == nil {
			continue
		}
		for _, list := range [][]token{s.tokens.allow, s.tokens.deny} {
			of, err := matched(list, g, sp)
			if err != nil {
				return nil, err
			}
			all = append(all, of)
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
func (d alone) Languages(ir.SubjectRef, policy.Field, *regular.Space) ([]regular.Language, error) {
	return nil, nil
}

// matched returns what the tokens of a list for a group match.
func matched(list []token, g ir.Group, sp *regular.Space) (regular.Language, error) {
	if g == ir.Command {
		matched, _ := lines(shellTokens(list), sp)
		return matched, nil
	}
	keyword := map[ir.Group]format.Keyword{ir.Read: format.Read, ir.Edit: format.Write, ir.Web: format.WebFetch}[g]
	var any []regular.Language
	for i := range list {
		t := &list[i]
		if t.Keyword != keyword {
			continue
		}
		if g == ir.Web {
			any = append(any, t.host.language(sp))
			continue
		}
		quoted := make([]string, len(t.whole.parts))
		for i, p := range t.whole.parts {
			quoted[i] = regexp.QuoteMeta(p)
		}
		// The path that is matched begins with that of the project.
		l, err := sp.Go(`(?s)\A(?:` + strings.Join(quoted, `.*`) + `)\z`)
		if err != nil {
			return regular.None, err
		}
		any = append(any, sp.After(l, root+"/"))
	}
	return sp.Or(any...), nil
}

// lines returns the plain lines that tokens match ([token.matchesShell]), and those for which they
// were written ([token.means]).
func lines(list []token, sp *regular.Space) (matched, meant regular.Language) {
	word := sp.Star(sp.Chars(regular.SetOf(func(r rune) bool { return r != ' ' })))
	blank := sp.Text(" ")
	end := sp.Optional(sp.Cat(blank, regular.All))
	// named returns what begins with one of some words, or begins as others do.
	named := func(whole, first []regular.Language) regular.Language {
		return sp.Or(sp.Or(whole...), sp.Cat(sp.And(sp.Or(first...), word), end))
	}
	var names, firstNames, colons, firstColons, pairs []regular.Language
	for i := range list {
		t := &list[i]
		whole, begins := t.whole.lines(sp), sp.Cat(sp.Text(t.Inside+" "), regular.All)
		if !t.pair {
			names, firstNames = append(names, whole, begins), append(firstNames, whole, sp.Text(t.Inside))
			continue
		}
		colons, firstColons = append(colons, whole, begins), append(firstColons, whole, sp.Text(t.Inside))
		first, rest := t.first.lines(sp), t.second.lines(sp)
		behind := sp.Cat(word, blank, rest)
		if sp.Has(rest, "") {
			behind = sp.Or(behind, word)
		}
		pairs = append(pairs, sp.And(sp.Or(first, sp.Cat(sp.And(first, word), end)), behind))
	}
	meant = sp.Or(named(names, firstNames), sp.Or(pairs...))
	return sp.Or(meant, named(colons, firstColons)), meant
}

// lines returns the plain lines, or names, that a glob matches.
func (g glob) lines(sp *regular.Space) regular.Language {
	of := []regular.Language{sp.Text(g.parts[0])}
	for _, p := range g.parts[1:] {
		of = append(of, regular.All, sp.Text(p))
	}
	return sp.Cat(of...)
}

// language returns the plain hosts that an entry matches: no network has one.
func (h hostEntry) language(sp *regular.Space) regular.Language {
	switch {
	case h.text == "*":
		return regular.All
	case strings.HasPrefix(h.text, "*."):
		return sp.Cat(sp.Optional(sp.Cat(regular.All, sp.Text("."))), sp.Text(h.text[2:]))
	}
	return sp.Text(h.text)
}

// languages returns what the hooks of a file decide by.
func (f *hooksFile) languages(of policy.Field, sp *regular.Space) ([]regular.Language, error) {
	var all []regular.Language
	type asked struct {
		*policy.Engine
		ir.SubjectRef
	}
	seen := map[asked]bool{}
	for event, list := range f.events {
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
			who := asked{e.policy, e.subject}
			if e.role != modec || seen[who] {
				continue
			}
			seen[who] = true
			subject, err := e.policy.Subject(e.subject)
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
func (d *decider) named(s setup, sp *regular.Space) (all []regular.Language) {
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
			all = append(all, t.second.anyCase(sp), t.writtenTool().lines(sp))
		}
	}
	for _, e := range slices.Concat(list, d.settings.admin) {
		if e.Tool != "*" {
			all = append(all, sp.TextInAnyCase(format.Fold(e.Tool)), sp.Text(format.Trim(e.Tool)))
		}
	}
	return all
}

// anyCase returns the plain names that a glob in lower case matches.
func (g glob) anyCase(sp *regular.Space) regular.Language {
	of := []regular.Language{sp.TextInAnyCase(g.parts[0])}
	for _, p := range g.parts[1:] {
		of = append(of, regular.All, sp.TextInAnyCase(p))
	}
	return sp.Cat(of...)
}

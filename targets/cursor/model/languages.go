package model

import (
	"errors"
	"regexp"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regular"
	"modec.dev/modec/targets/cursor/format"
)

// errNotLanguages is why a decision depends on more than languages.
var errNotLanguages = errors.New("what a hook sees of a path or a host is matched by expressions")

// Contains reports whether a subject has files.
func (d *decider) Contains(ref ir.SubjectRef) bool { return len(d.setups[ref]) > 0 }

// Languages returns what decides about a subject's plain files, hosts and subagents: the tokens of
// the CLI, what they are written for, and the policy of each hook.
func (d *decider) Languages(ref ir.SubjectRef, g ir.Group, sp *regular.Space) ([]regular.Language, error) {
	var all []regular.Language
	for _, s := range d.setups[ref] {
		if s.hooks != nil {
			of, err := s.hooks.languages(g, sp)
			if err != nil {
				return nil, err
			}
			all = append(all, of...)
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
			of, err := s.tokens.meaning.Languages(sp, g)
			if err != nil {
				return nil, err
			}
			all = append(all, of...)
		}
	}
	return all, nil
}

// Languages returns none: by itself Cursor treats all plain files, hosts and subagents alike.
func (d alone) Languages(ir.SubjectRef, ir.Group, *regular.Space) ([]regular.Language, error) {
	return nil, nil
}

// matched returns what the tokens of a list for a group match.
func matched(list []token, g ir.Group, sp *regular.Space) (regular.Language, error) {
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
func (f *hooksFile) languages(g ir.Group, sp *regular.Space) ([]regular.Language, error) {
	var all []regular.Language
	type asked struct {
		*policy.Engine
		ir.SubjectRef
	}
	seen := map[asked]bool{}
	for _, list := range f.events {
		for i := range list {
			e := &list[i]
			if e.role == modec && g == ir.Modes && e.Matcher != nil {
				return nil, errNotLanguages // it is held against the name
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
			of, err := subject.Languages(sp, g)
			if err != nil {
				return nil, err
			}
			all = append(all, of...)
		}
	}
	return all, nil
}

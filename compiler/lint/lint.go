// Package lint finds what a valid source probably does not mean: rules that decide
// nothing, permissions that are broader than they look, secrets and prompts out of
// place. Every rule has a name that stays, a severity, a paragraph and an example of
// each side; modec.toml sets its severity, and a comment silences it at one place:
//
//	// modec:ignore RULE reason
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Rule is one thing that lint looks for.
type Rule struct {
	ID       diag.Code     `json:"id"` // stable, kebab-case
	Severity diag.Severity `json:"severity"`
	Doc      string        `json:"doc"` // a paragraph: what it finds, why it matters, what to do
	// Bad is a source in which it finds something, Good one in which it does not.
	Bad  string `json:"bad"`
	Good string `json:"good"`
	// Fixable is set where the finding can be taken away without changing a decision.
	Fixable bool `json:"fixable,omitempty"`

	check func(*pass)
}

// Off is the severity of a rule that is not looked at.
const Off = "off"

// Severities are what modec.toml may set a rule to.
var Severities = []string{Off, "note", "warning", "error"}

// Request is what to look at.
type Request struct {
	Project *ir.Project
	Policy  *policy.Engine
	Rules   []Rule // what to look for, of All
	// Levels are severities by rule, where they differ from the rule's own.
	Levels map[diag.Code]string
	// PromptLimit is the most bytes of one prompt; 0: DefaultPromptLimit.
	PromptLimit int
	// Sources are the texts of the source's files, in which comments silence rules.
	Sources map[string][]byte
}

// DefaultPromptLimit is the most bytes that a prompt may have: about 8,000 tokens,
// which every request then pays for.
const DefaultPromptLimit = 32_000

// Finding is a diagnostic, and what takes it away.
type Finding struct {
	diag.Diagnostic
	Fix *Fix `json:"fix,omitempty"`
}

// Fix takes an item out of a list of the source.
type Fix struct {
	Pos diag.Pos `json:"pos"` // of the item
}

// Run looks at a project. The findings are sorted.
func Run(req Request) []Finding {
	p := &pass{Request: req, engines: map[ir.SubjectRef]*policy.Subject{}}
	if p.PromptLimit == 0 {
		p.PromptLimit = DefaultPromptLimit
	}
	for _, r := range req.Rules {
		level := r.Severity.String()
		if l, ok := req.Levels[r.ID]; ok {
			level = l
		}
		if level == Off {
			p.off = append(p.off, r.ID)
			continue
		}
		p.rule, p.severity = r.ID, severity(level)
		if r.check != nil {
			r.check(p)
		}
	}
	p.silence()
	slices.SortStableFunc(p.found, func(a, b Finding) int {
		if c := a.Pos.Compare(b.Pos); c != 0 {
			return c
		}
		if c := cmp.Compare(a.Code, b.Code); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	return slices.CompactFunc(p.found, func(a, b Finding) bool { return a.Pos == b.Pos && a.Code == b.Code && a.Message == b.Message })
}

func severity(word string) diag.Severity {
	for _, s := range []diag.Severity{diag.Error, diag.Warning} {
		if s.String() == word {
			return s
		}
	}
	return diag.Note
}

// pass is one look at a project.
type pass struct {
	Request
	rule     diag.Code
	severity diag.Severity
	off      []diag.Code
	found    []Finding
	engines  map[ir.SubjectRef]*policy.Subject
	everyone []subject
}

func (p *pass) add(at diag.Pos, subject, hint, format string, args ...any) *Finding {
	p.found = append(p.found, Finding{Diagnostic: diag.Diagnostic{Severity: p.severity, Code: p.rule, Pos: at, Subject: subject, Hint: hint, Message: fmt.Sprintf(format, args...)}})
	return &p.found[len(p.found)-1]
}

// subject is a mode or a role as the rules look at it.
type subject struct {
	ref  ir.SubjectRef
	name string // "mode architect"
	pos  diag.Pos
	can  *ir.Can
	mode *ir.Mode // nil of a role
	role *ir.Role // nil of a mode
}

// subjects lists the modes and roles, made once.
func (p *pass) subjects() []subject {
	if p.everyone != nil {
		return p.everyone
	}
	out := []subject{}
	for i := range p.Project.Modes {
		m := &p.Project.Modes[i]
		out = append(out, subject{ir.SubjectRef{Mode: m.Slug}, "mode " + m.Slug, m.Pos, &m.Can, m, nil})
	}
	for i := range p.Project.Roles {
		r := &p.Project.Roles[i]
		out = append(out, subject{ir.SubjectRef{Role: r.Name}, "role " + r.Name, r.Pos, &r.Can, nil, r})
	}
	p.everyone = out
	return out
}

// decide is the engine's answer; Deny where the subject does not compile, which a
// build tells.
func (p *pass) decide(ref ir.SubjectRef, a policy.Action) policy.Result {
	s, ok := p.engines[ref]
	if !ok {
		s, _ = p.Policy.Subject(ref)
		p.engines[ref] = s
	}
	if s == nil {
		return policy.Result{}
	}
	return s.Decide(a)
}

// ofSource reports a place in a file that a person wrote.
func ofSource(at diag.Pos) bool {
	return at.Line > 0 && at.File != ir.GuardsFile && !strings.HasPrefix(at.File, "modec.dev/")
}

// own reports a rule that the subject itself has, or a policy of the source: what it
// inherits from another subject is told there.
func own(from string) bool { return from == "" || strings.HasPrefix(from, "policy ") }

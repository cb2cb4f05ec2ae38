// Package lint finds what a valid source probably does not mean: rules that decide
// nothing, permissions that are broader than they look, secrets in headers.
//
// [All] returns the rules and [Run] looks for them. A rule has a stable name, a severity,
// a paragraph of documentation, and a source in which it finds something beside one in
// which it does not. modec.toml sets the severity. A comment silences a rule at one place:
//
//	// modec:ignore RULE reason
//
// [Fixes] takes out the items of a source that decide nothing.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
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
	// Fixable is set where the item that is found can be taken out without changing a
	// decision.
	Fixable bool `json:"fixable,omitempty"`
	// Review is the target in whose code of the project the rule finds something; its examples
	// are in the language of that code. "": in the source.
	Review string `json:"review,omitempty"`
	// Beside is the file beside the source in which it finds something; its examples are that file.
	Beside string `json:"beside,omitempty"`

	check func(*pass)
	// unused is set for what is found where nothing permits a thing at any time.
	unused bool
}

// Off is the severity of a rule that lint does not look for.
const Off = "off"

// Severities are what modec.toml may set a rule to.
var Severities = []string{Off, "note", "warning", "error"}

// Request says what to look at and for which rules.
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
	// Reviewed is what targets found in code of the project.
	Reviewed diag.List
	// Pins are those of the project; nil where it has none.
	Pins *pins.Set
	// Exceptions are those of modec.toml.
	Exceptions []Exception
	// Now is when exceptions and allows with times are judged; zero: they are not.
	Now time.Time
	// IsFolder reports whether a path of the project is a folder; nil: nobody knows.
	IsFolder func(path string) bool
}

// Exception is the last day of an exception, and where it is written.
type Exception struct {
	Until time.Time
	Pos   diag.Pos
}

// DefaultPromptLimit is the most bytes that a prompt may have: about 8,000 tokens,
// which every request then pays for.
const DefaultPromptLimit = 32_000

// Finding is a diagnostic, and how to get rid of it.
type Finding struct {
	diag.Diagnostic
	Fix *Fix `json:"fix,omitempty"`
}

// Fix takes an item out of a list of the source.
type Fix struct {
	Pos diag.Pos `json:"pos"` // of the item
}

// Run looks at a project and returns what it finds, sorted.
func Run(req Request) []Finding {
	p := &pass{Request: req, engines: map[ir.SubjectRef]*policy.Subject{}}
	if p.PromptLimit == 0 {
		p.PromptLimit = DefaultPromptLimit
	}
	open := p.opened()
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
		if r.check == nil {
			continue
		}
		if open == nil || !r.unused {
			r.check(p)
		}
		if open != nil && !r.Fixable { // what decides nothing while it is open may decide something before and after
			open.rule, open.severity = p.rule, p.severity
			r.check(open)
			p.found, open.found = append(p.found, open.found...), nil
		}
	}
	for _, target := range req.Project.Agents() {
		p.on(target)
	}
	p.silence()
	slices.SortStableFunc(p.found, compare)
	return slices.CompactFunc(p.found, func(a, b Finding) bool { return compare(a, b) == 0 })
}

// on adds what is found in the rules for one target alone, and takes out what is unused but for that target.
func (p *pass) on(target string) {
	req, alone, unused := p.Request, map[diag.Pos]bool{}, map[diag.Code]bool{}
	for _, r := range req.Rules {
		unused[r.ID] = r.unused
	}
	req.Project.EachCan(func(ref ir.SubjectRef, of string, can *ir.Can) {
		if of == target {
			for _, x := range req.Project.Can(ref).Added(can) {
				alone[x.Pos] = true
			}
		}
	})
	if req.Policy != nil {
		req.Policy = req.Policy.On(target)
	}
	req.Project, req.Sources = req.Project.For(target), nil
	found := Run(req)
	p.found = slices.DeleteFunc(p.found, func(f Finding) bool {
		return unused[f.Code] && !slices.ContainsFunc(found, func(x Finding) bool { return compare(f, x) == 0 })
	})
	for _, f := range found {
		if alone[f.Pos] {
			f.Target = target
			p.found = append(p.found, f)
		}
	}
}

func compare(a, b Finding) int {
	return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
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

// opened returns a look at the project with every time open; nil where there is none.
func (p *pass) opened() *pass {
	if p.Policy == nil || !p.Policy.Timed() {
		return nil
	}
	o := &pass{Request: p.Request, engines: map[ir.SubjectRef]*policy.Subject{}}
	o.Policy = p.Policy.Opened()
	o.Project, o.Now = o.Policy.Project(), time.Time{}
	return o
}

// find adds a finding of the rule that is looked for. It stays valid until the next one.
func (p *pass) find(at diag.Pos, format string, args ...any) found {
	f := Finding{}
	f.Severity, f.Code, f.Pos, f.Message = p.severity, p.rule, at, fmt.Sprintf(format, args...)
	p.found = append(p.found, f)
	last := &p.found[len(p.found)-1]
	return found{diag.Build(&last.Diagnostic), last}
}

// found adds details to a finding.
type found struct {
	diag.Builder
	f *Finding
}

// removable makes the item at a place of a list the fix.
func (b found) removable(at diag.Pos) { b.f.Fix = &Fix{at} }

// subject is a mode or a role.
type subject struct {
	ref  ir.SubjectRef
	name string // "mode architect"
	pos  diag.Pos
	can  *ir.Can
	mode *ir.Mode // nil for a role
	role *ir.Role // nil for a mode
}

// subjects returns the modes and roles.
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

// writers returns everyone, the modes and the roles.
func (p *pass) writers() []subject {
	if p.Project.Everyone == nil {
		return p.subjects()
	}
	return append([]subject{{name: ir.OfEveryone, can: p.Project.Everyone}}, p.subjects()...)
}

// decide returns the source's decision, and a deny where the subject does not compile,
// which is a build's to report.
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

// ofSource reports whether a place is in a file that a person wrote.
func ofSource(at diag.Pos) bool {
	return at.Line > 0 && !strings.HasPrefix(at.File, "modec.dev/")
}

// own reports whether a rule is the subject's own or comes from a policy of the source.
// A rule that it inherits from another subject is found at that subject.
func own(from string) bool {
	return from == "" || from == ir.OfEveryone || strings.HasPrefix(from, "policy ")
}

// written reports whether a person wrote a rule for this subject or in a policy.
func written(r ir.Rule) bool { return own(r.From) && ofSource(r.Pos) }

// allowsAll reports whether a person wrote a default that allows.
func allowsAll(d *ir.Default) bool { return allows(d) && own(d.From) && ofSource(d.Pos) }

// allows reports whether a default is there and allows.
func allows(d *ir.Default) bool { return d != nil && d.Decision == ir.Allow }

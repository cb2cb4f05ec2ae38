package migrate

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
)

// Narrowing is what one rule of the new project permits less than a file did.
type Narrowing struct {
	File   string   `json:"file"` // the original file
	Target string   `json:"target"`
	Group  ir.Group `json:"group"`
	// Built is set where the source says what the file did, and the artifacts do not.
	Built bool        `json:"built,omitempty"`
	Was   ir.Decision `json:"was"`  // by the file
	Is    ir.Decision `json:"is"`   // what becomes of it
	Rule  string      `json:"rule"` // the rule that decides now, as a person reads it
	// Form says how the paths are written, "" for a clean path inside the project.
	Form Form `json:"form,omitempty"`
	// At is where the original file has the rule, or else what decided by it; zero where it has neither.
	At diag.Pos `json:"at,omitzero"`
	by diag.Pos // what decided in the original file
	// Count is of compared actions; Example is the shortest one.
	Count   int    `json:"count"`
	Example string `json:"example"`
}

// Form is how a path is written of which a rule takes some and leaves others.
type Form string

// The forms of paths. A path counts to the first that it has.
const (
	LineBreak Form = "with a line break"
	Backslash Form = "with a backslash"
	Spelling  Form = "in another spelling" // ".", "..", or nothing between slashes
	Outside   Form = "outside the project"
)

// Forms are the forms of paths.
var Forms = []Form{LineBreak, Backslash, Spelling, Outside}

func formOf(a policy.Action) Form {
	clean := path.Clean(a.Arg)
	switch {
	case a.Group != ir.Read && a.Group != ir.Edit:
		return ""
	case strings.ContainsAny(a.Arg, "\n\r\u2028\u2029"):
		return LineBreak
	case strings.Contains(a.Arg, `\`):
		return Backslash
	case clean != a.Arg:
		return Spelling
	case policy.LeavesRoot(clean):
		return Outside
	}
	return ""
}

// narrowings counts what is narrower by the rule that makes it so.
type narrowings struct {
	byRule map[Narrowing]*Narrowing // the key has no count, example or place
}

// less counts a decision that permits less than the original.
func (p *prover) less(a attempt, is contract.Answer, t *Tally) {
	n := Narrowing{
		File: p.original.File, Target: p.Target, Group: a.Group,
		Built: t == &p.Built,
		Was:   a.said, Is: is.Decision, Rule: secret.Text(is.Rule), Form: formOf(a.Action), At: is.At,
	}
	if a.was.At.File == p.File {
		n.by = a.was.At
	}
	p.narrower.add(n, a)
}

func (all *narrowings) add(n Narrowing, a attempt) {
	key := n
	key.At, key.by = diag.Pos{}, diag.Pos{}
	if all.byRule == nil {
		all.byRule = map[Narrowing]*Narrowing{}
	}
	known := all.byRule[key]
	if known == nil {
		known = &n
		all.byRule[key] = known
	}
	if a.unlisted {
		a.Arg = contract.UnknownTool
	}
	example := secret.Text(diff.Name(a.Action))
	if known.Count == 0 || len(example) < len(known.Example) {
		known.Example = example
	}
	known.Count++
}

// sorted returns the narrowings by file and place, what the source makes narrower first.
func (all *narrowings) sorted() []Narrowing {
	list := []Narrowing{}
	for _, n := range all.byRule {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b Narrowing) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Target, b.Target),
			falseFirst(a.Built, b.Built), cmp.Compare(b.Count, a.Count),
			strings.Compare(string(a.Group), string(b.Group)), strings.Compare(a.Rule, b.Rule),
			cmp.Compare(slices.Index(Forms, a.Form), slices.Index(Forms, b.Form)),
			cmp.Compare(a.Was, b.Was), cmp.Compare(a.Is, b.Is))
	})
	return list
}

// falseFirst compares two answers.
func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// locate gives the narrowings places in the files as they are: those of the new source and of what is built
// from it are nowhere yet.
func (in *imports) locate(list []Narrowing, p *ir.Project) {
	for i := range list {
		n := &list[i]
		n.At = cmp.Or(in.origin(n, p), n.by)
	}
}

// origin returns where an original file has the rule that makes something narrower.
func (in *imports) origin(n *Narrowing, p *ir.Project) diag.Pos {
	if n.Built {
		for _, note := range in.notes {
			if _, rule, _ := strings.Cut(note.What, " "); note.Rule && rule == n.Rule {
				return note.Pos
			}
		}
		return diag.Pos{}
	}
	var rule ir.Rule
	eachRule(p, func(r ir.Rule) {
		if r.Pos == n.At {
			rule = r
		}
	})
	var at diag.Pos
	eachRule(in.project, func(r ir.Rule) {
		same := r.Decision == rule.Decision && r.Pattern == rule.Pattern && r.Pos.Line > 0
		if rule.Pos.Line > 0 && same && (at.IsZero() || r.Pos.File == n.File) {
			at = r.Pos
		}
	})
	return at
}

// eachRule calls a function for each rule of the modes and roles.
func eachRule(p *ir.Project, do func(ir.Rule)) {
	of := func(can *ir.Can) {
		for _, g := range ir.Groups {
			for _, r := range rulesOf(can, g) {
				do(r)
			}
		}
	}
	for i := range p.Modes {
		of(&p.Modes[i].Can)
	}
	for i := range p.Roles {
		of(&p.Roles[i].Can)
	}
}

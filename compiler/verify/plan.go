package verify

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
)

// plan says which subject is compared on what need not be compared for each: how an agent reads
// another way to write an argument does not depend on the letters of a rule. It is the first
// subject of a kind that has a rule of a shape. So the cost of dressings grows with what differs,
// and not with the number of subjects.
type plan struct {
	first map[string]ir.SubjectRef // by kind and shape
	kinds map[ir.SubjectRef]map[ir.Group]string
	forms map[ir.SubjectRef]string // what a subject says of the daily lines
	pairs int                      // how many roles in modes there are

	shapes map[shaped]shapes // of the rules
}

// mostPairs bounds how many roles in modes are verified by cells: the time grows with the product of
// the roles and the modes. Where there are more, each is compared on what its halves tell apart.
const mostPairs = 500

// mostTried is of how many roles in modes each is tried for itself, also where the first ones had too many cells
// ([job.crowded]).
const mostTried = 100

// mostPairStates bounds the states that are visited for all roles in modes in one group, so that the
// time does not grow with their number and their patterns both.
const mostPairStates = 2_000_000

// pairStates returns how many states are visited for one role in a mode at most; 0 where there are too
// many of them to be verified by cells.
func (p *plan) pairStates() int {
	if p.pairs > mostPairs {
		return 0
	}
	return min(regexlang.MostStates, mostPairStates/max(1, p.pairs))
}

// newPlan looks at every mode and every role of a project, whichever are verified.
func newPlan(e *policy.Engine) (*plan, error) {
	p := &plan{first: map[string]ir.SubjectRef{}, kinds: map[ir.SubjectRef]map[ir.Group]string{},
		forms: map[ir.SubjectRef]string{}, shapes: map[shaped]shapes{}}
	for _, ref := range subjects(e.Project()) {
		if ref.Role != "" && ref.Mode != "" {
			p.pairs++
		}
	}
	for _, ref := range e.Project().Subjects() {
		s, err := e.Subject(ref)
		if err != nil {
			return nil, err
		}
		p.kinds[ref] = map[ir.Group]string{}
		for _, g := range ir.Groups {
			kind := kindOf(e.Project(), s, ref, g)
			p.kinds[ref][g] = kind
			p.note(kind, ref)
			if g == ir.Command {
				p.forms[ref] = forms(s)
				p.note(kind+p.forms[ref], ref)
			}
			rules := s.Rules(g)
			for i := range rules {
				p.note(kind+p.learn(g, &rules[i]), ref)
			}
		}
	}
	for _, ref := range subjects(e.Project()) {
		if ref.Role == "" || ref.Mode == "" {
			continue
		}
		for _, g := range ir.Groups {
			p.note(p.pair(ref, g), ref)
		}
	}
	return p, nil
}

// pair names the kinds of the halves of a role in a mode.
func (p *plan) pair(ref ir.SubjectRef, g ir.Group) string {
	role, mode := p.kinds[ir.SubjectRef{Role: ref.Role}], p.kinds[ir.SubjectRef{Mode: ref.Mode}]
	return fmt.Sprint("pair ", g, role[g], mode[g])
}

// dresses reports whether a role in a mode is the first one of such halves.
func (p *plan) dresses(ref ir.SubjectRef, g ir.Group) bool { return p.first[p.pair(ref, g)] == ref }

func (p *plan) note(key string, ref ir.SubjectRef) {
	if _, ok := p.first[key]; !ok {
		p.first[key] = ref
	}
}

// has reports whether a subject is the first of its kind with a shape in a group. A subject that is
// no mode and no role of the project is first in all.
func (p *plan) has(ref ir.SubjectRef, g ir.Group, shape string) bool {
	if p == nil {
		return true
	}
	kinds, ok := p.kinds[ref]
	return !ok || p.first[kinds[g]+shape] == ref
}

// daily reports whether a subject is compared on every daily line.
func (p *plan) daily(ref ir.SubjectRef) bool { return p == nil || p.has(ref, ir.Command, p.forms[ref]) }

// kindOf says what a subject has in common with others of whose arguments of a group agents think
// alike: what is decided where no rule matches.
func kindOf(p *ir.Project, s *policy.Subject, ref ir.SubjectRef, g ir.Group) string {
	var b strings.Builder
	if r := p.Role(ref.Role); r != nil {
		fmt.Fprint(&b, "role ", r.PermissionMode, " ")
	}
	groups := []ir.Group{g}
	if g == ir.Command { // it reads and writes
		groups = append(groups, ir.Read, ir.Edit)
	}
	for _, g := range groups {
		fmt.Fprintln(&b, g, s.Default(g).Decision, s.Outside(g).Decision, s.Restricts(g))
	}
	return b.String()
}

// forms names what a subject says of the commands of which the daily lines are made, and of which
// sets of commands.
func forms(s *policy.Subject) string {
	var b strings.Builder
	for _, line := range []string{
		"ls", "ls -la", "rm x", "rm -rf /", "cat .env", "echo hi", "true", "sh x.sh", "cd src", "id",
	} {
		fmt.Fprint(&b, s.Decide(policy.Action{Group: ir.Command, Arg: line}).Decision, " ")
	}
	for _, r := range s.Rules(ir.Command) {
		if r.Pattern.Kind != ir.Plain {
			fmt.Fprintln(&b, r.Decision, r.Pattern)
		}
	}
	return b.String()
}

// shaped is what the shape of a rule depends on.
type shaped struct {
	group    ir.Group
	decision ir.Decision
	pattern  ir.Pattern
}

// shapes are the one of a rule, and its pattern with one letter for each word.
type shapes struct{ rule, letters string }

// learn returns the shape of a rule, and keeps it.
func (p *plan) learn(g ir.Group, r *ir.Rule) string {
	key := shaped{g, r.Decision, r.Pattern}
	s, ok := p.shapes[key]
	if !ok {
		s = shapesOf(g, r)
		p.shapes[key] = s
	}
	return s.rule
}

// shapesOf returns the shapes of a rule.
func (p *plan) shapesOf(g ir.Group, r *ir.Rule) shapes {
	if p != nil {
		if s, ok := p.shapes[shaped{g, r.Decision, r.Pattern}]; ok {
			return s
		}
	}
	return shapesOf(g, r)
}

func shapesOf(g ir.Group, r *ir.Rule) shapes {
	return shapes{shape(g, r), letters().ReplaceAllString(r.Pattern.Text, "a")}
}

// shape names how a rule is written around its words. Some names are one word, and so are some
// words of a command, but for a program that runs others.
func shape(g ir.Group, r *ir.Rule) string {
	words, program := letters, ""
	if g == ir.Command {
		if program, _, _ = strings.Cut(r.Pattern.Text, " "); !policy.Runs(program) {
			program = ""
		}
	}
	switch {
	case r.Pattern.Kind != ir.Plain:
	case g == ir.Read || g == ir.Edit:
		words = names
	case g == ir.Command:
		words = arguments
	}
	return fmt.Sprint(g, " ", r.Decision, r.Pattern.Kind, " ", program, " ",
		words().ReplaceAllString(r.Pattern.Text, "a"))
}

var (
	letters   = lazy.Regexp(`[A-Za-z0-9]+`)
	names     = lazy.Regexp(`[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*`)
	arguments = lazy.Regexp(`[A-Za-z0-9._/=-]+(?: [A-Za-z0-9._/=-]+)*`)
)

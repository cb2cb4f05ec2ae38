package verify

import (
	"errors"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regular"
)

// A group whose plain arguments are decided by regular languages alone, those of the source and
// those of the artifacts, is verified exactly: each combination of them that some argument meets
// is a cell, and of two arguments of one cell neither side thinks otherwise than of the other. So
// one argument of each cell is compared ([regular.Space.Cells]), the shortest.

// languages are those of one worker, by group.
type languages struct {
	of map[ir.Group]*space
}

// space has the languages of a group.
type space struct {
	*regular.Space
	within regular.Language // the plain arguments
}

// group returns the languages of a group.
func (l *languages) group(g ir.Group) *space {
	if s := l.of[g]; s != nil && s.Size() < mostLanguages {
		return s
	}
	alphabet, expr := policy.Plain(g)
	s := &space{Space: regular.New(alphabet)}
	var err error
	if s.within, err = s.Go(expr); err != nil {
		panic(err) // an expression of the program's own
	}
	if l.of == nil {
		l.of = map[ir.Group]*space{}
	}
	l.of[g] = s
	return s
}

// mostLanguages bounds how many languages are kept: then they are made anew.
const mostLanguages = 100_000

// ErrManyCells is why a group has too many combinations of languages to look at.
var ErrManyCells = errors.New("its patterns have too many combinations")

// errOpaque is why a group of a surface is sampled whose model does not say by what it decides.
var errOpaque = errors.New("the agent's model gives no languages")

// cells returns an argument of each cell of a group, and what arguments are in them. It fails where
// the group is not exact.
func (j *job) cells(u *universe, of policy.Field, in *space, most int) ([]regular.Cell, regular.Language, error) {
	all, err := j.languages(u.subject, of, in)
	if err != nil {
		return nil, regular.None, err
	}
	within := j.plain(u.project, of, in)
	cells, ok := in.Cells(within, most, all...)
	if !ok {
		return nil, regular.None, ErrManyCells
	}
	return cells, within, nil
}

// plain returns the plain arguments that languages alone decide: of mcp tools that the inventory does
// not list.
func (j *job) plain(p *ir.Project, of policy.Field, in *space) regular.Language {
	var but []regular.Language
	if of.Group == ir.Command {
		var known []string
		for _, d := range j.deciders() {
			if k, ok := d.(contract.Knowing); ok {
				known = append(known, k.KnownPrograms()...)
			}
		}
		but = append(but, policy.Coded(in.Space, known))
	}
	if sv := p.Server(of.Server); sv != nil {
		for i := range sv.Tools {
			// Agents that write names in letters of their own take both for one.
			but = append(but, in.Text(sv.Tools[i].Name), in.Text(policy.AgentName(sv.Tools[i].Name)))
		}
	}
	return in.Without(in.within, in.Or(but...))
}

// deciders returns those of the surface: by the artifacts, by the compiled ones and by itself.
func (j *job) deciders() []contract.Decider {
	return slices.DeleteFunc([]contract.Decider{j.decider, j.compiled, j.alone},
		func(d contract.Decider) bool { return d == nil })
}

// languages returns those of the source, which are the same for all surfaces, and those of the
// artifacts and of the agent by itself, each once.
func (j *job) languages(
	subject *policy.Subject, of policy.Field, in *space,
) (parts [][]regular.Language, err error) {
	var said []regular.Language
	for _, side := range subject.Sides() {
		l, err := side.Languages(in.Space, of)
		if err != nil {
			return nil, err
		}
		l = distinct(l, said)
		parts, said = append(parts, l), append(said, l...)
	}
	var done []regular.Language
	for _, d := range j.deciders() {
		r, ok := d.(contract.Regular)
		if !ok {
			return nil, errOpaque
		}
		l, err := r.Languages(j.ref, of, in.Space)
		if err != nil {
			return nil, err
		}
		done = append(done, l...)
	}
	for _, x := range j.target.Input.Exceptions { // of one argument: its cell is its own
		if x.Group == of.Group && x.Pattern != "" {
			done = append(done, in.Text(strings.TrimPrefix(x.Pattern, of.Server+":")))
		}
	}
	// Those of the artifacts are mostly the role's, and stand beside its own.
	return slices.Insert(parts, 1, distinct(done, said)), nil
}

// distinct returns languages that tell arguments apart, each once, but for some.
func distinct(of, but []regular.Language) []regular.Language {
	slices.Sort(of)
	return slices.DeleteFunc(slices.Compact(of), func(l regular.Language) bool {
		return l == regular.None || l == regular.All || slices.Contains(but, l)
	})
}

// fields returns what is verified by cells: each group, and of mcp each server that may have other
// tools than those that the inventory lists.
func fields(p *ir.Project) (all []policy.Field) {
	for _, g := range ir.Groups {
		if g != ir.MCP {
			all = append(all, policy.Field{Group: g})
			continue
		}
		for i := range p.Servers {
			if sv := &p.Servers[i]; !p.ListsTools(sv) {
				all = append(all, policy.Field{Group: g, Server: sv.Name})
			}
		}
		if !p.ClosedInventory {
			all = append(all, policy.Field{Group: g, Server: contract.UnknownServer})
		}
	}
	return all
}

// exactly returns what a subject is compared on: of the groups that its languages decide an
// argument of each cell in place of every plain one, of others what its whole universe has. It notes
// which groups are verified exactly.
func (j *job) exactly(u *universe, w *worker, whole func() (*universe, error)) ([]Witness, error) {
	in, most := w.languages, regular.MostStates
	if j.halves != nil {
		most = w.universes.plan.pairStates()
	}

	j.sampled = map[ir.Group]error{}
	list := make([]Witness, 0, len(u.list))
	exact := map[ir.Group]func(arg string) bool{}
	for _, f := range fields(u.project) {
		of := in.group(f.Group)
		cells, within, err := j.cells(u, f, of, most)
		if err != nil {
			j.sampled[f.Group] = err
			continue
		}
		if f.Group != ir.MCP { // of which every tool of the inventory is compared too
			exact[f.Group] = func(arg string) bool { return of.Has(within, arg) }
		}
		for _, c := range cells {
			a := policy.Action{Group: f.Group, Server: f.Server, Arg: c.Text}
			list = append(list, u.decided(Witness{Action: a, Class: "cell"}))
		}
	}
	for i := range u.list {
		w := &u.list[i]
		if j.sampled[w.Group] == nil && (exact[w.Group] == nil || !exact[w.Group](w.Arg)) {
			list = append(list, *w)
		}
	}
	if len(j.sampled) == 0 {
		return list, nil
	}
	all, err := whole()
	if err != nil {
		return nil, err
	}
	for i := range all.list {
		if w := &all.list[i]; j.sampled[w.Group] != nil {
			list = append(list, *w)
		}
	}
	return list, nil
}

// sample notes why the groups of the job's subject were not verified exactly.
func (s *Surface) sample(j *job) {
	for _, g := range ir.Groups {
		err := j.sampled[g]
		if err == nil {
			continue
		}
		why := err.Error()
		at := slices.IndexFunc(s.Sampled, func(x Sampled) bool { return x.Group == g && x.Why == why })
		if at < 0 {
			at = len(s.Sampled)
			s.Sampled = append(s.Sampled, Sampled{Group: g, Why: why})
		}
		s.Sampled[at].Subjects = append(s.Sampled[at].Subjects, j.ref.String())
	}
}

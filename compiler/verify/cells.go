package verify

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
)

// A group whose plain arguments are decided by regular languages alone, those of the source and
// those of the artifacts, is verified exactly: each combination of them that some argument meets
// is a cell, and of two arguments of one cell neither side thinks otherwise than of the other. So
// one argument of each cell is compared ([regexlang.Space.Cells]), the shortest.

// spaces are those of all groups. Workers share them: what one has found out about languages the others
// need not.
type spaces struct {
	mu    sync.Mutex
	freed sync.Cond
	free  map[ir.Group][]*space
	made  map[ir.Group]int
	count int // of all groups
	bytes int // what they take together
	most  int // bytes that they may; 0 for mostBytes
}

// space has the languages of a group, for one worker at a time.
type space struct {
	*regexlang.Space
	within regexlang.Language // the plain arguments
	bytes  int                // what it took when it was given back
}

func newSpace(g ir.Group) *space {
	alphabet, expr := policy.Plain(g)
	s := &space{Space: regexlang.New(alphabet)}
	if g == ir.Read || g == ir.Edit {
		s.CutAt('/')
	}
	var err error
	if s.within, err = s.Go(expr); err != nil {
		panic(err) // an expression of the program's own
	}
	return s
}

// perGroup is how many spaces a group has: fewer than workers, since each finds out the same, and so many
// that workers do not wait for each other.
func (*spaces) perGroup() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// take returns the number of a field whose group has a space that nobody uses, the first of these, and
// the space. It waits for one.
func (s *spaces) take(of []policy.Field) (int, *space) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == nil {
		s.freed.L, s.free, s.made = &s.mu, map[ir.Group][]*space{}, map[ir.Group]int{}
	}
	for {
		for i, f := range of {
			g := f.Group
			if last := len(s.free[g]) - 1; last >= 0 {
				one := s.free[g][last]
				s.free[g] = s.free[g][:last]
				return i, one
			}
			if s.made[g] < s.perGroup() {
				s.made[g]++
				s.count++
				return i, newSpace(g)
			}
		}
		s.freed.Wait()
	}
}

// giveBack lets others use a space, which keeps no more than its share where all of them take too much.
func (s *spaces) giveBack(g ir.Group, one *space) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= one.bytes
	if most := cmp.Or(s.most, mostBytes); s.bytes+one.size() > most {
		one = one.renewed(g, most/s.count)
	}
	one.bytes = one.size()
	s.bytes += one.bytes
	s.free[g] = append(s.free[g], one)
	s.freed.Broadcast()
}

// size returns how many bytes a space takes.
func (s *space) size() int {
	languages, states := s.Size()
	return languages + states
}

// renewed returns a space of a group that takes no more than some bytes: this one, with what is left of it.
func (s *space) renewed(g ir.Group, most int) *space {
	switch languages, states := s.Size(); {
	case languages+states <= most:
	case languages > most/2:
		return newSpace(g)
	default:
		s.ForgetStates()
	}
	return s
}

// mostBytes bounds what the spaces of all groups take together once they are given back: what they know is found out
// anew.
const mostBytes = 40 << 20

// ErrManyCells is why a group has too many combinations of languages to look at.
var ErrManyCells = errors.New("its patterns have too many combinations")

// errOpaque is why a group of a surface is sampled whose model does not say by what it decides.
var errOpaque = errors.New("the agent's model gives no languages")

// cells returns an argument of each cell of a group, and what arguments are in them. It fails where
// the group is not exact.
func (j *job) cells(u *universe, of policy.Field, in *space, most int) ([]string, regexlang.Language, error) {
	all, err := j.languages(u.subject, of, in)
	if err != nil {
		return nil, regexlang.None, err
	}
	if j.crowded(of.Group) || j.finer(u.engine, of, in, all) {
		return nil, regexlang.None, ErrManyCells
	}
	within := j.plain(u.project, u.subject, of, in)
	cells, ok := in.Cells(within, most, all...)
	if !ok {
		return nil, regexlang.None, ErrManyCells
	}
	texts := make([]string, len(cells))
	for i := range cells {
		texts[i] = cells[i].Text
	}
	return texts, within, nil
}

// plain returns the plain arguments that languages alone decide: of mcp tools that the inventory does
// not list.
func (j *job) plain(p *ir.Project, subject *policy.Subject, of policy.Field, in *space) regexlang.Language {
	var but []regexlang.Language
	if of.Group == ir.Command {
		var known []string
		for _, d := range j.deciders(subject, of.Group) {
			if k, ok := d.(contract.Knowing); ok {
				known = append(known, k.KnownPrograms()...)
			}
		}
		but = append(but, subject.DecidedByProgram(in.Space, known))
	}
	if sv := p.Server(of.Server); sv != nil {
		for i := range sv.Tools {
			// Agents that write names in letters of their own take both for one.
			but = append(but, in.Text(sv.Tools[i].Name), in.Text(policy.AgentName(sv.Tools[i].Name)))
		}
	}
	return in.Without(in.within, in.Or(but...))
}

// deciders returns those of the surface: by the artifacts, by the compiled ones and, where the subject leaves something
// to it, by itself.
func (j *job) deciders(subject *policy.Subject, g ir.Group) []contract.Decider {
	all := []contract.Decider{j.decider, j.compiled}
	if subject.Leaves(g) {
		all = append(all, j.alone)
	}
	return slices.DeleteFunc(all, func(d contract.Decider) bool { return d == nil })
}

// languages returns those of the source, which are the same for all surfaces, and those of the
// artifacts and of the agent by itself, each once.
func (j *job) languages(
	subject *policy.Subject, of policy.Field, in *space,
) (parts [][]regexlang.Language, err error) {
	var said []regexlang.Language
	for _, side := range subject.Sides() {
		l, err := side.Languages(in.Space, of)
		if err != nil {
			return nil, err
		}
		l = distinct(l, said)
		parts, said = append(parts, l), append(said, l...)
	}
	var done []regexlang.Language
	for _, d := range j.deciders(subject, of.Group) {
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
	for i := range j.target.Input.Exceptions { // of one argument: its cell is its own
		if x := &j.target.Input.Exceptions[i]; x.Group == of.Group && x.Pattern != "" {
			done = append(done, languagesOf(x, of, in.Space)...)
		}
	}
	// Those of the artifacts are mostly the role's, and stand beside its own.
	return slices.Insert(parts, 1, distinct(done, said)), nil
}

// distinct returns languages that tell arguments apart, each once, but for some.
func distinct(of, but []regexlang.Language) []regexlang.Language {
	slices.Sort(of)
	return slices.DeleteFunc(slices.Compact(of), func(l regexlang.Language) bool {
		return l == regexlang.None || l == regexlang.All || slices.Contains(but, l)
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

// ofCell is the class of an argument of a cell.
const ofCell = "cell"

// exactly returns what a subject is compared on: of the groups that its languages decide an
// argument of each cell in place of every plain one, of others what its whole universe has. It notes
// which groups are verified exactly.
func (j *job) exactly(
	ctx context.Context, u *universe, w *worker, whole func(ir.Group) ([]*Witness, error),
) ([]*Witness, error) {
	most := regexlang.MostStates
	if j.halves != nil {
		most = w.universes.plan.pairStates()
	}
	j.sampled = map[ir.Group]error{}
	all := fields(u.project)
	texts := make([][]string, len(all))
	plain := make([]bool, len(u.list)) // what cells stand for
	left := slices.Clone(all)
	first := j.halves
	if w.universes.plan.pairs > mostTried {
		first = append(slices.Clip(first), j.before...)
	} else {
		j.before = nil
	}
	for _, of := range first {
		if err := of.do(ctx, w); err != nil {
			return nil, err
		}
	}
	for len(left) > 0 {
		at, in := w.universes.spaces.take(left)
		f := left[at]
		left = slices.Delete(left, at, at+1)
		cells, within, err := j.cells(u, f, in, most)
		if err != nil {
			j.sampled[f.Group] = err
		} else {
			texts[slices.Index(all, f)] = cells
			u.within(plain, f.Group, func(arg string) bool { return in.Has(within, arg) })
		}
		w.universes.spaces.giveBack(f.Group, in)
	}
	list := make([]*Witness, 0, len(u.list))
	for i, f := range all {
		for _, text := range texts[i] {
			a := policy.Action{Group: f.Group, Server: f.Server, Arg: text}
			list = append(list, u.cell(a))
		}
	}
	for i := range u.list {
		if w := &u.list[i]; j.sampled[w.Group] == nil && !plain[i] {
			list = append(list, w)
		}
	}
	beyond := j.beyond(u, w.more.get(j.ref))
	if len(j.sampled)+len(beyond) == 0 {
		return list, nil
	}
	for _, g := range ir.Groups {
		if j.sampled[g] == nil && !beyond[g] {
			continue
		}
		more, err := whole(g)
		if err != nil {
			return nil, err
		}
		for _, w := range more {
			if j.sampled[g] != nil || tellsLetters(w.Arg) || besideCells(ir.Pattern{Text: w.Arg}) {
				list = append(list, w)
			}
		}
	}
	for g := range beyond {
		j.sampled[g] = errLetters
	}
	if j.compiled != nil {
		j.byEdits(u, w, most)
	}
	return list, nil
}

// crowded reports whether a group has too many cells for the first role in the same mode, and for the same role in its
// first mode: others rarely have fewer, and of many pairs each takes long to find that out.
func (j *job) crowded(g ir.Group) bool {
	return len(j.before) == 2 && !slices.ContainsFunc(j.before, func(of *job) bool { return !manyCells(of.sampled[g]) })
}

// manyCells reports whether that is why a group is sampled. A job that is remembered has an error of its own.
func manyCells(why error) bool { return why != nil && why.Error() == ErrManyCells.Error() }

// finer reports whether some languages have all those of a half that has too many cells: then these have too many, too,
// which would take longest to find out.
func (j *job) finer(p *policy.Engine, of policy.Field, in *space, parts [][]regexlang.Language) bool {
	for _, half := range j.halves {
		if !manyCells(half.sampled[of.Group]) {
			continue
		}
		subject, err := p.Subject(half.ref)
		if err != nil {
			continue
		}
		own, err := half.languages(subject, of, in)
		all := slices.Concat(parts...)
		lacks := func(l regexlang.Language) bool { return !slices.Contains(all, l) }
		if err == nil && !slices.ContainsFunc(slices.Concat(own...), lacks) {
			return true
		}
	}
	return false
}

// byEdits notes which groups are sampled only because the artifacts are not as they were compiled.
func (j *job) byEdits(u *universe, w *worker, most int) {
	before := job{target: j.target, decider: j.compiled, alone: j.alone, ref: j.ref}
	var patterns map[ir.Group][]ir.Pattern
	if p, ok := j.compiled.(contract.Patterned); ok {
		patterns = p.Patterns(j.ref)
	}
	beyond := before.beyond(u, patterns)
	exact := func(f policy.Field) bool {
		_, in := w.universes.spaces.take([]policy.Field{f})
		defer w.universes.spaces.giveBack(f.Group, in)
		_, _, err := before.cells(u, f, in, most)
		return err == nil
	}
	for g := range j.sampled {
		if beyond[g] {
			continue
		}
		same := func(f policy.Field) bool { return f.Group != g || exact(f) }
		if !slices.ContainsFunc(fields(u.project), func(f policy.Field) bool { return !same(f) }) {
			if j.edited == nil {
				j.edited = map[ir.Group]bool{}
			}
			j.edited[g] = true
		}
	}
}

// errLetters is why a group is sampled beside its cells: there all letters outside of ASCII are one.
var errLetters = errors.New("its patterns tell letters apart that cells do not")

// beyond returns the groups of paths that cells decide, and of which a pattern tells letters apart that cells have as
// one or have not.
func (j *job) beyond(u *universe, artifacts map[ir.Group][]ir.Pattern) map[ir.Group]bool {
	found := map[ir.Group]bool{}
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		if j.sampled[g] != nil {
			continue
		}
		told := func(p ir.Pattern) bool {
			nowhere := p.Kind == ir.Plain && strings.ContainsRune(p.Text, 0) // no system has such a path
			return !nowhere && (tellsLetters(p.Text) || besideCells(p))
		}
		ruled := func(r ir.Rule) bool { return told(r.Pattern) }
		if slices.ContainsFunc(artifacts[g], told) || slices.ContainsFunc(u.subject.Rules(g), ruled) {
			found[g] = true
		}
	}
	return found
}

// tellsLetters reports whether a text has such a letter, or an escape that may stand for one.
func tellsLetters(text string) bool {
	odd := func(r rune) bool { return r < ' ' || r >= 0x7f || r == '"' }
	return strings.ContainsFunc(text, odd) || escapes().MatchString(text)
}

// besideCells reports whether a glob of paths names a letter that no path of a cell has, though names of files may
// have it: a colon, say, which begins a stream on one system and is a letter on another.
func besideCells(p ir.Pattern) bool {
	return p.Kind == ir.Plain && (strings.ContainsAny(p.Text, `:<>|`) || strings.LastIndexByte(p.Text, '~') > 0)
}

var escapes = lazy.Regexp(`\\[xucntrvf0]`)

// within notes which actions of a group are among its plain ones. Of mcp, every tool of the inventory is
// compared too.
func (u *universe) within(plain []bool, g ir.Group, has func(arg string) bool) {
	for i := range u.list {
		if w := &u.list[i]; g != ir.MCP && w.Group == g {
			plain[i] = has(w.Arg)
		}
	}
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
		if j.edited[g] {
			s.Sampled[at].Edited = append(s.Sampled[at].Edited, j.ref.String())
		}
	}
}

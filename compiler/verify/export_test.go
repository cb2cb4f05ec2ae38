package verify

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
)

// Put makes a subject's universe one that the caller chose: a part of the whole
// catches no more than the whole.
func (u *Universes) Put(ref ir.SubjectRef, list []Witness) {
	s := u.get(ref)
	s.once.Do(func() { s.universe = &universe{list: list} })
}

// Celled is a group of a subject on a surface, as its cells have it.
type Celled struct {
	Name string
	Ref  ir.SubjectRef
	policy.Field
	Source  *policy.Subject
	Decider contract.Decider
	Err     error // why it has none
	Cells   []string
	// CellOf returns the text of the cell that an argument is in; false for one that is not
	// plain. It is "" where no cell is as the argument.
	CellOf func(arg string) (cell string, plain bool)
}

// EachCelled calls do for every group that languages may decide.
func EachCelled(req Request, do func(Celled)) error {
	in := map[ir.Group]*space{}
	for i := range req.Targets {
		t := &req.Targets[i]
		o := t.open(&req)
		for _, d := range o.deciders {
			if personal(d) {
				continue
			}
			for _, ref := range subjects(req.Policy.Project()) {
				if of, ok := d.(contract.Container); ok && !of.Contains(ref) {
					continue
				}
				j := &job{target: t, decider: d, alone: contract.OnSurface(o.alone, d.Surface()), ref: ref}
				subject, err := req.Policy.Subject(ref)
				if err != nil {
					return err
				}
				for _, f := range fields(req.Policy.Project()) {
					if in[f.Group] == nil {
						in[f.Group] = newSpace(f.Group)
					}
					in[f.Group] = in[f.Group].renewed(f.Group, mostBytes/len(in))
					do(j.celled(req.Policy.Project(), subject, f, in[f.Group]))
				}
			}
		}
	}
	return nil
}

func (j *job) celled(p *ir.Project, subject *policy.Subject, of policy.Field, in *space) Celled {
	c := Celled{Ref: j.ref, Field: of, Source: subject, Decider: j.decider}
	c.Name = strings.TrimSpace(fmt.Sprintf("%s %s", j.target.Target.Name(), j.decider.Surface()))
	all, err := j.languages(subject, of, in)
	if err != nil {
		c.Err = err
		return c
	}
	within := j.plain(p, subject, of, in)
	cells, ok := in.Cells(within, regexlang.MostStates, all...)
	if !ok {
		c.Err = ErrManyCells
		return c
	}
	by := map[string]string{}
	for _, cell := range cells {
		c.Cells = append(c.Cells, cell.Text)
		by[fmt.Sprint(cell.In)] = cell.Text
	}
	c.CellOf = func(arg string) (string, bool) {
		if !in.Has(within, arg) {
			return "", false
		}
		var has []bool
		for _, l := range slices.Concat(all...) {
			has = append(has, in.Has(l, arg))
		}
		return by[fmt.Sprint(has)], true
	}
	return c
}

// Forgetful returns universes of which no space keeps what it has found out.
func Forgetful() *Universes { return &Universes{spaces: spaces{most: 1}} }

// SpaceSize returns how many bytes their spaces keep.
func (u *Universes) SpaceSize() int { return u.spaces.bytes }

package verify

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ir"
)

// Put makes a subject's universe one that the caller chose: a part of the whole
// catches no more than the whole.
func (u *Universes) Put(ref ir.SubjectRef, list []Witness) {
	s := u.get(ref)
	s.once.Do(func() { s.list = list })
}

// Keyed is a job with its key, and what it asks.
type Keyed struct {
	Ref            ir.SubjectRef
	Surface        string
	Sum            digest.Sum
	OK             bool // it has a key
	Decider, Alone contract.Decider
	id             *identity
}

// Keys returns the jobs of a request. change may replace a decider; nil changes none.
func Keys(req Request, change func(target string, d contract.Decider) contract.Decider) []Keyed {
	report := &Report{}
	jobs, more := report.open(&req, subjects(req.Policy.Project()))
	if change != nil {
		more = &patterns{}
		seen := map[contract.Decider]contract.Decider{}
		for _, j := range jobs {
			if seen[j.decider] == nil {
				seen[j.decider] = change(j.target.Target.Name(), j.decider)
				more.add(seen[j.decider])
			}
			j.decider = seen[j.decider]
		}
	}
	k := newKeys(&req, more)
	var out []Keyed
	for _, j := range jobs {
		id := k.identity(j)
		s := report.Surfaces[j.surface]
		out = append(out, Keyed{j.ref, s.Target + " " + s.Surface, id.sum, id.ok, j.decider, j.alone, id})
	}
	return out
}

// Place writes a place as what is kept has it.
func (k *Keyed) Place(p diag.Pos) diag.Pos {
	if i, ok := k.id.index(p); ok && p.Line > 0 {
		return diag.Pos{File: "a place of the subject", Line: i}
	}
	return p
}

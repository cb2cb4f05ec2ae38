package verify

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// A role in a mode decides nothing that neither half has a rule about: its source is the lower
// of the two, and its artifacts are those of both. So it is compared on what its halves tell
// apart ([telling]) and on what a rule of one holds back of a rule of the other, and not once more
// on all that they were compared on. Where there are not too many pairs their plain arguments are
// compared by cells, as those of their halves are ([plan.pairStates]).

// distinction is what a subject tells about an action: which rules decide, of the source and of
// the artifacts.
type distinction struct {
	group    ir.Group
	source   ir.Decision
	rule     string
	pos      diag.Pos
	assumed  bool
	odd      bool
	artifact told
	bare     told
}

// told is what an artifact says of an action.
type told struct {
	decision ir.Decision
	governs  contract.Halves
	rule     string
	at       diag.Pos
	hole     bool
}

// telling keeps of what a subject was compared on the first action of each distinction.
type telling struct {
	seen map[distinction]bool
	list []Witness
}

func (t *telling) add(w *Witness, v *contract.Verdict) {
	of := distinction{group: w.Group, source: w.Source.Decision, rule: w.Source.Rule, pos: w.Source.Pos,
		assumed: w.Assumed, odd: w.Source.Odd, artifact: tell(&v.Answer, v.Hole)}
	if v.Bare != nil {
		of.bare = tell(v.Bare, v.BareHole)
	}
	if t.seen[of] {
		return
	}
	if t.seen == nil {
		t.seen = map[distinction]bool{}
	}
	t.seen[of] = true
	t.list = append(t.list, *w)
}

func tell(a *contract.Answer, hole *contract.Hole) told {
	return told{a.Decision, a.Governs, a.Rule, a.At, hole != nil}
}

// wrote notes which rules a half of a pair wrote; one that both have is neither's.
func (u *universe) wrote(half int, ref ir.SubjectRef) error {
	s, err := u.engine.Subject(ref)
	if err != nil {
		return err
	}
	for _, g := range ir.Groups {
		for _, r := range s.Rules(g) {
			of, seen := u.half[r.Pos]
			if seen && of != half {
				u.half[r.Pos] = 0
				continue
			}
			u.half[r.Pos] = half
		}
	}
	return nil
}

// without returns the patterns of a subject that others do not have.
func (m *patterns) without(ref ir.SubjectRef, others ...ir.SubjectRef) map[ir.Group][]ir.Pattern {
	out := map[ir.Group][]ir.Pattern{}
	for g, list := range m.get(ref) {
		for _, p := range list {
			if !slices.ContainsFunc(others, func(o ir.SubjectRef) bool { return slices.Contains(m.get(o)[g], p) }) {
				out[g] = append(out[g], p)
			}
		}
	}
	return out
}

// namedAlone returns the calls that rules in a subject's artifacts name, and those of others do not.
func (m *patterns) namedAlone(ref ir.SubjectRef, others ...ir.SubjectRef) []policy.Action {
	all := m.names(ref)
	for _, o := range others {
		if len(all) == 0 {
			break
		}
		theirs := m.names(o)
		all = slices.DeleteFunc(all, func(a policy.Action) bool { return slices.Contains(theirs, a) })
	}
	return all
}

package verify

import "modec.dev/modec/compiler/ir"

// Put makes a subject's universe one that the caller chose: a part of the whole
// catches no more than the whole.
func (u *Universes) Put(ref ir.SubjectRef, list []Witness) {
	s := u.get(ref)
	s.once.Do(func() { s.list = list })
}

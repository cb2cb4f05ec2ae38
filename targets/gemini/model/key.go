package model

import (
	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
)

// Key returns the key of the rules of a subject's sessions, and of the agents.
func (d *decider) Key(ref ir.SubjectRef) (digest.Key, bool) {
	if !d.Contains(ref) {
		return digest.Key{Sum: digest.Text("no files")}, true
	}
	known := digest.Known{}
	digest.For(known, func(*ecma.Regexp) any { return nil }) // its text stands beside it
	all, as := d.sessions(ref)
	names := map[string]string{}
	for slug, a := range d.agents {
		names[slug] = a.name
	}
	key, err := digest.Of([]any{all, as, names}, known)
	return key, err == nil
}

// Key returns the key of sessions without rules: nothing else decides.
func (alone) Key(ir.SubjectRef) (digest.Key, bool) {
	return digest.Key{Sum: digest.Text("alone")}, true
}

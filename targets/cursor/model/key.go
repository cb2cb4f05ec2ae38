package model

import (
	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// Key returns the key of a subject's files on a surface. A decider at a disk has no key.
func (d *decider) Key(ref ir.SubjectRef) (digest.Key, bool) {
	switch {
	case d.placed:
		return digest.Key{}, false
	case len(d.setups[ref]) == 0:
		return digest.Key{Sum: digest.Text("no files")}, true
	}
	key, ok := d.keys[ref]
	if !ok {
		var err error
		if key, err = d.key(d.setups[ref]); err != nil {
			return digest.Key{}, false
		}
		d.keys[ref] = key
	}
	return digest.JoinKeys(digest.Key{Sum: digest.Text(string(d.surface))}, key), true
}

// key returns the key of what both surfaces read.
func (o *opened) key(setups []setup) (digest.Key, error) {
	known := digest.Known{}
	digest.For(known, func(*policy.Engine) any { return nil })  // see below
	digest.For(known, func(*policy.Subject) any { return nil }) // what the tokens mean that deny
	digest.For(known, func(m *ecma.Regexp) any { return m.String() })
	digest.For(known, func(*documented) any { return nil })        // it stands beside the text that it comes from
	digest.For(known, func(f *ir.Fronts) any { return f.Gateway }) // what it passes on the engines say
	key, err := digest.Of(
		[]any{setups, o.servers, o.folder, o.entryIDs, o.listed, o.settings, o.disk.Root, o.disk.Home}, known)
	if err != nil {
		return key, err
	}
	for _, s := range setups {
		if s.hooks == nil {
			continue
		}
		for _, event := range format.HookEvents {
			for _, e := range s.hooks.events[event] {
				sum, err := o.engines.Sum(e.Policy, e.Subject)
				if err != nil {
					return key, err
				}
				key.Sum = digest.Join(key.Sum, sum)
			}
		}
	}
	return key, nil
}

// Key returns the key of the surface: nothing else decides.
func (d alone) Key(ir.SubjectRef) (digest.Key, bool) {
	return digest.Key{Sum: digest.Text("alone " + string(d.surface))}, true
}

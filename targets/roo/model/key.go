package model

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/recent"
	"modec.dev/modec/targets/roo/format"
)

// Key returns the key of a mode: what it says, and what all modes have in common.
func (d *decider) Key(ref ir.SubjectRef) (digest.Key, bool) {
	m := d.modes[ref.Mode]
	if m == nil || ref.Role != "" {
		return digest.Key{Sum: digest.Text("no mode")}, true
	}
	common, err := d.common()
	if err != nil {
		return digest.Key{}, false
	}
	own, err := digest.Of(m, derived())
	return digest.JoinKeys(common, own), err == nil
}

// derived is how modes and files are read: an expression stands beside the text that it comes
// from, and what was tested before changes nothing.
func derived() digest.Known {
	known := digest.Known{}
	digest.For(known, func(*regex) any { return nil })
	digest.For(known, func(*expression) any { return nil })
	digest.For(known, func(*recent.Cache[string, tested]) any { return nil })
	return known
}

// common returns the key of the servers and the ignored files.
func (d *decider) common() (digest.Key, error) {
	if d.shared != nil {
		return *d.shared, nil
	}
	var lines []diag.Pos
	for i := range d.ignore.rules {
		lines = append(lines, d.ignore.pos(&d.ignore.rules[i]))
	}
	key, err := digest.Of([]any{string(d.dialect), d.servers, d.mcpAt, d.mcpLack, d.ignore, lines}, derived())
	if err == nil {
		d.shared = &key
	}
	return key, err
}

// Key returns the key of a mode with every group.
func (a alone) Key(ref ir.SubjectRef) (digest.Key, bool) {
	key, ok := a.decider.Key(ref)
	server, err := digest.Of(format.Server{}, nil)
	return digest.JoinKeys(digest.Key{Sum: digest.Text("alone")}, server, key), ok && err == nil
}

package model

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/opencode/format"
)

// Key returns the key of the rules of a subject's sessions, and of the agents.
func (d *Decider) Key(ref ir.SubjectRef) (digest.Key, bool) {
	if !d.Contains(ref) {
		return digest.Key{Sum: digest.Text("no files")}, true
	}
	var rules [][]format.Rule
	var agents []map[string]bool
	var of []string // the agents in whose name the plugin asks
	var hooks []*contract.JudgedHook
	for i := range d.setups[ref] {
		s := d.plain(&d.setups[ref][i])
		rules, agents = append(rules, s.Rules, s.Taken), append(agents, s.Agents)
		if s.asks != nil {
			of, hooks = append(of, s.asks.agent), append(hooks, &s.asks.JudgedHook)
		}
	}
	key, err := d.engines.KeyOf(ref, []any{rules, agents, of}, hooks)
	return key, err == nil
}

// Key returns the key of sessions without rules: nothing else decides.
func (alone) Key(ir.SubjectRef) (digest.Key, bool) {
	return digest.Key{Sum: digest.Text("alone")}, true
}

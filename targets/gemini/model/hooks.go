package model

import (
	"encoding/json"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/gemini/format"
	"modec.dev/modec/targets/gemini/hook"
)

// Hook is the entry point that `modec hook gemini` runs.
type Hook func(contract.HookRequest) contract.HookAnswer

// hookEntry is a hook of a session.
type hookEntry struct {
	format.Hook
	contract.JudgedHook
}

// hooks are those of a session.
type hooks struct {
	all []*hookEntry
	off *contract.Lack // why none of modec's runs, nil where they do
}

// readHooks reads the hooks of a session's settings, which stand one below the other.
func (r *reader) readHooks(settings ...*located.Value) (h hooks) {
	for _, root := range settings {
		for _, e := range format.ReadHooks(root) {
			if contract.Observes(e.Command) {
				continue
			}
			var off *located.Value
			for _, by := range settings {
				if at := format.HookOff(by, e.Name); at != nil {
					off = at
				}
			}
			switch {
			case off == nil:
				h.all = append(h.all, r.hookEntry(e))
			case !contract.IsSession(off.Pos.File): // else it has one of its own in that place
				h.off = &contract.Lack{Why: format.HooksConfig + " turns the hook off", At: off.Pos}
				h.all = append(h.all, r.hookEntry(e))
			}
		}
	}
	return h
}

func (r *reader) hookEntry(h format.Hook) *hookEntry {
	e := &hookEntry{Hook: h}
	line, err := contract.ParseHookLine(h.Command)
	switch {
	case h.Command == "":
		r.unheld(h.At, "what this hook answers is not known: it is of another kind, or depends on variables")
	case err != nil:
		r.unheld(h.At, "what this hook answers is not known: %v", err)
	case h.Some, h.Late, !line.FailClosed:
		e.Role = contract.HookAbsent
		r.unheld(h.At, "the hook may let a call pass: it is about some tools alone, or ends before modec answers, "+
			"or does not refuse where modec is missing")
	case line.Agent != "gemini":
		e.Role = contract.HookRefuses // modec refuses a payload that is not of its agent
		r.unheld(h.At, "the hook is for %q: it refuses whatever Gemini CLI asks", line.Agent)
	default:
		if err = e.Follow(&line, h.At.File, r.source); err != nil {
			r.unheld(h.At, "%v", err)
		}
	}
	return e
}

// unheld reports once what keeps a hook from holding: the project's are those of each session.
func (r *reader) unheld(at diag.Pos, message string, args ...any) {
	if !slices.ContainsFunc(r.diags, func(d diag.Diagnostic) bool { return d.Pos == at }) {
		ignored(&r.diags, at, message, args...)
	}
}

// judged returns the hooks as verify knows them.
func (h *hooks) judged() (all []*contract.JudgedHook) {
	for _, e := range h.all {
		all = append(all, &e.JudgedHook)
	}
	return all
}

// ask runs the hooks about a call: a denial holds. None does beside a hook of somebody's own, which may change the call
// behind them.
func (d *decider) ask(h *hooks) func(c call) outcome {
	return func(c call) outcome {
		out := outcome{decision: ir.Agent}
		for _, e := range h.all {
			if e.Role == contract.HookStranger {
				return outcome{decision: ir.Agent}
			}
			if e.Role != contract.HookAbsent && d.refuses(e, c) {
				out = outcome{ir.Deny, e.Text(format.Before, e.Command), e.At}
			}
		}
		return out
	}
}

// refuses reports whether a hook of modec's refuses a call.
func (d *decider) refuses(e *hookEntry, c call) bool {
	if e.Role == contract.HookRefuses {
		return true
	}
	input := map[string]any{}
	for i := 0; i+1 < len(c.args); i += 2 {
		input[c.args[i]] = c.args[i+1]
	}
	answer := func() contract.HookAnswer {
		req := contract.HookRequest{Payload: hook.Payload(d.disk.Root, c.tool, c.server, input), Policy: e.Policy,
			Subject: e.Subject}
		return d.hook(req.At(d.disk))
	}
	return contract.Said(answer, true, denies)
}

// denies reports whether Gemini CLI takes the output of a hook that succeeds for a denial.
func denies(stdout []byte) bool {
	var answer struct {
		Decision string `json:"decision"`
	}
	_ = json.Unmarshal(stdout, &answer) // it goes on where this is no JSON
	return answer.Decision == "deny"
}

// under returns a verdict with hooks, by what is decided without them and with what they refuse.
func (h *hooks) under(bare, hooked contract.Verdict) contract.Verdict {
	switch {
	case hooked.Decision == bare.Decision && hooked.Hole.Past(ir.Deny) == bare.Hole.Past(ir.Deny):
		return bare
	case h.off != nil:
		bare.Lack, bare.Rule, bare.At = h.off, h.off.Why, h.off.At
		return bare
	}
	hooked.Bare, hooked.BareHole = &bare.Answer, bare.Hole
	return hooked
}

// root is where the model places the project.
const root = "/home/person/project"

package model

import (
	"encoding/json"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/copilot/format"
	"modec.dev/modec/targets/copilot/hook"
)

// hookEntry is a hook of a session or an agent.
type hookEntry struct {
	format.Hook
	contract.JudgedHook
}

// hooksOf reads hooks.
func (r *reader) hooksOf(list []format.Hook) (out []*hookEntry) {
	for _, h := range list {
		if !contract.Observes(h.Command) {
			out = append(out, r.hookEntry(h))
		}
	}
	return out
}

func (r *reader) hookEntry(h format.Hook) *hookEntry {
	e := &hookEntry{Hook: h}
	line, err := contract.ParseHookLine(h.Command)
	switch {
	case !h.Shell:
		r.ignored(h.At, "what this hook answers is not known: it is no line of a shell")
	case err != nil:
		r.ignored(h.At, "what this hook answers is not known: %v", err)
	case line.Agent != "copilot":
		e.Role = contract.HookRefuses // modec refuses a payload that is not of its agent
		r.ignored(h.At, "the hook is for %q: it refuses whatever Copilot asks", line.Agent)
	case h.Timeout > 0 && h.Timeout <= contract.HookSeconds: // which may end before
		e.Role = contract.HookAbsent
		r.ignored(h.At, "the time of the hook may end before modec answers, which lets the call pass")
	case h.Matcher != "" && h.Matcher != ".*":
		e.Role = contract.HookAbsent
		r.ignored(h.At, "the hook is about some tools alone")
	default:
		if err = e.Follow(&line, h.At.File, r.policy); err != nil {
			r.ignored(h.At, "%v", err)
		}
	}
	return e
}

// ask runs every hook: a denial holds, else a question, else what one allows. It returns [ir.Agent] where none says
// anything.
func (d *decider) ask(s *setup, c call, agent string) (said ir.Decision, by *hookEntry) {
	said = ir.Agent
	for _, h := range s.hooks {
		if d := d.answer(h, c, agent); d < said {
			said, by = d, h
		}
	}
	return said, by
}

func (d *decider) answer(h *hookEntry, c call, agent string) ir.Decision {
	switch h.Role {
	case contract.HookRefuses:
		return ir.Deny
	case contract.HookStranger:
		return ir.Allow
	case contract.HookAbsent:
		return ir.Agent
	}
	ask := func() contract.HookAnswer {
		req := contract.HookRequest{Payload: hook.Payload(d.disk.Root, c.tool, agent, c.input), Policy: h.Policy,
			Subject: h.Subject, MayAllow: h.Allows}
		return d.hook(req.At(d.disk))
	}
	return contract.Said(ask, ir.Deny, read)
}

// read returns what Copilot takes from the output of a hook that succeeds.
func read(stdout []byte) ir.Decision {
	var answer struct {
		Permission string `json:"permissionDecision"`
	}
	if json.Unmarshal(stdout, &answer) != nil {
		return ir.Agent // Copilot goes on
	}
	switch answer.Permission {
	case "deny":
		return ir.Deny
	case "ask":
		return ir.Ask
	case "allow":
		return ir.Allow
	}
	return ir.Agent
}

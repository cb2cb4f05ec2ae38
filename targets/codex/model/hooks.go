package model

import (
	"encoding/json"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/codex/format"
	"modec.dev/modec/targets/codex/hook"
)

// hookEntry is a hook of a session.
type hookEntry struct {
	format.Hook
	contract.JudgedHook
}

// hookEvents are those at which a hook may refuse.
var hookEvents = []string{hook.Before, hook.Permission}

// hooksOf reads the hooks of a session.
func (r *reader) hooksOf(c *format.Config) map[string][]*hookEntry {
	out := map[string][]*hookEntry{}
	if !c.Feature("hooks", true) {
		return out
	}
	for _, event := range hookEvents {
		for _, h := range c.Hooks[event] {
			if !contract.Observes(h.Command) {
				out[event] = append(out[event], r.hookEntry(event, h))
			}
		}
	}
	return out
}

func (r *reader) hookEntry(event string, h format.Hook) *hookEntry {
	e := &hookEntry{Hook: h}
	line, err := contract.ParseHookLine(h.Command)
	switch {
	case err != nil:
		r.ignored(h.At, "what this hook answers is not known: %v", err)
	case line.Agent != "codex":
		e.Role = contract.HookRefuses // modec refuses a payload that is not of its agent
		r.ignored(h.At, "the hook is for %q: it refuses whatever Codex asks", line.Agent)
	case !line.FailClosed:
		e.Role = contract.HookAbsent
		r.ignored(h.At, "the hook lets pass what it does not answer: its line has to refuse, and say so, "+
			"where modec fails")
	case h.Timeout > 0 && h.Timeout <= contract.HookSeconds: // which may end before
		e.Role = contract.HookAbsent
		r.ignored(h.At, "the time of the hook may end before modec answers, which lets the call pass")
	case h.Matcher != "*" && h.Matcher != "":
		e.Role = contract.HookAbsent
		r.ignored(h.At, "the hook is about some tools alone")
	default:
		if err = e.Follow(&line, h.At.File, r.policy); err != nil {
			r.ignored(h.At, "%v", err)
		}
		e.Allows = e.Allows && event == hook.Permission
	}
	return e
}

// opinion is what a hook, or all hooks of an event, say of a call.
type opinion string

const (
	none    opinion = ""
	allowed opinion = "allow"
	denied  opinion = "deny"
)

// ask runs every hook of an event: a denial holds.
func (d *decider) ask(s *session, event string, c call, agent string) (said opinion, by *hookEntry) {
	for _, h := range s.hooks[event] {
		p := d.answer(h, event, c, agent)
		if p == denied {
			return denied, h
		}
		if p == allowed || by == nil {
			said, by = p, h
		}
	}
	return said, by
}

func (d *decider) answer(h *hookEntry, event string, c call, agent string) opinion {
	switch {
	case h.Role == contract.HookRefuses:
		return denied
	case h.Role == contract.HookStranger && event == hook.Permission:
		return allowed
	case h.Role != contract.HookModec:
		return none
	}
	ask := func() contract.HookAnswer {
		req := contract.HookRequest{Payload: hook.Payload(event, d.disk.Root, c.tool, agent, c.input), Policy: h.Policy,
			Subject: h.Subject, MayAllow: h.Allows}
		return d.hook(req.At(d.disk))
	}
	return contract.Said(ask, denied, func(stdout []byte) opinion { return read(event, stdout) })
}

// read returns what Codex takes from the output of a hook that succeeds.
func read(event string, stdout []byte) opinion {
	var answer struct {
		Output struct {
			Permission string `json:"permissionDecision"`
			Decision   struct {
				Behavior string `json:"behavior"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal(stdout, &answer) != nil {
		return none // Codex goes on
	}
	switch word := answer.Output.Permission + answer.Output.Decision.Behavior; {
	case word == "deny":
		return denied
	case word == "allow" && event == hook.Permission:
		return allowed
	}
	return none
}

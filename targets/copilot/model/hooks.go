package model

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/copilot/format"
	"modec.dev/modec/targets/copilot/hook"
)

// hookEntry is a hook of a session or an agent.
type hookEntry struct {
	format.Hook
	role    hookRole
	policy  *policy.Engine
	subject ir.SubjectRef
	allows  bool // --may-allow
}

// hookRole is what is known of the answers of a hook.
type hookRole uint8

const (
	stranger hookRole = iota // may answer anything
	absent                   // may not refuse where modec does: as if it were not there
	refuser                  // refuses every call
	modec                    // runs modec's hook for its subject
)

// slowest is the longest that modec takes to answer, in seconds: a shorter time may end before.
const slowest = 2

// hooksOf reads hooks.
func (r *reader) hooksOf(list []format.Hook) (out []*hookEntry) {
	for _, h := range list {
		out = append(out, r.hookEntry(h))
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
		e.role = refuser // modec refuses a payload that is not of its agent
		r.ignored(h.At, "the hook is for %q: it refuses whatever Copilot asks", line.Agent)
	case line.Otherwise != "":
		e.role = absent
		r.ignored(h.At, "the hook lets pass what it does not answer: its line has to refuse where modec fails")
	case h.Timeout > 0 && h.Timeout <= slowest:
		e.role = absent
		r.ignored(h.At, "the time of the hook may end before modec answers, which lets the call pass")
	case h.Matcher != "" && h.Matcher != ".*":
		e.role = absent
		r.ignored(h.At, "the hook is about some tools alone")
	default:
		e.role, e.allows = modec, line.MayAllow
		if e.policy, e.subject, err = r.policies.Of(line.Model, &line); err != nil {
			e.role = refuser
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

func (d *decider) answer(h *hookEntry, c call, agent string) (said ir.Decision) {
	switch h.role {
	case refuser:
		return ir.Deny
	case stranger:
		return ir.Allow
	case absent:
		return ir.Agent
	}
	defer func() { // `modec hook` refuses where it panics
		if recover() != nil {
			said = ir.Deny
		}
	}()
	req := contract.HookRequest{Payload: hook.Payload(d.disk.Root, c.tool, agent, c.input), Policy: h.policy,
		Subject: h.subject, MayAllow: h.allows}
	a := d.hook(req.At(d.disk))
	if a.Exit != 0 {
		return ir.Deny
	}
	return read(a.Stdout)
}

// read returns what Copilot takes from the output of a hook that succeeds.
func read(stdout []byte) ir.Decision {
	var answer struct {
		Permission string `json:"permissionDecision"`
	}
	if contract.ReadAnswer(stdout, &answer) != nil {
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

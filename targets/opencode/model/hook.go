package model

import (
	"encoding/json"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
	"modec.dev/modec/targets/opencode/hook"
)

// Hook is the entry point that `modec hook opencode` runs.
type Hook func(contract.HookRequest) contract.HookAnswer

// Asked is modec's plugin as the sessions of an agent have it.
type Asked struct {
	*judged
	agent string
	run   Hook
	disk  contract.Disk
}

// judged is a line of the plugin.
type judged struct {
	contract.JudgedHook
	at diag.Pos
}

// lineOf is a line of a plugin.
type lineOf struct{ file, line string }

// Hooks reads plugins, and judges each line of one once.
type Hooks struct {
	*Reader
	bad    diag.Code
	run    Hook
	policy *contract.HookPolicy
	disk   contract.Disk
	known  map[lineOf]*judged
}

// NewHooks returns the plugins among the files of a program, which run answers. It reports one that is not modec's, or
// that refuses every call, as bad.
func NewHooks(r *Reader, bad diag.Code, run Hook) *Hooks {
	return &Hooks{Reader: r, bad: bad, run: run, policy: contract.NewHookPolicy(r.FS, r.Target),
		disk: contract.ModelDisk(root), known: map[lineOf]*judged{}}
}

// root is where the model places the project.
const root = "/home/person/project"

// OfSession returns what is asked about the calls of an agent in a session of a subject, nil for nothing.
func (h *Hooks) OfSession(ref ir.SubjectRef, c *format.Config, agent string) *Asked {
	file := format.SessionHook(h.Target, ref)
	if !slices.Contains(c.Plugins, file) {
		return nil
	}
	return h.Of(file, agent)
}

// Of returns what a plugin asks about the calls of an agent, nil for nothing.
func (h *Hooks) Of(file, agent string) *Asked {
	text, err := h.bytes(file)
	if err != nil {
		return nil
	}
	lines, ok := format.ReadHook(text)
	line, asks := lines[agent]
	if !asks {
		line, asks = lines[format.Every]
	}
	if ok && !asks {
		return nil
	}
	j := h.known[lineOf{file, line}]
	if j == nil {
		j = &judged{at: diag.Pos{File: file}}
		h.judge(j, line, ok)
		h.known[lineOf{file, line}] = j
	}
	return &Asked{judged: j, agent: agent, run: h.run, disk: h.disk}
}

// Assumed returns what a model assumes, and where some session has a plugin what that does.
func (h *Hooks) Assumed(assumes []string) []string {
	if len(h.known) == 0 {
		return assumes
	}
	return append(slices.Clone(assumes),
		h.Title+" loads the plugin of the project (no --pure), and modec is on its PATH")
}

// judge decides what a plugin does by a line; ok is set for one of modec's.
func (h *Hooks) judge(j *judged, line string, ok bool) {
	ignored := func(why string) {
		h.Diags.Warnf(h.bad, j.at, "%s", why).
			Hint("`modec build` writes it anew, with --force where somebody changed it").Target(h.Target)
	}
	of, err := contract.ParseHookLine(line)
	switch {
	case !ok:
		j.Role = contract.HookAbsent
		ignored("the plugin is not as modec writes it: verify takes it for none")
	case err != nil:
		j.Role = contract.HookAbsent
		ignored("nobody knows what this command of the plugin answers: verify takes it for none")
	case of.Observes:
		j.Role = contract.HookAbsent
	case of.Agent != h.Target:
		j.Role = contract.HookRefuses // modec refuses a payload that is not of its agent
		ignored("the command of the plugin is for " + of.Agent + ": it refuses every call")
	default:
		if err = j.Follow(&of, j.at.File, h.policy); err != nil {
			ignored(err.Error())
		}
		if j.Role == contract.HookStranger { // which cannot allow
			j.Role = contract.HookAbsent
		}
	}
}

// call is what an action is to the plugin: a tool and its arguments.
func (s *Session) call(a policy.Action) (tool string, args map[string]any) {
	switch a.Group {
	case ir.Read:
		return format.Read, map[string]any{"filePath": a.Arg}
	case ir.Edit:
		return format.ToolWrite, map[string]any{"filePath": a.Arg}
	case ir.Command:
		return format.Bash, map[string]any{"command": a.Arg}
	case ir.Web:
		if a.Arg == "" {
			return format.WebSearch, map[string]any{}
		}
		return format.WebFetch, map[string]any{"url": "https://" + a.Arg + "/"}
	case ir.Modes:
		return format.Task, map[string]any{"subagent_type": a.Arg}
	case ir.MCP:
		if a.Kind == policy.Resource {
			return format.ToolResource, map[string]any{"server": a.Server, "uri": a.Arg}
		}
		return format.ToolKey(a.Server, a.Arg), map[string]any{}
	}
	return a.Arg, map[string]any{}
}

// refuses reports whether the plugin refuses an action.
func (s *Session) refuses(a policy.Action) bool {
	h := s.Asks
	switch {
	case h == nil, h.Role == contract.HookAbsent, a.Group == ir.MCP && a.Kind == policy.Prompt:
		return false
	case h.Role == contract.HookRefuses:
		return true
	}
	tool, args := s.call(a)
	ask := func() contract.HookAnswer {
		req := contract.HookRequest{Payload: hook.Payload(h.disk.Root, tool, h.agent, args), Policy: h.Policy,
			Subject: h.Subject}
		return h.run(req.At(h.disk))
	}
	return contract.Said(ask, true, func(stdout []byte) bool {
		var answer struct {
			Decision string `json:"decision"`
		}
		return json.Unmarshal(stdout, &answer) != nil || answer.Decision != ""
	})
}

// held returns a verdict by the rules as the plugin leaves it: it refuses, and nothing else.
func (s *Session) held(a policy.Action, v contract.Verdict) contract.Verdict {
	if s.Asks == nil || v.Decision == ir.Deny && v.Hole == nil || !s.refuses(a) {
		return v
	}
	bare, rule := v.Answer, "the plugin refuses every call"
	if s.Asks.Role == contract.HookModec {
		rule = s.Asks.Text("", "")
	}
	return contract.Verdict{Bare: &bare, BareHole: v.Hole, Answer: contract.Answer{Decision: ir.Deny,
		Governs: contract.Both, Rule: rule, At: s.Asks.at}}
}

// asksLike reports whether two sessions have the same plugin, or none.
func (s *Session) asksLike(o *Session) bool {
	if s.Asks == nil || o.Asks == nil {
		return s.Asks == o.Asks
	}
	return s.Asks.judged == o.Asks.judged && s.Asks.agent == o.Asks.agent
}

// hooked returns the plugins of a subject's sessions.
func (d *Decider) hooked(ref ir.SubjectRef) (all []*contract.JudgedHook) {
	for i := range d.setups[ref] {
		if h := d.session(ref, i).Asks; h != nil {
			all = append(all, &h.JudgedHook)
		}
	}
	return all
}

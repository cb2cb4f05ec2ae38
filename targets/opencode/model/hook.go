package model

import (
	"bytes"
	"encoding/json"
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
	"modec.dev/modec/targets/opencode/hook"
)

// codeHook is of a plugin that does not hold, or refuses every call.
const codeHook diag.Code = "bad-opencode-hook"

// Hook is the entry point that `modec hook opencode` runs.
type Hook func(contract.HookRequest) contract.HookAnswer

// asked is modec's plugin as the sessions of an agent have it.
type asked struct {
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

// hooks reads the lines of plugins, each once.
type hooks struct {
	*Reader
	run    Hook
	policy *contract.HookPolicy
	disk   contract.Disk
	known  map[string]*judged
	loads  bool // opencode loads the plugin, and it is modec's
}

func newHooks(r *Reader, run Hook) *hooks {
	text, err := fs.ReadFile(r.FS, format.HookFile)
	return &hooks{Reader: r, run: run, policy: contract.NewHookPolicy(r.FS, "opencode"),
		disk: contract.ModelDisk(root), known: map[string]*judged{},
		loads: err == nil && bytes.Equal(text, format.HookText)}
}

// root is where the model places the project.
const root = "/home/person/project"

// of returns what is asked about the calls of an agent, nil for nothing.
func (h *hooks) of(c *format.Config, agent string) *asked {
	p := c.Hook
	if p == nil || p.Line(agent) == "" && len(p.Agents) > 0 {
		return nil
	}
	line := p.Line(agent)
	j := h.known[line]
	if j == nil {
		j = &judged{at: p.At}
		h.judge(j, line)
		h.known[line] = j
	}
	return &asked{judged: j, agent: agent, run: h.run, disk: h.disk}
}

// judge says what the plugin does by a line.
func (h *hooks) judge(j *judged, line string) {
	ignored := func(why string) {
		h.Diags.Warnf(codeHook, j.at, "%s", why).
			Hint("`modec build` writes it anew, with --force where somebody changed it").Target(h.Target)
	}
	of, err := contract.ParseHookLine(line)
	switch {
	case !h.loads && !contract.IsSession(j.at.File): // which has a copy of its own
		j.Role = contract.HookAbsent
		ignored("the plugin " + format.HookFile + " is missing, or is not as modec writes it: it holds nothing")
	case line == "":
		j.Role = contract.HookRefuses
		ignored("the plugin stands without the command that it runs: it refuses every call")
	case err != nil, of.Otherwise != "":
		j.Role = contract.HookAbsent
		ignored("nobody knows what this command of the plugin answers: it holds nothing")
	case of.Agent != "opencode":
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
	h := s.asks
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
	if s.asks == nil || v.Decision == ir.Deny && v.Hole == nil || !s.refuses(a) {
		return v
	}
	bare, rule := v.Answer, "the plugin refuses every call"
	if s.asks.Role == contract.HookModec {
		rule = s.asks.Text("", "")
	}
	return contract.Verdict{Bare: &bare, BareHole: v.Hole, Answer: contract.Answer{Decision: ir.Deny,
		Governs: contract.Both, Rule: rule, At: s.asks.at}}
}

// asksLike reports whether two sessions have the same plugin, or none.
func (s *Session) asksLike(o *Session) bool {
	if s.asks == nil || o.asks == nil {
		return s.asks == o.asks
	}
	return s.asks.judged == o.asks.judged && s.asks.agent == o.asks.agent
}

// hooked returns the plugins of a subject's sessions.
func (d *Decider) hooked(ref ir.SubjectRef) (all []*contract.JudgedHook) {
	for i := range d.setups[ref] {
		if h := d.session(ref, i).asks; h != nil {
			all = append(all, &h.JudgedHook)
		}
	}
	return all
}

package model

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/codex/format"
	"modec.dev/modec/targets/codex/hook"
)

// call is a call of a tool.
type call struct {
	tool  string
	input map[string]any
}

// agentType is the argument that names the agent to which a session hands work.
const agentType = "agent_type"

// callOf returns the call that does an action. It reports false where no tool does.
func callOf(a policy.Action) (call, bool) {
	switch a.Group {
	case ir.Read:
		return call{format.ViewImage, map[string]any{"path": a.Arg}}, a.Arg != ""
	case ir.Edit:
		body := "*** Begin Patch\n*** Add File: " + a.Arg + "\n+x\n*** End Patch\n"
		files, ok := format.PatchFiles(body)
		return call{format.ApplyPatch, map[string]any{"command": body}}, ok && slices.Equal(files, []string{a.Arg})
	case ir.Command:
		return call{format.Shell, map[string]any{"command": a.Arg}}, a.Arg != ""
	case ir.Modes:
		return call{format.Spawn, map[string]any{agentType: a.Arg, "message": "x"}}, true
	case ir.MCP:
		if a.Kind == policy.Tool {
			return call{format.ToolName(a.Server, a.Arg), map[string]any{}}, true
		}
		return call{format.ReadResource, map[string]any{"server": a.Server, "uri": a.Arg}}, true
	}
	return call{a.Arg, map[string]any{}}, true
}

// Decide returns what Codex does with an action in a session of a subject.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	if !d.Contains(ref) {
		return contract.Verdict{}
	}
	s := d.sessionOf(ref)
	var agent *format.Agent
	if ref.Role != "" {
		agent = d.agents[ref.Mode]
	}
	base := s.judge(a, agent)
	return d.hooked(s, a, agent, base)
}

// hooked joins what Codex does by a configuration with what the hooks say.
func (d *decider) hooked(s *session, a policy.Action, agent *format.Agent, base contract.Answer) contract.Verdict {
	c, ok := callOf(a)
	switch {
	case a.Group == ir.MCP && a.Kind == policy.Prompt:
		return contract.Verdict{Answer: contract.Answer{Decision: ir.Deny, Rule: "Codex has no prompts of servers"}}
	case !ok:
		return contract.Verdict{Answer: contract.Answer{Decision: ir.Deny, Governs: contract.Both,
			Rule: "no tool of Codex does this"}}
	case a.Group == ir.Web || base.Decision == ir.Deny || len(s.hooks) == 0: // no hook sees a search of the web
		return contract.Verdict{Answer: base}
	}
	if to := d.agents[a.Arg]; a.Group == ir.Modes && to != nil {
		c.input[agentType] = to.Name
	}
	name := ""
	if agent != nil {
		name = agent.Name
	}
	v := contract.Verdict{Answer: base, Bare: &base}
	v.Governs = contract.Both
	if said, by := d.ask(s, hook.Before, c, name); said == denied {
		v.Decision, v.Rule, v.At = ir.Deny, by.Text(hook.Before, by.Command), by.At
		return v
	}
	if base.Decision == ir.Ask {
		switch said, by := d.ask(s, hook.Permission, c, name); said {
		case denied:
			v.Decision, v.Rule, v.At = ir.Deny, by.Text(hook.Permission, by.Command), by.At
		case allowed:
			v.Decision, v.Rule, v.At = ir.Allow, by.Text(hook.Permission, by.Command), by.At
		}
	}
	return v
}

// judge decides an action by a configuration alone.
func (s *session) judge(a policy.Action, agent *format.Agent) contract.Answer {
	answer := func(d ir.Decision, g contract.Halves, key, rule string) contract.Answer {
		at := s.At[key]
		if at.File == "" {
			at = diag.Pos{File: s.file}
		}
		return contract.Answer{Decision: d, Governs: g, Rule: rule, At: at}
	}
	has := func(feature string) bool {
		if agent != nil {
			if on, said := agent.Features[feature]; said && !on {
				return false
			}
		}
		return s.Feature(feature, true)
	}
	switch a.Group {
	case ir.Command:
		if !has("shell_tool") {
			return answer(ir.Deny, contract.Both, "shell_tool", "the session has no shell")
		}
		d, rule := s.command(a.Arg)
		return answer(d, contract.Both, "approval_policy", rule)
	case ir.Edit:
		d, rule := s.edit(a.Arg)
		return answer(d, contract.Both, "sandbox_mode", rule)
	case ir.Read:
		if !has(format.ViewImage) {
			return answer(ir.Deny, contract.Both, format.ViewImage, "the session looks at no images")
		}
		return answer(ir.Allow, contract.Neither, format.ViewImage, "Codex looks at images without asking")
	case ir.Web:
		if s.Search == format.Searches[0] {
			return answer(ir.Deny, contract.Both, "web_search", "the session does not search")
		}
		return answer(ir.Allow, contract.Both, "web_search", "Codex searches without asking")
	case ir.Modes:
		if !s.Agents {
			return answer(ir.Deny, contract.Both, "agents", "the session hands work to nobody")
		}
		return answer(ir.Allow, contract.Neither, "agents", "Codex hands work to agents without asking")
	case ir.MCP:
		return s.server(a)
	}
	return answer(ir.Allow, contract.Neither, "", "Codex asks about no such tool")
}

// server decides what a session does with a server.
func (s *session) server(a policy.Action) contract.Answer {
	sv := s.Server(a.Server)
	at := diag.Pos{File: s.file}
	switch {
	case a.Server == contract.UnknownServer:
		return contract.Answer{Decision: ir.Allow, At: at,
			Rule: "a server of somebody's own says of itself what is asked"}
	case sv == nil || sv.Off:
		return contract.Answer{Decision: ir.Deny, Governs: contract.Both, Rule: "the session does not start it", At: at}
	case a.Kind == policy.Resource:
		return contract.Answer{Decision: ir.Allow, Rule: "Codex reads resources without asking", At: sv.At}
	case !sv.Has(a.Arg):
		return contract.Answer{Decision: ir.Deny, Governs: contract.Both, Rule: "the session does not have the tool",
			At: sv.At}
	}
	m := sv.Approval(a.Arg)
	out := contract.Answer{Decision: ir.Allow, Governs: contract.Both, Rule: "approval_mode " + string(m), At: sv.At}
	if where, ok := sv.ToolsAt[a.Arg]; ok {
		out.At = where
	}
	if m == format.Prompt && !(s.Policy == format.Never && s.Sandbox == format.FullAccess) {
		if out.Decision = ir.Ask; s.Policy == format.Never {
			out.Decision = ir.Deny
		}
	}
	return out
}

// command decides a line.
func (s *session) command(line string) (ir.Decision, string) {
	forced := forces(line)
	switch {
	case s.required != nil && s.required.Forbids(line):
		return ir.Deny, "an administrator's rule forbids it"
	case s.Policy == format.Untrusted:
		return ir.Ask, "Codex asks about every command in a folder that is not trusted"
	case forced && s.Policy == format.Never:
		return ir.Deny, "Codex asks about what removes by force, and this session asks nothing"
	case forced:
		return ir.Ask, "Codex asks about what removes by force"
	}
	return ir.Allow, "Codex runs commands in its sandbox"
}

// forces reports whether Codex takes a line for one that removes by force.
func forces(line string) bool {
	words := strings.Fields(line)
	if len(words) > 0 && words[0] == "sudo" {
		words = words[1:]
	}
	return len(words) > 1 && path.Base(words[0]) == "rm" && (words[1] == "-f" || words[1] == "-rf") &&
		!strings.ContainsAny(line, "\"'\\$`*?[]{}()&|;<>#!~\n=")
}

// edit decides a file of a patch.
func (s *session) edit(file string) (ir.Decision, string) {
	inside := s.Sandbox == format.FullAccess || s.Sandbox == format.Workspace && writable(file)
	asks := s.Policy == format.OnRequest || s.Policy == format.Granular && s.Asks["sandbox_approval"]
	switch {
	case s.Policy == format.Untrusted:
		return ir.Ask, "Codex asks about every edit in a folder that is not trusted"
	case inside:
		return ir.Allow, "the sandbox lets it be written"
	case asks:
		return ir.Ask, "Codex asks about what the sandbox does not let be written"
	}
	return ir.Deny, "the sandbox does not let it be written, and Codex does not ask"
}

// protected are the folders that no sandbox lets be written.
var protected = []string{".git", ".codex", ".agents"}

// writable reports whether a sandbox that opens the workspace lets a file be written.
func writable(file string) bool {
	if !path.IsAbs(file) {
		file = root + "/" + file
	}
	file = path.Clean(file)
	rest, inside := strings.CutPrefix(file, root+"/")
	if !inside {
		return file == "/tmp" || strings.HasPrefix(file, "/tmp/")
	}
	first, _, _ := strings.Cut(rest, "/")
	return !slices.Contains(protected, first)
}

// Alone returns a decider for what Codex does in a folder that its user trusts, without any configuration.
func Alone() []contract.Decider { return []contract.Decider{alone{}} }

type alone struct{}

var byItself = session{Config: &format.Config{Policy: format.OnRequest, Sandbox: format.Workspace, Agents: true}}

func (alone) Surface() string { return "" }

func (alone) Assumes() []string { return assumes }

func (alone) Decide(_ ir.SubjectRef, a policy.Action) contract.Verdict {
	if _, ok := callOf(a); !ok && a.Group != ir.Web {
		return contract.Verdict{Answer: contract.Answer{Decision: ir.Deny, Governs: contract.Both,
			Rule: "no tool of Codex does this"}}
	}
	answer := byItself.judge(a, nil)
	if a.Group == ir.MCP {
		answer.Decision, answer.Rule = ir.Allow, "a server says of itself what is asked"
	}
	answer.Governs = contract.Both
	return contract.Verdict{Answer: answer}
}

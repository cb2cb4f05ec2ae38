package serve

import (
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/hook"
	"modec.dev/modec/targets/roo"
)

// validateInput is one question: may this tool be used on that.
type validateInput struct {
	SessionID  string `json:"session_id,omitempty" jsonschema:"the session that asks; or name a mode"`
	Mode       string `json:"mode,omitempty" jsonschema:"a mode's slug, without a session"`
	Role       string `json:"role,omitempty" jsonschema:"a role's name, alone or beside the mode"`
	ToolName   string `json:"tool_name" jsonschema:"a tool of Roo Code (write_to_file, execute_command), of Claude Code (Edit, Bash, mcp__SERVER__TOOL), or a group (read, edit, command, web, mcp, modes)"`
	FilePath   string `json:"file_path,omitempty" jsonschema:"the path of a tool that reads or edits, relative to the project or absolute"`
	Command    string `json:"command,omitempty" jsonschema:"the line of a tool that runs commands"`
	Server     string `json:"server,omitempty" jsonschema:"the MCP server of use_mcp_tool, access_mcp_resource and mcp"`
	MCPTool    string `json:"mcp_tool,omitempty" jsonschema:"the tool of that server"`
	URL        string `json:"url,omitempty" jsonschema:"the address or host of a tool that fetches"`
	TargetMode string `json:"target_mode,omitempty" jsonschema:"the mode of switch_mode, new_task and Agent"`
}

// validateOutput is the answer.
type validateOutput struct {
	Allowed          bool   `json:"allowed" jsonschema:"whether it may happen at all, after a person's approval where that is required"`
	Decision         string `json:"decision" jsonschema:"deny, ask or allow"`
	RequiresApproval bool   `json:"requires_approval" jsonschema:"whether a person has to approve it first"`
	ToolName         string `json:"tool_name"`
	Mode             string `json:"mode,omitempty"`
	Role             string `json:"role,omitempty"`
	Restriction      string `json:"restriction,omitempty" jsonschema:"what refuses: tool_group, file, command, host, server or mode"`
	Rule             string `json:"rule" jsonschema:"the rule that decided"`
	Place            string `json:"place,omitempty" jsonschema:"where the rule is written"`
	Code             string `json:"code,omitempty" jsonschema:"TOOL_RESTRICTION_ERROR or FILE_RESTRICTION_ERROR where it is refused"`
	SpecCode         int    `json:"spec_code,omitempty"`
	Reason           string `json:"reason" jsonschema:"the answer as a sentence"`
}

// search are the tools that look below a folder, the project where none is named.
var search = map[string]bool{"Glob": true, "Grep": true, "LS": true, "LSP": true, "list_files": true, "search_files": true, "codebase_search": true, "list_code_definition_names": true}

// groupOf returns the group of a tool of any agent, "" for one that touches nothing.
func groupOf(tool string) (ir.Group, bool) {
	switch {
	case tool == "browser":
		return ir.Web, true
	case strings.HasPrefix(tool, "mcp__"):
		return ir.MCP, true
	}
	for _, g := range ir.Groups {
		if string(g) == tool {
			return g, true
		}
	}
	if g, ok := roo.ToolGroup(tool); ok {
		return g, true
	}
	return hook.Group(tool)
}

// judgement is a decision and what kind of argument it was about.
type judgement struct {
	policy.Result
	about string // tool_group, file, command, host, server or mode
}

// judge decides a question for a subject. What is refused with the whole group is the
// group's restriction.
func (m *Model) judge(ref ir.SubjectRef, s *policy.Subject, in *validateInput) (judgement, error) {
	j, err := m.judgeCall(ref, s, in)
	if g, _ := groupOf(in.ToolName); err == nil && g != "" && j.Decision == ir.Deny {
		if r, _ := m.most(ref, s, g); r.Decision == ir.Deny {
			j.about = "tool_group"
		}
	}
	return j, err
}

// judgeCall judges a tool of Claude Code as its hook does, and every other as the policy
// says.
func (m *Model) judgeCall(ref ir.SubjectRef, s *policy.Subject, in *validateInput) (judgement, error) {
	g, known := groupOf(in.ToolName)
	if !known {
		return judgement{s.UnknownTool(), "tool_group"}, nil
	}
	if strings.ContainsRune(in.FilePath, 0) {
		return judgement{}, fail(validationError, "got a NUL in file_path, want a path")
	}
	if in.URL != "" && g == ir.Web {
		if _, ok := contract.WebHost(in.URL); !ok {
			return judgement{}, fail(validationError, "got the url %q, want an address with a host, of http or https", in.URL)
		}
	}
	about := map[ir.Group]string{"": "tool_group", ir.Read: "file", ir.Edit: "file", ir.Command: "command", ir.Web: "host", ir.MCP: "server", ir.Modes: "mode"}[g]
	if _, ok := hook.Group(in.ToolName); ok || strings.HasPrefix(in.ToolName, "mcp__") {
		if input := in.claude(g); input != nil {
			r, err := hook.Judge(contract.HookRequest{Policy: m.Policy, Subject: ref, Root: m.root(), Resolve: m.resolve}, in.ToolName, input)
			return judgement{r, about}, err
		}
		return judgement{m.whole(ref, s, g), "tool_group"}, nil
	}
	decide := func(a policy.Action) (judgement, error) { return judgement{s.Decide(a), about}, nil }
	switch g {
	case "":
		return judgement{policy.Result{Decision: ir.Allow, Rule: "a tool that touches nothing"}, about}, nil
	case ir.Read, ir.Edit:
		p := in.FilePath
		if p == "" && search[in.ToolName] {
			p = "."
		}
		if p != "" {
			r := m.file(s, g, p)
			if search[in.ToolName] && r.Decision == ir.Allow && slices.ContainsFunc(s.Rules(g), func(r ir.Rule) bool { return r.Decision < ir.Allow }) {
				r.Decision, r.Rule = ir.Ask, r.Rule+", and some of what is below may not be read"
			}
			return judgement{r, about}, nil
		}
	case ir.Command:
		if in.Command != "" {
			return judgement{s.DecideCommand(".", in.Command), about}, nil
		}
	case ir.Web:
		if host, ok := contract.WebHost(in.URL); ok {
			return decide(policy.Action{Group: g, Arg: host})
		}
	case ir.Modes:
		if in.TargetMode != "" {
			return decide(policy.Action{Group: g, Arg: in.TargetMode})
		}
	case ir.MCP:
		switch {
		case in.Server == "" && in.MCPTool != "":
			return judgement{}, fail(validationError, "got mcp_tool %q without a server, want both", in.MCPTool)
		case in.Server == "":
		case in.ToolName == "access_mcp_resource":
			return decide(policy.Action{Group: g, Kind: policy.Resource, Server: in.Server, Arg: "*"})
		case in.MCPTool != "":
			return decide(policy.Action{Group: g, Server: in.Server, Arg: in.MCPTool})
		default:
			return judgement{m.someOf(s, in.Server), about}, nil
		}
	}
	return judgement{m.whole(ref, s, g), "tool_group"}, nil
}

// claude is the input of a tool of Claude Code, nil where the question does not say
// what the tool is to be used on.
func (in *validateInput) claude(g ir.Group) map[string]any {
	input := map[string]any{}
	set := func(value string, names ...string) {
		for _, n := range names {
			if value != "" {
				input[n] = value
			}
		}
	}
	switch g {
	case ir.Read, ir.Edit:
		set(in.FilePath, "file_path", "notebook_path", "filePath", "path")
	case ir.Command:
		set(in.Command, "command")
	case ir.Web:
		set(in.URL, "url")
	case ir.Modes:
		set(in.TargetMode, "subagent_type", "skill")
	case ir.MCP:
		set(in.Server, "server")
		return input // the tool's own name says the rest, or nothing is left to say
	}
	if len(input) == 0 && g != "" && !search[in.ToolName] && in.ToolName != "WebSearch" {
		return nil
	}
	return input
}

// root is the folder that paths are taken from.
func (m *Model) root() string {
	if m.Root != "" {
		return m.Root
	}
	return filepath.FromSlash("/") + "modec-project" // no path of a disk: nothing is resolved then
}

// resolve follows links, those of the project's own folder once.
func (m *Model) resolve(p string) (string, error) {
	switch m.Root {
	case "":
		return filepath.Clean(p), nil
	case p:
		return m.realRoot()
	}
	return contract.ResolveLinks(p)
}

// file decides a path: at the disk where the project's folder is known, so that a link
// does not lead past a rule.
func (m *Model) file(s *policy.Subject, g ir.Group, p string) policy.Result {
	switch {
	case m.Root == "", !filepath.IsAbs(p) && policy.Elsewhere(p):
		return s.DecideFile(g, p, "")
	case !filepath.IsAbs(p):
		p = filepath.Join(m.Root, p)
	}
	return contract.DecideAt(s, g, m.Root, p, m.resolve)
}

// whole is the answer to a question that does not say what the tool is to be used on:
// what a rule allows of the group is an ask, unless all of it is allowed.
func (m *Model) whole(ref ir.SubjectRef, s *policy.Subject, g ir.Group) policy.Result {
	r, all := m.most(ref, s, g)
	if r.Decision == ir.Allow && !all {
		r.Decision, r.Rule = ir.Ask, r.Rule+", of some of it"
	}
	return r
}

// someOf is the most that may happen with a tool of a server, an ask unless all may.
func (m *Model) someOf(s *policy.Subject, server string) policy.Result {
	names := []string{contract.UnknownTool}
	if sv := m.Project.Server(server); sv != nil {
		for _, t := range sv.Tools {
			names = append(names, t.Name)
		}
	}
	best, all := policy.Result{}, true
	for i, n := range names {
		r := s.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: n})
		if all = all && r.Decision == ir.Allow; i == 0 || r.Decision > best.Decision {
			best = r
		}
	}
	if best.Decision == ir.Allow && !all {
		best.Decision, best.Rule = ir.Ask, best.Rule+", of some of it"
	}
	return best
}

// answer writes a judgement as the tool's output.
func answer(ref ir.SubjectRef, in *validateInput, j judgement) *validateOutput {
	out := &validateOutput{Allowed: j.Decision > ir.Deny, Decision: j.Decision.String(), RequiresApproval: j.Decision == ir.Ask, ToolName: in.ToolName,
		Mode: ref.Mode, Role: ref.Role, Rule: ruleText(j.Result), Place: placeOf(j.Pos)}
	verb := map[ir.Decision]string{ir.Deny: "may not use", ir.Ask: "may use, after a person's approval,", ir.Allow: "may use"}[j.Decision]
	out.Reason = ref.String() + " " + verb + " " + in.ToolName
	if on := object(in); on != "" {
		out.Reason += " on " + on
	}
	out.Reason += ", by " + out.Rule
	if out.Place != "" {
		out.Reason += " (" + out.Place + ")"
	}
	if !out.Allowed {
		c := toolRestriction
		if j.about == "file" {
			c = fileRestriction
		}
		out.Restriction, out.Code, out.SpecCode = j.about, string(c), specCodes[c]
	}
	return out
}

func ruleText(r policy.Result) string {
	if r.From != "" {
		return r.Rule + " of " + r.From
	}
	return r.Rule
}

func placeOf(p diag.Pos) string {
	if p.File == ir.GuardsFile {
		return "built in"
	}
	return p.String()
}

// object is what a question is about, as its author wrote it.
func object(in *validateInput) string {
	switch {
	case in.FilePath != "":
		return in.FilePath
	case in.Command != "":
		return in.Command
	case in.Server != "" && in.MCPTool != "":
		return in.Server + ":" + in.MCPTool
	case in.Server != "":
		return in.Server
	case in.URL != "":
		return in.URL
	}
	return in.TargetMode
}

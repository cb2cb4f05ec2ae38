package mcp

import (
	"net/url"
	"path/filepath"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
	"modec.dev/modec/targets/claude"
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
	return claude.ToolGroup(tool)
}

// judgement is a decision and what kind of argument it was about.
type judgement struct {
	policy.Result
	about string // tool_group, file, command, host, server or mode
}

// judge decides a question for a subject.
func (m *Model) judge(s *policy.Subject, in *validateInput) (judgement, error) {
	g, known := groupOf(in.ToolName)
	if !known {
		return judgement{s.UnknownTool(), "tool_group"}, nil
	}
	whole := judgement{m.most(s, g), "tool_group"}
	switch g {
	case "":
		return judgement{policy.Result{Decision: ir.Allow, Rule: "a tool that touches nothing"}, "tool_group"}, nil
	case ir.Read, ir.Edit:
		p := in.FilePath
		switch {
		case strings.ContainsRune(p, 0):
			return judgement{}, fail(validationError, "got a NUL in file_path, want a path")
		case p == "" && search[in.ToolName]:
			p = "."
		case p == "" || whole.Decision == ir.Deny:
			return whole, nil
		}
		return judgement{m.file(s, g, p), "file"}, nil
	case ir.Command:
		if in.Command == "" || whole.Decision == ir.Deny {
			return whole, nil
		}
		return judgement{s.DecideCommand(".", in.Command), "command"}, nil
	case ir.Web:
		if in.URL == "" {
			return whole, nil
		}
		host, err := hostOf(in.URL)
		if err != nil {
			return judgement{}, err
		}
		return judgement{s.Decide(policy.Action{Group: g, Arg: host}), "host"}, nil
	case ir.Modes:
		if in.TargetMode == "" {
			return whole, nil
		}
		return judgement{s.Decide(policy.Action{Group: g, Arg: in.TargetMode}), "mode"}, nil
	}
	return m.judgeMCP(s, in, whole)
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
	return target.DecideAt(s, g, m.Root, p, target.ResolveLinks)
}

func (m *Model) judgeMCP(s *policy.Subject, in *validateInput, whole judgement) (judgement, error) {
	server, tool := in.Server, in.MCPTool
	if rest, ok := strings.CutPrefix(in.ToolName, "mcp__"); ok {
		if server, tool = m.split(rest); server == "" {
			return judgement{}, fail(validationError, "got the tool %q, want mcp__SERVER__TOOL", in.ToolName)
		}
	}
	if server == "" {
		if tool != "" {
			return judgement{}, fail(validationError, "got mcp_tool %q without a server, want both", tool)
		}
		return whole, nil
	}
	if in.ToolName == "access_mcp_resource" || in.ToolName == "ReadMcpResourceTool" || in.ToolName == "ListMcpResourcesTool" {
		return judgement{s.Decide(policy.Action{Group: ir.MCP, Kind: policy.Resource, Server: server, Arg: "*"}), "server"}, nil
	}
	if tool == "" { // may anything of the server be used
		best := judgement{policy.Result{Decision: ir.Deny}, "server"}
		names := []string{""}
		if sv := m.Project.Server(server); sv != nil && len(sv.Tools) > 0 {
			names = names[:0]
			for _, t := range sv.Tools {
				names = append(names, t.Name)
			}
		}
		for _, n := range names {
			if r := s.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: n}); best.Rule == "" || r.Decision > best.Decision {
				best.Result = r
			}
		}
		return best, nil
	}
	return judgement{s.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool}), "server"}, nil
}

// split reads Claude Code's mcp__SERVER__TOOL with the inventory's names: the longest
// server that fits, as Claude Code writes it.
func (m *Model) split(rest string) (server, tool string) {
	for i := range m.Project.Servers {
		sv := &m.Project.Servers[i]
		t, ok := strings.CutPrefix(rest, claude.Name(sv.Name)+"__")
		if !ok || len(sv.Name) < len(server) {
			continue
		}
		server, tool = sv.Name, t
		for _, known := range sv.Tools {
			if claude.Name(known.Name) == t {
				tool = known.Name
			}
		}
	}
	if server == "" {
		server, tool, _ = strings.Cut(rest, "__")
	}
	return server, tool
}

// hostOf reads an address or a bare host.
func hostOf(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", fail(validationError, "got the url %q, want an address with a host", text)
	}
	return u.Hostname(), nil
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

package roo

import (
	"io/fs"
	"regexp"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
)

// judge decides as Roo Code 3.52.1 does, as a Roo with the restriction plan,
// or as Zoo Code 3.82.0. It is a model of their code (the file that a rule is
// taken from stands beside it) and knows nothing of what writes the artifacts.
//
// A mode's groups give it tools (src/shared/tools.ts): read read_file,
// search_files, list_files and codebase_search; edit write_to_file,
// apply_diff, apply_patch, edit, search_replace, edit_file and generate_image;
// command execute_command; web, in Zoo, fetch_web_content; mcp the tools and
// resources of the servers. switch_mode and new_task are in every mode.
type judge struct {
	dialect string
	modes   map[string]*judgedMode
	servers map[string]*judgedServer
	mcpFile string
	ignore  *judgedIgnore
}

// Open reads the modes, the ignore file and the project's MCP servers. Zoo
// takes its own file where it is there and Roo's else, never both
// (Zoo-Code 3.82.0, src/services/roo-config).
func (t roo) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	j := &judge{dialect: t.dialect(o)}
	modes, ignores, servers := []string{".roomodes"}, []string{".rooignore"}, []string{".roo/mcp.json"}
	if j.dialect == zoo {
		modes, ignores, servers = []string{".zoomodes", ".roomodes"}, []string{".zooignore", ".rooignore"}, []string{".zoo/mcp.json", ".roo/mcp.json"}
	}
	var diags, more diag.List
	j.modes, diags = openModes(fsys, j.dialect, modes...)
	j.servers, j.mcpFile, more = openServers(fsys, j.dialect, servers...)
	j.ignore = openIgnore(fsys, ignores...)
	diags = append(diags, more...)
	for i := range diags {
		diags[i].Target = t.Name()
	}
	return []contract.Decider{j}, diags
}

// Surface is empty: Roo decides in one place.
func (j *judge) Surface() string { return "" }

// Assumes lists what Roo takes from the user and not from the project.
func (j *judge) Assumes() []string {
	a := []string{
		"the user's auto-approve settings say what is asked about; alwaysAllow counts only where the user auto-approves MCP",
		"the user's own mcp_settings.json names no server as the project does, and custom_modes.yaml no mode that the project leaves to the agent",
		"the experiment for custom tools is off",
		"reading outside the workspace is the user's own decision: Roo asks about it, and no artifact says more",
		"the code index was made with the ignore file in place: codebase_search does not ask it again",
		"the workspace has one folder, its root is the project's, and paths are those of POSIX",
		"no symbolic link leads from a path that a fileRegex takes to one that it does not",
	}
	if j.dialect == restrictions {
		a = append(a, "the agent knows mcpRestrictions and defaultEnabled; Roo Code 3.52.1 ignores both")
	}
	return a
}

// Decide answers for a mode; a session of Roo has no role.
func (j *judge) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	m := j.modes[ref.Mode]
	if m == nil || ref.Role != "" {
		return contract.Verdict{}
	}
	switch a.Group {
	case ir.Read:
		return j.read(m, a.Arg)
	case ir.Edit:
		return j.edit(m, a.Arg)
	case ir.Command:
		return j.command(m, a.Arg)
	case ir.Web:
		return j.web(m)
	case ir.MCP:
		return j.mcp(m, a)
	case ir.Modes:
		return verdict(ir.Ask, contract.Neither, "switch_mode and new_task are in every mode", m.at)
	case ir.Unknown:
		v := verdict(ir.Deny, contract.Neither, "a tool that Roo does not know is refused", m.at)
		v.Hole = &contract.Hole{Decision: ir.Allow, Why: "with the experiment for custom tools a tool of the user's runs in every mode, unasked"}
		return v
	}
	return contract.Verdict{}
}

func verdict(d ir.Decision, governs contract.Halves, rule string, at diag.Pos) contract.Verdict {
	return contract.Verdict{Answer: contract.Answer{Decision: d, Governs: governs, Rule: rule, At: at}}
}

// without is the answer where a mode has not the group. A mode with a terminal
// reaches by it what the group would have given.
func (m *judgedMode) without(group, byCommand string) contract.Verdict {
	v := verdict(ir.Deny, contract.Access, "no group "+group, m.at)
	v.Hole = m.terminal(byCommand)
	return v
}

func (m *judgedMode) terminal(does string) *contract.Hole {
	if _, ok := m.groups["command"]; !ok {
		return nil
	}
	return &contract.Hole{Decision: ir.Ask, Why: "a command of execute_command " + does}
}

const (
	readsAny  = "may read any file: only the arguments of cat and its like are held against the ignore file"
	writesAny = "may write any file: neither fileRegex nor the ignore file is asked"
)

// outsideStart matches a path that some system takes for one outside the workspace.
var outsideStart = regexp.MustCompile(`^(?:[/~]|[A-Za-z]:)`)

// leaves reports whether a path leads out of the workspace. Roo resolves ~ as a
// folder; whoever means the home folder writes it as an absolute path.
func leaves(path string) bool {
	path = strings.ReplaceAll(path, `\`, "/")
	_, inside := resolvedPath(path)
	return !inside || outsideStart.MatchString(path)
}

// read: the group, and inside the workspace the ignore file
// (src/core/tools/ReadFileTool.ts).
func (j *judge) read(m *judgedMode, path string) contract.Verdict {
	g, ok := m.groups["read"]
	if !ok {
		return m.without("read", readsAny)
	}
	if strings.Contains(path, "\x00") {
		return verdict(ir.Deny, contract.Neither, "Node opens no path with a NUL", m.at)
	}
	if leaves(path) {
		v := verdict(ir.Ask, contract.Neither, g.text, g.at)
		v.Hole = &contract.Hole{Decision: ir.Ask, Why: "read_file opens files outside the workspace, where the ignore file says nothing"}
		return v
	}
	if r := j.ignore.holds(path); r != nil {
		v := verdict(ir.Deny, contract.Access, r.text, j.ignore.pos(r))
		v.Hole = m.terminal(readsAny)
		return v
	}
	return verdict(ir.Ask, contract.Access, g.text, g.at)
}

// edit: the group, its fileRegex on the path as it is written
// (src/core/tools/validateToolUse.ts), and the ignore file on the path as it
// resolves (each tool's own validateAccess).
func (j *judge) edit(m *judgedMode, path string) contract.Verdict {
	g, ok := m.groups["edit"]
	if !ok {
		return m.without("edit", writesAny)
	}
	if r := j.ignore.holds(path); r != nil {
		v := verdict(ir.Deny, contract.Access, r.text, j.ignore.pos(r))
		if v.Hole = m.terminal(writesAny); v.Hole == nil && j.picture(path) {
			v.Hole = &contract.Hole{Decision: ir.Ask, Why: "generate_image holds the path against the ignore file before it adds .png or .jpg"}
		}
		return v
	}
	if g.regex != nil && !g.regex.test(path) {
		v := verdict(ir.Deny, contract.Access, g.text, g.at)
		v.Hole = &contract.Hole{Decision: ir.Ask, Why: "fileRegex is not tested where write_to_file has no content, on the target of a move in apply_patch, and on the picture of generate_image"}
		return v
	}
	return verdict(ir.Ask, contract.Access, g.text, g.at)
}

// picture reports whether generate_image writes an ignored path that it was
// given without its extension (src/core/tools/GenerateImageTool.ts).
func (j *judge) picture(path string) bool {
	for _, extension := range []string{".png", ".jpg"} {
		if name, ok := strings.CutSuffix(path, extension); ok && name != "" && j.ignore.holds(name) == nil {
			return true
		}
	}
	return false
}

// web: Roo has no tool for it since the browser went; Zoo has one by the group.
func (j *judge) web(m *judgedMode) contract.Verdict {
	if j.dialect != zoo {
		return verdict(ir.Deny, contract.Neither, "Roo has no tool that fetches", m.at)
	}
	g, ok := m.groups["web"]
	if !ok {
		return m.without("web", "may fetch from any host")
	}
	return verdict(ir.Ask, contract.Access, g.text, g.at)
}

// mcp: the group, what limits servers by mode, and mcp.json for all modes.
func (j *judge) mcp(m *judgedMode, a policy.Action) contract.Verdict {
	if a.Kind == policy.Prompt {
		return verdict(ir.Deny, contract.Neither, "Roo does not offer the prompts of a server", m.at)
	}
	s := j.servers[a.Server]
	// A disabled server also shadows one of the user's with its name: callTool
	// and readResource take the project's first (McpHub.findConnection).
	if s != nil && s.disabled != nil {
		return verdict(ir.Deny, contract.Both, "disabled: true", s.disabled.Pos)
	}
	if _, ok := m.groups["mcp"]; !ok {
		v := verdict(ir.Deny, contract.Access, "no group mcp", m.at)
		if inner := j.server(s, a); j.dialect == stock && a.Kind == policy.Tool && inner.Decision > ir.Deny {
			// presentAssistantMessage hands mcp_tool_use over without
			// validateToolUse; the plan and Zoo check in the tool itself, and a
			// resource is read by an ordinary tool, which is checked.
			v.Hole = &contract.Hole{Decision: inner.Decision, Why: "without the group Roo hides the tools of servers from the model and runs one that is called nevertheless"}
		}
		return v
	}
	if rule, at, hidden := j.limited(m, s, a); hidden {
		return verdict(ir.Deny, contract.Access, rule, at)
	}
	return j.server(s, a)
}

// limited returns what keeps a server or a tool from one mode.
func (j *judge) limited(m *judgedMode, s *judgedServer, a policy.Action) (rule string, at diag.Pos, hidden bool) {
	switch {
	case j.dialect == zoo && m.servers != nil:
		// mcpServerRestriction.ts: names as they are, no pattern.
		for _, item := range m.servers.List() {
			if name, _ := schemaText(item); name == a.Server {
				return "", diag.Pos{}, false
			}
		}
		return "allowedMcpServers", m.servers.Pos, true
	case j.dialect == restrictions:
		r := m.restrictions
		if r == nil {
			r = &judgedRestrictions{}
		}
		var off *located.Value
		if s != nil {
			off = s.offByDefault
		}
		if rule, at, hidden = r.server(a.Server, off); hidden || a.Kind != policy.Tool {
			return rule, at, hidden
		}
		return r.tool(a.Server, a.Arg)
	}
	return "", diag.Pos{}, false
}

// server is what mcp.json says for every mode: a tool runs unasked by
// alwaysAllow; nothing there speaks of resources.
func (j *judge) server(s *judgedServer, a policy.Action) contract.Verdict {
	if s == nil {
		return verdict(ir.Ask, contract.Access, "no such server; the user may have one", diag.Pos{File: j.mcpFile})
	}
	if a.Kind != policy.Tool {
		v := verdict(ir.Ask, contract.Access, "resources", s.at)
		v.Hole = &contract.Hole{Decision: ir.Allow, Why: "where the user auto-approves MCP, access_mcp_resource reads the resources of every server unasked: alwaysAllow is about tools"}
		return v
	}
	if t := s.disabledTools[a.Arg]; t != nil {
		return verdict(ir.Deny, contract.Both, "disabledTools: "+t.Text, t.Pos)
	}
	for _, name := range []string{a.Arg, "*"} {
		if t := s.alwaysAllow[name]; t != nil {
			return verdict(ir.Allow, contract.Both, "alwaysAllow: "+t.Text, t.Pos)
		}
	}
	return verdict(ir.Ask, contract.Both, "alwaysAllow", s.at)
}

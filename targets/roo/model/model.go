// Package model decides as Roo Code 3.52.1 does, as a Roo with the restriction plan, or
// as Zoo Code 3.82.0, from the files that these read. It is written after their code (the
// file that a rule is taken from stands beside it) and knows nothing of what emits the
// artifacts.
//
// [Open] reads the files of a project and returns the decider. What the agent does past its
// own artifacts is a hole of the verdict.
//
// A mode's groups give it tools (src/shared/tools.ts): read read_file, search_files,
// list_files and codebase_search; edit write_to_file, apply_diff, apply_patch, edit,
// search_replace, edit_file and generate_image; command execute_command; web, in Zoo,
// fetch_web_content; mcp the tools and resources of the servers. switch_mode and new_task
// are in every mode.
package model

import (
	"io/fs"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

const codeArtifact diag.Code = "roo-artifact"

// decider decides as an agent does. What it is read from once does not change.
type decider struct {
	dialect format.Dialect
	modes   map[string]*mode
	servers map[string]format.Server
	mcpAt   diag.Pos // of mcp.json, or of what in it keeps it from loading
	mcpLack *contract.Lack
	ignore  *ignoreFile
}

// Open reads the modes, the ignore file and the project's MCP servers. Zoo takes its own
// file where it is there and else Roo's, never both (Zoo-Code 3.82.0,
// src/services/roo-config). A file of which the agent loads nothing is a warning.
func Open(fsys fs.FS, dialect format.Dialect) (contract.Decider, diag.List) {
	d := &decider{dialect: dialect}
	at := dialect.Layout()
	var diags, more diag.List
	d.modes, diags = openModes(fsys, dialect)
	more = d.openServers(fsys)
	d.ignore = openIgnore(fsys, at.Ignore...)
	return d, append(diags, more...)
}

// Surface is empty: Roo decides in one place.
func (d *decider) Surface() string { return "" }

// Assumes lists what Roo takes from the user and not from the project.
func (d *decider) Assumes() []string {
	a := []string{
		"the user's auto-approve settings say what is asked about; alwaysAllow counts only where the user " +
			"auto-approves MCP",
		"the user's own mcp_settings.json names no server as the project does, and custom_modes.yaml no mode " +
			"that the project leaves to the agent",
		"the experiment for custom tools is off",
		"reading outside the workspace is the user's own decision: Roo asks about it, and no artifact says more",
		"the code index was made with the ignore file in place: codebase_search does not ask it again",
		"the workspace has one folder, its root is the project's, and paths are POSIX paths",
		"no symbolic link leads from a path that a fileRegex takes to one that it does not",
	}
	if d.dialect == format.Restrictions {
		a = append(a, "the agent knows mcpRestrictions and defaultEnabled; Roo Code 3.52.1 ignores both")
	}
	return a
}

// Decide answers for a mode; a session of Roo has no role.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	m := d.modes[ref.Mode]
	if m == nil || ref.Role != "" {
		return contract.Verdict{}
	}
	switch a.Group {
	case ir.Read:
		return d.read(m, a.Arg)
	case ir.Edit:
		return d.edit(m, a.Arg)
	case ir.Command:
		return d.command(m, a.Arg)
	case ir.Web:
		return d.web(m)
	case ir.MCP:
		return d.mcp(m, a)
	case ir.Modes:
		return verdict(ir.Ask, contract.Neither, "switch_mode and new_task are in every mode", m.at)
	case ir.Unknown:
		v := verdict(ir.Deny, contract.Neither, "a tool that Roo does not know is refused", m.at)
		v.Hole = &contract.Hole{Decision: ir.Allow,
			Why: "with the experiment for custom tools a tool of the user's runs in every mode, unasked"}
		return v
	}
	return contract.Verdict{}
}

func verdict(d ir.Decision, governs contract.Halves, rule string, at diag.Pos) contract.Verdict {
	return contract.Verdict{Answer: contract.Answer{Decision: d, Governs: governs, Rule: rule, At: at}}
}

// without returns the verdict where a mode does not have a group. A mode with a terminal
// reaches by it what the group would have given.
func (m *mode) without(group, byCommand string) contract.Verdict {
	v := verdict(ir.Deny, contract.Access, "no group "+group, m.at)
	v.Hole = m.terminal(byCommand)
	return v
}

func (m *mode) terminal(does string) *contract.Hole {
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
var outsideStart = lazy.Regexp(`^(?:[/~]|[A-Za-z]:)`)

// leaves reports whether a path leads out of the workspace. Roo resolves ~ as a
// folder; whoever means the home folder writes it as an absolute path.
func leaves(path string) bool {
	path = strings.ReplaceAll(path, `\`, "/")
	_, inside := resolvedPath(path)
	return !inside || outsideStart().MatchString(path)
}

// read decides by the group, and inside the workspace by the ignore file
// (src/core/tools/ReadFileTool.ts).
func (d *decider) read(m *mode, path string) contract.Verdict {
	g, ok := m.groups["read"]
	if !ok {
		return m.without("read", readsAny)
	}
	if strings.Contains(path, "\x00") {
		return verdict(ir.Deny, contract.Neither, "Node opens no path with a NUL", m.at)
	}
	if leaves(path) {
		v := verdict(ir.Ask, contract.Neither, g.text, g.at)
		v.Hole = &contract.Hole{Decision: ir.Ask,
			Why: "read_file opens files outside the workspace, where the ignore file says nothing"}
		return v
	}
	if r := d.ignore.refuses(path); r != nil {
		v := verdict(ir.Deny, contract.Access, r.text, d.ignore.pos(r))
		v.Hole = m.terminal(readsAny)
		return v
	}
	if r := d.ignore.refuses(policy.Fold(path)); r != nil {
		return inOtherLetters(r.text, d.ignore.pos(r))
	}
	if r := d.ignore.names(path); r != nil {
		return withBackslash(r.text, d.ignore.pos(r))
	}
	return verdict(ir.Ask, contract.Access, g.text, g.at)
}

// withBackslash is the verdict about a path in which a rule of the ignore file would match a name that has a backslash.
func withBackslash(rule string, at diag.Pos) contract.Verdict {
	return withHole(rule, at, "the ignore file is about paths in which each backslash is a slash: a file that has one "+
		"in its name is another one there")
}

// inOtherLetters is the verdict about a path that differs from a refused one only in letters
// that some file systems take for the same.
func inOtherLetters(rule string, at diag.Pos) contract.Verdict {
	return withHole(rule, at, "letters are compared as they are: where the file system ignores their case or form, "+
		"another spelling opens what is refused")
}

// withHole is the verdict about a path that a rule refuses but for a hole.
func withHole(rule string, at diag.Pos, why string) contract.Verdict {
	v := verdict(ir.Deny, contract.Access, rule, at)
	v.Hole = &contract.Hole{Decision: ir.Ask, Why: why}
	return v
}

// edit decides by the group, by its fileRegex on the path as it is written
// (src/core/tools/validateToolUse.ts), and by the ignore file on the path as it
// resolves (each tool's own validateAccess).
// ignoredOutside reports whether a path leaves the workspace, and the ignore file would refuse it inside.
func (d *decider) ignoredOutside(path string) bool {
	if !leaves(path) {
		return false
	}
	names := strings.Split(outsideStart().ReplaceAllString(strings.ReplaceAll(path, `\`, "/"), ""), "/")
	for i, name := range names {
		if name != ".." && name != "" && d.ignore.refuses(policy.Fold(strings.Join(names[i:], "/"))) != nil {
			return true
		}
	}
	return false
}

func (d *decider) edit(m *mode, path string) contract.Verdict {
	g, ok := m.groups["edit"]
	if !ok {
		return m.without("edit", writesAny)
	}
	if strings.Contains(path, "\x00") {
		return verdict(ir.Deny, contract.Neither, "Node opens no path with a NUL", m.at)
	}
	if r := d.ignore.refuses(path); r != nil {
		v := verdict(ir.Deny, contract.Access, r.text, d.ignore.pos(r))
		if v.Hole = m.terminal(writesAny); v.Hole == nil && d.picture(path) {
			v.Hole = &contract.Hole{Decision: ir.Ask,
				Why: "generate_image tests the path on the ignore file before it adds .png or .jpg"}
		}
		return v
	}
	if g.regex != nil && !g.regex.prepared().test(path) {
		v := verdict(ir.Deny, contract.Access, g.text, g.at)
		v.Hole = &contract.Hole{Decision: ir.Ask,
			Why: "fileRegex is not tested where write_to_file has no content, on the target of a move in " +
				"apply_patch, and on the picture of generate_image"}
		return v
	}
	if g.regex == nil && d.ignoredOutside(path) {
		v := verdict(ir.Ask, contract.Neither, g.text, g.at)
		v.Hole = &contract.Hole{Decision: ir.Ask, Why: "the ignore file says nothing of files outside the workspace"}
		return v
	}
	if r := d.ignore.refuses(policy.Fold(path)); r != nil {
		return inOtherLetters(r.text, d.ignore.pos(r))
	}
	if r := d.ignore.names(path); r != nil {
		return withBackslash(r.text, d.ignore.pos(r))
	}
	return verdict(ir.Ask, contract.Access, g.text, g.at)
}

// picture reports whether generate_image writes an ignored path that it was
// given without its extension (src/core/tools/GenerateImageTool.ts).
func (d *decider) picture(path string) bool {
	for _, extension := range []string{".png", ".jpg"} {
		if name, ok := strings.CutSuffix(path, extension); ok && name != "" && d.ignore.refuses(name) == nil {
			return true
		}
	}
	return false
}

// web decides by the group in Zoo. Roo has no tool for it since the browser went.
func (d *decider) web(m *mode) contract.Verdict {
	if d.dialect != format.Zoo {
		return verdict(ir.Deny, contract.Neither, "Roo has no tool that fetches", m.at)
	}
	g, ok := m.groups["web"]
	if !ok {
		return m.without("web", "may fetch from any host")
	}
	return verdict(ir.Ask, contract.Access, g.text, g.at)
}

// mcp decides by the group, by what limits servers for a mode, and by mcp.json for all modes.
func (d *decider) mcp(m *mode, a policy.Action) contract.Verdict {
	if a.Kind == policy.Prompt {
		return verdict(ir.Deny, contract.Neither, "Roo does not offer the prompts of a server", m.at)
	}
	s, known := d.servers[a.Server]
	// A disabled server also shadows one of the user's with its name: callTool
	// and readResource take the project's first (McpHub.findConnection).
	if s.Disabled != nil {
		return verdict(ir.Deny, contract.Both, "disabled: true", s.Disabled.Pos)
	}
	byAll := d.server(s, a)
	if !known {
		byAll = verdict(ir.Ask, contract.Access, "no such server; the user may have one", d.mcpAt)
		byAll.Lack = d.mcpLack
	}
	if _, ok := m.groups["mcp"]; !ok {
		v := verdict(ir.Deny, contract.Access, "no group mcp", m.at)
		if d.dialect == format.Stock && a.Kind == policy.Tool && byAll.Decision > ir.Deny {
			// presentAssistantMessage hands mcp_tool_use over without
			// validateToolUse; the plan and Zoo check in the tool itself, and a
			// resource is read by an ordinary tool, which is checked.
			v.Hole = &contract.Hole{Decision: byAll.Decision,
				Why: "without the group Roo hides the tools of servers from the model and runs one that is called " +
					"nevertheless"}
		}
		return v
	}
	if h, hidden := d.limited(m, s, a); hidden {
		return verdict(ir.Deny, contract.Access, h.rule, h.at)
	}
	return byAll
}

// hider is the rule that keeps a server or a tool from one mode.
type hider struct {
	rule string
	at   diag.Pos
}

// limited returns what keeps a server or a tool from one mode.
func (d *decider) limited(m *mode, s format.Server, a policy.Action) (hider, bool) {
	switch {
	case d.dialect == format.Zoo && m.servers != nil:
		// mcpServerRestriction.ts: names as they are, no pattern.
		for _, item := range m.servers.List() {
			if name, _ := format.Text(item); name == a.Server {
				return hider{}, false
			}
		}
		return hider{"allowedMcpServers", m.servers.Pos}, true
	case d.dialect == format.Restrictions:
		if h, hidden := m.restrictions.server(a.Server, s.OffByDefault); hidden || a.Kind != policy.Tool {
			return h, hidden
		}
		return m.restrictions.tool(a.Server, a.Arg)
	}
	return hider{}, false
}

// server decides by what mcp.json says for every mode: a tool runs unasked by
// alwaysAllow; nothing there speaks of resources.
func (d *decider) server(s format.Server, a policy.Action) contract.Verdict {
	if a.Kind != policy.Tool {
		v := verdict(ir.Ask, contract.Access, "resources", s.At)
		v.Hole = &contract.Hole{Decision: ir.Allow,
			Why: "where the user auto-approves MCP, access_mcp_resource reads the resources of every server unasked: " +
				"alwaysAllow is about tools"}
		return v
	}
	if t := s.DisabledTools[a.Arg]; t != nil {
		return verdict(ir.Deny, contract.Both, "disabledTools: "+t.Text, t.Pos)
	}
	for _, name := range []string{a.Arg, "*"} {
		if t := s.AlwaysAllow[name]; t != nil {
			return verdict(ir.Allow, contract.Both, "alwaysAllow: "+t.Text, t.Pos)
		}
	}
	if s.On != nil {
		return verdict(ir.Ask, contract.Both, "disabled: "+s.On.Text, s.On.Pos)
	}
	return verdict(ir.Ask, contract.Both, "alwaysAllow", s.At)
}

// firstFile returns the first of some files that is there, and the first name where none is.
func firstFile(fsys fs.FS, names []string) (name string, data []byte, err error) {
	for _, name := range names {
		if data, err = fs.ReadFile(fsys, name); err == nil {
			return name, data, nil
		}
	}
	return names[0], nil, err
}

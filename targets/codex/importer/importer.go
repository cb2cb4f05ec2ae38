// Package importer turns Codex's files into a source: the MCP servers of a project, and its agents.
//
// [Import] reads .codex/config.toml and .codex/agents/*.toml, below the root and, where it is given, the home folder.
// A server becomes one of the inventory, an agent a mode. The other settings stay where they are, and in force in the
// sessions that read them: when Codex asks and what its sandbox stops is said for a whole session and of no list, and
// the sessions that modec starts do not read them.
package importer

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/codex/format"
)

const codeImport diag.Code = "codex-import"

// Codes documents the codes that Import reports.
func Codes() []diag.Doc {
	return []diag.Doc{{Code: codeImport, Text: "Codex itself does not take a file to import: it starts with no such " +
		"configuration. Mend the file first."}}
}

// importer collects what Codex's files say.
type importer struct {
	src     contract.Source
	out     contract.Imported
	diags   diag.List
	servers map[string]*ir.Server
	modes   map[string]ir.Mode
	config  bool // a configuration was read
}

// Import reads a configuration and agents.
func Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		return contract.Imported{}, nil
	}
	im := &importer{src: src, servers: map[string]*ir.Server{}, modes: map[string]ir.Mode{},
		out: contract.Imported{Comments: map[diag.Pos]string{}}}
	for _, in := range im.inputs() {
		data, ok := im.out.Read(in.fsys, in.name, in.at, codeImport, &im.diags)
		switch {
		case !ok:
		case in.agent:
			im.agent(in, data)
		default:
			im.settings(in, data)
		}
	}
	if im.out.Empty() {
		return contract.Imported{}, im.diags
	}
	p := contract.ProjectOf(im.servers, im.modes)
	im.out.Project = p
	im.diags.Sort()
	return im.out, im.diags
}

// input is a file to read if it is there.
type input struct {
	fsys  fs.FS
	name  string
	at    string // its name in places
	agent bool
}

// inputs are the files to read: those of the project first, which win.
func (im *importer) inputs() (out []input) {
	const anAgent = true
	if im.src.Files == nil {
		add := func(fsys fs.FS, prefix string) {
			out = append(out, input{fsys: fsys, name: format.ConfigFile, at: prefix + format.ConfigFile})
			files, _ := fs.Glob(fsys, format.AgentsDir+"/*.toml")
			for _, f := range files {
				out = append(out, input{fsys, f, prefix + f, anAgent})
			}
		}
		add(im.src.Root, "")
		if im.src.Home != nil {
			add(im.src.Home, "~/")
		}
		return out
	}
	for _, name := range im.src.Files {
		name = path.Clean(name)
		in := input{fsys: im.src.Root, name: name, at: name}
		switch whole := "/" + name; {
		case strings.HasSuffix(whole, "/"+format.ConfigFile):
		case path.Ext(name) == ".toml" && strings.HasSuffix(path.Dir(whole), "/"+format.AgentsDir):
			in.agent = anAgent
		case im.src.Format == "":
			continue
		case path.Ext(name) != ".toml":
			im.diags.Errorf(codeImport, diag.Pos{File: name}, "got a file of no name that Codex knows, want "+
				"config.toml or an agent (.toml)")
			continue
		}
		out = append(out, in)
	}
	return out
}

// settings reads a configuration.
func (im *importer) settings(in input, data []byte) {
	c, err := format.ReadConfig(in.at, data)
	if err != nil {
		im.out.Refuse(in.at)
		im.diags.Errorf(codeImport, located.PlaceOf(in.at, err), "Codex does not start with this file: %s",
			strings.TrimPrefix(located.Reason(err), in.at+": "))
		return
	}
	if im.config {
		im.out.Note(contract.Left, c.Root.Pos, "", in.at,
			"the configuration of the project stands above this one: import this one by itself")
		return
	}
	im.config = true
	for i := range c.Servers {
		im.server(&c.Servers[i])
	}
	for _, m := range c.Root.Fields() {
		if m.Key != "mcp_servers" {
			why := stays[m.Key]
			if why == "" {
				why = "no permission of a role"
			}
			im.out.Note(contract.Left, m.Pos, "", m.Key, why)
		}
	}
}

// stays are the settings of which no role has a word, and why each stays where it is.
var stays = map[string]string{
	"approval_policy":         whole,
	"approvals_reviewer":      "a model answers questions in a person's place: it stays in force",
	"default_permissions":     whole,
	"permissions":             whole,
	"sandbox_mode":            whole,
	"sandbox_workspace_write": whole,
	"web_search":              whole,
	"features":                whole,
	"agents":                  whole,
	"hooks":                   "programs decide, which the source cannot say: they stay in force",
	"apps":                    "tools of connected services, which no list of servers has: they stay in force",
	"developer_instructions":  "instructions for every session, which no mode owns; no permissions",
}

const whole = "it holds for every session in a folder that is trusted, and stays in force there; `modec run` starts " +
	"sessions that do not read it"

// startKeys are what the source says of a server.
var startKeys = []string{"command", "args", "cwd", "env", "env_vars", "url", "bearer_token_env_var", "http_headers",
	"env_http_headers", "tool_timeout_sec"}

// server reads an entry of mcp_servers.
func (im *importer) server(from *format.Server) {
	of := "server " + from.Name
	if !contract.ServerName(from.Name) {
		im.out.NoteRule(contract.Refused, from.At, of, from.Name, "the source cannot have a server of this name")
		return
	}
	s := contract.FoundServer(from.Name, from.At)
	if why := start(from.Entry, s); why != "" {
		s = contract.NamedServer(from.Name, from.At)
		im.out.NoteRule(contract.Refused, from.At, of, from.Name, why)
	}
	for _, tool := range slices.Concat(from.Enabled, from.Disabled, slices.Sorted(maps.Keys(from.Tools))) {
		if contract.ToolName(tool) {
			s.AddTool(ir.Tool{Name: tool, Pos: from.At})
		}
	}
	for _, x := range from.Entry.Fields() {
		switch x.Key {
		case "enabled_tools", "disabled_tools", "default_tools_approval_mode", "tools", "enabled":
			im.out.Note(contract.Left, x.Pos, of, x.Key,
				"it limits the server for every session: it stays in the entry, and in force")
		default:
			if !slices.Contains(startKeys, x.Key) {
				im.out.Note(contract.Left, x.Pos, of, x.Key, "the source has no word for it: it stays in the entry")
			}
		}
	}
	im.servers[from.Name] = s
}

// start reads how a server is started or reached, or returns why the source cannot say it.
func start(v *located.Value, s *ir.Server) (why string) {
	text := func(key string) string { t, _ := v.Get(key).Str(); return t }
	same := func(text string, _ diag.Pos) string { return text }
	if t := v.Get("tool_timeout_sec"); t != nil {
		n, err := strconv.Atoi(t.Text)
		if err != nil || n <= 0 {
			return contract.NoWholeSeconds
		}
		s.TimeoutSeconds = n
	}
	for _, m := range v.Fields() { // Codex replaces nothing, and the source would
		if refers(m.Value) {
			return "it has a text that the source would take for a reference to a variable"
		}
	}
	switch {
	case text("command") != "":
		s.Type, s.Command, s.Args, s.Cwd = "stdio", text("command"), contract.TextList(v.Get("args"), same), text("cwd")
		s.Env = contract.TextFields(v.Get("env"), same)
		for _, item := range v.Get("env_vars").List() {
			name, ok := item.Str()
			if !ok {
				return "it takes a variable from elsewhere than Codex's own"
			}
			if s.Env == nil {
				s.Env = map[string]string{}
			}
			s.Env[name] = "${" + name + "}"
		}
	case contract.ServerURL(text("url")):
		s.Type, s.URL, s.Headers = "http", text("url"), contract.TextFields(v.Get("http_headers"), same)
		if s.Headers == nil {
			s.Headers = map[string]string{}
		}
		for key, name := range contract.TextFields(v.Get("env_http_headers"), same) {
			s.Headers[key] = "${" + name + "}"
		}
		if token := text("bearer_token_env_var"); token != "" {
			s.Headers["Authorization"] = "Bearer ${" + token + "}"
		}
		if len(s.Headers) == 0 {
			s.Headers = nil
		}
	default:
		return contract.NoStart
	}
	return ""
}

// refers reports whether the source would take a text somewhere in a value for one with a variable.
func refers(v *located.Value) bool {
	if text, ok := v.Str(); ok && format.Refers(text) {
		return true
	}
	return slices.ContainsFunc(v.List(), refers) ||
		slices.ContainsFunc(v.Fields(), func(m located.Member) bool { return refers(m.Value) })
}

// mixed reports whether a list somewhere in a value has something else than texts.
func mixed(v *located.Value) bool {
	notText := func(item *located.Value) bool { return !item.Is(located.String) }
	return slices.ContainsFunc(v.List(), notText) ||
		slices.ContainsFunc(v.Fields(), func(m located.Member) bool { return mixed(m.Value) })
}

// called returns the place of the mode that was read with a slug, whatever its case.
func (im *importer) called(slug string) (diag.Pos, bool) {
	for other, m := range im.modes {
		if strings.EqualFold(other, slug) {
			return m.Pos, true
		}
	}
	return diag.Pos{}, false
}

// unknown reports whether a key of an agent is one that no source has, and that Codex may read.
func unknown(m located.Member) bool {
	return !slices.Contains(read, m.Key) && !slices.Contains(format.OfSession, m.Key) &&
		!contract.TakesSetting("codex", "other."+m.Key)
}

// read are the keys of an agent for which a source has words of its own.
var read = []string{"name", "description", "developer_instructions", "features", "mcp_servers", "model",
	"model_reasoning_effort"}

// agent makes a mode of an agent.
func (im *importer) agent(in input, data []byte) {
	at := diag.Pos{File: in.at, Line: 1, Col: 1}
	a, err := format.ReadAgent(in.at, data)
	if err != nil {
		im.out.Note(contract.Refused, at, "", in.at, "Codex does not have this agent: "+
			strings.ReplaceAll(err.Error(), "\n", ", "))
		return
	}
	left := func(why string) { im.out.Note(contract.Left, at, "", in.at, why+": it stays where it is") }
	features := a.Root.Get("features")
	slug, file := contract.Slug(a.Name), path.Base(in.name)
	unknown := slices.IndexFunc(a.Root.Fields(), unknown)
	switch other, twice := im.called(slug); {
	case slug == "":
		left(contract.NoSlug)
		return
	case file != path.Base(format.AgentFile(a.Name)) && !format.IsAgentFile(file):
		left("the name of its file has other characters than letters, digits, dots, dashes and underscores")
		return
	case strings.TrimSpace(a.Prompt) == "":
		left("it is told nothing")
		return
	case twice:
		left("the agent at " + other.String() + " has this name")
		return
	case features != nil && (len(features.Fields()) != 1 || a.Features["shell_tool"] ||
		features.Get("shell_tool") == nil):
		left("the source has no word for features but the shell")
		return
	case unknown >= 0 && !im.src.Ours:
		key := a.Root.Fields()[unknown].Key
		why, _ := contract.RefusedSetting("codex", key, false)
		left(key + ": " + why)
		return
	case slices.ContainsFunc(a.Root.Fields(), func(m located.Member) bool { return mixed(m.Value) }):
		left("the source takes lists of texts alone")
		return
	case a.Root.Get("mcp_servers") != nil:
		left("an agent has the servers of its session")
		return
	}
	m := ir.Mode{Slug: slug, Pos: at, Name: a.Name, WhenToUse: a.Description,
		RoleDefinition: strings.TrimSpace(a.Prompt)}
	of := "mode " + m.Slug
	m.Can.Default = &ir.Default{Decision: ir.Agent, Pos: at}
	if features != nil {
		m.Can.Command = &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All},
			Pos: features.Pos}}}
		im.out.NoteRule(contract.Understood, features.Pos, of, "features.shell_tool", "it runs no command")
	}
	own := map[string]any{}
	if slug != a.Name {
		own["name"] = a.Name
		im.out.Note(contract.Kept, a.Root.Get("name").Line(), of, "name "+a.Name,
			"a slug has letters, digits and dashes: it is "+slug+", and keeps its name in Codex")
	}
	if file != path.Base(format.AgentFile(a.Name)) {
		own["file"] = file
	}
	im.ofAgent(a, own, of)
	if len(own) > 0 {
		m.Extra = map[string]ir.Extra{"codex": {Fields: own, Pos: at}}
	}
	im.out.NoteRule(contract.Understood, at, of, m.Slug+" as an agent", "it has what its session has")
	im.modes[m.Slug] = m
}

// ofAgent keeps what an agent says for Codex alone.
func (im *importer) ofAgent(a *format.Agent, own map[string]any, of string) {
	other := map[string]any{}
	for _, f := range a.Root.Fields() {
		switch text, isText := f.Value.Str(); {
		case slices.Contains([]string{"name", "description", "developer_instructions", "features"}, f.Key):
		case f.Key == "model" && isText:
			own["model"] = text
		case f.Key == "model_reasoning_effort" && isText:
			own["reasoningEffort"] = text
		case slices.Contains(format.OfSession, f.Key):
			im.out.Note(contract.Left, f.Pos, of, f.Key,
				"Codex has an agent work in the sandbox and by the policy of its session: it stays in the file")
		default:
			other[f.Key] = f.Value.Any()
			im.out.Note(contract.Kept, f.Pos, of, f.Key, "a setting for Codex alone")
		}
	}
	if len(other) > 0 {
		own["other"] = other
	}
}

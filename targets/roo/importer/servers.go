package importer

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/roo/format"
)

// sharedServers is the policy of what mcp.json says for every mode.
const sharedServers = "policy mcp_json"

// importedServer is a server and what mcp.json says of it for every mode.
type importedServer struct {
	server   ir.Server
	rules    []ir.Rule // alwaysAllow and disabledTools
	disabled bool      // for every mode, whatever a mode says
}

// tool makes sure that the inventory has a tool that somebody names. A pattern, and a name
// that the source does not take, are nobody's.
func (s *importedServer) tool(name string, at diag.Pos) {
	if contract.ToolName(name) {
		s.server.AddTool(ir.Tool{Name: name, Pos: at})
	}
}

// server returns a server that a mode names, one of the user's own settings
// where no file of the project has it; nil for a name that the source does not
// take. A pattern is nobody's name.
func (im *importer) server(name string, at diag.Pos, subject string) *importedServer {
	if s := im.servers[name]; s != nil {
		return s
	}
	if strings.ContainsAny(name, "*?") {
		return &importedServer{}
	}
	if !contract.ServerName(name) {
		im.out.NoteRule(contract.Refused, at, subject, name, "the source does not take this name of a server")
		return nil
	}
	s := &importedServer{server: ir.Server{Name: name, Pos: at, Type: ir.External, DefaultEnabled: true,
		Tools: []ir.Tool{}}}
	im.servers[name] = s
	return s
}

// serversFile reads mcp.json.
func (im *importer) serversFile(file string, data []byte) {
	if _, err := format.ReadServers(file, data, im.dialect); err == nil {
		im.originals[file] = data
	} else if data = im.mendJSON(file, data); data == nil {
		im.refuse(file, err)
		return
	}
	im.kinds[file] = serversKind
	root, err := located.JSON(file, data)
	if err != nil {
		im.refuse(file, err)
		return
	}
	all := root.Get("mcpServers")
	for _, m := range root.Members {
		if m.Key != "mcpServers" {
			im.out.Note(contract.Left, m.Pos, "", m.Key, "the agent drops this key")
		}
	}
	for _, m := range all.Members {
		if all.Get(m.Key) != m.Value {
			im.out.Note(contract.Left, m.Pos, "server "+m.Key, m.Key, "a later entry of that name holds")
			continue
		}
		im.mcpServer(m)
	}
}

func (im *importer) mcpServer(m located.Member) {
	subject, v := "server "+m.Key, m.Value
	old := im.servers[m.Key]
	if old != nil && old.server.Type != ir.External {
		im.out.Note(contract.Refused, m.Pos, subject, m.Key,
			"the project's server at "+old.server.Pos.String()+" shadows it")
		return
	}
	if !contract.ServerName(m.Key) {
		im.out.NoteRule(contract.Refused, m.Pos, subject, m.Key, "the source does not take this name of a server")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(im.servers)) {
		if name != m.Key && strings.EqualFold(toolPrefix(name), toolPrefix(m.Key)) {
			im.out.NoteRule(contract.Refused, m.Pos, subject, m.Key,
				"its tools have the names of those of the server at "+im.servers[name].server.Pos.String()+
					": give it another name")
			return
		}
	}
	s := &importedServer{server: im.transport(m)}
	s.disabled = !s.server.DefaultEnabled
	if v.Comment != "" {
		im.out.Comments[m.Pos] = v.Comment
	}
	im.enabled(s, v)
	for _, item := range v.Get("disabledTools").List() {
		im.toolRule(s, "disabledTools", ir.Deny, item)
	}
	for _, item := range v.Get("alwaysAllow").List() {
		im.toolRule(s, "alwaysAllow", ir.Allow, item)
	}
	for _, x := range v.Members {
		switch x.Key {
		case "type", "command", "args", "cwd", "env", "url", "headers", "timeout", "disabled", "defaultEnabled",
			"alwaysAllow", "disabledTools":
		case "watchPaths":
			im.out.Note(contract.Left, x.Pos, subject, x.Key, "the source has no word for it")
		default:
			im.out.Note(contract.Left, x.Pos, subject, x.Key, "the agent drops this key")
		}
	}
	if old != nil {
		for _, t := range old.server.Tools {
			s.tool(t.Name, t.Pos)
		}
	}
	im.servers[m.Key] = s
}

// toolPrefix returns the name of a server as it stands in those of its tools.
func toolPrefix(name string) string { return format.Same(format.Sanitize(name)) }

// transport translates how a server is started or reached.
func (im *importer) transport(m located.Member) ir.Server {
	v, subject := m.Value, "server "+m.Key
	text := func(key string) string {
		s, _ := v.Get(key).Str()
		return im.reference(s, v.Get(key).Line(), subject)
	}
	texts := func(key string) map[string]string {
		var out map[string]string
		for _, x := range v.Get(key).Fields() {
			if out == nil {
				out = map[string]string{}
			}
			out[x.Key] = im.reference(x.Value.Text, x.Pos, subject)
		}
		return out
	}
	s := ir.Server{Name: m.Key, Pos: m.Pos, Command: text("command"), Cwd: text("cwd"), Env: texts("env"),
		URL: text("url"), Headers: texts("headers"), DefaultEnabled: !v.Get("disabled").True(), Tools: []ir.Tool{}}
	for _, a := range v.Get("args").List() {
		s.Args = append(s.Args, im.reference(a.Text, a.Pos, subject))
	}
	kind, _ := v.Get("type").Str()
	switch {
	case s.Command != "":
		s.Type = "stdio"
	case kind == "streamable-http":
		s.Type = "http"
	default:
		s.Type = "sse"
	}
	if s.URL != "" && !contract.ServerURL(s.URL) {
		im.out.Note(contract.Refused, v.Get("url").Line(), subject, "url "+s.URL,
			"want an address of http or https: the server is known by its name alone")
		s = ir.Server{Name: m.Key, Pos: m.Pos, Type: ir.External, DefaultEnabled: s.DefaultEnabled, Tools: []ir.Tool{}}
	}
	if t := v.Get("timeout"); t != nil {
		seconds, _ := strconv.ParseFloat(t.Text, 64)
		s.TimeoutSeconds = int(seconds)
	}
	return s
}

// otherRefs are what the agent replaces beside references to variables.
var otherRefs = lazy.Regexp(`\$\{[^}]*[:.][^}]*\}|\$\{workspaceFolder[^}]*\}`)

// reference writes the references of a text as the source does.
func (im *importer) reference(s string, at diag.Pos, subject string) string {
	s = contract.SourceRefs(s)
	if x := otherRefs().FindString(s); x != "" {
		im.out.Note(contract.Kept, at, subject, x, "the source takes it for text: other agents do not replace it")
	}
	return s
}

// enabled notes what a file says of whether a server is on.
func (im *importer) enabled(s *importedServer, v *located.Value) {
	subject := "server " + s.server.Name
	if v.Get("disabled").True() {
		im.out.NoteRule(contract.Understood, v.Get("disabled").Pos, subject, "disabled",
			"off by default, and no mode opens it")
	}
	on := v.Get("defaultEnabled")
	switch {
	case on == nil:
	case on.Is(located.Bool) && !on.True():
		s.server.DefaultEnabled = false
		im.out.NoteRule(contract.Understood, on.Pos, subject, "defaultEnabled: false",
			"Roo Code 3.52.1 drops this key; it only holds back")
	default:
		im.out.Note(contract.Left, on.Pos, subject, "defaultEnabled", "it is on by default")
	}
}

// toolRule translates an entry of alwaysAllow or disabledTools. "*" stands for
// every tool in alwaysAllow only.
func (im *importer) toolRule(s *importedServer, key string, d ir.Decision, item *located.Value) {
	subject, name := "server "+s.server.Name, item.Text
	p := ir.Pattern{Text: name}
	every := name == "*" && d == ir.Allow
	switch {
	case every:
		im.out.NoteRule(contract.Understood, item.Pos, subject, key+" "+name, "")
	case contract.ToolName(name):
		im.out.NoteRule(contract.Understood, item.Pos, subject, key+" "+name, "")
		s.tool(name, item.Pos)
	case d == ir.Allow:
		im.out.NoteRule(contract.Refused, item.Pos, subject, key+" "+name,
			"the source does not take this name of a tool: it is asked about")
		return
	default:
		im.out.NoteRule(contract.Refused, item.Pos, subject, key+" "+name,
			"the source does not take this name of a tool: the whole server is denied")
		p = ir.Pattern{Kind: ir.All}
	}
	s.rules = append(s.rules, ir.Rule{Decision: d, Pattern: p, Pos: item.Pos})
	if item.Comment != "" {
		im.out.Comments[item.Pos] = item.Comment
	}
}

// shared adds to a mode what holds for all modes.
func (im *importer) shared(m *ir.Mode) {
	im.sharedServers(m)
	if len(im.ignores) == 0 {
		return
	}
	for _, t := range []**ir.Table{&m.Can.Read, &m.Can.Edit} {
		if *t == nil {
			*t = &ir.Table{}
		}
		(*t).Rules = append((*t).Rules, im.ignores...)
	}
	// The agent holds the ignore file against the commands that read as well.
	if t := m.Can.Command; t != nil && t.Default != nil && t.Default.Decision > ir.Deny {
		for _, r := range im.ignores {
			if strings.Trim(r.Pattern.Text, "*/") == "" { // what reads no file at all is not worth the rest
				t.Rules = append(t.Rules, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: r.Pos,
					From: sharedIgnore})
			}
			if t.Default.Decision != ir.Allow {
				continue
			}
			for _, p := range contract.CommandsOn(r.Pattern.Text) {
				t.Rules = append(t.Rules, ir.Rule{Decision: ir.Ask, Pattern: ir.Pattern{Text: p}, Pos: r.Pos,
					From: sharedIgnore})
			}
		}
	}
}

// sharedServers adds to a mode what mcp.json says. What a server's file does not
// approve is asked about, whatever the user's settings are.
func (im *importer) sharedServers(m *ir.Mode) {
	t := m.Can.MCP
	if t == nil {
		return
	}
	// A mode that lists its servers opens no other by an entry of the shared
	// policy: it has its own, and none for a server that is off.
	listed := len(t.Entries) > 0 || t.Default.Decision == ir.Deny
	t.Entries = slices.DeleteFunc(t.Entries, func(e ir.MCPEntry) bool { return im.servers[e.Key].disabled })
	for _, name := range slices.Sorted(maps.Keys(im.servers)) {
		s := im.servers[name]
		own := slices.IndexFunc(t.Entries, func(x ir.MCPEntry) bool { return x.Key == name && x.From == "" })
		switch {
		case listed && own < 0:
		case listed:
			t.Entries[own].Rules = slices.Clone(s.rules)
			if s.server.Type != ir.External {
				t.Entries[own].Default.Decision = ir.Ask
			}
		case s.disabled && m.Restrictions != nil: // else it could open the server
			t.Entries = append(t.Entries, ir.MCPEntry{
				Key:     name,
				Literal: true,
				Pos:     s.server.Pos,
				Rules:   []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: s.server.Pos}},
			})
		case len(s.rules) > 0 || t.Default.Decision == ir.Allow && s.server.Type != ir.External:
			if e, ok := s.entry(); ok {
				t.Entries = append(t.Entries, e)
			}
		}
	}
}

// entry is what the file of a server says of it, as a part of the shared policy.
// One that is off by default gets denies only: whatever else is said opens it.
func (s *importedServer) entry() (ir.MCPEntry, bool) {
	e := ir.MCPEntry{Key: s.server.Name, Literal: true, Pos: s.server.Pos, From: sharedServers,
		Rules: slices.Clone(s.rules)}
	if s.server.DefaultEnabled {
		e.Default = &ir.Default{Decision: ir.Ask, Pos: s.server.Pos, From: sharedServers}
	} else {
		e.Rules = slices.DeleteFunc(e.Rules, func(r ir.Rule) bool { return r.Decision > ir.Deny })
	}
	for i := range e.Rules {
		e.Rules[i].From = sharedServers
	}
	return e, e.Default != nil || len(e.Rules) > 0
}

package importer

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// inventory answers from what the import knows, and adds what rules name.
type inventory struct {
	*importer
	at diag.Pos // of the rule
}

func (i inventory) Servers() []ir.Server {
	var out []ir.Server
	for _, s := range i.servers {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b ir.Server) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Mode reports false: subagents are read after the settings.
func (i inventory) Mode(string) bool { return false }

func (i inventory) UnknownServer(string, []string) bool { return false }

func (i inventory) Tool(server, tool string) { i.tool(i.servers[server], tool, i.at) }

func (im *importer) tool(s *ir.Server, name string, at diag.Pos) {
	if s != nil && contract.ToolName(name) {
		s.AddTool(ir.Tool{Name: name, Pos: at})
	}
}

// knows adds the server of a rule to the inventory, where no file of the project starts
// it: it is then the user's own. It reports false for a name that the source does not take.
func (im *importer) knows(server, tool string, at diag.Pos) bool {
	if strings.Contains(server, "*") {
		return true
	}
	named := server
	if tool != "" {
		named += "__" + tool
	}
	for name := range im.servers {
		if as := rule.Name(name); named == as || strings.HasPrefix(named, as+"__") {
			return true
		}
	}
	alike := func(name string) bool { return strings.EqualFold(rule.Name(name), rule.Name(server)) }
	if !contract.ServerName(server) || slices.ContainsFunc(slices.Collect(maps.Keys(im.servers)), alike) {
		return false
	}
	im.servers[server] = contract.NamedServer(server, at)
	return true
}

// serversFile reads the mcpServers of .mcp.json or ~/.claude.json, and returns the names of
// those that the source takes.
func (im *importer) serversFile(file string, data []byte) (names []string) {
	v, err := located.JSON(file, data)
	if err != nil {
		im.out.Refuse(file)
		im.diags.Errorf(CodeImport, located.PlaceOf(file, err), "Claude Code does not load the servers: %s",
			strings.TrimPrefix(located.Reason(err), file+": "))
		return nil
	}
	all := v.Get("mcpServers")
	if all != nil && !all.Is(located.Object) {
		im.out.Refuse(file)
		im.diags.Errorf(CodeImport, all.Pos, "got %s, want an object", all.Kind).Path("mcpServers")
		return nil
	}
	for _, m := range v.Fields() {
		if m.Key != "mcpServers" && !strings.HasSuffix(file, format.UserServers) {
			im.out.Note(contract.Left, m.Pos, "", m.Key, "Claude Code ignores this key")
		}
	}
	for _, m := range all.Fields() {
		if all.Get(m.Key) == m.Value {
			im.server(m)
			if im.servers[m.Key] != nil {
				names = append(names, m.Key)
			}
		}
	}
	slices.Sort(names)
	return names
}

// server reads an entry of mcpServers. Of two servers with a name the first holds.
func (im *importer) server(m located.Member) {
	subject := "server " + m.Key
	if !contract.ServerName(m.Key) {
		im.out.NoteRule(contract.Refused, m.Pos, subject, m.Key, refusedServer)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(im.servers)) {
		if name != m.Key && strings.EqualFold(rule.Name(name), rule.Name(m.Key)) {
			im.out.NoteRule(contract.Refused, m.Pos, subject, m.Key,
				"its tools have the names of those of the server at "+im.servers[name].Pos.String()+
					": give it another name")
			return
		}
	}
	s, refused := newServer(m)
	if refused.why != "" {
		im.out.NoteRule(contract.Refused, refused.at, subject, m.Key,
			refused.why+": the server is known by its name alone")
	}
	old := im.servers[m.Key]
	switch {
	case old == nil:
	case old.Type == ir.External:
		s.Tools = old.Tools
	case same(old, s):
		return
	default:
		im.out.Note(contract.Refused, m.Pos, subject, m.Key, "the one at "+old.Pos.String()+" holds")
		return
	}
	if t := m.Value.Get("timeout"); t.Is(located.Number) {
		if ms, err := strconv.ParseFloat(t.Text, 64); err == nil && ms >= 1000 && ms <= 3_600_000 {
			s.TimeoutSeconds = int(ms / 1000)
		}
	}
	for _, x := range m.Value.Fields() {
		switch x.Key {
		case "type", "command", "args", "env", "url", "headers", "timeout":
		default:
			im.out.Note(contract.Left, x.Pos, subject, x.Key, "the source has no word for it")
		}
	}
	im.servers[m.Key] = s
}

func same(a, b *ir.Server) bool {
	return a.Type == b.Type && a.Command == b.Command && a.URL == b.URL &&
		slices.Equal(a.Args, b.Args) && maps.Equal(a.Env, b.Env) && maps.Equal(a.Headers, b.Headers)
}

// refusal says why the source does not take a server's entry.
type refusal struct {
	at  diag.Pos
	why string
}

// newServer reads how a server is started. A server whose entry the source does not take
// is known by its name alone.
func newServer(m located.Member) (*ir.Server, refusal) {
	v := m.Value
	text := func(key string) string { s, _ := v.Get(key).Str(); return s }
	refused := func(at diag.Pos, why string) (*ir.Server, refusal) {
		return contract.NamedServer(m.Key, m.Pos), refusal{at, why}
	}
	s := contract.NamedServer(m.Key, m.Pos)
	command, url, kind := text("command"), text("url"), text("type")
	switch {
	case url != "" && command != "":
		return refused(v.Pos, "it has both a command and a url")
	case command != "":
		s.Type, s.Command, s.Args, s.Env = "stdio", command, v.Get("args").Strings(), texts(v.Get("env"))
		return s, refusal{}
	case url == "":
		return refused(v.Pos, "it has neither a command nor a url")
	case kind == "":
		return refused(v.Get("url").Line(), "Claude Code takes no url without a type")
	case !contract.ServerURL(url):
		return refused(v.Get("url").Line(), "its url is not an address of http or https")
	case kind == "streamable-http":
		kind = "http"
	case kind != "http" && kind != "sse":
		return refused(v.Get("type").Line(), "the source has no transport "+kind)
	}
	s.Type, s.URL, s.Headers = kind, url, texts(v.Get("headers"))
	return s, refusal{}
}

// texts returns the texts of an object, nil where it has none.
func texts(v *located.Value) map[string]string {
	var out map[string]string
	for _, x := range v.Fields() {
		if s, ok := x.Value.Str(); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[x.Key] = s
		}
	}
	return out
}

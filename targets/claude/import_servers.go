package claude

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// serversFile reads the mcpServers of .mcp.json or ~/.claude.json, and returns the
// names of those that the source takes.
func (im *importer) serversFile(file string, data []byte) (names []string) {
	v, err := located.JSON(file, data)
	if err != nil {
		im.diags.Errorf(codeImport, located.PlaceOf(file, err), "got servers that Claude Code does not load: %s", strings.TrimPrefix(err.Error(), file+": "))
		return nil
	}
	all := v.Get("mcpServers")
	if all != nil && !all.Is(located.Object) {
		im.diags.Errorf(codeImport, all.Pos, "got %s, want an object", all.Kind).Path("mcpServers")
		return nil
	}
	for _, m := range v.Fields() {
		if m.Key != "mcpServers" && !strings.HasSuffix(file, ".claude.json") {
			im.out.Note(contract.Left, m.Pos, "", m.Key, "Claude Code drops this key")
		}
	}
	for _, m := range all.Fields() {
		if all.Get(m.Key) == m.Value {
			im.mcpServer(m)
			if im.servers[m.Key] != nil {
				names = append(names, m.Key)
			}
		}
	}
	slices.Sort(names)
	return names
}

func (im *importer) mcpServer(m located.Member) {
	subject := "server " + m.Key
	v := m.Value
	old := im.servers[m.Key]
	if !contract.ServerName(m.Key) {
		im.out.NoteRule(contract.Refused, m.Pos, subject, m.Key, "the source does not take this name of a server")
		return
	}
	text := func(key string) string { s, _ := v.Get(key).Str(); return s }
	textMap := func(key string) map[string]string {
		var out map[string]string
		for _, x := range v.Get(key).Fields() {
			if s, ok := x.Value.Str(); ok {
				if out == nil {
					out = map[string]string{}
				}
				out[x.Key] = s
			}
		}
		return out
	}
	s := &ir.Server{Name: m.Key, Pos: m.Pos, Command: text("command"), Args: v.Get("args").Strings(), Env: textMap("env"), URL: text("url"), Headers: textMap("headers"), DefaultEnabled: true, Tools: []ir.Tool{}}
	kind := text("type")
	bad := func(at diag.Pos, why string) {
		im.out.NoteRule(contract.Refused, at, subject, m.Key, why+": the server is known by its name alone")
		*s = ir.Server{Name: m.Key, Pos: m.Pos, Type: ir.External, DefaultEnabled: true, Tools: []ir.Tool{}}
	}
	switch {
	case s.URL != "" && s.Command != "":
		bad(v.Pos, "it has both a command and a url")
	case s.Command != "":
		s.Type, s.Headers = "stdio", nil
	case s.URL == "":
		bad(v.Pos, "it has neither a command nor a url")
	case kind == "":
		bad(v.Get("url").Line(), "Claude Code takes no url without a type")
	case !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
		bad(v.Get("url").Line(), "its url is neither http nor https")
	case kind == "sse":
		s.Type, s.Env, s.Args = "sse", nil, nil
	case kind == "http" || kind == "streamable-http":
		s.Type, s.Env, s.Args = "http", nil, nil
	default:
		bad(v.Get("type").Line(), "the source has no transport "+kind)
	}
	switch {
	case old == nil, old.Type == ir.External:
	case old.Type == s.Type && old.Command == s.Command && old.URL == s.URL && slices.Equal(old.Args, s.Args) && maps.Equal(old.Env, s.Env) && maps.Equal(old.Headers, s.Headers):
		return
	default:
		im.out.Note(contract.Refused, m.Pos, subject, m.Key, "the one at "+old.Pos.String()+" holds")
		return
	}
	if t := v.Get("timeout"); t.Is(located.Number) {
		if ms, err := strconv.ParseFloat(t.Text, 64); err == nil && ms >= 1000 && ms <= 3_600_000 {
			s.TimeoutSeconds = int(ms / 1000)
		}
	}
	for _, x := range v.Fields() {
		switch x.Key {
		case "type", "command", "args", "env", "url", "headers", "timeout":
		default:
			im.out.Note(contract.Left, x.Pos, subject, x.Key, "the source has no word for it")
		}
	}
	if old != nil {
		s.Tools = old.Tools
	}
	im.servers[m.Key] = s
}

package importer

import (
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
)

var otherRef = lazy.Regexp(`\$\{(?:userHome|workspaceFolder|workspaceFolderBasename|pathSeparator|/)\}`)

// serversFile reads mcp.json.
func (im *importer) serversFile(d document) {
	v := im.parse(d, located.JSONC, "Cursor")
	all := v.Get("mcpServers")
	for _, m := range all.Fields() {
		if all.Get(m.Key) == m.Value {
			im.mcpServer(m)
		}
	}
	for _, m := range v.Fields() {
		if m.Key != "mcpServers" {
			im.out.Note(contract.Left, m.Pos, "", m.Key, "Cursor ignores this key")
		}
	}
}

func (im *importer) mcpServer(m located.Member) {
	subject := "server " + m.Key
	for _, name := range slices.Sorted(maps.Keys(im.servers)) {
		if strings.EqualFold(name, m.Key) {
			im.out.Note(contract.Refused, m.Pos, subject, m.Key, "the one at "+im.servers[name].Pos.String()+" counts")
			return
		}
	}
	if !contract.ServerName(m.Key) {
		im.out.NoteRule(contract.Refused, m.Pos, subject, m.Key, badServerName)
		return
	}
	f := fields{im: im, subject: subject, v: m.Value}
	s := contract.FoundServer(m.Key, m.Pos)
	switch command, url := f.text("command"), f.text("url"); {
	case command != "":
		s.Type, s.Command, s.Env, s.Args = "stdio", command, f.texts("env"), f.list("args")
	case contract.ServerURL(url):
		s.Type, s.URL, s.Headers = "http", url, f.texts("headers")
		if kind, _ := m.Value.Get("type").Str(); kind == "sse" {
			s.Type = "sse"
		}
	default:
		s.Type = ir.External
		im.out.NoteRule(contract.Refused, m.Pos, subject, m.Key,
			contract.NoStart)
	}
	if m.Value.Comment != "" {
		im.out.Comments[m.Pos] = m.Value.Comment
	}
	for _, x := range m.Value.Fields() {
		if !slices.Contains([]string{"type", "command", "args", "env", "url", "headers"}, x.Key) {
			im.out.Note(contract.Left, x.Pos, subject, x.Key, "the source has no word for it")
		}
	}
	im.servers[m.Key] = s
}

// fields reads the fields of a server.
type fields struct {
	im      *importer
	subject string
	v       *located.Value
}

// refs writes references to the environment as the source does, and notes the others.
func (f fields) refs(s string, at diag.Pos) string {
	s = contract.SourceRefs(s)
	if x := otherRef().FindString(s); x != "" {
		f.im.out.Note(contract.Kept, at, f.subject, x, "the source takes it for text: other agents do not replace it")
	}
	return s
}

func (f fields) text(key string) string {
	s, _ := f.v.Get(key).Str()
	return f.refs(s, f.v.Get(key).Line())
}

func (f fields) list(key string) []string { return contract.TextList(f.v.Get(key), f.refs) }

func (f fields) texts(key string) map[string]string { return contract.TextFields(f.v.Get(key), f.refs) }

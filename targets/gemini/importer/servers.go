package importer

import (
	"slices"
	"strconv"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/gemini/format"
)

// serverKeys are what the source says of a server. Beside them, the lists of the settings are about trust and
// excludeTools.
var serverKeys = []string{
	"command", "args", "env", "cwd", "type", "url", "httpUrl", "headers", "timeout", "trust", "excludeTools",
}

// server reads an entry of mcpServers.
func (im *importer) server(m located.Member) {
	of := "server " + m.Key
	if old := im.servers[m.Key]; old != nil {
		im.out.Note(contract.Refused, m.Pos, of, m.Key, "the one at "+old.Pos.String()+" counts")
		return
	}
	if !contract.ServerName(m.Key) {
		im.out.NoteRule(contract.Refused, m.Pos, of, m.Key, "the source cannot have a server of this name")
		return
	}
	f := fields{im: im, subject: of, v: m.Value}
	s := &ir.Server{Name: m.Key, Pos: m.Pos, DefaultEnabled: true, Tools: []ir.Tool{}}
	command, url, kind := f.text("command"), f.text("url"), f.text("type")
	http := f.text("httpUrl")
	milliseconds, _ := strconv.Atoi(f.number("timeout"))
	switch whole := milliseconds%1000 == 0; {
	case !whole:
		f.external("its timeout is not in whole seconds", s)
	case contract.ServerURL(http):
		s.Type, s.URL, s.Headers = "http", http, f.texts("headers")
	case contract.ServerURL(url) && (kind == "http" || kind == "sse"):
		s.Type, s.URL, s.Headers = kind, url, f.texts("headers")
	case contract.ServerURL(url):
		s.Type, s.URL, s.Headers = "http", url, f.texts("headers") // tried first; a build says it
	case command != "":
		s.Type, s.Command, s.Args, s.Env, s.Cwd = "stdio", command, f.list("args"), f.texts("env"), f.text("cwd")
	default:
		f.external("it has neither a command nor an http address: the server is known by its name alone", s)
	}
	if s.Type != ir.External {
		s.TimeoutSeconds = milliseconds / 1000
	}
	for _, item := range m.Value.Get("excludeTools").List() {
		if tool, ok := item.Str(); ok && contract.ToolName(tool) {
			s.Tools = append(s.Tools, ir.Tool{Name: tool, Pos: item.Pos})
		}
	}
	if m.Value.Comment != "" {
		im.out.Comments[m.Pos] = m.Value.Comment
	}
	for _, x := range m.Value.Fields() {
		if !slices.Contains(serverKeys, x.Key) {
			why := "the source has no word for it: it stays in the entry"
			if x.Key == "includeTools" {
				why = "it limits the server for every session: it stays in the entry, and in force"
			}
			im.out.Note(contract.Left, x.Pos, of, x.Key, why)
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

// external leaves a server's entry where it is.
func (f fields) external(why string, s *ir.Server) {
	s.Type = ir.External
	f.im.out.NoteRule(contract.Refused, s.Pos, f.subject, s.Name, why)
}

// refs writes references to the environment as the source does, and notes the others.
func (f fields) refs(s string, at diag.Pos) string {
	if x := format.DefaultRef(s); x != "" {
		f.im.out.Note(contract.Kept, at, f.subject, x, "the source takes it for text: other agents do not replace it")
	}
	return format.SourceRefs(s)
}

func (f fields) text(key string) string {
	s, _ := f.v.Get(key).Str()
	return f.refs(s, f.v.Get(key).Line())
}

func (f fields) number(key string) string {
	if v := f.v.Get(key); v.Is(located.Number) {
		return v.Text
	}
	return "0"
}

func (f fields) list(key string) []string { return contract.TextList(f.v.Get(key), f.refs) }

func (f fields) texts(key string) map[string]string { return contract.TextFields(f.v.Get(key), f.refs) }

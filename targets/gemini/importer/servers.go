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
	s := im.out.Server(m, im.servers, fields{im: im, subject: of, v: m.Value}.start)
	if s == nil {
		return
	}
	for _, item := range m.Value.Get("excludeTools").List() {
		if tool, ok := item.Str(); ok && contract.ToolName(tool) {
			s.Tools = append(s.Tools, ir.Tool{Name: tool, Pos: item.Pos})
		}
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
}

// fields reads the fields of a server.
type fields struct {
	im      *importer
	subject string
	v       *located.Value
}

// start reads how the server is started or reached, or returns why the source cannot say it.
func (f fields) start(_ *located.Value, s *ir.Server) (why string) {
	command, url, kind := f.text("command"), f.text("url"), f.text("type")
	http := f.text("httpUrl")
	milliseconds, _ := strconv.Atoi(f.number("timeout"))
	switch whole := milliseconds%1000 == 0; {
	case !whole:
		return contract.NoWholeSeconds
	case contract.ServerURL(http):
		s.Type, s.URL, s.Headers = "http", http, f.texts("headers")
	case contract.ServerURL(url) && (kind == "http" || kind == "sse"):
		s.Type, s.URL, s.Headers = kind, url, f.texts("headers")
	case contract.ServerURL(url):
		s.Type, s.URL, s.Headers = "http", url, f.texts("headers") // tried first; a build says it
	case command != "":
		s.Type, s.Command, s.Args, s.Env, s.Cwd = "stdio", command, f.list("args"), f.texts("env"), f.text("cwd")
	default:
		return contract.NoStart
	}
	s.TimeoutSeconds = milliseconds / 1000
	return ""
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

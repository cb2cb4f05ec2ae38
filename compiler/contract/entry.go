package contract

import (
	"bytes"
	"cmp"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/secret"
)

// EntryAt is the place of a server's entry: a file of the project and the name that the server
// has there.
type EntryAt struct{ File, Server string }

// Entries are the entries of external servers as they lie in people's files. They may state
// secrets: nothing of them is written or printed.
type Entries map[EntryAt]*located.Value

var envRef = regexp.MustCompile(`\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// SourceRefs returns a text with the ${env:VAR} of Roo and Cursor written as ${VAR}, as the
// source does.
func SourceRefs(s string) string { return envRef.ReplaceAllString(s, "$${$1}") }

// serversField is the key of the list of servers that most agents have.
const serversField = "mcpServers"

// ServerLister is a target whose agent lists servers by a key of its own.
type ServerLister interface {
	Target
	ServersField() string
}

// ListsOfServers returns the keys of the lists of servers that agents have in their files.
func ListsOfServers(targets []Target) []string {
	fields := []string{serversField}
	for _, t := range targets {
		field := ""
		switch l := t.(type) {
		case Client:
			field = l.ServerList().Field
		case ServerLister:
			field = l.ServersField()
		}
		if field != "" && !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	return fields
}

// ListedServers reads the list of servers of a file, by the first of some keys that it has.
func ListedServers(file string, data []byte, fields []string) *located.Value {
	root, err := located.Config(file, bytes.TrimPrefix(data, []byte("\uFEFF")))
	if err != nil {
		return nil
	}
	for _, f := range fields {
		if list := root.Get(f); list.Is(located.Object) {
			return list
		}
	}
	return nil
}

// EntryOf returns the entry of a server in a file that lists servers by one of some keys; nil where there is none.
func EntryOf(files fs.FS, file, name string, fields []string) *located.Value {
	if strings.HasPrefix(file, "~/") {
		return nil // of the home folder
	}
	data, err := ReadImport(files, file)
	if err != nil {
		return nil
	}
	if entry := ListedServers(file, data, fields).Get(name); entry.Is(located.Object) {
		return entry
	}
	return nil
}

// ReadJSONC reads a file of JSON with comments, as [ReadImport] does.
func ReadJSONC(fsys fs.FS, name string) (*located.Value, error) {
	data, err := ReadImport(fsys, name)
	if err != nil {
		return nil, err
	}
	return located.JSONC(name, data)
}

// startedBy are the keys of an entry that say what is started or reached, and with what, in the words of all agents.
var startedBy = []string{"args", "bearer_token_env_var", "command", "cwd", "env", "envFile", "env_http_headers",
	"env_vars", "environment", "headers", "headersHelper", "httpUrl", "http_headers", "serverUrl", "url"}

// StartsOther reports whether an entry in an agent's list of servers starts or reaches something else than another one.
// One that is turned off starts nothing.
func StartsOther(was, is *located.Value) bool {
	if on := is.Get("enabled"); is.Get("disabled").True() || on.Is(located.Bool) && !on.True() {
		return false
	}
	said := func(v *located.Value) string {
		if v.Is(located.Null) || len(v.List())+len(v.Fields()) == 0 && !v.Is(located.String) {
			return "" // as if it were not there
		}
		return shapeRef.ReplaceAllString(string(JSONLine(v.Any())), "$${$1}")
	}
	return slices.ContainsFunc(startedBy, func(key string) bool { return said(was.Get(key)) != said(is.Get(key)) })
}

// AddedServers returns the servers of a list that another one does not have, or that start something else.
func AddedServers(list, ours *located.Value) (out []Lodger) {
	for _, m := range list.Fields() {
		if was := ours.Get(m.Key); was == nil || StartsOther(was, m.Value) {
			out = append(out, Lodger{Kind: EntryServer, Name: m.Key, Entry: m.Value, At: m.Pos})
		}
	}
	return out
}

// shapeRef matches a reference to a variable in any agent's list of servers.
var shapeRef = regexp.MustCompile(`\$?\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// ShapeOf returns the shape ([ir.Server.Shape]) of an entry in an agent's list of servers.
func ShapeOf(entry *located.Value) string {
	refs := func(text string) string { return shapeRef.ReplaceAllString(text, "$${$1}") }
	text := func(key string) string { s, _ := entry.Get(key).Str(); return refs(s) }
	s := ir.Server{Command: text("command")}
	if words := entry.Get("command").Strings(); len(words) > 0 { // one list with the arguments
		s.Command = refs(words[0])
		for _, arg := range words[1:] {
			s.Args = append(s.Args, refs(arg))
		}
	}
	if s.Command == "" {
		s.URL = cmp.Or(text("httpUrl"), text("url")) // an agent that has both takes the first
		return s.Shape()
	}
	for _, item := range entry.Get("args").List() {
		if arg, ok := item.Str(); ok {
			s.Args = append(s.Args, refs(arg))
		}
	}
	return s.Shape()
}

// reference matches the beginning of a text that is a reference to a variable, as a shape has it.
var reference = lazy.Regexp(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// SameShape reports whether an entry of a shape starts what a source states of it: in the place of a secret there may
// be a reference to a variable.
func SameShape(stated, shape string) bool {
	parts := strings.Split(stated, secret.Mask)
	rest, same := strings.CutPrefix(shape, parts[0])
	for _, part := range parts[1:] {
		if after, masked := strings.CutPrefix(rest, secret.Mask); masked {
			rest = after
		} else if ref := reference().FindString(rest); ref != "" {
			rest = rest[len(ref):]
		} else {
			return false
		}
		if rest, same = strings.CutPrefix(rest, part); !same {
			return false
		}
	}
	return same && rest == ""
}

package mcpnest

import (
	"embed"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/mcpnest/format"
)

// stubs are the parts of the emitted code that contain nothing of a source. Those in v1 and
// v2 are for 1.9 and 2.x alone.
//
//go:embed stubs
var stubs embed.FS

// templates are the stubs that contain something of a source, or differ by its options in more
// than their imports.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").
		Funcs(template.FuncMap{"key": key, "texts": texts, "holders": holders}).
		ParseFS(stubs, "stubs/*.tmpl"))
})

// filled returns a template with some data.
func filled(name string, data any) string {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // embedded above
	}
	return b.String()
}

// form is what decides the form of the emitted code.
type form struct {
	version int
	js      bool // relative imports end in .js
	jwt     bool // TokenGuard is emitted
}

// enforcer returns the file that enforces the policy in place of MCP-Nest.
func (f form) enforcer() string {
	if f.version == 1 {
		return format.Module
	}
	return format.Strategy
}

// files returns the emitted files but the policy, which contains what comes from the source.
func (f form) files() []contract.File {
	own := map[int]string{1: "v1/", 2: "v2/"}[f.version]
	from := map[string]string{format.Decide: "", format.Guards: own, format.Tools: "", f.enforcer(): own}
	if f.jwt {
		from[format.Authentication] = ""
	}
	out := []contract.File{f.file(format.Index, f.index())}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		b, err := stubs.ReadFile("stubs/" + from[name] + path.Base(name))
		if err != nil {
			panic(err) // embedded above
		}
		out = append(out, f.file(name, string(b)))
	}
	return out
}

var relativeImport = regexp.MustCompile(`(from '\./\w+)\.js'`)

// file returns a file of code with its first line, and its imports in the chosen form.
func (f form) file(name, code string) contract.File {
	if !f.js {
		code = relativeImport.ReplaceAllString(code, "$1'")
	}
	return contract.File{Path: name, Data: []byte(header + code)}
}

// index returns index.ts: all that an application imports, and how to use it.
func (f form) index() string {
	return filled("index.ts.tmpl", map[string]bool{"jwt": f.jwt, "v1": f.version == 1})
}

// Package cue contains the schema of a modec source as CUE, for the compiler
// and for users' editors, the built-in modes and policies, and the templates of
// a new project.
package cue

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed cue.mod/module.cue schema builtin all:template
var files embed.FS

// File is an embedded file.
type File struct {
	Name string // "modec.dev/schema/mode.cue"
	Data []byte
}

// Files returns the schema, sorted by name.
func Files() []File { return in("schema") }

// Hash returns the hash of the schema and of what is built in. Under another hash the
// same source may mean something else.
var Hash = sync.OnceValue(func() string {
	h := sha256.New()
	for _, f := range slices.Concat(Files(), Builtins()) {
		fmt.Fprintf(h, "%s %d\n%s", f.Name, len(f.Data), f.Data)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
})

// Builtins returns the built-in modes and policies as data files.
func Builtins() []File { return in("builtin") }

func in(dir string) []File {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return nil // the folder is embedded: it is always there
	}
	var out []File
	for _, e := range entries {
		b, err := files.ReadFile(path.Join(dir, e.Name()))
		if err == nil {
			out = append(out, File{"modec.dev/" + dir + "/" + e.Name(), b})
		}
	}
	return out
}

// common is the folder of what every template contains.
const common = "common"

// TemplateInfo is a template of a new project.
type TemplateInfo struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // one line: the first comment of its modec.toml
}

// Templates lists the templates, the default one first.
func Templates() []TemplateInfo {
	entries, err := files.ReadDir("template")
	if err != nil {
		return nil // the folder is embedded: it is always there
	}
	var out []TemplateInfo
	for _, e := range entries {
		b, err := files.ReadFile(path.Join("template", e.Name(), "modec.toml"))
		if err != nil {
			continue // the common part
		}
		line, _, _ := strings.Cut(string(b), "\n")
		t := TemplateInfo{e.Name(), strings.TrimPrefix(line, "# ")}
		if t.Name == "default" {
			out = append([]TemplateInfo{t}, out...)
		} else {
			out = append(out, t)
		}
	}
	return out
}

// Template returns the files of a new project, sorted by name; nil for an unknown
// template.
func Template(name string) []File {
	var out []File
	for _, dir := range []string{name, common} {
		tree, err := fs.Sub(files, "template/"+dir)
		if err != nil {
			return nil
		}
		err = fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := fs.ReadFile(tree, p)
			out = append(out, File{p, b})
			return err
		})
		if err != nil {
			return nil
		}
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Vendor returns what editors and cue vet need beside a source: the module file and the
// schema below cue.mod/pkg. The compiler does not read them.
func Vendor() []File {
	out := []File{{"cue.mod/module.cue", []byte("module: \"modec.local@v0\"\nlanguage: version: \"v0.14.0\"\n")}}
	for _, f := range Files() {
		out = append(out, File{"cue.mod/pkg/" + f.Name, f.Data})
	}
	return out
}

// Text returns the schema as one CUE file.
func Text() string {
	var b strings.Builder
	for i, f := range Files() {
		text := string(f.Data)
		if i > 0 {
			text = "\n" + strings.TrimPrefix(text, "package schema\n\n")
		}
		b.WriteString(text)
	}
	return b.String()
}

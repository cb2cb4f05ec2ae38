package cue_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/load"

	schema "modec.dev/modec/cue"
)

// project writes a new project as `modec init` does.
func project(t *testing.T, template string) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, data []byte) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range schema.Template(template) {
		put(f.Name, f.Data)
	}
	for _, f := range schema.Vendor() {
		put(f.Name, f.Data)
	}
	return dir
}

// vet does what `cue vet ./modec/...` does, offline, on the files as they lie.
func vet(t *testing.T, dir string) error {
	t.Helper()
	t.Setenv("CUE_REGISTRY", "none")
	var files []string
	err := filepath.WalkDir(filepath.Join(dir, "modec"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".cue") {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	instances := load.Instances(files, &load.Config{Dir: dir})
	if len(instances) != 1 {
		t.Fatalf("got %d packages, want one", len(instances))
	}
	if err := instances[0].Err; err != nil {
		return err
	}
	return cuecontext.New().BuildInstance(instances[0]).Validate(cue.Concrete(true))
}

// Editors and cue vet understand a new project without a network, and see what
// is wrong in it.
func TestTemplateVets(t *testing.T) {
	for _, template := range schema.Templates() {
		if err := vet(t, project(t, template.Name)); err != nil {
			t.Errorf("the template %s: %v", template.Name, err)
		}
		if len(template.Doc) < 20 || !strings.HasSuffix(template.Doc, ".") {
			t.Errorf("the template %s says of itself %q", template.Name, template.Doc)
		}
	}
	dir := project(t, "default")
	for text, want := range map[string]string{
		`modes: x: {name: "X", modle: "opus"}`:  "modle",
		`modes: x: {name: "X", model: "gpt-9"}`: "modes.x.model",
		`modes: x: {}`:                          "name",
	} {
		file := filepath.Join(dir, "modec", "zz.cue")
		if err := os.WriteFile(file, []byte("package modec\n\n"+text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := vet(t, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %q", text, err, want)
		}
	}
}

// Every CUE file here is formatted as `cue fmt` does.
func TestFormatted(t *testing.T) {
	files := append(schema.Files(), schema.Builtins()...)
	for _, template := range schema.Templates() {
		for _, f := range schema.Template(template.Name) {
			if strings.HasSuffix(f.Name, ".cue") {
				files = append(files, schema.File{Name: template.Name + "/" + f.Name, Data: f.Data})
			}
		}
	}
	if len(files) < 10 {
		t.Fatalf("got %d files, want them all", len(files))
	}
	for _, f := range files {
		want, err := format.Source(f.Data)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		} else if !bytes.Equal(f.Data, want) {
			t.Errorf("%s: not formatted, want\n%s", f.Name, want)
		}
	}
}

// The schema is one package in one text, too.
func TestText(t *testing.T) {
	v := cuecontext.New().CompileString(schema.Text())
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	for _, def := range []string{"#Project", "#Server", "#Mode", "#Role", "#Policy", "#Can"} {
		if !v.LookupPath(cue.ParsePath(def)).Exists() {
			t.Errorf("no %s", def)
		}
	}
}

// Every definition and every field of the schema says what it is, and the
// reference has them all.
func TestEverythingIsDocumented(t *testing.T) {
	reference, err := schema.Reference()
	if err != nil {
		t.Fatal(err)
	}
	v := cuecontext.New().CompileString(schema.Text())
	it, err := v.Fields(cue.Definitions(true))
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]bool{"allow": true, "ask": true, "deny": true, "default": true} // said of the table
	for it.Next() {
		name := it.Selector().String()
		if !strings.Contains(reference, "\n## "+name+"\n") {
			t.Errorf("the reference has no %s", name)
		}
		if len(it.Value().Doc()) == 0 {
			t.Errorf("%s has no comment", name)
		}
		fields, err := it.Value().Fields(cue.Optional(true))
		if err != nil {
			continue // no struct
		}
		for fields.Next() {
			field := fields.Selector().Unquoted()
			if !strings.Contains(reference, "**`"+field) {
				t.Errorf("the reference has no %s.%s", name, field)
			}
			if len(fields.Value().Doc()) == 0 && !lists[field] {
				t.Errorf("%s.%s has no comment", name, field)
			}
		}
	}
}

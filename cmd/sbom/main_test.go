package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xeipuuv/gojsonschema"
)

// TestDocument describes this very test's binary: every module that it links is in the
// document, which the schema of CycloneDX 1.6 takes, and a second one is the same.
func TestDocument(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "sbom")
	if out, err := exec.Command("go", "build", "-ldflags", "-X main.release=v9.8.7", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var a, b bytes.Buffer
	if err := run([]string{binary}, &a); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{binary}, &b); err != nil || a.String() != b.String() {
		t.Errorf("a second document is another (%v)", err)
	}
	var doc struct {
		Metadata struct {
			Component struct{ Version, PURL string }
		}
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(a.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if c := doc.Metadata.Component; c.Version != "v9.8.7" || c.PURL != "pkg:golang/modec.dev/modec@v9.8.7" {
		t.Errorf("got %+v", c)
	}
	if !strings.Contains(a.String(), `"pkg:golang/github.com/!cyclone!d!x`) && !strings.Contains(a.String(), "pkg:golang/github.com/CycloneDX/cyclonedx-go@v") {
		t.Errorf("the library that is linked is missing: %s", a.String())
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	schemas := gojsonschema.NewSchemaLoader()
	load := func(name string) gojsonschema.JSONLoader {
		data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema", name))
		if err != nil {
			t.Fatal(err)
		}
		return gojsonschema.NewBytesLoader(data)
	}
	for _, name := range []string{"spdx.schema.json", "jsf-0.82.schemax.json"} {
		if err := schemas.AddSchemas(load(name)); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := schemas.Compile(load("bom-1.6.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(a.Bytes()))
	if err != nil || !result.Valid() {
		t.Errorf("got %v, %v", result.Errors(), err)
	}
	if err := run([]string{"main.go"}, &b); err == nil {
		t.Error("a file that is no binary: got no error")
	}
	if err := run(nil, &b); err == nil {
		t.Error("no file: got no error")
	}
}

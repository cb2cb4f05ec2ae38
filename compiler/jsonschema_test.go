package compiler

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/encoding/jsonschema"
	"golang.org/x/tools/txtar"

	"modec.dev/modec/compiler/diag"
)

// The JSON Schema says what the shapes say, on the data of every fixture of
// one file.
func TestJSONSchemaAgrees(t *testing.T) {
	b, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) || !strings.Contains(string(b), `"description"`) {
		t.Fatal("no JSON with descriptions")
	}
	ctx := cuecontext.New()
	file, err := jsonschema.Extract(ctx.CompileBytes(b), &jsonschema.Config{})
	if err != nil {
		t.Fatal(err)
	}
	definition := ctx.BuildFile(file)
	if definition.Err() != nil {
		t.Fatal(definition.Err())
	}
	sh, err := loadShapes()
	if err != nil {
		t.Fatal(err)
	}
	fixtures, err := filepath.Glob("../fixtures/invalid/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[bool]int{}
	for _, name := range fixtures {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if filepath.Ext(f.Name) != ".cue" && filepath.Ext(f.Name) != ".yaml" {
				continue
			}
			tree, err := parse(f.Name, f.Data)
			if err != nil {
				continue
			}
			var diags diag.List
			n, ok := literals{&diags}.file(tree)
			if !ok || len(diags) > 0 || n.kind != structKind {
				continue
			}
			r := &resolver{loader: &loader{}, shapes: sh}
			r.check(n)
			for _, d := range r.diags {
				switch d.Code { // what the JSON Schema leaves to the compiler
				case "bad-transport", "case-collision":
					ok = false
				case "bad-slug", "bad-name": // propertyNames: CUE does not read them
					ok = false
				case "missing-field":
					ok = ok && !strings.Contains(d.Message, "neither")
				}
			}
			if !ok {
				continue
			}
			err = definition.Unify(ctx.BuildFile(tree)).Validate(cue.Concrete(true))
			if (err != nil) != (len(r.diags) > 0) {
				t.Errorf("%s %s: the shapes say %v, the JSON Schema %v", name, f.Name, r.diags, err)
			}
			verdicts[err == nil]++
		}
	}
	if verdicts[true] < 10 || verdicts[false] < 5 {
		t.Errorf("compared %v, want more of both", verdicts)
	}
}

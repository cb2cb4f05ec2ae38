package shape

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
	"modec.dev/modec/compiler/source"
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
	fixtures, err := filepath.Glob("../../fixtures/invalid/*.txtar")
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
			n, err := source.ParseData(f.Name, f.Data)
			if err != nil || n.Kind != source.Struct {
				continue
			}
			tree, err := source.Parse(f.Name, f.Data)
			if err != nil {
				t.Fatal(err)
			}
			_, _, diags := Check(n)
			ok := true
			for _, d := range diags {
				switch d.Code { // what the JSON Schema leaves to the compiler
				case diag.BadTransport, diag.CaseCollision:
					ok = false
				case diag.BadSlug, diag.BadName: // propertyNames: CUE does not read them
					ok = false
				case diag.MissingField:
					ok = ok && !strings.Contains(d.Message, "neither")
				}
			}
			if !ok {
				continue
			}
			err = definition.Unify(ctx.BuildFile(tree)).Validate(cue.Concrete(true))
			if (err != nil) != (len(diags) > 0) {
				t.Errorf("%s %s: the shapes say %v, the JSON Schema %v", name, f.Name, diags, err)
			}
			verdicts[err == nil]++
		}
	}
	if verdicts[true] < 10 || verdicts[false] < 5 {
		t.Errorf("compared %v, want more of both", verdicts)
	}
}

package diag

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var formatted = List{
	{
		Severity: Error, Code: "secret-literal", Pos: Pos{"modec/a b%.cue", 2, 4}, Subject: "server s",
		Message: "got x\n::error::no", Hint: "write ${X}",
		Related: []Related{{Pos: Pos{"é.cue", 1, 0}, Message: "here"}},
	},
	{Severity: Note, Code: "unused-tool", Message: "got nothing"},
	{Severity: Warning, Code: "secret-literal", Pos: Pos{File: "modec.toml"}, Message: "again"},
}

// TestSARIF validates the log against the schema of SARIF 2.1.0.
func TestSARIF(t *testing.T) {
	schema := sarifSchema(t)
	for _, list := range []List{nil, formatted} {
		var b bytes.Buffer
		source := func(string) ([]byte, error) { return []byte("x\né\"y\"\n"), nil }
		if err := SARIF(&b, "v1.2.3", list, []Doc{{Code: "secret-literal", Text: "A paragraph."}}, source); err != nil {
			t.Fatal(err)
		}
		if err := validate(t, schema, b.Bytes()); err != nil {
			t.Errorf("%v\n%s", err, b.String())
		}
		if list == nil {
			continue
		}
		var log sarifLog
		if err := json.Unmarshal(b.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		r := log.Runs[0].Results
		p := r[0].Locations[0].Physical
		if p.Artifact.URI != "modec/a%20b%25.cue" || p.Region.StartLine != 2 || p.Region.StartColumn != 3 {
			t.Errorf("got %+v %+v", p.Artifact, p.Region)
		}
		rules := log.Runs[0].Tool.Driver.Rules
		if len(rules) != 2 || r[2].RuleIndex != 0 || r[1].RuleIndex != 1 || len(r[1].Locations) != 0 {
			t.Errorf("got %s", b.String())
		}
	}
	// The schema does refuse something.
	if validate(t, schema, []byte(`{"version": "2.1.0", "runs": [{"results": []}]}`)) == nil {
		t.Error("a run without a tool is valid")
	}
}

// validate returns what the schema finds wrong with a log.
func validate(t *testing.T, schema *jsonschema.Schema, log []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

// sarifSchema returns OASIS's schema of SARIF 2.1.0, with its errata 01:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema, err := c.Compile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// No text of a finding becomes a command of its own.
func TestGitHub(t *testing.T) {
	var b bytes.Buffer
	GitHub(&b, formatted)
	want := `::error file=modec/a b%25.cue,line=2,col=4,title=modec secret-literal::server s: got x%0A::error::no (hint: write ${X})
::notice title=modec unused-tool::got nothing
::warning file=modec.toml,title=modec secret-literal::again
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

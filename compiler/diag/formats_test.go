package diag

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // for its schema
	"github.com/xeipuuv/gojsonschema"
)

var formatted = List{
	{Severity: Error, Code: "secret-literal", Pos: Pos{"modec/a b%.cue", 2, 4}, Subject: "server s", Message: "got x\n::error::no", Hint: "write ${X}", Related: []Related{{Pos: Pos{"é.cue", 1, 0}, Message: "here"}}},
	{Severity: Note, Code: "unused-tool", Message: "got nothing"},
	{Severity: Warning, Code: "secret-literal", Pos: Pos{File: "modec.toml"}, Message: "again"},
}

// TestSARIF holds the log against the schema of SARIF 2.1.0.
func TestSARIF(t *testing.T) {
	for _, list := range []List{nil, formatted} {
		var b bytes.Buffer
		source := func(string) ([]byte, error) { return []byte("x\né\"y\"\n"), nil }
		if err := SARIF(&b, "v1.2.3", list, []Doc{{Code: "secret-literal", Text: "A paragraph."}}, source); err != nil {
			t.Fatal(err)
		}
		if problems := invalid(t, b.Bytes()); len(problems) > 0 {
			t.Errorf("%v\n%s", problems, b.String())
		}
		if list == nil {
			continue
		}
		var log sarifLog
		if err := json.Unmarshal(b.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		r := log.Runs[0].Results
		if p := r[0].Locations[0].Physical; p.Artifact.URI != "modec/a%20b%25.cue" || p.Region.StartLine != 2 || p.Region.StartColumn != 3 {
			t.Errorf("got %+v %+v", p.Artifact, p.Region)
		}
		if len(log.Runs[0].Tool.Driver.Rules) != 2 || r[2].RuleIndex != 0 || r[1].RuleIndex != 1 || len(r[1].Locations) != 0 {
			t.Errorf("got %s", b.String())
		}
	}
	// A log that is none is noticed.
	if len(invalid(t, []byte(`{"version": "2.1.0", "runs": [{"results": []}]}`))) == 0 {
		t.Error("a run without a tool is valid")
	}
}

// invalid tells what the schema of SARIF 2.1.0 has against a log: OASIS's own, which
// go-sarif carries.
func invalid(t *testing.T, log []byte) []gojsonschema.ResultError {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "pkg/report/v210/sarif/schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var schema string
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && len(l.Value) > len(schema) {
			schema = l.Value
		}
		return true
	})
	if schema, err = strconv.Unquote(schema); err != nil || !strings.Contains(schema, "sarif-schema-2.1.0") {
		t.Fatalf("no schema in go-sarif: %v", err)
	}
	result, err := gojsonschema.Validate(gojsonschema.NewStringLoader(schema), gojsonschema.NewBytesLoader(log))
	if err != nil {
		t.Fatal(err)
	}
	return result.Errors()
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

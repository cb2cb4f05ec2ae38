package roo

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

var update = flag.Bool("update", false, "rewrite e2e/testdata")

// TestAgentData holds e2e/testdata to what the package emits: e2e/roo.test.mjs
// reads it with Roo's own parser, expression engine and ignore reader, which
// the Go tests do not have.
func TestAgentData(t *testing.T) {
	for name, data := range map[string][]byte{
		"hostile.yaml.roomodes": writeYAML(hostileModes()),
		"hostile.json.roomodes": writeJSON(hostileModes()),
		"hostile.json":          asJSON(t, hostile),
		"edit.json":             asJSON(t, editCases(t)),
		"ignore.json":           asJSON(t, ignoreCases(t)),
	} {
		path := filepath.Join("e2e", "testdata", name)
		if *update {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s is stale (%v): `go test ./targets/roo -update` rewrites it", path, err)
		}
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// hostileModes has a mode for each hostile text, in every field.
func hostileModes() []mode {
	var modes []mode
	for i, text := range hostile {
		modes = append(modes, mode{slug: "m" + string(rune('A'+i)), name: text, role: text, when: text, description: text, custom: text, groups: []group{{name: "edit", regex: "x", description: text}}})
	}
	return modes
}

// editCase is an emitted fileRegex, the paths that the source denies, and those
// that Roo must let be edited.
type editCase struct {
	Regex  string   `json:"regex"`
	Denied []string `json:"denied"`
	Edited []string `json:"edited"`
}

func editCases(t *testing.T) []editCase {
	t.Helper()
	projects := []*ir.Project{editor(0, ir.Allow), editor(0x0f, ir.Deny), editor(0x7f, ir.Deny), editor(0x70, ir.Allow)}
	for i := range oddRules {
		projects = append(projects, odd(i))
	}
	var cases []editCase
	for _, p := range projects {
		e, s := emitter1(t, p)
		g, ok := e.edit(&p.Modes[0], s)
		if !ok {
			t.Fatalf("no group: %+v", p.Modes[0].Can.Edit)
		}
		c := editCase{Regex: g.regex, Denied: []string{}, Edited: []string{}}
		text, err := e.in.Policy.OnText().Subject(ir.SubjectRef{Mode: "m"})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range editPaths() {
			a := policy.Action{Group: ir.Edit, Arg: path}
			switch d := text.Decide(a).Decision; {
			case !policy.Usual(a):
			case d == ir.Deny:
				c.Denied = append(c.Denied, path)
			case plain(path):
				c.Edited = append(c.Edited, path)
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// ignoreCase is a line of the ignore file, and what the deny that it was
// written from makes of paths.
type ignoreCase struct {
	Line   string   `json:"line"`
	Denied []string `json:"denied"`
	Read   []string `json:"read"`
}

var ignoreGlobs = []string{
	".env", "*.pem", "/.env", "a/b.md", "dir/", "dir/**", "a/dir/**", "**/dir/**", "**/dir", "a/*/b", "a/**/b",
	"a/**/", "a/*", "*/b", "Key", "secrets/", "*s", "k*", "a+b@c", "*.*", "*.py[cod]", "My Docs", " x",
	"**/données/*", "**/dir/*",
}

var ignorePaths = []string{
	".env", "x/.env", ".ENV", ".env/x", ".env.local", "k.pem", "x/K.PEM", "a/b.md", "x/a/b.md", "A/B.md", "dir",
	"x/dir", "dir/y", "x/dir/y/z", "a/dir", "a/dir/x", "a/b", "a/x/b", "a/x/y/b", "a", "b", "x/b", "key", "KEY/x",
	"\u212aey", "\u212a", "secrets", "\u017fecret\u017f/x", "x/SECRETS/y", "glass", "a+b@c", "x.y", "é.pem",
	"e\u0301.pem", "👩.pem", "dirs", "directory/x", "a.pyc", "x/A.PYO", "a.pyx", "My Docs/x", "my docs", " x",
	"x/ X", "données/a", "données",
}

func ignoreCases(t *testing.T) []ignoreCase {
	t.Helper()
	var cases []ignoreCase
	for _, glob := range ignoreGlobs {
		r := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: glob}}
		line, ok := ignoreLine(r.Pattern)
		if !ok {
			t.Fatalf("%s has no line", glob)
		}
		s, err := policy.New(&ir.Project{Modes: []ir.Mode{{Slug: "m", Can: ir.Can{Read: &ir.Table{Default: def(ir.Allow), Rules: []ir.Rule{r}}}}}}).Subject(ir.SubjectRef{Mode: "m"})
		if err != nil {
			t.Fatal(err)
		}
		c := ignoreCase{Line: line, Denied: []string{}, Read: []string{}}
		for _, path := range ignorePaths {
			ascii := func(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f }) }
			switch {
			case s.Decide(policy.Action{Group: ir.Read, Arg: path}).Decision != ir.Deny:
				c.Read = append(c.Read, path)
			case ascii(path) || !ascii(policy.Fold(path)): // else its letters are a hole of the agent
				c.Denied = append(c.Denied, path)
			}
		}
		cases = append(cases, c)
	}
	return cases
}

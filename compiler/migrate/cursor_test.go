package migrate_test

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
)

// TestCursorTokensStay: what is built from the CLI's tokens is the same tokens, in their own file, and
// nothing that was not there. The IDE's lists, which deny nothing, go into no file that the CLI reads.
func TestCursorTokensStay(t *testing.T) {
	const cli, lists = ".cursor/cli.json", ".cursor/permissions.json"
	permissions := `{"mcpAllowlist": ["docs:*"], "terminalAllowlist": ["ls", "cargo build"]}`
	for _, files := range []map[string]string{
		{lists: permissions},
		{lists: `{"approvalMode": "manual", "terminalAllowlist": ["ls"]}`},
		{cli: `{"permissions": {"allow": [], "deny": ["Read(.env*)", "Write(**/*.key)"]}}`, lists: permissions},
		{cli: `{"permissions": {"allow": ["Shell(git:*)"], "deny": ["Shell(git:push*)"]}}`},
		{cli: `{"permissions": {"allow": ["WebFetch(*.x.com)", "WebFetch(y.org)"], "deny": []}}`},
		{cli: `{"permissions": {"allow": ["WebFetch(*)"], "deny": ["WebFetch(evil.com)"]}}`},
		{cli: `{"permissions": {"allow": ["Mcp(gh:*)", "Mcp(docs:read)"], "deny": ["Mcp(gh:delete)"]}}`},
		{cli: `{"permissions": {"allow": ["Mcp(gh:*)", "Mcp(Docs:read)"], "deny": []}}`},
		{cli: `{"permissions": {"allow": ["Shell(ls)", "Shell(npm run lint:*)", "Bash(sh)", "Read(**)"], "deny": []}}`},
		{cli: `{"permissions": {"allow": ["Shell(*)"], "deny": ["Shell(rm)", "Read(/etc/**)", "Read(~/**)"]}}`,
			".claude/settings.json": `{"permissions": {"deny": ["Bash(rm *)"]}}`},
	} {
		res, diags := run(t, files, nil)
		if res == nil {
			t.Errorf("%v: %v", files, diags)
			continue
		}
		built, adopted := map[string]string{}, false
		for name, data := range res.Compiled.FS() {
			if strings.HasPrefix(name, "session:cursor/") && path.Base(name) != "hooks.json" &&
				(files[lists] == "" || files[lists] == permissions) {
				t.Errorf("%v: %s is added", files, name)
			}
			if name == lists {
				adopted = true
			} else if strings.HasPrefix(name, ".cursor/") {
				built[name] = sortedTokens(t, string(data))
			}
		}
		want := map[string]string{}
		if text, ok := files[cli]; ok {
			want[cli] = sortedTokens(t, text)
		}
		if diff := cmp.Diff(want, built); diff != "" {
			t.Errorf("%v (-want +built)\n%s", files, diff)
		}
		if want := files[lists] == permissions; adopted != want { // another run mode stays with its file
			t.Errorf("%v: the lists are written into the project: %t, want %t", files, adopted, want)
		}
		if len(res.Report.Narrower) > 0 {
			t.Errorf("%v: got %v, want nothing narrower", files, res.Report.Narrower)
		}
		if diags.Count(diag.Warning) > 0 {
			t.Errorf("%v: got %v, want no loss", files, diags)
		}
	}
}

// sortedTokens returns the tokens of a cli.json, each list sorted.
func sortedTokens(t *testing.T, text string) string {
	var file struct {
		Permissions map[string][]string `json:"permissions"`
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	for _, list := range file.Permissions {
		slices.Sort(list)
	}
	out, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

package verify_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
)

// foreignSource has a server whose tools nobody lists, and rules about some of them.
const foreignSource = `{
	"servers": {"github": {"command": "gh"}, "db": {"command": "db", "tools": {"query": {"risk": "read"}}}},
	"roles": {"dev": {"description": "Does", "can": {"read": "allow", "edit": {"allow": ["src/**"], "default": "ask"},
		"mcp": {"default": "ask", "github": {"allow": ["get_*"], "ask": ["get_secret*"], "deny": ["delete_*", "drop"]},
			"db": {"allow": ["query"]}}}}},
	"modes": {"ops": {"name": "Ops", "roleDefinition": "x", "can": {"read": "allow", "edit": "ask",
		"mcp": {"default": "ask", "github": {"deny": ["delete_*"]}}}}}
}`

func compileForeign(t *testing.T, settings string) *compiler.Result {
	t.Helper()
	files := memfs.FS{"modec.toml": []byte("baseline = \"dev\"\n" + settings), "modec/a.json": []byte(foreignSource)}
	res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return res
}

// What a pattern denies of tools that nobody lists no agent permits, and what it allows Claude Code
// runs.
func TestUnlistedTools(t *testing.T) {
	for _, inventory := range []string{"open", "closed"} {
		for _, target := range []string{"claude", "claude]\nhooks = false\n[targets.thurbox", "cursor", "roo", "zoo"} {
			res := compileForeign(t, fmt.Sprintf("inventory = %q\n[targets.%s]\n", inventory, target))
			report, diags := res.Verify(t.Context(), 1, nil)
			if report.Wider() > 0 {
				t.Errorf("%s, %s: %v", inventory, target, diags)
			}
			settings := string(res.FS()[".claude/settings.json"])
			for _, rule := range []string{"mcp__github__get_*", "mcp__github__get_secret*", "mcp__github__delete_*", "mcp__github__drop"} {
				if strings.HasPrefix(target, "claude") && !strings.Contains(settings, `"`+rule+`"`) {
					t.Errorf("%s, %s: %s is missing", inventory, target, rule)
				}
			}
		}
	}
}

// What somebody else's entry permits of what the source does not name is found on the disk.
func TestForeignEntries(t *testing.T) {
	res := compileForeign(t, "inventory = \"open\"\n[targets.claude]\nhooks = false\n")
	const name, at = ".claude/settings.json", `"allow": [`
	for _, rule := range []string{
		"mcp__github__create_*", "mcp__db__drop", "Edit(~/.bashrc)", "Edit(~/work/**)", "Edit(//etc/zz)", "Edit(//srv/**)",
		"Read(//srv/x/**)", "Edit(/zz/odd.txt)", "Bash(kubectl delete *)",
	} {
		disk := memfs.FS{}
		maps.Copy(disk, res.FS())
		disk[name] = []byte(strings.Replace(string(disk[name]), at, at+`"`+rule+`",`, 1))
		report, diags := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
		found := report.Surfaces[0].Findings
		found = append(found, report.Surfaces[0].Filled...) // of what the source leaves to the agent
		if len(found) == 0 {
			t.Errorf("%s: nothing is found: %v", rule, diags)
		}
	}
}

// A policy that somebody changed makes modec's hooks refuse, which is not wider.
func TestForeignPolicy(t *testing.T) {
	res := compileForeign(t, "[targets.claude]\n[targets.cursor]\n")
	disk := memfs.FS{}
	maps.Copy(disk, res.FS())
	const name = ".modec/policy.json"
	changed := strings.Replace(string(disk[name]), "delete_*", "delete_x", 1)
	if changed == string(disk[name]) {
		t.Fatal("the policy has another form")
	}
	disk[name] = []byte(changed)
	if report, diags := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk}); report.Wider() > 0 {
		t.Errorf("%d wider: %v", report.Wider(), diags)
	}
}

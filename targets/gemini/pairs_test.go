package gemini_test

import (
	"fmt"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
)

// TestRoleInMode: the rules of a role and those of a mode, which do not know each other, decide as the lower of the
// two.
func TestRoleInMode(t *testing.T) {
	list := func(folder string, n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"%s-%d/**"`, folder, i))
		}
		return strings.Join(all, ", ")
	}
	edit, command, web, unknown := ir.Edit, ir.Command, ir.Web, ir.Unknown
	for _, c := range []struct {
		name, permissionMode, role, mode string

		group ir.Group
		arg   string
		want  ir.Decision
	}{
		{"both allow", "", `"edit": {"allow": ["src/**"], "default": "deny"}`, `"edit": {"allow": ["src/a/**"]}`, edit,
			"src/a/x.go", ir.Allow},
		{"the role's list lacks it", "", `"edit": {"allow": ["src/**"], "default": "deny"}`, `"edit": "allow"`, edit, "docs/x", ir.Deny},
		{"the mode's list lacks it", "", `"edit": "allow"`, `"edit": {"allow": ["src/a/**"]}`, edit, "src/b", ir.Deny},
		{"the mode asks, and the role denies", "", `"edit": {"allow": ["src/**"], "default": "deny"}`, `"edit": "ask"`, edit, "docs/x",
			ir.Deny},
		{"the role asks, and the mode denies", "", `"edit": {"ask": ["src/**"]}`, `"edit": {"deny": ["src/x"], "default": "allow"}`,
			edit, "src/x", ir.Deny},
		{"the mode asks about what it does not list", "", `"edit": "allow"`, `"edit": {"allow": ["docs/**"], "default": "ask"}`, edit,
			"src/x", ir.Ask},
		{"and allows what it lists", "", `"edit": "allow"`, `"edit": {"allow": ["docs/**"], "default": "ask"}`, edit, "docs/x", ir.Allow},
		{"the role says nothing", "", ``, `"edit": {"allow": ["docs/**"], "default": "ask"}`, edit, "docs/x", ir.Allow},
		{"neither says anything", "", `"read": "allow"`, `"read": "allow"`, edit, "docs/x", ir.Deny},
		{"the permission mode gives way", "plan", ``, `"edit": {"allow": ["docs/**"]}`, edit, "docs/x", ir.Allow},
		{"also to what is left to the agent", "acceptEdits", ``, `"default": "agent"`, edit, "docs/x", ir.Ask},
		{"and not where the role lists", "dontAsk", `"edit": {"ask": ["docs/**"]}`, `"default": "agent"`, edit,
			"src/x", ir.Deny},
		{"each command of a line", "", `"command": {"allow": ["npm test"], "default": "deny"}`, `"command": "allow"`, command,
			"npm test && rm x", ir.Deny},
		{"a line of both", "", `"command": {"allow": ["npm test"], "default": "deny"}`,
			`"command": {"allow": ["npm *"], "default": "ask"}`, command, "npm test", ir.Allow},
		{"a host", "", `"web": {"deny": ["*.evil.example"], "default": "allow"}`, `"web": "ask"`, web, "a.evil.example", ir.Deny},
		{"a tool of no group", "", `"unknown": "allow"`, `"unknown": "ask"`, unknown, "save_memory", ir.Ask},
		{"the stricter role", "", `"unknown": "deny"`, `"unknown": "ask"`, unknown, "save_memory", ir.Deny},
		{"long lists", "", `"edit": {"allow": [` + list("src/a", 300) + `], "default": "deny"}`,
			`"edit": {"allow": [` + list("src/a", 200) + `], "default": "ask"}`, edit, "src/a-150/x", ir.Allow},
		{"beyond one of them", "", `"edit": {"allow": [` + list("src/a", 300) + `], "default": "deny"}`,
			`"edit": {"allow": [` + list("src/a", 200) + `], "default": "ask"}`, edit, "src/a-250/x", ir.Ask},
		{"beyond both", "", `"edit": {"allow": [` + list("src/a", 300) + `], "default": "deny"}`,
			`"edit": {"allow": [` + list("src/a", 200) + `], "default": "ask"}`, edit, "src/a-350/x", ir.Deny},
	} {
		if c.permissionMode != "" {
			c.permissionMode = `"permissionMode": "` + c.permissionMode + `", `
		}
		source := `{"roles": {"r": {` + c.permissionMode + `"can": {` + c.role + `}}},
"modes": {"m": {"name": "M", "roleDefinition": "x", "can": {` + c.mode + `}}}}`
		res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
			config.File: []byte("[targets.gemini]\n"), "modec/a.json": []byte(source),
		}})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", c.name, diags)
		}
		for _, target := range targets.All() {
			judged, ok := target.(contract.Judged)
			if !ok || target.Name() != "gemini" {
				continue
			}
			deciders, _ := judged.Open(res.FS(), res.Input(target).Options)
			ref := ir.SubjectRef{Role: "r", Mode: "m"}
			if got := deciders[0].Decide(ref, policy.Action{Group: c.group, Arg: c.arg}).Decision; got != c.want {
				t.Errorf("%s: got %s, want %s", c.name, got, c.want)
			}
		}
	}
}

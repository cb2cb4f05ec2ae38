package compiler_test

import (
	"fmt"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/targets"
)

// A file that stands in the place of a mode's MCP restrictions permits no more than the source, whoever wrote it.
func TestServedRestrictionsOnlyHoldBack(t *testing.T) {
	const mode = `modes: tight: {name: "Tight", roleDefinition: "You work.", can: CAN, mcpRestrictions: WAS}
modes: child: {extends: ["tight"], name: "Child", roleDefinition: "You work."}
servers: {docs: command: "docs", github: {command: "gh", tools: list: {}}}
`
	const none = "modes: tight: mcpRestrictions: {}"
	for name, c := range map[string]struct {
		can, was, file, served string
		want                   diag.Code // "": it compiles
		place                  string
	}{
		"less":         {`{mcp: "ask"}`, `{disallowedServers: ["docs"]}`, "mode-tight.cue", none, diag.Wider, "modec/served/mode-tight.cue:3:32"},
		"another":      {`{mcp: "ask"}`, `{disallowedServers: ["docs"]}`, "mode-tight.cue", `modes: tight: mcpRestrictions: disallowedServers: ["github"]`, diag.Wider, "modec/served/mode-tight.cue:3:32"},
		"more":         {`{mcp: "ask"}`, `{disallowedServers: ["docs"]}`, "mode-tight.cue", `modes: tight: mcpRestrictions: disallowedServers: ["docs", "github"]`, "", ""},
		"by two globs": {`{mcp: "ask"}`, `{disallowedTools: [{serverName: "*", toolName: "*b"}]}`, "mode-tight.cue", `modes: tight: mcpRestrictions: allowedTools: [{serverName: "*", toolName: "a*"}]`, diag.Wider, "modec/served/mode-tight.cue:3:32"},
		"none said":    {`{read: "allow"}`, `_|_`, "mode-tight.cue", none, diag.Wider, "modec/served/mode-tight.cue:3:32"},
		"none, closed": {`{mcp: "ask"}`, `_|_`, "mode-tight.cue", `modes: tight: mcpRestrictions: disallowedServers: ["docs"]`, "", ""},
		"another file": {`{mcp: "ask"}`, `{disallowedServers: ["docs"]}`, "mode-x.cue", `modes: tight: mcpRestrictions: disallowedServers: ["github"]`, diag.Conflict, "modec/served/mode-x.cue:3:51"},
		"computed":     {`{mcp: "ask"}`, `{disallowedServers: ["do" + "cs"]}`, "mode-tight.cue", none, diag.Wider, "modec/served/mode-tight.cue:3:32"},
		"referred to":  {`{mcp: "ask"}`, `{disallowedServers: ["docs"]}`, "mode-tight.cue", "modes: tight: mcpRestrictions: {disallowedServers: [\"docs\", \"github\"]}\nmodes: child: description: modes.tight.mcpRestrictions.disallowedServers[1]", diag.CUE, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("CAN", c.can, ", mcpRestrictions: WAS", strings.Replace(", mcpRestrictions: "+c.was, ", mcpRestrictions: _|_", "", 1)).Replace(mode)
			_, diags := compiler.Open(t.Context(), compiler.Request{FS: memfs.FS{
				"modec.toml":             []byte("name = \"x\"\n"),
				"modec/a.cue":            []byte("package modec\n\n" + text),
				"modec/served/" + c.file: []byte("package modec\n\n" + c.served + "\n"),
			}})
			var warned bool
			var failed diag.List
			for _, d := range diags {
				warned = warned || d.Code == diag.Overridden && d.Severity == diag.Warning
				if d.Severity == diag.Error {
					failed = append(failed, d)
				}
			}
			if c.want == "" && (len(failed) > 0 || warned != (c.was != "_|_")) {
				t.Errorf("got %v", diags)
			}
			if c.want != "" && (len(failed) == 0 || failed[0].Code != c.want || !strings.HasPrefix(failed[0].Pos.String(), c.place)) {
				t.Errorf("got %v, want %s at %s", diags, c.want, c.place)
			}
		})
	}
}

// Files can be named after the longest names that the compiler takes.
func TestLongestNames(t *testing.T) {
	text := fmt.Sprintf("modes: %q: {name: \"Long\", roleDefinition: \"You work.\", can: {read: \"allow\", mcp: \"ask\"}}\n"+
		"roles: %q: can: {read: \"allow\", edit: deny: [\"x\"]}\nservers: docs: command: \"docs\"\n",
		strings.Repeat("x", 220), strings.Repeat("é", 36)+"abcd")
	dir := t.TempDir()
	res, diags := compiler.Compile(t.Context(), compiler.Request{Root: dir, Targets: targets.All(), FS: memfs.FS{
		"modec.toml":  []byte("name = \"x\"\n[targets.claude]\n[targets.cursor]\n[targets.roo]\n"),
		"modec/a.cue": []byte("package modec\n\n" + text),
	}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if _, diags := res.Write(t.Context(), output.Options{Dir: dir}); diags.HasErrors() {
		t.Error(diags)
	}
}

package compiler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
)

// BenchmarkOpen measures reading, checking and resolving a source of n modes:
// in one file, one file a mode, and with one file that CUE has to evaluate.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, layout := range []string{"one", "each", "evaluated"} {
			b.Run(fmt.Sprintf("modes=%d/files=%s", n, layout), func(b *testing.B) {
				root := benchProject(b, n, layout)
				b.ReportAllocs()
				for b.Loop() {
					if res, diags := compiler.Open(b.Context(), compiler.Request{Root: root}); res == nil {
						b.Fatal(diags)
					}
				}
			})
		}
	}
}

func benchProject(b *testing.B, n int, layout string) string {
	root := b.TempDir()
	if err := os.WriteFile(filepath.Join(root, config.File), nil, 0o644); err != nil {
		b.Fatal(err)
	}
	put := func(name, text string) {
		file := filepath.Join(root, "modec", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("package modec\n\n"+text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	put("servers.cue", `servers: github: {
	command: "github-mcp"
	tools: {list_issues: risk: "read", create_issue: risk: "write", delete_repo: {}}
}
`)
	var all strings.Builder
	for i := range n {
		mode := fmt.Sprintf(`modes: "mode-%d": {
	name:           "Mode %d"
	description:    "The mode of number %d"
	whenToUse:      "When number %d is needed."
	roleDefinition: "You are number %d. You read before you write, and you say what you did."
	model:          "sonnet"
	can: {
		read:    "allow"
		edit:    {allow: ["src/%d/**", {regex: #"\.md$"#}], deny: ["**/secret/"]}
		command: {allow: ["git status", "git log *"], deny: ["git push *"], default: "ask"}
		web:     {allow: ["*.example.com"]}
		mcp: github: {allow: ["list_*"], ask: ["create_issue"], deny: ["delete_*"]}
	}
}
`, i, i, i, i, i, i)
		if layout == "each" {
			put(fmt.Sprintf("modes/mode-%d.cue", i), mode)
		} else {
			all.WriteString(mode)
		}
	}
	if layout != "each" {
		put("modes.cue", all.String())
	}
	if layout == "evaluated" {
		put("role.cue", `_greeting: "Hello"
roles: dev: {description: "\(_greeting), developer", permissionMode: "plan"}
`)
	}
	return root
}

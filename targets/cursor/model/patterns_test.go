package model

import (
	"fmt"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

func TestPatterns(t *testing.T) {
	ide, cli, _ := openFiles(t, files(t, map[string]string{
		"session:cursor/dev/cli.json": `{"permissions": {
			"allow": ["Shell(npm:ci)", "Mcp(a:b)", "WebFetch(*.docs.example)", "WebFetch(10.0.0.0/8)", "Read(~/x)"],
			"deny": ["Shell(git push)", "Shell(git push)", "Shell()", "Read(**/.env)", "Write(src/**)"]}}`,
		"session:cursor/dev/permissions.json": `{"terminalAllowlist": ["make"]}`,
	}))
	for d, want := range map[contract.Decider]map[ir.Group]string{
		cli: {ir.Command: "[git push * npm ci]", ir.Web: "[*.docs.example]", ir.Read: "[**/.env]", ir.Edit: "[src/**]",
			ir.MCP: "[]", ir.Modes: "[]"},
		ide: {ir.Command: "[make *]", ir.Read: "[]", ir.Edit: "[]", ir.Web: "[]"},
	} {
		got := d.(contract.Patterned).Patterns(dev)
		for g, text := range want {
			texts := []string{}
			for _, p := range got[g] {
				if p.Kind != ir.Plain {
					t.Errorf("%s: got a pattern of kind %s", d.Surface(), p.Kind)
				}
				texts = append(texts, p.Text)
			}
			if fmt.Sprint(texts) != text {
				t.Errorf("%s, %s: got %v, want %s", d.Surface(), g, texts, text)
			}
		}
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/targets"
)

// TestAcceptances pastes what verify prints for a decision that is wider into modec.toml: the next
// verification passes.
func TestAcceptances(t *testing.T) {
	t.Setenv("MODEC_CACHE", "off")
	dir := t.TempDir()
	config := "[targets.mcpnest]\nservers = [\"shop\"]\n"
	mustWrite(t, filepath.Join(dir, "modec.toml"), []byte(config))
	mustWrite(t, filepath.Join(dir, "modec", "source.cue"), []byte(`package modec

servers: shop: {url: "https://shop.example.com/mcp", tools: {list: risk: "read", sell: risk: "destructive"}}
roles: clerk: {claims: roles: ["clerk"], can: mcp: shop: "allow"}
roles: temp: {claims: roles: ["temp"], can: mcp: shop: {allow: ["@read"], default: "deny"}}
`))
	modec := func(args ...string) (int, string) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), targets.All(), append([]string{"-C", dir}, args...), nil, &stdout, &stderr)
		return code, stdout.String()
	}
	if code, _ := modec("build"); code != 0 {
		t.Fatal("the project does not build")
	}
	policy := filepath.Join(dir, "mcp-nest", "modec", "policy.ts")
	text, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	lax := bytes.ReplaceAll(text, []byte(`"sell": { roles: ["clerk"] }`), []byte(`"sell": { roles: ["clerk", "temp"] }`))
	if bytes.Equal(lax, text) {
		t.Fatalf("the table is written in another way:\n%s", text)
	}
	mustWrite(t, policy, lax)

	code, out := modec("verify", "--disk")
	const lead = "to accept this, paste into modec.toml, with your reason and your date:\n"
	_, table, ok := strings.Cut(out, lead)
	if code != int(report.ExitFindings) || !ok {
		t.Fatalf("got exit code %d and\n%s", code, out)
	}
	if n := strings.Count(table, "[[exceptions]]"); n != 1 || !strings.Contains(table, `'mcp shop:sell'`) {
		t.Errorf("got %d tables:\n%s", n, table)
	}
	mustWrite(t, filepath.Join(dir, "modec.toml"), []byte(config+table))
	if code, out := modec("verify", "--disk"); code != 0 || strings.Contains(out, lead) {
		t.Errorf("pasted, and got exit code %d and\n%s", code, out)
	}
}

// What somebody's own entry permits is accepted by its pattern, once: a table for an example that it permits would be
// followed by one for the next example.
func TestAcceptedPattern(t *testing.T) {
	t.Setenv("MODEC_CACHE", "off")
	dir := t.TempDir()
	config := "baseline = \"dev\"\n[targets.claude]\n"
	mustWrite(t, filepath.Join(dir, "modec.toml"), []byte(config))
	mustWrite(t, filepath.Join(dir, "modec", "source.cue"), []byte(`package modec

roles: dev: {description: "d", can: {edit: {allow: ["src/**"], deny: ["*.pem"], default: "ask"}, command: {default: "ask"}}}
`))
	modec := func(args ...string) (int, string) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), targets.All(), append([]string{"-C", dir}, args...), nil, &stdout, &stderr)
		return code, stdout.String()
	}
	if code, out := modec("build"); code != 0 {
		t.Fatalf("the project does not build:\n%s", out)
	}
	mustWrite(t, filepath.Join(dir, ".claude", "settings.local.json"),
		[]byte(`{"permissions": {"allow": ["Edit(lib/**)", "Bash(make *)"]}}`))
	code, out := modec("verify", "--disk")
	_, tables, ok := strings.Cut(out, "your date:\n")
	if code != int(report.ExitFindings) || !ok || !strings.Contains(tables, "'edit lib/**'") {
		t.Fatalf("got exit code %d and\n%s", code, out)
	}
	if n := strings.Count(tables, "[[exceptions]]"); n > 3 {
		t.Errorf("got %d tables:\n%s", n, tables)
	}
	mustWrite(t, filepath.Join(dir, "modec.toml"), []byte(config+tables))
	if code, out := modec("verify", "--disk"); code != 0 {
		t.Errorf("pasted, and got exit code %d and\n%s", code, out)
	}
}

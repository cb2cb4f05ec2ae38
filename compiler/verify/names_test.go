package verify_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"modec.dev/modec/compiler/memfs"
)

// Patterns that say little of a name: what stands for all names, or for one that nothing lists, they may match too.
var (
	namePatterns = []any{"*e*", "m*", "*-*", "*tool", "mod*", "*u*", "?o*", "*d", "x*", "get*", "*o", "modec*", "*server*",
		"??*", "get", "a-b", "do_*", "*.x", "list?", "get_?", "*_*"}
	pathPatterns = []any{"**/*e*", "**/m*", "m*/**", "/m*/**", "/**", "**", "*e*", "**/*-*/**", "**/?o*", "/*e*",
		"**/[!a]*", "[!a]*", "*o*/**", "**/*d", "../**", "../m*", "~/*e*", "/*/x", "*/e*", "**/??*", "src/**", "**/*.md",
		".env*", "**/.env", "a/*/c", "{a,b}/**", "a?c", "/etc/**", "**/node_modules/**"}
	linePatterns = []any{"m*", "*e*", "*-*", "mod* *", "* --any *", "*o* x", "git *", "* word", "git push *", "* -f *",
		"*ls*", "sudo *", "echo * x *", "* x", "env *", "ls", "make *"}
	hostPatterns = []any{"*.e.com", "*.com", "modec.dev", "*.modec.dev", "localhost", "a.b.c", "*.b.c"}
)

// TestDrawnNames compiles sources with such patterns, for three targets each: nothing may be wider. -more
// draws others, too.
func TestDrawnNames(t *testing.T) {
	count := uint64(1000)
	if testing.Short() {
		count = 100
	}
	draw := func(n uint64) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			neverWider(t, drawnNames(t, n))
		})
	}
	for n := range count {
		draw(n)
	}
	for n := range *more {
		draw(*from + n)
	}
}

func drawnNames(t *testing.T, n uint64) memfs.FS {
	d := drawer{rand.New(rand.NewPCG(n, 17))}
	can := func() map[string]any {
		can := map[string]any{}
		rules := func(patterns []any) map[string]any {
			table := map[string]any{"default": d.decision()}
			for _, list := range []string{"allow", "ask", "deny"} {
				if some := d.patterns(patterns, d.IntN(4)); len(some) > 0 {
					table[list] = some
				}
			}
			return table
		}
		for _, group := range []struct {
			name     string
			patterns []any
		}{{"read", pathPatterns}, {"edit", pathPatterns}, {"command", linePatterns}, {"web", hostPatterns}} {
			if d.one(2) {
				can[group.name] = rules(group.patterns)
			}
		}
		mcp := map[string]any{}
		for _, server := range []string{"*", "s", "m", "*-*"} {
			if d.one(2) {
				mcp[server] = rules(namePatterns)
			}
		}
		if len(mcp) > 0 && d.one(2) {
			can["mcp"] = mcp
		}
		if d.one(3) {
			can["modes"] = map[string]any{"default": d.decision(), "deny": d.patterns([]any{"code", "architect", "n"}, 2)}
		}
		if d.one(3) {
			can["outside"] = d.either(d.decision(), map[string]any{"read": d.decision()}, map[string]any{"edit": d.decision()})
		}
		if d.one(2) {
			can["default"] = d.decision()
		}
		if d.one(5) {
			can["unknown"] = d.decision()
		}
		return can
	}
	role := map[string]any{"can": can(), "modes": []string{"m", "n"}}
	if d.one(3) {
		role["permissionMode"] = d.of("plan", "acceptEdits", "dontAsk", "auto", "bypassPermissions")
	}
	source := map[string]any{
		"servers": map[string]any{"s": map[string]any{"command": "s", "tools": d.tools("get", "put.x", "a-b", "do_it")},
			"m": map[string]any{"command": "m"}},
		"modes": map[string]any{"m": map[string]any{"name": "M", "roleDefinition": "x", "can": can()},
			"n": map[string]any{"name": "N", "roleDefinition": "x"}},
		"roles": map[string]any{"r": role},
	}
	config, hooks := fmt.Sprintf("baseline = \"r\"\ninventory = %q\n", d.of("open", "closed")), "off"
	for _, target := range d.patterns([]any{"roo", "zoo", "cursor", "claude", "gemini", "codex", "copilot", "opencode",
		"kilo", "thurbox", "mcpnest", "vscode"}, 3) {
		config += fmt.Sprintf("[targets.%s]\n", target)
		switch target {
		case "mcpnest":
			config += "servers = [\"s\"]\n"
		case "cursor":
			config += "subject = \"role:r\"\n"
			fallthrough
		case "claude", "codex", "copilot":
			hooks = d.of("enforce", "off", "enforce")
		}
	}
	data, err := json.MarshalIndent(source, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	config = fmt.Sprintf("hooks = %q\n", hooks) + config
	return memfs.FS{"modec.toml": []byte(config), "modec/a.json": data}
}

// patterns draws n of a list.
func (d drawer) patterns(of []any, n int) []any {
	var out []any
	for _, i := range d.Perm(len(of))[:n] {
		out = append(out, of[i])
	}
	return out
}

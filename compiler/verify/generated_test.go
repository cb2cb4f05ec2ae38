package verify_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
)

// TestGenerated compiles sources that are drawn by chance for every target: nothing may be
// wider, with hooks and without. MODEC_DRAW=FIRST:LAST draws others than the usual ones.
func TestGenerated(t *testing.T) {
	first, last := 0, 120
	if testing.Short() {
		last = 25
	}
	if s := os.Getenv("MODEC_DRAW"); s != "" {
		a, b, _ := strings.Cut(s, ":")
		first, _ = strconv.Atoi(a)
		last, _ = strconv.Atoi(b)
	}
	for n := first; n < last; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			neverWider(t, drawn(uint64(n)))
		})
	}
}

// neverWider fails where a project does not build, or an artifact is wider than its source.
func neverWider(t *testing.T, files memfs.FS) {
	t.Helper()
	res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All()})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, files["modec/a.json"])
	}
	report, diags := res.Verify(t.Context(), 1, nil)
	if report.Wider() == 0 {
		return
	}
	var wider []string
	for _, d := range diags {
		if d.Code == "wider" && d.Pos.File != "" {
			wider = append(wider, d.String())
		}
	}
	t.Errorf("%d wider\n%s\n%s%s", report.Wider(), strings.Join(wider[:min(len(wider), 6)], "\n"),
		files["modec.toml"], files["modec/a.json"])
}

// Sources that somebody wrote, and that were wider on some agent.
func TestOrdinarySources(t *testing.T) {
	const mode = `"name": "A", "roleDefinition": "r"`
	for name, source := range map[string]string{
		"a path above the project": `"roles": {"a": {"can": {"edit": {"default": "allow", "deny": ["../infra/**"]},
			"outside": {"edit": "allow", "read": "allow"}, "command": {"allow": ["npm test *"], "default": "deny"}}}}`,
		"reads above the project":      `"roles": {"a": {"can": {"read": {"deny": ["../up/**", "../*.key"]}}}}`,
		"an allow above the project":   `"roles": {"a": {"can": {"edit": {"allow": ["../other/**"]}, "outside": {"edit": "ask"}}}}`,
		"a path below the home folder": `"roles": {"a": {"permissionMode": "bypassPermissions", "can": {"edit": {"deny": ["~/x"]}}}}`,
		"filters beside ask":           `"modes": {"a": {` + mode + `, "extends": ["readonly", "readonly_filters"]}}`,
		"filters beside the agent": `"modes": {"a": {` + mode +
			`, "can": {"read": "deny", "command": {"allow": ["@readonly_filters"]}, "default": "agent"}}}`,
		"a mode that asks outside": `"modes": {"a": {` + mode +
			`, "can": {"read": "allow", "outside": {"read": "ask"}}}}, "roles": {"a": {"permissionMode": "plan"}}`,
		"no server":           `"roles": {"a": {"can": {"mcp": "deny"}}}`,
		"no server of a mode": `"modes": {"a": {` + mode + `, "mcpRestrictions": {"allowedServers": []}}}`,
		"one server of a mode": `"servers": {"g": {"command": "g"}}, "modes": {"a": {` + mode +
			`, "can": {"read": "allow", "mcp": {"g": "allow"}, "unknown": "agent"}}}`,
		"a mode that asks beside auto": `"modes": {"a": {` + mode +
			`, "can": {"command": {}, "default": "ask", "unknown": "agent"}}}, "roles": {"a": {"permissionMode": "auto"}}`,
		"a tool whole":                  `"roles": {"a": {"allowedTools": ["WebFetch", "Read(//etc/**)"]}}`,
		"a name that is not ASCII":      `"roles": {"a": {"can": {"read": {"deny": ["über.md"], "ask": ["Größe/**"]}}}}`,
		"a class of letters":            `"roles": {"a": {"can": {"read": {"deny": ["[a-c]*.txt"]}}}}`,
		"a filter beside every command": `"roles": {"a": {"can": {"command": {"allow": ["@readonly_filters", "*"]}}}}`,
	} {
		for _, hooks := range []string{`"auto"`, "false"} {
			for _, inventory := range []string{"open", "closed"} {
				t.Run(name+" "+inventory+" "+hooks, func(t *testing.T) {
					t.Parallel()
					subject := "role:a"
					if !strings.Contains(source, `"roles"`) {
						subject = "mode:a"
					}
					neverWider(t, memfs.FS{"modec/a.json": []byte("{" + source + "}"), "modec.toml": []byte(
						fmt.Sprintf("inventory = %q\n[targets.roo]\n[targets.zoo]\n[targets.claude]\nhooks = %s\n"+
							"[targets.cursor]\nhooks = %s\nsubject = %q\n[targets.thurbox]\n", inventory, hooks, hooks, subject))})
				})
			}
		}
	}
}

// drawn returns a small project: the same one for the same number.
func drawn(n uint64) memfs.FS {
	d := drawer{rand.New(rand.NewPCG(n, 14))}
	source := map[string]any{
		"servers": map[string]any{
			"docs":  map[string]any{"command": "d", "tools": map[string]any{"get": map[string]any{"risk": "read"}, "put": map[string]any{"risk": "write"}}},
			"admin": map[string]any{"url": "https://a.example.com/mcp", "defaultEnabled": false, "tools": map[string]any{"drop": map[string]any{"risk": "destructive"}}},
		},
		"roles": map[string]any{}, "modes": map[string]any{},
	}
	for i := range 1 + d.IntN(2) {
		role := map[string]any{"can": d.can()}
		if d.one(3) {
			role["permissionMode"] = d.of("default", "plan", "acceptEdits", "dontAsk", "auto", "bypassPermissions")
		}
		if d.one(4) {
			role["modes"] = []string{"m0"}
		}
		if d.one(6) {
			role["extends"] = []string{d.of("readonly", "git_read", "readonly_filters")}
		}
		source["roles"].(map[string]any)[fmt.Sprintf("r%d", i)] = role
	}
	for i := range 2 {
		source["modes"].(map[string]any)[fmt.Sprintf("m%d", i)] = map[string]any{"name": "M", "roleDefinition": "x", "can": d.can()}
	}
	config := ""
	if d.one(2) {
		config += "baseline = \"r0\"\n"
	}
	if d.one(6) {
		config += fmt.Sprintf("silence = %q\n", d.of("ask", "deny"))
	}
	hooks := d.of("\"auto\"", "\"auto\"", "\"auto\"", "true", "false")
	config += "[targets.roo]\n[targets.zoo]\n[targets.cursor]\nhooks = " + hooks + "\n[targets.claude]\nhooks = " + hooks + "\n[targets.mcpnest]\n"
	if d.one(3) {
		config += "[targets.thurbox]\n"
	}
	data, err := json.MarshalIndent(source, "", " ")
	if err != nil {
		panic(err)
	}
	return memfs.FS{"modec.toml": []byte(config), "modec/a.json": data}
}

type drawer struct{ *rand.Rand }

// one reports true once in n times.
func (d drawer) one(n int) bool { return d.IntN(n) == 0 }

func (d drawer) of(words ...string) string { return words[d.IntN(len(words))] }

func (d drawer) decision() string { return d.of("deny", "ask", "allow", "agent") }

// table draws a group: nothing, a word, or lists of patterns.
func (d drawer) table(set func(any), patterns ...any) {
	switch d.IntN(5) {
	case 0, 1:
		return
	case 2:
		set(d.decision())
		return
	}
	t := map[string]any{}
	left := slices.Clone(patterns)
	d.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	for _, list := range []string{"allow", "ask", "deny"} {
		if n := d.IntN(3); n > 0 && len(left) >= n && d.one(2) {
			t[list], left = left[:n], left[n:]
		}
	}
	if d.one(2) {
		t["default"] = d.decision()
	}
	if len(t) > 0 {
		set(t)
	}
}

func (d drawer) can() map[string]any {
	can := map[string]any{}
	to := func(key string) func(any) { return func(v any) { can[key] = v } }
	regex := map[string]string{"regex": `\.test\.ts$`}
	d.table(to("read"), "docs/**", ".env", "src/", "*.pem", "secret", "**", regex)
	d.table(to("edit"), "docs/**", ".env", "src/", "*.md", "**/*.go", "/README.md", "**", regex)
	d.table(to("command"), "npm test *", "git push *", "ls", "ls *", "git *", "@git_read", "rm -rf *", "*")
	d.table(to("web"), "a.example.com", "*.example.com", "*")
	d.table(to("modes"), "m0", "m1", "*")
	mcp := map[string]any{}
	entry := func(server string, tools ...any) { d.table(func(v any) { mcp[server] = v }, tools...) }
	entry("docs", "get", "put", "*", "@read", "g*")
	entry("admin", "drop", "*", "@destructive")
	entry("*", "*", "@read", "@destructive")
	if d.one(4) {
		mcp["default"] = d.decision()
	}
	if len(mcp) > 0 {
		can["mcp"] = mcp
	}
	if d.one(4) {
		can["default"] = d.decision()
	}
	if d.one(8) {
		can["unknown"] = d.decision()
	}
	if d.one(8) {
		can["outside"] = map[string]any{d.of("read", "edit"): d.of("deny", "ask", "allow")}
	}
	return can
}

package lint_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/targets"
)

var lintDay = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// linted looks at a source of one file.
func linted(t *testing.T, settings, name, text string) (*compiler.Result, []lint.Finding) {
	t.Helper()
	files := fstest.MapFS{config.File: {Data: []byte(settings)}, name: {Data: []byte(text)}}
	if name == config.File {
		files[name].Data = []byte(text + "\n" + settings + "[targets.claude]\n")
	}
	if !strings.HasPrefix(name, "modec/") { // code of the project, beside a source
		files["modec/a.cue"] = &fstest.MapFile{Data: []byte("package modec\n\nservers: s: {url: \"http://s\", tools: t: {}}\n" +
			"roles: r: can: web: \"deny\"\n")}
		files[config.File].Data = append(files[config.File].Data, "[targets.mcpnest]\nservers = [\"s\"]\nsources = [\"src/*.ts\"]\n"...)
	}
	req := compiler.Request{
		FS:      files,
		Targets: targets.All(),
		Today:   lintDay,
	}
	res, diags := compiler.Open(t.Context(), req)
	if diags.HasErrors() {
		t.Fatalf("%s\n%v", text, diags)
	}
	return res, res.Lint(files)
}

func ids(findings []lint.Finding) []string {
	out := []string{}
	for _, f := range findings {
		out = append(out, string(f.Code))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestLintExamples: the bad example of each rule has that finding at a line, the good
// one has none of it, and what --fix takes away is gone and no decision another.
func TestLintExamples(t *testing.T) {
	const header = "package modec\n\n"
	for _, r := range lint.All(targets.All()) {
		t.Run(string(r.ID), func(t *testing.T) {
			if len(r.Doc) < 60 || r.Good == "" || r.Bad == "" && r.ID != "long-prompt" {
				t.Errorf("got %q with the examples %q and %q", r.Doc, r.Bad, r.Good)
			}
			bad := r.Bad
			if r.ID == "long-prompt" {
				bad = fmt.Sprintf("modes: m: {name: \"M\", whenToUse: \"w\", roleDefinition: %q}", strings.Repeat("x", lint.DefaultPromptLimit+1))
			}
			name, header := "modec/a.cue", header
			if r.Beside != "" {
				name, header = r.Beside, ""
			}
			if r.Review != "" {
				name, header = "src/a.ts", "// code\n\n"
			}
			res, found := linted(t, "", name, header+bad)
			i := slices.IndexFunc(found, func(f lint.Finding) bool { return f.Code == r.ID })
			if i < 0 {
				t.Fatalf("got %v, want %s", ids(found), r.ID)
			}
			if f := found[i]; f.Pos.File != name || f.Pos.Line < 3 || f.Severity != r.Severity || f.Message == "" {
				t.Errorf("got %v", f)
			}
			if _, good := linted(t, "", name, header+r.Good); slices.Contains(ids(good), string(r.ID)) {
				t.Errorf("the good example has it too: %v", good)
			}
			// Switched off, or raised.
			if _, off := linted(t, "[lint]\n"+string(r.ID)+" = \"off\"\n", name, header+bad); slices.Contains(ids(off), string(r.ID)) {
				t.Error("it is found though it is off")
			}
			_, raised := linted(t, "[lint]\n"+string(r.ID)+" = \"error\"\n", name, header+bad)
			if i := slices.IndexFunc(raised, func(f lint.Finding) bool { return f.Code == r.ID }); i < 0 || raised[i].Severity != diag.Error {
				t.Errorf("got %v, want an error", raised)
			}
			if !r.Fixable {
				return
			}
			fixed := lint.Fixes(res.Sources, found)
			if len(fixed) != 1 {
				t.Fatalf("got %d fixed files", len(fixed))
			}
			after, left := linted(t, "", name, string(fixed[name]))
			if slices.Contains(ids(left), string(r.ID)) {
				t.Errorf("it is still there: %s", fixed[name])
			}
			changes, err := diff.Projects(res.Policy, after.Policy, 1)
			if err != nil || len(changes.Changes)+len(changes.Others) > 0 {
				t.Errorf("the fix changes %v, %v", changes, err)
			}
		})
	}
	if !slices.IsSortedFunc(lint.All(targets.All()), func(a, b lint.Rule) int { return strings.Compare(string(a.ID), string(b.ID)) }) {
		t.Error("the rules are not sorted")
	}
}

// What a policy says is not void because one of those that extend it says more.
func TestVoidOfPolicy(t *testing.T) {
	const source = "package modec\n\n" + `policies: house: can: command: ask: ["kubectl apply *"]
roles: {
	a: {extends: ["house"], description: "d", can: command: {deny: ["kubectl *"], default: "ask"}}
	b: {extends: ["house"], description: "d", can: command: {allow: ["kubectl *"], default: "ask"}}
}
`
	if _, found := linted(t, "", "modec/a.cue", source); slices.Contains(ids(found), "void-rule") {
		t.Errorf("got %v", found)
	}
}

// TestIgnores: a comment with a reason silences a rule on its line, or on the next that
// is no comment, in CUE and in YAML, and no other.
func TestIgnores(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		want             []string
	}{
		{"in code of the project", "../src/a.ts", "class A implements CanActivate {\n  canActivate(c) {\n    // modec:ignore mcpnest-trusts-body its signature is verified\n    return c.getArgs()[0].admin;\n  }\n}\n", []string{}},
		{"at the end of the line", "a.cue", "package modec\nroles: r: permissionMode: \"bypassPermissions\" // modec:ignore bypass-permissions why\n", nil},
		{"above", "a.cue", "package modec\n\n// modec:ignore bypass-permissions why\n// and more\n\nroles: r: permissionMode: \"bypassPermissions\"\n", nil},
		{"another rule", "a.cue", "package modec\nroles: r: permissionMode: \"bypassPermissions\" // modec:ignore long-prompt why\n", []string{"bypass-permissions", "unused-ignore"}},
		{"another line", "a.cue", "package modec\n// modec:ignore bypass-permissions why\nroles: q: {}\nroles: r: permissionMode: \"bypassPermissions\"\n", []string{"bypass-permissions", "unused-ignore"}},
		{"no reason", "a.cue", "package modec\nroles: r: permissionMode: \"bypassPermissions\" // modec:ignore bypass-permissions\n", []string{"bypass-permissions", "reasonless-ignore"}},
		{"in a text", "a.cue", "package modec\nroles: r: {permissionMode: \"bypassPermissions\", description: \"// modec:ignore bypass-permissions why\"}\n", []string{"bypass-permissions"}},
		{"YAML", "a.yaml", "roles:\n  r:\n    permissionMode: bypassPermissions # modec:ignore bypass-permissions why\n", nil},
		{"YAML above", "a.yaml", "roles:\n  r:\n    # modec:ignore bypass-permissions why\n    permissionMode: bypassPermissions\n", nil},
		{"CR LF", "a.cue", "package modec\r\nroles: r: permissionMode: \"bypassPermissions\" // modec:ignore bypass-permissions why\r\n", nil},
		{"one that is unknown", "a.cue", "package modec\nroles: r: {} // modec:ignore bypass why\n", []string{"unknown-ignore"}},
	} {
		_, found := linted(t, "", path.Join("modec", c.file), c.text)
		if d := cmp.Diff(append([]string{}, c.want...), ids(found)); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
	}
}

// TestLintFixes: what stands around an item that goes.
func TestLintFixes(t *testing.T) {
	for name, c := range map[string][2]string{
		"the first of a line":   {`["git status", "git *", "x"]`, `["git *", "x"]`},
		"the last of a line":    {`["git *", "x", "git status"]`, `["git *", "x"]`},
		"a trailing comma":      {`["git *", "git status",]`, `["git *",]`},
		"a line of its own":     {"[\n\t\t\"git *\",\n\t\t// why\n\t\t\"git status\", // here\n\t\t\"x\",\n\t]", "[\n\t\t\"git *\",\n\t\t// why\n\t\t// here\n\t\t\"x\",\n\t]"},
		"an own line":           {"[\n\t\t\"git *\",\n\t\t\"git status\",\n\t\t\"x\",\n\t]", "[\n\t\t\"git *\",\n\t\t\"x\",\n\t]"},
		"two of them":           {`["git *", "git status", "git log", "x"]`, `["git *", "x"]`},
		"two that say the same": {`["git status", "git status"]`, `["git status"]`},
		"no plain text":         {`["git *", #"git status"#]`, `["git *", #"git status"#]`},
	} {
		text := func(list string) string {
			return "package modec\n\nroles: r: can: command: {\n\tallow: " + list + "\n\tdefault: \"ask\"\n}\n"
		}
		res, found := linted(t, "", "modec/a.cue", text(c[0]))
		got := text(c[0])
		if fixed, ok := lint.Fixes(res.Sources, found)["modec/a.cue"]; ok {
			got = string(fixed)
		}
		if d := cmp.Diff(text(c[1]), got); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
		linted(t, "", "modec/a.cue", got)
	}
}

// TestLintFixtures: every fixture can be looked at, twice with the same result, and
// what would be fixed changes no decision.
func TestLintFixtures(t *testing.T) {
	files, err := filepath.Glob("../../fixtures/*/modec.toml")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, file := range files {
		req := compiler.Request{Root: filepath.Dir(file), Targets: targets.All(), Today: lintDay}
		res, diags := compiler.Open(t.Context(), req)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		found := res.Lint(nil)
		if d := cmp.Diff(found, res.Lint(nil)); d != "" {
			t.Errorf("%s: twice\n%s", file, d)
		}
		fixed := lint.Fixes(res.Sources, found)
		if len(fixed) == 0 {
			continue
		}
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(req.Root)); err != nil {
			t.Fatal(err)
		}
		for name, text := range fixed {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		req.Root = dir
		after, diags := compiler.Open(t.Context(), req)
		if diags.HasErrors() {
			t.Fatalf("%s: %v", file, diags)
		}
		changes, err := diff.Projects(res.Policy, after.Policy, 1)
		if err != nil || len(changes.Changes)+len(changes.Others) > 0 {
			t.Errorf("%s: the fix changes %+v, %v", file, changes, err)
		}
	}
}

// TestCommandsThatReachFar: what is said of a command holds for the policy, and nothing of what a
// hint names is found again.
func TestCommandsThatReachFar(t *testing.T) {
	find := func(code diag.Code, can string) []string {
		t.Helper()
		_, found := linted(t, "", "modec/a.cue", "package modec\n\nroles: r: {description: \"x\", can: {"+can+"}}\n")
		var out []string
		for _, f := range found {
			if f.Code == code {
				out = append(out, f.Message)
			}
		}
		return out
	}
	const reads, far = "denied-read-by-command", "far-reaching-allow"
	for _, c := range []struct {
		code diag.Code
		can  string
		want []string
	}{
		{reads, `read: {deny: [".env", "secrets/**"], default: "allow"}, command: {default: "ask", ` +
			`allow: ["ls *", "grep *", "cat *", "sed -n *", "echo *", "head -n 5 *"]}`,
			[]string{`what may not be read, such as .env, is read by commands that are allowed: ` +
				`"grep *", "cat *", "sed -n *", "head -n 5 *"`}},
		{reads, `read: {deny: ["secrets/**"], default: "allow"}, command: {default: "ask", allow: ["cat *"], ` +
			`deny: ["cat *secrets*"]}`, nil},
		{reads, `read: {deny: [{regex: "\\.pem$"}], default: "allow"}, command: {default: "ask", allow: ["cat *"]}`,
			[]string{`what may not be read, such as key.pem, is read by commands that are allowed: "cat *"`}},
		{reads, `read: "allow", command: {default: "ask", allow: ["cat *"]}`, nil},
		{reads, `read: {deny: [".env"], default: "allow"}, command: {default: "ask", allow: ["@readonly_filters", "cat README.md"]}`,
			nil},
		{far, `command: {default: "ask", allow: ["find *"], deny: ["find *-delete*"]}`,
			[]string{`"find *" allows more than it seems to: it writes a file (find . -fprint FILE), ` +
				`it runs any program (find . -exec PROGRAM ';')`}},
		{far, `command: {default: "ask", allow: ["sed -n *"]}`,
			[]string{`"sed -n *" allows more than it seems to: it changes files (sed -n -i SCRIPT FILE), ` +
				`it writes a file (sed -n 'w FILE'), it runs any program (sed -n '1e PROGRAM')`}},
		{far, `command: {default: "ask", allow: ["@git_read", "@readonly_filters", "git status", "git diff", "ls *"]}`, nil},
	} {
		if diff := cmp.Diff(c.want, find(c.code, c.can)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.can, diff)
		}
	}
}

// The settings are a file of the source as well.
func TestSecretInSettings(t *testing.T) {
	_, findings := linted(t, "# use sbp_0123456789abcdef0123456789abcdef01234567\n", "modec/a.cue",
		"package modec\nroles: r: {}\n")
	for _, f := range findings {
		if f.Code == "secret-literal" && f.Pos == (diag.Pos{File: config.File, Line: 1, Col: 7}) {
			return
		}
	}
	t.Errorf("got %v", findings)
}

// A secret is found wherever a server or a subject may state one, and no reference is.
func TestSecretLiterals(t *testing.T) {
	for source, want := range map[string]int{
		`servers: s: {command: "x", args: ["--token", "swordfish"]}`:                                              1,
		`servers: s: {command: "x", args: ["--token", "${TOKEN}"]}`:                                               0,
		`servers: s: {command: "x", env: {A_TOKEN: "swordfish", B_KEY: "${B}", NODE_ENV: "production"}}`:          1,
		`servers: s: {url: "https://me:swordfish@x.example/mcp"}`:                                                 1,
		`servers: s: {url: "https://x.example/mcp?api_key=swordfish"}`:                                            1,
		`servers: s: {url: "https://x.example/mcp", headers: "X-Api-Key": "swordfish"}`:                           1,
		`servers: s: {type: "external", entries: "~/.claude.json": "x --token swordfish"}`:                        1,
		`servers: s: {type: "external", entries: "~/.claude.json": "x --token ***"}`:                              0,
		`roles: r: env: API_KEY: "swordfish"`:                                                                     1,
		`roles: r: appendSystemPrompt: "Use ghp_0123456789abcdefghijABCDEFGHIJ012345."`:                           1,
		`roles: r: can: command: allow: ["x ghp_0123456789abcdefghijABCDEFGHIJ012345"]`:                           1,
		`roles: r: can: command: allow: ["mysql -phunter2 *"]`:                                                    1,
		`roles: r: {description: "Uses export X_TOKEN=swordfish", can: read: "allow"}`:                            1,
		`roles: r: appendSystemPrompt: "Run docker login -p swordfish first."`:                                    1,
		`roles: r: appendSystemPrompt: "Run docker login -p $PW with the token of the vault."`:                    0,
		`modes: m: {name: "M", roleDefinition: "r", whenToUse: "after curl -u me:swordfish"}`:                     1,
		`modes: m: {name: "M", roleDefinition: "r", can: edit: {allow: ["a"], description: "x?token=swordfish"}}`: 1,
		`servers: s: {command: "x", tools: t: description: "sbp_0123456789abcdef0123456789abcdef01234567"}`:       1,
		`policies: p: can: command: deny: ["curl -u me:swordfish *"]`:                                             1,
		"// PGPASSWORD=swordfish psql\nroles: r: can: read: \"allow\"":                                            1,
		"// the token of the database is in the vault\nroles: r: can: read: \"allow\"":                            0,
	} {
		_, findings := linted(t, "", "modec/a.cue", "package modec\n"+source)
		n := 0
		for _, f := range findings {
			if f.Code == "secret-literal" {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: got %d findings, want %d: %v", source, n, want, ids(findings))
		}
	}
}

// An allow ends with its last day, in its own zone, and is found at its place: an error after it, a warning in the
// week before, each on both sides of its limit.
func TestExpired(t *testing.T) {
	const source = "package modec\n\n" + `policies: late: can: command: allow: [{rule: "make release", until: "2026-12-31", zone: "Europe/Berlin"}]
roles: {
	a: {extends: ["late"], description: "d", can: command: default: "deny"}
	b: {extends: ["late"], description: "d", can: edit: {allow: [{rule: "docs/**", daily: "09:00-17:00"}], default: "deny"}}
}
`
	for at, want := range map[string][]string{
		"2026-12-23T22:59:59Z": {},
		"2026-12-23T23:00:00Z": {`allow-ends-soon modec/a.cue:3:39 warning: allow "make release" ends in 7 days, on 2026-12-31`},
		"2026-12-30T12:00:00Z": {`allow-ends-soon modec/a.cue:3:39 warning: allow "make release" ends tomorrow, on 2026-12-31`},
		"2026-12-31T22:59:59Z": {`allow-ends-soon modec/a.cue:3:39 warning: allow "make release" ends today, on 2026-12-31`},
		"2026-12-31T23:00:00Z": {`expired-allow modec/a.cue:3:39 error: allow "make release" permits nothing since its last day, 2026-12-31`},
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{config.File: {Data: []byte("[targets.claude]\n")}, "modec/a.cue": {Data: []byte(source)}}
		res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All(), Today: now})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		got := []string{}
		for _, f := range res.Lint(files) {
			if strings.Contains(string(f.Code), "allow") {
				got = append(got, fmt.Sprintf("%s %s %s: %s", f.Code, f.Pos, f.Severity, f.Message))
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", at, d)
		}
	}
}

// Several stars mean what one does: any command.
func TestOverBroadStars(t *testing.T) {
	for _, stars := range []string{"*", "**", "***"} {
		_, found := linted(t, "", "modec/a.cue", "package modec\n\nroles: a: {description: \"d\", "+
			"can: command: {allow: [\""+stars+"\"], default: \"ask\"}}\n")
		if got := ids(found); !slices.Contains(got, "over-broad-allow") || slices.Contains(got, "far-reaching-allow") {
			t.Errorf("%s: got %v", stars, found)
		}
	}
}

// What is allowed at times is as broad as what always is, a thing that is used at times is used, and no fix takes a
// rule out that an allow stands beside only at times.
func TestTimesInLint(t *testing.T) {
	_, found := linted(t, "", "modec/a.cue", `package modec

servers: s: {command: "s", tools: {drop: risk: "destructive", get: risk: "read"}}
roles: {
	a: {description: "d", can: {mcp: s: {allow: [{rule: "drop", until: "2027-12-31"}, "get"], default: "deny"}, edit: allow: ["docs/**"],
		command: {allow: [{rule: "*", until: "2027-12-31"}], default: "deny"}}}
	b: {description: "d", can: command: {ask: ["make"], allow: ["make *", {rule: "make", until: "2027-12-31"}]}}
}
`)
	if got := ids(found); !slices.Contains(got, "destructive-allowed") || !slices.Contains(got, "over-broad-allow") ||
		slices.Contains(got, "unused-tool") || slices.Contains(got, "duplicate-rule") {
		t.Errorf("got %v", found)
	}
}

package suggest_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/suggest"
	"modec.dev/modec/targets"
)

const servers = `
servers: {
	github: {command: "github-mcp", tools: {list_issues: {}, create_issue: {}, delete_repo: risk: "destructive"}}
	"weather-report": {command: "weather", tools: forecast: risk: "read"}
	open: {command: "open"}
}
`

func project(t *testing.T, source string) (fstest.MapFS, compiler.Request, *compiler.Result) {
	t.Helper()
	files := fstest.MapFS{"modec.toml": {Data: []byte("inventory = \"open\"\n[targets.model]\n")}, "modec/servers.cue": {Data: []byte("package modec\n" + servers)}, "modec/a.cue": {Data: []byte("package modec\n\n" + source)}}
	req := compiler.Request{FS: files, Targets: targets.All(), Today: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	res, diags := compiler.Compile(t.Context(), req)
	if res == nil {
		t.Fatal(diags)
	}
	return files, req, res
}

// Each code has sources in which it is found, and such in which it is not; what is
// applied is not found again.
func TestSuggestions(t *testing.T) {
	mode := func(prompt, can string) string {
		return `modes: m: {name: "M", roleDefinition: "` + prompt + `", can: {` + can + "}}\n"
	}
	for _, c := range []struct{ name, source, want string }{
		{"nothing of servers", mode("You write code.", `read: "allow"`), ""},
		{"a server by its name", mode("Use GitHub.", `mcp: github: {ask: ["list_issues"], default: "deny"}`), ""},
		{"a word of its name", mode("Look at the weather.", `mcp: "weather-report": "allow"`), ""},
		{"a tool of it", mode("Call list_issues.", `mcp: github: {ask: ["list_issues"], default: "deny"}`), ""},
		{"servers never mentioned", mode("You write code.", `edit: "ask", mcp: "ask"`),
			`unmentioned-server it may use the server "github", unmentioned-server it may use the server "open", unmentioned-server it may use the server "weather-report"`},
		{"restrictions are there", mode("You write code.", `edit: "ask", mcp: "ask"}, mcpRestrictions: {allowedServers: ["github"]`), ""},
		{"a reader that destroys", mode("Use github.", `read: "allow", mcp: github: "ask"`),
			`dangerous-tool it neither edits nor runs commands, dangerous-tool it neither edits nor runs commands`},
		{"an editor may", mode("Use github.", `edit: "ask", mcp: github: "ask"`), ""},
		{"any command beside a narrow edit", mode("You write code.", `edit: {allow: ["docs/**"]}, command: "allow"`), `command-defeats-edit it may edit some files only`},
		{"asked commands", mode("You write code.", `edit: {allow: ["docs/**"]}, command: "ask"`), ""},
		{"all edits", mode("You write code.", `edit: "allow", command: "allow"`), ""},
		{"everything of a server", mode("Open it.", `mcp: open: "allow"`), `blanket-approval every tool of the server "open"`},
		{"by a list", mode("Open it.", `mcp: open: {allow: ["*"]}`), `blanket-approval every tool of the server "open"`},
		{"by a policy", `policies: p: can: mcp: open: {allow: ["*"], default: "ask"}` + "\n" + mode("Open it.", `edit: "ask"`)[:len(mode("Open it.", `edit: "ask"`))-2] + `, extends: ["p"]}` + "\n", `blanket-approval every tool of the server "open"`},
		{"of a role", `roles: r: can: mcp: open: "allow"` + "\n", `blanket-approval every tool of the server "open"`},
		{"what only reads", mode("The weather.", `mcp: "weather-report": "allow"`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, req, res := project(t, c.source)
			got, diags := suggest.Project(t.Context(), files, req, res)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			var lines []string
			for _, s := range got.Suggestions {
				text, _, _ := strings.Cut(s.Message, ", ")
				text, _, _ = strings.Cut(text, " is allowed")
				lines = append(lines, string(s.Code)+" "+text)
				if s.Pos.Line == 0 || s.File == "" {
					t.Errorf("%+v has no place", s)
				}
			}
			if d := cmp.Diff(c.want, strings.Join(lines, ", ")); d != "" {
				t.Fatal(d)
			}
			for _, f := range got.Files {
				files[f.Path] = &fstest.MapFile{Data: f.Data}
			}
			after, diags := compiler.Compile(t.Context(), req)
			if after == nil {
				t.Fatal(diags)
			}
			again, diags := suggest.Project(t.Context(), files, req, after)
			if diags.HasErrors() || len(again.Suggestions) > 0 {
				t.Errorf("applied, and found again: %v %v", again.Suggestions, diags)
			}
		})
	}
}

// A patch keeps everything else of a file, comments included, and holds back.
func TestPatch(t *testing.T) {
	const source = `// The writer.
modes: m: {
	name:           "M" // short
	roleDefinition: "You write."
	can: {
		edit: allow: ["docs/**"]
		// Anything.
		command: "allow" // really
	}
}
`
	files, req, res := project(t, source)
	got, _ := suggest.Project(t.Context(), files, req, res)
	if len(got.Files) != 1 || string(got.Files[0].Data) != "package modec\n\n"+strings.Replace(source, `"allow" // really`, `"ask" // really`, 1) {
		t.Fatalf("got %d files: %s", len(got.Files), got.Files[0].Data)
	}
	files["modec/a.cue"] = &fstest.MapFile{Data: got.Files[0].Data}
	after, diags := compiler.Open(t.Context(), req)
	if after == nil {
		t.Fatal(diags)
	}
	s, err := after.Policy.Subject(ir.SubjectRef{Mode: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Decide(policy.Action{Group: ir.Command, Arg: "rm x"}).Decision; d != ir.Ask {
		t.Errorf("got %s", d)
	}
}

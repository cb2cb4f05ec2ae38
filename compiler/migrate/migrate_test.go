package migrate_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
)

// TestFixtures migrates each archive of fixtures/import: its files become what
// stands below want/, the report included.
func TestFixtures(t *testing.T) {
	names, err := filepath.Glob("../../fixtures/import/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in, want := map[string]string{}, map[string]string{}
			var kept []txtar.File
			home := fstest.MapFS{}
			for _, f := range a.Files {
				if rest, ok := strings.CutPrefix(f.Name, "want/"); ok {
					want[rest] = string(f.Data)
					continue
				}
				kept = append(kept, f)
				if rest, ok := strings.CutPrefix(f.Name, "home/"); ok {
					home[rest] = &fstest.MapFile{Data: f.Data}
				} else {
					in[f.Name] = string(f.Data)
				}
			}
			flags := string(a.Comment)
			res, diags := run(t, in, func(r *migrate.Request) {
				if len(home) > 0 {
					r.Home = home
				}
				r.Repair = strings.Contains(flags, "--repair")
				if strings.Contains(flags, "--approved") {
					r.Approved = ir.Groups
				}
			})
			got := map[string]string{"report": report(res, diags)}
			if res != nil {
				for _, f := range res.Files {
					got[f.Path] = string(f.Data)
					if !strings.HasSuffix(got[f.Path], "\n") {
						got[f.Path] += "\n" // an archive cannot hold a file without
					}
				}
			}
			if d := cmp.Diff(want, got); d != "" && !*update {
				t.Errorf("(-want +got)\n%s", d)
			} else if d != "" {
				a.Files = kept
				var paths []string
				for p := range got {
					paths = append(paths, p)
				}
				slices.Sort(paths)
				for _, p := range paths {
					a.Files = append(a.Files, txtar.File{Name: "want/" + p, Data: []byte(got[p])})
				}
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// report is what people are told, a line a note.
func report(res *migrate.Result, diags diag.List) string {
	var b strings.Builder
	for _, d := range diags {
		if d.Severity == diag.Error {
			fmt.Fprintln(&b, d)
		}
	}
	if res == nil {
		return b.String()
	}
	for _, n := range res.Report.Notes {
		fmt.Fprintf(&b, "%s %s %s: %s: %s\n", n.Kind, n.Pos, n.Subject, n.What, n.Why)
	}
	fmt.Fprintf(&b, "rules %d of %d\n", res.Report.Rules.Understood, res.Report.Rules.Of)
	source, built := res.Report.Total()
	fmt.Fprintf(&b, "wider %d and %d\n", source.Wider, built.Wider)
	return b.String()
}

// TestRefuses: what cannot be migrated is an error at its place, and there is no
// result.
func TestRefuses(t *testing.T) {
	laughs := "customModes:\n  - &a [x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i <= 'z'; i++ {
		laughs += fmt.Sprintf("  - &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		named []string
		want  string
	}{
		{"nothing", map[string]string{"README.md": "hi"}, nil, "nothing-to-migrate"},
		{"a name of nobody", map[string]string{"x.yaml": "a: 1"}, []string{"x.yaml"}, "x.yaml: error: no importer knows a file of this name"},
		{"no YAML", map[string]string{".roomodes": "customModes:\n  - slug: a\n bad"}, nil, ".roomodes:"},
		{"too many options", map[string]string{".roomodes": "customModes:\n  - slug: a\n    name: A\n    roleDefinition: a\n    groups:\n      - [edit, {fileRegex: a}, {description: b}]\n"}, nil, ".roomodes:6:9: error: roo: the agent loads nothing of the file: customModes.0.groups.0:"},
		{"two slugs", map[string]string{".roomodes": "customModes:\n  - {slug: a, name: A, roleDefinition: a, groups: []}\n  - {slug: a, name: B, roleDefinition: b, groups: []}\n"}, nil, "duplicate mode slugs"},
		{"a bad expression", map[string]string{".roomodes": "customModes:\n  - {slug: a, name: A, roleDefinition: a, groups: [[edit, {fileRegex: '('}]]}\n"}, nil, "fileRegex"},
		{"a billion laughs", map[string]string{".roomodes": laughs}, nil, ".roomodes:"},
		{"deep nesting", map[string]string{".roomodes": "customModes: " + strings.Repeat("[", 100_000)}, nil, ".roomodes"},
		{"deep JSON", map[string]string{".claude/settings.json": strings.Repeat(`{"a":`, 50_000)}, nil, ".claude/settings.json"},
		{"50 MB", map[string]string{".roomodes": "customModes: [] #" + strings.Repeat("x", 50<<20)}, nil, "got more than 4 MiB"},
		{"no UTF-8", map[string]string{".cursor/permissions.json": "{\"a\": \"\xff\"}"}, nil, "not UTF-8"},
		{"rules outside", map[string]string{"custom_modes.yaml": "customModes:\n  - slug: a\n    name: A\n    roleDefinition: a\n    groups: []\n    rulesFiles: [{relativePath: ../../../etc/passwd, content: x}]\n"}, nil, "leads outside the rules folder"},
		{"an absolute rules file", map[string]string{"custom_modes.yaml": "customModes:\n  - slug: a\n    name: A\n    roleDefinition: a\n    groups: []\n    rulesFiles: [{relativePath: /etc/passwd, content: x}]\n"}, nil, "leads outside the rules folder"},
		{"a bad mode", map[string]string{".claude/settings.json": `{"permissions": {"defaultMode": "yolo"}}`}, nil, `.claude/settings.json:1:33: error: claude: got the mode "yolo"`},
		{"no agent", map[string]string{"agents/x.md": "prose"}, []string{"agents/x.md"}, "the file has no front matter"},
		{"no JSON", map[string]string{".cursor/cli.json": `{"permissions": // no`}, nil, ".cursor/cli.json"},
		{
			"no database",
			map[string]string{"thurbox.db": strings.Repeat("x", 5000)},
			[]string{"thurbox.db"},
			"the file is not a database of Thurbox",
		},
		{"no roles", map[string]string{"set_roles.json": `{"project": "x"}`}, []string{"set_roles.json"}, "got no list of roles"},
	} {
		res, diags := run(t, c.files, func(r *migrate.Request) { r.Files = c.named })
		if res != nil || !strings.Contains(diags.Error(), c.want) {
			t.Errorf("%s: got %.300q, want %q", c.name, diags.Error(), c.want)
		}
	}
}

// A link out of the repository is not followed.
func TestLinks(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "modes")
	if err := os.WriteFile(outside, []byte("customModes: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, ".roomodes")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	res, diags := migrate.Run(t.Context(), migrate.Request{Root: root.FS(), Targets: targets.All(), Out: "modec"})
	if res != nil || !strings.Contains(diags.Error(), "a symbolic link that leads out of the project") {
		t.Errorf("got %v", diags)
	}
}

// widening is a target whose importer permits what its files do not.
type widening struct{ contract.Target }

func (w widening) Formats() []string { return []string{"widening"} }

func (w widening) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	return w.Target.(contract.Judged).Open(fsys, o)
}

func (w widening) Alone(p *ir.Project) []contract.Decider { return w.Target.(contract.Judged).Alone(p) }

func (w widening) Import(src contract.Source) (contract.Imported, diag.List) {
	im, diags := w.Target.(contract.Importer).Import(src)
	for i := range im.Project.Modes {
		im.Project.Modes[i].Can.Command = &ir.Table{Default: &ir.Default{Decision: ir.Ask}}
	}
	return im, diags
}

// TestWider: what would permit more than the file is taken out of the import, with a note.
func TestWider(t *testing.T) {
	all := targets.All()
	all[0] = widening{all[0]}
	res, diags := run(
		t,
		map[string]string{".roomodes": "customModes:\n  - {slug: a, name: A, roleDefinition: a, groups: [read]}\n"},
		func(r *migrate.Request) { r.Targets, r.From = all, "widening" },
	)
	if res == nil {
		t.Fatal(diags)
	}
	if got := res.Compiled.Project.Mode("a").Can.Command; got == nil || !got.Rules[0].DeniesAll() {
		t.Errorf("got the commands %+v", got)
	}
	if !slices.ContainsFunc(res.Report.Notes, func(n contract.Note) bool {
		return n.Kind == contract.NeedsDecision && n.Subject == "mode a" && n.What == "can.command" && n.Pos.File == ".roomodes"
	}) {
		t.Errorf("got %v", res.Report.Notes)
	}
}

// TestDatabases reads Thurbox's databases of each age, and Cursor's settings.
func TestDatabases(t *testing.T) {
	for _, c := range []struct {
		name string
		sql  []string
		want string
	}{
		{"v2", []string{"CREATE TABLE metadata (key TEXT, value TEXT)", "INSERT INTO metadata VALUES ('schema_version', '2')", "CREATE TABLE projects (id TEXT, name TEXT, deleted_at INTEGER)", "INSERT INTO projects VALUES ('1', 'shop', NULL), ('2', 'old', 5), ('3', 'zoo', NULL)",
			"CREATE TABLE project_roles (project_id TEXT, role_name TEXT, description TEXT, permission_mode TEXT, allowed_tools TEXT, disallowed_tools TEXT, tools TEXT, append_system_prompt TEXT)",
			"INSERT INTO project_roles VALUES ('1', 'dev', 'd', 'acceptEdits', 'Bash(npm test *),Edit(docs/{a,b}/**)', 'Bash(git push *)', NULL, 'Be kind.'), ('2', 'gone', '', NULL, '', '', NULL, NULL), ('3', 'dev', 'z', 'dontAsk', '', '', 'Read', NULL)"},
			"dev, dev (zoo)"},
		{"v22", []string{"CREATE TABLE metadata (key TEXT, value TEXT)", "INSERT INTO metadata VALUES ('schema_version', '22')",
			"CREATE TABLE roles (role_name TEXT PRIMARY KEY, description TEXT, permission_mode TEXT, allowed_tools TEXT, disallowed_tools TEXT, tools TEXT, append_system_prompt TEXT, env TEXT)",
			`INSERT INTO roles VALUES ('ci', '', 'dontAsk', 'mcp__docs__search', '', '', NULL, '{"CI": "1"}')`,
			"CREATE TABLE mcp_servers (server_name TEXT, command TEXT, args TEXT, env TEXT)", `INSERT INTO mcp_servers VALUES ('docs', 'docs-mcp', '["stdio"]', '{}')`}, "ci"},
		{"v23", []string{"CREATE TABLE metadata (key TEXT, value TEXT)", "INSERT INTO metadata VALUES ('schema_version', '23')"}, ""},
	} {
		file := filepath.Join(t.TempDir(), "thurbox.db")
		database(t, file, c.sql...)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		res, diags := run(t, map[string]string{"thurbox.db": string(data)}, func(r *migrate.Request) { r.Files = []string{"thurbox.db"} })
		if c.want == "" {
			if res != nil || !strings.Contains(diags.Error(), `got a database of schema version "23", want one from 2 to 22`) {
				t.Errorf("%s: got %v", c.name, diags)
			}
			continue
		}
		if res == nil {
			t.Fatalf("%s: %v", c.name, diags)
		}
		if got := strings.Join(res.Report.Roles, ", "); got != c.want {
			t.Errorf("%s: got the roles %s, want %s", c.name, got, c.want)
		}
		if c.name == "v22" {
			r := res.Compiled.Project.Role("ci")
			if r.Env["CI"] != "1" || r.Tools == nil || len(*r.Tools) != 0 || res.Compiled.Project.Server("docs").Command != "docs-mcp" {
				t.Errorf("got %+v", r)
			}
		}
	}

	file := filepath.Join(t.TempDir(), "state.vscdb")
	database(t, file, "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)",
		`INSERT INTO ItemTable VALUES ('src.vs.platform.reactivestorage.browser.reactiveStorageServiceImpl.persistentStorage.applicationUser', '{"composerState": {"mcpAllowedTools": ["docs:search"], "yoloCommandAllowlist": ["npm test"], "yoloCommandDenylist": ["rm"], "useYoloMode": true}}')`)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	res, diags := run(t, map[string]string{"x": ""}, func(r *migrate.Request) {
		r.Home = fstest.MapFS{".config/Cursor/User/globalStorage/state.vscdb": {Data: data}, ".cursor/permissions.json": {Data: []byte(`{"approvalMode": "allowlist", "mcpAllowlist": ["github:*"]}`)}}
	})
	if res == nil {
		t.Fatal(diags)
	}
	s, err := res.Compiled.Policy.Subject(ir.SubjectRef{Role: "cursor"})
	if err != nil {
		t.Fatal(err)
	}
	for a, want := range map[policy.Action]ir.Decision{
		{Group: ir.Command, Arg: "npm test x"}: ir.Allow, {Group: ir.Command, Arg: "rm x"}: ir.Deny, {Group: ir.Command, Arg: "ls"}: ir.Agent,
		{Group: ir.MCP, Server: "github", Arg: "x"}: ir.Allow, {Group: ir.MCP, Server: "docs", Arg: "search"}: ir.Agent, // the file's list holds
	} {
		if got := s.Decide(a).Decision; got != want {
			t.Errorf("%+v: got %s, want %s", a, got, want)
		}
	}
}

func database(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(s, err)
		}
	}
}

// Beside a project the new files compile with it, and its modec.toml stays.
func TestBesideAProject(t *testing.T) {
	files := map[string]string{"modec.toml": "[targets.model]\n", "modec/roles/dev.cue": "package modec\n\nroles: dev: can: read: \"allow\"\n",
		".cursor/permissions.json": `{"approvalMode": "manual", "terminalAllowlist": []}`}
	res, diags := run(t, files, nil)
	if res == nil {
		t.Fatal(diags)
	}
	if slices.ContainsFunc(res.Files, func(f contract.File) bool { return f.Path == "modec.toml" }) ||
		res.Compiled.Project.Role("dev") == nil {
		t.Errorf("got %v", res.Files)
	}
	files["modec/roles/cursor.yaml"] = "roles: {cursor: {can: {command: deny}}}\n"
	if res, diags = run(t, files, nil); res != nil || !strings.Contains(diags.Error(), "conflict") {
		t.Errorf("two sources of one role: got %v", diags)
	}
}

// A read-only subagent never becomes more elsewhere (observed of another tool: it
// became a mode with every group).
func TestReadOnlySubagentStaysReadOnly(t *testing.T) {
	res, diags := run(
		t,
		map[string]string{
			".claude/agents/reviewer.md": "---\nname: reviewer\ndescription: Reviews\n" +
				"tools: Read, Grep, Bash(git diff:*)\ndisallowedTools: Write\npermissionMode: plan\n---\nYou review.\n",
		},
		nil,
	)
	if res == nil {
		t.Fatal(diags)
	}
	if mode := res.Compiled.Project.Mode("reviewer").Extra["claude"].Fields["permissionMode"]; mode != "plan" {
		t.Errorf("got the permission mode %v, want plan, which holds its commands", mode)
	}
	s, err := res.Compiled.Policy.Subject(ir.SubjectRef{Mode: "reviewer"})
	if err != nil {
		t.Fatal(err)
	}
	for a, want := range map[policy.Action]ir.Decision{
		{Group: ir.Read, Arg: "src/x"}: ir.Agent, {Group: ir.Edit, Arg: "src/x"}: ir.Deny, {Group: ir.Command, Arg: "git diff HEAD"}: ir.Agent,
		{Group: ir.Web, Arg: "a.org"}: ir.Deny, {Group: ir.MCP, Server: "x", Arg: "y"}: ir.Deny, {Group: ir.Modes, Arg: "code"}: ir.Deny, {Group: ir.Unknown, Arg: "X"}: ir.Deny,
	} {
		if got := s.Decide(a).Decision; got != want {
			t.Errorf("%+v: got %s, want %s", a, got, want)
		}
	}
}

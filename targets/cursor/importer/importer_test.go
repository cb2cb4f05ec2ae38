package importer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/hook"
	"modec.dev/modec/targets/cursor/model"
)

// probes are actions that entries of every shape are held against, beside those
// that follow from a pattern itself.
var probes = func() (list []policy.Action) {
	for _, p := range []string{"README.md", ".env", "a.env", "a/b/.env", "a/b/c.env", "x.env/y", "secret",
		"a/secrets/b", "xsecretx", "a/xsecretx.txt", "src/a.ts", "src/a/b/c.ts", "a/src/b/c.ts", "src/a.tsx",
		"app/[id]/page.ts", "app/i/page.ts", "x/{a,b}/x", "x/a/x", "config/x", "a/config/b/c", "configx", "x/aXb",
		"aXb", "aX/YbZ", "aX/Yb", "src/aXbYc", "src/aX/bY/c", "project/x/y", "x/y", "person/project/x/y",
		".ssh/id", "etc/passwd", "a?b", "axb", "d/a b", ".git/config", "sub/.git/config", "a(b)", "!x", "home/x"} {
		list = append(list, policy.Action{Group: ir.Read, Arg: p}, policy.Action{Group: ir.Edit, Arg: p})
	}
	for _, p := range []string{"/etc/passwd", "/home/person/.ssh/id", "/home/person/x", "/opt/x.env"} {
		list = append(list, policy.Action{Group: ir.Read, Arg: p})
	}
	for _, c := range []string{"git", "git status", "git push", "git push origin main", "git push --force",
		"git commit -m x", "gitk", "git-lfs x", "npm", "npm run", "npm run lint", "npm run lint x", "npm run lint:fix",
		"npm run lint:fix x", "npm run lint fix", "npm run lintx",
		"npm run:x", "npm run: x", "npm install", "npm install x", "npm installx", "rm -rf /", "rm -r x", "rm x -rf y",
		"curl https://x.y/z", "curl", "g", "gX yt z", "x --force", "x y --force", "x --force y", "ls", "ls -la",
		"ls a", "./a.sh", "./a.sh x", "a.sh", "FOO=1 ./a.sh", "FOO=1 git push",
		"bin/x y", "FOO=1 bin/x y", "FOO=1 /usr/bin/x", "/usr/bin/x", "x y", "echo x", "x", "y x", "git x", "git a x",
		"git a x b", "git && rm x", "ls; rm x", "ls | rm x", "a b", "a:b", "a:b c", "aXb", "aXb c", "aX Yb",
		"bash -c x", "env", "a:b:c d", "a b:c", "git\tpush"} {
		list = append(list, policy.Action{Group: ir.Command, Arg: c})
	}
	for _, h := range []string{"a.org", "b.a.org", "c.b.a.org", "xa.org", "a.com", "com", "10.1.2.3", "11.1.1.1",
		"a.org:8443", "xn--4ca.de", "1.2.3.4"} {
		list = append(list, policy.Action{Group: ir.Web, Arg: h})
	}
	for _, s := range []string{"a", "b", "user-a", "ab", "other"} {
		for _, tool := range []string{"b", "c", "bX", "Xb", "delete_all", "b:c", "ö", "a b", "{b,c}"} {
			list = append(list, policy.Action{Group: ir.MCP, Kind: policy.Tool, Server: s, Arg: tool})
		}
	}
	return list
}()

// shapes are the insides of entries, by the token's keyword.
var shapes = map[string][]string{
	"Path": {"*.env", "**/*.env", "*secret*", "~/**", "~/*.env", "/*.env", "/home/**", "/home/*/x",
		"/home/person/project/x/**", "~/project/x/**", "~/project/x", "/home/person/project", "~", "/", "**/src/*.ts",
		"src/*.ts", "**/app/[id]/**", "app/[id]/*", "**/{a,b}/x", "*/config/*", "*config/x",
		"*", "**", "/**", "", "!x", "**/.git", ".git/**", "./x/**", "/**.env", "**.env", "./*", "//x", "**/a?b", `a\b`,
		"a*b", "src/a*b*c", "*a*b*c*d*e*", "~/.ssh/**", "/etc/**", "a(b)", "file:///home/**", "C:/x", "secret",
		"config", "~/x*/**", "/home/person/*.env"},
	"Shell": {"git", "git *", "git **", "git push", "git push*", "git push *", "npm:install*", "npm install",
		"npm run lint:*", "npm run lint:fix", "npm run lint", "npm:run:*", "npm:run *", "npm:*", "npm:", "git push:*",
		"git *push*", "rm -rf", "rm:*-rf*", "*rm*", "*", "**", "curl:*", "curl:**", "g*", "g*t", "a*b", "*:push",
		"git:push origin",
		"a;b", "a && b", "echo $(x)", "FOO=1 x", "[", "", ":x", "a:", "./a.sh", "bin/x", "/usr/bin/x", "a?b", "ls [a]",
		"git{a}", `"x"`, "'x", "* --force", "x * y", "git * x", "git * x *", "@x", "#x", "ls>x", `git\ x`, "x\ty",
		"git  push", "a:b:c", "ä", "echo @a"},
	"Mcp": {"a:b", "a:*", "*:b", "*:*", "a:b*", "a:B", "user-a:b", "project-0-x-a:b", "project-1-x-a:b", "!a:b",
		"a:!b", "a:b:c", "a:", ":b", "ab", "a b:c", "ä:ö", "a:ö", "default:x", "a:a b", "*a:b", "a*:b*", "a:{b,c}",
		"a:delete*", "a:b?"},
	"WebFetch": {"*", "a.org", "*.a.org", "10.0.0.0/8", "A.ORG", "a.org:443", "https://a.org", "a.*", "*.*", "[::1]",
		"::1", "", "*a.org", "ä.de", "1.2.3.4", "a.org/x", "*.com", "a.org."},
}

// TestImportIsNeverWider holds the import of entries of every shape, alone and
// beside an allow of everything, against what Cursor decides by them.
func TestImportIsNeverWider(t *testing.T) {
	list := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	cli := func(allow, deny []string) string {
		return list(map[string]any{"permissions": map[string]any{"allow": allow, "deny": deny}})
	}
	servers := `{"mcpServers": {"a": {"command": "a"}}}`
	for keyword, texts := range shapes {
		for _, text := range texts {
			keywords := []string{keyword}
			if keyword == "Path" {
				keywords = []string{"Read", "Write"}
			}
			for _, k := range keywords {
				tok := k + "(" + text + ")"
				for _, mcp := range []string{"", servers} {
					if mcp != "" && k != "Mcp" {
						continue
					}
					neverWider(t, "allow "+tok, mcp, ".cursor/cli.json", cli([]string{tok}, nil))
					neverWider(t, "deny "+tok, mcp, ".cursor/cli.json", cli(nil, []string{tok}))
					neverWider(t, "all but "+tok, mcp, ".cursor/cli.json",
						cli([]string{"Shell(*)", "Mcp(*:*)", "WebFetch(*)"}, []string{tok}))
					if key := map[string]string{"Shell": "terminalAllowlist", "Mcp": "mcpAllowlist"}[k]; key != "" {
						neverWider(t, key+" "+text, mcp, ".cursor/permissions.json",
							list(map[string]any{key: []string{text}}))
					}
				}
			}
		}
	}
}

// neverWider imports a file and compares.
func neverWider(t *testing.T, name, servers, file, text string) {
	t.Helper()
	tree := fstest.MapFS{file: {Data: []byte(text)}}
	if servers != "" {
		tree[".cursor/mcp.json"] = &fstest.MapFile{Data: []byte(servers)}
	}
	got := translated(t, tree)
	e := policy.New(got.Project)
	for _, o := range got.Originals {
		deciders, diags := model.Open(o.Files, contract.NewOptions(nil, o.Options, nil), hook.Answer)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, d := range deciders {
			if o.Surface != "" && d.Surface() != o.Surface {
				continue
			}
			s, err := e.Subject(o.Subjects[0])
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, a := range probes {
				was := d.Decide(o.Subjects[0], a)
				may := was.Decision
				if was.Hole != nil {
					may = max(may, was.Hole.Decision)
				}
				is := s.Decide(a)
				if was.Governs&contract.Access != 0 && is.Decision > ir.Deny && may == ir.Deny ||
					was.Governs&contract.Approval != 0 && is.Decision == ir.Allow && may < ir.Allow {
					t.Errorf("%s (servers: %t): %s %q %q: got %s by %s, want at most %s by %s", name, servers != "",
						a.Group, a.Server, a.Arg, is.Decision, is.Rule, may, was.Rule)
				}
			}
		}
	}
}

// translated imports files and says every token in the source's words.
func translated(t *testing.T, tree fstest.MapFS) contract.Imported {
	t.Helper()
	im := newImporter(contract.Source{Root: tree})
	im.neutral = true
	im.read()
	im.finish()
	if im.diags.HasErrors() {
		t.Fatal(im.diags)
	}
	return im.out
}

// TestTokensStay: what becomes of the tokens of a file that people wrote.
func TestTokensStay(t *testing.T) {
	for _, c := range []struct {
		allow, deny []string
		stay        []string
	}{
		{[]string{"Shell(git status)", "Mcp(a:*)", "Mcp(a:b)", "WebFetch(a.org)", "WebFetch(*)", "Shell(*)"}, nil, nil},
		{[]string{"Shell(git:*)", "Shell(git status)", "Bash(ls)", "Shell(./a.sh)", "Shell(eval)", "Shell(ls*)"}, nil,
			[]string{"Shell(git:*)", "Bash(ls)", "Shell(./a.sh)", "Shell(eval)", "Shell(ls*)"}},
		{[]string{"Shell(git)", "Mcp(a:b)"}, []string{"Shell(git push)"}, []string{"Shell(git)", "Shell(git push)"}},
		{[]string{"Shell(git)", "Shell(ls)", "Mcp(a:b)", "Mcp(b:c)"}, []string{"Shell(git:push*)", "Mcp(a:*)"},
			[]string{"Shell(git)", "Mcp(a:b)", "Shell(git:push*)", "Mcp(a:*)"}},
		{[]string{"Shell(ls)", "WebFetch(a.org)"}, []string{"Shell(*)", "WebFetch(b.org)"},
			[]string{"Shell(ls)", "WebFetch(a.org)", "Shell(*)", "WebFetch(b.org)"}},
		{[]string{"WebFetch(*.a.org)", "WebFetch(A.org)", "Read(src/**)", "Write(**)", "Mcp(a*:b)", "Mcp(*:*)"}, nil,
			[]string{"WebFetch(*.a.org)", "WebFetch(A.org)", "Read(src/**)", "Write(**)", "Mcp(a*:b)", "Mcp(*:*)"}},
	} {
		text, err := json.Marshal(map[string]any{"permissions": map[string]any{"allow": c.allow, "deny": c.deny}})
		if err != nil {
			t.Fatal(err)
		}
		got, diags := Import(contract.Source{Root: fstest.MapFS{".cursor/cli.json": {Data: text}}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		var stay []string
		for _, r := range got.Project.Roles[0].Native {
			stay = append(stay, r.Text)
		}
		if !slices.Equal(stay, c.stay) {
			t.Errorf("%s: %q stay, want %q", text, stay, c.stay)
		}
	}
}

// The lists of the settings hold where the run mode says so: that of a
// permissions.json, else the settings' own.
func TestStateHoldsByTheRunMode(t *testing.T) {
	lists := `"mcpAllowedTools": ["a:b"], "yoloCommandAllowlist": ["ls"], "yoloCommandDenylist": ["rm"]`
	for _, c := range []struct {
		state, file    string
		command, tools ir.Decision
	}{
		{`{` + lists + `}`, "", ir.Ask, ir.Ask},
		{`{` + lists + `, "useYoloMode": true}`, "", ir.Allow, ir.Allow},
		{`{` + lists + `, "useYoloMode": true, "yoloMcpToolsDisabled": true}`, "", ir.Allow, ir.Ask},
		{`{` + lists + `, "useYoloMode": true, "yoloEnableRunEverything": true, "yoloMcpToolsDisabled": true}`, "",
			ir.Allow, ir.Ask},
		{`{` + lists + `, "useYoloMode": true, "modes4": [{"id": "agent", "autoRun": false}]}`, "", ir.Ask, ir.Ask},
		{`{` + lists + `, "modes4": [{"id": "agent", "autoRun": true}]}`, "", ir.Allow, ir.Allow},
		{`{` + lists + `, "useYoloMode": true}`, `{"approvalMode": "manual"}`, ir.Ask, ir.Ask},
		{`{` + lists + `}`, `{"mcpAllowlist": ["a:c"]}`, ir.Allow, ir.Agent}, // the file does not say it
		{`{` + lists + `}`, `{}`, ir.Ask, ir.Ask},
	} {
		im := newImporter(contract.Source{})
		if c.file != "" {
			im.permissionsFile(document{"~/.cursor/permissions.json", []byte(c.file)})
		}
		v, err := located.JSON("state.vscdb", []byte(c.state))
		if err != nil {
			t.Fatal(err)
		}
		im.state(v, diag.Pos{File: "state.vscdb"})
		im.finish()
		s, err := policy.New(im.out.Project).Subject(ir.SubjectRef{Role: ideRole})
		if err != nil {
			t.Fatal(err)
		}
		for a, want := range map[policy.Action]ir.Decision{
			{Group: ir.Command, Arg: "ls x"}: c.command, {Group: ir.Command, Arg: "rm x"}: ir.Deny,
			{Group: ir.MCP, Kind: policy.Tool, Server: "a", Arg: "b"}: c.tools,
		} {
			if got := s.Decide(a).Decision; got != want {
				t.Errorf("%s beside %q: %s %q: got %s, want %s", c.state, c.file, a.Group, a.Arg, got, want)
			}
		}
	}
}

// What a file leaves unsaid is left to the agent. An empty list in the run mode allowlist, and
// the run mode that asks every time, say that the rest is asked about.
func TestSilence(t *testing.T) {
	rules := func(t *ir.Table) string {
		switch {
		case t == nil:
			return ""
		case t.Default != nil:
			return fmt.Sprintf("%s by default, %d rules", t.Default.Decision, len(t.Rules))
		}
		return fmt.Sprintf("%d rules", len(t.Rules))
	}
	tools := func(t *ir.MCPTable) string {
		switch {
		case t == nil:
			return ""
		case t.Default != nil:
			return fmt.Sprintf("%s by default, %d entries", t.Default.Decision, len(t.Entries))
		}
		return fmt.Sprintf("%d entries", len(t.Entries))
	}
	for _, c := range []struct{ file, text, read, edit, command, web, mcp string }{
		{".cursor/cli.json", `{"permissions": {"allow": [], "deny": []}}`, "", "", "", "", ""},
		{".cursor/cli.json", `{"permissions": {"allow": ["Read(**)"], "deny": []}}`, "", "", "", "", ""},
		{".cursor/cli.json", `{"permissions": {"allow": [], "deny": ["Shell(git push)"]}}`, "", "", "1 rules", "", ""},
		{".cursor/cli.json", `{"permissions": {"allow": ["Mcp(a:b)"], "deny": ["Write(**/x)", "WebFetch(a.org)"]}}`,
			"", "1 rules", "", "1 rules", "1 entries"},
		{".cursor/permissions.json", `{}`, "", "", "", "", ""},
		{".cursor/permissions.json", `{"mcpAllowlist": ["a:b"]}`, "", "", "", "", "1 entries"},
		{".cursor/permissions.json", `{"mcpAllowlist": [], "terminalAllowlist": []}`, "", "", "", "", ""},
		{".cursor/permissions.json", `{"approvalMode": "allowlist", "terminalAllowlist": []}`, "", "",
			"ask by default, 0 rules", "", ""},
		{".cursor/permissions.json",
			`{"approvalMode": "allowlist", "terminalAllowlist": ["ls"], "mcpAllowlist": []}`, "",
			"", "1 rules", "", "ask by default, 0 entries"},
		{".cursor/permissions.json", `{"approvalMode": "manual", "terminalAllowlist": ["ls"]}`, "", "",
			"ask by default, 0 rules", "", "ask by default, 0 entries"},
		{".cursor/permissions.json", `{"approvalMode": "unrestricted"}`, "", "", "allow by default, 0 rules",
			"allow by default, 0 rules", "allow by default, 0 entries"},
	} {
		got := translated(t, fstest.MapFS{c.file: {Data: []byte(c.text)}})
		if len(got.Project.Roles) != 1 {
			t.Fatalf("%s: got %d roles", c.text, len(got.Project.Roles))
		}
		can := got.Project.Roles[0].Can
		want := []string{c.read, c.edit, c.command, c.web, "", c.mcp}
		if is := []string{rules(can.Read), rules(can.Edit), rules(can.Command), rules(can.Web), rules(can.Modes),
			tools(can.MCP)}; !slices.Equal(is, want) {
			t.Errorf("%s: got %q, want %q", c.text, is, want)
		}
	}
}

// FuzzImport: no file makes the importer panic, and what is imported is not wider.
func FuzzImport(f *testing.F) {
	f.Add(`{"permissions": {"allow": ["Shell(git *)"], "deny": ["Read(~/**)", "Mcp(a:B)"]}}`)
	f.Add(`{"permissions": {"allow": ["Shell(*)", "WebFetch(*)"],
		"deny": ["Shell(npm run x:*)", "WebFetch(*.a.org)"]}}`)
	f.Add(`{"mcpAllowlist": ["a:*", "user-a:b"], "terminalAllowlist": ["npm run lint:fix"],
		"approvalMode": "allowlist"}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range []string{".cursor/cli.json", ".cursor/permissions.json", ".cursor/mcp.json"} {
			_, diags := Import(contract.Source{Root: fstest.MapFS{file: {Data: []byte(text)}}})
			if !diags.HasErrors() {
				neverWider(t, text, "", file, text)
			}
		}
	})
}

// A deny of a path that the engine compares with no whole path is kept, and said to refuse nothing.
func TestTokensThatRefuseNothing(t *testing.T) {
	for text, want := range map[string]string{
		"Read(.env)": "write Read(**/.env)", "Read(./.env*)": "write Read(**/.env*)",
		"Write(config/x)": "write Write(**/config/x)", "Read(**/.env)": "", "Read(*.pem)": "", "Read(/etc/x)": "",
		"Read(~/.ssh/**)": "", `Read(C:\\x)`: "", "Shell(rm)": "",
		"Shell(git push:*)": "write Shell(git push)", "Shell(git push:origin*)": "write Shell(git:push origin*)",
		"Shell(curl:*)": "", "Shell(git push)": "",
	} {
		data := []byte(`{"permissions": {"allow": [], "deny": ["` + text + `"]}}`)
		im, _ := Import(contract.Source{Root: fstest.MapFS{".cursor/cli.json": {Data: data}}})
		got := ""
		for _, n := range im.Notes {
			got += n.Why
		}
		if nothing := strings.Contains(got, "refuses nothing"); nothing != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

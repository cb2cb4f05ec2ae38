package migrate_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/targets"
)

// built compiles a project, and adds the files of its agents to it.
func built(t *testing.T, project memfs.FS) *compiler.Result {
	t.Helper()
	res, diags := compiler.Compile(t.Context(),
		compiler.Request{FS: project, Targets: targets.All(), Today: time.Now().UTC()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, f := range res.Files() {
		project[f.Path] = f.Data
	}
	return res
}

// TestForeign holds which of the agents' files define subjects that the source has not.
func TestForeign(t *testing.T) {
	const (
		config = "[targets.claude]\n[targets.roo]\n[targets.cursor]\n"
		source = "package modec\n\nmodes: a: {name: \"A\", roleDefinition: \"You are a.\", can: read: \"allow\"}\n"
		agent  = "---\nname: b\ndescription: B\ntools: Bash\npermissionMode: bypassPermissions\n---\nDo it.\n"
		mode   = "  - {slug: b, name: B, roleDefinition: You are b., groups: [command]}\n"
	)
	project := memfs.FS{"modec.toml": []byte(config), "modec/a.cue": []byte(source)}
	res := built(t, project)
	for _, c := range []struct {
		name, file, text string
		ignored          string
		want             string
	}{
		{name: "nothing"},
		{name: "an agent", file: ".claude/agents/b.md", text: agent, want: "claude .claude/agents/b.md mode b"},
		{name: "a secret", file: ".claude/agents/b.md",
			text: agent + "TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345\n", want: "claude .claude/agents/b.md mode b"},
		{name: "a folder below", file: ".claude/agents/x/b.md", text: agent,
			want: "claude .claude/agents/x/b.md mode b"},
		{name: "git ignores it", file: ".claude/agents/b.md", text: agent, ignored: ".claude/agents/b.md"},
		{name: "git ignores another", file: ".claude/agents/b.md", text: agent, ignored: "x",
			want: "claude .claude/agents/b.md mode b"},
		{name: "no agent's", file: ".claude/agents/b.txt", text: agent},
		{name: "a built-in mode", file: ".roomodes",
			text: string(project[".roomodes"]) + strings.ReplaceAll(mode, "slug: b", "slug: code"),
			want: "roo .roomodes mode code"},
		{name: "a mode", file: ".roomodes", text: string(project[".roomodes"]) + mode, want: "roo .roomodes mode b"},
		{name: "entries of a session", file: ".claude/settings.local.json",
			text: `{"permissions": {"allow": ["Bash"]}}`},
		{name: "a text", file: "CLAUDE.md", text: "Write tests.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := maps.Clone(project)
			if c.file != "" {
				root[c.file] = []byte(c.text)
			}
			asked := false
			ignored := func(_ context.Context, names []string) []string {
				asked = true
				return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n != c.ignored })
			}
			req := migrate.Request{Root: root, Ignored: ignored}
			var got []string
			for _, d := range migrate.Foreign(context.Background(), req, res) {
				if d.Code != diag.ForeignSubject || d.Severity != diag.Warning || d.Pos.Line == 0 || d.Hint == "" {
					t.Errorf("got %v", d)
				}
				got = append(got, fmt.Sprint(d.Target, " ", d.Pos.File, " ", d.Subject))
			}
			if s := strings.Join(got, "\n"); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
			if needed := c.want != "" || c.ignored != ""; asked != needed {
				t.Errorf("git is asked: got %v, want %v", asked, needed)
			}
		})
	}
}

// TestForeignWider holds which of somebody else's subagents may do more than a session of the baseline.
func TestForeignWider(t *testing.T) {
	project := memfs.FS{"modec.toml": []byte("baseline = \"dev\"\n[targets.claude]\n"),
		"modec/a.cue": []byte("package modec\n\nroles: dev: {description: \"Does\", can: command: deny: [\"rm *\"]}\n")}
	res := built(t, project)
	for line, want := range map[string]diag.Code{
		"permissionMode: bypassPermissions": diag.ForeignWidening,
		"permissionMode: acceptEdits":       diag.ForeignWidening,
		"permissionMode: dontAsk":           diag.ForeignSubject,
		"tools: Read, Edit, Bash":           diag.ForeignSubject,
		"model: opus":                       diag.ForeignSubject,
	} {
		root := maps.Clone(project)
		root[".claude/agents/x.md"] = []byte("---\nname: x\ndescription: X\n" + line + "\n---\nDo it.\n")
		diags := migrate.Foreign(context.Background(), migrate.Request{Root: root}, res)
		if len(diags) != 1 || diags[0].Code != want || diags[0].Pos.File != ".claude/agents/x.md" {
			t.Errorf("%s: got %v, want %s", line, diags, want)
		}
	}
}

// TestForeignServers holds which servers of the agents' files are reported that the source has not: those that an
// agent may call and the source does not permit, of its own and of another agent's inventory alike.
func TestForeignServers(t *testing.T) {
	const roles = "package modec\n\nservers: {known: command: \"npx\", claudes: {command: \"c\", targets: [\"claude\"]}}\n" +
		"modes: m: {name: \"M\", roleDefinition: \"You are m.\", can: mcp: %q}\n"
	for _, c := range []struct{ name, inventory, mcp, server, more, want string }{
		{"none", "closed", "ask", "", "", ""},
		{"a server of the source", "closed", "ask", "known", "", ""},
		{"another server", "closed", "ask", "evil", "", ""},
		{"another server in a mode without any", "closed", "deny", "evil", `, "alwaysAllow": ["x"]`, ""},
		{"a tool that runs unasked", "closed", "ask", "evil", `, "alwaysAllow": ["x"]`, "mode m"},
		{"one in an open inventory", "open", "ask", "evil", `, "alwaysAllow": ["x"]`, "mode m"},
		{"one of a server for another agent", "open", "ask", "claudes", `, "alwaysAllow": ["x"]`, "mode m"},
		{"one that is not started", "open", "ask", "evil", `, "alwaysAllow": ["x"], "disabled": true`, ""},
	} {
		project := memfs.FS{"modec.toml": []byte(fmt.Sprintf("inventory = %q\n[targets.roo]\nbuiltins = \"shadow\"\n", c.inventory)),
			"modec/a.cue": []byte(fmt.Sprintf(roles, c.mcp))}
		res := built(t, project)
		if c.server != "" {
			project[".roo/mcp.json"] = []byte(fmt.Sprintf(`{"mcpServers": {%q: {"command": "npx"%s}}}`, c.server, c.more))
		}
		got := ""
		for _, d := range migrate.Foreign(context.Background(), migrate.Request{Root: project}, res) {
			if got += d.Subject; d.Code != diag.ForeignWidening || d.Pos.File != ".roo/mcp.json" || d.Hint == "" {
				t.Errorf("%s: got %v", c.name, d)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestForeignServersAlike holds that a server whose name differs from one of the source only in case is another server,
// as is one whose name no source takes: an agent that ignores case runs it by the rules for the source's own.
func TestForeignServersAlike(t *testing.T) {
	const source = "package modec\n\nservers: {docs: command: \"d\", db: command: \"b\"}\n" +
		"roles: dev: {description: \"D\", can: mcp: {docs: \"allow\", default: \"ask\"}}\n" +
		"modes: m: {name: \"M\", roleDefinition: \"You are m.\", can: mcp: docs: \"allow\"}\n"
	for _, c := range []struct{ target, file, entry, want string }{
		{"cursor", ".cursor/mcp.json", `"docs": {"command": "d"}`, ""},
		{"cursor", ".cursor/mcp.json", `"docs": {"command": "d"}, "Docs": {"command": "evil"}`, "Docs role dev"},
		{"cursor", ".cursor/mcp.json", "// mine\n" + `"docs": {"command": "d"}, "DOCS": {"command": "evil"}`,
			"DOCS role dev"},
		{"roo", ".roo/mcp.json", `"docs": {"command": "d"}, "Docs": {"command": "evil", "alwaysAllow": ["x"]}`, "Docs mode m"},
		{"roo", ".roo/mcp.json", `"docs": {"command": "d"}, "D cs": {"command": "evil", "alwaysAllow": ["x"]}`, "D cs mode m"},
		{"roo", ".roo/mcp.json", `"docs": {"command": "d"}, "Docs": {"command": "evil", "disabled": true}`, ""},
		{"claude", ".mcp.json", `"docs": {"command": "d"}, "Docs": {"command": "evil"}`, ""},
		{"claude", ".mcp.json", `"docs": {"command": "d"}, "docs__x": {"command": "evil"}`, "docs__x mode m"},
	} {
		project := memfs.FS{"modec.toml": []byte("baseline = \"dev\"\n[targets." + c.target + "]\n"),
			"modec/a.cue": []byte(source)}
		res := built(t, project)
		project[c.file] = []byte("{\"mcpServers\": {\n" + c.entry + "}}")
		got := ""
		for _, d := range migrate.Foreign(context.Background(), migrate.Request{Root: project}, res) {
			_, rest, _ := strings.Cut(d.Message, `"`)
			name, _, _ := strings.Cut(rest, `"`)
			if got += name + " " + d.Subject; d.Code != diag.ForeignWidening || d.Pos.File != c.file || d.Pos.Line < 2 {
				t.Errorf("%s: got %v", c.entry, d)
			}
		}
		if got != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.target, c.entry, got, c.want)
		}
	}
}

// TestForeignGrants holds which commands and skills permit to a session what the source does not: a rule that
// another one hides is found too, and what the source leaves to the agent they may fill.
func TestForeignGrants(t *testing.T) {
	const can = "package modec\n\nroles: dev: {description: \"Does\", can: " +
		"{command: {default: \"ask\", allow: [\"ls *\"], deny: [\"rm *\"]}, edit: \"ask\"}}\n"
	const command, skill = ".claude/commands/deep/x.md", ".claude/skills/x/SKILL.md"
	for _, c := range []struct{ name, file, front, ignored, want string }{
		{"none", command, "description: x", "", ""},
		{"of a command", command, "allowed-tools: Bash(npm *)", "", command + ":2 Bash(npm *)"},
		{"of a skill", skill, "allowed-tools: Bash(npm *)", "", skill + ":2 Bash(npm *)"},
		{"a list", skill, "allowed-tools:\n  - Edit", "", skill + ":3 Edit"},
		{"one that hides another", command, "allowed-tools: Bash, Bash(npm *)", "", command + ":2 Bash, " + command + ":2 Bash(npm *)"},
		{"what is allowed", command, "allowed-tools: Bash(ls -la)", "", ""},
		{"what is denied", command, "allowed-tools: Bash(rm *)", "", ""},
		{"what is the agent's", command, "allowed-tools: WebFetch, Read", "", ""},
		{"a person's own", command, "allowed-tools: Bash", command, ""},
		{"no command", ".claude/commands/x.txt", "allowed-tools: Bash", "", ""},
		{"a file of a skill", ".claude/skills/x/README.md", "allowed-tools: Bash", "", ""},
	} {
		project := memfs.FS{"modec.toml": []byte("baseline = \"dev\"\n[targets.claude]\n"), "modec/a.cue": []byte(can)}
		res := built(t, project)
		project[c.file] = []byte("---\n" + c.front + "\n---\nDo it.\n")
		ignored := func(_ context.Context, names []string) []string {
			return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n != c.ignored })
		}
		var got []string
		for _, d := range migrate.Foreign(context.Background(), migrate.Request{Root: project, Ignored: ignored}, res) {
			if d.Code != diag.ForeignWidening || d.Hint == "" || d.Subject != "role dev" {
				t.Errorf("%s: got %v", c.name, d)
			}
			rule, _, _ := strings.Cut(d.Message, " permits")
			got = append(got, fmt.Sprintf("%s:%d %s", d.Pos.File, d.Pos.Line, rule))
		}
		slices.Sort(got)
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: got %q, want %q", c.name, s, c.want)
		}
	}
}

// TestTwins holds that another file of a mode's name is judged. One that comes behind modec's is the one that a
// verification reads.
func TestTwins(t *testing.T) {
	project := memfs.FS{"modec.toml": []byte("baseline = \"dev\"\n[targets.claude]\n"),
		"modec/a.cue": []byte("package modec\n\nroles: dev: {description: \"Does\", can: edit: \"ask\"}\n" +
			"modes: m: {name: \"M\", description: \"M\", roleDefinition: \"You are m.\", can: read: \"allow\"}\n")}
	res := built(t, project)
	for _, name := range []string{"a0", "deep/m"} {
		for line, want := range map[string]diag.Code{
			"permissionMode: acceptEdits": diag.ForeignWidening,
			"tools: Read":                 diag.ForeignWidening,
		} {
			root := maps.Clone(project)
			root[".claude/agents/"+name+".md"] = []byte("---\nname: m\ndescription: X\n" + line + "\n---\nDo it.\n")
			diags := migrate.Foreign(context.Background(), migrate.Request{Root: root}, res)
			if len(diags) != 1 || diags[0].Code != want || diags[0].Severity != diag.Error ||
				!strings.Contains(diags[0].Message, "takes the place of modec's mode m") {
				t.Errorf("%s with %s: got %v, want %s", name, line, diags, want)
			}
		}
	}
	root := maps.Clone(project)
	root[".claude/agents/zz.md"] = []byte("---\nname: m\ndescription: X\npermissionMode: acceptEdits\n---\nDo it.\n")
	report, diags := res.VerifyBy(context.Background(), compiler.Verification{Seed: 1, Disk: root})
	if report.Wider() == 0 {
		t.Error("a file behind modec's is not judged")
	}
	for _, d := range diags {
		if d.Severity == diag.Error && d.Pos.File != "" && (d.Code != diag.ForeignWidening || d.Pos.File != ".claude/agents/zz.md") {
			t.Errorf("got %v, want all at the file that somebody added", d)
		}
	}
}

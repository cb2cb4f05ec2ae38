package verify_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/verify"
	"modec.dev/modec/targets"
)

// foreignSource has a server whose tools nobody lists, and rules about some of them.
const foreignSource = `{
	"servers": {"github": {"command": "gh"}, "db": {"command": "db", "tools": {"query": {"risk": "read"}}}},
	"roles": {"dev": {"description": "Does", "can": {"read": "allow", "edit": {"allow": ["src/**"], "default": "ask"},
		"mcp": {"default": "ask", "github": {"allow": ["get_*"], "ask": ["get_secret*"], "deny": ["delete_*", "drop"]},
			"db": {"allow": ["query"]}}}}},
	"modes": {"ops": {"name": "Ops", "roleDefinition": "x", "can": {"read": "allow", "edit": "ask",
		"mcp": {"default": "ask", "github": {"deny": ["delete_*"]}}}}}
}`

// compileSource compiles a source with settings.
func compileSource(t *testing.T, settings, source string) *compiler.Result {
	t.Helper()
	files := memfs.FS{"modec.toml": []byte(settings), "modec/a.json": []byte(source)}
	res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return res
}

func compileForeign(t *testing.T, settings string) *compiler.Result {
	t.Helper()
	return compileSource(t, "baseline = \"dev\"\n"+settings, foreignSource)
}

// edited verifies a disk with the compiled files, in one of which a text is another one.
func edited(t *testing.T, res *compiler.Result, name, before, after string) *verify.Report {
	t.Helper()
	disk := memfs.FS{}
	maps.Copy(disk, res.FS())
	text := string(disk[name])
	if !strings.Contains(text, before) {
		t.Fatalf("%s has another form: %s", name, text)
	}
	disk[name] = []byte(strings.Replace(text, before, after, 1))
	report, _ := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
	return report
}

// What a pattern denies of tools that nobody lists no agent permits, and what it allows Claude Code
// runs.
func TestUnlistedTools(t *testing.T) {
	for _, inventory := range []string{"open", "closed"} {
		for _, target := range []string{"claude", "claude]\n[targets.thurbox", "cursor", "roo", "zoo"} {
			res := compileForeign(t, fmt.Sprintf("inventory = %q\n[targets.%s]\n", inventory, target))
			report, diags := res.Verify(t.Context(), 1, nil)
			if report.Wider() > 0 {
				t.Errorf("%s, %s: %v", inventory, target, diags)
			}
			settings := string(res.FS()[".claude/settings.json"])
			for _, rule := range []string{"mcp__github__get_*", "mcp__github__get_secret*", "mcp__github__delete_*", "mcp__github__drop"} {
				if strings.HasPrefix(target, "claude") && !strings.Contains(settings, `"`+rule+`"`) {
					t.Errorf("%s, %s: %s is missing", inventory, target, rule)
				}
			}
		}
	}
}

// What somebody else's entry permits of what the source does not name is found on the disk.
func TestForeignEntries(t *testing.T) {
	res := compileForeign(t, "inventory = \"open\"\n[targets.claude]\n")
	const name, at = ".claude/settings.json", `"allow": [`
	for _, rule := range []string{
		"mcp__github__create_*", "mcp__db__drop", "Edit(~/.bashrc)", "Edit(~/work/**)", "Edit(//etc/zz)", "Edit(//srv/**)",
		"Read(//srv/x/**)", "Edit(/zz/odd.txt)", "Bash(kubectl delete *)",
	} {
		report := edited(t, res, name, at, at+`"`+rule+`",`)
		found := report.Surfaces[0].Findings
		found = append(found, report.Surfaces[0].Filled...) // of what the source leaves to the agent
		if len(found) == 0 {
			t.Errorf("%s: nothing is found", rule)
		}
	}
}

// An entry that only asks or denies permits nothing, whatever asks and denies beside it.
func TestForeignEntriesThatHold(t *testing.T) {
	for _, hooks := range []string{"", "hooks = \"enforce\"\n"} {
		res := compileSource(t, hooks+"baseline = \"dev\"\n[targets.claude]\n", `{
			"servers": {"db": {"command": "db", "tools": {"query": {"risk": "read"}}}},
			"modes": {"architect": {"name": "A", "roleDefinition": "r", "can": {"read": "allow", "edit": {"allow": ["docs/**"]}}}},
			"roles": {"dev": {"description": "Does", "can": {"read": "allow", "web": "ask", "mcp": "ask",
				"edit": {"allow": ["src/**"], "deny": ["*.pem"], "default": "ask"},
				"command": {"allow": ["npm test *"], "deny": ["git push *"], "default": "ask"},
				"modes": {"allow": ["architect"], "default": "deny"}}}}}`)
		for _, list := range []string{"ask", "deny"} {
			for _, rule := range []string{
				"Edit", "Edit(docs/**)", "Edit(.claude)", "Write", "Read", "Read(//**)", "Bash", "Bash(npm test *)",
				"WebFetch", "mcp__db", "Agent(architect)", "TodoWrite",
			} {
				disk := memfs.FS{}
				maps.Copy(disk, res.FS())
				disk[".claude/settings.local.json"] = fmt.Appendf(nil, `{"permissions":{%q:[%q]}}`, list, rule)
				report, diags := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
				if report.Wider() > 0 {
					t.Errorf("%s, %s %s: %v", hooks, list, rule, diags)
				}
			}
		}
	}
}

// A rule that names a server or a tool that the source does not know is found, whatever the name: of a server of the
// inventory in another case, of a tool that is new, and of PowerShell, which is for commands.
func TestForeignNames(t *testing.T) {
	res := compileSource(t, "baseline = \"dev\"\n[targets.claude]\n[targets.cursor]\n", `{
		"servers": {"github": {"command": "gh", "tools": {"read": {"risk": "read"}}}, "my.docs": {"command": "d", "tools": {"t": {}}}},
		"roles": {"dev": {"description": "Does", "can": {"command": {"allow": ["npm test *"], "default": "ask"},
			"mcp": {"github": "allow", "my.docs": {"allow": ["t"], "default": "ask"}, "default": "ask"}, "unknown": "ask"}}}}`)
	for rule, wider := range map[string]bool{
		"mcp__GitHub": true, "mcp__GitHub__read": true, "mcp__evil__": true, "mcp__evil__get_*": true,
		"mcp__github__read": false, "mcp__my_docs__t": false, "mcp__My_docs__t": true,
		"BrandNewTool2": true, "TodoWrite": false, "LSP": false,
		"PowerShell": true, "PowerShell(rm *)": true, "PowerShell(npm test *)": true, "Bash(npm test x)": false, // in any case: npm tesT
	} {
		const name, at = ".claude/settings.json", `"allow": [`
		if report := edited(t, res, name, at, at+`"`+rule+`",`); (report.Wider() > 0) != wider {
			t.Errorf("%s: got %d wider, want some: %v", rule, report.Wider(), wider)
		}
	}
}

// An entry of Cursor's that allows is read as its documentation and as its engine have it, and under whatever id the IDE
// gives a server.
func TestForeignGlobs(t *testing.T) {
	res := compileSource(t, "baseline = \"dev\"\n[targets.cursor]\nlists = \"dev\"\n", `{
		"servers": {"github": {"command": "gh", "tools": {"list": {"risk": "read"}, "create": {}}}, "docs": {"command": "d"}},
		"roles": {"dev": {"description": "Does", "can": {"command": {"allow": ["npm test *"], "default": "ask"},
			"mcp": {"github": {"allow": ["list"], "default": "ask"}, "docs": "allow", "default": "ask"}}}}}`)
	for entry, wider := range map[string]bool{
		"github:create": true, "github:{create,x}": true, "github:?reate": true, "github:[c]reate": true, "github:+(create)": true,
		"{github,x}:create": true, "github:!x": true, "!docs:*": true, "{evil,x}:*": true, "evil:*": true, "e*l:x": true,
		"github:{list,list}": false, "github:[l]ist": false, "github:@(list)": false, "{docs,x}:*": true, "@(docs):*": false,
		"docs:{a,b}": false, "DOCS:*": false, "user-docs:*": false, "user-evil:*": true,
	} {
		report := edited(t, res, ".cursor/cli.json", `"allow": [`, `"allow": ["Mcp(`+entry+`)", `)
		if (report.Wider() > 0) != wider {
			t.Errorf("%s: got %d wider, want some: %v", entry, report.Wider(), wider)
		}
	}
	for entry, wider := range map[string]bool{
		"user-github:create": true, "project-0-any-where-github:create": true, "project-0-any-where-github:list": false,
		"project-3-x-github:*": true, "project-0-x-evil:*": true, "project-0-x-docs:*": false, "github:{create,x}": true,
	} {
		report := edited(t, res, ".cursor/permissions.json", `"mcpAllowlist": [`, `"mcpAllowlist": ["`+entry+`", `)
		if (report.Wider() > 0) != wider {
			t.Errorf("%s: got %d wider, want some: %v", entry, report.Wider(), wider)
		}
	}
	report := edited(t, res, ".cursor/cli.json", `"allow": [`, `"allow": ["Shell({rm,x})", `)
	if report.Wider() == 0 {
		t.Error("nothing is wider by a glob of commands")
	}
}

// An entry that names a tool in another case permits it, as Cursor compares names. What the compiled entries
// open in this way stays a hole.
func TestForeignSpelling(t *testing.T) {
	res := compileSource(t, "baseline = \"dev\"\ninventory = \"closed\"\n[targets.cursor]\n", `{
		"servers": {"docs": {"command": "d", "tools": {"read": {"risk": "read"}, "write": {"risk": "write"}}}},
		"roles": {"dev": {"description": "Does", "can": {"mcp": {"docs": {"allow": ["read"], "default": "ask"}}}}}}`)
	const name, at = ".cursor/cli.json", `"allow": [`
	report := edited(t, res, name, at, at+`"Mcp(docs:WRITE)", `)
	if report.Wider() == 0 {
		t.Errorf("nothing is wider: %+v", report.Surfaces)
	}
	if report := edited(t, res, name, at, at+` `); report.Wider() > 0 {
		t.Errorf("by layout alone %d wider: %+v", report.Wider(), report.Surfaces)
	}
}

// A rule of one side that decides as the unsaid of another does is a cell of its own: unsaid gives
// way to the other side, and a rule does not.
func TestUnsaidInCells(t *testing.T) {
	res := compileSource(t, "unsaid = \"ask\"\n[targets.claude]\n", `{"roles": {
		"dev": {"description": "d", "can": {"read": "allow", "edit": {"allow": ["docs/**"], "ask": ["deploy/**"]}}}},
		"modes": {"m": {"name": "M", "roleDefinition": "x", "can": {"read": "allow", "edit": "allow"}}}}`)
	report := edited(t, res, ".claude/agents/m.md", "\n", "\npermissionMode: acceptEdits\n")
	for _, f := range report.Surfaces[0].Findings {
		if f.Subject == "role dev in mode m" && f.Class == "cell" {
			return
		}
	}
	t.Errorf("no cell is wider: %+v", report.Surfaces)
}

// A pattern that is written with a blank of no shell denies the line with an ordinary one too.
func TestBlanksInCells(t *testing.T) {
	res := compileSource(t, "baseline = \"dev\"\n[targets.cursor]\nsubject = \"role:dev\"\n",
		`{"roles": {"dev": {"description": "d", "can": {"read": "allow", "edit": "ask",
			"command": {"default": "allow", "deny": ["git\u00a0push *"]}}}}}`)
	if report := edited(t, res, ".cursor/cli.json", `"allow": []`, `"allow": ["Shell(git)"]`); report.Wider() == 0 {
		t.Error("nothing is wider")
	}
}

// Up to 500 roles in modes are verified by cells; of more the report says that they are not.
func TestMostPairs(t *testing.T) {
	for _, c := range []struct{ roles, modes int }{{20, 25}, {3, 167}} {
		var roles, modes []string
		for i := range c.roles {
			roles = append(roles, fmt.Sprintf(`"r%d": {"description": "d", "can": {"read": "allow"}}`, i))
		}
		for i := range c.modes {
			modes = append(modes, fmt.Sprintf(`"m%d": {"name": "M%d", "roleDefinition": "x", "can": {"read": "allow"}}`, i, i))
		}
		source := fmt.Sprintf(`{"roles": {%s}, "modes": {%s}}`, strings.Join(roles, ","), strings.Join(modes, ","))
		report, _ := compileSource(t, "[targets.claude]\n", source).Verify(t.Context(), 1, nil)
		sampled := false
		for _, x := range report.Surfaces[0].Sampled {
			sampled = sampled || x.Part == "roles in modes"
		}
		if want := c.roles*c.modes > 500; sampled != want {
			t.Errorf("%d pairs: sampled is %t", c.roles*c.modes, sampled)
		}
	}
}

// A rule for one agent alone is a part of the source: who takes it out of the artifact permits more, also
// where the rest of the source is silent or permits what the rule refuses.
func TestKeptRules(t *testing.T) {
	res := compileSource(t, "baseline = \"dev\"\n[targets.claude]\n", `{"roles": {"dev": {"description": "Does",
		"can": {"read": {"deny": [".env"]}, "command": {"allow": ["npm *"]}},
		"disallowedTools": ["Read(!foo/**)"],
		"agents": {"claude": {"native": {"allow": ["WebFetch(domain:*)"], "ask": ["WebFetch(domain:pay.example.com)"],
			"deny": ["Bash(git commit -m \"x\")", "Bash(FOO=bar rm *)", "Read(secret dir/**)"]}}}}}}`)
	const name = ".claude/settings.json"
	for _, rule := range []string{
		`Bash(git commit -m \"x\")`, "Bash(FOO=bar rm *)", "Read(secret dir/**)",
		"WebFetch(domain:pay.example.com)",
	} {
		report := edited(t, res, name, `"`+rule+`"`, `"Read(nothing)"`)
		told := "a rule for claude alone: " + strings.ReplaceAll(rule, `\`, "")
		if !slices.ContainsFunc(report.Surfaces[0].Findings, func(f verify.Finding) bool { return f.Rule == told && f.Foreign }) {
			t.Errorf("without %s: got %+v, want a finding by it", rule, report.Surfaces)
		}
	}
	if report := edited(t, res, name, `"Bash(npm *)"`, `"Bash(npm test)"`); report.Wider() > 0 {
		t.Errorf("with less allowed: %d wider", report.Wider())
	}
}

// An entry that permits by letters which cells have as one, by a branch beside what is not regular, or by what the agent
// does not look into, is wider.
func TestEditsThatOpen(t *testing.T) {
	res := compileSource(t, "baseline = \"dev\"\n[targets.claude]\n[targets.roo]\n", `{
		"roles": {"dev": {"description": "Does", "can": {"read": "allow",
			"edit": {"allow": ["src/**"], "deny": ["ключи/"], "default": "ask"},
			"command": {"allow": ["git status"], "deny": ["rm -rf *"], "default": "ask"}}}},
		"modes": {"m": {"name": "M", "roleDefinition": "x", "can": {"read": "allow",
			"edit": {"allow": ["docs/**"], "deny": ["ключи/"], "default": "deny"}}}}}`)
	if report, diags := res.Verify(t.Context(), 1, nil); report.Wider() > 0 {
		t.Fatal(diags)
	}
	for _, c := range []struct{ name, before, after string }{
		{".claude/settings.json", `"Edit(src/**)"`, `"Edit(src/**)", "Edit(geschäft/**)"`},
		{".claude/settings.json", `"Edit(ключи)",`, ``},
		{".claude/settings.json", `"Bash(git status)"`, `"Bash(git status)", "Bash(xargs rm)"`},
		{".roomodes", `docs(`, `geschäft/.*|docs(`},
		{".roomodes", `docs(`, `[а-я]+|docs(`},
		{".roomodes", `docs(`, `.*\\x22|docs(`},
		{".roomodes", `docs(`, `\\u0416|docs(`},
		{".roomodes", `docs(`, `(x)y\\2|evil/.*|docs(`},
		{".roomodes", `(?!(.*/)?ключи(/|$))`, ``},
	} {
		if report := edited(t, res, c.name, c.before, c.after); report.Wider() == 0 {
			t.Errorf("%s with %s in place of %s: nothing is wider", c.name, c.after, c.before)
		}
	}
}

// A hook that somebody edited holds nothing where one cannot know that it still holds, and the finding stands at the
// edit.
func TestEditsOfHooks(t *testing.T) {
	res := compileSource(t, "hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.claude]\n[targets.cursor]\n", `{
		"roles": {"dev": {"description": "Does", "can": {"read": {"deny": [".env"], "default": "allow"},
			"edit": {"allow": ["src/**"], "default": "deny"}, "command": "deny", "unknown": "deny"}}}}`)
	ofMode := compileSource(t, "hooks = \"enforce\"\n[targets.claude]\n", `{"modes": {"m": {"name": "M", "roleDefinition": "x",
		"can": {"read": {"deny": ["*.pem"], "default": "allow"}, "edit": {"allow": ["docs/**"], "default": "deny"}}}}}`)
	const settings, agent, cursor = ".claude/settings.json", ".claude/agents/m.md", ".cursor/hooks.json"
	const timeout, group, off = `"timeout": 10`, `"matcher": "*"`, `"disableAllHooks": false`
	for _, c := range []struct{ name, before, after, at string }{
		{settings, timeout, `"timeout": 0.001`, `"timeout"`},
		{settings, timeout, `"timeout": 2`, `"timeout"`},
		{settings, timeout, `"timeout": 10, "async": true`, `"async"`},
		{settings, timeout, `"timeout": 10, "asyncRewake": true`, `"asyncRewake"`},
		{settings, timeout, `"timeout": 10, "once": true`, `"once"`},
		{settings, timeout, `"timeout": 10, "if": "Bash(git *)"`, `"if"`},
		{settings, timeout, `"timeout": 10, "args": []`, `"args"`},
		{settings, timeout, `"timeout": 10, "shell": "powershell"`, `"shell"`},
		{settings, timeout, `"timeout": 10, "later": 1`, `"later"`},
		{settings, timeout, `"timeout": 0`, "0"},
		{settings, timeout, `"timeout": "10"`, `"10"`},
		{settings, group, group + `, "later": 1`, `"later"`},
		{settings, group, `"matcher": "Bash"`, `"Bash"`},
		{settings, group, `"matcher": "(?i)bash"`, `"(?i)`},
		{settings, group, `"matcher": null`, "null"},
		{settings, off, `"disableAllHooks": true`, "true"},
		{settings, off, `"disableAllHooks": 1`, "1"},
		{settings, off, `"model": 1, ` + off, "1"},
		{settings, off, `"env": {"PATH": "./bin"}, ` + off, `"PATH"`},
		{settings, off, `"env": {"CLAUDE_CODE_SHELL_PREFIX": "x"}, ` + off, `"CLAUDE_CODE_SHELL_PREFIX"`},
		{settings, off, `"later": {"PreToolUse": [{"hooks": []}]}, ` + off, `"PreToolUse"`},
		{agent, "timeout: 10", "timeout: 1", "timeout"},
		{agent, "timeout: 10", "timeout: 10\n          async: true", "async"},
	} {
		of := res
		if c.name == agent {
			of = ofMode
		}
		report := edited(t, of, c.name, c.before, c.after)
		before, _, _ := strings.Cut(string(of.FS()[c.name]), c.before)
		begin := before + c.after[:strings.Index(c.after, c.at)]
		line := strings.Count(begin, "\n") + 1
		col := len(begin) - strings.LastIndex(begin, "\n")
		at := fmt.Sprintf("%s:%d:%d", c.name, line, col)
		found := false
		for i := range report.Surfaces {
			found = found || slices.ContainsFunc(report.Surfaces[i].Findings, func(f verify.Finding) bool { return f.At.String() == at })
		}
		if !found {
			t.Errorf("%s in %s: got %d findings, want one at %s", c.after, c.name, report.Wider(), at)
		}
	}
	for after, where := range map[string]string{
		`"timeout":1`: cursor + ":7:", `"timeout":10,"async":true`: cursor + ":7:", `"timeout":0`: cursor,
	} {
		text := strings.ReplaceAll(string(res.FS()[cursor]), `"timeout":10,"failClosed":true`, after)
		report := edited(t, res, cursor, string(res.FS()[cursor]), text)
		found := func(f verify.Finding) bool { return strings.HasPrefix(f.At.String(), where) }
		if !slices.ContainsFunc(report.Surfaces, func(s verify.Surface) bool { return slices.ContainsFunc(s.Findings, found) }) {
			t.Errorf("%s: got %d findings, want one at %s", after, report.Wider(), where)
		}
	}
	for _, c := range []struct{ name, before, after string }{
		{settings, timeout, `"timeout": 600, "statusMessage": "x"`}, {settings, timeout, `"async": false, "once": false`},
		{settings, timeout, `"timeout": 10, "onFailure": "block", "shell": "bash"`}, {settings, group, `"matcher": ""`},
		{settings, group + ",", ""}, {settings, off, off + `, "model": "x", "later": 1`},
		{settings, off, off + `, "env": {"MY": "x"}`}, {cursor, `"timeout":10`, `"timeout":60`},
	} {
		if report := edited(t, res, c.name, c.before, c.after); report.Wider() > 0 {
			t.Errorf("%s in %s: %+v", c.after, c.name, report.Surfaces[0].Findings[0])
		}
	}
}

// What switches a server on that the source denies stands at the place of the finding.
func TestServersSwitchedOn(t *testing.T) {
	res := compileSource(t, "[targets.roo]\n", `{"servers": {"off": {"command": "o", "tools": {"t": {"risk": "read"}}},
		"on": {"command": "n", "tools": {"t": {"risk": "read"}}}},
		"modes": {"m": {"name": "M", "roleDefinition": "x", "can": {"mcp": {"off": "deny", "on": "ask"}}}}}`)
	const name, off = ".roo/mcp.json", `"disabled": true`
	for after, at := range map[string]string{
		`"disabled": false`: name + ":6:19", `"disabled": "true"`: name + ":6:19", `"timeout": 60`: name + ":3:5",
	} {
		report := edited(t, res, name, off, after)
		if !slices.ContainsFunc(report.Surfaces[0].Findings, func(f verify.Finding) bool { return f.At.String() == at }) {
			t.Errorf("%s: got %+v, want one at %s", after, report.Surfaces[0].Findings, at)
		}
	}
}

// A group that somebody's edit alone keeps from being verified whole is told of, at the edit; one that the source itself
// keeps from it is not.
func TestSampledByEdits(t *testing.T) {
	const source = `{"modes": {"m": {"name": "M", "roleDefinition": "x", "can": {"read": "allow",
		"edit": {"allow": ["docs/**"%s], "default": "deny"}}}}}`
	const accepted = "[[exceptions]]\ntarget = \"roo\"\nsubject = \"m\"\nwhat = \"edit\"\nreason = \"r\"\nuntil = 2099-01-01\n"
	for _, c := range []struct{ settings, more, want string }{
		{"", "", ".roomodes:9:1"},
		{accepted, "", ""},
		{strings.Replace(accepted, `"edit"`, `"read"`, 1), "", ".roomodes:9:1"},
		{"", `, {"regex": "^(a|b)\\1\\.md$"}`, ""},
	} {
		more, want := c.more, c.want
		res := compileSource(t, "[targets.roo]\n"+c.settings, fmt.Sprintf(source, more))
		disk := memfs.FS{}
		maps.Copy(disk, res.FS())
		text := string(disk[".roomodes"])
		disk[".roomodes"] = []byte(strings.Replace(text, "docs(", `(a)\\1x|docs(`, 1))
		_, diags := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
		got := ""
		for _, d := range diags {
			if strings.Contains(d.Message, "cannot be proved") && d.Severity == diag.Error {
				if got = d.Pos.String(); !slices.Equal(d.Accepts, []diag.Acceptance{{Subject: "mode m", What: "edit"}}) {
					t.Errorf("got %v, want the exception that accepts it", d.Accepts)
				}
			}
		}
		if got != want {
			t.Errorf("with %q: got an error at %q, want %q: %v\n%s", more, got, want, diags, disk[".roomodes"])
		}
		if _, diags = res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: res.FS()}); len(diags) > 0 {
			t.Errorf("with %q and no edit: %v", more, diags)
		}
	}
}

// An exception accepts what its pattern means in the source, and of what it does not name the rest stays wider. Where
// the rest was sampled, a warning says so.
func TestPatternsOfExceptions(t *testing.T) {
	const source = `{"roles": {"dev": {"description": "Does", "can": {"read": "allow", "edit": "ask", "web": "ask",
		"command": {"allow": ["git status"], "default": "ask"}}}}}`
	for _, c := range []struct {
		rule, what string
		wider      bool
		warns      bool
	}{
		{"Bash(foo *)", "command foo", true, false}, {"Bash(foo *)", "command foo *", false, false},
		{"Bash(foo *)", "command fo*", false, false}, {"Bash(foo *)", "command foo x*", true, false},
		{"Edit(zz/**)", "edit zz/x", true, false}, {"Edit(zz/**)", "edit zz/**", true, false}, // in another case

		{"Edit(zz/**)", "edit zz/*.md", true, false}, {"WebFetch(domain:*.x.org)", "web *.x.org", false, false},
		{"WebFetch(domain:*.x.org)", "web x.x.org", true, false}, {"Bash(xargs rm)", "command xargs rm", false, true},
	} {
		res := compileSource(t, "baseline = \"dev\"\n[targets.claude]\n[[exceptions]]\ntarget = \"claude\"\n"+
			"subject = \"role:dev\"\nreason = \"x\"\nuntil = 2999-01-01\nwhat = \""+c.what+"\"\n", source)
		disk := memfs.FS{}
		maps.Copy(disk, res.FS())
		const name, at = ".claude/settings.json", `"allow": [`
		text := strings.Replace(string(disk[name]), at, at+`"`+c.rule+`", `, 1)
		disk[name] = []byte(text)
		report, diags := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
		warns := slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Code == diag.ExceptionUsed })
		if wider := report.Wider() > 0; wider != c.wider || warns != c.warns {
			t.Errorf("%s with %s: wider is %t, a warning %t, want %t and %t: %v", c.rule, c.what, wider, warns, c.wider, c.warns, diags)
		}
	}
}

// A folder that the settings add to the project's is outside to the source: what is read there without a question is
// wider at its entry, and what the mode edits.
func TestAdditionalDirectories(t *testing.T) {
	for _, c := range []struct {
		can, mode, entry string
		want             []string // the groups
	}{
		{`"read": "allow", "edit": "ask"`, "default", `"/srv/data"`, []string{"read"}},
		{`"read": "allow", "edit": "ask"`, "default", `"../beside"`, []string{"read"}},
		{`"read": "allow", "edit": "ask"`, "default", `"~/notes"`, []string{"read"}},
		{`"read": "allow", "edit": "allow"`, "acceptEdits", `"/srv/data"`, []string{"edit", "read"}},
		{`"outside": {"read": "allow"}, "read": "allow", "edit": "ask"`, "default", `"/srv/data"`, nil},
		{`"read": "allow", "edit": "ask"`, "default", `"src"`, nil},
	} {
		res := compileSource(t, "baseline = \"dev\"\n[targets.claude]\n", fmt.Sprintf(
			`{"roles": {"dev": {"description": "Does", "permissionMode": %q, "can": {%s}}}}`, c.mode, c.can))
		const name, at = ".claude/settings.json", `"permissions": {`
		report := edited(t, res, name, at, at+`"additionalDirectories": [`+c.entry+`],`)
		found := map[string]bool{}
		for _, f := range report.Surfaces[0].Findings {
			if f.By != "additionalDirectories: "+strings.Trim(c.entry, `"`) || f.At.Line != 2 {
				t.Errorf("%s: got the finding %+v", c.entry, f)
			}
			found[string(f.Group)] = true
		}
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, c.want) {
			t.Errorf("%s with %s in %s: wider in %q, want %q", c.entry, c.can, c.mode, got, c.want)
		}
	}
}

// A hook of somebody's that says yes to every call is wider, at its place: before a tool runs it lifts what no rule and
// no hook of modec's asks about, in the place of a person any question. What another program answers nobody knows.
func TestHooksThatAllow(t *testing.T) {
	const source = `{"roles": {"dev": {"description": "Does", "permissionMode": "default", "can": {"read": "allow", "edit": "ask",
		"command": {"ask": ["git push *"], "default": "ask"}}}}}`
	const request = `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}`
	const before = `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}`
	for _, c := range []struct {
		event, matcher, line string
		want                 string // the groups
	}{
		{"PermissionRequest", "*", "echo '" + request + "'", "edit command read"}, // what lies outside is asked about

		{"PermissionRequest", "Edit|Write", "printf '%s' '" + request + "'", "edit"},
		{"PermissionRequest", "*", "./answer.sh", ""},
		{"PermissionRequest", "*", "echo '" + strings.Replace(request, "allow", "deny", 1) + "'", ""},
		{"PreToolUse", "*", "echo '" + before + "'", "edit read"}, // a rule asks about commands
		{"PreToolUse", "Edit", `echo '{"decision": "approve"}'`, "edit"},
	} {
		res := compileSource(t, "baseline = \"dev\"\n[targets.claude]\n", source)
		const name, at = ".claude/settings.json", `"permissions": {`
		hook := fmt.Sprintf(`"hooks": {%q: [{"matcher": %q, "hooks": [{"type": "command", "command": %q}]}]}, `, c.event, c.matcher, c.line)
		report := edited(t, res, name, at, hook+at)
		var found []string
		for _, f := range report.Surfaces[0].Findings {
			if f.By != "a hook of "+c.event+" that allows" || f.At.Line != 2 {
				t.Errorf("%s: got the finding %+v", c.line, f)
			}
			if !slices.Contains(found, string(f.Group)) {
				found = append(found, string(f.Group))
			}
		}
		want := strings.Fields(c.want)
		slices.Sort(found)
		if slices.Sort(want); !slices.Equal(found, want) {
			t.Errorf("%s %s: wider in %q, want %q", c.event, c.line, found, want)
		}
	}
}

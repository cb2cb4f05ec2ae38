package vscode_test

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/vscode"
	"modec.dev/modec/targets/vscode/format"
)

// built returns the settings that a build writes for a role, and the codes of its losses.
func built(t *testing.T, options, can string) (settings, codes string) {
	t.Helper()
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File:    []byte(options + "inventory = \"closed\"\n[targets.vscode]\n"),
		"modec/a.json": []byte(`{"roles": {"r": {` + can + `}}}`)}})
	if diags.HasErrors() {
		t.Fatal(can, diags)
	}
	for _, d := range res.Outputs[0].Losses {
		if d.Code != "vscode-place" && d.Code != "vscode-not-held" {
			codes += string(d.Code) + " "
		}
	}
	data, err := memfs.FS(res.FS()).ReadFile(format.SettingsFile)
	if err != nil {
		return "", strings.TrimSpace(codes)
	}
	return string(data), strings.TrimSpace(codes)
}

// TestSettings holds what the settings of a project say: for lines and files each whether VS Code runs or edits it
// unasked.
func TestSettings(t *testing.T) {
	const based = "baseline = \"r\"\n"
	for name, c := range map[string]struct{ options, can, code, runs, asks string }{
		"a list": {based, `"can": {"command": {"allow": ["git log *", "make"], "default": "ask"}}`, "",
			"git log;git log --oneline;make;git log && make;make | git log", "git logs;git;make x;git log > x;" +
				"git 'log';git log $X;X=1 make;X=1;export A=b;git log &&;npm run x;cat x;make  > x;git log\nrm x"},
		"what is held": {based, `"can": {"command": {"allow": ["git *"], "deny": ["git push *"], "ask": ["git tag"], "default": "ask"}}`, "",
			"git log;git pushx;git tag x", "git push;git push x;git tag;git -C . push;/usr/bin/git push;git  push x;git \"push\""},
		"nothing permitted": {based, `"can": {"command": "ask"}`, "", "", "ls;git log"},
		"all denied":        {based, `"can": {"command": "deny"}`, "", "", "ls"},
		"files are held": {based, `"can": {"command": "allow", "edit": {"deny": ["a"], "default": "allow"}}`, "vscode-line",
			"ls;rm -rf x", "ls > x;cat < x"},
		"all but some": {based, `"can": {"command": {"default": "allow", "allow": ["ls"], "deny": ["rm *"]}}`, "vscode-command", "ls", "cat x;rm x"},
		"quotes":       {based, `"can": {"command": {"allow": ["git log --format='%h' *", "ls"], "default": "ask"}}`, "vscode-command", "ls", "git log"},
		"a runner":     {based, `"can": {"command": {"allow": ["xargs *", "cd *", "ls *"], "default": "ask"}}`, "vscode-command vscode-command", "ls -l", "xargs rm;cd x"},
		"a set": {based, `"extends": ["git_read"], "can": {"command": {"default": "ask"}}`, "vscode-command",
			"git status;git log --oneline", "git log --output=x"},
		"wildcards": {based, `"can": {"command": {"allow": ["npm run *:check", "go vet*"], "default": "ask"}}`, "",
			"npm run a:check;go vet ./...;go vetx", "npm run a;npm run a:check x"},
		"silence":     {based, `"permissionMode": "default"`, "", "", ""},
		"no baseline": {"", `"can": {"command": {"allow": ["make"]}}`, "", "", ""},
	} {
		text, code := built(t, c.options, c.can)
		if code != c.code {
			t.Errorf("%s: got the losses %q, want %q\n%s", name, code, c.code, text)
		}
		judge(t, name, text, ir.Command, c.runs, c.asks)
	}
	for name, c := range map[string]struct{ can, code, runs, asks string }{
		"a list": {`"can": {"edit": {"allow": ["docs/**", "*.md", "/top/*.go", "box/"], "default": "ask"}}`, "",
			"docs/a;docs/a/b;a.md;x/y.md;top/a.go;box/x;x/box/y/z", "src/a;top/x/a.go;x/top/a.go;box;../a.md;.vscode/x.json"},
		"what is held": {`"can": {"edit": {"default": "ask", "allow": ["docs/**"], "deny": ["docs/legal", "*.key"]}}`, "",
			"docs/a;docs/legal.md", "docs/legal;docs/legal/x;docs/a.key;docs/a.key/x;Docs/a"},
		"all but some":      {`"can": {"edit": {"default": "allow", "ask": ["infra/"]}}`, "", "a;b/c", "infra/a;x/infra/b"},
		"nothing permitted": {`"can": {"edit": "ask"}`, "", "", "a;b/c"},
		"an expression":     {`"can": {"edit": {"allow": ["a", {"regex": "b$"}], "default": "deny"}}`, "vscode-edit", "a", "b"},
		"one that holds":    {`"can": {"edit": {"allow": ["a"], "deny": [{"regex": "^a$"}], "default": "ask"}}`, "vscode-edit", "", "a;b"},
		"brackets":          {`"can": {"edit": {"allow": ["src/**"], "deny": ["src/[ab].go"], "default": "ask"}}`, "", "src/x/a.go", "src/a.go;src/c.go"},
		"most names": {`"can": {"edit": {"allow": ["m*/**"], "deny": ["**/[!a]*"], "default": "agent"}}`, "vscode-edit", "",
			"m/x;b;a/b;x\n.md"},
		"names in a folder":      {`"can": {"edit": {"default": "allow", "deny": ["f/??*"]}}`, "", "b;a/f/x", "f/ab;f/x\n.md;f/ab/c"},
		"everything in a folder": {`"can": {"edit": {"default": "allow", "ask": ["**/**/*"]}}`, "", "", "b;a/b;x\n.md"},
		"silence":                {`"permissionMode": "default"`, "", "", ""},
	} {
		text, code := built(t, "baseline = \"r\"\n", c.can)
		if code != c.code {
			t.Errorf("%s: got the losses %q, want %q\n%s", name, code, c.code, text)
		}
		judge(t, name, text, ir.Edit, c.runs, c.asks)
	}
}

// judge compares what VS Code does by settings; "" for none.
func judge(t *testing.T, name, settings string, g ir.Group, runs, asks string) {
	t.Helper()
	if settings == "" {
		if runs+asks != "" {
			t.Errorf("%s: got no settings", name)
		}
		return
	}
	deciders, diags := vscode.New().(contract.Judged).Open(memfs.FS{format.SettingsFile: []byte(settings)},
		contract.Options{}.WithBaseline("r"))
	if len(deciders) != 1 || len(diags) > 0 {
		if runs+asks != "" {
			t.Errorf("%s: got %d deciders and %v of\n%s", name, len(deciders), diags, settings)
		}
		return
	}
	for want, list := range map[ir.Decision]string{ir.Allow: runs, ir.Ask: asks} {
		if list == "" {
			continue
		}
		for arg := range strings.SplitSeq(list, ";") {
			v := deciders[0].Decide(ir.SubjectRef{Role: "r"}, policy.Action{Group: g, Arg: arg})
			if v.Decision != want || v.Governs != contract.Approval {
				t.Errorf("%s: got %v (%v) for %q by %q, want %v\n%s", name, v.Decision, v.Governs, arg, v.Rule, want, settings)
			}
		}
	}
}

// TestPeoplesSettings holds what VS Code does by settings that people wrote.
func TestPeoplesSettings(t *testing.T) {
	const ignore = `"chat.tools.terminal.ignoreDefaultAutoApproveRules": true, "chat.tools.terminal.autoApproveWorkspaceNpmScripts": false, `
	for name, c := range map[string]struct {
		settings   string
		group      ir.Group
		runs, asks string
	}{
		"a beginning":          {`{` + ignore + `"chat.tools.terminal.autoApprove": {"git": true, "git push": false}}`, ir.Command, "git;git status;git-foo;git  push;git 'push'", "gitk;git push;git push-x;ls"},
		"a path":               {`{` + ignore + `"chat.tools.terminal.autoApprove": {"bin/test.sh": true}}`, ir.Command, "bin/test.sh;./bin/test.sh x", "x/bin/test.sh"},
		"whole lines":          {`{` + ignore + `"chat.tools.terminal.autoApprove": {"/^git status/": {"approve": true, "matchCommandLine": true}}}`, ir.Command, "git status;git status && rm x", "rm x"},
		"letters":              {`{` + ignore + `"chat.tools.terminal.autoApprove": {"/^ls$/i": true, "/^x*/": true, "/(/": true, "": true}}`, ir.Command, "LS;ls", "x;(;y"},
		"null":                 {`{` + ignore + `"chat.tools.terminal.autoApprove": {"ls": null, "cat": {"approve": true}}}`, ir.Command, "cat", "ls"},
		"the old name":         {`{` + ignore + `"chat.agent.terminal.autoApprove": {"ls": true}}`, ir.Command, "ls", "cat"},
		"VS Code's own":        {`{"chat.tools.terminal.autoApprove": {"rm": false}}`, ir.Command, "ls;npm test", "rm x"},
		"scripts":              {`{"chat.tools.terminal.ignoreDefaultAutoApproveRules": true, "chat.tools.terminal.autoApprove": {"ls": true}}`, ir.Command, "ls;npm run x;yarn x", "cat"},
		"a level":              {`{"chat.permissions.default": "autopilot", "chat.tools.terminal.enableAutoApprove": false}`, ir.Command, "rm -rf x", ""},
		"off":                  {`{"chat.tools.terminal.enableAutoApprove": false}`, ir.Command, "", "ls"},
		"in their order":       {`{"chat.tools.edits.autoApprove": {"**": false, "a/**": true, "a/b": false}}`, ir.Edit, "a/x", "b;a/b"},
		"VS Code's own first":  {`{"chat.tools.edits.autoApprove": {"a": true, "**/*": false}}`, ir.Edit, "a", "b"},
		"braces and brackets":  {`{"chat.tools.edits.autoApprove": {"**": false, "{a,b}/[c-d]?": true}}`, ir.Edit, "a/c1;b/d2", "a/e1;c/c1;a/c"},
		"a path of names":      {`{"chat.tools.edits.autoApprove": {"**": false}, "chat.tools": {"edits": {"autoApprove": {"b": false}}}}`, ir.Edit, "a", "b"},
		"what is added":        {`{"chat.tools.edits.autoApprove": {"**": false}, "chat.tools.edits.autoApprove.b": true}`, ir.Edit, "b", "a"},
		"what is overridden":   {`{"chat.tools": {"edits": {"autoApprove": {"**": false}}}, "chat": {"permissions": {"default": "autopilot"}}}`, ir.Edit, "a", ""},
		"what stands in a way": {`{"chat.tools.edits.autoApprove": {"**": false}, "chat.tools.edits.autoApprove.b.c": true, "editor": 1, "editor.x": 2}`, ir.Edit, "", "a;c"},
		"another setting":      {`{"editor.tabSize": 2}`, ir.Edit, "", ""},
		"comments, and commas": {"{ // mine\n\"chat.tools.edits.autoApprove\": {\"**\": false,},}", ir.Edit, "", "a"},
	} {
		judge(t, name, c.settings, c.group, c.runs, c.asks)
	}
	if _, diags := vscode.New().(contract.Judged).Open(memfs.FS{format.SettingsFile: []byte("{")},
		contract.Options{}.WithBaseline("r")); len(diags) != 1 || diags[0].Code != "vscode-ignored" {
		t.Errorf("got %v for settings that are no JSON", diags)
	}
}

// TestOwnEntries holds that what a role has in VS Code's own words is written as it stands, while can says nothing.
func TestOwnEntries(t *testing.T) {
	const own = `"agents": {"vscode": {"native": {"allow": ["terminal git log", "line /^make$/", "edits docs/**"],
		"ask": ["edits **", "edits docs/x", "terminal rm"]}}}`
	text, code := built(t, "baseline = \"r\"\n", own)
	root, err := located.JSON("", []byte(text))
	if err != nil || code != "" {
		t.Fatal(err, code, text)
	}
	got := string(contract.JSONLine(root.Any()))
	const want = `{"chat.tools.edits.autoApprove":{"**":false,"docs/**":true,"docs/x":false},` +
		`"chat.tools.terminal.autoApprove":{"/^make$/":{"approve":true,"matchCommandLine":true},"git log":true,"rm":false}}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if at := strings.Index(text, `"**"`); at < 0 || at > strings.Index(text, `"docs/**"`) {
		t.Errorf("what is about every file stands behind other entries:\n%s", text)
	}
	text, code = built(t, "baseline = \"r\"\n", own+`, "can": {"command": "ask"}`)
	if strings.Contains(text, "git log") || code != "vscode-setting vscode-setting vscode-setting" {
		t.Errorf("got %q and %s beside what can says", code, text)
	}
	if text, code = built(t, "", own); text != "" || !strings.Contains(code, "vscode-setting") {
		t.Errorf("got %q and %s without a baseline", code, text)
	}
}

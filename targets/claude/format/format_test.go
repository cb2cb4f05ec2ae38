package format

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// A hostile text stays one scalar of the front matter.
func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"a\"b\\c": `"a\"b\\c"`,
		"---\nx":  `"---\nx"`,
		"\u2028":  `"\u2028"`,
		"👩‍💻":     `"👩\u200D💻"`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestSubjectName(t *testing.T) {
	for _, name := range []string{"dev", "a b", "../x", "監査役", ".hidden", "100%"} {
		if got, ok := SubjectName(contract.PathName(name)); !ok || got != name {
			t.Errorf("%q: got %q, %v", name, got, ok)
		}
	}
	for _, segment := range []string{"", "%", "%2", "%zz", "%2f"} {
		if got, ok := SubjectName(segment); ok {
			t.Errorf("%q: got %q, want none", segment, got)
		}
	}
}

// Of a flag that takes one value the last one holds, lists add up, and what follows "--" is
// a prompt.
func TestReadFlags(t *testing.T) {
	args := []string{
		"--permission-mode", "plan", "--permission-mode=acceptEdits", "--allowedTools", "Bash(a b,c),Read", "Edit",
		"--allowed-tools=Write", "--tools", "Read,Bash(git *)", "--add-dir", "a", "b", "--model", "x", "--resume", "id",
		"--setting-sources", "", "--brand-new", "prompt", "--", "--disallowedTools", "Read",
	}
	want := CommandLine{
		Mode: "acceptEdits", ModeWritten: "--permission-mode acceptEdits",
		Allowed: []string{"Bash(a b,c)", "Read", "Edit", "Write"}, Tools: &[]string{"Read"}, Sources: &[]string{},
		Others:  []Flag{{"--add-dir", "--add-dir a b"}, {"--model", "--model x"}, {"--resume", "--resume"}},
		Unknown: []string{"--brand-new"},
	}
	got, err := ReadFlags(args)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Reads("user") {
		t.Error("the user's settings are read beside an empty --setting-sources")
	}
}

func TestReadFlagsRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`the permission mode "yolo"`:  {"--permission-mode", "yolo"},
		`the setting source "system"`: {"--setting-sources=user,system"},
		"--settings has no value":     {"--model", "x", "--settings"},
	} {
		if _, err := ReadFlags(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", args, err, want)
		}
	}
}

func TestReadAgent(t *testing.T) {
	for name, c := range map[string]struct{ text, agent, prompt, err string }{
		"plain":           {"---\nname: a\n---\nprompt\n", "a", "prompt\n", ""},
		"without a body":  {"---\nname: a\n---", "a", "", ""},
		"other breaks":    {"\uFEFF---\r\nname: a\r\n---\r\np", "a", "p", ""},
		"not quite YAML":  {"---\nname: a\ndescription: Use when: always\n---\n", "a", "", ""},
		"without a name":  {"---\ndescription: d\n---\n", "", "", ""},
		"not front":       {"prose", "", "", "has no front matter"},
		"not closed":      {"---\nname: a\n", "", "", "has no front matter"},
		"a broken member": {"---\nname: a\ntools:\n  - [a\n---\n", "", "", "does not load"},
	} {
		a, err := ReadAgent("a.md", []byte(c.text))
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %s", name, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case a.Name != c.agent || a.Prompt != c.prompt:
			t.Errorf("%s: got %q and the prompt %q", name, a.Name, a.Prompt)
		}
	}
}

func TestToolList(t *testing.T) {
	type answers struct{ leaves, names bool }
	names := []string{"Read", "Task", "Bash(git *)", "mcp__s", "mcp__t__get_*"}
	for kind, want := range map[ToolListKind]map[string]answers{
		Offered: {
			"Read": {true, true}, "Agent": {true, true}, "Bash": {true, true}, "Edit": {false, false},
			"mcp__s__x": {true, true}, "mcp__t__get_x": {true, true}, "mcp__t__put": {false, false},
		},
		Withheld:       {"Read": {false, false}, "mcp__s__x": {false, false}, "Edit": {true, false}},
		OfferedBuiltIn: {"Read": {true, true}, "Edit": {false, false}, "mcp__u__x": {true, false}},
	} {
		l := NewToolList(kind, names)
		for tool, want := range want {
			if got := (answers{l.Leaves(tool), l.Names(tool)}); got != want {
				t.Errorf("%v %s: got %v, want %v", kind, tool, got, want)
			}
		}
	}
}

// What Claude Code would read in another way, or not at all, is an error at its key; any other key
// is kept as it is.
func TestReadAgentExtras(t *testing.T) {
	for key, of := range map[string]struct{ good, bad any }{
		"file":            {"review/a.md", "../a.md"},
		"name":            {"Code Reviewer", "Someone else"},
		"permissionMode":  {"plan", "yolo"},
		"prompt":          {"", 1.0},
		"tools":           {[]any{"Read", "Bash(git *)"}, "Read"},
		"disallowedTools": {[]any{"Write"}, []any{1.0}},
		"mcpServers":      {[]any{"docs"}, []any{map[string]any{"docs": map[string]any{"command": "x"}}}},
		"maxTurns":        {3.0, 0.5},
		"skills":          {[]any{"a"}, nil},
	} {
		read := func(value any) []SettingError {
			m := ir.Mode{Slug: "Code-Reviewer", Extra: map[string]ir.Extra{"claude": {Fields: map[string]any{key: value}}}}
			_, errs := ReadAgentExtras(&m)
			return errs
		}
		if errs := read(of.good); of.good != nil && len(errs) > 0 {
			t.Errorf("%s: %v", key, errs)
		}
		if errs := read(of.bad); of.bad != nil && (len(errs) != 1 || !strings.Contains(errs[0].Text, "agents.claude.settings."+key)) {
			t.Errorf("%s: got %v for %v, want an error", key, errs, of.bad)
		}
	}
	for file, want := range map[string]bool{
		"a.md": true, "a/b.md": true, "/a.md": false, "a/../b.md": false, ".md": false, "a.txt": false, `a\b.md`: false,
	} {
		if got := IsAgentFile(file); got != want {
			t.Errorf("%s: got %v, want %v", file, got, want)
		}
	}
}

// A value of another form keeps the whole file from loading, at its place; what Claude Code leaves out does not.
func TestForms(t *testing.T) {
	const group = `{"matcher": "*", "hooks": [{"type": "command", "command": "x", "timeout": 10}]}`
	for text, key := range map[string]string{
		`{"model": 1}`: "model", `{"disableAllHooks": null}`: "disableAllHooks", `{"permissions": {"deny": "x"}}`: "deny",
		`{"permissions": {"ask": null}}`: "ask", `{"hooks": [` + group + `]}`: "hooks",
		`{"hooks": {"PreToolUse": ` + group + `}}`: "PreToolUse", `{"hooks": {"PermissionRequest": "x"}}`: "PermissionRequest",
		`{"hooks": {"PreToolUse": [{"matcher": 1, "hooks": []}]}}`:                   "matcher",
		`{"hooks": {"PreToolUse": [{"matcher": "*"}]}}`:                              "PreToolUse",
		`{"hooks": {"PreToolUse": [{"hooks": [{"type": "x"}]}]}}`:                    "type",
		`{"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt"}]}]}}`:               "prompt",
		`{"hooks": {"Later": {"PreToolUse": [` + group + `]}}}`:                      "PreToolUse",
		`{"later": {"pretooluse": [` + group + `]}}`:                                 "pretooluse",
		`{"hooks": {"PreToolUse": [` + strings.Replace(group, "10", "0", 1) + `]}}`:  "timeout",
		`{"hooks": {"PreToolUse": [` + strings.Replace(group, "10", `"`, 1) + `]}}`:  "",
		`{"hooks": {"PostToolUse": [` + strings.Replace(group, "10", "0", 1) + `]}}`: "none",
		`{"permissions": {"deny": [1], "later": 1}, "later": 1}`:                     "none",
		`{"hooks": null}`: "none", `{"hooks": {"PreToolUse": null, "PostToolUse": 1}}`: "none",
	} {
		_, err := ReadSettings("s.json", []byte(text))
		form := (*FormError)(nil)
		got := "none"
		switch {
		case errors.As(err, &form):
			got = form.Key
			if at := PlaceOf("s.json", err); at.Line != 1 || at.Col < 2 {
				t.Errorf("%s: got the place %s", text, at)
			}
		case err != nil:
			got = ""
		}
		if got != key {
			t.Errorf("%s: got an error about %q, want %q", text, got, key)
		}
	}
}

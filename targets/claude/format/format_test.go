package format

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
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
		`the permission mode "yolo"`:   {"--permission-mode", "yolo"},
		`the setting source "system"`:  {"--setting-sources=user,system"},
		"got --settings without a val": {"--model", "x", "--settings"},
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
		"not front":       {"prose", "", "", "without front matter"},
		"not closed":      {"---\nname: a\n", "", "", "without front matter"},
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

func TestAgentExtra(t *testing.T) {
	for _, c := range []struct {
		key          string
		value        any
		known, valid bool
	}{
		{"color", "red", true, true},
		{"color", "puce", true, false},
		{"maxTurns", 3.0, true, true},
		{"maxTurns", 0.5, true, false},
		{"maxTurns", "3", true, false},
		{"tools", "Read", false, false},
	} {
		if known, valid := AgentExtra(c.key, c.value); known != c.known || valid != c.valid {
			t.Errorf("%s %v: got %v and %v", c.key, c.value, known, valid)
		}
	}
}

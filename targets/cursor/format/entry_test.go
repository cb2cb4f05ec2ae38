package format

import (
	"strings"
	"testing"
)

func TestParseEntry(t *testing.T) {
	long := strings.Repeat("é", maxName)
	for _, c := range []struct {
		text string
		want Entry
		err  string // part of the message; "" for none
	}{
		{"github:list_issues", Entry{"github", "list_issues"}, ""},
		{"github:*", Entry{"github", "*"}, ""},
		{"*:list_issues", Entry{"*", "list_issues"}, ""},
		{"*:*", Entry{"*", "*"}, ""},
		{" GitHub : list issues\t", Entry{"GitHub", "list issues"}, ""},
		{"a/b.c-d:{x}", Entry{"a/b.c-d", "{x}"}, ""},
		{long + ":x", Entry{long, "x"}, ""},
		{"", Entry{}, "want SERVER:TOOL"},
		{"github", Entry{}, "want SERVER:TOOL"},
		{"a:b:c", Entry{}, "more than one colon"},
		{"*:*:*", Entry{}, "more than one colon"},
		{":x", Entry{}, "without a server"},
		{"x:", Entry{}, "without a tool"},
		{":", Entry{}, "without a server"},
		{"x:  ", Entry{}, "without a tool"},
		{"git*:x", Entry{}, "a name or * alone"},
		{"x:list_*", Entry{}, "a name or * alone"},
		{"**:x", Entry{}, "a name or * alone"},
		{long + "é:x", Entry{}, "more than 256 characters"},
		{"x:" + long + "é", Entry{}, "more than 256 characters"},
	} {
		got, err := ParseEntry(c.text)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("ParseEntry(%.40q): got the error %v, want %q", c.text, err, c.err)
		}
		if got != c.want {
			t.Errorf("ParseEntry(%.40q): got %v, want %v", c.text, got, c.want)
		}
	}
}

func TestEntryMatches(t *testing.T) {
	// Each row holds an entry and what it says of github:list, github:drop,
	// other:list and other:drop.
	for _, c := range []struct {
		entry string
		want  [4]bool
	}{
		{"github:list", [4]bool{true, false, false, false}},
		{"GITHUB:List", [4]bool{true, false, false, false}},
		{"github:*", [4]bool{true, true, false, false}},
		{"*:list", [4]bool{true, false, true, false}},
		{"*:*", [4]bool{true, true, true, true}},
		{"git:list", [4]bool{}},
		{"github:lis", [4]bool{}},
	} {
		e, err := ParseEntry(c.entry)
		if err != nil {
			t.Fatal(err)
		}
		for i, live := range [4][2]string{{"github", "list"}, {"github", "drop"}, {"other", "list"},
			{"other", "drop"}} {
			if got := e.Matches(live[0], live[1]); got != c.want[i] {
				t.Errorf("%s matches %v: got %v, want %v", c.entry, live, got, c.want[i])
			}
		}
	}
	all := Entry{"*", "*"}
	for _, live := range [][2]string{{"", "x"}, {"x", ""}, {"  ", "x"}, {"x", "\t"}, {"a:b", "x"}, {"x", "a:b"},
		{"a*", "x"}, {"x", "*"}, {strings.Repeat("x", maxName+1), "x"}} {
		if all.Matches(live[0], live[1]) {
			t.Errorf("*:* matches %.20q, which no entry can name", live)
		}
	}
	if !all.Matches(strings.Repeat("x", maxName), " GitHub ") {
		t.Error("*:* matches no name of 256 characters")
	}
	if !(Entry{"github", "list"}).Matches(" GitHub ", "LIST") {
		t.Error("names are compared with case or space")
	}
}

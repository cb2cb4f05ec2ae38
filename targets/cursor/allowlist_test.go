package cursor

import (
	"slices"
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
		for i, live := range [4][2]string{{"github", "list"}, {"github", "drop"}, {"other", "list"}, {"other", "drop"}} {
			if got := e.Matches(live[0], live[1]); got != c.want[i] {
				t.Errorf("%s matches %v: got %v, want %v", c.entry, live, got, c.want[i])
			}
		}
	}
	all := Entry{"*", "*"}
	for _, live := range [][2]string{{"", "x"}, {"x", ""}, {"  ", "x"}, {"x", "\t"}, {"a:b", "x"}, {"x", "a:b"}, {"a*", "x"}, {"x", "*"}, {strings.Repeat("x", maxName+1), "x"}} {
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

func TestAdd(t *testing.T) {
	for _, c := range []struct {
		list, entry string
		by          int
		subsumed    []int
	}{
		{"", "s:t", -1, nil},
		{"s:t", "s:t", 0, nil},
		{"s:t", "S:T", 0, nil},
		{"s:*", "s:t", 0, nil},
		{"*:t", "s:t", 0, nil},
		{"*:*", "s:t", 0, nil},
		{"*:*", "s:*", 0, nil},
		{"*:*", "*:*", 0, nil},
		{"x:y s:*", "S:t", 1, nil},
		{"s:t", "s:*", -1, []int{0}},
		{"s:t x:y S:u", "s:*", -1, []int{0, 2}},
		{"s:t x:t x:y", "*:t", -1, []int{0, 1}},
		{"s:t s:* *:t", "*:*", -1, []int{0, 1, 2}},
		{"s:*", "*:t", -1, nil},
		{"*:t", "s:*", -1, nil},
		{"s:t", "s:u", -1, nil},
	} {
		var list Allowlist
		for _, text := range strings.Fields(c.list) {
			e, err := ParseEntry(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
		e, err := ParseEntry(c.entry)
		if err != nil {
			t.Fatal(err)
		}
		got := list.Add(e)
		if got.By != c.by || !slices.Equal(got.Subsumed, c.subsumed) {
			t.Errorf("adding %s to [%s]: got %+v, want by %d, subsumed %v", c.entry, c.list, got, c.by, c.subsumed)
		}
	}
}

// The whole table. A column is a state: the gate (on, then off), a browser that
// is protected (no, then yes), the user's list (without the tool, then with
// it). R runs without a question.
func TestAutoRun(t *testing.T) {
	lists := map[bool]Allowlist{true: {{"*", "x"}}}
	admins := map[string]*AdminControls{"none": nil, "forbids": {Disabled: true, List: lists[true]}, "lists another": {List: Allowlist{{"*", "y"}}}, "lists it": {List: lists[true]}}
	for _, c := range []struct {
		mode  RunMode
		admin string
		want  string
	}{
		{AskEveryTime, "none", "........"},
		{AskEveryTime, "forbids", "........"},
		{AskEveryTime, "lists another", "........"},
		{AskEveryTime, "lists it", "........"},
		{UseAllowlist, "none", ".R......"},
		{UseAllowlist, "forbids", "........"},
		{UseAllowlist, "lists another", "........"},
		{UseAllowlist, "lists it", "RR......"},
		{RunEverything, "none", "RR..RR.."},
		{RunEverything, "forbids", "........"},
		{RunEverything, "lists another", "RR..RR.."},
		{RunEverything, "lists it", "RR..RR.."},
	} {
		for i := range c.want {
			gateOff, protected, listed := i&4 != 0, i&2 != 0, i&1 != 0
			for _, state := range []struct {
				protect bool
				server  string
			}{{true, "cursor-ide-browser"}, {true, " Cursor-Browser-Extension"}, {true, "docs"}, {false, "docs"}, {false, "cursor-ide-browser"}} {
				if protected != (state.protect && state.server != "docs") {
					continue
				}
				a := AutoRun{Mode: c.mode, List: lists[listed], GateOff: gateOff, ProtectBrowser: state.protect, Admin: admins[c.admin]}
				if got, want := a.Decide(state.server, "x"), c.want[i] == 'R'; got.Alone != want {
					t.Errorf("%s, organisation %s, column %d, %+v: got %+v, want %v", c.mode, c.admin, i, state, got, want)
				}
			}
		}
	}
}

// The same in plain rows, with the reasons.
func TestAutoRunRows(t *testing.T) {
	mine, theirs := Allowlist{{"docs", "get"}}, Allowlist{{"shop", "*"}}
	for _, c := range []struct {
		name         string
		a            AutoRun
		server, tool string
		alone        bool
		why          Reason
	}{
		{"asking every time asks about a listed tool", AutoRun{Mode: AskEveryTime, List: mine}, "docs", "get", false, ByMode},
		{"a listed tool runs", AutoRun{Mode: UseAllowlist, List: mine}, "DOCS", "get", true, ByUserList},
		{"an unlisted tool is asked", AutoRun{Mode: UseAllowlist, List: mine}, "docs", "set", false, ByNoUserEntry},
		{"an empty list lists nothing", AutoRun{Mode: UseAllowlist}, "docs", "get", false, ByNoUserEntry},
		{"everything runs", AutoRun{Mode: RunEverything}, "docs", "set", true, ByMode},
		{"the organisation forbids even that", AutoRun{Mode: RunEverything, Admin: &AdminControls{Disabled: true}}, "docs", "get", false, ByAdmin},
		{"the organisation's list stands alone", AutoRun{Mode: UseAllowlist, List: mine, Admin: &AdminControls{List: theirs}}, "docs", "get", false, ByNoAdminEntry},
		{"and lets its own run", AutoRun{Mode: UseAllowlist, List: mine, Admin: &AdminControls{List: theirs}}, "shop", "buy", true, ByAdminList},
		{"the browser is protected in spite of the list", AutoRun{Mode: UseAllowlist, List: Allowlist{{"*", "*"}}, ProtectBrowser: true}, "cursor-ide-browser", "click", false, ByBrowser},
		{"and in spite of the run mode", AutoRun{Mode: RunEverything, ProtectBrowser: true}, "cursor-browser-extension", "click", false, ByBrowser},
		{"unprotected it is a server", AutoRun{Mode: UseAllowlist, List: Allowlist{{"*", "*"}}}, "cursor-ide-browser", "click", true, ByUserList},
		{"a gate that is off silences the list", AutoRun{Mode: UseAllowlist, List: mine, GateOff: true}, "docs", "get", false, ByGate},
		{"and not the run mode", AutoRun{Mode: RunEverything, GateOff: true}, "docs", "get", true, ByMode},
	} {
		if got := c.a.Decide(c.server, c.tool); got.Alone != c.alone || got.Why != c.why {
			t.Errorf("%s: got %+v, want %v by %s", c.name, got, c.alone, c.why)
		}
	}
}

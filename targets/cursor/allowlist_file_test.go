package cursor

import (
	"slices"
	"strings"
	"testing"
)

func TestAddEntry(t *testing.T) {
	for _, c := range []struct {
		name, file, entry, want string
		by                      string
		removed                 []string
		pins                    bool
	}{
		{"a new file", string(NewPermissions), "s:t", "{\n  \"mcpAllowlist\": [\"s:t\"]\n}\n", "", nil, true},
		{"an empty object", "{}", "s:t", `{"mcpAllowlist": ["s:t"]}`, "", nil, true},
		{"beside other keys", "{\n\t\"approvalMode\": \"allowlist\" // mine\n}", "s:t", "{\n\t\"approvalMode\": \"allowlist\", // mine\n\t\"mcpAllowlist\": [\"s:t\"]\n}", "", nil, false},
		{"a comma at the end of the object", "{\n  \"x\": 1,\n}", "s:t", "{\n  \"x\": 1,\n  \"mcpAllowlist\": [\"s:t\"],\n}", "", nil, true},
		{"an empty list", `{"mcpAllowlist": []}`, "s:t", `{"mcpAllowlist": ["s:t"]}`, "", nil, true},
		{"a list with a comment only", "{\"mcpAllowlist\": [\n    // nothing yet\n  ]}", "s:t", "{\"mcpAllowlist\": [\n    // nothing yet\n    \"s:t\"\n  ]}", "", nil, true},
		{"at the end", `{"mcpAllowlist": ["a:b"]}`, "s:t", `{"mcpAllowlist": ["a:b", "s:t"]}`, "", nil, false},
		{"on a line of its own", "{\"mcpAllowlist\": [\n    \"a:b\", // first\n    \"c:d\" // second\n  ], \"x\": 1}", "s:t", "{\"mcpAllowlist\": [\n    \"a:b\", // first\n    \"c:d\", // second\n    \"s:t\"\n  ], \"x\": 1}", "", nil, false},
		{"a comma at the end", "{\"mcpAllowlist\": [\n  \"a:b\",\n]}", "s:t", "{\"mcpAllowlist\": [\n  \"a:b\",\n  \"s:t\",\n]}", "", nil, false},
		{"a line comment at the end of one line", "{\"mcpAllowlist\": [\"a:b\" // x\n]}", "s:t", "{\"mcpAllowlist\": [\"a:b\", // x\n \"s:t\"\n]}", "", nil, false},
		{"there already", `{"mcpAllowlist": ["a:b", "S:T"]}`, "s:t", `{"mcpAllowlist": ["a:b", "S:T"]}`, "S:T", nil, false},
		{"covered", `{"mcpAllowlist": ["s:*"]}`, "s:t", `{"mcpAllowlist": ["s:*"]}`, "s:*", nil, false},
		{"covers one", `{"mcpAllowlist": ["a:b", "s:t", "c:d"]}`, "s:*", `{"mcpAllowlist": ["a:b", "s:*", "c:d"]}`, "", []string{"s:t"}, false},
		{"covers several, with their comments", "{\"mcpAllowlist\": [\n  // reading\n  \"s:t\", // t\n  // writing\n  \"s:u\", // u\n  \"c:d\",\n  /* last */ \"S:V\"\n]}", "s:*",
			"{\"mcpAllowlist\": [\n  // reading\n  \"s:*\", // t\n  // writing\n // u\n  \"c:d\"\n  /* last */\n]}", "", []string{"s:t", "s:u", "S:V"}, false},
		{"covers all, with a comma at the end", "{\"mcpAllowlist\": [\n  \"s:t\",\n  \"a:b\",\n]}", "*:*", "{\"mcpAllowlist\": [\n  \"*:*\",\n]}", "", []string{"s:t", "a:b"}, false},
		{"what is no entry stays", `{"mcpAllowlist": [1, "git*:x", "s:t", null]}`, "s:*", `{"mcpAllowlist": [1, "git*:x", "s:*", null]}`, "", []string{"s:t"}, false},
		{"the last of two equal keys", `{"mcpAllowlist": ["s:t"], "mcpAllowlist": []}`, "s:t", `{"mcpAllowlist": ["s:t"], "mcpAllowlist": ["s:t"]}`, "", nil, true},
		{"the terminal's list pins too", `{"terminalAllowlist": ["git"]}`, "s:t", `{"terminalAllowlist": ["git"], "mcpAllowlist": ["s:t"]}`, "", nil, false},
		{"Run Everything stays", `{"approvalMode": "unrestricted"}`, "s:t", `{"approvalMode": "unrestricted", "mcpAllowlist": ["s:t"]}`, "", nil, false},
		{"characters that JSON escapes", `{"mcpAllowlist": []}`, `s:<"é&>`, `{"mcpAllowlist": ["s:<\"é&>"]}`, "", nil, true},
	} {
		e, err := ParseEntry(c.entry)
		if err != nil {
			t.Fatal(err)
		}
		got, err := AddEntry([]byte(c.file), e)
		if err != nil || string(got.Data) != c.want || got.By != c.by || !slices.Equal(got.Removed, c.removed) || got.Pins != c.pins {
			t.Errorf("%s: got %+v, %v\n%s\nwant\n%s", c.name, got, err, got.Data, c.want)
		}
		if got.By == "" && err == nil {
			again, err := AddEntry(got.Data, e)
			if err != nil || again.By == "" || string(again.Data) != string(got.Data) {
				t.Errorf("%s: a second time, got %+v, %v", c.name, again, err)
			}
		}
	}
	for file, want := range map[string]string{"": "unexpected", "[]": "got a list, want an object", "null": "got null", `{"mcpAllowlist": "s:t"}`: "mcpAllowlist: got a text, want a list", `{"mcpAllowlist": {}}`: "got an object", "{": "unexpected"} {
		if _, err := AddEntry([]byte(file), Entry{"s", "t"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", file, err, want)
		}
	}
}

// What comes out is read as what went in and the entry, and no comment is lost.
func FuzzAddEntry(f *testing.F) {
	f.Add("{\"mcpAllowlist\": [\n \"s:t\", // a\n /* b */ \"s:u\", \"c:d\", // c\n]}", "s:*")
	f.Add(`{"x": [], /* y */ }`, "*:*")
	f.Add("[\"s:t\"/**/,//\n]", "s:t")
	f.Fuzz(func(t *testing.T, file, entry string) {
		e, err := ParseEntry(entry)
		if err != nil {
			return
		}
		got, err := AddEntry([]byte(file), e)
		if err != nil {
			return
		}
		after, diags := readPermissions("f", got.Data)
		if after == nil {
			t.Fatalf("%q and %q: got %q, which is not read: %v", file, entry, got.Data, diags)
		}
		if i := after.mcp.List.Find(e.Server, e.Tool); i < 0 && e.Server != "*" && e.Tool != "*" {
			t.Errorf("%q and %q: got %q, which does not hold it", file, entry, got.Data)
		}
		before, _ := readPermissions("f", []byte(file))
		for _, old := range before.mcp.List {
			if !slices.ContainsFunc(after.mcp.List, func(n Entry) bool { return n.Covers(old) }) {
				t.Errorf("%q and %q: got %q, which lost %s", file, entry, got.Data, old)
			}
		}
		for _, mark := range []string{"//", "/*"} {
			if strings.Count(string(got.Data), mark) < strings.Count(file, mark)-2*len(got.Removed) {
				t.Errorf("%q and %q: got %q, which lost comments", file, entry, got.Data)
			}
		}
	})
}

func TestCheckTool(t *testing.T) {
	const file = "{\n  \"approvalMode\": \"manual\",\n  \"mcpAllowlist\": [\n    \"Docs:*\", \"x:y*\"\n  ]\n}"
	for _, c := range []struct {
		mode         RunMode
		server, tool string
		alone        bool
		why          Reason
		at           string
	}{
		{"", "docs", "get", false, ByMode, ""},
		{UseAllowlist, "docs", "get", true, ByUserList, "f:4:5"},
		{UseAllowlist, "x", "yz", false, ByNoUserEntry, ""},
		{RunEverything, "x", "yz", true, ByMode, ""},
	} {
		got, err := CheckTool("f", []byte(file), c.mode, c.server, c.tool)
		if err != nil || got.Alone != c.alone || got.Why != c.why || got.At.String() != c.at || len(got.Ignored) != 1 {
			t.Errorf("%s %s:%s: got %+v, %v", c.mode, c.server, c.tool, got, err)
		}
	}
	if _, err := CheckTool("f", []byte("{"), "", "a", "b"); err == nil {
		t.Error("a file that cannot be read is read")
	}
}

package allowlist

import (
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/targets/cursor/format"
	"modec.dev/modec/targets/cursor/model"
)

func TestAdd(t *testing.T) {
	for _, c := range []struct {
		name, file, entry, want string
		by                      string
		removed                 []string
		pins                    bool
	}{
		{"a new file", string(NewFile), "s:t", "{\n  \"mcpAllowlist\": [\"s:t\"]\n}\n", "", nil, true},
		{"an empty object", "{}", "s:t", `{"mcpAllowlist": ["s:t"]}`, "", nil, true},
		{"beside other keys", "{\n\t\"approvalMode\": \"allowlist\" // mine\n}", "s:t",
			"{\n\t\"approvalMode\": \"allowlist\", // mine\n\t\"mcpAllowlist\": [\"s:t\"]\n}", "", nil, false},
		{"a comma at the end of the object", "{\n  \"x\": 1,\n}", "s:t",
			"{\n  \"x\": 1,\n  \"mcpAllowlist\": [\"s:t\"],\n}", "", nil, true},
		{"an empty list", `{"mcpAllowlist": []}`, "s:t", `{"mcpAllowlist": ["s:t"]}`, "", nil, true},
		{"a list with a comment only", "{\"mcpAllowlist\": [\n    // nothing yet\n  ]}", "s:t",
			"{\"mcpAllowlist\": [\n    // nothing yet\n    \"s:t\"\n  ]}", "", nil, true},
		{"at the end", `{"mcpAllowlist": ["a:b"]}`, "s:t", `{"mcpAllowlist": ["a:b", "s:t"]}`, "", nil, false},
		{"on a line of its own", "{\"mcpAllowlist\": [\n    \"a:b\", // first\n    \"c:d\" // second\n  ], \"x\": 1}",
			"s:t", "{\"mcpAllowlist\": [\n    \"a:b\", // first\n    \"c:d\", // second\n    \"s:t\"\n  ], \"x\": 1}",
			"", nil, false},
		{"a comma at the end", "{\"mcpAllowlist\": [\n  \"a:b\",\n]}", "s:t",
			"{\"mcpAllowlist\": [\n  \"a:b\",\n  \"s:t\",\n]}", "", nil, false},
		{"a line comment at the end of one line", "{\"mcpAllowlist\": [\"a:b\" // x\n]}", "s:t",
			"{\"mcpAllowlist\": [\"a:b\", // x\n    \"s:t\"\n]}", "", nil, false},
		{"there already", `{"mcpAllowlist": ["a:b", "S:T"]}`, "s:t", `{"mcpAllowlist": ["a:b", "S:T"]}`, "S:T", nil,
			false},
		{"covered", `{"mcpAllowlist": ["s:*"]}`, "s:t", `{"mcpAllowlist": ["s:*"]}`, "s:*", nil, false},
		{"covers one", `{"mcpAllowlist": ["a:b", "s:t", "c:d"]}`, "s:*", `{"mcpAllowlist": ["a:b", "s:*", "c:d"]}`, "",
			[]string{"s:t"}, false},
		{"covers several, with their comments",
			"{\"mcpAllowlist\": [\n  // reading\n  \"s:t\", // t\n  // writing\n  \"s:u\", // u\n  \"c:d\",\n  /* " +
				"last */ \"S:V\"\n]}", "s:*",
			"{\"mcpAllowlist\": [\n  // reading\n  \"s:*\", // t\n  // writing\n // u\n  \"c:d\"\n  /* last */\n]}", "",
			[]string{"s:t", "s:u", "S:V"}, false},
		{"covers all, with a comma at the end", "{\"mcpAllowlist\": [\n  \"s:t\",\n  \"a:b\",\n]}", "*:*",
			"{\"mcpAllowlist\": [\n  \"*:*\",\n]}", "", []string{"s:t", "a:b"}, false},
		{"what is no entry stays", `{"mcpAllowlist": [1, "git*:x", "s:t", null]}`, "s:*",
			`{"mcpAllowlist": [1, "git*:x", "s:*", null]}`, "", []string{"s:t"}, false},
		{"the last of two equal keys", `{"mcpAllowlist": ["s:t"], "mcpAllowlist": []}`, "s:t",
			`{"mcpAllowlist": ["s:t"], "mcpAllowlist": ["s:t"]}`, "", nil, true},
		{"the terminal's list pins too", `{"terminalAllowlist": ["git"]}`, "s:t",
			`{"terminalAllowlist": ["git"], "mcpAllowlist": ["s:t"]}`, "", nil, false},
		{"Run Everything stays", `{"approvalMode": "unrestricted"}`, "s:t",
			`{"approvalMode": "unrestricted", "mcpAllowlist": ["s:t"]}`, "", nil, false},
		{"characters that JSON escapes", `{"mcpAllowlist": []}`, `s:<"é&>`, `{"mcpAllowlist": ["s:<\"é&>"]}`, "", nil,
			true},
	} {
		e, err := format.ParseEntry(c.entry)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Add([]byte(c.file), e)
		if err != nil || string(got.Data) != c.want || got.By != c.by || !slices.Equal(got.Removed, c.removed) ||
			got.Pins != c.pins {
			t.Errorf("%s: got %+v, %v\n%s\nwant\n%s", c.name, got, err, got.Data, c.want)
		}
		if got.By == "" && err == nil {
			again, err := Add(got.Data, e)
			if err != nil || again.By == "" || string(again.Data) != string(got.Data) {
				t.Errorf("%s: a second time, got %+v, %v", c.name, again, err)
			}
		}
	}
	for file, want := range map[string]string{"": "unexpected", "[]": "got a list, want an object", "null": "got null",
		`{"mcpAllowlist": "s:t"}`: "mcpAllowlist: got a text, want a list",
		`{"mcpAllowlist": {}}`:    "got an object", "{": "unexpected"} {
		if _, err := Add([]byte(file), format.Entry{Server: "s", Tool: "t"}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", file, err, want)
		}
	}
}

// What comes out is read as what went in and the entry, and no comment is lost.
func FuzzAdd(f *testing.F) {
	f.Add("{\"mcpAllowlist\": [\n \"s:t\", // a\n /* b */ \"s:u\", \"c:d\", // c\n]}", "s:*")
	f.Add(`{"x": [], /* y */ }`, "*:*")
	f.Add("[\"s:t\"/**/,//\n]", "s:t")
	f.Fuzz(func(t *testing.T, file, entry string) {
		e, err := format.ParseEntry(entry)
		if err != nil {
			return
		}
		got, err := Add([]byte(file), e)
		if err != nil {
			return
		}
		before, err := jsonedit.OpenList([]byte(file), "/mcpAllowlist")
		if err != nil {
			t.Fatal(err)
		}
		after, err := jsonedit.OpenList(got.Data, "/mcpAllowlist")
		if err != nil {
			t.Fatalf("%q and %q: got %q: %v", file, entry, got.Data, err)
		}
		covered := func(e format.Entry) bool {
			return slices.ContainsFunc(parse(after.Items()), func(n listed) bool { return n.Covers(e) })
		}
		if !covered(e) {
			t.Errorf("%q and %q: got %q, which does not contain it", file, entry, got.Data)
		}
		for _, old := range parse(before.Items()) {
			if !covered(old.Entry) {
				t.Errorf("%q and %q: got %q, which lost %s", file, entry, got.Data, old)
			}
		}
		if e.Server != "*" && e.Tool != "*" {
			if _, err := model.CheckTool("f", got.Data, model.Asked{Server: e.Server, Tool: e.Tool}); err != nil {
				t.Errorf("%q and %q: got %q, which Cursor does not read: %v", file, entry, got.Data, err)
			}
		}
		for _, mark := range []string{"//", "/*"} {
			if strings.Count(string(got.Data), mark) < strings.Count(file, mark)-2*len(got.Removed) {
				t.Errorf("%q and %q: got %q, which lost comments", file, entry, got.Data)
			}
		}
	})
}

// What covers what.
func TestCovers(t *testing.T) {
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
		texts := strings.Fields(c.list)
		list, err := jsonedit.OpenList(NewFile, "/mcpAllowlist")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			list.Append(text)
		}
		e, err := format.ParseEntry(c.entry)
		if err != nil {
			t.Fatal(err)
		}
		by, subsumed := "", []string(nil)
		if c.by >= 0 {
			by = texts[c.by]
		}
		for _, i := range c.subsumed {
			subsumed = append(subsumed, texts[i])
		}
		got, err := Add(list.Pack(), e)
		if err != nil || got.By != by || !slices.Equal(got.Removed, subsumed) {
			t.Errorf("adding %s to [%s]: got %+v, %v, want by %q, subsumed %v", c.entry, c.list, got, err, by, subsumed)
		}
	}
}

package rule

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]Rule{
		"Bash":                       {Tool: "Bash"},
		"Bash(git log *)":            {"Bash", "git log *", true},
		"Bash(echo (a) b)":           {"Bash", "echo (a) b", true},
		"Read(src/**)":               {"Read", "src/**", true},
		"WebFetch(domain:a.example)": {"WebFetch", "domain:a.example", true},
		"mcp__github__list_issues":   {Tool: "mcp__github__list_issues"},
		"*":                          {Tool: "*"},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: got %+v (%v), want %+v", text, got, err, want)
		}
	}
}

// What Claude Code would skip is refused.
func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "  ", "Bash(git", "Read (foo)", "bash(ls)", "Bash()", "mcp__github(foo)", "WebFetch(https://x)", "Bash(:*)", "Read(foo:*)", "(x)", "Bash)", "9x"} {
		if r, err := Parse(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, r)
		}
	}
}

func TestMCP(t *testing.T) {
	for tool, want := range map[string][2]string{"mcp__a": {"a", ""}, "mcp__a__b": {"a", "b"}, "mcp__a__b__c": {"a", "b__c"}} {
		server, name, ok := Rule{Tool: tool}.MCP()
		if !ok || server != want[0] || name != want[1] {
			t.Errorf("%s: got %q %q %v", tool, server, name, ok)
		}
	}
	if _, _, ok := (Rule{Tool: "Bash"}).MCP(); ok {
		t.Error("Bash is no MCP tool")
	}
}

// Whatever is accepted is written back to the letter.
func FuzzParse(f *testing.F) {
	f.Add("Bash(git log *)")
	f.Add("mcp__s__t")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err == nil && r.String() != text {
			t.Errorf("%q comes back as %q", text, r.String())
		}
	})
}

package rule

import (
	"testing"

	"modec.dev/modec/compiler/ir"
)

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
	for _, text := range []string{"", "  ", "Bash(git", "Read (foo)", "bash(ls)", "Bash()", "mcp__github(foo)",
		"WebFetch(https://x)", "Bash(:*)", "Read(foo:*)", "(x)", "Bash)", "9x"} {
		if r, err := Parse(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, r)
		}
	}
}

func TestMCP(t *testing.T) {
	for tool, want := range map[string][2]string{"mcp__a": {"a", ""}, "mcp__a__b": {"a", "b"},
		"mcp__a__b__c": {"a", "b__c"}} {
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

func TestSkippedAndInert(t *testing.T) {
	for _, c := range []struct {
		text           string
		list           ir.Decision
		skipped, inert bool
	}{
		{"mcp__*", ir.Allow, true, false},
		{"mcp__*", ir.Deny, false, false},
		{"mcp__s__get_*", ir.Allow, false, false},
		{"mcp__*__get", ir.Allow, true, false},
		{"B*", ir.Allow, true, false},
		{"Write(docs/**)", ir.Deny, false, true},
		{"Glob(docs/**)", ir.Allow, false, true},
		{"Read(docs/**)", ir.Deny, false, false},
		{"Read(!docs)", ir.Deny, false, true},
		{"Read(#docs)", ir.Deny, false, false}, // on 2.1.330: a comment in allow only
		{"Edit(#docs)", ir.Allow, false, true},
		{"Read(./!docs)", ir.Deny, false, true},
		{`Read(\!docs)`, ir.Deny, false, false},
		{"Read(../docs)", ir.Deny, false, true},
		{"Read(././docs)", ir.Deny, false, true},
		{"Edit([z-a])", ir.Deny, false, true},
		{"Edit(//[!])", ir.Deny, false, true},
		{"Edit([a-z][])", ir.Deny, false, false},
		{`Edit(\[z-a])`, ir.Deny, false, false},
		{"WebFetch(example.com)", ir.Deny, false, true},
		{"WebFetch(domain:example.com)", ir.Deny, false, false},
		{"Skill(x *)", ir.Ask, false, false},
		{"CronCreate(x)", ir.Ask, false, true},
	} {
		r, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if skipped, inert := r.Skipped(c.list) != nil, r.Inert(c.list); skipped != c.skipped || inert != c.inert {
			t.Errorf("%s in %s: got skipped %v and inert %v", c.text, c.list, skipped, inert)
		}
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]map[string]bool{
		"Bash":        {"Bash": true, "BashOutput": false},
		"*":           {"Bash": true, "mcp__s__t": true},
		"mcp__s":      {"mcp__s__t": true, "mcp__st__t": false, "mcp__s": true},
		"mcp__s__":    {"mcp__s__t": true},
		"mcp__*__del": {"mcp__a__del": true, "mcp__a__del_x": false},
		"mcp__s__g*t": {"mcp__s__get": true, "mcp__s__gets": false},
	} {
		tools := Rule{Tool: text}.Names()
		for tool, want := range want {
			if got := tools.Has(tool); got != want {
				t.Errorf("%s, %s: got %v", text, tool, got)
			}
		}
	}
	if NewTools("mcp__s__").Has("mcp__s__t") {
		t.Error("mcp__s__ in a list of tools names no tool")
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		spec string
		list ir.Decision
		want Path
	}{
		{"//etc/**", ir.Deny, Path{System, "/etc/**"}},
		{"~/x", ir.Deny, Path{Home, "/x"}},
		{"/x", ir.Deny, Path{Folder, "/x"}},
		{"./x", ir.Deny, Path{WorkDir, "x"}}, // on 2.1.330: it does not anchor, and .// does
		{".//x", ir.Deny, Path{WorkDir, "/x"}},
		{"./gen/**", ir.Deny, Path{WorkDir, "**/gen/**"}},
		{"./gen/**", ir.Allow, Path{WorkDir, "gen/**"}},
		{"gen/**", ir.Deny, Path{WorkDir, "**/gen/**"}},
		{"gen/**", ir.Allow, Path{WorkDir, "gen/**"}},
		{"a/b/**", ir.Deny, Path{WorkDir, "a/b/**"}},
	} {
		got, ok := Rule{Tool: "Read", Spec: c.spec, HasSpec: true}.Path(c.list)
		if !ok || got != c.want {
			t.Errorf("%s in %s: got %v, %v", c.spec, c.list, got, ok)
		}
	}
}

package jsonedit

import (
	"testing"
)

// A TOML file keeps every line that says what is emitted, and its comments; entries come and go as tables.
func TestMergeTOML(t *testing.T) {
	const have = `# the team's
model = "gpt-5.5"   # fast

[mcp_servers.docs]
# pages
url = "https://docs.example.com/mcp"
enabled = true
http_headers = { A = "b" }

[mcp_servers.mine]
command = "mine"

[mcp_servers.mine.env]
X = "1"

[tui]
theme = "dark" # by night
`
	p := Pattern{Places: []string{"/mcp_servers/*"}, Keys: []string{"command", "args", "env", "url", "http_headers"}}
	merge := func(have, want string, owned ...Entries) Result {
		t.Helper()
		var next []byte
		if want != "" {
			next = []byte(want)
		}
		res, err := Merge([]byte(have), next, p, owned, false)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	same := `mcp_servers.docs = {url = "https://docs.example.com/mcp", http_headers.A = "b"}`
	if res := merge(have, same); string(res.Data) != have || len(res.Theirs) != 1 {
		t.Errorf("got %s\n%+v", res.Data, res)
	}
	added := merge(have, same+"\n"+`mcp_servers.new = {command = "new", args = ["a b"], env.Y = "2"}`)
	// The new table stands behind those of its list.
	want := `# the team's
model = "gpt-5.5"   # fast

[mcp_servers.docs]
# pages
url = "https://docs.example.com/mcp"
enabled = true
http_headers = { A = "b" }

[mcp_servers.mine]
command = "mine"

[mcp_servers.mine.env]
X = "1"

[mcp_servers.new]
args = ["a b"]
command = "new"

[mcp_servers.new.env]
Y = "2"

[tui]
theme = "dark" # by night
`
	if string(added.Data) != want {
		t.Errorf("got %s", added.Data)
	}
	if res := merge(string(added.Data), "", added.Entries); string(res.Data) != have {
		t.Errorf("taken out: got %s", res.Data)
	}
	owned := Adopt([]byte(have), p, []string{"docs", "mine"})
	changed := merge(have, `mcp_servers.docs = {url = "https://other.example.com/mcp", http_headers.A = "b"}
mcp_servers.mine = {command = "mine", args = ["x"], env.X = "1"}`, owned)
	const after = `# the team's
model = "gpt-5.5"   # fast

[mcp_servers.docs]
# pages
url = "https://other.example.com/mcp"
enabled = true
http_headers = { A = "b" }

[mcp_servers.mine]
command = "mine"
args = ["x"]

[mcp_servers.mine.env]
X = "1"

[tui]
theme = "dark" # by night
`
	if string(changed.Data) != after {
		t.Errorf("changed: got %s", changed.Data)
	}
	res := merge(have, `mcp_servers.docs = {url = "https://other.example.com/mcp"}`)
	if len(res.Conflicts) != 1 || res.Conflicts[0].Line != 4 {
		t.Errorf("got %+v, want a conflict in line 4", res.Conflicts)
	}
	// The list of which the only server goes has no line of its own, or has one.
	const other = "model = \"x\"\n"
	for have, want := range map[string]string{
		other + "[mcp_servers.docs]\ncommand = \"docs\"\n[mcp_servers.docs.env]\nX = \"1\"\n": other,
		other + "[mcp_servers]\n[mcp_servers.docs]\ncommand = \"docs\"\n":                     other + "[mcp_servers]\n",
	} {
		if res := merge(have, "", Adopt([]byte(have), p, []string{"docs"})); string(res.Data) != want {
			t.Errorf("the only server taken out: got %q, want %q", res.Data, want)
		}
	}
	only := merge("", `mcp_servers.new = {command = "new"}`)
	if res := merge(string(only.Data), "", only.Entries); res.Data != nil {
		t.Errorf("got %s, want nothing", res.Data)
	}
}

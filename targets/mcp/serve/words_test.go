package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tells calls a tool over pipes, and returns what came as text.
func tells(t *testing.T, s *Server, tool, arguments string) string {
	t.Helper()
	answers := exchange(t, s, hello+fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", tool, arguments))
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(answers[len(answers)-1]); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), `\"`, `"`)
}

// An answer about a whole group says which argument the call lacks.
func TestMissingArguments(t *testing.T) {
	for args, want := range map[string]string{
		`{"mode":"architect","tool_name":"write_to_file"}`:                      `since the call has no file_path`,
		`{"mode":"code","tool_name":"use_mcp_tool"}`:                            `"missing_argument":"server"`,
		`{"mode":"code","tool_name":"execute_command"}`:                         `"missing_argument":"command"`,
		`{"mode":"code","tool_name":"switch_mode"}`:                             `"missing_argument":"target_mode"`,
		`{"mode":"code","calls":[]}`:                                            `got an empty list of calls`,
		`{"mode":"code","tool_name":"read_file","file_path":"a.go","calls":[]}`: `"decision":"allow"`,
	} {
		if got := tells(t, serve(t, Options{}), "validate_tool_use", args); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
	if got := tells(t, serve(t, Options{}), "validate_tool_use", `{"mode":"architect","tool_name":"write_to_file","file_path":"a.md"}`); strings.Contains(got, "missing_argument") {
		t.Errorf("got %s, and the path is there", got)
	}
}

// What is said of the restrictions of a mode that is not the project's is said before they are written, too.
func TestRestrictionsOfBuiltins(t *testing.T) {
	s := serve(t, Options{Writer: noWriter{}})
	const args = `{"mode_slug":"debug","restrictions":{}}`
	const words = `got mode "debug", which is builtin, want one of the project`
	got := tells(t, s, "validate_restrictions", args)
	if !strings.Contains(got, words) || !strings.Contains(got, `"valid":false`) {
		t.Errorf("got %s", got)
	}
	if got := tells(t, s, "update_mode_restrictions", args); !strings.Contains(got, "which is builtin, want one of the project") {
		t.Errorf("got %s", got)
	}
}

// A mode's short form says what its groups leave out.
func TestConfigHasLimits(t *testing.T) {
	m := compiled(t, `package modec
modes: code: {name: "Code", roleDefinition: "You write.", can: {read: {default: "allow", deny: [".env"]}, edit: "allow", mcp: github: allow: ["list"]}}
servers: github: command: "gh"
`)
	text, _, err := content(m, "mode://code/config")
	if err != nil || !strings.Contains(text, `"pattern": ".env"`) || !strings.Contains(text, `"limits": {`) {
		t.Errorf("got %s, %v", text, err)
	}
}

// A role without rules of its own is listed with those that it is compiled to: it is not without restrictions.
func TestListedRolesLookRestricted(t *testing.T) {
	m := compiled(t, `package modec
roles: {
	can: {description: "By can.", can: {read: "allow", edit: "deny", web: "deny"}}
	own: {description: "By rules.", disallowedTools: ["WebFetch"]}
}
`)
	list, err := m.roles()
	if err != nil {
		t.Fatal(err)
	}
	if r := list[0]; r.Rules != compiledRules || len(r.DisallowedTools) == 0 {
		t.Errorf("got %+v", r)
	}
	if r := list[1]; r.Rules != "" || fmt.Sprint(r.DisallowedTools) != "[WebFetch]" {
		t.Errorf("got %+v", r)
	}
	for _, r := range list {
		text, err := json.Marshal(r)
		var in RoleInput
		if err != nil || json.Unmarshal(text, &in) != nil {
			t.Fatal(err)
		}
		if !m.ofSource(&in) {
			t.Errorf("%s: what was listed is another role", r.Name)
		}
		if in.DisallowedTools = append(in.DisallowedTools, "Read"); m.ofSource(&in) {
			t.Errorf("%s: another role is the one that was listed", r.Name)
		}
	}
}

// Of what changed only that is looked at which a client asked about, as many addresses as a server remembers.
func TestOnlyAskedIsCompared(t *testing.T) {
	a, b := compiled(t, source), compiled(t, strings.ReplaceAll(source, "You ", "You always "))
	const uri = "mode://code/system_prompt"
	if got := changed(a, b, map[string]bool{uri: true, "mode://nope": true}); len(got) != 1 || got[0] != uri {
		t.Errorf("got %v", got)
	}
	sc := serve(t, Options{}).scope("")
	ask := func(i int) []string {
		if err := sc.subscribe(t.Context(), &sdk.SubscribeRequest{Params: &sdk.SubscribeParams{URI: fmt.Sprint("mode://", i)}}); err != nil {
			t.Fatal(err)
		}
		return changed(a, b, sc.watched)
	}
	for i := range mostWatched - 1 {
		sc.watched[fmt.Sprint("mode://", i)] = true
	}
	if got := ask(mostWatched - 1); len(got) != 0 {
		t.Errorf("at the limit: got %v", got)
	}
	if got := ask(0); len(got) != 0 {
		t.Errorf("an address twice: got %v", got)
	}
	if got := ask(mostWatched); len(got) < 2 || len(sc.watched) > mostWatched+1 {
		t.Errorf("above the limit: got %v", got)
	}
}

// What a client does wrong is no error of the server, and what is refused by a header can be found in the log.
func TestWhatIsLogged(t *testing.T) {
	var log bytes.Buffer
	s := serve(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	url := listen(t, s, HTTPOptions{})
	for header, value := range map[string]string{"Host": "evil.example", "Origin": "https://evil.example"} {
		req, err := http.NewRequest("POST", url+"/mcp", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if req.Header.Set(header, value); header == "Host" {
			req.Host = value
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	for _, w := range wrong {
		exchange(t, s, hello+`{"jsonrpc":"2.0","id":2,`+w.request+"}}\n")
	}
	text := log.String()
	for _, want := range []string{"host=evil.example", "origin=https://evil.example"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "level=ERROR") {
			t.Errorf("got %s", line)
		}
	}
}

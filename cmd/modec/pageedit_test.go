package main

import (
	"encoding/json"
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
)

// editing is a page on which somebody changes the source. It sends along what the page shows, as a browser does.
type editing struct {
	opened
	dir, text string
}

// startEditing opens the page of a project.
func startEditing(t *testing.T, files map[string]string) *editing {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	for name, text := range files {
		mustWrite(t, filepath.Join(dir, name), []byte(text))
	}
	lines, _ := startUI(t, dir, "--write")
	_, server, bearer := exchange(t, next(t, lines), "")
	return &editing{opened{t, server, bearer}, dir, ""}
}

// post sends values to an action, with headers in the place of the page's own.
func (o opened) post(action string, values map[string]string, headers ...string) (int, string) {
	o.t.Helper()
	data, err := json.Marshal(values)
	if err != nil {
		o.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, o.server+"/do/"+action, strings.NewReader(string(data)))
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+o.bearer)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", o.server)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return answered(o.t, req)
}

var hiddenValue = regexp.MustCompile(`name="(prepared|of|shown)" value="([^"]*)"`)

// values returns what the page sends beside names and their values.
func (e *editing) values(pairs ...string) map[string]string {
	out := map[string]string{}
	for _, m := range hiddenValue.FindAllStringSubmatch(e.text, -1) {
		out[m[1]] = html.UnescapeString(m[2])
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// does does something, and reports what the page does not show then.
func (e *editing) does(action string, pairs []string, wants ...string) {
	e.t.Helper()
	code, text := e.post(action, e.values(pairs...))
	if strings.Contains(text, `id="editor-state"`) {
		e.text = text
	}
	for _, want := range wants {
		if code != http.StatusOK || !strings.Contains(html.UnescapeString(text), want) {
			e.t.Errorf("%s %v: got %d without %q:\n%s", action, pairs, code, want, text)
		}
	}
}

// has reports a file that does not have what it should.
func (e *editing) has(file, want string) {
	e.t.Helper()
	data, err := os.ReadFile(filepath.Join(e.dir, file))
	if err != nil || string(data) != want {
		e.t.Errorf("%s: got %v\n%s\nwant\n%s", file, err, data, want)
	}
}

var editedSource = map[string]string{
	"modec.toml": "[targets.claude]\n[targets.roo]\n",
	"modec/servers.cue": `package modec

servers: shop: {command: "shop", tools: {list: risk: "read", drop: risk: "destructive"}}
`,
	"modec/dev.cue": devSource,
}

const devSource = `package modec

// Who builds.
roles: dev: {
	description: "Builds" // every day
	can: {
		command: {allow: ["npm test"], default: "ask"}
		mcp: shop: "ask"
	}
}

modes: docs: {name: "Docs", roleDefinition: "x", can: edit: allow: ["docs/**"]}
`

// devWith returns the source with something in the place of something.
func devWith(t *testing.T, old, is string) string {
	t.Helper()
	if !strings.Contains(devSource, old) {
		t.Fatalf("the source has no %s", old)
	}
	return strings.Replace(devSource, old, is, 1)
}

// TestUIEdit goes from a choice to the written file and back again.
func TestUIEdit(t *testing.T) {
	e := startEditing(t, editedSource)
	e.does("editor", []string{"choose", "role dev"}, "What role dev says itself", "can.command.allow", "npm test", "Nothing is prepared")
	e.does("editor", []string{"do", "rule", "group", "mcp", "server", "shop", "list", "deny", "pattern", "dr*"},
		`add "dr*" to roles.dev.can.mcp.shop.deny`, "narrowed", "shop:drop ask → deny",
		`+        mcp: shop: {deny: ["dr*"], default: "ask"}`, "Write it")
	e.does("verdict", nil, "no agent permits more than the source says")
	e.has("modec/dev.cue", devSource)
	e.does("write", nil, "Wrote modec/dev.cue. Next: modec build", "Nothing is prepared", "Undo")
	narrow := devWith(t, `mcp: shop: "ask"`, `mcp: shop: {deny: ["dr*"], default: "ask"}`)
	e.has("modec/dev.cue", narrow)

	// What is undone permits more, and nobody is at a terminal.
	e.does("editor", []string{"undo", "1"}, "undo: add", "widened", "deny → ask")
	e.does("write", nil, "nothing was written: it permits more")
	e.has("modec/dev.cue", narrow)
	e.does("editor", []string{"back", "0"}, "Nothing is prepared")

	// Several steps, one of them taken back, and one that fails and changes nothing of what is prepared.
	e.does("editor", []string{"do", "rule", "group", "command", "list", "ask", "pattern", "make *"}, "make *")
	e.does("editor", []string{"do", "rule", "group", "command", "list", "deny", "pattern", "rm *"}, "rm *")
	e.does("editor", []string{"do", "rule", "group", "command", "list", "deny", "pattern", "rm *"}, "the source says it already", "Write it")
	e.does("editor", []string{"do", "extend", "value", "nobody"}, "would not compile", "nobody", "modec/dev.cue:")
	e.does("write", nil, "would not compile")
	e.does("editor", []string{"back", "2"})
	e.does("editor", []string{"back", "0"}, `add "rm *"`)
	e.does("write", nil, "Wrote modec/dev.cue")
	both := strings.Replace(narrow, `allow: ["npm test"], default: "ask"`, `allow: ["npm test"], default: "ask", deny: ["rm *"]`, 1)
	e.has("modec/dev.cue", both)
	e.does("editor", []string{"undo", "1"}, "modec/dev.cue changed since")
	e.does("editor", []string{"do", "rule", "group", "command", "list", "allow", "pattern", ""}, "write a pattern")

	// A patch of its own and changes are not mixed.
	e.does("editor", []string{"do", "rule", "group", "command", "list", "deny", "pattern", "x"}, "Write it")
	e.does("editor", []string{"undo", "2"}, "write or take back first what is prepared", `add "x"`)
	e.does("editor", []string{"back", "0"})
	e.does("editor", []string{"undo", "2"}, "undo: add", "Write it")
	e.does("editor", []string{"do", "rule", "group", "command", "list", "deny", "pattern", "x"}, "write or take back first", "undo: add")
	e.does("editor", []string{"back", "0"}, "Nothing is prepared")

	// A conflict as it arises.
	e.does("editor", []string{"do", "rule", "group", "command", "list", "ask", "pattern", "rm -r x"}, "What speaks against it", "[void-rule]", "Nobody may do more or less")
	e.does("editor", []string{"back", "0"})

	// Tools, restrictions, parents, defaults and what is new.
	e.does("editor", []string{"choose", "mode docs", "do", "only", "list", "disallowedTools", "server", "shop", "tool", "d*"}, "modes.docs.mcpRestrictions.disallowedTools")
	e.does("editor", []string{"back", "0"})
	e.does("editor", []string{"choose", "role dev", "do", "tool", "server", "shop", "tool", "list", "word", "deny"}, `<option selected>deny`, "mcp shop:list")
	e.does("editor", []string{"do", "tool", "server", "shop", "tool", "list", "word", ""}, `take "list" out of roles.dev.can.mcp.shop.deny`)
	for range 2 {
		e.does("editor", []string{"back", "0"})
	}
	e.does("editor", []string{"do", "new", "kind", "policy", "name", "calm", "text", "For everybody"}, "What policy calm says itself", "For everybody")
	e.does("editor", []string{"do", "word", "group", "web", "word", "ask"}, `policies.calm.can.web: "ask"`)
	e.does("editor", []string{"choose", "role dev", "do", "extend", "value", "calm"}, `add "calm" to roles.dev.extends`, "web anything else")
	e.does("write", nil, "Wrote ")
	e.does("editor", nil, "policy calm")

	// What is not a permission is not changed here.
	for _, c := range []string{
		`{"at":["servers","shop","command"],"do":"say","value":"evil"}`, `{"at":["roles","dev","env","X"],"do":"say","value":"evil"}`,
	} {
		e.does("editor", []string{"change", c}, "want one of what a mode, a role or a policy permits")
		code, text := e.post("write", e.values("prepared", `{"changes":[`+c+`]}`))
		if code != http.StatusOK || !strings.Contains(text, "want one of what") {
			t.Errorf("got %d %s", code, text)
		}
	}
}

// TestUIEditMeanwhile holds that what somebody else wrote is never lost.
func TestUIEditMeanwhile(t *testing.T) {
	e := startEditing(t, editedSource)
	file := filepath.Join(e.dir, "modec/dev.cue")
	add := []string{"choose", "role dev", "do", "rule", "group", "command", "list", "deny", "pattern", "rm *"}
	e.does("editor", add, "Write it")

	// Something else of the same file: it is shown again, and then written beside it.
	theirs := devWith(t, `// every day`, `// every night`)
	mustWrite(t, file, []byte(theirs))
	e.does("write", nil, "the source changed meanwhile", "Write it")
	e.has("modec/dev.cue", theirs)
	e.does("write", nil, "Wrote modec/dev.cue")
	e.has("modec/dev.cue", strings.Replace(theirs, `default: "ask"}`, `default: "ask", deny: ["rm *"]}`, 1))

	// What is to be taken out is gone by now.
	mustWrite(t, file, []byte(devSource))
	e.does("editor", []string{"change", `{"at":["roles","dev","can","command","allow"],"do":"drop","value":"npm test"}`}, "allow → ask", "Write it")
	theirs = devWith(t, `"npm test"`, `"npm run test"`)
	mustWrite(t, file, []byte(theirs))
	e.does("write", nil, "does not say it alone")
	e.has("modec/dev.cue", theirs)

	// The source is broken: what is prepared stays, and nothing is written.
	e.does("editor", []string{"back", "0"})
	e.does("editor", add, "Write it")
	mustWrite(t, file, []byte("package modec\n\nroles: {"))
	e.does("editor", nil, "The source on disk does not compile", "modec/dev.cue:", `add "rm *"`)
	if strings.Contains(e.text, `id="write"`) {
		t.Error("what cannot be written has a button to write it")
	}
	e.does("write", nil, "does not compile")
	e.has("modec/dev.cue", "package modec\n\nroles: {")
	mustWrite(t, file, []byte(devSource))
	e.does("editor", nil, "Write it")
	e.does("write", nil, "Wrote modec/dev.cue")
}

// TestUIEditRefused holds who cannot write.
func TestUIEditRefused(t *testing.T) {
	e := startEditing(t, editedSource)
	e.does("editor", []string{"choose", "role dev", "do", "rule", "group", "command", "list", "deny", "pattern", "rm *"}, "Write it")
	for _, c := range []struct {
		name    string
		headers []string
		code    int
	}{
		{"another origin", []string{"Origin", "http://evil.example"}, 403},
		{"no origin", []string{"Origin", ""}, 403},
		{"another port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"no bearer", []string{"Authorization", ""}, 401},
		{"another bearer", []string{"Authorization", "Bearer x"}, 401},
		{"a form", []string{"Content-Type", "text/plain"}, 415},
	} {
		if code, text := e.post("write", e.values(), c.headers...); code != c.code {
			t.Errorf("%s: got %d %s", c.name, code, text)
		}
	}
	e.has("modec/dev.cue", devSource)

	lines, _ := startUI(t, e.dir)
	_, server, bearer := exchange(t, next(t, lines), "")
	if code, text := (opened{t, server, bearer}).post("write", e.values()); code != http.StatusForbidden || !strings.Contains(text, "--write") {
		t.Errorf("a page that only reads: got %d %s", code, text)
	}
	if code, text := (opened{t, server, bearer}).post("editor", e.values()); code != http.StatusForbidden {
		t.Errorf("a page that only reads: got %d %s", code, text)
	}
	e.has("modec/dev.cue", devSource)
}

// TestUINotPrepared holds what the editor does not take for a change.
func TestUINotPrepared(t *testing.T) {
	e := startEditing(t, editedSource)
	for _, c := range []struct {
		step []string
		why  string
	}{
		{[]string{"do", "new", "kind", "role", "name", "dev", "text", "t"}, "there is a role dev already: choose it above"},
		{[]string{"do", "new", "kind", "policy", "name", "", "text", "t"}, "write a name, and what it is for"},
		{[]string{"do", "only", "list", "allowedTools"}, `write a name, or a pattern such as "*"`},
		{[]string{"do", "only", "list", "disallowedServers"}, `write a name, or a pattern such as "*"`},
	} {
		e.does("editor", append([]string{"choose", "role dev"}, c.step...), c.why, "Nothing is prepared")
	}
}

// TestUIPatches proposes what modec suggests, and what an audit asks for.
func TestUIPatches(t *testing.T) {
	files := map[string]string{}
	for name, text := range editedSource {
		files[name] = text
	}
	files["modec.toml"] += "[audit]\nfile = \".modec/audit.jsonl\"\narguments = true\n"
	files["modec/writer.cue"] = `package modec

modes: writer: {name: "W", roleDefinition: "w", can: {edit: allow: ["docs/**"], command: "allow"}}
`
	e := startEditing(t, files)
	e.does("editor", []string{"choose", "mode writer"}, "What mode writer says itself")
	e.does("suggestions", nil, "[command-defeats-edit]", "Look at the patch")
	e.does("editor", []string{"suggested", "modec/writer.cue"}, "what is suggested in modec/writer.cue", `command: "ask"`, "allow → ask")
	e.does("write", nil, "Wrote modec/writer.cue")
	e.has("modec/writer.cue", strings.Replace(files["modec/writer.cue"], `command: "allow"`, `command: "ask"`, 1))
	e.does("editor", []string{"suggested", "modec/writer.cue"}, "nothing more of which this was suggested")

	log, err := audit.Open(e.dir, ir.Audit{File: ".modec/audit.jsonl", MaxMB: 10, Keep: 5, Arguments: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []audit.Event{
		{Via: audit.ViaHook, Mode: "docs", Group: "edit", Tool: "Edit", About: "README.md", Decision: "deny", Outcome: audit.Refused},
		{Via: audit.ViaHook, Role: "dev", Group: "mcp", Server: "shop", About: "drop", Decision: "ask", Outcome: audit.Refused},
	} {
		if err := log.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	text := e.shows("audit", nil, "Propose")
	wishes := regexp.MustCompile(`data-edit="([^"]*)"`).FindAllStringSubmatch(text, -1)
	if len(wishes) != 2 {
		t.Fatalf("got %d proposals:\n%s", len(wishes), text)
	}
	for i, want := range []string{"there is no patch for role dev: mcp shop:drop: the inventory says that it is destructive", "/README.md"} {
		var values map[string]string
		if err := json.Unmarshal([]byte(html.UnescapeString(wishes[i][1])), &values); err != nil {
			t.Fatal(err)
		}
		e.does("editor", []string{"wish", values["wish"]}, want)
	}
	e.does("editor", nil, "permit what was refused or asked about", "widened", "deny → ask")
	e.does("write", nil, "it permits more")
	e.has("modec/dev.cue", devSource)
}

// TestUIMatch shows what a pattern stands for.
func TestUIMatch(t *testing.T) {
	e := startEditing(t, editedSource)
	mustWrite(t, filepath.Join(e.dir, "docs/a.md"), []byte("x"))
	for _, c := range []struct {
		values []string
		want   string
	}{
		{[]string{"group", "mcp", "server", "sh*", "list", "allow", "pattern", "@read"}, "Stands for 1 of 2 tools of the inventory"},
		{[]string{"group", "mcp", "server", "shop", "list", "allow", "pattern", "*"}, "Without a question then: 1 can destroy something."},
		{[]string{"group", "edit", "list", "allow", "pattern", "docs/**"}, "docs/a.md"},
		{[]string{"group", "read", "list", "deny", "pattern", "(", "regex", "on"}, `class="error"`},
		{[]string{"group", "command", "list", "allow", "pattern", "npm *"}, "Stands for 1 of 1 lines"},
		{[]string{"list", "disallowedTools", "server", "shop", "tool", "dr*"}, "shop:drop"},
		{[]string{"list", "disallowedServers", "server", "none*"}, "Stands for none of 2"},
	} {
		q := map[string][]string{}
		for i := 0; i < len(c.values); i += 2 {
			q[c.values[i]] = []string{c.values[i+1]}
		}
		e.shows("match", q, c.want)
	}
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets"
)

// opened is a page that somebody opened.
type opened struct {
	t              *testing.T
	server, bearer string
}

// view returns what a view shows.
func (o opened) view(name string, query url.Values) (int, string) {
	o.t.Helper()
	req, err := http.NewRequest(http.MethodGet, o.server+"/view/"+name+"?"+query.Encode(), nil)
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+o.bearer)
	return answered(o.t, req)
}

// shows reports what a view lacks.
func (o opened) shows(name string, query url.Values, wants ...string) string {
	o.t.Helper()
	code, text := o.view(name, query)
	for _, want := range wants {
		if code != http.StatusOK || !strings.Contains(text, want) {
			o.t.Errorf("%s?%s: got %d without %q:\n%s", name, query.Encode(), code, want, text)
		}
	}
	return text
}

func answered(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// exchange asks for the bearer of an address.
func exchange(t *testing.T, address, origin string) (code int, server, bearer string) {
	t.Helper()
	server, key, ok := strings.Cut(address, "/#")
	if !ok {
		t.Fatalf("got the address %q", address)
	}
	req, err := http.NewRequest(http.MethodPost, server+"/key", strings.NewReader(`{"key":"`+key+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	if origin == "" {
		origin = server
	}
	req.Header.Set("Origin", origin)
	req.Header.Set("Content-Type", "application/json")
	code, text := answered(t, req)
	var got struct{ Bearer string }
	if code == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
	}
	return code, server, got.Bearer
}

// startUI runs modec ui in a folder. enter has it print another address, which lines yields.
func startUI(t *testing.T, dir string, flags ...string) (lines *bufio.Scanner, enter func()) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	stdin, typed := io.Pipe()
	said, stdout := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, targets.All(), append([]string{"-q", "-C", dir, "ui"}, flags...), stdin, stdout,
			io.Discard)
		stdout.Close()
	}()
	t.Cleanup(func() {
		end()
		if code := <-done; code != 0 {
			t.Errorf("got exit code %d", code)
		}
		typed.Close()
	})
	return bufio.NewScanner(said), func() {
		if _, err := io.WriteString(typed, "\n"); err != nil {
			t.Error(err)
		}
	}
}

func next(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatal("modec ui printed no address")
	}
	return lines.Text()
}

// hostile is markup that no view may pass on.
const hostile = `</script><img src=x onerror=alert(1)>"'`

// uiProject writes a project whose texts are markup wherever the source takes it.
func uiProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"modec.toml": "name = 'a" + hostile[:20] + "'\nbaseline = \"dev\"\n[targets.claude]\n[targets.roo]\n[targets.cursor]\n",
		"modec/a.json": `{"modes": {"docs": {"name": ` + quoted(hostile) + `, "roleDefinition": ` + quoted(hostile) + `,
			"description": ` + quoted(hostile) + `, "can": {"read": "allow", "edit": {"allow": ["docs/**"]}}}},
			"servers": {"shop": {"command": "shop", "args": [` + quoted(hostile) + `],
				"tools": {"list": {"risk": "read"}, "drop": {"risk": "destructive"}}}},
			"roles": {"dev": {"description": ` + quoted(hostile) + `, "can": {"read": {"allow": ["**"], "deny": [` + quoted("a"+hostile) + `]},
				"command": {"allow": [` + quoted("echo '"+hostile[9:38]+"'") + `, "npm test"], "deny": ["rm *"]},
				"mcp": {"shop": {"allow": ["list"], "deny": ["drop"]}}}}}}`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestUI opens the page as a browser does, and asks for every view.
func TestUI(t *testing.T) {
	dir := uiProject(t)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	lines, enter := startUI(t, dir)
	address := next(t, lines)
	if code, _, _ := exchange(t, address, "http://evil.example"); code != http.StatusForbidden {
		t.Errorf("another origin: got %d", code)
	}
	code, server, bearer := exchange(t, address, "")
	if code != http.StatusOK || bearer == "" {
		t.Fatalf("got %d and the bearer %q", code, bearer)
	}
	if code, _, _ := exchange(t, address, ""); code != http.StatusForbidden {
		t.Errorf("a key that was used: got %d", code)
	}
	enter()
	if again := next(t, lines); again == address {
		t.Error("Enter printed the same address")
	} else if code, _, other := exchange(t, again, ""); code != http.StatusOK || other == bearer {
		t.Errorf("another page: got %d and the bearer %q", code, other)
	}
	page := opened{t, server, bearer}
	if code, _ := (opened{t, server, bearer + "x"}).view("matrix", nil); code != http.StatusUnauthorized {
		t.Errorf("a wrong bearer: got %d", code)
	}
	seen := page.shows("state", nil, `id="seen"`, "2 subjects")
	_, seen, _ = strings.Cut(seen, `value="`)
	seen, _, _ = strings.Cut(seen, `"`)
	if code, text := page.view("state", url.Values{"seen": {seen}}); code != http.StatusNoContent || text != "" {
		t.Errorf("the same state: got %d %q", code, text)
	}
	dev := url.Values{"role": {"dev"}}
	of := func(more ...string) url.Values {
		q := url.Values{"role": {"dev"}}
		for i := 0; i < len(more); i += 2 {
			q.Set(more[i], more[i+1])
		}
		return q
	}
	texts := []string{
		page.shows("filters", nil, "tools of shop", "<option>claude</option>", "<option>cursor ide</option>", "<option>roo</option>"),
		page.shows("matrix", nil, "2 of 2 subjects", "role dev", "mode docs", "view/why?group=command&amp;role=dev"),
		page.shows("matrix", url.Values{"kind": {"mode"}, "q": {"DOC"}}, "1 of 2 subjects"),
		page.shows("matrix", url.Values{"q": {"nobody"}}, "Nothing passes the filters"),
		page.shows("matrix", url.Values{"columns": {"*"}}, ">shop</th>", "server=shop"),
		page.shows("matrix", url.Values{"columns": {"shop"}, "risk": {"destructive"}}, ">drop</th>"),
		page.shows("matrix", url.Values{"agent": {"claude"}}, "rules"),
		page.shows("matrix", url.Values{"differs": {"HEAD"}}, "0 of 2 subjects"),
		page.shows("matrix", url.Values{"differs": {"nobody"}}, `role="alert"`, "nobody"),
		page.shows("subject", dev, "What the source says of role dev", "<h3>claude"),
		page.shows("subject", of("mode", "docs"), "role dev in mode docs"),
		page.shows("subject", url.Values{"role": {"nobody"}}, `role="alert"`, "no such mode or role"),
		page.shows("why", of("group", "command"), "rm *", "modec/a.json:", `name="arg"`),
		page.shows("why", of("group", "mcp", "server", "shop", "tool", "drop"), `value="shop:drop"`),
		page.shows("why", of("group", "x"), `role="alert"`),
		page.shows("held", of("group", "command"), "claude", ".claude/settings.json"),
		page.shows("answer", of("group", "command", "arg", "rm -rf x"), ">deny</strong>", "modec/a.json:", "Bash(rm *)"),
		page.shows("answer", of("group", "read", "arg", "a"+hostile), ">deny</strong>"),
		page.shows("answer", of("group", "mcp", "arg", "shop"), `role="alert"`, "want SERVER:TOOL"),
		page.shows("answer", of("group", "command", "arg", ""), `role="alert"`, "write what to try"),
		page.shows("losses", nil, "<h2>claude</h2>", "<h2>roo</h2>"),
		page.shows("audit", nil, "the project has no audit"),
		page.shows("cursor", nil, "SERVER:TOOL"),
		page.shows("approval", url.Values{"tool": {"shop:list"}, "gate": {"on"}, "list": {"shop:*"}}, ">runs</strong>"),
		page.shows("approval", url.Values{"tool": {"shop:list"}, "gate": {"on"}}, ">asks</strong>", "shop:list"),
		page.shows("approval", url.Values{"tool": {hostile}}, `role="alert"`),
	}
	for _, text := range texts {
		if strings.Contains(text, "<img") || strings.Contains(text, "</script") {
			t.Errorf("markup of the source is passed on:\n%s", text)
		}
	}

	// A change is shown at once, and a broken source leaves the last one.
	write := func(old, now string) {
		t.Helper()
		file := filepath.Join(dir, "modec", "a.json")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(data), old, now, 1)
		if text == string(data) {
			t.Fatalf("the source has no %s", old)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	until := func(name string, query url.Values, want string) {
		t.Helper()
		for range 200 {
			if _, text := page.view(name, query); strings.Contains(text, want) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s does not show %q", name, want)
	}
	write(`"rm *"`, `"rm *", "mv *"`)
	until("why", of("group", "command"), "mv *")
	until("matrix", url.Values{"differs": {"HEAD"}}, "1 of 2 subjects that differ from HEAD")
	write(`"deny": ["drop"]`, `"deny": "drop"`)
	until("state", url.Values{"seen": {seen}}, "does not compile")
	page.shows("why", of("group", "command"), "mv *")
	write(`"deny": "drop"`, `"deny": ["drop"]`)
	until("state", url.Values{"seen": {seen}}, "2 subjects, as of")

	for _, header := range []struct{ name, value string }{{"Origin", "http://evil.example"}, {"Host", "evil.example"}} {
		req, err := http.NewRequest(http.MethodGet, server+"/view/matrix", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+bearer)
		req.Header.Set(header.name, header.value)
		if header.name == "Host" {
			req.Host = header.value
		}
		if code, _ := answered(t, req); code != http.StatusForbidden {
			t.Errorf("%s %s: got %d", header.name, header.value, code)
		}
	}
}

// TestUIAudit holds that the page shows the events of a project's audit.
func TestUIAudit(t *testing.T) {
	dir := uiProject(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	file := filepath.Join(dir, "modec.toml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(data, "[audit]\nfile = \".modec/audit.jsonl\"\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	lines, _ := startUI(t, dir)
	_, server, bearer := exchange(t, next(t, lines), "")
	page := opened{t, server, bearer}
	page.shows("audit", nil, "Nothing was recorded")
	log, err := audit.Open(dir, ir.Audit{File: ".modec/audit.jsonl", MaxMB: 10, Keep: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []audit.Event{
		{Via: audit.ViaHook, Role: "dev", Group: "command", Tool: "Bash", Decision: "deny", Outcome: audit.Refused},
		{Via: audit.ViaHook, Role: "dev", Group: "read", Tool: hostile, Decision: "allow", Outcome: audit.Allowed},
	} {
		if err := log.Append(ev); err != nil {
			t.Fatal(err)
		}
	}
	if text := page.shows("audit", nil, "Bash", "onerror=alert"); strings.Contains(text, "<img") {
		t.Errorf("markup of an event is passed on:\n%s", text)
	}
	text := page.shows("audit", url.Values{"denied": {"on"}}, "Bash", `data-show="view/why?group=command&amp;role=dev"`)
	if strings.Contains(text, "onerror") {
		t.Errorf("what was allowed is shown:\n%s", text)
	}
}

func TestUIAddress(t *testing.T) {
	var said strings.Builder
	args := []string{"-C", uiProject(t), "ui", "--http", "0.0.0.0:0"}
	if code := run(t.Context(), targets.All(), args, strings.NewReader(""), io.Discard, &said); code != 2 ||
		!strings.Contains(said.String(), "others could reach this address") {
		t.Errorf("got %d %s", code, said.String())
	}
}

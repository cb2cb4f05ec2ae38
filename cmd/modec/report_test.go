package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets"
)

// commandLine returns the parser with its model of the command line.
func commandLine(t *testing.T) *kong.Kong {
	t.Helper()
	k, err := newParser(&cli{}, commands(), targets.All(), &bytes.Buffer{}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// compiled compiles a JSON Schema, of the draft that it names.
func compiled(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("report.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	if s.DraftVersion != 2020 {
		t.Fatalf("got draft %d", s.DraftVersion)
	}
	return s
}

// reportFolders are the folders in which TestReports runs its commands.
func reportFolders(t *testing.T) map[string]string {
	t.Helper()
	write := func(dir string, files map[string]string) {
		for name, text := range files {
			mustWrite(t, filepath.Join(dir, name), []byte(text))
		}
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	acme, err := filepath.Abs("../../fixtures/acme")
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]string{"ACME": acme}
	for _, name := range []string{"GOOD", "BROKEN", "EDITED", "AGENTS", "EMPTY", "OUT",
		"AUDITED", "BADAUDITED"} {
		in[name] = t.TempDir()
	}
	write(in["GOOD"], cached)
	write(in["GOOD"], map[string]string{
		"modec/roles/lax.yaml": `roles: {lax: {can: {command: {allow: ["git log *"], deny: ["git *"]}}}}`,
		"list.json":            `{"mcpAllowlist": ["docs:search"]}`,
	})
	write(in["EDITED"], cached)
	write(in["BROKEN"], cached)
	answer(t, "-C", in["GOOD"], "build")
	answer(t, "-C", in["EDITED"], "build")
	mustWrite(t, filepath.Join(in["EDITED"], ".roomodes"), []byte("customModes: []\n"))
	write(in["BROKEN"], map[string]string{"modec/roles/b.cue": "package modec\n\nroles: b: cann: read: \"allow\"\n"})
	write(in["AGENTS"], map[string]string{
		".claude/settings.json": `{"permissions": {"allow": ["Bash(npm ci)", "WebSearch"], "deny": ["Read(./.env)"]}}`,
		".roomodes": `customModes:
  - slug: docs
    name: Docs
    roleDefinition: You write.
    groups: [read, [edit, {fileRegex: \.md$}]]
`,
	})
	audited := "[targets.claude]\n[audit]\nfile = \"audit.jsonl\"\narguments = true\n"
	write(in["AUDITED"], map[string]string{"modec.toml": audited, "modec/a.yaml": "roles: {dev: {can: {read: ask}}}\n"})
	write(in["BADAUDITED"], map[string]string{"modec.toml": audited, "modec/a.yaml": "roles: {dev: {can: {reed: ask}}}\n"})
	log, err := audit.Open(in["AUDITED"], ir.Audit{File: "audit.jsonl", MaxMB: 1, Arguments: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(audit.Event{Via: audit.ViaServe, Tool: "Read", Role: "dev", Rule: "default of read", Group: "read",
		About: "x", Outcome: audit.Refused, Input: []byte(`{"file_path": "x"}`)}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"init -q", "add -A", "-c user.name=n -c user.email=e commit -qm m"} {
		cmd := exec.Command("git", append([]string{"-C", in["GOOD"]}, strings.Fields(line)...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", line, err, out)
		}
	}
	role := filepath.Join(in["GOOD"], "modec", "roles", "dev.cue")
	data, err := os.ReadFile(role)
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, role, bytes.Replace(data, []byte(`"make test"`), []byte(`"make *"`), 1))
	answer(t, "-C", in["GOOD"], "build")
	return in
}

// reportLines are command lines that print every report of every command. The words in
// capitals are folders.
var reportLines = []string{
	"init -C EMPTY", "init -C EMPTY/modec.toml", "init --list-templates",
	"migrate -C AGENTS --dry-run --suggest", "migrate -C AGENTS/.claude",
	"build -C GOOD --check", "build -C ACME --out OUT", "build -C BROKEN", "build -C EDITED --check",
	"lint -C GOOD --suggest", "lint -C ACME", "lint --rules", "lint -C BROKEN",
	"verify -C GOOD", "verify -C EDITED --disk", "verify -C BROKEN",
	"diff -C GOOD", "diff -C GOOD --text", "diff -C BROKEN GOOD BROKEN",
	"fmt -C GOOD --check", "fmt -C BROKEN --check", "fmt -C OUT",
	"clean -C GOOD --dry-run", "clean -C EDITED", "clean -C GOOD --keep --dry-run", "clean -C BROKEN --keep",
	"explain -C ACME developer edit src/a.ts", "explain -C GOOD code mcp docs:search --role dev",
	"explain --code bad-choice", "explain -C BROKEN code edit x",
	"show -C ACME", "show -C ACME reviewer --mode architect", "show -C ACME --html OUT/page.html", "show -C BROKEN",
	"explain -C GOOD .roomodes:4", "explain -C BROKEN .roomodes:4",
	"inventory -C GOOD --accept", "inventory -C BROKEN",
	"targets", "targets roo",
	"help", "help json", "help cursor check",
	"args -C GOOD dev --accept", "args -C BROKEN dev", "run -C BROKEN dev -- claude",
	"cursor check docs:search --file GOOD/list.json", "cursor check docs:drop --file GOOD/list.json",
	"cursor add docs:drop --file GOOD/list.json", "cursor add docs:search --file GOOD/list.json",
	"off -C GOOD --end",
	"serve -C GOOD --print-config claude", "serve -C GOOD --install vscode", "serve -C BROKEN",
	"audit list -C AUDITED --denied", "audit list -C AUDITED --summary",
	"audit list -C AUDITED --suggest --times 1", "audit list -C AUDITED --unused", "audit list -C BADAUDITED --unused",
	"audit verify -C AUDITED",
	"doctor -C GOOD", "doctor -C BROKEN",
	"completion bash", "version",
}

// TestReports holds what commands print with --json against the schemas that `modec
// schema --output` prints, until every report of every command has been printed.
func TestReports(t *testing.T) {
	in := reportFolders(t)
	all := reporters(commandLine(t))
	schemas, printed := map[string]*jsonschema.Schema{}, map[string]bool{}
	for name := range all {
		var out bytes.Buffer
		if code := run(t.Context(), targets.All(), []string{"schema", "--output", name}, nil, &out, &out); code != 0 {
			t.Fatalf("%s: exit %d: %s", name, code, &out)
		}
		schemas[name] = compiled(t, out.Bytes())
	}
	for _, line := range reportLines {
		args := strings.Fields(line)
		for i, a := range args {
			folder, rest, _ := strings.Cut(a, "/")
			if dir, ok := in[folder]; ok {
				args[i] = filepath.Join(dir, rest)
			}
		}
		name := args[0]
		if all[name] == nil {
			name += " " + args[1]
		}
		var out, err bytes.Buffer
		code := run(t.Context(), targets.All(), append([]string{"--json"}, args...), strings.NewReader(""), &out, &err)
		doc, bad := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
		if bad != nil {
			t.Errorf("%s: exit %d, %v\n%s%s", line, code, bad, &out, &err)
			continue
		}
		if bad := schemas[name].Validate(doc); bad != nil {
			t.Errorf("%s: %v\n%s", line, bad, &out)
		}
		head := fmt.Sprintf("{\n  \"version\": 1,\n  \"command\": %q", name)
		if !strings.HasPrefix(out.String(), head) {
			t.Errorf("%s: it begins with %.60q", line, out.String())
		}
		for _, r := range all[name].reports() {
			one, bad := report.ReportSchema(name, []any{r})
			if bad != nil {
				t.Fatal(bad)
			}
			text, bad := json.Marshal(one)
			if bad != nil {
				t.Fatal(bad)
			}
			if compiled(t, text).Validate(doc) == nil {
				printed[name+" "+reflect.TypeOf(r).Name()] = true
			}
		}
	}
	for name, r := range all {
		if name == "off" { // it needs a terminal: TestOff
			continue
		}
		for _, r := range r.reports() {
			if form := name + " " + reflect.TypeOf(r).Name(); !printed[form] {
				t.Errorf("no command line prints %s", form)
			}
		}
	}
}

// TestEveryCommandReports holds that a command without a JSON output has no --format
// either, and the other way round.
func TestEveryCommandReports(t *testing.T) {
	k := commandLine(t)
	all := reporters(k)
	for _, n := range k.Model.Leaves(false) {
		name := commandName(n)
		form := slices.ContainsFunc(n.Flags, func(f *kong.Flag) bool { return f.Name == "format" })
		switch name {
		case "hook", "complete", "gateway", "ui": // they speak with programs and browsers, in a form of their own
			if form || all[name] != nil {
				t.Errorf("%s has a form", name)
			}
		case "run": // what it prints is the agent's
			if form || all[name] == nil {
				t.Errorf("run: got a form %v", form)
			}
		case "schema": // what it prints is a schema
			if !form || all[name] != nil {
				t.Errorf("schema: got a form %v", form)
			}
		default:
			if !form || all[name] == nil {
				t.Errorf("%s: got a form %v, reports %v", name, form, all[name] != nil)
			}
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/targets"
)

// secretPlaces are the members of a server's entry that state a secret S.
var secretPlaces = map[string]string{
	"env":              `"command": "npx", "args": ["-y", "srv"], "env": {"GITHUB_TOKEN": "S", "NODE_ENV": "production"}`,
	"env with another": `"command": "npx", "env": {"DATABASE_URL": "postgres://app:S@db.example/x", "PORT": "1"}`,
	"bearer":           `"type": "KIND", "url": "https://x.example/mcp", "headers": {"Authorization": "Bearer S"}`,
	"header":           `"type": "KIND", "url": "https://x.example/mcp", "headers": {"X-Api-Key": "S"}`,
	"argument":         `"command": "npx", "args": ["-y", "${env:PORT}", "--token", "S"]`,
	"argument with =":  `"command": "npx", "args": ["-y", "srv", "--api-key=S"]`,
	"variable in args": `"command": "docker", "args": ["run", "-e", "SLACK_TOKEN=S", "image"]`,
	"default":          `"command": "npx", "env": {"API_KEY": "${API_KEY:-S}"}`,
	"JSON in args":     `"command": "npx", "args": ["srv", "--config", "{\"exaApiKey\":\"S\"}"]`,
	"query":            `"type": "KIND", "url": "https://x.example/mcp?profile=me&api_key=S"`,
	"user":             `"type": "KIND", "url": "https://me:S@x.example/mcp"`,
}

// secretFiles are the files of agents that list servers, with the transport that each calls HTTP.
var secretFiles = map[string]string{".mcp.json": "http", ".cursor/mcp.json": "http", ".roo/mcp.json": "streamable-http"}

// drawSecret draws a text that people use as a password or a token.
func drawSecret(r *rand.Rand) string {
	const letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	b := make([]byte, 8+r.IntN(33))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return [...]string{"", "", "ghp_", "sk-", "zq-"}[r.IntN(5)] + string(b)
}

// TestSecretsStay plants drawn secrets in every place of every format. They never appear in a file
// but the one where they lay, nor in anything that a command prints, and that file keeps them.
func TestSecretsStay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for file, kind := range secretFiles {
		for place, members := range secretPlaces {
			t.Run(file+" "+place, func(t *testing.T) {
				s := drawSecret(r)
				entry := `"hidden": {` + strings.NewReplacer("S", s, "KIND", kind).Replace(escapeS(members)) + `}`
				text := "{\n  \"mcpServers\": {\n    " + entry + ",\n    \"open\": {\"command\": \"open-mcp\"}\n  }\n}\n"
				secretStays(t, s, file, text, entry)
			})
		}
	}
}

// escapeS keeps the capital letters of members that are not the secret's place.
func escapeS(members string) string {
	return strings.NewReplacer("SLACK", "\x00LACK", "DATABASE", "DATABA\x00E").Replace(members)
}

func secretStays(t *testing.T, s, file, text, entry string) {
	text, entry = strings.ReplaceAll(text, "\x00", "S"), strings.ReplaceAll(entry, "\x00", "S")
	dir, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	for name, data := range map[string]string{
		file: text,
		".roomodes": "customModes:\n  - slug: dev\n    name: Dev\n    roleDefinition: You develop.\n" +
			"    groups: [read, edit, mcp]\n",
		".claude/settings.json": `{"permissions": {"allow": ["mcp__hidden__get"], "deny": ["mcp__hidden__drop"]}}` + "\n",
	} {
		mustWrite(t, filepath.Join(dir, name), []byte(data))
	}
	tell := func(want int, line string) string {
		var out bytes.Buffer
		code := run(t.Context(), targets.All(), append([]string{"-C", dir}, strings.Fields(line)...),
			strings.NewReader(""), &out, &out)
		if want >= 0 && code != want {
			t.Errorf("%s: exit %d, want %d\n%s", line, code, want, &out)
		}
		if strings.Contains(out.String(), s) {
			t.Errorf("%s prints the secret %s:\n%s", line, s, &out)
		}
		return out.String()
	}
	tell(0, "migrate --dry-run --json")
	if out := tell(0, "migrate -v"); !strings.Contains(out, "server hidden: ") || !strings.Contains(out, "in its place") {
		t.Errorf("the report does not say how to move the secret %s:\n%s", s, out)
	}
	for _, line := range []string{
		"build", "build --check", "verify", "show", "show --json", "explain .claude/settings.json", "doctor",
	} {
		want := 0
		if line == "doctor" {
			want = -1
		}
		tell(want, line)
	}
	for _, line := range []string{"lint -v", "lint --json", "verify --disk", "explain dev mcp hidden:get", "diff --text"} {
		tell(-1, line)
	}
	after, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil || !strings.Contains(string(after), entry) {
		t.Errorf("the entry is %s by now, want %s", after, entry)
	}
	onlyThere(t, s, file, dir, home)
	tell(0, "clean")
	if after, _ := os.ReadFile(filepath.Join(dir, file)); string(after) != text {
		t.Errorf("the file is\n%s\nby now, want\n%s", after, text)
	}

	// Something else in its place is drift, and the message does not tell the secret.
	changed := strings.NewReplacer(`"npx"`, `"other"`, `"docker"`, `"other"`, "x.example", "y.example").Replace(text)
	tell(0, "build")
	mustWrite(t, filepath.Join(dir, file), []byte(changed))
	if out := tell(1, "build --check --diff"); !strings.Contains(out, "entry-changed") {
		t.Errorf("another program is no drift:\n%s", out)
	}
}

// onlyThere holds that a secret is in one file of the project, and in none of the home folder but
// as a copy of that file.
func onlyThere(t *testing.T, s, file string, folders ...string) {
	t.Helper()
	for _, dir := range folders {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			if err == nil && p != filepath.Join(folders[0], file) && bytes.Contains(data, []byte(s)) {
				t.Errorf("%s has the secret %s:\n%s", p, s, data)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSecretsOfASource holds that commands mask what a source states in clear text.
func TestSecretsOfASource(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		s, other := drawSecret(r), drawSecret(r)
		dir := t.TempDir()
		quoted, _ := json.Marshal(s)
		mustWrite(t, filepath.Join(dir, "modec.toml"), []byte("[targets.claude]\n[targets.roo]\n[targets.cursor]\n"))
		source := `package modec

servers: {
	a: {command: "npx", args: ["--token", S], env: {API_KEY: S, FOO: "${X}"}, tools: get: {}}
	b: {url: "https://me:T@x.example/mcp?token=T", headers: {Authorization: "Bearer T", "X-Api-Key": S}}
}
modes: dev: {name: "Dev", roleDefinition: "You develop.", can: {mcp: a: "allow", web: "sometimes"}}
roles: dev: {env: {MY_TOKEN: S}, can: command: {allow: ["curl -H 'Authorization: Bearer T' *"]}}
`
		write := func(source string) {
			source = strings.NewReplacer(" S", " "+string(quoted), ":T", ":"+s, " T", " "+s, "=T", "="+s).Replace(source)
			mustWrite(t, filepath.Join(dir, "modec/a.cue"), []byte(source))
		}
		tell := func(line ...string) {
			var out bytes.Buffer
			run(t.Context(), targets.All(), append([]string{"-C", dir}, line...), strings.NewReader(""), &out, &out)
			if strings.Contains(out.String(), s) || strings.Contains(out.String(), other) {
				t.Errorf("%s prints the secret %s or %s:\n%s", line, s, other, &out)
			}
		}
		write(source)
		tell("build") // sometimes is no decision: an error with the line
		write(strings.Replace(source, `, web: "sometimes"`, "", 1))
		tell("lint")
		tell("build", "--diff")
		tell("build")
		tell("explain", ".mcp.json:6")
		tell("explain", ".roo/mcp.json:7")
		tell("explain", "dev", "mcp", "a:get")
		tell("explain", "dev", "command", "curl -H 'Authorization: Bearer "+s+"' x")
		tell("show", "--json")
		before := dir
		dir = t.TempDir()
		mustWrite(t, filepath.Join(dir, "modec.toml"), []byte("[targets.claude]\n[targets.roo]\n[targets.cursor]\n"))
		was := s
		s, quoted = other, []byte(`"`+other+`"`)
		write(strings.Replace(source, `, web: "sometimes"`, "", 1))
		s, other = was, s
		tell("diff", before, dir)
		tell("diff", before, dir, "--text")
		tell("diff", before, dir, "--text", "--json")
	}
}

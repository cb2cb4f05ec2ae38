package secret

import (
	"strings"
	"testing"
)

const drawn = "Zk4q7Xw2LmP9rT3vB8nY"

func TestNamedValues(t *testing.T) {
	for _, x := range []struct {
		name, value string
		want        string // masked; "": nothing is a secret
	}{
		{"GITHUB_TOKEN", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "***"},
		{"FOO", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "***"},
		{"FOO", drawn, "***"},
		{"API_KEY", "swordfish", "***"},
		{"exaApiKey", "0e3f2a10-1111-4222-8333-444455556666", "***"},
		{"PROJECT_ID", "0e3f2a10-1111-4222-8333-444455556666", ""},
		{"GIT_COMMIT", "0123456789abcdef0123456789abcdef01234567", ""},
		{"DB_PASSWORD", "correct horse battery", "***"},
		{"PGPASSWORD", "s3cr3t-pass", "***"},
		{"DB_PASS", "pw1", "***"},
		{"MYSQL_PWD", "abc", "***"},
		{"DB_PASSWORD", "1234", "***"},
		{"DB_PASSWORD", "x", ""},
		{"RENDER_PASS", "2", ""},
		{"MAX_PASS", "final", ""},
		{"PASS", "abc", ""},
		{"DATABASE_URL", "postgres://u:pw@h", "postgres://u:***@h"},
		{"DATABASE_URL", "postgres://u:12@h", "postgres://u:***@h"},
		{"ENCRYPTION_KEY", "/aB3+xY9zQ1w/7Lk2Mn4Pq6Rs8==", "***"},
		{"DATABASE_URL", "postgres://app:hunter2@db/x", "postgres://app:***@db/x"},
		{"DATABASE_URL", "postgres://app@db/x", ""},
		{"DATABASE_URL", "postgres://app:${DB_PASSWORD}@db/x", ""},
		{"DATABASE_URL", "postgres://user:password@db/x", ""},
		{"Authorization", "Bearer swordfish", "Bearer ***"},
		{"Authorization", "Basic dXNlcjpwYXNz", "Basic ***"},
		{"Authorization", "Bearer ${TOKEN}", ""},
		{"Authorization", "Bearer ${env:TOKEN}", ""},
		{"Authorization", "Bearer $TOKEN", ""},
		{"Authorization", "Bearer ${input:token}", ""},
		{"Authorization", "Bearer ${TOKEN:-swordfish}", "Bearer ${TOKEN:-***}"},
		{"X-Api-Key", "swordfish", "***"},
		{"Cookie", "session=abc; theme=dark", "***"},
		{"API_KEY", "YOUR_API_KEY", ""},
		{"API_KEY", "your-api-key-here", ""},
		{"API_KEY", "<token>", ""},
		{"API_KEY", "REDACTED", ""},
		{"API_KEY", "xxxxxxxxxxxx", ""},
		{"API_KEY", "sk-your-key-goes-in-this-place", ""},
		{"API_KEY", "op://vault/item/key", ""},
		{"API_KEY", "", ""},
		{"API_KEY", "api-key", ""},
		{"API_KEY_FILE", "/run/secrets/key", ""},
		{"SSH_KEY", "~/.ssh/id_ed25519", ""},
		{"PRIVATE_KEY", "./certs/server.pem", ""},
		{"TOKEN_URL", "https://auth.example.com/token", ""},
		{"MAX_TOKENS", "4096", ""},
		{"TOKEN_LIMIT", "100000000", ""},
		{"NODE_ENV", "production", ""},
		{"PORT", "3000", ""},
		{"DEBUG", "true", ""},
		{"DEVELOPER_DIR", "/Applications/Utilities/Xcode.app/Contents/Developer", ""},
		{"SORT_KEY", "createdAt2020", ""},
	} {
		want := x.want
		if want == "" {
			want = x.value
		}
		if got := Value(x.name, x.value); got != want {
			t.Errorf("%s=%s: got %q, want %q", x.name, x.value, got, want)
		}
		if Is(x.name, x.value) != (x.want != "") {
			t.Errorf("%s=%s: Is disagrees", x.name, x.value)
		}
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-y @modelcontextprotocol/server-github":                      "",
		"-y @upstash/context7-mcp@2.1.8":                              "",
		"--token swordfish":                                           "--token ***",
		"--token=swordfish":                                           "--token=***",
		"--api-key swordfish --port 3000":                             "--api-key *** --port 3000",
		"--access-token ${env:EXAMPLE_ACCESS_TOKEN}":                  "",
		"--token-file /run/secrets/token":                             "",
		"--token --verbose":                                           "",
		"-e GITHUB_TOKEN=swordfish image":                             "-e GITHUB_TOKEN=*** image",
		"-e GITHUB_TOKEN image":                                       "",
		"--header X-Api-Key:swordfish":                                "--header X-Api-Key:***",
		`--config {"exaApiKey":"swordfish"}`:                          `--config {"exaApiKey":"***"}`,
		"--key 0e3f2a10-1111-4222-8333-444455556666":                  "--key ***",
		"--key name":                                                  "",
		"https://x.example/mcp?api_key=swordfish&profile=me":          "https://x.example/mcp?api_key=***&profile=me",
		"https://x.example/mcp?token=${env:T}":                        "",
		"https://x.example/" + drawn + "/mcp":                         "https://x.example/***/mcp",
		"https://mcp.sentry.dev/mcp/sentry/mcp-server?experimental=1": "",
		"run -i --rm mcp/fetch@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": "",
		"mysql -h db -phunter2 app":                   "mysql -h db -p*** app",
		"mysqldump -p app":                            "",
		"curl -u me:pw https://x.example":             "curl -u me:*** https://x.example",
		"curl -u me:$PW https://x.example":            "",
		"sshpass -p pw ssh x":                         "sshpass -p *** ssh x",
		"redis-cli -h x -a pw":                        "redis-cli -h x -a ***",
		"cp -phunter2 x":                              "",
		"--output-dir=.playwright --browser=chromium": "",
		"mcp-server-for-a-very-long-package-name-v2":  "",
	} {
		if want == "" {
			want = args
		}
		got := strings.Join(Entry{Args: strings.Fields(args)}.Masked().Args, " ")
		if got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
		if n := len(Entry{Args: strings.Fields(args)}.Literals()); (n > 0) != (want != args) {
			t.Errorf("%s: %d literals", args, n)
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		`	"env": {"GITHUB_TOKEN": "swordfish"},`:                               `	"env": {"GITHUB_TOKEN": "***"},`,
		`env: GITHUB_TOKEN: "swordfish"`:                                       `env: GITHUB_TOKEN: "***"`,
		`args: ["--token", "swordfish"]`:                                       `args: ["--token", "***"]`,
		`headers: Authorization: "Bearer swordfish"`:                           `headers: Authorization: "Bearer ***"`,
		`curl -H 'Authorization: Bearer swordfish' x`:                          `curl -H 'Authorization: Bearer ***' x`,
		`"secrets": "deny", "secrets/*": "ask"`:                                "",
		"secrets: can: read: deny: [\".env\"]":                                 "",
		"reset_password: {description: \"x\"}":                                 "",
		"role ../../etc/passwd: only the user's own":                           "",
		"Secrets: never commit these":                                          "",
		"password: rotate monthly":                                             "",
		"password: hunter":                                                     "password: ***",
		"Authorization: Bearer sword x":                                        "Authorization: Bearer *** x",
		"the multi-token support of a server":                                  "",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----": "***",
	} {
		if want == "" {
			want = text
		}
		if got := Text(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		if got := Blank(text); len(got) != len(text) || strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("%s: blank has another length: %q", text, got)
		}
	}
}

func TestLiterals(t *testing.T) {
	e := Entry{
		Command: "npx", Args: []string{"--token", "swordfish", "-e", "X_KEY=" + drawn},
		Env: map[string]string{"A_TOKEN": "swordfish"}, Headers: map[string]string{"X-Api-Key": "swordfish"},
	}
	var got []string
	for _, l := range e.Literals() {
		got = append(got, l.Where+" "+l.Variable)
	}
	want := "the variable A_TOKEN A_TOKEN, the header X-Api-Key X_API_KEY, the argument of --token TOKEN, " +
		"the argument X_KEY X_KEY"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// Files that are shown may be large and made to be slow: with more than a linear effort one of
// these texts takes longer than a test may.
func TestLargeTexts(*testing.T) {
	for _, unit := range []string{
		`"TOKEN": "` + drawn + `", `, "${" + drawn + "} ", "https://a:b@", "a=", "--token ", "-----BEGIN PRIVATE KEY ", `'x=`,
		"Bearer ", "${", "gh", "a", "mysql '", "curl -u ", "https://mcp/a1b2c3d4e5f6/", "-k a1b2", "set token ", "echo a|",
		"sk-", "-H a:",
	} {
		Text(strings.Repeat(unit, 1<<18/len(unit)))
	}
}

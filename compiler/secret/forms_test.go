package secret

import (
	"regexp/syntax"
	"strings"
	"testing"
)

// Of each form a text is drawn, which is found alone, in a line and behind an escape, and is no part of
// a longer word.
func TestForms(t *testing.T) {
	for _, f := range forms {
		rest, err := syntax.Parse(f.rest, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		token := f.begins + draw(rest, &next)
		for _, before := range []string{"", "use ", "a=", `"`, `x\n`, "?x=%20", "(", "/"} {
			text := before + token
			if got := Text(text + " now"); got != before+Mask+" now" {
				t.Errorf("%s now: got %q", text, got)
			}
		}
		if got := tokens("word" + token); got != nil {
			t.Errorf("word%s: got %v", token, got)
		}
		if got := tokens(f.begins + "your-token-here"); got != nil {
			t.Errorf("%syour-token-here: got %v", f.begins, got)
		}
	}
}

// draw returns a text that an expression matches, of the shortest that are long enough for one.
func draw(x *syntax.Regexp, next *int) string {
	switch x.Op {
	case syntax.OpLiteral:
		return string(x.Rune)
	case syntax.OpCharClass:
		*next += 7
		var all []rune
		for i := 0; i+1 < len(x.Rune); i += 2 {
			for c := x.Rune[i]; c <= x.Rune[i+1]; c++ {
				if c != '-' && c != '_' && c != '.' && c != '=' && c != '/' && c != '+' || len(x.Rune) == 2 {
					all = append(all, c)
				}
			}
		}
		return string(all[*next%len(all)])
	case syntax.OpRepeat:
		var b strings.Builder
		for range x.Min {
			b.WriteString(draw(x.Sub[0], next))
		}
		return b.String()
	case syntax.OpPlus, syntax.OpCapture:
		return draw(x.Sub[0], next)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range x.Sub {
			b.WriteString(draw(sub, next))
		}
		return b.String()
	case syntax.OpAlternate:
		return draw(x.Sub[0], next)
	}
	return ""
}

// What begins like a token and is a name of something is none.
func TestNoTokens(t *testing.T) {
	for _, text := range []string{
		"sk-learn-something-very-long-name", "sk-learn-v2-something-long-name", "fc-match-some-fonts-of-the-system",
		"global-something-version-2", "glob-something-of-a-length-v2", "key-value-store-for-the-web-2024",
		"pat-a-cake", "re_compile_the_whole_expression", "secret_name_of_the_application_in_production",
		"do_v1_something", "hf_transfer", "npm_config_registry", "dp.pt", "pul-request", "xai-grok-beta",
		"pk_test", "sk_live", "whsec_", "BSAFE", "AKIAIOSFODNN7EXAMPLE", "ATBB", "eyJ", "ghp_xxxxxxxxxxxxxxxxxxxxxxxx",
		"sbp_YOUR_TOKEN_HERE", "lin_api_your_key", "ctx7sk-your-api-key", "figd_<token>", "vcp_deploy_the_application",
	} {
		if got := Text(text); got != text {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

// In a command line and in a text like those of prompts and permission rules.
func TestCommands(t *testing.T) {
	for _, x := range [][2]string{
		{`mysql -phunter2 app`, `mysql -p*** app`},
		{`mysql -p'hunter2' app`, `mysql -p'***' app`},
		{`mysql -p"hunter 2" app`, `mysql -p"***" app`},
		{`"Bash(mysql -p\"hunter2\" *)"`, `"Bash(mysql -p\"***\" *)"`},
		{`Bash(mysql -phunter2)`, `Bash(mysql -p***)`},
		{`/usr/bin/mysqldump -u me -phunter2 app > x.sql`, `/usr/bin/mysqldump -u me -p*** app > x.sql`},
		{`docker login -u me -p hunter registry.example.com`, `docker login -u me -p *** registry.example.com`},
		{`docker login -p=hunter`, `docker login -p=***`},
		{`docker run -e FOO_TOKEN=hunter x`, `docker run -e FOO_TOKEN=*** x`},
		{`docker run -p 8080:80 x`, ""},
		{`docker run -e FOO_TOKEN x`, ""},
		{`docker login -p $PW`, ""},
		{`docker login --password-stdin`, ""},
		{`echo hunter2 | docker login --password-stdin`, `echo *** | docker login --password-stdin`},
		{`echo "hunter2" | sudo -S ls`, `echo "***" | sudo -S ls`},
		{`echo $PW | sudo -S ls`, ""},
		{`echo hello | sudo tee x`, ""},
		{`aws configure set aws_secret_access_key swordfish-9`, `aws configure set aws_secret_access_key ***`},
		{`aws configure set region eu-central-1`, ""},
		{`aws configure set aws_secret_access_key $KEY`, ""},
		{`npm config set //registry.example/:_authToken swordf1s`, `npm config set //registry.example/:_authToken ***`},
		{`git config --global github.token swordfish9`, `git config --global github.token ***`},
		{`git config --global user.name swordfish9`, ""},
		{`PGPASSWORD=hunter psql`, `PGPASSWORD=*** psql`},
		{`export X_TOKEN=hunter`, `export X_TOKEN=***`},
		{`export X_TOKEN=$(cat token)`, ""},
		{`export X_TOKEN=${OTHER}`, ""},
		{`heroku config:set API_TOKEN=hunter`, `heroku config:set API_TOKEN=***`},
		{`gh secret set NAME -b hunter`, `gh secret set NAME -b ***`},
		{`gh secret set NAME --body "hunter 2"`, `gh secret set NAME --body "***"`},
		{`gh secret set NAME --body "$VALUE"`, ""},
		{`gh variable set NAME -b hunter`, ""},
		{`gh issue create -b hunter`, ""},
		{`fly secrets set NAME=hunter OTHER=$X`, `fly secrets set NAME=*** OTHER=$X`},
		{`oc create secret generic x --from-literal=a=hunt`, `oc create secret generic x --from-literal=a=***`},
		{`kubectl create configmap x --from-literal=a=hunter`, ""},
		{`vault kv put secret/app a=hunter ttl=1h`, `vault kv put secret/app a=*** ttl=1h`},
		{`curl -H "Authorization: Bearer hunter" https://x.io`, `curl -H "Authorization: Bearer ***" https://x.io`},
		{`curl -H 'X-Foo: 0a1b2c3d4e5f60718293' https://x.io`, `curl -H 'X-Foo: ***' https://x.io`},
		{`curl -H 'X-Foo: application/json' https://x.io`, ""},
		{`curl -H 'X-Run-Id: 0a1b2c3d4e5f60718293' https://x.io`, ""},
		{`curl -H "Authorization: Bearer $TOKEN" https://x.io`, ""},
		{`curl -u me:hunter https://x.io`, `curl -u me:*** https://x.io`},
		{`curl -u "me:hunter" https://x.io`, `curl -u "me:***" https://x.io`},
		{`curl -ume:hunter https://x.io`, `curl -ume:*** https://x.io`},
		{`curl -u me https://x.io`, ""},
		{`curl -k https://localhost:8443/a1b2c3d4e5f6`, ""},
		{`server -k 0e3f2a10-1111-4222-8333-444455556666`, `server -k ***`},
		{`args: ["-k", "a1b2c3d4e5f6g7"]`, `args: ["-k", "***"]`},
		{`pytest -k test_user_2fa_login`, ""},
		{`pytest -k "test_a1 and not test_b2"`, ""},
		{`redis-cli -u redis://:pw@h`, `redis-cli -u redis://:***@h`},
		{`redis-cli -a hunter ping`, `redis-cli -a *** ping`},
		{`mongosh -u me -p hunter`, `mongosh -u me -p ***`},
		{`psql -p 5432 app`, ""},
		{`mkdir -p build/out`, ""},
		{`openssl rsa -in k.pem -passin pass:hunter`, `openssl rsa -in k.pem -passin pass:***`},
		{`openssl rsa -in k.pem -passin env:PW`, ""},
		{`sshpass -p 'hunter' ssh x`, `sshpass -p '***' ssh x`},
		{`sshpass -phunter ssh x`, `sshpass -p*** ssh x`},
		{`7z x -phunter2 a.7z`, `7z x -p*** a.7z`},
		{`unzip -P hunter a.zip`, `unzip -P *** a.zip`},
		{`http -a me:hunter x.io`, `http -a me:*** x.io`},
		{`mysql -p:*`, ""},
		{`mysql -p *`, ""},
		{`mysql:*`, ""},
		{`mysql -p"$PW" app`, ""},
		{`mysql -p<password> app`, ""},
		{`mysql -pYOUR_PASSWORD app`, ""},
		{`git checkout 0123456789abcdef0123456789abcdef01234567`, ""},
		{`npx -y @upstash/context7-mcp@2.1.8`, ""},
		{`docker pull x@sha256:` + strings.Repeat("0123456789abcdef", 4), ""},
		{`terraform import aws_x.y 0e3f2a10-1111-4222-8333-444455556666`, ""},
		{`we set token lifetimes in the config file`, ""},
		{`the config token is read from the environment`, ""},
		{`Use mysql to look at the data; don't pass -p on the line`, ""},
	} {
		text, want := x[0], x[1]
		if want == "" {
			want = text
		}
		if got := Text(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, x := range [][2]string{
		{"https://abc123de@x.example/mcp", "https://***@x.example/mcp"},
		{"https://abc123de:@x.example/", "https://***:@x.example/"},
		{"https://abc123de:x-oauth-basic@x.example/", "https://***:***@x.example/"},
		{"https://andreas1985@bitbucket.example/o/r.git", ""},
		{"https://me@x.example/o/r.git", ""},
		{"https://first.last42%40corp.example@x.example/r", ""},
		{"https://${TOKEN}@x.example/r", ""},
		{"https://YOUR_TOKEN_HERE@x.example/r", ""},
		{"ssh://git@x.example/o/r.git", ""},
		{"postgres://app2b3c4d@db/x", ""},
		{"redis://:pw@h", "redis://:***@h"},
		{"https://mcp.x.example/v1/mcp/sse/abcdef123456", "https://mcp.x.example/v1/mcp/sse/***"},
		{"https://actions.x.example/mcp/sk9wz7q2m4xb/sse", "https://actions.x.example/mcp/***/sse"},
		{"https://mcp.x.example/api/mcp/s/OTk5YzQ3ZjktM2Y0YS00/mcp", "https://mcp.x.example/api/mcp/s/***/mcp"},
		{"https://mcp.x.example/0e3f2a10-1111-4222-8333-444455556666/gmail", "https://mcp.x.example/***/gmail"},
		{"https://x.example/server/0e3f2a10-1111-4222-8333-4444/mcp?a=", "https://x.example/server/***/mcp?a="},
		{"https://hooks.x.example/services/T0AB12CD3/a1B2c3D4e5F6g7H8", "https://hooks.x.example/services/T0AB12CD3/***"},
		{"https://x.example/v1/projects/0e3f2a10-1111-4222-8333-444455556666/mcp", ""},
		{"https://x.example/o/mcp/commit/0123456789abcdef0123456789abcdef01234567", ""},
		{"https://x.example/o/r/blob/0123456789abcdef0123456789abcdef01234567/x", ""},
		{"https://mcp.context7.com/mcp", ""},
		{"https://mcp.sentry.dev/mcp/sentry/mcp-server", ""},
		{"https://gitmcp.io/microsoft/playwright-mcp", ""},
		{"https://mcp.x.example/2025-03-26/mcp", ""},
		{"https://mcp.x.example/models/gpt-4o-mini-2024/mcp", ""},
		{"https://mcp.x.example/<token>/mcp", ""},
		{"https://mcp.x.example/${TOKEN}/mcp", ""},
		{"https://mcp.x.example/YOUR_TOKEN_HERE/mcp", ""},
		{"https://x.example/mcp_server-0.1.0-py3-none-any.whl", ""},
		{"git+https://x.example/o/mcp@0123456789abcdef0123456789abcdef01234567", ""},
	} {
		text, want := x[0], x[1]
		if want == "" {
			want = text
		}
		if got := Text(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// program is how a program takes a secret on its command line.
type program struct {
	names string // separated by spaces
	after string // the words that have to stand before the option: "login", "secret set"
	// options take the secret as the next word or behind an equals sign; of those that end with a
	// colon the value is USER:SECRET, and a + takes the secret in the same word.
	options string
	// pairs reports whether words of the form NAME=SECRET are secrets, whatever their names.
	pairs bool
}

// programs are the programs whose options do not say by their names that a secret follows.
var programs = []program{
	{names: "mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlsh mycli", options: "-p+"},
	{names: "mariadb mariadb-dump mariadb-admin mariadb-import", options: "-p+"},
	{names: "7z 7za 7zz", options: "-p+"},
	{names: "sshpass", options: "-p -p+"},
	{names: "curl", options: "-u: -u+: --user: -U: --proxy-user:"},
	{names: "http https xh httpie", options: "-a: --auth:"},
	{names: "redis-cli valkey-cli", options: "-a --pass"},
	{names: "docker podman nerdctl buildah skopeo helm oras crane regctl", after: "login", options: "-p"},
	{names: "az oc rosa cf argocd rancher jf", after: "login", options: "-p"},
	{names: "mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh twine", options: "-p"},
	{names: "sqlcmd bcp zip unzip mosquitto_pub mosquitto_sub", options: "-P"},
	{names: "ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami", options: "-w"},
	{names: "gh", after: "secret set", options: "-b --body"},
	{names: "az", after: "secret set", options: "--value"},
	{names: "fly flyctl supabase doppler", after: "secrets set", pairs: true},
	{names: "kubectl oc", after: "create secret", options: "--from-literal="},
	{names: "vault bao", after: "kv put", pairs: true},
}

// commands find the places where programs stand, and what other commands do with a secret.
var commands = sync.OnceValue(func() (x struct {
	names                    []string
	program, set, pipe, pass *regexp.Regexp
}) {
	for _, p := range programs {
		x.names = append(x.names, strings.Fields(p.names)...)
	}
	x.program = regexp.MustCompile(`(?:^|[^\w.-])(` + strings.Join(x.names, "|") + `)(?:\.exe)?[ \t]`)
	x.set = regexp.MustCompile(`\b(?:config(?:ure)?\s+set|set|config)\s+(?:--?[\w-]+\s+)*([\w./:@-]+)[ \t]+` +
		`(?:` + quote + `)?(` + value + `)`)
	x.pipe = regexp.MustCompile(`\b(?:echo|printf)\s+(?:-[neE]+\s+)?(?:` + quote + `)?(` + value + `)` +
		`(?:` + quote + `)?\s*\|[^;&|\n]*(?:--password-stdin|--with-token|--token-stdin|` +
		`\bsudo\s[^;&|\n]*-S\b|\bsecrets?\s+(?:put|set|create)\b)`)
	x.pass = regexp.MustCompile(`\s-(?:pass|passin|passout)\s+(?:` + quote + `)?pass:(` + value + `)`)
	return x
})

// inCommands returns the secrets that command lines give to programs.
func inCommands(text string) (found []span) {
	x := commands()
	may := slices.ContainsFunc(x.names, func(name string) bool { return strings.Contains(text, name) })
	read := map[string]int{} // up to where the words of a program were read
	for at := 0; may; {
		m := x.program.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		name, start := text[at+m[2]:at+m[3]], at+m[1]
		at += m[3]
		if start < read[name] {
			continue
		}
		list := commandWords(text, start)
		if len(list) > 0 {
			read[name] = list[len(list)-1].end
		}
		for _, p := range programs {
			if slices.Contains(strings.Fields(p.names), name) {
				found = append(found, p.secrets(text, list)...)
			}
		}
	}
	for _, m := range matches(x.set, text, strings.Contains(text, "set ") || strings.Contains(text, "config ")) {
		name, v := text[m[2]:m[3]], bare(text[m[4]:m[5]])
		if isName(name) && !weak(name) && (mixed(v) || !lowercase(v)) {
			found = append(found, shift(whole(name, v), m[4])...)
		}
	}
	for _, m := range matches(x.pipe, text, strings.Contains(text, "|")) {
		found = append(found, shift(whole("password", bare(text[m[2]:m[3]])), m[2])...)
	}
	for _, m := range matches(x.pass, text, strings.Contains(text, "pass:")) {
		found = append(found, shift(whole("password", bare(text[m[2]:m[3]])), m[2])...)
	}
	return found
}

// secrets returns the secrets among the words of a command line of the program.
func (p program) secrets(text string, list []span) (found []span) {
	before := strings.Fields(p.after)
	add := func(start, end int, pair string) {
		v := text[start:end]
		of := "password"
		if user, _, ok := strings.Cut(v, pair); pair != "" {
			if !ok {
				return
			}
			start += len(user) + len(pair)
			v = text[start:end]
		}
		if pair == "=" {
			of = "secret"
		}
		if strings.Trim(v, ":*") != "" {
			found = append(found, shift(whole(of, v), start)...)
		}
	}
	for i, w := range list {
		word := text[w.start:w.end]
		switch {
		case len(before) > 0:
			if word == before[0] {
				before = before[1:]
			}
			continue
		case p.pairs && !strings.HasPrefix(word, "-"):
			add(w.start, w.end, "=")
			continue
		}
		for _, option := range strings.Fields(p.options) {
			name, pair := option, ""
			if strings.HasSuffix(name, ":") || strings.HasSuffix(name, "=") {
				name, pair = name[:len(name)-1], name[len(name)-1:]
			}
			name, joined := strings.CutSuffix(name, "+")
			switch {
			case joined && strings.HasPrefix(word, name) && len(word) > len(name):
				add(unquote(text, w.start+len(name), w.end), w.end, pair)
			case strings.HasPrefix(word, name+"=") && !joined:
				add(unquote(text, w.start+len(name)+1, w.end), w.end, pair)
			case word == name && !joined && i+1 < len(list) && text[list[i+1].start] != '-':
				add(list[i+1].start, list[i+1].end, pair)
			}
		}
	}
	return found
}

// unquote returns where a value starts behind its quote.
func unquote(text string, start, end int) int {
	for start < end && strings.IndexByte("\\\"'", text[start]) >= 0 {
		start++
	}
	return start
}

// commandWords returns the words of a command line from a place on, without their quotes, up to its
// end: an operator, the end of the line, or the quote that closes what it stands in.
func commandWords(text string, at int) (list []span) {
	text = text[:min(len(text), at+4096)]
	for at < len(text) {
		switch c := text[at]; {
		case c == ' ' || c == '\t':
			at++
			continue
		case strings.IndexByte("\n;|&)", c) >= 0:
			return list
		}
		start, last := at, byte(0)
		for at < len(text) && strings.IndexByte(" \t\n;|&", text[at]) < 0 {
			if text[at] != '"' && text[at] != '\'' && text[at] != '\x60' {
				last, at = text[at], at+1
				continue
			}
			escapes := at - len(strings.TrimRight(text[start:at], `\`)) - start
			opens := at-escapes == start || last == '=' || last == ':' || text[start] == '-' && at-escapes-start <= 2
			end := strings.IndexByte(text[at+1:], text[at])
			if !opens || end < 0 || strings.Contains(text[at+1:at+1+end], "\n") {
				return append(list, span{start, at - escapes})
			}
			at += end + 2
			last = text[at-1]
		}
		from, end := unquote(text, start, at), at
		for end > from && strings.IndexByte("\\\"'\x60", text[end-1]) >= 0 {
			end--
		}
		if end > from && text[end-1] == ')' && !strings.Contains(text[from:end], "(") {
			return append(list, span{from, end - 1})
		}
		list = append(list, span{from, end})
	}
	return list
}

// lowercase reports whether a text has lower-case letters alone.
func lowercase(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c < 'a' || c > 'z' })
}

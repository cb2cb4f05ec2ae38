package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// forms are the tokens of widely used services.
var forms = []string{
	`gh[pousr]_[A-Za-z0-9]{20,}`,                 // GitHub
	`github_pat_[A-Za-z0-9_]{20,}`,               // GitHub, fine-grained
	`glpat-[A-Za-z0-9_-]{16,}`,                   // GitLab
	`xox[abeprs]-[A-Za-z0-9-]{10,}`,              // Slack
	`xapp-[A-Za-z0-9-]{20,}`,                     // Slack
	`[srp]k_(?:live|test)_[A-Za-z0-9]{16,}`,      // Stripe
	`sk-[A-Za-z0-9_-]{20,}`,                      // OpenAI, Anthropic
	`(?:AKIA|ASIA)[A-Z0-9]{12,}`,                 // AWS
	`AIza[A-Za-z0-9_-]{30,}`,                     // Google
	`ya29\.[A-Za-z0-9_-]{20,}`,                   // Google
	`npm_[A-Za-z0-9]{30,}`,                       // npm
	`hf_[A-Za-z0-9]{30,}`,                        // Hugging Face
	`(?:lin_api|dop_v1|sntrys)_[A-Za-z0-9]{24,}`, // Linear, DigitalOcean, Sentry
	`(?:figd|ntn|pplx|tvly|fc)[_-][A-Za-z0-9_-]{24,}`,
	`eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?`, // a JSON Web Token
}

const (
	value  = `[^\s"'\x60,;&#\\]+`
	scheme = `(?i:(?:bearer|basic|token|apikey|digest)\s+)`
	quote  = `\\{0,3}["']`
)

// expressions find what the parts of a text are. They are compiled when first needed.
var expressions = sync.OnceValue(func() (x struct {
	token, key, reference, scheme, bearer, userinfo, named, option, value, segment *regexp.Regexp
	placeholder, plain, digits, path, program                                      *regexp.Regexp
}) {
	x.token = regexp.MustCompile(`\b(?:` + strings.Join(forms, "|") + `)`)
	x.key = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
	x.reference = regexp.MustCompile(`\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_][A-Za-z0-9_]*|\{\{[^}]*\}\}|` +
		`\{(?:env|file):[^}]*\}|%[A-Z_][A-Z0-9_]*%|\b(?:op|vault)://[^\s"']+`)
	x.scheme = regexp.MustCompile(`^\s*` + scheme + `?`)
	x.bearer = regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+(` + value + `)`)
	x.userinfo = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^/?#\s"'\x60]+)@`)
	x.named = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]*)(?:` + quote + `)?\s*[=:][ \t]*(` + quote + `)?` +
		scheme + `?`)
	x.option = regexp.MustCompile(`(?:^|[\s"'])(--?[A-Za-z][A-Za-z0-9_-]*)` +
		`(?:` + quote + `\s*,\s*(?:[+-]\s+)?|\s+)(` + quote + `)?`)
	x.value = regexp.MustCompile(`^` + value)
	x.segment = regexp.MustCompile(`[A-Za-z0-9_~+-]{20,}={0,2}`)
	x.placeholder = regexp.MustCompile(`(?i)^(?:<[^>]*>|\[[^\]]*\]|\{[^}]*\}|[*x.…•_0-]+)$|` +
		`(?:^|[-_. ])(?:your?s?|example|placeholder|dummy|redacted|replace|changeme|insert|todo|fixme|here|fake|` +
		`sample|enter|xxx+|my)(?:[-_. ]|$)|^your|^my[-_]?(?:api|token|key|secret|password)|` +
		`^(?:replace|change)[-_]?(?:me|this|it|with)|<[a-z_ -]+>|x{6,}|\*{3}|\.{3}$|…$`)
	x.plain = regexp.MustCompile(`(?i)^(?:true|false|none|null|nil|undefined|yes|no|on|off|auto|default|token|secret|` +
		`password|passwd|api[_-]?key|key|bearer|basic|digest|prompt|interactive|oauth2?|env|disabled|enabled|` +
		`optional|` +
		`required|user|pass|username|string|text)?$`)
	x.digits = regexp.MustCompile(`^[0-9]{1,5}(?:\.[0-9]+)?(?:ms|[smhdk])?$`)
	x.program = regexp.MustCompile(`\b(?:` +
		`(?:mysql(?:dump|admin|import|show)?|mariadb(?:-[a-z]+)?)\b[^;|&\n]*?\s-p|` +
		`curl\b[^;|&\n]*?\s(?:-u|--user)[ =]?["']?[^\s:"'$]*:|` +
		`redis-cli\b[^;|&\n]*?\s(?:-a|--pass)[ =]|` +
		`sshpass\s+-p\s*["']?)(` + value + `)`)
	x.path = regexp.MustCompile(`^@?(?:~|\.{1,2})?/|^[A-Za-z]:[\\/]|^(?i:file|https?|wss?)://?|` +
		`^[^/\s]+/.*\.[a-z]{2,5}$`)
	return x
})

// in returns the secrets of a text by their form, or by the names that stand beside them.
func in(text string) (found []span) {
	x := expressions()
	found = tokens(text)
	low := strings.ToLower(text)
	for _, m := range matches(x.userinfo, text, strings.Contains(low, "://") && strings.Contains(low, "@")) {
		user, _, both := strings.Cut(text[m[2]:m[3]], ":")
		switch password := m[2] + len(user) + 1; {
		case both:
			found = append(found, shift(whole("password", text[password:m[3]]), password)...)
		case random(user):
			found = append(found, span{m[2], m[3]})
		}
	}
	for _, m := range matches(x.bearer, text, strings.Contains(low, "bearer ") || strings.Contains(low, "basic ")) {
		if v := text[m[2]:m[3]]; mixed(v) {
			found = append(found, shift(whole("bearer", v), m[2])...)
		}
	}
	found = append(found, inPrograms(text)...)
	if names(low) {
		found = append(found, named(text, x.named)...)
		found = append(found, named(text, x.option)...)
	}
	segments := matches(x.segment, text, longest(text) >= 20)
	refs := matches(x.reference, text, len(segments) > 0)
	for _, m := range segments {
		for len(refs) > 0 && refs[0][1] <= m[0] {
			refs = refs[1:]
		}
		named := len(refs) > 0 && refs[0][0] <= m[0] && !strings.Contains(text[refs[0][0]:m[0]], ":-")
		if v := text[m[0]:m[1]]; random(v) && !placeholder(v) && !named {
			found = append(found, span{m[0], m[1]})
		}
	}
	return join(found)
}

// beginnings are what forms begin with, to find texts without any of them quickly.
var beginnings = []string{
	"gh", "glpat-", "xox", "xapp-", "k_live_", "k_test_", "sk-", "AKIA", "ASIA", "AIza", "ya29.", "npm_", "hf_",
	"lin_api_", "dop_v1_", "sntrys_", "figd", "ntn", "pplx", "tvly", "fc", "eyJ", "PRIVATE KEY",
}

// programs take a password as a word or a part of one.
var programs = []string{"mysql", "mariadb", "curl", "redis-cli", "sshpass"}

// inPrograms returns the passwords that a command line gives to programs.
func inPrograms(text string) (found []span) {
	may := slices.ContainsFunc(programs, func(p string) bool { return strings.Contains(text, p) })
	for _, m := range matches(expressions().program, text, may) {
		found = append(found, shift(whole("password", text[m[2]:m[3]]), m[2])...)
	}
	return found
}

// matches returns the matches of an expression in a text that may have any.
func matches(x *regexp.Regexp, text string, may bool) [][]int {
	if !may {
		return nil
	}
	return x.FindAllStringSubmatchIndex(text, -1)
}

// names reports whether a text in lower case may have the name of a secret and a value beside it.
func names(low string) bool {
	return strings.ContainsAny(low, ":= ") && slices.ContainsFunc(roots, func(w string) bool {
		return strings.Contains(low, w)
	})
}

// roots are parts of the names of secrets: every name has one.
var roots = []string{
	"secret", "pass", "authorization", "cookie", "credential", "token", "key", "bearer", "jwt", "auth", "pwd", "pat",
	"pw", "string", "?", "&",
}

// longest returns the length of the longest run of characters that a drawn text has.
func longest(text string) (most int) {
	n := 0
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_~+-", c) >= 0:
			n++
			most = max(most, n)
		default:
			n = 0
		}
	}
	return most
}

// tokens returns the tokens of known forms in a text.
func tokens(text string) (found []span) {
	x := expressions()
	begins := slices.ContainsFunc(beginnings, func(b string) bool { return strings.Contains(text, b) })
	for _, m := range slices.Concat(matches(x.token, text, begins), matches(x.key, text, begins)) {
		if v := text[m[0]:m[1]]; !placeholder(v) && !strings.HasSuffix(v, "EXAMPLE") {
			found = append(found, span{m[0], m[1]})
		}
	}
	return found
}

// named returns the secrets that stand in a text behind a name or an option. An expression
// matches what stands before the value: its first group is the name, its second a quote.
func named(text string, before *regexp.Regexp) (found []span) {
	for at := 0; at < len(text); {
		m := before.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		name, start := text[at+m[2]:at+m[3]], at+m[1]
		v := ""
		if m[4] >= 0 {
			v, _, _ = strings.Cut(text[start:], text[at+m[4]:at+m[5]])
		} else {
			v = expressions().value.FindString(text[start:])
		}
		is := isName
		if at+m[2] > 0 && strings.ContainsRune("?&", rune(text[at+m[2]-1])) {
			is = isQueryName
		}
		// "key: word" may be a sentence, and "key: word:" the next key of an object.
		prose := m[4] < 0 && at+m[2] > 0 && strings.HasSuffix(text[:start], " ") && before == expressions().named
		prose = prose && !mixed(v) && !schemed(text[at+m[3]:start])
		prose = prose || m[4] < 0 && before == expressions().named && !schemed(text[at+m[3]:start]) &&
			sentence(v, text[start+len(v):])
		if is(name) && !prose && !strings.HasPrefix(v, "-") && !strings.HasSuffix(v, ":") {
			found = append(found, shift(whole(name, v), start)...)
		}
		at += m[3] // a value may be the next name
	}
	return found
}

// sentence reports whether a word and what follows it are English: "Secrets: never commit these".
func sentence(word, rest string) bool {
	letters := func(text string) bool {
		return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return c < 'a' || c > 'z' })
	}
	next, ok := strings.CutPrefix(rest, " ")
	next, _, _ = strings.Cut(next, " ")
	return ok && letters(word) && letters(strings.TrimRight(next, ".,;:!?\n"))
}

// schemed reports whether what stands before a value names the scheme of a header.
func schemed(text string) bool { return strings.ContainsFunc(text, unicode.IsLetter) }

// under returns the secrets of a value that stands under a name.
func under(name, v string) []span {
	found := in(v)
	if isName(name) {
		found = append(found, whole(name, v)...)
	}
	return join(found)
}

// whole returns what of a value is a secret where its name says that it is one.
func whole(name, v string) (found []span) {
	x := expressions()
	refs := x.reference.FindAllStringIndex(v, -1)
	for _, m := range refs {
		ref := v[m[0]:m[1]]
		if i := strings.Index(ref, ":-"); i >= 0 && strings.HasSuffix(ref, "}") { // a default is a text
			text := strings.TrimSuffix(ref[i+2:], "}")
			found = append(found, shift(whole(name, text), m[0]+i+2)...)
		}
	}
	start := len(x.scheme.FindString(v))
	if rest := v[start:]; len(refs) == 0 && !ordinary(name, rest) {
		found = append(found, span{start, len(v)})
	}
	return found
}

// ordinary reports whether a text is not a secret although its name says so.
func ordinary(name, v string) bool {
	v = strings.TrimSpace(v)
	if tokens(v) != nil {
		return false
	}
	same := func(s string) string { return strings.Join(words(s), "") }
	switch x := expressions(); {
	case v == "", strings.ContainsAny(v[:1], "{[(!"), x.plain.MatchString(v), placeholder(v), same(v) == same(name):
		return true
	case isPassword(name):
		return weak(name) && x.digits.MatchString(v)
	case len(v) < 4, x.digits.MatchString(v):
		return true
	case x.path.MatchString(v):
		return !random(strings.ReplaceAll(v, "/", ""))
	}
	return weak(name) && !mixed(v)
}

func placeholder(v string) bool {
	return expressions().placeholder.MatchString(v) || strings.Trim(v, v[:min(1, len(v))]) == ""
}

// mixed reports whether a text is long enough and mixed enough for a secret.
func mixed(v string) bool {
	return len(v) >= 8 && strings.ContainsFunc(v, unicode.IsDigit) && strings.ContainsFunc(v, unicode.IsLetter)
}

// random reports whether a text looks drawn: long, with letters and digits in turn. Digests in
// hexadecimal and UUIDs are names of things, too.
func random(v string) bool {
	runs, digit, upper, lower, hex := 0, false, false, false, true
	for _, c := range v {
		is := unicode.IsDigit(c)
		if is && !digit {
			runs++
		}
		digit = is
		upper, lower = upper || unicode.IsUpper(c), lower || unicode.IsLower(c)
		hex = hex && strings.ContainsRune("0123456789abcdefABCDEF-", c)
	}
	letters := strings.Trim(v, "=")
	switch {
	case len(letters) < 20 || hex:
		return false
	case upper && lower && !strings.ContainsAny(letters, "-_"):
		return runs >= 3
	case upper && lower:
		return runs >= 4 && strings.Count(letters, "-")+strings.Count(letters, "_") < 4
	}
	return runs >= 4 && len(letters) >= 24 && !strings.ContainsAny(letters, "-_")
}

func shift(found []span, by int) []span {
	for i := range found {
		found[i].start, found[i].end = found[i].start+by, found[i].end+by
	}
	return found
}

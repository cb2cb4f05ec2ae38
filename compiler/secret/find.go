package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

const (
	value  = `[^\s"'\x60,;&#\\]+`
	scheme = `(?i:(?:bearer|basic|token|apikey|digest)\s+)`
	quote  = `\\{0,3}["']`
)

// expressions find what the parts of a text are. They are compiled when first needed.
var expressions = sync.OnceValue(func() (x struct {
	key, reference, scheme, bearer, userinfo, named, option, value, segment          *regexp.Regexp
	placeholder, plain, digits, path, address, word, key1, header, id, headers, pair *regexp.Regexp
}) {
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
		`allow|ask|deny|password|passwd|` +
		`api[_-]?key|key|bearer|basic|digest|prompt|interactive|oauth2?|env|disabled|enabled|` +
		`optional|` +
		`required|user|pass|username|string|text)?$`)
	x.digits = regexp.MustCompile(`^[0-9]{1,5}(?:\.[0-9]+)?(?:ms|[smhdk])?$`)
	x.address = regexp.MustCompile(`\b(?:https?|wss?)://([^\s"'\x60<>?#]+)`)
	x.id = regexp.MustCompile(`([A-Za-z][\w-]*)(?:` + quote + `)?\s*[=:]?\s*(?:\[\s*)?(?:` + quote + `)?$`)
	behind := `(?:` + quote + `\s*,\s*(?:[+-]\s+)?|[ \t]+|=)(?:` + quote + `)?`
	x.key1 = regexp.MustCompile(`(?:^|[\s"'])-k` + behind + `(` + value + `)`)
	x.header = regexp.MustCompile(`(?:^|[\s"'])(?:-H|--headers?)` + behind + `([A-Za-z][\w-]*):[ \t]*(` + value + `)`)
	pair := `["']?([A-Za-z][\w-]*)["']?\s*:\s*["']([^"'\n]*)["']`
	x.pair = regexp.MustCompile(pair)
	x.headers = regexp.MustCompile(`headers["']?\s*:\s*\{?((?:[\s,+-]*` + pair + `)+)`)
	x.word = regexp.MustCompile(`^(?:[A-Z]?[a-z]{0,15}\d{0,2}|[A-Z]{1,15}\d{0,2}|\d{1,4}[a-z]{0,2}|\d{5,8})$`)
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
		if password := m[2] + len(user) + 1; both {
			found = append(found, shift(whole("password", text[password:m[3]]), password)...)
		}
		if random(user) || strings.HasPrefix(low[m[0]:], "http") && opaque(user, 8) {
			found = append(found, span{m[2], m[2] + len(user)})
		}
	}
	for _, m := range matches(x.address, text, strings.Contains(low, "://")) {
		found = append(found, shift(inAddress(text[m[2]:m[3]]), m[2])...)
	}
	for _, m := range matches(x.bearer, text, strings.Contains(low, "bearer ") || strings.Contains(low, "basic ")) {
		if v := bare(text[m[2]:m[3]]); mixed(v) {
			found = append(found, shift(whole("bearer", v), m[2])...)
		}
	}
	found = append(found, inOptions(text, low)...)
	found = append(found, inCommands(text)...)
	if names(low) {
		found = append(found, named(text, x.named)...)
		found = append(found, named(text, x.option)...)
	}
	found = append(found, inSegments(text)...)
	return join(found)
}

// inOptions returns the drawn values of the option -k, and of headers.
func inOptions(text, low string) (found []span) {
	x := expressions()
	for _, m := range matches(x.key1, text, strings.Contains(text, "-k")) {
		if v := bare(text[m[2]:m[3]]); opaque(v, 12) {
			found = append(found, span{m[2], m[2] + len(v)})
		}
	}
	for _, m := range matches(x.header, text, strings.Contains(text, "-H") || strings.Contains(low, "--header")) {
		found = append(found, shift(inHeader(text[m[2]:m[3]], bare(text[m[4]:m[5]])), m[4])...)
	}
	for _, m := range matches(x.headers, text, strings.Contains(low, "headers")) {
		for _, n := range x.pair.FindAllStringSubmatchIndex(text[m[2]:m[3]], -1) {
			name, v := text[m[2]+n[2]:m[2]+n[3]], text[m[2]+n[4]:m[2]+n[5]]
			found = append(found, shift(inHeader(name, v), m[2]+n[4])...)
		}
	}
	return found
}

// inSegments returns what looks drawn and is neither the name of a variable nor that of a thing.
func inSegments(text string) (found []span) {
	x := expressions()
	segments := matches(x.segment, text, longest(text) >= 20)
	refs := matches(x.reference, text, len(segments) > 0)
	for _, m := range segments {
		for len(refs) > 0 && refs[0][1] <= m[0] {
			refs = refs[1:]
		}
		named := len(refs) > 0 && refs[0][0] <= m[0] && !strings.Contains(text[refs[0][0]:m[0]], ":-")
		start := m[0] + escaped(text, m[0])
		if v := text[start:m[1]]; random(v) && !placeholder(v) && !named && !isID(text[max(0, m[0]-40):m[0]]) {
			found = append(found, span{start, m[1]})
		}
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
			v = bare(expressions().value.FindString(text[start:]))
		}
		is := isName
		if at+m[2] > 0 && strings.ContainsRune("?&", rune(text[at+m[2]-1])) {
			is = isQueryName
		}
		// "key: word" may be a sentence, and "key: word:" the next key of an object.
		prose := m[4] < 0 && at+m[2] > 0 && strings.HasSuffix(text[:start], " ") && before == expressions().named
		prose = prose && !mixed(v) && !schemed(text[at+m[3]:start])
		prose = prose || m[4] < 0 && before == expressions().named && !schemed(text[at+m[3]:start]) &&
			text[start-1] != '=' &&
			sentence(v, text[start+len(v):])
		constant := before == expressions().option && strings.Contains(name, "_") && strings.ToLower(name) != name
		if is(name) && !prose && !constant && !strings.HasPrefix(v, "-") && !strings.HasSuffix(v, ":") {
			found = append(found, shift(whole(name, v), start)...)
		}
		at += m[3] // a value may be the next name
	}
	return found
}

// bare returns a value without what ends the permission rule that it stands in: Bash(X_TOKEN=a:*).
func bare(v string) string {
	if !strings.Contains(v, "(") {
		v = strings.TrimRight(v, ")")
	}
	return strings.TrimSuffix(v, ":*")
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
	if isID(name + "=") {
		found = shift(in(name+"="+v), -len(name)-1) // the text says what it means
	}
	if isName(name) {
		found = append(found, whole(name, v)...)
	}
	return join(found)
}

// isID reports whether a text ends with the name of an identifier and what parts it from its value:
// what was drawn to name a voice, a document or a price is no secret.
func isID(before string) bool {
	name := expressions().id.FindStringSubmatch(before)
	if name == nil {
		return false
	}
	list := words(name[1])
	n := len(list)
	return n > 1 && (list[n-1] == "id" || list[n-1] == "ids") && !slices.Contains(secretIDs, list[n-2])
}

// secretIDs stand before "id" where whoever knows it gets in.
var secretIDs = []string{"session", "secret", "key", "token", "auth"}

// inHeader returns the value of a header if it was drawn, which is how a server knows its clients
// whatever the header's name: but for the name of something else (X-Project-Id).
func inHeader(name, v string) []span {
	if list := words(name); len(list) > 0 && slices.Contains(otherWords, list[len(list)-1]) || !opaque(v, 16) {
		return nil
	}
	return []span{{0, len(v)}}
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
	if rest := v[start:]; len(refs) == 0 && !strings.Contains(rest, "$(") && !ordinary(name, rest) {
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

// opaque reports whether a text of some length says nothing to a person: a UUID, hexadecimal digits,
// or letters and digits in turn. It is for a value whose place already says that it may be a secret.
func opaque(v string, least int) bool {
	letters, runs, digit, hex := false, 0, false, true
	for _, c := range v {
		is := '0' <= c && c <= '9'
		if !is && !between(byte(min(c|0x20, 0x7f)), 'a', 'z') && !strings.ContainsRune("-_=~", c) {
			return false
		}
		if is && !digit {
			runs++
		}
		digit = is
		letters = letters || !is
		hex = hex && strings.ContainsRune("0123456789abcdefABCDEF-", c)
	}
	return len(v) >= least && letters && (runs > 1 || runs == 1 && hex) && !wordy(v) && !placeholder(v)
}

// wordy reports whether a text consists of words and numbers, as names do: "sk-learn-v2", "gpt-4o-mini".
func wordy(v string) bool {
	for part := range strings.FieldsFuncSeq(v, func(c rune) bool { return strings.ContainsRune("-_.=~", c) }) {
		if !expressions().word.MatchString(part) {
			return false
		}
	}
	return true
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

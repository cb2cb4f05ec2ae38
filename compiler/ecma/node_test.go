package ecma

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/patterns.json")

// TestPatterns holds testdata/patterns.json to what the package says. The end-to-end
// test targets/roo/e2e/ecma.test.mjs holds it to what Node.js says.
func TestPatterns(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteString("{\"texts\": ")
	if err := e.Encode(texts); err != nil {
		t.Fatal(err)
	}
	b.WriteString(", \"patterns\": [\n")
	for i, c := range cases(t) {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString("]}\n")
	path := filepath.Join("testdata", "patterns.json")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is stale (%v): `go test ./compiler/ecma -update` rewrites it", path, err)
	}
}

// patternCase is a text, and which texts it matches as a pattern: those of all where
// Texts is nil. Match is nil where it is not a pattern.
type patternCase struct {
	Source string   `json:"source"`
	Fold   bool     `json:"fold,omitempty"`
	Texts  []string `json:"texts,omitempty"`
	Match  *string  `json:"match"`
}

func cases(t *testing.T) []patternCase {
	t.Helper()
	var all []patternCase
	add := func(c patternCase) {
		re, err := Compile(c.Source, Options{IgnoreCase: c.Fold})
		if err == nil {
			match := matches(t, re, c.Texts)
			c.Match = &match
		}
		all = append(all, c)
	}
	for _, source := range sources {
		add(patternCase{Source: source})
		add(patternCase{Source: source, Fold: true})
	}
	for _, source := range bigNumbers {
		add(patternCase{Source: source})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		some := make([]string, 8)
		for i := range some {
			some[i] = randomText(r)
		}
		add(patternCase{Source: randomPattern(r, 2), Fold: r.IntN(3) == 0, Texts: some})
	}
	// Most of these are not patterns.
	for range 4000 {
		add(patternCase{Source: damaged(r, randomPattern(r, 1)), Texts: []string{randomText(r), randomText(r)}})
	}
	return all
}

// matches writes an answer for each text: 1 for yes.
func matches(t *testing.T, re *Regexp, some []string) string {
	t.Helper()
	if some == nil {
		some = texts
	}
	b := make([]byte, len(some))
	for i, s := range some {
		ok, err := re.Match(s)
		if err != nil {
			t.Fatalf("%s on %q: %v", re, s, err)
		}
		b[i] = '0'
		if ok {
			b[i] = '1'
		}
	}
	return string(b)
}

// sources are patterns with every corner of the grammar.
var sources = []string{
	"", "a", "^a$", `\.md$`, "a|b", "|", "(|a)", "()", "(?:)", "(", ")", "a)", "[", "[a", "]", "{", "}", "{}", "a{",
	"a{1", "a{,2}", "a{1,2", "x{2}", "^x{2,}$", "^x{1,2}?$", "x{2,1}", "{1}", "a**", "a*?", "a+?b", "a??", "*", "+",
	"?", "^*", "$+", `\b+`, "(?=a)*", "(?!a)+b", "(?<=a)*", "(?<!a)?", "(?<=a)b", "(?<!a)b", "(?=a)a", "(?i)a",
	"(?i:a)", "(?#c)", "(?>a)", "(?P<n>a)", "(?<n>a)", `(?<n>a)\k<n>`, `\k<n>`, `\k`, `(?<n>a)\k`, `(?<n>a)\k<m>`,
	`\k<n>(?<n>a)`, "(?<n>a)(?<n>b)", "(?<1>a)", "(?<>a)",
	`(a)\1`, `\1(a)`, `(a)|b\1`, `\1`, `\2(a)`, `(a)\10`, `\07`, `\08`, `\377`, `\400`, `\8`, `\0`, `\x41`, `\x4`,
	`\u0041`, `\u41`, `\u{41}`, `\u{2}`, `\cA`, `\c`, `\c1`, `[\c1]`, `[\c]`, `\p{L}`, `\A`, `\Z`, `\z`, `\G`, `\a`,
	`\e`, `\Q`, `\-`, `\/`, "\\", `a\`, `[\]`, `[\]]`,
	"[]", "[^]", "[]a]", "[^]a]", "[a-c]", "[c-a]", "[a-]", "[-a]", "[a-b-c]", `[\d-x]`, `[a-\d]`, `[\w-]`, `[\b]`,
	`[\B]`, `[\x41-\x43]`, "[a^]", "[[:alpha:]]", "[a-z-[b]]", "[.]", "[(]", `[\0]`, `[\1]`, `[\08]`,
	".", "^.$", "^..$", "^.*$", `^[\s\S]*$`, `^\s$`, `^\S$`, `^\w$`, `^\W$`, `^\d$`, `\bé\b`, `\ba`, `a\b`, `\B`,
	"$", "^", "$a", "a$b", "😀", "^😀$", "[😀]", "^[😀]$", "^[^😀]$", "😀+", `^\uD83D`, `\uDE00$`, `^\uD83D\uDE00$`,
	"(?:a|ab)(?:c|bcd)(?:d*)", "(a*)*b", "(z)((a+)?(b+)?(c))*", "^(?:(a)|b)*\\1$", "(?=(a+))a*b\\1", "[ſ]", "ſ", "k",
	"\u212a", "[k]", "[^k]", "ß", "İ", "ı", "I", "Σ", "ς", "[α-ω]",
	`\10000000000`, `(a)\10000000000`, `[\10000000000]`, `(?<\u0061\u{62}>a)\k<ab>`,
	"(?<𝒜>a)", `(?<\ud835\udc9c>a)\k<𝒜>`, `(?<\ud835>a)`, `(?<\u{110000}>a)`, "(?<a", "(?<$_1>a)", "(?<a b>a)", `\😀`,
	`[\😀]`, `[^\ud800-\udfff]`, `[\u0000-\ud83d]`, `\ud83d{2}`,
}

// bigNumbers are quantifiers beyond the engine's numbers.
var bigNumbers = []string{"a{99999999999}b", "a{99999999999,}", "a{0,99999999999}", "a{3000000000,2500000000}", "b{2147483648}|c"}

var texts = []string{
	"", "a", "b", "ab", "aa", "aab", "abcd", "x", "xx", "xxx", "zaacbbbcac", "n", "k", "K", "\u212a", "s", "S", "ſ",
	"i", "I", "İ", "ı", "ß", "ẞ", "σ", "ς", "Σ", "é", "É", "é a", "a.md", "a.MD", "a.md\n", "\n", "\r", "\u2028",
	"\u00a0", "\ufeff", "😀", "😀😀", "a😀", "\x00", "\x01", "\x07", "\b", "-", "^", "]", "[", "{", "}", "{,2}", "a{1",
	"a{,2}", "A", "AB", "8", "7", "\u00ff", "x4", "u41", "u{41}", "uu", "p{L}", "Z", "\\", "\\c", "c", "a:", "1",
	"_", "k<n>", "aba", "\u0080",
}

// randomPattern writes an pattern of any shape out of a few letters.
func randomPattern(r *rand.Rand, depth int) string {
	atoms := []string{
		"a", "b", "A", ".", `\d`, `\w`, `\W`, `\s`, `[ab]`, `[^a]`, `[a-]`, `\b`, `\B`, "^", "$", `\1`, `\2`, "é",
		"😀", "ſ", "/", `\/`, `\.`, "-", `[^/]`, `(?:`, `{`, "]", `[😀-\uFFFF]`,
	}
	var b strings.Builder
	for range 1 + r.IntN(4) {
		switch k := r.IntN(10); {
		case k < 6 || depth == 0:
			b.WriteString(atoms[r.IntN(len(atoms))])
		default:
			open := []string{"(", "(?:", "(?=", "(?!", "(?<=", "(?<!"}[r.IntN(6)]
			b.WriteString(open + randomPattern(r, depth-1) + ")")
		}
		if r.IntN(3) == 0 {
			b.WriteString([]string{"*", "+", "?", "{0,2}", "*?", "{2}"}[r.IntN(6)])
		}
		if r.IntN(6) == 0 {
			b.WriteByte('|')
		}
	}
	return b.String()
}

func randomText(r *rand.Rand) string {
	letters := []string{"a", "b", "A", "/", ".", "1", " ", "é", "😀", "s", "ſ", "\n", "-", "\u2028"}
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(letters[r.IntN(len(letters))])
	}
	return b.String()
}

// parts are what a damaged pattern has too much of.
var parts = []string{
	"(", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<n>", "(?<m>", "(?<", "(?", ")", ")", ")", "[", "[^", "]", "-", "{",
	"}", "{1}", "{1,2}", "{2,1}",
	"{,2}", "*", "+", "?", "|", "^", "$", ".", "\\", `\b`, `\d`, `\1`, `\2`, `\k<n>`, `\k`, "a", "b", "1", "8", ",", "<", ">", "=", "!", ":",
	`\c`, `\u`, `\x`, `\u00`, "41", "{41}", "😀", "é", "a-c", "c-a", `\u{61}`, "n",
}

// damaged puts some parts into a pattern, takes some runes out, or both.
func damaged(r *rand.Rand, source string) string {
	runes := []rune(source)
	for range 1 + r.IntN(4) {
		i := r.IntN(len(runes) + 1)
		if r.IntN(3) == 0 && i < len(runes) {
			runes = append(runes[:i:i], runes[i+1:]...)
		} else {
			runes = append(runes[:i:i], append([]rune(parts[r.IntN(len(parts))]), runes[i:]...)...)
		}
	}
	return string(runes)
}

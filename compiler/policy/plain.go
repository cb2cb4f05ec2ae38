package policy

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A plain line is one that bash, dash, zsh, ksh and busybox read alike: a list of commands
// allows no other. The grammar says what is in, not what is out, so that what a shell adds
// tomorrow is outside too:
//
//	line     = commands joined by && || | ; & and line breaks
//	command  = first { blank (word | redirect) }
//	first    = a literal word without "=" that begins with a letter, a digit, "_", "." or "/",
//	           and that no shell gives a meaning of its own (reserved words, precommands)
//	word     = { unquoted | '…' | "…" }, behind the first one also { "*" | "?" | "~" | "^" }
//	redirect = [digit] ("<" | ">" | ">>") [blank] literal word, [digit] ">&" digit,
//	           "<<'" name "'" (a here-document)
//
// Why every shell reads them alike:
//
//	unquoted  A-Za-z0-9_./,:+@%- and "=" behind another character. No shell expands these;
//	          zsh replaces a leading "=NAME", and "~", "^" and "#" mean something in one of them.
//	* ? ~ ^   Behind the first word only, "~" and "^" only inside of a word ("HEAD~1", "main^.."). A
//	          shell may put names of files in the place of such a word (zsh with EXTENDED_GLOB does so
//	          for "~" and "^"), or nothing, and never runs anything for it. See [expansions].
//	'…'       Printable characters but "!", which bash replaces by its history, and "\", which
//	          some expand later (echo) and which ends a character in other encodings. Line breaks,
//	          as in the text of a commit, but not where a here-document is to follow.
//	"…"       The same without "`", and "$" as "$NAME" only, before what no shell takes for a
//	          part of the name or an index or modifier (zsh: "$V:h", "$V[x]"). NAME has upper-case
//	          letters, digits and "_": zsh has special ones in lower case. Its text is not known.
//	"$(cat <<'EOF' … )"
//	          Text whose end every shell finds, old ones that count quotes and parentheses too.
//	          See [closes].
//	a here-document
//	          Its delimiter is quoted, so that nothing in it is expanded, and is a name, so that
//	          no shell unquotes it otherwise. No line of the text begins with it but the last.
//	builtins  What a shell does by itself may run its arguments, or change what the next command
//	          means: see [builtinsOfShells].
//	redirects One digit: zsh and ksh read longer numbers otherwise. Not ">|", "&>", "<>", ">&word"
//	          and ">&-", which are not in every shell, or not the same.
//
// Codex judges command rules by such lines only, and takes every other script for one command.
type plainLine struct {
	text string
	at   int
	docs []string // the delimiters of the here-documents whose texts come with the next line break

	commands int
	changes  string // a builtin that may change what other commands mean
	from     int    // where the word begins that is being read
	why      string // what is not plain, as a person reads it
}

// notPlain returns what makes a line one that is not plain, "" for a plain one.
func notPlain(text string) string {
	l := plainLine{text: text}
	switch {
	case !utf8.ValidString(text):
		return "it is not UTF-8"
	case !l.line():
		return cmp.Or(l.why, "its end is missing")
	case l.commands > 1 && l.changes != "":
		return quote(l.changes) + " may change what the other commands do"
	}
	return ""
}

// odd records what is not plain, the first time, and returns false.
func (l *plainLine) odd(why string) bool {
	l.why = cmp.Or(l.why, why)
	return false
}

// oddHere records the character that is not plain and the word that it is in.
func (l *plainLine) oddHere() bool {
	rest := l.text[l.at:]
	if rest == "" {
		return l.odd("its end is missing")
	}
	r, size := utf8.DecodeRuneInString(rest)
	end := len(l.text)
	if n := strings.IndexAny(rest[size:], " \t\n;&|"); n >= 0 {
		end = l.at + size + n
	}
	word := l.text[l.from:end]
	switch {
	case r == '#' && l.from == l.at:
		return l.odd("the comment " + quote(rest))
	case strings.HasPrefix(rest, "$("), r == '`':
		return l.odd("the substitution in " + quote(word))
	case r == '$':
		return l.odd(`a variable is plain as "$NAME" in double quotes only, not in ` + quote(word))
	case r == '\n':
		return l.odd("a line break")
	case !unicode.IsPrint(r):
		return l.odd("a control character")
	case word == string(r):
		return l.odd(quote(word))
	}
	return l.odd(quote(string(r)) + " in " + quote(word))
}

// quote returns a part of a line for a message: on one line, and shortened.
func quote(text string) string {
	unseen := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	text = strings.Join(strings.FieldsFunc(text, unseen), " ")
	if r := []rune(text); len(r) > maxShown {
		text = string(r[:maxShown-1]) + "…"
	}
	if strings.Contains(text, `"`) {
		return "'" + text + "'"
	}
	return `"` + text + `"`
}

// maxShown is how many characters of a part are shown.
const maxShown = 48

// next returns the byte at a distance, 0 behind the end. NUL is in no plain line.
func (l *plainLine) next(n int) byte {
	if l.at+n < len(l.text) {
		return l.text[l.at+n]
	}
	return 0
}

func (l *plainLine) take(s string) bool {
	if strings.HasPrefix(l.text[l.at:], s) {
		l.at += len(s)
		return true
	}
	return false
}

func (l *plainLine) blanks() {
	for isBlank(l.next(0)) {
		l.at++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// parts reports whether a byte ends a word: a blank, the end of a command, or that of the line.
func parts(c byte) bool { return c == 0 || strings.IndexByte(" \t\n;&|", c) >= 0 }

func (l *plainLine) ended() bool { return l.at == len(l.text) }

// line reads the whole line.
func (l *plainLine) line() bool {
	if !l.breaks() {
		return false
	}
	for {
		if !l.command() {
			return false
		}
		l.blanks()
		switch {
		case l.ended():
			return len(l.docs) == 0
		case strings.HasPrefix(l.text[l.at:], "|&"):
			return l.odd(`"|&"`)
		case l.take("&&"), l.take("||"), l.take("|"):
			if !l.breaks() || l.ended() {
				return false
			}
		case l.next(0) == '\n', l.take(";"), l.take("&"):
			if !l.breaks() {
				return false
			}
			if l.ended() {
				return true
			}
		default:
			l.from = l.at
			return l.oddHere()
		}
	}
}

// breaks reads blanks and line breaks, and the here-documents behind the first of these.
func (l *plainLine) breaks() bool {
	for {
		l.blanks()
		if l.ended() {
			return len(l.docs) == 0
		}
		if !l.take("\n") {
			return true
		}
		for _, end := range l.docs {
			if !l.document(end) {
				return false
			}
		}
		l.docs = nil
	}
}

// document reads the text of a here-document and the line that ends it.
func (l *plainLine) document(end string) bool {
	for !l.ended() {
		line, _, more := strings.Cut(l.text[l.at:], "\n")
		l.at += len(line)
		if more {
			l.at++
		}
		if line == end {
			return true
		}
		if strings.HasPrefix(line, end) || !printed(line, "\t!\\") {
			return false
		}
	}
	return false
}

// printed reports whether a text has printable characters only, or those of also.
func printed(text, also string) bool {
	for _, r := range text {
		special := r == '!' || r == '\\'
		if (special || !unicode.IsPrint(r)) && !strings.ContainsRune(also, r) {
			return false
		}
	}
	return true
}

// command reads a simple command.
func (l *plainLine) command() bool {
	first, ok := plainWord{text: "[", known: true}, l.take("[ ")
	l.from = l.at
	if !ok {
		first, ok = l.word()
	}
	switch program := first.text; {
	case !ok:
		return l.oddHere()
	case !first.known || first.names:
		return l.odd(quote(l.text[l.from:l.at]) + " is not a literal program")
	case !startsCommand(program):
		return l.odd(whyNoCommand(program, l.text[l.from:l.at]))
	case program == "time": // a word of some shells: what follows is a command
		l.blanks()
		return l.command()
	}
	l.commands++
	words := []plainWord{first}
	for {
		spaced := l.at > 0 && isBlank(l.text[l.at-1]) || isBlank(l.next(0))
		l.blanks()
		if spaced {
			l.from = l.at
		}
		switch c := l.next(0); {
		case parts(c):
			return l.builtin(words)
		case !spaced:
			return l.oddHere()
		case c == '<' || c == '>' || '0' <= c && c <= '9' && (l.next(1) == '<' || l.next(1) == '>'):
			if !l.redirect() {
				return l.odd("the redirect " + quote(l.text[l.from:min(len(l.text), l.at+1)]))
			}
		default:
			w, ok := l.argument(first.text)
			if !ok {
				return l.oddHere()
			}
			words = append(words, w)
		}
	}
}

// builtin reports whether a command is plain as a shell does it that has a builtin of this name.
func (l *plainLine) builtin(words []plainWord) bool {
	words = behindCommand(words)
	if len(words) == 0 {
		return true
	}
	name, args := words[0].text, words[1:]
	if !words[0].known || words[0].names || meanings[name] {
		return l.odd(quote(name) + " is not a program")
	}
	b, ok := builtinsOfShells[name]
	if !ok {
		return true
	}
	for i, w := range args {
		if !w.known || w.names || b.refuses != nil && b.refuses(i, w.text) {
			return l.odd("the shell's own " + quote(name) + " may run or set something by its arguments")
		}
	}
	if b.changes != nil && b.changes(args) {
		l.changes = name
	}
	return true
}

// behindCommand returns what the builtin "command" runs.
func behindCommand(words []plainWord) []plainWord {
	for len(words) > 0 && words[0].text == "command" {
		words = words[1:]
		for len(words) > 0 && words[0].known && strings.HasPrefix(words[0].text, "-") {
			words = words[1:]
		}
	}
	return words
}

// argument reads a word behind the first one. A bracket alone closes the command "[".
func (l *plainLine) argument(program string) (plainWord, bool) {
	if program == "[" && l.take("]") {
		return plainWord{text: "]", known: true}, parts(l.next(0))
	}
	return l.word()
}

// whyNoCommand returns why a word does not begin a plain command.
func whyNoCommand(word, raw string) string {
	switch {
	case meanings[word]:
		return quote(word) + " is a word of the shell"
	case strings.Contains(word, "="):
		return "the assignment " + quote(raw)
	}
	return quote(raw) + " is not a literal program"
}

// startsCommand reports whether a word names a program, and nothing else in any shell.
func startsCommand(word string) bool {
	if word == "" || word == "[" {
		return word != ""
	}
	c := word[0]
	letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	return (letter || c == '_' || c == '.' || c == '/') && !strings.Contains(word, "=") && !meanings[word]
}

// meanings are the words that some shell gives a meaning of its own where a command begins.
var meanings = set("if then else elif fi for while until do done case esac in select function coproc repeat " +
	"foreach end begin and or not switch noglob nocorrect builtin . source eval exec trap alias namespace " +
	"integer float nameref")

// unquoted are the bytes of an unquoted word.
func unquoted(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c != 0 && strings.IndexByte("_./,:+@%-", c) >= 0
}

// plainWord is a word of a plain line.
type plainWord struct {
	text  string
	known bool // its text does not depend on a variable
	names bool // a shell may put names of files in its place
}

// word reads one word.
func (l *plainLine) word() (w plainWord, ok bool) {
	var b strings.Builder
	l.from = l.at
	w.known = true
	for {
		switch c := l.next(0); {
		case unquoted(c), c == '=' && l.at > l.from:
			b.WriteByte(c)
			l.at++
		case c == '*', c == '?', (c == '~' || c == '^') && l.behindName():
			b.WriteByte(c)
			l.at++
			w.names = true
		case c == '\'':
			end := strings.IndexByte(l.text[l.at+1:], '\'')
			if end < 0 || !printed(l.text[l.at+1:l.at+1+end], l.breaksInQuotes()) {
				return w, l.oddQuotes(end)
			}
			b.WriteString(l.text[l.at+1 : l.at+1+end])
			l.at += end + 2
		case c == '"':
			l.at++
			part, fixed, ok := l.doubleQuoted()
			if !ok {
				return w, l.oddHere()
			}
			b.WriteString(part)
			w.known = w.known && fixed
		default:
			w.text = b.String()
			return w, l.at > l.from && (b.Len() > 0 || l.at > l.from+1)
		}
	}
}

// oddQuotes records what is not plain in single quotes that end at a distance.
func (l *plainLine) oddQuotes(end int) bool {
	if end < 0 {
		return l.odd("a quote that nothing closes")
	}
	text := l.text[l.at+1 : l.at+1+end]
	at := strings.IndexFunc(text, func(r rune) bool { return !printed(string(r), l.breaksInQuotes()) })
	l.at += 1 + at
	return l.oddHere()
}

// behindName reports whether the last byte was an unquoted one of a name, so that no shell
// takes a "~" for a folder, as at the beginning of a word and behind "=" and ":".
func (l *plainLine) behindName() bool {
	if l.at == l.from {
		return false
	}
	c := l.text[l.at-1]
	return c != '=' && c != ':' && (unquoted(c) || c == '~' || c == '^')
}

// breaksInQuotes returns the line break where it is text in quotes. Behind the delimiter of a
// here-document it might begin the document.
func (l *plainLine) breaksInQuotes() string {
	if len(l.docs) > 0 {
		return ""
	}
	return "\n"
}

// doubleQuoted reads what follows an opening quote, and the closing one.
func (l *plainLine) doubleQuoted() (text string, known, ok bool) {
	if l.take("$(cat <<'") {
		return "", false, l.message()
	}
	start := l.at
	known = true
	for {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		switch {
		case size == 0:
			return "", false, false
		case r == '"':
			l.at++
			return l.text[start : l.at-1], known, true
		case r == '$':
			from := l.at
			l.at++
			if !l.variable() {
				l.at = from
				return "", false, false
			}
			known = false
		case r == '`', r == '!', r == '\\', !unicode.IsPrint(r) && !strings.ContainsRune(l.breaksInQuotes(), r):
			return "", false, false
		default:
			l.at += size
		}
	}
}

// variable reads the name of a variable in double quotes.
func (l *plainLine) variable() bool {
	start := l.at
	for c := l.next(0); 'A' <= c && c <= 'Z' || c == '_' || '0' <= c && c <= '9' && l.at > start; c = l.next(0) {
		l.at++
	}
	c := l.next(0)
	return l.at > start && c != 0 && strings.IndexByte("\"/ .,-", c) >= 0
}

// message reads the rest of "$(cat <<'EOF' … )" behind its first quote.
func (l *plainLine) message() bool {
	end := l.name()
	if end == "" || !l.take("'\n") {
		return false
	}
	start := l.at
	if !l.document(end) || !l.take(")\"") {
		return false
	}
	return closes(l.text[start:l.at-len(end)-3]) ||
		l.odd("older shells do not find the end of "+quote("$(cat <<'"+end+"'")+" by its quotes or parentheses")
}

// closes reports whether every shell finds the end of a text in "$(cat <<'EOF' … )". Old ones
// count quotes and parentheses in it, some take "#" for a comment, and a backslash for one that
// escapes. So quotes come in pairs with no other quote between them, and as many parentheses
// open as close, between them, outside of them and behind a "#". No quote stands behind a "#", a
// backslash or a "$".
func closes(text string) bool {
	for {
		at := strings.IndexAny(text, "'\"`")
		if at < 0 {
			return balanced(text)
		}
		before, rest := text[:at], text[at+1:]
		in, after, ok := strings.Cut(rest, text[at:at+1])
		commented := strings.Contains(before[strings.LastIndexByte(before, '\n')+1:], "#") ||
			strings.Contains(in, "#") && strings.Contains(in, "\n")
		escaped := strings.HasSuffix(before, `\`) || strings.HasSuffix(before, "$")
		if !ok || commented || escaped || strings.ContainsAny(in, "'\"`\\") || !balanced(before) || !balanced(in) {
			return false
		}
		text = after
	}
}

// balanced reports whether as many parentheses open as close, also without what may be
// comments, and none of them or of "${" may mean something else.
func balanced(text string) bool {
	for _, s := range []string{`\(`, `\)`, "${", "$["} {
		if strings.Contains(text, s) {
			return false
		}
	}
	open := 0
	for line := range strings.Lines(text) {
		code, comment, _ := strings.Cut(line, "#")
		if n, ok := opened(comment, 0); !ok || n != 0 {
			return false
		}
		var ok bool
		if open, ok = opened(code, open); !ok {
			return false
		}
	}
	return open == 0
}

// opened returns how many parentheses are open behind a text. It fails where one closes that
// nothing opened.
func opened(text string, open int) (int, bool) {
	for _, c := range []byte(text) {
		switch c {
		case '(':
			open++
		case ')':
			open--
		}
		if open < 0 {
			return open, false
		}
	}
	return open, true
}

// name reads a name, as a delimiter may be.
func (l *plainLine) name() string {
	start := l.at
	for c := l.next(0); isLetter(c) || c == '_' || isDigit(c) && l.at > start; c = l.next(0) {
		l.at++
	}
	return l.text[start:l.at]
}

// redirect reads a redirect.
func (l *plainLine) redirect() bool {
	digit := '0' <= l.next(0) && l.next(0) <= '9'
	if digit {
		l.at++
	}
	switch {
	case l.take("<<"):
		if digit || !l.take("'") {
			return false
		}
		end := l.name()
		l.docs = append(l.docs, end)
		return end != "" && l.take("'")
	case l.take(">&"):
		to := l.next(0)
		l.at++
		return '0' <= to && to <= '9' && parts(l.next(0))
	case l.take(">>"), l.take(">"), l.take("<"):
	default:
		return false
	}
	l.blanks()
	from := l.from
	w, ok := l.word()
	l.from = from
	network := strings.HasPrefix(w.text, "/dev/tcp") || strings.HasPrefix(w.text, "/dev/udp") // of bash and ksh
	return ok && w.known && !w.names && w.text != "" && !network && parts(l.next(0))
}

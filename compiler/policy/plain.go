package policy

import (
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
//	word     = { unquoted | '…' | "…" }
//	redirect = [digit] ("<" | ">" | ">>") [blank] literal word, [digit] ">&" digit,
//	           "<<'" name "'" (a here-document)
//
// Why every shell reads them alike:
//
//	unquoted  A-Za-z0-9_./,:+@%- and "=" behind another character. No shell expands these;
//	          zsh replaces a leading "=NAME", and "~", "^" and "#" mean something in one of them.
//	'…'       Printable characters but "!", which bash replaces by its history, and "\", which
//	          some expand later (echo) and which ends a character in other encodings. Line breaks,
//	          as in the text of a commit, but not where a here-document is to follow.
//	"…"       The same without "`", and "$" as "$NAME" only, before what no shell takes for a
//	          part of the name or an index or modifier (zsh: "$V:h", "$V[x]"). NAME has upper-case
//	          letters, digits and "_": zsh has special ones in lower case. Its text is not known.
//	"$(cat <<'EOF' … )"
//	          Text whose end every shell finds, old ones that count quotes and parentheses too.
//	a here-document
//	          Its delimiter is quoted, so that nothing in it is expanded, and is a name, so that
//	          no shell unquotes it otherwise. No line of the text begins with it but the last.
//	redirects One digit: zsh and ksh read longer numbers otherwise. Not ">|", "&>", "<>", ">&word"
//	          and ">&-", which are not in every shell, or not the same.
//
// Codex judges command rules by such lines only, and takes every other script for one command.
type plainLine struct {
	text string
	at   int
	docs []string // the delimiters of the here-documents whose texts come with the next line break
}

// isPlain reports whether a command line is plain.
func isPlain(text string) bool {
	l := plainLine{text: text}
	return utf8.ValidString(text) && l.line()
}

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
			return false
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
			return false
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
	program, known, ok := "[", true, l.take("[ ")
	if !ok {
		program, known, ok = l.word()
	}
	if !ok || !known || !startsCommand(program) {
		return false
	}
	if program == "time" { // a word of some shells: what follows is a command
		l.blanks()
		return l.command()
	}
	touchy := evaluators[program]
	for {
		spaced := l.at > 0 && isBlank(l.text[l.at-1]) || isBlank(l.next(0))
		l.blanks()
		switch c := l.next(0); {
		case parts(c):
			return true
		case !spaced:
			return false
		case c == '<' || c == '>' || '0' <= c && c <= '9' && (l.next(1) == '<' || l.next(1) == '>'):
			if !l.redirect() {
				return false
			}
		default:
			text, known, ok := l.argument(program)
			if !ok || touchy && (!known || strings.ContainsAny(text, "[$`")) {
				return false
			}
		}
	}
}

// argument reads a word behind the first one. A bracket alone closes the command "[".
func (l *plainLine) argument(program string) (text string, known, ok bool) {
	if program == "[" && l.take("]") {
		return "]", true, parts(l.next(0))
	}
	return l.word()
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

// evaluators are commands that expand or evaluate their arguments once more.
var evaluators = set("test [ printf read export declare typeset local readonly unset let wait mapfile readarray " +
	"ulimit cd pushd popd print")

// unquoted are the bytes of an unquoted word.
func unquoted(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c != 0 && strings.IndexByte("_./,:+@%-", c) >= 0
}

// word reads one word and returns its text; known is false where that depends on a variable.
func (l *plainLine) word() (text string, known, ok bool) {
	var b strings.Builder
	start := l.at
	known = true
	for {
		switch c := l.next(0); {
		case unquoted(c), c == '=' && l.at > start:
			b.WriteByte(c)
			l.at++
		case c == '\'':
			end := strings.IndexByte(l.text[l.at+1:], '\'')
			if end < 0 || !printed(l.text[l.at+1:l.at+1+end], l.breaksInQuotes()) {
				return "", false, false
			}
			b.WriteString(l.text[l.at+1 : l.at+1+end])
			l.at += end + 2
		case c == '"':
			l.at++
			part, fixed, ok := l.doubleQuoted()
			if !ok {
				return "", false, false
			}
			b.WriteString(part)
			known = known && fixed
		default:
			return b.String(), known, l.at > start && (b.Len() > 0 || l.at > start+1)
		}
	}
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
			l.at++
			if !l.variable() {
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
	body := l.text[start : l.at-len(end)-3]
	open, quotes := 0, 0
	for _, c := range []byte(body) {
		switch c {
		case '"', '`':
			return false
		case '\'':
			quotes++
		case '(':
			open++
		case ')':
			open--
		}
		if open < 0 {
			return false
		}
	}
	return open == 0 && quotes%2 == 0
}

// name reads a name, as a delimiter may be.
func (l *plainLine) name() string {
	start := l.at
	for c := l.next(0); 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || '0' <= c && c <= '9' && l.at > start; c = l.next(0) {
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
	text, known, ok := l.word()
	network := strings.HasPrefix(text, "/dev/tcp") || strings.HasPrefix(text, "/dev/udp") // of bash and ksh
	return ok && known && text != "" && !network && parts(l.next(0))
}

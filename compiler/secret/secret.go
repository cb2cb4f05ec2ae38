// Package secret finds literal secrets in how servers are started and reached, and in any
// line that is printed. [Entry.Literals] returns what a server's entry states in clear text,
// [Entry.Masked] the entry without it, [Text] and [Blank] mask a text, [Index] finds places in one.
//
// A reference is no secret: ${VAR}, ${env:VAR}, $VAR, ${input:x}, {env:VAR}, op://vault/item.
// Neither is a placeholder ("YOUR_API_KEY", "<token>") nor an ordinary value (a path, true, a
// port). The default of a reference (${VAR:-text}) is judged like any other text.
//
// What decides is a value's form (the tokens of known vendors, long random text) or the name
// that it stands under (Authorization, API_KEY, --password, ?token=, user:pass@).
package secret

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Mask stands in the place of a secret.
const Mask = "***"

// Entry is how a server is started or reached.
type Entry struct {
	Command string
	Args    []string
	Cwd     string
	Env     map[string]string
	URL     string
	Headers map[string]string
}

// Literal is a place of an entry that states a secret.
type Literal struct {
	Where    string // "the variable GITHUB_TOKEN"
	Variable string // a name for a variable that could hold the secret
	Values   []string
}

// Literals returns the places that state a secret: variables and headers by name, then the
// program and its arguments, then the address.
func (e Entry) Literals() (list []Literal) {
	add := func(where, variable, text string, found []span) {
		if len(found) == 0 {
			return
		}
		l := Literal{Where: where, Variable: Variable(variable)}
		for _, s := range found {
			l.Values = append(l.Values, text[s.start:s.end])
		}
		list = append(list, l)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		add("the variable "+name, name, e.Env[name], under(name, e.Env[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		add("the header "+name, name, e.Headers[name], underHeader(name, e.Headers[name]))
	}
	add("the command", "token", e.Command, in(e.Command))
	add("the working directory", "token", e.Cwd, in(e.Cwd))
	found := e.args()
	for i, arg := range e.Args {
		name, where := "token", "an argument"
		before, _, both := strings.Cut(arg, "=")
		switch option := e.option(i); {
		case both && len(words(before)) > 0 && !strings.ContainsAny(before, "{/ "):
			name, where = before, "the argument "+before
		case len(option) > 2:
			name, where = option, "the argument of "+option
		}
		add(where, name, arg, found[i])
	}
	add("the address", "token", e.URL, in(e.URL))
	return list
}

// Masked returns the entry with a mask in the place of every secret.
func (e Entry) Masked() Entry {
	all := func(values map[string]string, secrets func(name, value string) []span) map[string]string {
		if values == nil {
			return nil
		}
		out := map[string]string{}
		for name, value := range values {
			out[name] = mask(value, secrets(name, value))
		}
		return out
	}
	out := Entry{
		Command: Text(e.Command), Cwd: Text(e.Cwd), URL: Text(e.URL),
		Env: all(e.Env, under), Headers: all(e.Headers, underHeader),
	}
	found := e.args()
	for i, arg := range e.Args {
		out.Args = append(out.Args, mask(arg, found[i]))
	}
	return out
}

// args returns the secrets of each argument: of what it says, and of what its program takes it for.
func (e Entry) args() [][]span {
	out := make([][]span, len(e.Args))
	passwords := inCommands(strings.Join(append([]string{e.Command}, e.Args...), " "))
	at := len(e.Command) + 1
	for i, arg := range e.Args {
		for _, s := range passwords {
			if at <= s.start && s.end <= at+len(arg) {
				out[i] = append(out[i], span{s.start - at, s.end - at})
			}
		}
		out[i] = join(append(out[i], e.arg(i)...))
		at += len(arg) + 1
	}
	return out
}

// arg returns the secrets of an argument, which may be the value of the option before it.
func (e Entry) arg(i int) []span {
	arg := e.Args[i]
	switch option := e.option(i); option {
	case "":
		return in(arg)
	case "-k", "-H", "--header", "--headers":
		return shift(in(option+" "+arg), -len(option)-1) // these are no names: the text says what they mean
	default:
		return under(option, arg)
	}
}

// option returns the option before an argument, of which it may be the value; "" where there is
// none.
func (e Entry) option(i int) string {
	if i == 0 || strings.HasPrefix(e.Args[i], "-") || !strings.HasPrefix(e.Args[i-1], "-") ||
		strings.ContainsAny(e.Args[i-1], "= \t\n\"'") {
		return ""
	}
	return e.Args[i-1]
}

// underHeader returns the secrets of a header's value.
func underHeader(name, value string) []span {
	return join(append(under(name, value), inHeader(name, value)...))
}

// Is reports whether a value that stands under a name is or contains a literal secret.
func Is(name, value string) bool { return len(under(name, value)) > 0 }

// Value masks the secrets of a value that stands under a name.
func Value(name, value string) string { return mask(value, under(name, value)) }

// Index returns where the secrets of a text start and end.
func Index(text string) (list [][2]int) {
	for _, s := range in(text) {
		list = append(list, [2]int{s.start, s.end})
	}
	return list
}

// Text masks the secrets in a text: an address, an argument, a command line, lines of a file.
func Text(text string) string { return mask(text, in(text)) }

// Blank masks the secrets in a text and keeps its length and its lines, so that places in it
// stay right.
func Blank(text string) string {
	out := []byte(text)
	for _, s := range in(text) {
		for i := s.start; i < s.end; i++ {
			if out[i] != '\n' {
				out[i] = '*'
			}
		}
	}
	return string(out)
}

// Variable returns the name of an environment variable for what stands under a name.
func Variable(name string) string {
	name = strings.Trim(strings.ToUpper(strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			return c
		}
		return '_'
	}, name)), "_")
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "TOKEN_" + name
	}
	return strings.TrimSuffix(name, "_")
}

// span is a part of a text.
type span struct{ start, end int }

func mask(text string, found []span) string {
	var b strings.Builder
	at := 0
	for _, s := range found {
		b.WriteString(text[at:s.start])
		b.WriteString(Mask)
		at = s.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// join sorts spans and joins those that overlap.
func join(found []span) (out []span) {
	slices.SortFunc(found, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	for _, s := range found {
		if n := len(out); n > 0 && s.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
		} else {
			out = append(out, s)
		}
	}
	return out
}

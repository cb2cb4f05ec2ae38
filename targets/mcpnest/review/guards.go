package review

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
)

// guard is a class that implements CanActivate.
type guard struct {
	name string
	body []token // between the braces of the class
}

// String names a guard for a message.
func (g guard) String() string {
	if g.name == "" {
		return "a guard"
	}
	return "the guard " + g.name
}

// guardsOf returns the guards that a file declares: classes with a method canActivate.
func guardsOf(tokens []token) []guard {
	var out []guard
	for i, t := range tokens {
		if t.text != "class" || i > 0 && tokens[i-1].text == "." {
			continue
		}
		body := classBody(tokens[i:])
		if !slices.ContainsFunc(body, func(t token) bool { return t.text == "canActivate" }) {
			continue
		}
		name := ""
		if next := tokens[i+1]; next.name && next.text != "extends" && next.text != "implements" {
			name = next.text
		}
		out = append(out, guard{name: name, body: body})
	}
	return out
}

// classBody returns what stands between the braces of a class.
func classBody(tokens []token) []token {
	open := slices.IndexFunc(tokens, func(t token) bool { return t.text == "{" })
	if open < 0 {
		return nil
	}
	return tokens[open+1 : closing(tokens, open)]
}

// closing returns the index of the bracket that closes the one at an index, or the end.
func closing(tokens []token, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch tokens[i].text {
		case "{", "(", "[":
			depth++
		case "}", ")", "]":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens)
}

// toolGuards adds the names in @UseGuards(…) of methods that are tools, and of classes with tools.
func toolGuards(tokens []token, names map[string]bool) {
	for i := 0; i < len(tokens); i++ {
		if tokens[i].text != "@" {
			continue
		}
		tool := false
		var used []string
		for i < len(tokens) && tokens[i].text == "@" { // the decorators of one thing
			end := i + 2
			if end < len(tokens) && tokens[end].text == "(" {
				end = closing(tokens, end)
			}
			end = min(end+1, len(tokens))
			switch name := tokens[min(i+1, len(tokens)-1)].text; name {
			case "Tool", "McpController", "Resource", "ResourceTemplate", "Prompt":
				tool = true
			case "UseGuards":
				for _, t := range tokens[i+2 : end] {
					used = append(used, t.text)
				}
			}
			i = end
		}
		for k := i; k < min(i+3, len(tokens)); k++ { // export default class
			if tokens[k].text == "class" {
				body := classBody(tokens[k:])
				tool = tool || slices.ContainsFunc(body, func(t token) bool { return t.text == "Tool" })
			}
		}
		i--
		for _, name := range used {
			names[name] = names[name] || tool
		}
	}
}

// request returns where a guard asks for the HTTP request without a look at the kind of
// context that it runs in.
func (g *guard) request() (diag.Pos, bool) {
	at := diag.Pos{}
	for _, t := range g.body {
		switch t.text {
		case "getType", "switchToRpc":
			return diag.Pos{}, false
		case "switchToHttp":
			if at == (diag.Pos{}) {
				at = t.pos
			}
		}
	}
	return at, at != (diag.Pos{})
}

// arguments are the methods of a context that return what the caller sent.
var arguments = []string{"getData", "getArgs", "getArgByIndex"}

// requests are the methods that return a request, and usual names for one.
var (
	requests = []string{"getRequest", "getRawRequest"}
	called   = []string{"req", "request"}
)

// trusted returns where a guard decides by what the caller writes: in what it returns, or in a
// condition. What is an argument of a call is not looked at, nor what is compared with something
// of the user, nor a condition that only refuses.
func (g *guard) trusted() (diag.Pos, bool) {
	known := names{requests: slices.Clone(called)}
	all := statements(g.body)
	passes := slices.ContainsFunc(all, func(s statement) bool { return s.is("return", "true") })
	for i, s := range all {
		at, found := s.tainted(&known)
		if s.declares() && s.hasAny(requests) && !s.has("body") && !found {
			known.requests = append(known.requests, s.declared()...)
			continue
		}
		if !found || s.compared() {
			continue
		}
		switch {
		case s.declares(), len(s) > 1 && s[0].name && s[1].text == "=":
			known.tainted = append(known.tainted, s.declared()...)
		case s.has("user", "=") && !s.decides():
			return at, true // request.user = request.body.user
		case !s.decides():
		case s[0].text == "if" && !passes && i+1 < len(all) && all[i+1].refuses():
		default:
			return at, true
		}
	}
	return diag.Pos{}, false
}

// names are what stands for a request, and for something that its sender writes.
type names struct{ requests, tainted []string }

// statement is a run of tokens without a separator of statements.
type statement []token

// beforeObject are the tokens behind which a brace begins an object or a pattern.
var beforeObject = []string{"const", "let", "var", "=", "(", ",", ":", "return"}

// statements cuts a body at semicolons, at keywords that begin a statement, and at the braces of
// blocks.
func statements(tokens []token) []statement {
	var out []statement
	start := 0
	cut := func(end, next int) {
		if end > start {
			out = append(out, tokens[start:end])
		}
		start = next
	}
	for i := 0; i < len(tokens); i++ {
		switch t := tokens[i]; t.text {
		case ";":
			cut(i, i+1)
		case "return", "if", "else", "while", "switch", "const", "let", "var", "throw":
			cut(i, i)
		case "{":
			if i > 0 && slices.Contains(beforeObject, tokens[i-1].text) {
				continue
			}
			cut(i, i+1)
		case "}":
			if object(tokens[start:i]) {
				continue
			}
			cut(i, i+1)
		}
	}
	cut(len(tokens), len(tokens))
	return out
}

// object reports whether a brace of some tokens is still open.
func object(tokens []token) bool {
	depth := 0
	for _, t := range tokens {
		switch t.text {
		case "{":
			depth++
		case "}":
			depth--
		}
	}
	return depth > 0
}

// declares reports whether a statement gives names to values.
func (s statement) declares() bool {
	return slices.Contains([]string{"const", "let", "var"}, s[0].text)
}

// decides reports whether a statement returns something or has a condition.
func (s statement) decides() bool {
	return slices.Contains([]string{"return", "if", "else", "while", "switch"}, s[0].text) || s.has("canActivate", "=>")
}

// hasAny reports whether one of some words is a token of a statement.
func (s statement) hasAny(words []string) bool {
	return slices.ContainsFunc(s, func(t token) bool { return slices.Contains(words, t.text) })
}

// has reports whether all of some words are tokens of a statement.
func (s statement) has(words ...string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !s.hasAny([]string{w}) })
}

// refuses reports whether a statement lets nobody pass.
func (s statement) refuses() bool { return s[0].text == "throw" || s.is("return", "false") }

// is reports whether a statement is some words.
func (s statement) is(words ...string) bool {
	return slices.EqualFunc(s, words, func(t token, w string) bool { return t.text == w })
}

// compared reports whether something of the user is compared in a statement.
func (s statement) compared() bool {
	return s.has("user") && !s.hasAny(arguments) &&
		s.hasAny([]string{"===", "!==", "==", "!=", "<", ">", "<=", ">="})
}

// declared returns the names that a declaration or an assignment gives to what stands behind "=".
func (s statement) declared() []string {
	var out []string
	for _, t := range s {
		if t.text == "=" {
			break
		}
		if t.name {
			out = append(out, t.text)
		}
	}
	return out
}

// looking are functions that only look at their arguments: what they return depends on these.
var looking = []string{"includes", "has", "Boolean", "String", "Number", "some", "every", "indexOf", "test", "match"}

// tainted returns where a statement uses what the caller writes, or a name that stands for it.
func (s statement) tainted(known *names) (diag.Pos, bool) {
	var opaque []bool // of the open brackets: whether each opens the arguments of a call
	for i, t := range s {
		switch {
		case t.text == "(":
			opaque = append(opaque, s.opens(i))
		case t.text == ")" && len(opaque) > 0:
			opaque = opaque[:len(opaque)-1]
		case !slices.Contains(opaque, true) && s.written(i, known):
			return t.pos, true
		}
	}
	return diag.Pos{}, false
}

// opens reports whether a bracket opens the arguments of a call that does more than look at them.
func (s statement) opens(i int) bool {
	if i == 0 || slices.Contains(looking, s[i-1].text) {
		return false
	}
	before := s[i-1]
	return before.text == ")" || before.name && !slices.Contains([]string{"if", "while", "return"}, before.text)
}

// written reports whether a token stands for what the caller writes.
func (s statement) written(i int, known *names) bool {
	t, before := s[i], ""
	if i > 0 {
		before = s[i-1].text
	}
	member := i > 1 && slices.Contains([]string{".", "?.", "["}, before)
	switch {
	case member && s.isBody(i) && s.ofRequest(i-2, known):
		return true
	case t.text == "body" && s.declares() && (before == "{" || before == ",") && s.fromRequest(i, known):
		return true
	case !t.name:
		return false
	case member:
		return slices.Contains(arguments, t.text)
	}
	return slices.Contains(known.tainted, t.text)
}

// isBody reports whether a token names the member body.
func (s statement) isBody(i int) bool {
	return s[i].text == "body" || s[i-1].text == "[" && strings.Trim(s[i].text, `"'`) == "body"
}

// ofRequest reports whether the token in front of a member is a request: a name of one, or the end
// of a call that returns one.
func (s statement) ofRequest(i int, known *names) bool {
	if s[i].text == ")" {
		return s[:i].hasAny(requests)
	}
	return slices.Contains(known.requests, s[i].text)
}

// fromRequest reports whether what a pattern takes apart is a request.
func (s statement) fromRequest(i int, known *names) bool {
	for k := i; k < len(s); k++ {
		if s[k].text == "=" {
			return s[k:].hasAny(requests) || s[k:].hasAny(known.requests)
		}
	}
	return false
}

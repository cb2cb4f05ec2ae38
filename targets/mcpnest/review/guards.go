package review

import (
	"slices"

	"modec.dev/modec/compiler/diag"
)

// guard is a class that implements CanActivate.
type guard struct {
	name string
	body []token // between the braces of the class
}

// guardsOf returns the guards that a file declares.
func guardsOf(tokens []token) []guard {
	var out []guard
	for i, t := range tokens {
		if t.text != "class" || i+1 == len(tokens) {
			continue
		}
		open := slices.IndexFunc(tokens[i:], func(t token) bool { return t.text == "{" })
		if open < 0 {
			break
		}
		open += i
		if slices.ContainsFunc(tokens[i:open], func(t token) bool { return t.text == "CanActivate" }) {
			out = append(out, guard{name: tokens[i+1].text, body: tokens[open+1 : closing(tokens, open)]})
		}
	}
	return out
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

// toolGuards adds the names in @UseGuards(…) of methods that are tools, and of classes of MCP.
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

// written are the members of a request that its sender writes.
var written = []string{"body", "query", "params", "rawBody"}

// arguments are the methods of a context that return what the caller sent.
var arguments = []string{"getData", "getArgs", "getArgByIndex"}

// trusted returns where a guard decides by what the caller writes: in what it returns, or in a
// condition. What is an argument of a call is not looked at.
func (g *guard) trusted() (diag.Pos, bool) {
	var tainted []string
	for _, s := range statements(g.body) {
		at, found := s.tainted(tainted)
		if !found {
			continue
		}
		switch s[0].text {
		case "return", "if", "else", "while", "switch":
			return at, true
		case "const", "let", "var":
			tainted = append(tainted, s.declared()...)
		}
	}
	return diag.Pos{}, false
}

// statement is a run of tokens without a separator of statements.
type statement []token

// beforeObject are the tokens behind which a brace is that of an object or a pattern.
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
		case "return", "if", "else", "while", "switch", "const", "let", "var":
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

// declared returns the names that a declaration gives to what stands behind "=".
func (s statement) declared() []string {
	var out []string
	for _, t := range s[1:] {
		if t.text == "=" {
			break
		}
		if t.name {
			out = append(out, t.text)
		}
	}
	return out
}

// tainted returns where a statement uses what the caller writes, or a name that stands for it.
func (s statement) tainted(names []string) (diag.Pos, bool) {
	var calls []bool // of the open brackets: whether each opens the arguments of a call
	for i, t := range s {
		switch t.text {
		case "(":
			calls = append(calls, i > 0 && (s[i-1].name || s[i-1].text == ")") && s[0].text != s[i-1].text)
			continue
		case ")":
			if len(calls) > 0 {
				calls = calls[:len(calls)-1]
			}
			continue
		}
		if !t.name || slices.Contains(calls, true) {
			continue
		}
		member := i > 0 && (s[i-1].text == "." || s[i-1].text == "?.")
		pattern := i > 0 && (s[i-1].text == "{" || s[i-1].text == ",") && s[0].text == "const"
		switch {
		case (member || pattern) && slices.Contains(written, t.text),
			member && slices.Contains(arguments, t.text),
			!member && slices.Contains(names, t.text):
			return t.pos, true
		}
	}
	return diag.Pos{}, false
}

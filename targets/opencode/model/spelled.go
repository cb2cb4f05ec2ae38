package model

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// deepest is how many shells inside of each other are looked into.
const deepest = 3

// spelled returns the least that is decided about a line's commands as a shell reads them: without quotes, with one
// blank between words, and as what a variable, a list of files or another program makes of them. A rule is about the
// text alone.
func (s *Session) spelled(line string, depth int) (o Outcome) {
	o.Decision = ir.Agent
	f, err := policy.ParseLine(line)
	switch {
	case err != nil && depth == 0:
		return o
	case err != nil, depth > deepest:
		return s.meets("*")
	}
	moved := false // to another folder, where a name is another program's
	syntax.Walk(f, func(n syntax.Node) bool {
		call, is := n.(*syntax.CallExpr)
		if !is || len(call.Args) == 0 {
			return true
		}
		var words []string
		open := false // something is not said in the line
		for _, arg := range call.Args {
			word, literal := value(arg.Parts)
			words, open = append(words, word), open || !literal
			given := len(words) > 1 && policy.Runs(words[0]) && !strings.HasPrefix(word, "-")
			if given || strings.ContainsAny(word, " '\"\\\t\n;&|") { // a shell may be given it
				o = least(o, s.spelled(word, depth+1))
			}
		}
		moved = moved || words[0] == "cd"
		switch text := strings.Join(words, " "); {
		case moved && strings.Contains(words[0], "/") && words[0][0] != '/':
			o = least(o, s.meets("*"))
		case policy.Feeds(words[0]), policy.Runs(words[0]) && slices.ContainsFunc(words, policy.Feeds):
			o = least(o, s.meets(text+" *"))
		case reads(words):
			o = least(o, s.meets("*"))
		case open:
			o = least(o, s.meets(text))
		default:
			small := strings.ToLower(words[0]) + strings.TrimPrefix(text, words[0]) // the same program on some systems
			o = least(least(o, s.ask(format.Bash, text)), s.ask(format.Bash, small))
		}
		return true
	})
	return o
}

// meets returns the least that a rule decides about some text of a pattern. The signs of a rule are those of a line: in
// what a shell puts into one they are none.
func (s *Session) meets(pattern string) Outcome {
	return s.meeting(Outcome{Decision: ir.Agent}, pattern, "'\"\\<>$`{(")
}

// reads reports whether a command is a shell that reads what it runs.
func reads(words []string) bool {
	at := slices.IndexFunc(words, policy.IsShell)
	if at > 0 && !policy.Runs(words[0]) {
		return false
	}
	operand := func(w string) bool { return !strings.HasPrefix(w, "-") }
	return at >= 0 && !slices.ContainsFunc(words[at+1:], operand)
}

// value returns a word as a shell reads it, with a "*" for what the line does not say; literal is false then.
func value(parts []syntax.WordPart) (text string, literal bool) {
	var b strings.Builder
	literal = true
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			escaped := false
			for _, c := range p.Value {
				switch {
				case escaped && c == '\n':
					escaped = false
				case !escaped && c == '\\':
					escaped = true
				case !escaped && strings.ContainsRune("*?[{~", c):
					literal = false
					b.WriteByte('*')
				default:
					escaped = false
					b.WriteRune(c)
				}
			}
		case *syntax.SglQuoted:
			if literal = literal && !p.Dollar; p.Dollar {
				b.WriteByte('*')
			} else {
				b.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			inner, all := value(p.Parts)
			literal = literal && all
			b.WriteString(inner)
		default:
			literal = false
			b.WriteByte('*')
		}
	}
	return b.String(), literal
}

package policy

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
)

// What agents' own tools send every day is decided by their files as modec means it, without a hook. Of everything
// else files alone decide as their agent reads it: of "sudo rm x", ".//x", "$X" and what a link leads to.

// Usual reports whether an action is such a one: a clean path inside the project, simple commands joined by "&&", "||",
// ";", "|" or a line break, a host, or anything of another group.
//
//	src/a.go                       usual     ../a.go, ./a.go, a//b      not
//	cd src && npm test -- --all    usual     npm test > out, "npm" test not
//	docs.example.com               usual     DOCS.example.com:80        not
func Usual(a Action) bool {
	switch a.Group {
	case ir.Read, ir.Edit:
		return usualPath().MatchString(a.Arg)
	case ir.Command:
		return usualLine(a.Arg)
	case ir.Web:
		return usualHost().MatchString(a.Arg)
	}
	return true
}

const (
	noName = `\\:*?"<>|~/\x00-\x1f\x7f\x{85}\x{2028}\x{2029}` // what a name on some system has not
	aName  = `(?:[^ .` + noName + `]|[^ ` + noName + `][^` + noName + `]*[^ .` + noName + `])`
)

var (
	usualPath  = lazy.Regexp(`^` + aName + `(?:/` + aName + `)*$`)
	usualHost  = lazy.Regexp(plainHost)
	usualWords = lazy.Regexp(`^` + plainProgram + `(?: [A-Za-z0-9_./,:+@%-][A-Za-z0-9_./,:+@%=-]*)*$`)
	joiners    = lazy.Regexp(` *(?:&&|\|\||;|\||\n) *`)
)

// movesInside reports whether words have a shell go to a folder of the project.
func movesInside(words []string) bool {
	return words[0] == "cd" && len(words) == 2 && usualPath().MatchString(words[1])
}

// usualLine reports whether a line is a usual one.
func usualLine(line string) bool {
	for _, c := range joiners().Split(line, -1) {
		words := strings.Split(c, " ")
		if !usualWords().MatchString(c) || notPlain(c) != "" || Runs(words[0]) ||
			slices.Contains(changers, words[0]) && !movesInside(words) {
			return false
		}
	}
	return true
}

// OnText returns the engine that decides usual actions as files of agents can: each command of a line by its text, and
// names in the letters of the rules. Of other actions it decides what the engine itself does. Files have nothing of
// what hooks alone protect.
func (e *Engine) OnText() *Engine {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.text:
		return e
	case e.onText == nil:
		p := *e.project
		p.Everyone = cmp.Or(p.InFiles, p.Everyone)
		e.onText = New(&p)
		e.onText.text, e.onText.digests = true, e.digests
	}
	return e.onText
}

// inBothLetters returns a glob in which what a class leaves out is left out in both letters, as [Fold] has it.
func inBothLetters(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		end := -1
		if strings.HasPrefix(glob[i:], "[^") || strings.HasPrefix(glob[i:], "[!") {
			end = classEnd(glob, i)
		}
		if end < 0 {
			b.WriteByte(glob[i])
			continue
		}
		body := glob[i+2 : end]
		b.WriteString(glob[i:i+2] + body + strings.ToUpper(body) + strings.ToLower(body) + "]")
		i = end
	}
	return b.String()
}

// texts returns what is decided of simple commands by the text of each, with its redirects and without; nil for another
// line. A cd changes nothing beside other commands.
func texts(p *Place, line string) *analysis {
	f, err := ParseLine(line)
	if err != nil {
		return nil
	}
	a := &analysis{place: p}
	for _, s := range f.Stmts {
		if !a.text(line, s) {
			return nil
		}
	}
	if len(a.commands) == 0 {
		return nil
	}
	if !slices.ContainsFunc(a.commands, func(c command) bool { return !c.neutral }) {
		a.commands[0].neutral = false // a lone cd is judged by its text
	}
	return a
}

// text adds the commands of a statement, false where it has more than simple ones.
func (a *analysis) text(line string, s *syntax.Stmt) bool {
	if s.Background || s.Negated || s.Coprocess || s.Disown {
		return false
	}
	switch x := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return len(s.Redirs) == 0 && a.text(line, x.X) && a.text(line, x.Y)
	case *syntax.CallExpr:
		text := line[x.Pos().Offset():x.End().Offset()]
		texts := []string{text}
		c := command{dirs: dirs{set: []string{"."}}, plain: true, raw: text, allow: texts, hold: texts, skip: []int{0}}
		if len(s.Redirs) > 0 {
			c.allow = append(c.allow, line[s.Pos().Offset():s.End().Offset()])
		}
		words := strings.Fields(text)
		for _, w := range words {
			c.words = append(c.words, word{text: w})
		}
		c.neutral = movesInside(words)
		a.commands = append(a.commands, c)
		return true
	}
	return false
}

// Simple reports whether a line has nothing but simple commands, of which files can compare the text.
func Simple(line string) bool { return texts(nil, line) != nil }

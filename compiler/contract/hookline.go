package contract

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// HookLine is a hook's command line as a decider reads it from an artifact.
type HookLine struct {
	Agent    string // claude or cursor
	Model    string // the policy file, with ${VARIABLES} as written
	Subject  string
	MayAllow bool
	// FailClosed is set where the line refuses whenever modec is missing or
	// fails: `… || exit 2`.
	FailClosed bool
}

// ParseHookLine reads `modec hook AGENT --model FILE --subject S [--may-allow]
// [|| exit 2]`, also in braces, as a POSIX shell would. It fails on any other
// line: what that one answers is not known.
func ParseHookLine(line string) (HookLine, error) {
	var h HookLine
	f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return h, fmt.Errorf("got a command that no shell reads: %w", err)
	}
	if len(f.Stmts) != 1 {
		return h, fmt.Errorf("got %d commands, want one", len(f.Stmts))
	}
	s := f.Stmts[0]
	if b, ok := s.Cmd.(*syntax.Block); ok && plain(s) && len(b.Stmts) == 1 {
		s = b.Stmts[0]
	}
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && plain(s) && b.Op == syntax.OrStmt {
		end, err := words(line, b.Y)
		if err != nil {
			return h, err
		}
		if !slices.Equal(end, []string{"exit", "2"}) {
			return h, fmt.Errorf("got %q where modec fails, want \"exit 2\"", strings.Join(end, " "))
		}
		h.FailClosed = true
		s = b.X
	}
	args, err := words(line, s)
	if err != nil {
		return h, err
	}
	if len(args) < 3 || args[0] != "modec" || args[1] != "hook" {
		return h, fmt.Errorf("got the command %q, want \"modec hook\"", strings.Join(args, " "))
	}
	h.Agent = args[2]
	for rest := args[3:]; len(rest) > 0; rest = rest[1:] {
		name, value, joined := strings.Cut(rest[0], "=")
		switch name {
		case "--may-allow":
			h.MayAllow = true
			continue
		case "--model", "--subject":
		default:
			return h, fmt.Errorf("got the argument %q, want --model, --subject or --may-allow", rest[0])
		}
		if !joined {
			if rest = rest[1:]; len(rest) == 0 {
				return h, fmt.Errorf("got %s without a value", name)
			}
			value = rest[0]
		}
		if name == "--model" {
			h.Model = value
		} else {
			h.Subject = value
		}
	}
	return h, nil
}

func plain(s *syntax.Stmt) bool {
	return !s.Negated && !s.Background && !s.Coprocess && len(s.Redirs) == 0
}

// words returns the words of a simple command without quotes, and a parameter
// as ${NAME}.
func words(line string, s *syntax.Stmt) ([]string, error) {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || !plain(s) || len(c.Assigns) > 0 {
		return nil, fmt.Errorf("got no simple command")
	}
	var out []string
	for _, w := range c.Args {
		var b strings.Builder
		if err := word(&b, line, w.Parts); err != nil {
			return nil, err
		}
		out = append(out, b.String())
	}
	return out, nil
}

func word(b *strings.Builder, line string, parts []syntax.WordPart) error {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescape.Replace(p.Value))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if err := word(b, line, p.Parts); err != nil {
				return err
			}
		case *syntax.ParamExp:
			text := line[p.Pos().Offset():p.End().Offset()]
			if p.Param == nil || text != "${"+p.Param.Value+"}" {
				return fmt.Errorf("got %s, want a plain ${NAME}", text)
			}
			b.WriteString(text)
		default:
			return fmt.Errorf("got a word that is not literal")
		}
	}
	return nil
}

// unescape takes away the backslashes with which ShellQuote leaves single
// quotes.
var unescape = strings.NewReplacer(`\'`, `'`)

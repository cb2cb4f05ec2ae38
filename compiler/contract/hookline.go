package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// HookLine is the command line of modec's hook, as a Decider reads it from an artifact.
type HookLine struct {
	Agent    string // that asks
	Subject  string // "": the baseline
	MayAllow bool
	Root     string // the project's folder; "": that in which the agent was started
	// FailClosed is set where the line refuses whenever modec is missing or fails:
	// `… || exit 2`, or the end that [Closed] returns.
	FailClosed bool
	// Otherwise is the text that the line prints where modec is missing or fails:
	// `… || echo TEXT`, or with [Unless] where modec itself does not refuse.
	Otherwise string
	// Refuses is set where what modec itself refuses (exit code 2) stays refused.
	Refuses bool
}

// Ref returns the subject about which the line asks, by a policy that has it. The error says why the hook refuses
// every call.
func (l *HookLine) Ref(e *policy.Engine) (ir.SubjectRef, error) {
	ref, err := ir.SubjectRef{Role: e.Project().Baseline}, error(nil)
	switch {
	case l.Subject != "":
		ref, err = e.Project().ParseSubject(l.Subject, "")
	case ref.Role == "":
		err = errors.New("the source names no baseline")
	}
	if err == nil {
		_, err = e.Subject(ref)
	}
	if err != nil {
		err = fmt.Errorf("this hook refuses every call: %w", err)
	}
	return ref, err
}

// Elsewhere reports whether a line in a file of a project is about another folder.
func (l *HookLine) Elsewhere(file string) bool { return l.Root != "" && !IsSession(file) }

// HookSeconds is how long modec takes at most to answer. An agent that waits no longer may go on without an answer.
const HookSeconds = 5

// Unless returns the end of a hook's line that prints a text where modec is missing or
// another program has its name. What modec refuses (exit code 2) stays refused.
func Unless(text string) string {
	return " || { " + refusedByModec + "; echo " + ShellQuote(text) + "; }"
}

// RunsHook reports whether a file has a line that runs modec's hook.
func RunsHook(data []byte) bool { return bytes.Contains(data, []byte("modec hook ")) }

// IsBuiltHook reports whether an entry of a file of hooks, as JSON, runs modec's hook as a build writes it into a file
// of a project, and nothing else.
func IsBuiltHook(entry []byte) bool {
	var v any
	if json.Unmarshal(entry, &v) != nil {
		return false
	}
	hooks, others := 0, 0
	var count func(v any)
	count = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				count(x)
			}
		case map[string]any:
			for key, x := range v {
				line, _ := x.(string)
				h, err := ParseHookLine(line)
				switch built := err == nil && h.Root == "" && !h.MayAllow; {
				case built:
					hooks++
				case slices.Contains(runs, key):
					others++
				default:
					count(x)
				}
			}
		}
	}
	count(v)
	return hooks > 0 && others == 0
}

// runs are the members of a hook that say what it runs or asks.
var runs = []string{"command", "bash", "powershell", "commandWindows", "windows", "osx", "linux", "url", "prompt"}

// Closed returns the end of a hook's line that refuses, with a text, wherever modec does not answer: some agents go on
// where a hook refuses without a word.
func Closed(text string) string {
	return " || { echo " + ShellQuote(text) + toErrors + "; exit 2; }"
}

// Refusing is the end of a line that says no more than that.
var Refusing = Closed("modec did not decide: the call is refused")

// toErrors is where [Closed] writes.
const toErrors = " >&2"

const refusedByModec = "[ $? = 2 ] && exit 2"

// ParseHookLine reads a line as a POSIX shell would:
//
//	modec hook AGENT [--subject S] [--root DIR] [--may-allow] [|| exit 2 | || echo TEXT]
//
// or with the end that [Unless] or [Closed] returns.
// The line may be in braces. ParseHookLine fails on any other line, because nobody knows
// what that one answers.
func ParseHookLine(line string) (HookLine, error) {
	h := HookLine{Refuses: true}
	s, err := h.statement(line)
	if err != nil {
		return HookLine{}, err
	}
	args, err := words(line, s)
	if err != nil {
		return HookLine{}, err
	}
	if len(args) < 3 || args[0] != "modec" || args[1] != "hook" {
		return HookLine{}, fmt.Errorf("got the command %q, want \"modec hook\"", strings.Join(args, " "))
	}
	h.Agent = args[2]
	return h, h.options(args[3:])
}

// EchoedText returns what a line prints that does nothing else: `echo TEXT`, or `printf '%s' TEXT`. It reports
// false for any other line.
func EchoedText(line string) (string, bool) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil || len(f.Stmts) != 1 {
		return "", false
	}
	args, err := words(line, f.Stmts[0])
	switch {
	case err != nil:
	case len(args) == 2 && args[0] == "echo":
		return args[1], true
	case len(args) == 2 && args[0] == "printf" && !strings.ContainsAny(args[1], `%\`):
		return args[1], true
	case len(args) == 3 && args[0] == "printf" && (args[1] == "%s" || args[1] == `%s\n`):
		return args[2], true
	}
	return "", false
}

// statement returns the only statement of a line, and reads what the line does where that
// statement fails.
func (h *HookLine) statement(line string) (*syntax.Stmt, error) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, fmt.Errorf("got a command that no shell reads: %w", err)
	}
	if len(f.Stmts) != 1 {
		return nil, fmt.Errorf("got %d commands, want one", len(f.Stmts))
	}
	s := f.Stmts[0]
	if b, ok := s.Cmd.(*syntax.Block); ok && plain(s) && len(b.Stmts) == 1 {
		s = b.Stmts[0]
	}
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || !plain(s) || b.Op != syntax.OrStmt {
		return s, nil
	}
	last, kept := b.Y, false
	if block, ok := last.Cmd.(*syntax.Block); ok && plain(last) && len(block.Stmts) == 2 {
		first := block.Stmts[0]
		text := strings.TrimRight(line[first.Pos().Offset():first.End().Offset()], "; ")
		told := strings.HasPrefix(text, "echo ") && strings.HasSuffix(text, toErrors) && len(first.Redirs) == 1
		switch {
		case text == refusedByModec:
			last, kept = block.Stmts[1], true
		case told: // what follows decides
			last = block.Stmts[1]
			_, err := words(line, &syntax.Stmt{Cmd: first.Cmd})
			end, failed := words(line, last)
			if err != nil || failed != nil || !slices.Equal(end, []string{"exit", "2"}) {
				return nil, errors.New("got a line that goes on where modec fails, want \"exit 2\"")
			}
		}
	}
	end, err := words(line, last)
	switch {
	case err != nil:
		return nil, err
	case slices.Equal(end, []string{"exit", "2"}):
		h.FailClosed = true
	case len(end) == 2 && end[0] == "echo":
		h.Otherwise, h.Refuses = end[1], kept
	default:
		return nil, fmt.Errorf("got %q where modec fails, want \"exit 2\"", strings.Join(end, " "))
	}
	return b.X, nil
}

// options reads the options of `modec hook AGENT`.
func (h *HookLine) options(args []string) error {
	values := map[string]*string{"--subject": &h.Subject, "--root": &h.Root}
	for ; len(args) > 0; args = args[1:] {
		name, value, joined := strings.Cut(args[0], "=")
		if name == "--may-allow" {
			h.MayAllow = true
			continue
		}
		to, ok := values[name]
		if !ok {
			return fmt.Errorf("got the argument %q, want --subject, --root or --may-allow", args[0])
		}
		if !joined {
			if args = args[1:]; len(args) == 0 {
				return fmt.Errorf("got %s without a value", name)
			}
			value = args[0]
		}
		*to = value
	}
	return nil
}

// plain reports whether a statement is a command without redirects, negation and the like.
func plain(s *syntax.Stmt) bool {
	return !s.Negated && !s.Background && !s.Coprocess && len(s.Redirs) == 0
}

// words returns the words of a simple command without quotes, with parameters as ${NAME}.
func words(line string, s *syntax.Stmt) ([]string, error) {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || !plain(s) || len(c.Assigns) > 0 {
		return nil, errors.New("got a command with more than words, want a simple one")
	}
	var out []string
	for _, w := range c.Args {
		var b strings.Builder
		if err := word(&b, line, w.Parts, false); err != nil {
			return nil, err
		}
		out = append(out, b.String())
	}
	return out, nil
}

// word writes the parts of a word.
func word(b *strings.Builder, line string, parts []syntax.WordPart, quoted bool) error {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped(p.Value, quoted))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if err := word(b, line, p.Parts, true); err != nil {
				return err
			}
		case *syntax.ParamExp:
			text := line[p.Pos().Offset():p.End().Offset()]
			if p.Param == nil || text != "${"+p.Param.Value+"}" {
				return fmt.Errorf("got %s, want a plain ${NAME}", text)
			}
			b.WriteString(text)
		default:
			return errors.New("got a word that is not literal")
		}
	}
	return nil
}

// unescaped returns a text as a shell reads its backslashes, outside or inside of double quotes.
func unescaped(text string, quoted bool) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("\"\\$`", text[i+1]) >= 0) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

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
	Observes   bool // changes no call
}

// Observes reports whether a line runs modec's hook to observe: it answers nothing.
func Observes(line string) bool {
	h, err := ParseHookLine(line)
	return err == nil && h.Observes
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

// observing is the end of the line of a hook that observes: nothing keeps it from answering that it has no opinion.
const observing = " --observe || echo '{}'"

// toErrors is where [Closed] writes.
const toErrors = " >&2"

// ParseHookLine reads a line as a POSIX shell would:
//
//	modec hook AGENT [--subject S] [--root DIR] [--may-allow] [--observe] [|| exit 2]
//
// or with the end that [Input.HookEnd] returns. The line may be in braces. ParseHookLine fails on any other line,
// because nobody knows what that one answers.
func ParseHookLine(line string) (HookLine, error) {
	var h HookLine
	s, end, err := statement(line)
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
	if err := h.options(args[3:]); err != nil {
		return h, err
	}
	h.FailClosed = end == refuses
	if end == abstains && !h.Observes {
		return h, errGoesOn
	}
	return h, nil
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

// The ends of a line: what it does where modec fails.
const (
	refuses  = "exit 2"
	abstains = "echo {}"
)

var errGoesOn = errors.New("got a line that goes on where modec fails, want \"exit 2\"")

// statement returns the only statement of a line, and what the line does where that statement fails; "" for nothing.
func statement(line string) (s *syntax.Stmt, end string, err error) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, "", fmt.Errorf("got a command that no shell reads: %w", err)
	}
	if len(f.Stmts) != 1 {
		return nil, "", fmt.Errorf("got %d commands, want one", len(f.Stmts))
	}
	s = f.Stmts[0]
	if b, ok := s.Cmd.(*syntax.Block); ok && plain(s) && len(b.Stmts) == 1 {
		s = b.Stmts[0]
	}
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || !plain(s) || b.Op != syntax.OrStmt {
		return s, "", nil
	}
	last := b.Y
	block, ok := last.Cmd.(*syntax.Block)
	if ok && plain(last) && len(block.Stmts) == 2 && tells(line, block.Stmts[0]) {
		last = block.Stmts[1]
	}
	list, err := words(line, last)
	if end = strings.Join(list, " "); err != nil || end != refuses && end != abstains {
		return nil, "", errGoesOn
	}
	return b.X, end, nil
}

// tells reports whether a statement writes a text to the errors, and does nothing else.
func tells(line string, s *syntax.Stmt) bool {
	text := strings.TrimRight(line[s.Pos().Offset():s.End().Offset()], "; ")
	_, err := words(line, &syntax.Stmt{Cmd: s.Cmd})
	return err == nil && strings.HasPrefix(text, "echo ") && strings.HasSuffix(text, toErrors) && len(s.Redirs) == 1
}

// options reads the options of `modec hook AGENT`.
func (h *HookLine) options(args []string) error {
	values := map[string]*string{"--subject": &h.Subject, "--root": &h.Root}
	for ; len(args) > 0; args = args[1:] {
		name, value, joined := strings.Cut(args[0], "=")
		switch name {
		case "--may-allow":
			h.MayAllow = true
			continue
		case "--observe":
			h.Observes = true
			continue
		}
		to, ok := values[name]
		if !ok {
			return fmt.Errorf("got the argument %q, want --subject, --root, --may-allow or --observe", args[0])
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

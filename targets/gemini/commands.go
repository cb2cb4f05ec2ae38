package gemini

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

// lineShape matches plain commands without quotes, and without redirects but for empty ones, joined by operators
// between them.
const lineShape = `(?!(?:|[^"]*[;&|] *|[^"]*\btime +)` + reserved + `)(?=[\w./][\w ./,:+@%=;&|>-]*"\x00)` + filesApart +
	`(?![^ "]*=|\. |[^"]*(?: =|;[ ]*[;&|]|&&[ ]*[;&|]|\|\|[ ]*[;&|]|& +[;&|]|&[;|]|\| +[;&|]|\|[;&]` +
	`|[;&|] *(?:"|[^ "]*=|[^\w./ &|]|\. )))`

// unredirected matches any line that neither reads nor writes a file by a redirect.
const unredirected = filesApart + `[^\x00]*` + format.End

// What a redirect leads to that touches no file: 2>&1, > /dev/null. Without a command it is none.
const (
	nowhere    = `(?:&[12]| /dev/null|/dev/null)`
	filesApart = `(?!(?:|[^\x00]*[;|]) *[0-9]*>)(?![^\x00]*(?:<|>(?!` + nowhere + `[ ;&|"])))`
)

const lineTold = "run plain commands, without quotes, variables and redirects to files: they are compared with a list"

var commandLines = grammar{group: ir.Command, tools: []string{format.Shell}, argument: format.CommandArg,
	shape: lineShape, open: unredirected, parts: true, told: lineTold}

// plainWords matches words that every reader takes as they stand.
var plainWords = lazy.Regexp(`\A[\w./,:+@%=*-]+( [\w./,:+@%=*-]+)*\z`)

// listCommand adds a rule about commands.
func (w *writer) listCommand(_ *policy.Subject, of *side, r ir.Rule) error {
	if r.Pattern.Kind == ir.Builtin {
		if r.Decision < ir.Allow {
			return errors.New("a set of commands")
		}
		of.allow = append(of.allow, exactly(w.subject)...)
		return errSet
	}
	text := strings.Join(strings.Fields(r.Pattern.Text), " ")
	if r.Decision < ir.Allow {
		words, err := words(text)
		if err != nil {
			return err
		}
		if r.Decision == ir.Deny {
			of.deny = append(of.deny, words, runsText, moves)
			return nil
		}
		of.hold = append(of.hold, words, runsText, moves)
		if expr, err := commandExpression(text); err == nil {
			of.ask = append(of.ask, expr)
		}
		return nil
	}
	expr, err := commandExpression(text)
	if err == nil {
		of.allow = append(of.allow, expr)
	}
	return err
}

// runsText matches a line with a program that runs what it reads, which no rule sees. Short names that are often
// those of folders count as programs only where a command begins, as do those of rare shells, in lower case.
var runsText = `(?:(?:|[^\x00]*[ /;&|])(?:` + inAnyCase(
	`eval|parallel|source|xargs|(?:r?(?:ba|z)|m?k|da|fi|t?c|y?a|)sh`) +
	`)|(?:|[^\x00]*[;&|] *)(?:[^ "]*/|)(?:cmd|entr|es|ksh93|nu|rc|(?:elvi|po|pw|ru|xon)sh|powershell))` +
	exe + `[ ;&|"]`

// exe is how the name of a program may end.
const exe = `(?:[.]exe|)`

// reserved are the words of the shell's own with which a command may begin.
const reserved = `(?:case|coproc|do|done|elif|else|esac|fi|for|function|if|in|repeat|select|then|until|while)[ ;&|"]`

// moves matches a line with a command that runs in another folder.
const moves = `(?:|[^\x00]*[;&|] *)(?:cd|popd|pushd)[ ;&|][^\x00]*[;&|]`

// errSet is about a built-in set, of which a list has only some lines.
var errSet = errors.New("a set of commands has options that no expression checks")

// exactly returns those of the usual lines that a subject allows.
func exactly(s *policy.Subject) (out []string) {
	for _, line := range policy.UsualLines() {
		if s.Decide(policy.Action{Group: ir.Command, Arg: line}).Decision == ir.Allow {
			out = append(out, commandText(line)+exact)
		}
	}
	return out
}

// What may stand behind the words of a pattern: nothing, empty redirects, or another command, which is judged by
// itself; or also any words.
const (
	exact = `(?:| [12]?>` + nowhere + `)(?:| 2>&1)(?:| *[;&|]` + anyText + `)`
	open  = `(?:|[ ;&|]` + anyText + `)`
)

// commandExpression writes a pattern of an allow as an expression.
func commandExpression(text string) (string, error) {
	if text == "*" {
		return anyText, nil
	}
	if !plainWords().MatchString(text) {
		return "", errors.New("it has quotes or other signs")
	}
	end := exact
	for _, more := range []string{" *", ":*"} {
		if words, ok := strings.CutSuffix(text, more); ok {
			text, end = words, open
			break
		}
	}
	switch program, _, _ := strings.Cut(text, " "); {
	case !strings.Contains(program, "*"):
		if policy.Runs(program) || slices.Contains(policy.Changers(), program) {
			return "", errRuns
		}
	case program[0] == '*':
		return "", errRuns
	default:
		return unnamed + commandText(text) + end, nil
	}
	return commandText(text) + end, nil
}

// errRuns is about a program of whose lines a rule sees only a part.
var errRuns = errors.New("the program runs what its arguments or its input say")

// unnamed goes before a program with a wildcard: it is none that runs others, whatever the wildcard stands for.
var unnamed = `(?!(?:[^ "]*/|)(?:[A-Za-z]{0,4}[sS][hH]|[kK][sS][hH]93|` + inAnyCase("powershell|xargs|parallel") + `|` +
	strings.Join(policy.Changers(), "|") + `|cmd|entr|env|es|fd|fdfind|find|gfind|nu|rc)` + exe + `[ ;&|"])`

// commandText writes words as an expression: "*" is any text of one command.
func commandText(text string) string {
	return anyLiterally().Replace(text)
}

// words matches every line that has the words of a pattern, whatever stands around them.
func words(text string) (string, error) {
	text = strings.TrimSuffix(text, ":*")
	if !plainWords().MatchString(text) || strings.Trim(text, "* ") == "" {
		return "", errors.New("it has quotes or other signs")
	}
	var b strings.Builder
	for i, field := range strings.Fields(text) {
		written := literally
		if i == 0 {
			written, field = inAnyCase, field[strings.LastIndexByte(field, '/')+1:]
		}
		rest := field
		for rest != "" {
			word, after, star := strings.Cut(rest, "*")
			if word != "" {
				begins := len(rest) == len(field) && isWord(word[0])
				ends := !star && isWord(word[len(word)-1])
				b.WriteString("(?=[^\\x00]*" + bound(begins) + written(word) + bound(ends) + ")")
			}
			rest = after
		}
	}
	return b.String(), nil
}

func isWord(c byte) bool { return c == '_' || '0' <= c && c <= '9' || letter(rune(c)) }

func bound(is bool) string {
	if is {
		return `\b`
	}
	return ""
}

// literally writes words as an expression.
func literally(text string) string {
	return literals().Replace(text)
}

// inAnyCase writes words as an expression that matches them whatever the case of their letters.
func inAnyCase(text string) string {
	var b strings.Builder
	for _, c := range literally(text) {
		if letter(c) && !strings.HasSuffix(b.String(), `\`) {
			lower := strings.ToLower(string(c))
			b.WriteString("[" + lower + strings.ToUpper(lower) + "]")
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// The replacers of what an expression takes for more than itself, made once.
var (
	anyLiterally = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer("*", `[^";&|\x00]*`, ".", `\.`, "+", "[+]")
	})
	literals = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(".", `\.`, "+", "[+]") })
)

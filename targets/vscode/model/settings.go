package model

import (
	"path"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/vscode/format"
)

// settings are those of a project that decide what VS Code asks about.
type settings struct {
	terminal []entry
	edits    []entry
	orders   [][]*entry // of the edits, in which they may be compared
	bypass   *located.Value
	off      *located.Value // what has VS Code ask about every command
	own      bool           // VS Code's own entries about commands count too
	scripts  bool           // so do the scripts of a package.json
}

// entry is an entry with its expression.
type entry struct {
	key     string
	text    string // as a source has it
	source  string // "": it matches nothing
	anyCase bool
	unsure  bool // flags that change what it matches
	approve bool
	line    bool
	at      diag.Pos
	expr    *ecma.Regexp
	folded  *ecma.Regexp // of a glob, for what a file system may take for the same
}

// matchTime is the most that an expression may take.
const matchTime = time.Second

// readSettings returns the settings, nil for none that decide anything here.
func readSettings(root *located.Value) *settings {
	s := &settings{own: !root.Get(format.DefaultsKey).True(), scripts: true}
	if v := root.Get(format.ScriptsKey); v.Is(located.Bool) {
		s.scripts = v.True()
	}
	if v := root.Get(format.EnableKey); v.Is(located.Bool) && !v.True() {
		s.off = v
	}
	if level, ok := root.Get(format.LevelKey).Str(); ok && level != "default" {
		s.bypass = root.Get(format.LevelKey)
	}
	for _, r := range format.TerminalRules(root) {
		source, flags := r.Expression()
		s.terminal = append(s.terminal, newEntry(entry{key: r.Key, text: r.Text(), source: source, approve: r.Approve,
			line: r.Line, at: r.At, anyCase: strings.Contains(flags, "i"), unsure: strings.Trim(flags, "id") != ""}))
	}
	for _, r := range format.EditRules(root) {
		e := newEntry(entry{key: r.Glob, text: r.Text(), source: format.GlobExpression(r.Glob), approve: r.Approve,
			at: r.At})
		e.folded, _ = ecma.Compile(format.GlobExpression(policy.Fold(r.Glob)),
			ecma.Options{IgnoreCase: true, Timeout: matchTime})
		s.edits = append(s.edits, e)
	}
	s.order()
	if !s.about(ir.Command) && !s.about(ir.Edit) {
		return nil
	}
	return s
}

func newEntry(e entry) entry {
	if e.source == "" || e.unsure {
		return e
	}
	e.expr, _ = ecma.Compile(e.source, ecma.Options{IgnoreCase: e.anyCase, Timeout: matchTime})
	return e
}

// order notes in which orders the entries about edits may stand: VS Code's own stand before all others, and a version
// leaves one that somebody overrides where it stood, or moves it to its new place.
func (s *settings) order() {
	written, moved := []*entry{}, []*entry{}
	for i := range s.edits {
		e := &s.edits[i]
		written = append(written, e)
		if slices.Contains(format.OwnGlobs, e.key) {
			moved = append(moved, e)
		}
	}
	s.orders = [][]*entry{written}
	if len(moved) == 0 {
		return
	}
	for _, e := range written {
		if !slices.Contains(format.OwnGlobs, e.key) {
			moved = append(moved, e)
		}
	}
	s.orders = append(s.orders, moved)
}

// about reports whether the settings say something of a group.
func (s *settings) about(g ir.Group) bool {
	switch {
	case s == nil:
		return false
	case s.bypass != nil:
		return g == ir.Command || g == ir.Edit
	case g == ir.Edit:
		return len(s.edits) > 0
	}
	return len(s.terminal) > 0 || s.off != nil || !s.own
}

// answer returns an answer of the settings.
func answer(d ir.Decision, rule string, at diag.Pos) contract.Answer {
	if at.File == "" {
		at.File = format.SettingsFile
	}
	return contract.Answer{Decision: d, Governs: contract.Approval, Rule: rule, At: at}
}

// of returns the answer of an entry.
func (e *entry) of(d ir.Decision) contract.Answer { return answer(d, e.text, e.at) }

// matches reports whether an entry matches a text. What cannot be found out is as VS Code would permit more.
func (e *entry) matches(text string) bool {
	if e.unsure {
		return e.approve
	}
	return matched(e.expr, text, e.approve)
}

func matched(expr *ecma.Regexp, text string, unsure bool) bool {
	if expr == nil {
		return false
	}
	is, err := expr.Match(text)
	if err != nil {
		return unsure
	}
	return is
}

// among returns the first entry about lines, or about commands, that approves or asks, and matches a text.
func (s *settings) among(line, approve bool, text string) *entry {
	for i := range s.terminal {
		if e := &s.terminal[i]; e.line == line && e.approve == approve && e.matches(text) {
			return e
		}
	}
	return nil
}

// command decides a line of the terminal.
func (s *settings) command(line string) contract.Verdict {
	line = strings.TrimLeft(line, " \t\r\n")
	switch {
	case s.bypass != nil:
		return contract.Verdict{Answer: answer(ir.Allow, format.LevelKey, s.bypass.Pos)}
	case s.off != nil:
		return contract.Verdict{Answer: answer(ir.Ask, format.EnableKey, s.off.Pos)}
	}
	if e := s.among(ofLine, asks, line); e != nil {
		return contract.Verdict{Answer: e.of(ir.Ask)}
	}
	const nothing = "VS Code asks about a line without a command"
	commands, ok := commandsOf(line)
	switch {
	case line == "":
		return contract.Verdict{Answer: answer(ir.Ask, nothing, diag.Pos{}), Hole: &contract.Hole{Decision: ir.Allow,
			Why: "VS Code runs an empty line unasked, which does nothing"}}
	case !ok:
		return contract.Verdict{Answer: answer(ir.Ask, nothing, diag.Pos{}), Hole: &contract.Hole{Decision: ir.Allow,
			Why: "VS Code makes commands out of a line that no shell reads"}}
	}
	out := answer(ir.Ask, nothing, diag.Pos{})
	for i, c := range commands {
		of := s.each(c)
		if i == 0 || of.Decision < out.Decision {
			out = of
		}
	}
	if out.Decision < ir.Allow && !s.denies(commands) {
		if e := s.among(ofLine, approves, line); e != nil {
			out = e.of(ir.Allow)
		}
	}
	return contract.Verdict{Answer: out}
}

// What among looks for.
const (
	ofLine    = true
	ofCommand = false
	approves  = true
	asks      = false
)

// each decides a command of a line.
func (s *settings) each(command string) contract.Answer {
	if format.Assigns().MatchString(command) {
		return answer(ir.Ask, "VS Code asks about a command behind an assignment", diag.Pos{})
	}
	if e := s.among(ofCommand, asks, command); e != nil {
		return e.of(ir.Ask)
	}
	if e := s.among(ofCommand, approves, command); e != nil {
		return e.of(ir.Allow)
	}
	if s.own || s.scripts && format.Scripts().MatchString(command) {
		return answer(ir.Allow, "VS Code's own entries decide", diag.Pos{})
	}
	return answer(ir.Ask, "no entry says the command", diag.Pos{})
}

// denies reports whether an entry asks about one of some commands, whatever is said of their line.
func (s *settings) denies(commands []string) bool {
	return slices.ContainsFunc(commands, func(c string) bool {
		return format.Assigns().MatchString(c) || s.among(ofCommand, asks, c) != nil
	})
}

// commandsOf returns the commands of a line as VS Code sees them; false where no shell reads the line.
func commandsOf(line string) (commands []string, ok bool) {
	f, err := policy.ParseLine(line)
	if err != nil {
		return nil, false
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) == 0 || slices.Contains(noCommands, n.Args[0].Lit()) {
				return true
			}
		case *syntax.LetClause, *syntax.ArithmCmd, *syntax.TimeClause, *syntax.CoprocClause:
		default:
			return true
		}
		from, to := int(n.Pos().Offset()), int(n.End().Offset())
		commands = append(commands, strings.TrimSpace(line[min(from, len(line)):min(to, len(line))]))
		_, call := n.(*syntax.CallExpr)
		return call
	})
	return commands, true
}

// noCommands begin what VS Code takes for no command.
var noCommands = []string{"[", "unset", "unsetenv"}

// edit decides an edit of a file.
func (s *settings) edit(name string) contract.Verdict {
	if s.bypass != nil {
		return contract.Verdict{Answer: answer(ir.Allow, format.LevelKey, s.bypass.Pos)}
	}
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	switch {
	case policy.LeavesRoot(name) || clean == "." || strings.ContainsRune(name, 0):
		return contract.Verdict{Answer: answer(ir.Ask, "VS Code asks about what is no file of the project", diag.Pos{})}
	case path.Base(path.Dir(clean)) == format.Dir && path.Ext(clean) == ".json":
		return contract.Verdict{Answer: answer(ir.Ask, "VS Code asks about its own settings", diag.Pos{})}
	}
	out := s.last(clean, (*entry).matches)
	if out.Decision < ir.Allow {
		return contract.Verdict{Answer: out}
	}
	folded := policy.Fold(clean)
	alike := s.last(clean, func(e *entry, text string) bool {
		return e.matches(text) || !e.approve && matched(e.folded, folded, asks)
	})
	switch {
	case strings.Contains(name, `\`):
		return contract.Verdict{Answer: answer(ir.Ask, out.Rule, out.At), Hole: &contract.Hole{Decision: ir.Allow,
			Why: "VS Code compares a backslash in a name as a slash"}}
	case alike.Decision < ir.Allow:
		return contract.Verdict{Answer: alike, Hole: &contract.Hole{Decision: ir.Allow,
			Why: "VS Code compares letters as they are written where a file system tells them apart"}}
	}
	return contract.Verdict{Answer: out}
}

// last decides by the last entry that matches, in the order in which more is permitted.
func (s *settings) last(name string, matches func(*entry, string) bool) contract.Answer {
	var out contract.Answer
	for i, order := range s.orders {
		of := answer(ir.Allow, "VS Code's own entries decide", diag.Pos{})
		for _, e := range slices.Backward(order) {
			if matches(e, name) {
				of = e.of(ir.Ask)
				if e.approve {
					of.Decision = ir.Allow
				}
				break
			}
		}
		if i == 0 || of.Decision > out.Decision {
			out = of
		}
	}
	return out
}

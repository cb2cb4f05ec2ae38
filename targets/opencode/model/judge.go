package model

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/opencode/format"
)

// Program is how opencode, or an agent that is made of it, decides by rules.
type Program struct {
	Title    string // what people call it
	Searches []string
	// Last returns what the rules say of a call, beside that a tool is not there.
	Last func(rules []format.Rule, key, text string) Outcome
	// Edit returns what becomes of an edit, by its path, of which the rules say something.
	Edit func(name string, o Outcome) Outcome
	// Split returns the commands of a line as they are compared, and its parts that are not seen; false where it does
	// not parse.
	Split func(line string) (commands, unseen []string, ok bool)
	// Command returns the texts of plain commands that a pattern matches.
	Command func(sp *regexlang.Space, pattern string) (regexlang.Language, error)
	// Asks returns the plain arguments of a group about which it asks, though a rule allows them. It may be nil.
	Asks  func(sp *regexlang.Space, g ir.Group, r *format.Rule) regexlang.Language
	Known []string // the commands about which it asks no rule
	Tools []string // its own tools that no group has, about which it asks as about any other
	// Apart is a key about which a rule that denies every tool says nothing, "" for none.
	Apart string
}

// opencode is the program itself.
var opencode = &Program{
	Title: "opencode", Searches: format.Searches,
	Last: func(rules []format.Rule, key, text string) Outcome {
		if r := format.Last(rules, key, text); r != nil {
			return Outcome{r.Decision, r.Text(), r.At}
		}
		return Unsaid(ir.Ask, "opencode asks where no rule decides")
	},
	Edit:  func(_ string, o Outcome) Outcome { return o },
	Split: split, Known: Known,
	Command: func(sp *regexlang.Space, pattern string) (regexlang.Language, error) {
		return format.Language(sp, pattern, format.AsWritten)
	},
}

// Outcome is what a program decides.
type Outcome struct {
	Decision ir.Decision
	Rule     string
	At       diag.Pos
}

// Unsaid is an Outcome of no rule.
func Unsaid(d ir.Decision, why string) Outcome { return Outcome{Decision: d, Rule: why} }

// least returns the lower of two outcomes.
func least(a, b Outcome) Outcome {
	if b.Decision < a.Decision {
		return b
	}
	return a
}

// judge decides an action.
func (s *Session) judge(a policy.Action) contract.Verdict {
	var o Outcome
	var hole *contract.Hole
	switch a.Group {
	case ir.Read:
		o, hole = s.file(format.Read, a.Arg)
		if hole == nil && o.Decision < ir.Allow {
			hole = s.searches(a.Arg, o.Decision)
		}
	case ir.Edit:
		o, hole = s.file(format.Edit, a.Arg)
		o = s.program.Edit(a.Arg, o)
		if hole != nil {
			hole.Decision = s.program.Edit(a.Arg, Outcome{Decision: hole.Decision}).Decision
			if hole.Decision <= o.Decision {
				hole = nil
			}
		}
	case ir.Command:
		o, hole = s.line(a.Arg)
	case ir.Web:
		o = s.web(a.Arg)
	case ir.Modes:
		o = s.agent(a.Arg)
	case ir.MCP:
		switch a.Kind {
		case policy.Tool:
			o = s.ask(format.ToolKey(a.Server, a.Arg), format.Every)
		case policy.Resource:
			o = s.ask(format.Read, format.ResourcePattern(a.Server, a.Arg))
		default: // a person invokes it
			return contract.Verdict{Answer: contract.Answer{Decision: ir.Allow, Rule: "a person invokes prompts"}}
		}
	default:
		if o = s.ask(a.Arg, format.Every); o.Decision == ir.Ask && !slices.Contains(s.program.Tools, a.Arg) {
			o.Decision, o.Rule = ir.Allow, s.program.Title+" asks about no tool of a plugin"
		}
	}
	return contract.Verdict{Hole: hole, Answer: contract.Answer{Decision: o.Decision, Governs: contract.Both,
		Rule: o.Rule, At: o.At}}
}

// ask decides as the program asks its rules. A tool that is denied whole is not there.
func (s *Session) ask(key, text string) Outcome {
	rules := s.about(key)
	if n := len(rules); n > 0 {
		if r := &rules[n-1]; r.Pattern == format.Every && r.Decision == ir.Deny {
			return Outcome{ir.Deny, r.Text(), r.At}
		}
	}
	return s.program.Last(rules, key, text)
}

// about returns the rules whose keys match one.
func (s *Session) about(key string) []format.Rule {
	if rules, known := s.by[key]; known {
		return rules
	}
	var rules []format.Rule
	for i := range s.Rules {
		r := &s.Rules[i]
		apart := key == s.program.Apart && r.Key == format.Every && r.Pattern == format.Every && r.Decision == ir.Deny
		if format.Match(r.Key, key) && !apart {
			rules = append(rules, *r)
		}
	}
	return rules
}

// byKey returns the session with the rules of the keys that are asked for most.
func (s Session) byKey() Session {
	s.by, s.folded = map[string][]format.Rule{}, map[string][]string{}
	for _, key := range append(slices.Sorted(maps.Values(keys)), format.Outside, format.WebSearch) {
		s.by[key] = s.about(key)
	}
	for _, key := range []string{format.Read, format.Edit, format.Outside} {
		for i := range s.by[key] {
			s.folded[key] = append(s.folded[key], policy.Fold(s.by[key][i].Pattern))
		}
	}
	return s
}

// asked are the keys that decide alone about the arguments of a group.
func (s *Session) asked(g ir.Group) []string {
	switch g {
	case ir.Read:
		return append([]string{format.Read, format.Outside}, s.program.Searches...)
	case ir.Edit:
		return []string{format.Edit, format.Outside}
	case ir.Web:
		return []string{format.WebFetch, format.WebSearch}
	}
	return []string{keys[g]}
}

// decidesLike reports whether two sessions have the same rules about the arguments of a group.
func (s *Session) decidesLike(o *Session, g ir.Group) bool {
	return !slices.ContainsFunc(s.asked(g), func(key string) bool {
		return !slices.EqualFunc(s.about(key), o.about(key), func(a, b format.Rule) bool {
			return a.Key == b.Key && a.Pattern == b.Pattern && a.Decision == b.Decision
		})
	})
}

// elsewhere matches names that a shell, or Windows, takes for a path outside.
var elsewhere = regexp.MustCompile(`^(?:~|[A-Za-z]:)`)

// file decides a call of a tool for files.
func (s *Session) file(key, name string) (Outcome, *contract.Hole) {
	if strings.ContainsRune(name, 0) {
		return Outcome{Decision: ir.Deny, Rule: "no file has such a name"}, nil
	}
	clean := path.Clean(name)
	about := func(decide func(key, text string) Outcome) Outcome { return decide(key, clean) }
	switch {
	case outside(clean):
		inner := clean
		if path.IsAbs(clean) {
			inner = "../.." + clean
		}
		about = func(decide func(key, text string) Outcome) Outcome {
			return least(decide(format.Outside, clean+"/*"), decide(key, inner))
		}
	case clean == "." && key == format.Edit:
		return Outcome{Decision: ir.Deny, Rule: "no tool edits a folder"}, nil
	case clean == ".":
		clean = ""
	}
	o := about(s.ask)
	switch {
	case strings.Contains(name, `\`):
		return Outcome{ir.Deny, o.Rule, o.At}, &contract.Hole{Decision: o.Decision,
			Why: s.program.Title + " compares a backslash in a name as a slash"}
	case elsewhere.MatchString(name):
		return Outcome{ir.Deny, o.Rule, o.At}, &contract.Hole{Decision: o.Decision,
			Why: s.program.Title + " takes such a name for a file of the project"}
	case o.Decision == ir.Deny:
		return o, nil
	}
	if alike := about(s.inAnyCase); alike.Decision < o.Decision {
		return alike, &contract.Hole{Decision: o.Decision,
			Why: s.program.Title + " compares letters as they are written, and a file system may take them for others"}
	}
	return o, nil
}

// outside reports whether a clean path is none of the project.
func outside(clean string) bool {
	return path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../")
}

// inAnyCase decides what is not denied as if what holds back were compared in any case.
func (s *Session) inAnyCase(key, text string) Outcome {
	fold, rules := policy.Fold(text), s.about(key)
	folded := s.folded[key]
	for i := len(rules) - 1; i >= 0; i-- {
		r := &rules[i]
		matched := format.Match(r.Pattern, text)
		if r.Decision < ir.Allow && r.Pattern != format.Every {
			if pattern := folded[i]; pattern != r.Pattern || fold != text {
				// A question by a letter that is taken for others, or for none, is not about what the file is called.
				matched = format.Match(pattern, fold) || matched && r.Decision == ir.Deny
			}
		}
		if matched {
			return Outcome{r.Decision, r.Text(), r.At}
		}
	}
	return Outcome{Decision: ir.Ask}
}

// searches returns the hole through which searching shows what may not be read. What lies outside is asked about first.
func (s *Session) searches(name string, least ir.Decision) *contract.Hole {
	first := ir.Allow
	if clean := path.Clean(name); outside(clean) {
		first = s.ask(format.Outside, clean+"/*").Decision
	}
	most := least
	for _, key := range s.program.Searches {
		most = max(most, min(first, s.ask(key, "x").Decision))
	}
	if most == least {
		return nil
	}
	return &contract.Hole{Decision: most, Why: "grep and glob show the files below a folder that may not be read"}
}

// web decides fetching a page of a host, in the most permissive of ways to ask for it, or searching.
func (s *Session) web(host string) Outcome {
	if host == "" {
		return s.ask(format.WebSearch, "x")
	}
	best := s.ask(format.WebFetch, addresses[0].before+host+addresses[0].after)
	for _, a := range addresses[1:] {
		if o := s.ask(format.WebFetch, a.before+host+a.after); o.Decision > best.Decision {
			best = o
		}
	}
	for _, address := range s.addressesOf(host) {
		if o := s.ask(format.WebFetch, address); o.Decision > best.Decision {
			best = o
		}
	}
	return best
}

// addressesOf returns addresses of pages of a host that patterns name by more than their host.
func (s *Session) addressesOf(host string) (all []string) {
	rules := s.about(format.WebFetch)
	for i := range rules {
		if !strings.Contains(rules[i].Pattern, host) || rules[i].Decision == ir.Deny {
			continue
		}
		for _, in := range []string{"", "x"} {
			address := strings.NewReplacer("*", in, "?", "x").Replace(rules[i].Pattern)
			if of, ok := contract.WebHost(address); ok && of == host {
				all = append(all, address)
			}
		}
	}
	return all
}

// addresses are ways to ask for a host's page.
var addresses = []struct{ before, after string }{
	{"https://", ""}, {"https://", "/"}, {"https://", "/a/b"}, {"http://", "/"}, {"https://", "?a"},
}

// agent decides handing work to an agent.
func (s *Session) agent(name string) Outcome {
	if on, known := s.Agents[name]; known && !on {
		return Outcome{Decision: ir.Deny, Rule: "the agent is off"}
	}
	o := s.ask(format.Task, name)
	if name == contract.UnknownMode { // which stands for skills, too
		if skill := s.skills(); skill.Decision > o.Decision {
			return skill
		}
	}
	return o
}

// line decides a line of the shell.
func (s *Session) line(line string) (Outcome, *contract.Hole) {
	if hidden(s, format.Bash) {
		return s.ask(format.Bash, line), nil
	}
	commands, unseen, ok := s.program.Split(line)
	if !ok {
		o := s.ask(format.Bash, strings.TrimSpace(line))
		return Outcome{ir.Deny, o.Rule, o.At}, &contract.Hole{Decision: o.Decision,
			Why: s.program.Title + " takes a line that no shell reads for a command"}
	}
	o := Outcome{Decision: ir.Allow, Rule: s.program.Title + " asks about commands, and the line has none"}
	why := s.program.Title + " asks about commands: a redirect by itself, or behind a list or a pipe, an assignment, " +
		"a test or cd runs unasked"
	if len(commands) == 0 {
		unseen = append(unseen, line)
	}
	for i, c := range commands {
		if of := s.ask(format.Bash, c); i == 0 || of.Decision < o.Decision {
			o = of
		}
	}
	lower := o
	for _, part := range unseen {
		lower = least(lower, s.ask(format.Bash, part))
	}
	for _, c := range commands {
		if of := s.expanded(c); of.Decision < lower.Decision {
			lower, why = of, "no pattern tells that a shell puts names of files in the place of a *"
		}
	}
	if lower.Decision > ir.Deny { // else nothing is less, and a line is parsed for it
		if of := s.spelled(line, 0); of.Decision < lower.Decision {
			lower, why = of, s.program.Title+" compares the text of a command: another spelling of it is not in a list"
		}
	}
	if lower.Decision == o.Decision {
		return o, nil
	}
	return lower, &contract.Hole{Decision: o.Decision, Why: why}
}

// expanded returns the least that is decided about what a command may become where a shell puts names of files into it.
func (s *Session) expanded(command string) Outcome {
	o := s.ask(format.Bash, command)
	if !strings.ContainsAny(command, "*?[") {
		return o
	}
	return s.meeting(o, anyName.ReplaceAllString(command, "*"), "")
}

// meeting returns the least of an outcome and of what rules about commands decide about some text of a pattern, without
// those that have one of some signs.
func (s *Session) meeting(o Outcome, pattern, signs string) Outcome {
	text, rules := []rune(pattern), s.about(format.Bash)
	for i := range rules {
		r := &rules[i]
		if r.Decision < o.Decision && r.Pattern != format.Every && !strings.ContainsAny(r.Pattern, signs) &&
			format.Meet([]rune(r.Pattern), text) {
			o = Outcome{r.Decision, r.Text(), r.At}
		}
	}
	return o
}

var anyName = regexp.MustCompile(`\[[^\]]*\]|\?`)

// hidden reports whether a tool is not there.
func hidden(s *Session, key string) bool {
	rules := s.about(key)
	n := len(rules)
	return n > 0 && rules[n-1].Pattern == format.Every && rules[n-1].Decision == ir.Deny
}

// split returns the commands of a line, and its parts that opencode does not see; false where it does not parse.
func split(line string) (commands, unseen []string, ok bool) {
	f, err := policy.ParseLine(line)
	if err != nil {
		return nil, nil, false
	}
	text := func(from, to syntax.Pos) string {
		a, b := int(from.Offset()), int(to.Offset())
		return strings.TrimSpace(line[min(a, len(line)):min(b, len(line))])
	}
	compared := Compared(f)
	syntax.Walk(f, func(n syntax.Node) bool {
		stmt, is := n.(*syntax.Stmt)
		if !is {
			return true
		}
		part := compared(stmt)
		whole := text(part.Begin, part.End)
		call, is := stmt.Cmd.(*syntax.CallExpr)
		switch {
		case is && len(call.Args) > 0 && (part.Timed || !slices.Contains(unchecked, call.Args[0].Lit())):
			commands = append(commands, text(part.From, part.To))
			if part.Apart {
				unseen = append(unseen, whole)
			}
		case is, stmt.Cmd == nil, stmt.Redirs != nil:
			unseen = append(unseen, whole)
		default:
			switch stmt.Cmd.(type) {
			case *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
				unseen = append(unseen, whole)
			}
		}
		return true
	})
	return commands, unseen, true
}

// Part is where a statement of a line stands, and what of its command is compared.
type Part struct {
	Begin, End syntax.Pos // the statement
	From, To   syntax.Pos // what is compared, of a plain command
	// Apart is set where its redirects, and the words behind them, are compared with nothing.
	Apart bool
	Timed bool // "time" stands before it, which is compared as a word of the command
}

// Compared returns what tells the parts of a line. The program's parser (tree-sitter's) takes redirects behind the last
// command of a list or of a pipe for those of the whole, and those behind a command after "!".
func Compared(f *syntax.File) func(*syntax.Stmt) Part {
	at, last := map[*syntax.Stmt]syntax.Pos{}, map[*syntax.Stmt]bool{}
	begin := func(stmt *syntax.Stmt) syntax.Pos {
		if pos, timed := at[stmt]; timed {
			return pos
		}
		return stmt.Pos()
	}
	mark := func(stmt *syntax.Stmt) { // and the first command of it, where it is a list or a pipe
		for {
			last[stmt] = true
			binary, is := stmt.Cmd.(*syntax.BinaryCmd)
			if !is {
				return
			}
			stmt = binary.X
		}
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if binary, is := n.(*syntax.BinaryCmd); is {
			mark(binary.Y)
		}
		stmt, is := n.(*syntax.Stmt)
		if !is {
			return true
		}
		if stmt.Negated {
			mark(stmt)
		}
		clause, is := stmt.Cmd.(*syntax.TimeClause)
		if !is || clause.Stmt == nil {
			return true
		}
		first := clause.Stmt
		for {
			binary, is := first.Cmd.(*syntax.BinaryCmd)
			if !is {
				break
			}
			first = binary.X
		}
		at[first] = begin(stmt)
		last[first] = last[first] || last[stmt]
		return true
	})
	return func(stmt *syntax.Stmt) Part {
		_, timed := at[stmt]
		p := Part{Begin: begin(stmt), End: stmt.End(), Timed: timed}
		if stmt.Semicolon.IsValid() { // or "&", which is none of the command
			p.End = stmt.Semicolon
		}
		if call, is := stmt.Cmd.(*syntax.CallExpr); is && len(call.Args) > 0 {
			p.command(stmt, call, last[stmt])
		}
		return p
	}
}

// command finds what is compared of a plain command, of which redirects may be those of what stands around.
func (p *Part) command(stmt *syntax.Stmt, call *syntax.CallExpr, around bool) {
	p.From, p.End = call.Pos(), call.End()
	if p.Timed {
		p.From = p.Begin
	}
	for _, r := range stmt.Redirs {
		if p.From.After(r.Pos()) {
			p.From = r.Pos()
		}
		if r.End().After(p.End) {
			p.End = r.End()
		}
	}
	p.To = p.End
	if at, ok := policy.RedirectBehind(call.Args[0], stmt.Redirs); ok && around {
		p.Apart, p.To = true, at
	}
}

// unchecked are commands about which opencode asks no rule.
var unchecked = []string{"[", "cd", "chdir", "popd", "push-location", "pushd", "set-location", "unset"}

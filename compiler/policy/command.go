package policy

import (
	"fmt"
	"slices"

	"modec.dev/modec/compiler/ir"
)

// commandTable decides commands for one side.
type commandTable struct {
	rules    [3][]commandRule // by decision
	fallback *Result
	// open is set for an allow beside which nothing is held back, where "*" is allowed, and where the
	// rest is left to the agent: what is not literal is then judged by what it could become.
	open   bool
	left   bool    // the rest is left to the agent: no "*" allows it
	opaque Result  // for what matches no list
	odd    *Result // for a line that is not plain; nil where that makes no difference
	asked  *Result // by what everyone is asked about, which any line that is not literal may be; nil for nothing
}

type commandRule struct {
	pattern *commandPattern // nil for a built-in set
	builtin *builtinSet
	result  Result
}

func (e *Engine) compileCommands(s *side, asked []ir.Rule) error {
	t := &s.commands
	t.fallback = s.fallback(ir.Command)
	rules := s.rules(ir.Command)
	t.left = t.fallback.Decision == ir.Agent
	held := len(asked) > 0 || slices.ContainsFunc(rules, func(r ir.Rule) bool { return r.Decision != ir.Allow })
	if len(asked) > 0 {
		r := ruleResult(asked[0])
		t.asked = &r
	}
	t.open = !held && t.fallback.Decision == ir.Allow || t.left
	for _, r := range rules {
		c := commandRule{result: ruleResult(r)}
		switch r.Pattern.Kind {
		case ir.All:
			c.pattern = &commandPattern{all: true}
		case ir.Plain:
			var err error
			if c.pattern, err = parseCommandPattern(r.Pattern.Text); err != nil {
				return err
			}
		case ir.Builtin:
			if err := CheckBuiltin(r.Pattern.Text); err != nil {
				return err
			}
			c.builtin = &builtinSet{name: r.Pattern.Text}
		default:
			return fmt.Errorf("got a pattern of kind %q, want a command", r.Pattern.Kind)
		}
		if r.Decision == ir.Allow && c.every() {
			t.open, t.left = true, false
		}
		t.rules[r.Decision] = append(t.rules[r.Decision], c)
	}
	t.opaque, t.odd = t.unreadable(), t.unlike()
	return nil
}

// unlike decides a line that shells may read in different ways: no list allows it. Where the
// rest is left to the agent, so is such a line. Else a person is asked at most, unless every
// command is allowed.
func (t *commandTable) unlike() *Result {
	held := slices.Concat(t.rules[ir.Deny], t.rules[ir.Ask])
	if t.asked != nil {
		held = append(held, commandRule{result: *t.asked})
	}
	switch {
	case t.left:
		return t.fallback
	case t.open && len(held) == 0:
		return nil
	case !t.open && t.fallback.Decision <= ir.Ask:
		return t.fallback
	case len(held) > 0:
		r := kind("not plain", ir.Command, held[0].result, held[0].result.Rule)
		r.Decision = ir.Ask
		return &r
	}
	r := kind("not plain", ir.Command, *t.fallback, "a list")
	r.Decision = ir.Ask
	return &r
}

// kind is the result for lines of a kind, which decides because the group has something.
func kind(of string, g ir.Group, r Result, has string) Result {
	r.beside = string(g) + " has " + has
	r.Rule = of + ", and " + r.beside
	return r
}

// unreadable decides what matches no list: deny where the group has a deny,
// else ask at most. Where the group is open an ask of its list may be meant. A group that
// is left to the agent leaves that to it too.
func (t *commandTable) unreadable() Result {
	if t.left && !slices.ContainsFunc(t.rules[ir.Deny], commandRule.every) {
		return *t.fallback
	}
	if deny := t.rules[ir.Deny]; len(deny) > 0 {
		if deny[0].every() {
			return deny[0].result
		}
		return kind("not literal", ir.Command, deny[0].result, deny[0].result.Rule)
	}
	if ask := t.rules[ir.Ask]; len(ask) > 0 && (t.open || t.fallback.Decision > ir.Deny) {
		return kind("not literal", ir.Command, ask[0].result, ask[0].result.Rule)
	}
	if t.asked != nil && (t.open || t.fallback.Decision > ir.Deny) {
		return kind("not literal", ir.Command, *t.asked, t.asked.Rule)
	}
	if t.open {
		for i := range t.rules[ir.Allow] {
			if r := &t.rules[ir.Allow][i]; r.every() {
				return r.result
			}
		}
		return *t.fallback
	}
	if t.fallback.Decision == ir.Allow {
		r := kind("not literal", ir.Command, *t.fallback, "a list")
		r.Decision = ir.Ask
		return r
	}
	return *t.fallback
}

// decide judges one simple command; nil means that nothing is said against it.
// It returns the files that the command reads where the rule is a filter's.
func (t *commandTable) decide(c *command) (*Result, []word) {
	unnamed := len(c.words) > 0 && c.words[0].holes
	if c.strict && !t.open || unnamed && t.left {
		return &t.opaque, nil
	}
	for _, d := range []ir.Decision{ir.Deny, ir.Ask} {
		for i := range t.rules[d] {
			if r := &t.rules[d][i]; r.holds(c) {
				return &r.result, nil
			}
		}
	}
	if c.neutral {
		return nil, nil
	}
	for i := range t.rules[ir.Allow] {
		if files, ok := t.rules[ir.Allow][i].allows(c); ok {
			return &t.rules[ir.Allow][i].result, files
		}
	}
	return t.fallback, nil
}

// unread decides a command, on which no deny or ask holds, whatever it reads.
func (t *commandTable) unread(c *command) *Result {
	for i := range t.rules[ir.Allow] {
		if files, ok := t.rules[ir.Allow][i].allows(c); ok && len(files) == 0 {
			return &t.rules[ir.Allow][i].result
		}
	}
	return t.fallback
}

// every reports whether the rule matches every command.
func (r commandRule) every() bool { return r.pattern != nil && r.pattern.all }

func (r *commandRule) holds(c *command) bool {
	if r.builtin != nil {
		_, ok := r.builtin.match(c, hold)
		return ok
	}
	for _, text := range c.hold {
		if r.pattern.holds(text) {
			return true
		}
	}
	return r.pattern.all || c.raw != "" && r.pattern.raw.match(c.raw, r.pattern.end)
}

func (r *commandRule) allows(c *command) ([]word, bool) {
	if r.builtin != nil {
		return r.builtin.match(c, permit)
	}
	if r.pattern.all {
		return nil, true
	}
	if c.strict {
		return nil, false
	}
	for _, text := range c.allow {
		if r.pattern.allows(text) && (!c.more || r.pattern.open()) {
			return nil, true
		}
	}
	return nil, false
}

// command decides a line that runs at a place: the lowest decision over its simple
// commands, and over the files that it touches.
func (s *Subject) command(p *Place, line string) Result {
	if s.engine.text {
		if a := texts(p, line); a != nil {
			return *s.line(a, alike, nil)
		}
	}
	a := analyse(p, line)
	var named *Result
	if !s.engine.text {
		named = s.mentioned(a)
	}
	r := s.line(a, alike, named)
	if a.odd {
		if strict := *s.line(a, unlike, named); strict.Decision != r.Decision {
			strict.Odd, strict.Read = true, r.Decision
			return strict.since("the line is not plain: " + a.oddity)
		}
	}
	if r.Decision == ir.Allow {
		return *r
	}
	return r.since(s.because(a, r))
}

// reading is whether a line is taken for what its parser reads, or for one that a shell may
// read in another way.
type reading bool

const (
	alike  reading = false
	unlike reading = true
)

// line decides an analysed line. named is what is said of files that its commands name, nil for nothing.
func (s *Subject) line(a *analysis, as reading, named *Result) *Result {
	var all *Result
	for _, side := range s.stating(ir.Command) {
		r := s.ofSide(side, a)
		if odd := side.commands.odd; as == unlike && odd != nil {
			needs(&r)(odd)
		}
		switch {
		case all == nil:
			all = r
		case r != nil:
			all = side.lower(all, r)
		}
	}
	judge := needs(&all)
	of := func(r *Result) {
		if r != nil && r.Decision == ir.Ask && all != nil && all.Decision == ir.Agent && all.Mapped == ir.Deny {
			r = all.mapped()
		}
		judge(r)
	}
	s.touches(nil, a.place, a.touches, of)
	of(named)
	if all == nil {
		all = &s.stating(ir.Command)[0].commands.opaque
	}
	return all
}

// needs returns a function that adds what an action needs; nil adds nothing.
func needs(all **Result) func(*Result) {
	return func(r *Result) {
		switch {
		case r == nil:
		case *all == nil:
			*all = r
		default:
			*all = both(*all, r)
		}
	}
}

// ofSide decides a line for one side; nil means that nothing is said against it.
func (s *Subject) ofSide(side *side, a *analysis) *Result {
	var all *Result
	judge, t := needs(&all), &side.commands
	// A redirect to a path that is not literal makes the line match no list.
	hidden := slices.ContainsFunc(a.touches, func(t touch) bool { return !t.known })
	if a.opaque || hidden && !t.open {
		judge(&t.opaque)
	}
	for i := range a.commands {
		c := &a.commands[i]
		r, files := t.decide(c)
		if len(files) > 0 {
			r = s.filtered(side, a.place, c, files, r)
		}
		judge(r)
	}
	return all
}

// filtered decides a command that a built-in set allows, and that reads files: by what is said
// of them, but not below what is said of the command without the set. A pattern that may match
// any file is in the set only where every file is decided alike. Most words of git name
// revisions: reading that is left to the agent takes nothing from them.
func (s *Subject) filtered(side *side, p *Place, c *command, files []word, r *Result) *Result {
	for _, f := range files {
		judge := func(of *Result) {
			if of != nil && (!f.said || of.Decision != ir.Agent) {
				needs(&r)(of)
			}
		}
		if f.begins {
			judge(s.beginning(side, ir.Read, f))
			continue
		}
		if !f.wide {
			s.touches(side, p, p.touched(ir.Read, f, c.dirs), judge)
			continue
		}
		every := s.everyFile(side, ir.Read)
		if every == nil {
			return side.commands.unread(c)
		}
		judge(every)
	}
	if r.Decision == ir.Allow {
		return r
	}
	whatever := side.commands.unread(c)
	switch {
	case whatever.Decision == ir.Allow, whatever.Decision > r.Decision:
		return whatever
	case r.Decision == ir.Agent && whatever.WithoutPermissionMode() > r.Mapped: // on an agent without it
		of := *r
		of.Mapped = whatever.WithoutPermissionMode()
		return &of
	}
	return r
}

// touches judges the files that a line touches, or that one side's own set reads.
func (s *Subject) touches(side *side, p *Place, list []touch, judge func(*Result)) {
	for _, t := range list {
		of := s.asking(side, t.group)
		if t.known {
			judge(of.named(p, t))
		} else {
			judge(of.anyFile(t.group))
		}
	}
}

// asking returns who decides about the files of a side's commands: the side alone where it
// says anything of them, else the subject.
func (s *Subject) asking(side *side, g ir.Group) *Subject {
	if side != nil && len(s.sides) > 1 && side.states(g) {
		return side.alone
	}
	return s
}

// everyFile decides all files inside the root at once, nil where they are not decided alike.
func (s *Subject) everyFile(side *side, g ir.Group) *Result {
	var all *Result
	for _, side := range s.asking(side, g).stating(g) {
		r := side.table(g).every()
		if r == nil {
			return nil
		}
		if all != nil {
			r = side.lower(all, r)
		}
		all = r
	}
	return all
}

// beginning returns the lowest deny or ask of a file that zsh may put in the place of a word with
// "^". A pattern that begins with a wildcard does not count: what git shows of the files that it
// tracks it shows without their names too, and "*.pem" is not a reason to ask about HEAD^.
func (s *Subject) beginning(side *side, g ir.Group, w word) *Result {
	var all *Result
	judge := needs(&all)
	text := w.script()
	for _, side := range s.asking(side, g).stating(g) {
		judge(side.table(g).rules.beginning(text[:len(w.stem)], text[len(w.stem):]))
	}
	return all
}

// anyFile decides a path that is not known: never above ask, and not above what
// any path of the group may get.
func (s *Subject) anyFile(g ir.Group) *Result {
	return s.over(g, func(side *side) *Result { return &side.table(g).unknown })
}

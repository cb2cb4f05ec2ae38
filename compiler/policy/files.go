package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/regexlang"
)

// patterns holds every file pattern of a project compiled once: subjects share
// most of theirs.
type patterns struct {
	mu    sync.Mutex
	globs map[globKey]glob
	regex map[string]*expression

	meeting sync.Mutex
	space   *regexlang.Space // in which they are compared; nil: none was yet
}

// letters is how a pattern compares letters.
type letters bool

const (
	exact  letters = false
	folded letters = true // whatever their case
)

type globKey struct {
	text string
	letters
}

func (p *patterns) glob(text string, as letters) (glob, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := globKey{text, as}
	if g, ok := p.globs[key]; ok {
		return g, nil
	}
	source := text
	if as == folded {
		source = Fold(text)
	}
	g, err := parseGlob(source)
	if err != nil {
		return nil, err
	}
	if p.globs == nil {
		p.globs = map[globKey]glob{}
	}
	p.globs[key] = g
	return g, nil
}

// of returns the glob of a rule, and how it compares letters. One that holds back does so as told.
func (p *patterns) of(r *ir.Rule, holdsIn letters) (g glob, as letters, err error) {
	text := r.Pattern.Text
	switch {
	case r.Decision == ir.Allow:
	case holdsIn == folded:
		as = folded
	default:
		text = inBothLetters(text)
	}
	g, err = p.glob(text, as)
	return g, as, err
}

func (p *patterns) regexp(text string) (*expression, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if re, ok := p.regex[text]; ok {
		return re, nil
	}
	compiled, err := compileRegex(text)
	if err != nil {
		return nil, err
	}
	re := &expression{re: compiled}
	if p.regex == nil {
		p.regex = map[string]*expression{}
	}
	p.regex[text] = re
	return re, nil
}

// fileRules are rules over paths. A rule's rank is its place among the results:
// every deny, then every ask, then every allow, so that the lowest rank that
// matches decides.
type fileRules struct {
	results    []Result
	globs      []glob // of each deny and ask, by rank; nil for one that is no glob
	ends       int    // the rank of the first that is an allow
	hold       globSet
	every      globSet // of the deny and ask that name no path: "*", "**"
	allow      globSet
	holdRegex  []pathRegex
	allowRegex []pathRegex
	always     int   // the lowest rank of a rule that matches everything
	home       []int // the ranks of the deny and ask that are written for the home folder
	holdsIn    letters
}

func (e *Engine) newFileRules(rules []ir.Rule) (*fileRules, error) {
	t := &fileRules{always: len(rules), holdsIn: letters(!e.text)}
	t.hold.reach, t.every.reach = andBelow, andBelow
	for d := ir.Deny; d <= ir.Allow; d++ {
		if d == ir.Allow {
			t.ends = len(t.results)
		}
		for _, r := range rules {
			if r.Decision != d {
				continue
			}
			rank := len(t.results)
			t.results = append(t.results, ruleResult(r))
			if d < ir.Allow {
				t.globs = append(t.globs, nil)
			}
			if err := t.add(&e.patterns, rank, r); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func (t *fileRules) add(p *patterns, rank int, r ir.Rule) error {
	holds := r.Decision != ir.Allow
	switch r.Pattern.Kind {
	case ir.All:
		t.always = min(t.always, rank)
	case ir.Plain:
		g, _, err := p.of(&r, t.holdsIn)
		if err != nil {
			return err
		}
		if holds {
			if r.Pattern.Everything() {
				t.every.add(rank, g)
			} else {
				t.hold.add(rank, g)
			}
			t.globs[rank] = g
			if slices.ContainsFunc(g, alternative.ofHome) {
				t.home = append(t.home, rank)
			}
		} else {
			t.allow.add(rank, g)
		}
	case ir.Regex:
		re, err := p.regexp(r.Pattern.Text)
		if err != nil {
			return err
		}
		if holds {
			t.holdRegex = append(t.holdRegex, pathRegex{rank, re})
		} else {
			t.allowRegex = append(t.allowRegex, pathRegex{rank, re})
		}
	default:
		return fmt.Errorf("got a pattern of kind %q, want a glob or a regex", r.Pattern.Kind)
	}
	return nil
}

// holding returns the rank of the deny or ask that holds, limit when none does.
func (t *fileRules) holding(p *filePath) int {
	return t.naming(p, t.every.lowest(t.names(p), p.outside, min(t.ends, t.always)))
}

// names returns the names of a path that a deny or an ask compares.
func (t *fileRules) names(p *filePath) *names {
	if t.holdsIn == exact {
		return &p.exact
	}
	return &p.folded
}

// naming returns the lowest rank of a deny or ask that names a path which it matches, best when none does that is
// lower.
func (t *fileRules) naming(p *filePath, best int) int {
	if t.ends > 0 {
		best = t.hold.lowest(t.names(p), p.outside, best)
	}
	for i := range t.holdRegex {
		if r := &t.holdRegex[i]; r.rank < best && r.holds(string(p.exact.text)) {
			best = r.rank
		}
	}
	return best
}

// allowing returns the rank of the allow that matches, len(results) when none
// does.
func (t *fileRules) allowing(p *filePath) int {
	best := len(t.results)
	if t.always < best {
		best = t.always
	}
	best = t.allow.lowest(&p.exact, p.outside, best)
	for i := range t.allowRegex {
		if r := &t.allowRegex[i]; r.rank < best && r.allows(string(p.exact.text)) {
			best = r.rank
		}
	}
	return best
}

// fileTable decides read or edit for one side.
type fileTable struct {
	rules    *fileRules
	fallback *Result
	outside  *Result
	// ceiling is set where can.outside is written. Where it is not, and the rest is the agent's,
	// no allow reaches outside: that is the agent's too.
	ceiling bool
	tooLong Result
	unknown Result // for a path that is not known
	unlike  Result // for a path that is not plain
}

func (e *Engine) compileFiles(s *side, g ir.Group, t *fileTable) error {
	rules, err := e.newFileRules(s.rules(g))
	if err != nil {
		return err
	}
	t.rules, t.fallback, t.outside, t.ceiling = rules, s.fallback(g), s.outside(g), s.writesOutside(g)
	t.tooLong = result(ir.Deny, t.fallback.Pos, "", "the path is longer than any file's")
	t.unknown = t.notKnown(g)
	t.unlike = t.notPlain(g)
	return nil
}

// notPlain decides a path that some file system takes for another one: it may be any that a deny
// or an ask is about, and no entry of a list allows it.
func (t *fileTable) notPlain(g ir.Group) Result {
	r := t.fallback
	if list := t.rules; list.ends > 0 && list.results[0].Decision <= r.Decision { // not a default that gives way
		return kind("not plain", g, list.results[0], list.results[0].Rule)
	}
	return *r
}

// notKnown decides a path that is known at run time only: ask, or deny where no
// path of the group gets more. It is allowed where every path is, those outside too, and the agent's
// where all paths are that are not allowed.
func (t *fileTable) notKnown(g ir.Group) Result {
	released := !t.ceiling || t.outside.Decision >= ir.Allow
	left := t.fallback.Decision == ir.Agent && released
	if t.rules.ends == 0 && (left || t.fallback.Decision == ir.Allow && t.outside.Decision == ir.Allow) {
		return *t.fallback
	}
	most := t.fallback.Decision
	for _, r := range t.rules.results {
		most = max(most, r.Decision)
	}
	if t.rules.always < t.rules.ends {
		most = t.rules.results[t.rules.always].Decision
	}
	return result(min(most, ir.Ask), t.fallback.Pos, t.fallback.From, string(g), " of a path that is not literal")
}

// every decides all paths inside the root at once, nil where they are not decided alike.
func (t *fileTable) every() *Result {
	if t.rules.ends > 0 {
		return nil
	}
	if t.fallback.Decision >= ir.Allow {
		return t.fallback
	}
	if t.rules.always < len(t.rules.results) {
		return &t.rules.results[t.rules.always]
	}
	return nil
}

// file decides a path for the subject.
func (s *Subject) file(g ir.Group, raw string) *Result {
	p := s.engine.paths.Get().(*filePath)
	r := s.fileReading(g, raw, posix, p)
	if strings.IndexByte(raw, '\\') >= 0 {
		// A file name to POSIX, a path to Windows: whoever opens it decides.
		r = both(r, s.fileReading(g, raw, windows, p))
	}
	s.engine.paths.Put(p)
	return r
}

// onFolding decides what a file system may make of a name, nil for nothing.
func (s *Subject) onFolding(t touch, name string) (all *Result) {
	g, judge := t.group, needs(&all)
	if strings.Contains(name, ":") {
		p := s.engine.paths.Get().(*filePath)
		judge(s.fileReading(g, name, streams, p))
		s.engine.paths.Put(p)
	}
	if t.ofGit || plainPath(name) && !nameless(name) {
		return all
	}
	judge(s.over(g, func(side *side) *Result { return &side.table(g).unlike }))
	if nameless(name) {
		outside := s.Outside(g)
		judge(&outside)
	}
	return all
}

func (s *Subject) fileReading(g ir.Group, raw string, on system, p *filePath) *Result {
	sides := s.stating(g)
	if len(raw) > maxPath {
		return &sides[0].table(g).tooLong
	}
	p.read(raw, on)
	r := sides[0].table(g).decide(p)
	for _, side := range sides[1:] {
		r = side.lower(r, side.table(g).decide(p))
	}
	if len(s.own(g)) == len(s.sides) {
		return r
	}
	for _, side := range s.sides { // what a side without a word of the group holds all the same
		if p.outside && side.writesOutside(g) {
			if r = both(r, side.outside(g)); r == side.outside(g) {
				r = p.beyond(r)
			}
		}
	}
	return r
}

func (s *side) table(g ir.Group) *fileTable {
	if g == ir.Edit {
		return &s.edit
	}
	return &s.read
}

func (t *fileTable) decide(p *filePath) *Result {
	r := t.inside(p)
	switch {
	case !p.outside:
	case !t.ceiling && t.fallback.Decision == ir.Agent:
		if r.Decision == ir.Allow {
			return t.fallback
		}
	default:
		if r = both(r, t.outside); r == t.outside {
			r = p.beyond(r)
		}
	}
	return r
}

// beyond returns what is said of all paths outside, as a person reads it of this one.
func (p *filePath) beyond(r *Result) *Result {
	of := *r
	of.Reason = fmt.Sprintf("%s: %q is outside the project", of.Rule, diag.Short(string(p.exact.text)))
	return &of
}

func (t *fileTable) inside(p *filePath) *Result {
	own := t.rules.holding(p)
	if own < t.rules.ends {
		return &t.rules.results[own]
	}
	if rank := t.rules.allowing(p); rank < len(t.rules.results) {
		return &t.rules.results[rank]
	}
	return t.fallback
}

// beginning returns the lowest deny or ask, but those that begin with a wildcard, that may hold
// for a path that begins with stem and goes on with the names of rest behind its first "/". It
// returns nil for none.
func (t *fileRules) beginning(stem, rest string) *Result {
	var path alternative
	names := strings.Split(Fold(stem), "/")
	behind := strings.Split(Fold(rest), "/")[1:]
	for i, name := range append(names, behind...) {
		begins := i == len(names)-1
		if sign := strings.IndexAny(name, "^~"); i >= len(names) && sign >= 0 {
			name, begins = name[:sign], true
		}
		literal, star := elem{kind: elemLiteral, text: name}, elem{kind: elemStar}
		switch {
		case begins && name == "":
			path = append(path, newSegment([]elem{star}))
		case begins:
			path = append(path, newSegment([]elem{literal, star}))
		case name != "" && name != ".":
			path = append(path, newSegment([]elem{literal}))
		}
	}
	for rank := range t.ends {
		if t.globs[rank] == nil {
			return &t.results[rank]
		}
		for _, a := range t.globs[rank] {
			if !a.wild() && a.to(t.hold.reach).meets(path) {
				return &t.results[rank]
			}
		}
	}
	return nil
}

// wild reports whether an alternative begins with a wildcard.
func (a alternative) wild() bool {
	for _, s := range a {
		if s.kind != segAnyDepth {
			letters := s.letters()
			return len(letters) == 0 || letters[0].kind == elemStar
		}
	}
	return true
}

// homeFile returns what the rules for the home folder say of a file of the project by its name
// there, nil where no deny and no ask of them holds.
func (s *Subject) homeFile(g ir.Group, name string) *Result {
	var all *Result
	for _, side := range s.stating(g) {
		rules := side.table(g).rules
		if len(rules.home) == 0 {
			continue
		}
		p := s.engine.paths.Get().(*filePath)
		p.read(name, posix)
		for _, rank := range rules.home {
			holds := func(a alternative) bool { return a.ofHome() && a.match(&p.folded, 0, andBelow) }
			if slices.ContainsFunc(rules.globs[rank], holds) {
				needs(&all)(&rules.results[rank])
				break
			}
		}
		s.engine.paths.Put(p)
	}
	return all
}

package lastmatch

import (
	"errors"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// plainWords matches words that every reader takes as they stand.
var plainWords = lazy.Regexp(`\A[\w./,:+@%=*-]+( [\w./,:+@%=*-]+)*\z`)

// listCommand adds a rule about commands.
func listCommand(w *writer, _ *policy.Subject, s *side, r ir.Rule) error {
	if r.Pattern.Kind == ir.Builtin {
		if r.Decision < ir.Allow {
			return errors.New("a set of commands")
		}
		for _, line := range policy.UsualLines() {
			if w.subject.Decide(policy.Action{Group: ir.Command, Arg: line}).Decision == ir.Allow {
				s.allow = append(s.allow, part{patterns: []string{line}, exact: true})
			}
		}
		return errSet
	}
	of := w.line(r.Pattern.Text)
	if r.Decision < ir.Allow {
		if of.noWords != nil {
			return of.noWords
		}
		if r.Decision == ir.Deny {
			s.deny = append(s.deny, denied{of.words, of.near})
			return nil
		}
		h := held{hold: part{patterns: []string{of.words}}, near: of.near}
		if of.noOwn == nil {
			h.ask = &part{patterns: []string{of.own}, exact: true}
		}
		s.ask = append(s.ask, h)
		return nil
	}
	if of.noOwn == nil {
		s.allow = append(s.allow, part{patterns: []string{of.own}, exact: true})
	}
	return of.noOwn
}

// errSet is about a built-in set, of which a list has only some lines.
var errSet = errors.New("a set of commands has options that no pattern checks")

// commandPattern writes a pattern of an allow.
func commandPattern(text string) (string, error) {
	if !plainWords().MatchString(text) || format.Number(text) {
		return "", errors.New("it has quotes or other signs")
	}
	program, _, _ := strings.Cut(text, " ")
	if policy.Runs(program) || policy.Feeds(program) || slices.Contains(policy.Changers(), program) ||
		strings.ContainsAny(program, "*~=") {
		return "", errors.New("the program runs what its arguments say")
	}
	if words, ok := strings.CutSuffix(text, ":*"); ok {
		text = words + " *"
	}
	return text, nil
}

// anywhere returns a pattern of every line that has the words of a pattern, in their order, whatever stands around
// them.
func anywhere(text string) (string, error) {
	text = strings.TrimSuffix(text, ":*")
	if !plainWords().MatchString(text) || strings.Trim(text, "* ") == "" {
		return "", errors.New("it has quotes or other signs")
	}
	words := strings.Fields(text)
	words[0] = words[0][strings.LastIndexByte(words[0], '/')+1:]
	pattern := "*" + strings.Join(words, "*") + "*"
	for strings.Contains(pattern, "**") {
		pattern = strings.ReplaceAll(pattern, "**", "*")
	}
	return pattern, nil
}

// before is what stands before a program where something else runs it: sudo, the folder in which it lies, and a shell
// that is given a text.
var before = []string{"", "* ", "*/", "*'", `*"`}

// nearly returns patterns of the usual ways to write a line of the words of a pattern: with options between, behind a
// program that runs it, or in a text for a shell.
func nearly(text string) (patterns []string) {
	words := strings.Fields(strings.TrimSuffix(text, ":*"))
	if words[len(words)-1] == "*" {
		words = words[:len(words)-1]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "*") {
		return nil
	}
	words[0] = words[0][strings.LastIndexByte(words[0], '/')+1:]
	line := words[0]
	for _, word := range words[1:] {
		if !strings.HasSuffix(line, "*") && !strings.HasPrefix(word, "*") {
			line += "*"
		}
		line += " " + word
	}
	if !strings.HasSuffix(line, "*") {
		line += " *"
	}
	for _, b := range before {
		patterns = append(patterns, b+line)
	}
	return patterns
}

// unsaid are patterns of lines that do not say what they run: no list of the source has one.
var unsaid = []string{"*$*", "*`*", "*{*", "*((*", "sh", "bash", "dash", "ksh", "zsh"}

// lines is what a list of commands says of lines of a shell.
type lines struct {
	lowest ir.Decision // the least that a list decides, or that is left
	least  ir.Decision // what is decided of a line that patterns do not tell apart
	held   bool        // something is denied, or asked about
	steers bool        // lists hold something back beside what is open
	alone  bool        // what is left to the agent it asks about
	open   bool        // a pattern permits more than least, whatever stands in the place of its "*"
	files  bool        // rules about files hold something back
}

// lines returns what a list says of them.
func (w *writer) lines(sides []side, list []entry, base ir.Decision) lines {
	of := lines{lowest: min(base, ir.Ask), files: w.holdsFiles(ir.Edit) || w.holdsFiles(ir.Read)}
	for i := range sides {
		of.held = of.held || len(sides[i].deny)+len(sides[i].ask) > 0
		if len(sides[i].deny) > 0 {
			of.lowest = ir.Deny
		}
	}
	of.steers = of.held && base > of.lowest
	of.alone = base == ir.Agent && len(w.agent.Unasked) > 0 && len(list) > 0
	of.least = of.lowest
	rest := min(base, ir.Allow)
	if of.alone {
		rest = ir.Ask
	}
	if of.alone || of.steers {
		of.least = ir.Ask
	}
	of.open = slices.ContainsFunc(list, func(e entry) bool {
		return e.decision > max(of.least, rest) && (of.alone || strings.Contains(e.pattern, "*"))
	})
	return of
}

// commands compiles the group command.
func (w *writer) commands() {
	sides, ok := w.sides(&commandLines)
	if !ok {
		w.key(format.Bash, ir.Deny, nil)
		return
	}
	list, base := w.entries(&commandLines, sides, w.rest(ir.Command, sides))
	of := w.lines(sides, list, base)
	var signs []entry
	// Where files are left to an agent that asks about commands by itself, it asks about lines that have some.
	left := !of.files && base == ir.Allow && len(w.agent.Unasked) > 0 &&
		(w.leavesFiles(ir.Edit) || w.leavesFiles(ir.Read))
	redirect := ir.Agent // nothing is said of lines with one
	if base > ir.Deny && of.files || of.open || left {
		signs, redirect = w.signs(of)
	}
	if of.alone { // it asks about most of them
		signs = slices.DeleteFunc(signs, func(e entry) bool {
			return e.decision == ir.Ask && e.pattern != "*$*" && e.pattern != "*`*" && !opens(list, e.pattern)
		})
		if redirect == ir.Ask && !slices.ContainsFunc(redirects, func(p string) bool { return opens(list, p) }) {
			redirect = ir.Agent
		}
	}
	// What a line does not say is in no list, of its own permissionMode neither.
	hidden := min(of.lowest, decidedOn(w.subject, policy.Action{Group: ir.Command, Arg: "$X"}))
	if base < ir.Agent && (of.steers || hidden < base) {
		for _, pattern := range unsaid {
			signs = append(signs, entry{pattern, hidden})
		}
	}
	passes, what := of.steers && len(w.subject.Sides()) == 1, "denies, or asks about"
	if w.hooks(w.subject) { // the hook refuses what is denied
		what = "asks about"
		passes = passes && slices.ContainsFunc(sides, func(s side) bool { return len(s.ask) > 0 })
	}
	if passes {
		w.Diags.Notef(w.agent.Codes.Text, w.pos, "%s compares the text of a command: what %s %s, "+
			"passes in another spelling", w.agent.Title, w.ref, what).
			Hint("list what is permitted, and deny the rest, where that matters").
			Target(w.agent.Name).
			Subject(w.ref.String())
	}
	w.key(format.Bash, base, w.redirected(base, besides(list, signs), redirect))
}

// redirects are patterns of lines that read a file, or write one.
var redirects = []string{"*<*", "*>*"}

// emptyRedirects are those that everybody writes, and that touch no file.
var emptyRedirects = []string{"2>&1", "2>/dev/null", ">/dev/null 2>&1", "> /dev/null 2>&1"}

// redirected adds to a list what is decided of lines with redirects, before what it denies at its end, whatever stands
// around. A line that ends with an empty one is decided as it is without.
func (w *writer) redirected(base ir.Decision, list []entry, redirect ir.Decision) []entry {
	if redirect == ir.Agent {
		return list
	}
	at := len(list)
	for at > 0 && list[at-1].decision == ir.Deny {
		at--
	}
	out, denied := slices.Clip(list[:at]), list[at:]
	for _, pattern := range redirects {
		out = append(out, entry{pattern, redirect})
	}
	if !w.agent.WithRedirects {
		return append(out, denied...)
	}
	for _, end := range emptyRedirects {
		if base == ir.Ask || base == ir.Allow {
			out = append(out, entry{"* " + end, base})
		}
		for _, e := range list[:at] {
			out = append(out, entry{endsWith(e.pattern, end), e.decision})
		}
		for _, pattern := range redirects {
			out = append(out, entry{pattern + end, redirect})
		}
	}
	out = append(out, denied...)
	for _, end := range emptyRedirects {
		for _, e := range denied {
			if !strings.HasSuffix(e.pattern, "*") {
				out = append(out, entry{endsWith(e.pattern, end), e.decision})
			}
		}
	}
	return out
}

// endsWith returns the pattern of the lines of another one that a redirect follows.
func endsWith(pattern, redirect string) string {
	if strings.HasSuffix(pattern, "*") {
		return pattern + redirect
	}
	return pattern + " " + redirect
}

// besides adds signs to a list: what they ask about before what the list asks about or denies, and what they deny
// behind all.
func besides(list, signs []entry) []entry {
	at := slices.IndexFunc(list, func(e entry) bool { return e.decision < ir.Allow })
	if at < 0 {
		at = len(list)
	}
	asks := func(e entry) bool { return e.decision == ir.Ask }
	denied := slices.DeleteFunc(slices.Clone(signs), asks)
	asked := slices.DeleteFunc(signs, func(e entry) bool { return !asks(e) })
	return slices.Concat(list[:at], asked, list[at:], denied)
}

// signs returns what a list says of lines with signs of the shell, and of those with redirects.
func (w *writer) signs(of lines) (list []entry, redirect ir.Decision) {
	redirect = of.least
	switch {
	case of.files && w.hooks(w.subject) && !slices.Contains(w.in.Beside, w.agent.ReadBy):
		// The hook refuses what is denied. It does not ask.
		redirect = min(of.least, ir.Ask)
	case of.files:
		redirect = ir.Deny
		w.loss(ir.Command, w.agent.Codes.Line, w.subject.Default(ir.Command).Pos,
			"no pattern judges the file of a redirect: lines with one are refused, but for empty ones (2>&1), and one "+
				"behind a list or a pipe (a && b > file) no pattern sees").
			Hint(w.agent.ofRedirects()).
			Needless()
	}
	if of.open {
		list = []entry{{"*$*", of.least}, {"*`*", of.least}}
		if of.held {
			list = append([]entry{{`*"*`, of.least}, {"*'*", of.least}, {"*{*", of.least}}, list...)
		} else {
			for _, pattern := range w.agent.Expansions {
				list = append(list, entry{pattern, of.least})
			}
		}
	}
	hidden := w.agent.Redirects
	if of.open && of.held && of.least <= redirect {
		hidden = w.agent.Escaped
	}
	for _, pattern := range hidden {
		list = append(list, entry{pattern, redirect})
	}
	return list, redirect
}

package model

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

// Claude Code approves more than a rule's text says. It also approves some things by
// itself, for which a rule could only ask about what is allowed beside them. These are
// holes of the agent: the ruling says why, the answer is what the rules say, and the hook
// closes every one of them. All were observed on 2.1.329.
const (
	looseOpen     = "Claude Code tries its rules on a line that is not a shell line"
	looseGlob     = "Claude Code does not look at the file names that the shell puts into a command"
	looseWrapper  = "Claude Code removes `command` before it tries a rule"
	looseNothing  = "Claude Code runs a line without a program without a rule"
	looseRead     = "Claude Code runs commands that only read without a question"
	looseEdit     = "the mode acceptEdits runs mkdir, touch, rm, mv, cp and sed in the project"
	looseList     = "no rule is about the resources of one server"
	looseRedirect = "Claude Code lets a redirect past rules that ask about reading or editing, " +
		"and past a tool that is taken away"
	looseAnywhere = "the rule Bash lets a redirect read and write what no rule denies"
	looseProgram  = "Claude Code compares the name of a program with its folder and its quotes, and by case, as the " +
		"system may not"
	looseText = "Claude Code tries its rules on the text of a line, and not on what the shell makes of it"
	loosePath = "a mode that approves commands lets them read and write what a rule asks about, " +
		"and past a tool that is taken away"
	looseFolder = "a rule names what is in a folder of the project, and not a file of the folder's name"
	looseInto   = "Claude Code lets an allowed command read and write by redirects what the mode lets it read and write"
	looseTail   = "Claude Code does not look for a command that a rule holds back among the arguments of another"
	looseAny    = "Claude Code takes any program for the wildcard in a rule's program, also one that runs others"
	looseShell  = "Claude Code does not look at the line of a shell among the arguments of another command"
	looseCase   = "Claude Code compares paths without case, in allow rules too"
	looseName   = "a backslash is part of a name here, and Claude Code has no rule about it"
	looseDomain = "a name with other characters than those of a host is to Claude Code's rules like any other"
	looseHome   = "Claude Code takes ~name for a file of the project, and no shell does"
	looseAlike  = "Claude Code compares names by the case of their letters, and a file system may take more of them " +
		"for one: ss and ß, s and a long s, a letter and its full-width form, a letter and its parts in another order"
	looseHost  = "Claude Code fetches documentation from hosts of its own choice without a rule"
	looseAgent = "Claude Code starts a subagent that no rule names without a question"
	looseTool  = "a tool that asks for nothing of itself runs without a rule"
)

// strictly returns what the rules say of a call, and the hole by which Claude Code
// approves it all the same.
func strictly(r ruling) (ruling, *contract.Hole) {
	if r.Decision != ir.Allow || r.loose == "" {
		return r, nil
	}
	why := r.loose
	r.Decision, r.loose = ir.Ask, ""
	chosen := r.mode == format.Plan && r.at.File == format.LocalSettings // by a person, for their own sessions
	return r, &contract.Hole{Decision: ir.Allow, Why: why, Stricter: chosen}
}

// plainWrappers are those through which a rule's author expects Claude Code to see.
var plainWrappers = wrappers{"timeout": "k s", "time": "f o", "nice": "n", "nohup": "", "stdbuf": ""}

// globs reports whether a command has words that the shell replaces by file names.
func (c *simple) globs() bool { return strings.ContainsAny(c.raw, "*?[") && c.words[0] != "[" }

// excludes reports whether a command has words that zsh replaces by file names where its options say so.
func (c *simple) excludes() bool {
	return slices.ContainsFunc(strings.Fields(c.raw), func(word string) bool {
		return strings.LastIndexAny(word, "~^") > 0
	})
}

// home reports whether a word is the home folder's name, which the shell puts there and no rule sees.
func (c *simple) home() bool { return strings.Contains(c.raw, "$HOME") }

// held reports whether a rule holds back a path from the tools that read, or from those that
// edit, or they are taken away. A path that is not known is held where some path is.
func (s *session) held(g ir.Group, p string) bool {
	tool, rules := "Read", func(r *ruleSet) []pathRule { return r.read }
	if g == ir.Edit {
		tool, rules = "Edit", func(r *ruleSet) []pathRule { return r.edit }
	}
	if !s.offered(tool) {
		return true
	}
	for _, d := range []ir.Decision{ir.Deny, ir.Ask} {
		list := rules(&s.rules[d])
		switch {
		case s.rules[d].tool(tool) != nil, p == "" && len(list) > 0,
			p != "" && (matchPath(list, newFile(p)) != nil || matchAlike(list, newFile(p))):
			return true
		}
	}
	return false
}

// passesRules reports whether a line's redirects touch what a rule would hold back from
// the tools that read and edit.
func (s *session) passesRules(l *line) bool {
	return slices.ContainsFunc(l.ins, func(p string) bool { return s.held(ir.Read, p) }) ||
		slices.ContainsFunc(l.outs, func(p string) bool { return s.held(ir.Edit, p) })
}

// passesWithPaths reports whether a command that Claude Code knows to read or write its
// arguments is given a path that a rule would hold back.
func (s *session) passesWithPaths(c *simple) bool {
	g := ir.Read
	switch {
	case c.edits():
		g = ir.Edit
	case !c.readsPaths():
		return false
	}
	return slices.ContainsFunc(c.paths(), func(p string) bool { return s.held(g, p) })
}

// passed says which rules a line passes that a mode runs by itself, "" for none.
func (s *session) passed(l *line) string {
	switch {
	case s.passesRules(l):
		return looseRedirect
	case slices.ContainsFunc(l.simple, s.passesWithPaths):
		return loosePath
	case slices.ContainsFunc(l.simple, (*simple).hidesRedirect):
		return looseText
	case slices.ContainsFunc(l.simple, (*simple).readsScript):
		return looseTail
	}
	if !s.holdsAny() {
		return ""
	}
	for _, c := range l.simple {
		switch {
		case len(c.words) == 0:
			return looseNothing
		case c.feeds():
			return looseTail
		case s.holdsBack(c.words[0], strings.ToLower(joined(c.words)), strings.ToLower(joined(c.named()))):
			return looseProgram
		case c.hidesAnother(s), c.hidesWithin(s):
			return looseTail
		case c.dynamic, c.globs(), c.excludes():
			return looseText
		}
	}
	if l.opaque || l.unknown || len(l.simple) == 0 {
		return looseText
	}
	return ""
}

// looselyAllowed says why an allow rule matched a command that its text does not name, ""
// where the text names it.
func (c *simple) looselyAllowed(rules []bashRule) string {
	if c.globs() {
		return looseGlob
	}
	texts := []string{c.raw, joined(c.words), joined(unwrap(c.words, plainWrappers))}
	if matchBash(rules, texts) == nil {
		return looseWrapper
	}
	return ""
}

// named returns the words of a command with the program's name alone, without its folder.
func (c *simple) named() []string {
	return append([]string{path.Base(c.words[0])}, c.words[1:]...)
}

// hidesAnother reports whether a rule holds back a command that this one may run by its
// arguments.
func (c *simple) hidesAnother(s *session) bool {
	for i := 1; i < len(c.words); i++ {
		if s.holdsBack(joined(c.words[i:])) {
			return true
		}
	}
	return false
}

// hidesWithin reports whether a rule holds back what one of a command's words says (sh -c), or
// the command without the words before its subcommand (git -C x push).
func (c *simple) hidesWithin(s *session) bool {
	if strings.Contains(c.words[0], " ") && s.holdsBack(c.words[0]) {
		return true
	}
	for i := 1; i < len(c.words); i++ {
		if s.holdsBack(c.words[i], joined(append([]string{c.words[0]}, c.words[i:]...))) {
			return true
		}
	}
	return false
}

// hidesRedirect reports whether one of a command's words may be a line that reads or writes a file
// (sh -c 'x > y').
func (c *simple) hidesRedirect() bool {
	return slices.ContainsFunc(c.words[min(1, len(c.words)):], func(word string) bool {
		return strings.ContainsAny(word, "<>")
	})
}

// feeds reports whether a command runs another that its text does not name: with further arguments, or
// from its input.
func (c *simple) feeds() bool {
	for i, w := range c.words {
		if slices.ContainsFunc(strings.Fields(w), runsArguments) || slices.Contains(searches, path.Base(w)) &&
			given(c.words[i+1:], "-exec", "-execdir", "-ok", "-okdir", "-x", "-X") {
			return true
		}
	}
	return c.readsScript()
}

// searches are programs that run another one on what they find, by an option.
var searches = []string{"find", "fd"}

// runsArguments reports whether a word names a program that runs another one on its input.
func runsArguments(word string) bool {
	program := strings.ToLower(path.Base(word))
	return program == "xargs" || program == "parallel"
}

// readsScript reports whether a command is a shell that runs its input, or runs one.
func (c *simple) readsScript() bool {
	script := func(word string) bool { return word == "-c" || !strings.HasPrefix(word, "-") }
	for i, word := range c.words {
		if policy.IsShell(word) && (i == 0 || policy.Runs(c.words[0])) &&
			!slices.ContainsFunc(c.words[i+1:], script) {
			return true
		}
	}
	return false
}

// startsShell reports whether a command runs a shell by its arguments: what that runs no rule names.
func (c *simple) startsShell() bool {
	return policy.Runs(c.words[0]) && slices.ContainsFunc(c.words[1:], func(word string) bool {
		return policy.IsShell(word)
	})
}

// unnamed reports whether a command's program runs others, and the rule that allows it has only a wildcard for it.
func (c *simple) unnamed(by *place) bool {
	program, _, _ := strings.Cut(strings.TrimSuffix(by.text, ":*)"), " ")
	return policy.Runs(c.words[0]) && strings.Contains(program, "*") && !strings.HasSuffix(program, "(*)")
}

// holdsAny reports whether any rule denies or asks about commands.
func (s *session) holdsAny() bool { return len(s.rules[ir.Deny].bash)+len(s.rules[ir.Ask].bash) > 0 }

// holdsBack reports whether a rule denies or asks about one of some commands.
func (s *session) holdsBack(texts ...string) bool {
	return matchBash(s.rules[ir.Deny].bash, texts) != nil || matchBash(s.rules[ir.Ask].bash, texts) != nil
}

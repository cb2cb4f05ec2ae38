package model

import (
	"errors"
	"path"
	"slices"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// Contains reports whether there is a session of a subject.
func (d *decider) Contains(ref ir.SubjectRef) bool { return d.has(ref) }

// Languages returns what decides about a subject's plain files, lines, hosts and subagents: by list the
// rules of its session, what Claude Code decides by itself, and the policy of each hook.
func (d *decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	if s := d.of(ref); s != nil {
		return s.languages(of, sp)
	}
	return nil, nil
}

// Languages returns what decides in a session of a subject without rules.
func (a *alone) Languages(ref ir.SubjectRef, of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	return a.of(ref).languages(of, sp)
}

// Languages returns what decides in the session.
func (s *Session) Languages(of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	return s.s.languages(of, sp)
}

func (s *session) languages(of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	l := lists{Space: sp}
	denied := regexlang.None
	switch g := of.Group; g {
	case ir.Read, ir.Edit:
		denied = l.files(s, g)
	case ir.Command:
		denied = l.lines(s)
	case ir.MCP:
		l.tools(s, of.Server)
	case ir.Web:
		for d := range s.rules {
			l.add(nil, l.hosts(s.rules[d].hosts))
		}
		for _, host := range documentation {
			l.add(nil, sp.Text(host))
		}
	case ir.Modes:
		for d := range s.rules {
			l.add(nil, l.names(s.rules[d].agents), l.names(s.rules[d].skills))
		}
		for skill := range s.skills {
			l.add(nil, sp.Text(skill))
		}
	}
	for i := range l.all { // whatever else is said of what a rule denies
		l.all[i] = sp.Without(l.all[i], denied)
	}
	l.add(nil, denied)
	for _, h := range s.hooks {
		if h.engine == nil {
			continue
		}
		refs := []ir.SubjectRef{h.ref}
		if s.agent != "" && h.ref.Mode == "" { // it answers for both
			refs = append(refs, ir.SubjectRef{Mode: s.agent}, ir.SubjectRef{Role: h.ref.Role, Mode: s.agent})
		}
		for i, ref := range refs {
			subject, err := h.engine.Subject(ref)
			switch {
			case err == nil:
				said, err := subject.Languages(sp, of)
				l.add(err, said...)
			case i == 0:
				return nil, err
			}
		}
	}
	return l.all, l.err
}

// lists collects the language of each list of rules.
type lists struct {
	*regexlang.Space
	all []regexlang.Language
	err error
}

func (l *lists) add(err error, of ...regexlang.Language) {
	if err != nil && l.err == nil {
		l.err = err
	}
	l.all = append(l.all, of...)
}

// How a rule about files is read: as it decides, as a file system may take names for each other,
// and in the case in which it is written.
var (
	asFolded = func(l *lists, r *pathRule) regexlang.Language { return l.path(r, &r.folded, unicode.ToUpper) }
	asAlike  = func(l *lists, r *pathRule) regexlang.Language { return l.path(r, &r.alike, unicode.ToLower) }
	asExact  = func(l *lists, r *pathRule) regexlang.Language { return l.path(r, &r.exact, nil) }
	asFolder = func(l *lists, r *pathRule) regexlang.Language { // the folder for whose content it is
		if name, ok := below(root, policy.Fold(r.folder)); ok {
			return l.TextInAnyCase(name)
		}
		return regexlang.None
	}
)

// files adds what decides about files of the project, but for what rules deny, which it returns.
func (l *lists) files(s *session, g ir.Group) (denied regexlang.Language) {
	deny, ask, allow := &s.rules[ir.Deny], &s.rules[ir.Ask], &s.rules[ir.Allow]
	denied = l.any(asFolded, deny.read)
	if of := func(rs *ruleSet) []pathRule { return rs.read }; g == ir.Read {
		asked := l.any(asFolded, of(ask))
		l.add(nil, asked, l.any(asAlike, of(deny), of(ask)), l.any(asFolder, of(deny), of(ask)))
		return denied
	}
	denied = l.Or(denied, l.any(asFolded, deny.edit))
	own, err := l.Go(`(?i)(?:^|/)(?:` + strings.ReplaceAll(strings.Join(format.Protected, "|"), ".", `\.`) + `)(?:/|$)`)
	l.add(err)
	notebook, err := l.Go(`\.ipynb$`)
	l.add(err)
	asked := l.any(asFolded, ask.edit)
	own = l.Without(own, asked)
	held := l.Or(asked, own)
	l.add(nil, asked, own, notebook, l.any(asAlike, deny.edit, ask.edit), l.any(asFolder, deny.edit, ask.edit),
		l.Without(l.any(asFolded, allow.edit), held), l.Without(l.any(asExact, allow.edit), held))
	return denied
}

// errAmbiguous is why the tools of a server have no languages: one of another server may have the
// same name.
var errAmbiguous = errors.New("the server's name has two underscores, or one at an end")

// tools adds what decides about the tools of a server: the rules that name them, the lists of tools
// and for which of them hooks run.
func (l *lists) tools(s *session, server string) {
	server = toolName(server)
	if strings.Contains(server, "__") || strings.Trim(server, "_") != server {
		l.add(errAmbiguous)
		return
	}
	prefix := "mcp__" + server + "__"
	named := func(tools rule.Tools) regexlang.Language {
		pieces, begin := tools.Text()
		any := l.Pieces(pieces, l.Text)
		if begin != "" {
			any = l.Or(any, l.Cat(l.Text(begin), regexlang.All))
		}
		return l.After(any, prefix)
	}
	for d := range s.rules {
		var any []regexlang.Language
		for i := range s.rules[d].tools {
			any = append(any, named(s.rules[d].tools[i].Tools))
		}
		l.add(nil, l.Or(any...))
	}
	for _, list := range s.tools {
		var any []regexlang.Language
		for _, t := range list.Tools() {
			any = append(any, named(t))
		}
		l.add(nil, l.Or(any...))
	}
	for _, h := range s.hooks {
		switch {
		case h.exact != nil:
			for _, name := range h.exact {
				l.add(nil, l.After(l.Text(name), prefix))
			}
		case h.re != nil:
			of, err := l.Go(h.re.String())
			l.add(err, l.After(of, prefix))
		}
	}
}

// KnownPrograms returns the programs that Claude Code knows: those that it runs because they only
// read, or in a mode that accepts edits.
func KnownPrograms() []string { return known }

// ToolName returns a tool's name as it stands in mcp__SERVER__TOOL.
func (d *decider) ToolName(name string) string { return ToolName(name) }

// ToolName returns it for every session.
func ToolName(name string) string { return toolName(name) }

// KnownPrograms returns them for sessions by artifacts.
func (d *decider) KnownPrograms() []string { return known }

// KnownPrograms returns them for sessions without rules.
func (a *alone) KnownPrograms() []string { return known }

var known = func() []string {
	begin := append(slices.Clone(editing), "git config", "git stash", "git worktree")
	for program := range reading {
		if program != "git" {
			begin = append(begin, program)
		}
	}
	for command := range gitReading {
		begin = append(begin, "git "+command)
	}
	slices.Sort(begin)
	return begin
}()

// lines adds what decides about plain lines, but for what rules deny, which it returns.
func (l *lists) lines(s *session) (denied regexlang.Language) {
	denying, asking := l.commands(s.rules[ir.Deny].bash), l.commands(s.rules[ir.Ask].bash)
	denied = policy.Anywhere(l.Space, denying)
	l.add(nil, policy.Anywhere(l.Space, asking), l.commands(s.rules[ir.Allow].bash))
	if power := s.rules[ir.Allow].power; len(power) > 0 {
		l.add(nil, l.pieces(power, l.TextInAnyCase), denied)
	}
	// What a rule holds back of another line: the program alone, the line in another case, what may
	// follow a word, one word, and the line without the words before its subcommand.
	held := l.Or(denying, asking)
	begins := l.Cat(l.And(held, l.Word()), l.MoreWords())
	l.add(nil, l.Or(begins, policy.Anywhere(l.Space, l.inLowerCase(s))),
		l.Or(l.Cat(regexlang.All, l.Text(" "), l.Or(held, begins)), l.Skipping(held)))
	return denied
}

// commands returns the plain lines that rules match as they stand.
func (l *lists) commands(rules []bashRule) regexlang.Language { return l.pieces(rules, l.Text) }

// inLowerCase returns the lines that a rule holds back when they are written in lower case.
func (l *lists) inLowerCase(s *session) regexlang.Language {
	lower := func(text string) regexlang.Language {
		if text != strings.ToLower(text) {
			return regexlang.None
		}
		return l.TextInAnyCase(text)
	}
	return l.Or(l.pieces(s.rules[ir.Deny].bash, lower), l.pieces(s.rules[ir.Ask].bash, lower))
}

// pieces returns what rules match whose literal parts are those of a language.
func (l *lists) pieces(rules []bashRule, of func(string) regexlang.Language) regexlang.Language {
	var any []regexlang.Language
	for i := range rules {
		r := &rules[i]
		if r.all {
			return regexlang.All
		}
		matched := l.Pieces(r.pieces, of)
		if r.boundary {
			matched = l.Cat(matched, l.MoreWords())
		}
		any = append(any, matched)
	}
	return l.Or(any...)
}

// any returns what any rule of some lists matches, in one reading.
func (l *lists) any(as func(*lists, *pathRule) regexlang.Language, of ...[]pathRule) regexlang.Language {
	var any []regexlang.Language
	for _, rules := range of {
		for i := range rules {
			any = append(any, as(l, &rules[i]))
		}
	}
	return l.Or(any...)
}

// readAs is what the language of a pattern depends on: how letters are read shows by one.
type readAs struct {
	line       string
	small, big rune
}

// path returns the paths of the project that a rule's pattern matches.
func (l *lists) path(r *pathRule, ig *ignored, as func(rune) rune) regexlang.Language {
	name := readAs{line: ig.line}
	if as != nil {
		name.small, name.big = as('a'), as('A')
	}
	of, err := l.Once(name, func() (regexlang.Language, error) { return l.GoAs(ignorePattern(ig.line), as) })
	l.add(err)
	switch inside, ok := below(root, r.base); {
	case r.base == root:
		return of
	case ok:
		return l.Cat(l.Text(inside+"/"), of)
	}
	if rel, ok := below(path.Clean(r.base), root); ok {
		return l.After(of, rel+"/")
	}
	return regexlang.None
}

func (l *lists) hosts(rules []hostRule) regexlang.Language {
	var any []regexlang.Language
	for i := range rules {
		switch r := &rules[i]; {
		case r.all:
			any = append(any, regexlang.All)
		case r.sub:
			any = append(any, l.Cat(regexlang.Some, l.Text("."+r.host)))
		default:
			any = append(any, l.Text(r.host))
		}
	}
	return l.Or(any...)
}

func (l *lists) names(rules []nameRule) regexlang.Language {
	var any []regexlang.Language
	for i := range rules {
		any = append(any, l.Text(rules[i].name))
	}
	return l.Or(any...)
}

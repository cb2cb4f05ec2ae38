package vscode

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/vscode/format"
)

// What an entry says.
const (
	approved = true
	asked    = false
	on       = true
	off      = false
)

// settingPlaces are the entries of modec in the settings of a project. In the object of files the order decides, so
// that it is one entry.
var settingPlaces = []string{"/" + format.EnableKey, "/" + format.DefaultsKey, "/" + format.ScriptsKey,
	"/" + format.TerminalKey + "/*", "/" + format.EditsKey}

// settingRestrains are those that only hold back.
var settingRestrains = settingPlaces[:3]

// settings writes what VS Code asks about in the sessions of the baseline: no setting of a project knows another role,
// or a mode.
func (e *emitter) settings() (files []contract.File) {
	own := e.own()
	if e.base == nil {
		if e.everybody == "" {
			e.unchosen()
		}
		return nil
	}
	o := append(e.commands(own), e.edits(own)...)
	if len(o) == 0 {
		return nil
	}
	e.unheld()
	return []contract.File{{Path: format.SettingsFile, Data: contract.JSON(o), Places: settingPlaces,
		Restrains: settingRestrains, Alike: alike, About: []string{"chat"}}}
}

// unchosen warns that no role is that of every session, where there are roles, or modes, which no setting holds.
func (e *emitter) unchosen() {
	hint := "set subject in [targets.vscode] to a role, or baseline"
	switch p := e.in.Project; {
	case len(p.Roles) == 0 && (len(p.Modes) == 0 || slices.Contains(e.in.Beside, "copilot")):
		return // a mode is an agent, which the target copilot writes
	case len(p.Roles) == 0:
		hint = "the source has no role: write one and set baseline, or add the target copilot, which writes modes " +
			"as agents"
	case len(p.Roles) == 1:
		hint = fmt.Sprintf("set baseline = %q, or subject in [targets.vscode]", p.Roles[0].Name)
	}
	e.diags.Warnf(codeNotHeld, diag.Pos{File: "modec.toml"}, "got neither subject nor baseline: nothing says what VS "+
		"Code asks about before commands and edits").
		Hint(hint).
		Target(name)
}

// holdsFiles reports whether can holds back files that the redirects of a line may read or write, and that no entry
// judges.
func (e *emitter) holdsFiles() bool {
	return slices.ContainsFunc([]ir.Group{ir.Read, ir.Edit}, func(g ir.Group) bool {
		states := decided(e.base.Default(g)) < ir.Agent || len(e.base.Rules(g)) > 0
		return states && !contract.Opens(e.base, g)
	})
}

// role returns the baseline.
func (e *emitter) role() *ir.Role { return e.in.Project.Role(e.everybody) }

// place returns where to report something: at a rule, or at the baseline.
func (e *emitter) place(at diag.Pos) diag.Pos {
	if at.IsZero() {
		return e.role().Pos
	}
	return at
}

// loss warns that VS Code asks about something in a group that the baseline permits.
func (e *emitter) loss(g ir.Group, code diag.Code, at diag.Pos, message string, args ...any) diag.Builder {
	return e.diags.Warnf(code, e.place(at), message, args...).
		Target(name).
		Subject("role "+e.role().Name).
		Loses(diag.Narrowing, string(g))
}

// unheld notes what no setting of a project holds.
func (e *emitter) unheld() {
	var denied []string
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
		d := e.base.Default(g)
		holds := d.WithoutPermissionMode() == ir.Deny || slices.ContainsFunc(e.base.Rules(g), func(r ir.Rule) bool {
			return r.Decision == ir.Deny
		})
		if holds || (g == ir.Read || g == ir.Web) && e.base.Restricts(g) {
			denied = append(denied, string(g))
		}
	}
	if len(denied) == 0 {
		return
	}
	e.diags.Notef(codeNotHeld, e.role().Pos, "no setting of a project refuses a call: what role %s denies of %s, VS "+
		"Code asks about at most", e.role().Name, strings.Join(denied, ", ")).
		Hint("the agents that the target copilot writes for modes have lists of tools, which VS Code keeps").
		Target(name).
		Subject("role " + e.role().Name)
}

// decided returns what a result of the source means to VS Code, which has no permission modes.
func decided(r policy.Result) ir.Decision { return contract.Decision(vscode{}, &r) }

// errEach is why a list permits nothing: what one of its rules holds back may be anything.
const errEach = "no entry says %s (%v): VS Code asks about all of %s"

// entries are those of an object, each key once: the last one counts, where it stands last.
type entries struct {
	keys []string
	says map[string]any
}

func (l *entries) add(key string, says any) {
	if _, there := l.says[key]; there {
		l.keys = slices.DeleteFunc(l.keys, func(k string) bool { return k == key })
	}
	if l.says == nil {
		l.says = map[string]any{}
	}
	l.keys, l.says[key] = append(l.keys, key), says
}

func (l *entries) object() (o contract.Object) {
	for _, key := range l.keys {
		o = append(o, key, l.says[key])
	}
	return o
}

// unseen matches whole lines of which the entries about commands do not see what they mean: with quotes, variables,
// redirects, assignments, words of the shell's own, and with operators in an order that no shell reads. All others are
// plain words between operators.
const unseen = `/[^\w ./,:+@%=&|;-]|  | =|(^|[;&|] *)([^ ;&|]*=|(` + unseenWords + `)( |$|[;&|]))|` +
	`^[;&|]|[;&|] *$|[;&|] +[;&|]|&&[;&|]|\|\|[;&|]|;[;&|]|&[;|]|\|[;&]/`

// unseenWords begin what is no command to VS Code, or not all of one.
const unseenWords = `case|coproc|declare|do|done|elif|else|end|esac|export|fi|for|foreach|function|if|in|let|local|` +
	`nameref|readonly|repeat|select|then|time|typeset|unset|unsetenv|until|while`

// redirects matches whole lines that may read or write a file.
const redirects = `/[<>]/`

// wholeLine is an entry that asks about lines.
var wholeLine = contract.Object{"approve", asked, "matchCommandLine", on}

// commands compiles the group command.
func (e *emitter) commands(own *ownEntries) contract.Object {
	unnamed := e.base.Default(ir.Command)
	rest, rules := decided(unnamed), e.base.Rules(ir.Command)
	if rest == ir.Agent && len(rules) == 0 {
		if len(own.terminal) == 0 {
			return nil
		}
		list := own.commands()
		if e.holdsFiles() {
			list.add(redirects, wholeLine)
		}
		return contract.Object{format.TerminalKey, list.object()}
	}
	var allows, holds entries
	if rest == ir.Agent {
		allows = own.commands()
	} else {
		e.beaten(ir.Command, own.terminal)
	}
	for _, r := range rules {
		switch all := r.Pattern.Everything(); {
		case all && r.Decision < ir.Allow:
			return contract.Object{format.EnableKey, off}
		case all:
			rest = ir.Allow
		case r.Decision == ir.Allow:
			keys, err := e.allowed(r)
			for _, key := range keys {
				allows.add(key, approved)
			}
			if err != nil {
				e.loss(ir.Command, codeCommand, r.Pos, "no entry says %s (%v): VS Code asks about it", r.Pattern, err).
					Hint("write what is permitted in plain words")
			}
		default:
			key, err := held(r, rules, rest)
			if err != nil {
				e.loss(ir.Command, codeCommand, r.Pos, errEach, r.Pattern, err, ir.Command).
					Hint("write it in plain words")
				return contract.Object{format.EnableKey, off}
			}
			holds.add(key, asked)
		}
	}
	if rest == ir.Allow && len(holds.keys) > 0 {
		e.loss(ir.Command, codeCommand, unnamed.Pos, "VS Code compares the text of a command, and another spelling of "+
			"what is held back is in no list: it asks about what no list names").
			Hint("write what is permitted as a list")
		rest = ir.Ask
	}
	switch {
	case rest == ir.Allow:
		allows = entries{}
		allows.add("/.*/", approved)
		if !contract.Opens(e.base, ir.Edit) || !contract.Opens(e.base, ir.Read) {
			e.loss(ir.Command, codeLine, unnamed.Pos, "no entry judges the file of a redirect: VS Code asks about "+
				"lines with one").
				Hint("have the agent write files by its own tools").
				Needless()
			allows.add(redirects, wholeLine)
		}
	case len(allows.keys) == 0 && rest < ir.Agent:
		return contract.Object{format.EnableKey, off}
	default:
		if len(holds.keys) > 0 && rest == ir.Agent {
			holds.add(feeders(), asked)
		}
		for _, key := range holds.keys {
			allows.add(key, asked)
		}
		allows.add(unseen, wholeLine)
	}
	o := contract.Object{format.TerminalKey, allows.object()}
	if rest < ir.Agent {
		o = append(contract.Object{format.DefaultsKey, on, format.ScriptsKey, off}, o...)
	}
	return o
}

// plainWords matches words that every reader takes as they stand.
var plainWords = lazy.Regexp(`\A[\w./,:+@%=*-]+( [\w./,:+@%=*-]+)*\z`)

var errSigns = errors.New("it has quotes or other signs")

// allowed returns the entries of what a rule permits.
func (e *emitter) allowed(r ir.Rule) (keys []string, err error) {
	if r.Pattern.Kind == ir.Builtin {
		for _, line := range policy.UsualLines() {
			if d := e.base.Decide(policy.Action{Group: ir.Command, Arg: line}); decided(d) == ir.Allow {
				keys = append(keys, "/^"+ecma.Quote(line)+"$/")
			}
		}
		return keys, errors.New("of a set of commands its usual lines alone are written")
	}
	text := strings.Join(strings.Fields(r.Pattern.Text), " ")
	program, _, _ := strings.Cut(text, " ")
	switch {
	case r.Pattern.Kind != ir.Plain || !plainWords().MatchString(text):
		return nil, errSigns
	case policy.Runs(program), policy.Feeds(program), slices.Contains(policy.Changers(), program),
		strings.ContainsAny(program, "*~="),
		strings.HasSuffix(strings.ToLower(program), ".exe"):
		return nil, errors.New("the program runs what its arguments say")
	}
	return []string{"/^" + words(text) + "/"}, nil
}

// held returns the entry of what a rule holds back, wherever its program lies, and whatever options git has before its
// command. Where other commands are left to VS Code, those are meant too that run it.
func held(r ir.Rule, rules []ir.Rule, rest ir.Decision) (key string, err error) {
	text := strings.Join(strings.Fields(r.Pattern.Text), " ")
	if r.Pattern.Kind != ir.Plain || !plainWords().MatchString(text) {
		return "", errSigns
	}
	program, more, _ := strings.Cut(text, " ")
	program = base(program)
	text = words(strings.TrimSpace(program + " " + more))
	if text == "$" {
		return "", errSigns
	}
	if more, ok := strings.CutPrefix(text, "git "); ok {
		text = "git (-[^ ]* ([^ -][^ ]* )?)*" + more
	}
	before, flags := "^([^ ]*/)?", ""
	if rest == ir.Agent {
		before = "^(.*[ /])?"
	}
	if rest == ir.Agent || slices.ContainsFunc(rules, func(o ir.Rule) bool {
		first, _, _ := strings.Cut(o.Pattern.Text, " ")
		return o.Decision == ir.Allow && base(first) != program && strings.EqualFold(base(first), program)
	}) {
		flags = "i" // the source takes a program for another one of the same letters
	}
	return "/" + before + text + "/" + flags, nil
}

// base returns the name of a program without its folder.
func base(program string) string { return program[strings.LastIndexByte(program, '/')+1:] }

// feeders matches commands with a program that adds words to those that it runs.
func feeders() string {
	names := slices.DeleteFunc(policy.Runners("*"), func(name string) bool { return !policy.Feeds(name) })
	return "/^(.*[ /])?(" + strings.Join(names, "|") + ")( |$)/"
}

// words writes the words of a pattern as an expression, to its end.
func words(text string) string {
	end := "$"
	for _, more := range []string{" *", ":*"} {
		if begin, ok := strings.CutSuffix(text, more); ok {
			text, end = begin, "( |$)"
			break
		}
	}
	if begin, ok := strings.CutSuffix(text, "*"); ok {
		text, end = begin, ""
	}
	return strings.ReplaceAll(ecma.Quote(text), `\*`, ".*") + end
}

// everyFile matches every file of a project, whatever its name. VS Code has "**/*" by itself, and leaves it where it
// stands, before a person's own; "**" does not match a line break.
const everyFile = "**/?*"

// edits compiles the group edit: the last entry that matches decides.
func (e *emitter) edits(own *ownEntries) contract.Object {
	unnamed := e.base.Default(ir.Edit)
	rest, rules := decided(unnamed), e.base.Rules(ir.Edit)
	if rest == ir.Agent && len(rules) == 0 && len(own.edits) == 0 {
		return nil
	}
	var list entries
	if rest == ir.Agent {
		list = own.files()
	} else {
		e.beaten(ir.Edit, own.edits)
	}
	all := func(r ir.Rule) bool { return r.Pattern.Everything() }
	switch {
	case slices.ContainsFunc(rules, func(r ir.Rule) bool { return all(r) && r.Decision < ir.Allow }):
		rest, rules = ir.Ask, nil
	case slices.ContainsFunc(rules, all):
		rest = ir.Allow
	}
	if rest < ir.Allow {
		list.add(everyFile, asked)
	}
	allows := e.permitted(&list, rules, rest)
	if e.heldFiles(&list, rules, allows, rest) {
		list = entries{}
		list.add(everyFile, asked)
	}
	if len(own.edits) == 0 {
		list.shorten()
	}
	if len(list.keys) == 0 {
		return nil
	}
	return e.told(contract.Object{format.EditsKey, list.object()})
}

// permitted adds what rules permit beyond the rest, and returns these rules.
func (e *emitter) permitted(list *entries, rules []ir.Rule, rest ir.Decision) (allows []ir.Rule) {
	for _, r := range rules {
		if r.Decision < ir.Allow || rest == ir.Allow {
			continue
		}
		globs, err := globsOf(r.Pattern, permits)
		if err != nil {
			e.loss(ir.Edit, codeEdit, r.Pos, "no glob of VS Code says %s (%v): VS Code asks about it", r.Pattern, err).
				Hint("write it as a plain glob")
			continue
		}
		allows = append(allows, r)
		for _, g := range globs {
			list.add(g, approved)
		}
	}
	return allows
}

// heldFiles adds what rules hold back of what is permitted, and reports whether that is all: what one of them says, or
// what no glob says.
func (e *emitter) heldFiles(list *entries, rules, allows []ir.Rule, rest ir.Decision) (all bool) {
	for _, r := range rules {
		meets := func(a ir.Rule) bool { return e.in.Policy.Meet(r, a) }
		if r.Decision == ir.Allow || rest < ir.Allow && !slices.ContainsFunc(allows, meets) {
			continue
		}
		globs, err := globsOf(r.Pattern, holdsBack)
		if err != nil {
			e.loss(ir.Edit, codeEdit, r.Pos, errEach, r.Pattern, err, ir.Edit).
				Hint("write it as a plain glob")
			return true
		}
		for _, g := range globs {
			all = all || g == everyFile
			list.add(g, asked)
		}
	}
	return all
}

// shorten takes out what asks about files of a folder about all of which another entry asks.
func (l *entries) shorten() {
	l.keys = slices.DeleteFunc(l.keys, func(g string) bool {
		return l.says[g] == asked && slices.ContainsFunc(l.keys, func(other string) bool {
			folder, all := strings.CutSuffix(other, "**")
			return all && other != g && l.says[other] == asked && strings.HasPrefix(g, folder)
		})
	})
}

// told says of what is written about edits where else it has to stand.
func (e *emitter) told(o contract.Object) contract.Object {
	e.diags.Notef(codePlace, e.role().Pos, "versions of VS Code after 1.128 take %s from a person's own settings alone",
		format.EditsKey).
		Hintf("have everybody copy it out of %s", format.SettingsFile).
		Target(name).
		Subject("role " + e.role().Name)
	return o
}

// use says what a rule does with what it matches.
type use uint8

const (
	permits   use = iota
	holdsBack     // and whatever is below
)

// globsOf returns the globs of VS Code that match what a pattern does: no more where it permits, and no less where it
// holds back.
func globsOf(p ir.Pattern, u use) (globs []string, err error) {
	if p.Kind != ir.Plain {
		return nil, errors.New("it is an expression")
	}
	texts, err := policy.ExpandBraces(p.Text)
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		switch above := text == ".." || strings.HasPrefix(text, "../"); {
		case u == permits && (above || policy.IsRooted(strings.TrimPrefix(text, "/"))):
			return nil, errors.New("VS Code asks about every file outside of the project")
		case above:
			continue
		}
		g, err := globOf(text, u)
		if err != nil {
			return nil, err
		}
		if folder, below := strings.CutSuffix(g, "/**"); u != permits && below && slices.Contains(format.OwnGlobs, g) {
			globs = append(globs, folder, g+"/*") // the same would stand before what is permitted
			continue
		}
		globs = append(globs, g)
	}
	return globs, nil
}

// globOf returns the glob of VS Code for one without braces.
func globOf(text string, u use) (string, error) {
	text = strings.TrimPrefix(text, "./")
	folder := strings.HasSuffix(text, "/")
	name := strings.Trim(text, "/")
	deep := !strings.Contains(strings.TrimSuffix(text, "/"), "/") && name != "**"
	if deep {
		name = "**/" + name
	}
	for strings.Contains(name, "**/**") { // which says no more, and does not match what is before it
		name = strings.ReplaceAll(name, "**/**", "**")
	}
	switch exact := name; {
	case u != permits:
		if name = loose(name); every(name) && !every(exact) {
			return "", errors.New("it is about nearly every name")
		}
	case strings.ContainsAny(name, `[]{}\`):
		return "", errors.New("it has brackets or backslashes")
	}
	switch {
	case u != permits && every(name):
		name = everyFile
	case strings.HasSuffix(name, "/**"):
	case u == holdsBack: // and what is below
		name += "/**"
	case folder: // and not what has the folder's name
		name += "/**/*"
	}
	return name, nil
}

// every reports whether a glob matches every file of a project: a "*" alone is any name below the folders before it.
func every(glob string) bool {
	names := strings.Split(glob, "/")
	if last := len(names) - 1; last > 0 && names[last] == "*" {
		names = names[:last]
	}
	return !slices.ContainsFunc(names, func(n string) bool { return n != "**" })
}

// loose replaces the signs of a glob that VS Code reads in another way by "*". What it replaces is of a name, and does
// not become a "**" of folders.
func loose(glob string) string {
	names := strings.Split(glob, "/")
	for i, n := range names {
		if n != "**" {
			names[i] = severalStars().ReplaceAllString(looseName(n), "*")
		}
	}
	return strings.Join(names, "/")
}

var severalStars = lazy.Regexp(`\*+`)

func looseName(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '[':
			if end := strings.IndexByte(glob[i:], ']'); end > 0 {
				i += end
			}
			b.WriteByte('*')
		case '\\':
			i++
			b.WriteByte('*')
		case ']', '{', '}', '?':
			b.WriteByte('*')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

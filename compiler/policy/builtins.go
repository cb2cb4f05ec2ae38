package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/ir"
)

// builtinSet is a named set of commands: "@git_read", "@readonly_filters".
type builtinSet struct{ name string }

// Builtins lists the names of the built-in command sets, sorted. A source
// writes them with an "@" in a list of commands.
func Builtins() []string { return []string{"git_read", "readonly_filters"} }

// SetHint is what to write where an agent's rules cannot say what a built-in set says.
const SetHint = `write beside it the exact commands that run without a question ("git status")`

// UsualLines returns what people and agents run most of the built-in sets, for agents to which no rule says a set.
func UsualLines() []string {
	return []string{
		"cat README.md", "git branch", "git diff", "git diff --cached", "git diff --stat", "git log",
		"git log --oneline", "git show", "git status", "git status --short", "ls", "ls -a", "ls -l", "ls -la", "pwd",
		"head", "head -5", "head -10", "head -20", "head -50", "head -100", "sort", "sort -u",
		"tail", "tail -5", "tail -10", "tail -20", "tail -50", "tail -100", "true", "uniq", "wc -l",
	}
}

// UsualLines returns those of [UsualLines] that the subject allows.
func (s *Subject) UsualLines() []string {
	return slices.DeleteFunc(UsualLines(), func(line string) bool {
		return s.Decide(Action{Group: ir.Command, Arg: line}).Decision != ir.Allow
	})
}

// CheckBuiltin reports why a name is not a built-in command set.
func CheckBuiltin(name string) error {
	for _, b := range Builtins() {
		if name == b {
			return nil
		}
	}
	return fmt.Errorf("got %q, want one of %s", "@"+name, strings.Join(quotedBuiltins(), ", "))
}

func quotedBuiltins() []string {
	var q []string
	for _, b := range Builtins() {
		q = append(q, strconv.Quote("@"+b))
	}
	return q
}

// usage says which arguments of a command only read. Options are written out
// with their dashes, separated by spaces; single letters may stand in a cluster
// ("-la"). What is not listed is not permitted, abbreviations included.
type usage struct {
	flags    string // options that may stand without a value
	values   string // options whose value follows, attached ("-n5", "--sort=x") or as the next word
	attached string // options whose value can only be attached
	pattern  string // those of values that stand for the first operand (grep -e)
	paths    string // those of values and attached whose value names a file ("-L 1,5:FILE" after a colon)
	formats  string // those of values and attached whose value is a format of git's
	require  string // flags of which one must be given, the first of them before any operand
	number   bool   // "-5" is an option

	max    int    // the most operands; -1: any
	files  int    // the operands from this one on are files; -1: none
	not    string // what no word begins with, and no value of an option
	object bool   // of git: operands name objects, so that only the path of "REV:path" is a file
	dashes bool   // of git: so do those before a "--"

	searches bool // of git: prints lines of any file
}

// purpose is what a match of a set is for.
type purpose bool

const (
	permit purpose = true  // an allow
	hold   purpose = false // a deny or an ask
)

// match reports whether a command belongs to the set, and which of its operands
// are files that it reads. A command is allowed by a set only as it is known
// whole; deny and ask hold for it behind wrappers too.
func (s *builtinSet) match(c *command, to purpose) ([]word, bool) {
	if to == hold {
		for _, at := range holdStarts(c.words) {
			if files, ok := s.program(c.words[at:], c.dirs, hold); ok {
				return files, true
			}
		}
		return nil, false
	}
	if c.strict || !c.plain {
		return nil, false
	}
	for _, at := range c.skip {
		if at < len(c.words) {
			if files, ok := s.program(c.words[at:], c.dirs, permit); ok {
				return files, true
			}
		}
	}
	return nil, false
}

func holdStarts(words []word) []int {
	if len(words) == 0 {
		return nil
	}
	return programs(words)
}

func (s *builtinSet) program(words []word, in dirs, to purpose) ([]word, bool) {
	name, args := words[0].text, words[1:]
	if to == hold {
		name = base(name)
		if words[0].holes || s.may(name, args) {
			return nil, true
		}
	}
	if s.name == "readonly_filters" {
		u, ok := filters[name]
		if !ok {
			return nil, false
		}
		return u.filter(args)
	}
	if name != "git" || to == permit && !in.atRoot() {
		// IsRooted a folder of the project could carry a git configuration of
		// its own, and git runs what that says.
		return nil, false
	}
	for len(args) > 0 && listed("--no-pager -P --no-optional-locks", args[0].text) {
		args = args[1:]
	}
	if len(args) > 1 {
		if u, ok := gitRead[args[0].text+" "+args[1].text]; ok {
			return u.git(args[2:])
		}
	}
	if len(args) == 0 {
		return nil, false
	}
	u, ok := gitRead[args[0].text]
	if !ok {
		return nil, false
	}
	return u.git(args[1:])
}

// may reports whether a command of which some words are known at run time only may belong to the
// set.
func (s *builtinSet) may(name string, args []word) bool {
	unsure := func(w word) bool { return w.holes || w.names }
	if !slices.ContainsFunc(args, unsure) {
		return false
	}
	if s.name == "readonly_filters" {
		_, ok := filters[name]
		return ok
	}
	for len(args) > 0 && listed("--no-pager -P --no-optional-locks", args[0].text) {
		args = args[1:]
	}
	if name != "git" || len(args) == 0 {
		return false
	}
	for command := range gitRead {
		if sub, _, _ := strings.Cut(command, " "); sub == args[0].text {
			return true
		}
	}
	return unsure(args[0])
}

// filter returns the files that a filter reads, in both readings of its arguments: GNU's
// programs take options behind operands too, all others end them at the first operand. It
// fails where the arguments are not permitted in one of the readings.
func (u *usage) filter(args []word) ([]word, bool) {
	if slices.ContainsFunc(args, func(w word) bool { return w.names }) {
		return nil, false // it may stand for any number of files
	}
	var files []word
	for _, as := range []order{permuted, optionsFirst} {
		p, ok := u.parse(args, as)
		if !ok {
			return nil, false
		}
		files = append(files, p.paths...)
		for i, o := range p.operands {
			if p.files >= 0 && i >= p.files && o.text != "-" {
				files = append(files, o)
			}
		}
	}
	return files, true
}

// git returns the files that a git command names.
func (u *usage) git(args []word) ([]word, bool) {
	p, ok := u.parse(args, permuted)
	if !ok {
		return nil, false
	}
	files := p.paths
	signs := func(words []word) (n int) {
		for _, w := range words {
			if w.names {
				n++
			}
		}
		return n
	}
	if n := signs(args); n != signs(p.operands) || n > 0 && u.max >= 0 {
		return nil, false // it may stand for the value of an option, or for several words
	}
	for i, o := range p.operands {
		// git diff and its like read any file when one lies outside.
		if text := o.script(); outsidePrefix(text, windows) || hasParent(text) {
			return nil, false
		}
		if p.files < 0 || i < p.files {
			continue
		}
		object := u.object || u.dashes && i < p.dashes
		named, ok := gitFiles(o.script(), revisions(object))
		if !ok {
			return nil, false
		}
		files = append(files, named...)
		if o.names && !object {
			files = append(files, word{text: o.stem})
			if o.begins {
				files = append(files, o)
			}
		}
	}
	if u.searches {
		files = append(files, word{text: ".", wide: true})
	}
	for i := range files {
		files[i].said = true
	}
	return files, true
}

// maxNamed bounds how many files one operand of git may name.
const maxNamed = 32

// revisions is whether an operand of git can be a file as well as a revision.
type revisions bool

const (
	orFile       revisions = false
	revisionOnly revisions = true
)

// gitFiles returns the files that an operand of git may name: itself, unless it names an
// object, and the path of "REV:path" at either end of a range. A revision may contain colons
// and dots, and a path too, so that what follows any colon counts.
func gitFiles(operand string, is revisions) ([]word, bool) {
	parts := []string{operand}
	if from, to, ok := strings.Cut(operand, ".."); ok {
		parts = append(parts, from, strings.TrimPrefix(to, ".")) // "A...B"
	}
	var files []word
	for i, part := range parts {
		if is == orFile && (i == 0 || part != "") {
			files = append(files, word{text: part, wide: isPathspec(part)})
		}
		for at := strings.IndexByte(part, ':'); at >= 0; at = strings.IndexByte(part, ':') {
			part = part[at+1:]
			if at == 0 { // ":/path" is one of the top
				part = strings.TrimPrefix(part, "/")
			}
			path, _, _ := strings.Cut(part, "^")
			files = append(files, inTree(part), inTree(path))
		}
	}
	return files, len(files) <= maxNamed
}

// inTree returns a path behind a colon as one of the project. Without a name it is the root.
func inTree(path string) word {
	if path == "" || path[0] == '!' {
		path = "./" + path
	}
	return word{text: path}
}

// isPathspec reports whether an operand of git may be a pattern of paths: a glob, or one with
// a sign of its own (":!x", ":(top)x").
func isPathspec(operand string) bool {
	if strings.ContainsAny(operand, `*?[\`) {
		return true
	}
	signs, ok := strings.CutPrefix(operand, ":")
	signs = strings.TrimPrefix(signs, "/")
	return ok && (signs == "" || strings.IndexByte("!\"#%&'(),-/:;<=>@_`~^", signs[0]) >= 0)
}

func hasParent(path string) bool {
	for _, name := range strings.Split(path, "/") {
		if name == ".." {
			return true
		}
	}
	return false
}

// order is where a program takes options.
type order bool

const (
	permuted     order = false // behind operands too
	optionsFirst order = true  // before the first operand
)

// arguments are the arguments of a command as its usage reads them.
type arguments struct {
	operands []word // the words that are not options
	files    int    // the first operand that is a file; -1: none
	dashes   int    // how many operands stand before "--", 0 without one
	paths    []word // the values of options that name files
}

// parse reads arguments. It fails when an option is not listed, or an operand not permitted.
func (u *usage) parse(args []word, as order) (p arguments, ok bool) {
	p.files = u.files
	required := u.require == ""
	for i := 0; i < len(args); i++ {
		t := args[i].script()
		if u.refuses(t) {
			return p, false
		}
		if t == "--" {
			p.dashes = len(p.operands)
			p.operands = append(p.operands, args[i+1:]...)
			break
		}
		if t == "-" || t == "" || t[0] != '-' {
			if !required {
				return p, false
			}
			if as == optionsFirst {
				p.operands = append(p.operands, args[i:]...)
				break
			}
			p.operands = append(p.operands, args[i])
			continue
		}
		o, ok := u.option(t)
		if !ok {
			return p, false
		}
		if o.next && i+1 < len(args) {
			i++
			o.value = args[i].script()
		}
		if !u.take(o, &p) {
			return p, false
		}
		required = required || listed(u.require, t)
	}
	refused := func(o word) bool { return u.refuses(o.text) }
	return p, required && (u.max < 0 || len(p.operands) <= u.max) && !slices.ContainsFunc(p.operands, refused)
}

// refuses reports whether a word, or the value of an option, is one that the program does not
// take as it is: "@FILE" stands for the arguments that a file has, wherever it stands.
func (u *usage) refuses(text string) bool { return u.not != "" && strings.HasPrefix(text, u.not) }

// take adds what an option with a value says of the arguments. It fails where the value is not
// permitted.
func (u *usage) take(o option, p *arguments) bool {
	if u.refuses(o.value) {
		return false
	}
	if listed(u.pattern, o.name) {
		p.files = 0
	}
	if listed(u.paths, o.name) {
		p.paths = append(p.paths, valueFiles(o)...)
		return o.value != ""
	}
	return !listed(u.formats, o.name) || !runsProgram(o.value)
}

// valueFiles returns the files that an option's value may name.
func valueFiles(o option) []word {
	if o.name != "-L" {
		return []word{{text: o.value}}
	}
	files, _ := gitFiles(o.value, revisionOnly)
	return files
}

// runsProgram reports whether a format has a field that runs a program: the signature of a
// commit ("%G?", "%+GG") or of a ref ("%(signature)").
func runsProgram(format string) bool {
	for _, field := range strings.Split(format, "%")[1:] {
		if strings.HasPrefix(strings.TrimLeft(field, "+- "), "G") {
			return true
		}
	}
	return strings.Contains(format, "signature")
}

// option is an option with a value.
type option struct {
	name  string // "" for a flag
	value string // what is attached
	next  bool   // the next word is the value
}

// option reads a word that begins with "-". It fails where the option is not permitted.
func (u *usage) option(t string) (o option, ok bool) {
	long, value, valued := strings.Cut(t, "=")
	switch {
	case strings.HasPrefix(t, "--") && valued:
		return option{name: long, value: value}, listed(u.values, long) || listed(u.attached, long)
	case listed(u.flags, t):
		return option{}, true
	case listed(u.values, t):
		return option{name: t, next: true}, true
	case strings.HasPrefix(t, "--"):
		return option{}, false
	case u.number && strings.Trim(t[1:], "0123456789") == "":
		return option{}, true
	}
	for i := 1; i < len(t); i++ {
		letter := "-" + t[i:i+1]
		switch last := i == len(t)-1; {
		case listed(u.attached, letter) && !last: // before flags: the value is optional
			return option{name: letter, value: t[i+1:]}, true
		case listed(u.flags, letter):
		case listed(u.values, letter):
			return option{name: letter, value: t[i+1:], next: last}, true
		default:
			return option{}, false
		}
	}
	return option{}, true
}

// listed reports whether a list of words separated by spaces holds one. A
// leading space lists the empty word.
func listed(list, word string) bool {
	if word == "" {
		return strings.HasPrefix(list, " ")
	}
	for list != "" {
		var w string
		w, list, _ = strings.Cut(list, " ")
		if w == word {
			return true
		}
	}
	return false
}

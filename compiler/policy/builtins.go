package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// builtinSet is a named set of commands: "@git_read", "@readonly_filters".
type builtinSet struct{ name string }

// Builtins lists the names of the built-in command sets, sorted. A source
// writes them with an "@" in a list of commands.
func Builtins() []string { return []string{"git_read", "readonly_filters"} }

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
	flags    string // options without a value
	values   string // options whose value follows, attached ("-n5", "--sort=x") or as the next word
	attached string // options whose value can only be attached
	pattern  string // those of values that stand for the first operand (grep -e)
	require  string // flags of which one must be given
	number   bool   // "-5" is an option

	first string // what the first word must be ("list show"); a leading space: or no operand at all
	max   int    // the most operands; -1: any
	files int    // the operands from this one on are files; -1: none
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
	}
	if s.name == "readonly_filters" {
		u, ok := filters[name]
		if !ok {
			return nil, false
		}
		operands, from, ok := u.operands(args)
		var files []word
		for i, o := range operands {
			if ok && from >= 0 && i >= from && o.text != "-" {
				files = append(files, o)
			}
		}
		return files, ok
	}
	if name != "git" || to == permit && !in.atRoot() {
		// Elsewhere a folder of the project could carry a git configuration of
		// its own, and git runs what that says.
		return nil, false
	}
	for len(args) > 0 && listed("--no-pager -P --no-optional-locks", args[0].text) {
		args = args[1:]
	}
	if len(args) == 0 {
		return nil, false
	}
	u, ok := gitRead[args[0].text]
	if !ok {
		return nil, false
	}
	operands, _, ok := u.operands(args[1:])
	if !ok {
		return nil, false
	}
	for _, o := range operands {
		// git diff and its like read any file when one lies outside.
		if text := o.script(); outsidePrefix(text, windows) || hasParent(text) {
			return nil, false
		}
	}
	return nil, true
}

func hasParent(path string) bool {
	for _, name := range strings.Split(path, "/") {
		if name == ".." {
			return true
		}
	}
	return false
}

// operands returns the words that are no options, and the first of them that is
// a file. It fails when an option is not listed, or an operand not permitted.
func (u *usage) operands(args []word) (operands []word, files int, ok bool) {
	files = u.files
	required := u.require == ""
	for i := 0; i < len(args); i++ {
		t := args[i].text
		if t == "--" {
			operands = append(operands, args[i+1:]...)
			break
		}
		if t == "-" || t == "" || t[0] != '-' {
			operands = append(operands, args[i])
			continue
		}
		name, n, ok := u.option(t)
		if !ok {
			return nil, 0, false
		}
		if listed(u.pattern, name) {
			files = 0
		}
		required = required || listed(u.require, t)
		i += n
	}
	if u.max >= 0 && len(operands) > u.max || !required {
		return nil, 0, false
	}
	if u.first != "" {
		// Only the very first word is surely the subcommand.
		if len(operands) == 0 {
			return operands, files, listed(u.first, "")
		}
		first := operands[0].text
		return operands, files, first == args[0].text && first != "" && listed(u.first, first)
	}
	return operands, files, true
}

// option reports whether an option is permitted, its name where it takes a
// value, and how many of the next words are that value.
func (u *usage) option(t string) (name string, words int, ok bool) {
	long, _, valued := strings.Cut(t, "=")
	switch {
	case strings.HasPrefix(t, "--") && valued:
		return long, 0, listed(u.values, long) || listed(u.attached, long)
	case listed(u.flags, t):
		return "", 0, true
	case listed(u.values, t):
		return t, 1, true
	case strings.HasPrefix(t, "--"):
		return "", 0, false
	case u.number && strings.Trim(t[1:], "0123456789") == "":
		return "", 0, true
	}
	for i := 1; i < len(t); i++ {
		letter := "-" + t[i:i+1]
		switch last := i == len(t)-1; {
		case listed(u.flags, letter):
		case listed(u.values, letter) && last:
			return letter, 1, true
		case listed(u.values, letter), listed(u.attached, letter) && !last:
			return letter, 0, true
		default:
			return "", 0, false
		}
	}
	return "", 0, true
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

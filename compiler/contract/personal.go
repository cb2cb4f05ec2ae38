package contract

import (
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Personal is a target whose agent also reads files of the user's own, where the source
// leaves something to the agent.
type Personal interface {
	Target
	// Allows returns what these files permit without a question in a session as a role, by
	// the files in the order in which the agent reads them. home is the user's home folder;
	// places name its files as ~/PATH. A file that the agent would not load permits nothing.
	Allows(project, home fs.FS, p *ir.Project, role string) []Allow
}

// Allow is an entry that permits something without a question.
type Allow struct {
	Groups []ir.Group // what it is about
	Rule   string     // as it is written
	At     diag.Pos
	// Means is what it is about in neutral words, or more than that; nil where these cannot say it.
	Means []NeutralRule
}

// Denied returns where a subject's rules deny all that an allow of a target is about: it has no effect there. A rule
// that is written for the agent alone denies what it says to the letter.
func (a Allow) Denied(t Target, s *policy.Subject, native []ir.NativeRule) (at diag.Pos, denied bool) {
	for _, r := range native {
		if r.Target == t.Name() && r.Decision == ir.Deny && r.Text == a.Rule {
			return r.Pos, true
		}
	}
	for _, m := range a.Means {
		rules := s.Rules(m.Group)
		i := slices.IndexFunc(rules, func(r ir.Rule) bool {
			return r.Decision == ir.Deny && policy.Covers(m.Group, r.Pattern, m.Pattern)
		})
		if i < 0 {
			return diag.Pos{}, false
		}
		at = rules[i].Pos
	}
	return at, len(a.Means) > 0
}

// Filling returns those of a role's allows that are about a group which the source leaves
// to the agent.
func Filling(allows []Allow, left []ir.Group) []Allow {
	return slices.DeleteFunc(slices.Clone(allows), func(a Allow) bool {
		return !slices.ContainsFunc(a.Groups, func(g ir.Group) bool { return slices.Contains(left, g) })
	})
}

// Runner is a target whose agent runs programs, or takes over settings, that files of the project
// name beside what the source allows: hooks, helpers, variables, people's own rules.
type Runner interface {
	Target
	// Runs returns these of a session as the first of some subjects, which can become the others.
	// emitted are the target's artifacts: what they say is not listed again.
	Runs(project fs.FS, emitted []File, p *ir.Project, subjects []ir.SubjectRef) []Run
}

// Loading is a Lodging whose agent starts the programs and the servers of a project in a session as a subject too.
type Loading interface {
	Lodging
	// Loads returns those that a build did not write.
	Loads(project, compiled fs.FS) []Lodger
}

// Loaded names programs and servers of a project, each with a hash of what it consists of: one that was changed is
// another one.
func Loaded(project fs.FS, list []Lodger) (out []Run) {
	for _, l := range list {
		text, sum := l.Named(), l.Sum(project)
		switch {
		case (l.Kind == EntryServer || l.Kind == EntrySetting) && l.Entry != nil:
			line := lineOf(l.Entry)
			text, sum = text+": "+line, SumOfProgram(project, JSONLine(l.Entry.Any()), line)
		case l.When != "":
			text += " at " + l.When
		case !l.Runs() && l.Kind != EntryServer:
			continue
		}
		out = append(out, Run{Of: l.At.File, Text: text + ", sha256 " + sum})
	}
	return out
}

// Run is something that an agent runs or takes over from a file.
type Run struct {
	Of    string // the subject or the file that says it
	Text  string
	Place string // a JSON pointer into the file; "" where there is none
}

// Granter is a target whose agent takes permissions from files that are no subject, such as a command
// or a skill, for as long as a session follows one.
type Granter interface {
	Target
	// Grants returns what each of these files of a project permits. nested are those in folders below the
	// project's own.
	Grants(project fs.FS, nested []string) []Grant
	// Hooks returns the programs that these files start.
	Hooks(project fs.FS, nested []string) []Lodger
	// Nested is a glob over such files in any folder of a project, as git reads it; "": there are none.
	Nested() string
	// Granted returns the file of a project, as its agent would read it with some of them in it; nil
	// for one that the agent does not read.
	Granted(project fs.FS, grants []Grant) *File
}

// Grant is a rule of such a file.
type Grant struct {
	Rule string // as it is written
	At   diag.Pos
}

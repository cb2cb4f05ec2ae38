package contract

import (
	"io/fs"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Dialect is a target whose agent has a rule grammar of its own. A role may contain
// rules in it. What the neutral vocabulary can say of a rule holds for every target;
// the rest stays a rule for this agent alone ([ir.NativeRule]).
type Dialect interface {
	Target
	// RuleLists returns the lists of rules of the dialect that a role may have, in the order in which they are
	// read.
	RuleLists() []RuleList
	// TranslateRule turns a rule into neutral ones. It becomes neutral only where that
	// means no more for an allow and no less for a deny or an ask; ok is false for
	// any other rule. An error says why the agent would not read the rule.
	TranslateRule(text string, d ir.Decision, inv Inventory) (neutral []NeutralRule, ok bool, err error)
	// BadRule is the code of a rule that the agent would not read.
	BadRule() diag.Code
}

// Worded is a dialect with rules that mean what their text does not say.
type Worded interface {
	Dialect
	// Means says what a rule of a decision means; "" where its text is enough.
	Means(text string, d ir.Decision) string
}

// Restating is a dialect of which a build makes rules of what can says: some of its rules can be said there too.
type Restating interface {
	Dialect
	// Restate returns the neutral rule that is nearest to one of the dialect; where there is none, ok is false, and
	// the rule has the group, if there is one. Both need not decide alike: whoever uses it compares what they permit.
	Restate(text string, d ir.Decision) (rule NeutralRule, ok bool)
}

// Dialects returns the targets that are dialects.
func Dialects(targets []Target) []Dialect {
	var out []Dialect
	for _, t := range targets {
		if d, ok := t.(Dialect); ok {
			out = append(out, d)
		}
	}
	return out
}

// RuleList is a list of rules of a dialect: agents.NAME.native.DECISION of a subject.
type RuleList struct {
	Decision ir.Decision // what every rule in it decides
	// Field is the field of a role that has such rules too, and those that can has words for; "" for none.
	Field string
	// Modes is set where a mode may have the list too.
	Modes bool
}

// NeutralRule is a rule of the source's vocabulary.
type NeutralRule struct {
	Group   ir.Group
	Server  string // mcp only: a name of the inventory, or a glob
	Pattern ir.Pattern
}

// Inventory reports what a rule may refer to.
type Inventory interface {
	Servers() []ir.Server
	Mode(slug string) bool
	// UnknownServer reports a literal server that the inventory does not have, with
	// the names that it has. It returns what TranslateRule returns as ok: the rule
	// means nothing then.
	UnknownServer(name string, known []string) bool
	// Tool checks a tool that a rule names.
	Tool(server, tool string)
}

// Linter is a target that adds rules to `modec lint`.
type Linter interface {
	Target
	LintRules() []LintRule
}

// Reviewer is a target whose artifacts are called by code that people write, which it reviews
// for `modec lint`.
type Reviewer interface {
	Target
	// ReviewRules are what Review finds; Native is nil, and the examples are in that code.
	ReviewRules() []LintRule
	// Review reads the project's files and runs nothing of them.
	Review(project fs.FS, o Options) diag.List
}

// LintRule is one thing that lint looks for in the rules of a target's own grammar.
type LintRule struct {
	ID       diag.Code
	Severity diag.Severity
	Doc      string // a paragraph: what it finds, why it matters, what to do
	// Bad is a source in which it finds something, Good one in which it does not.
	Bad, Good string
	// Native judges a rule of the target's own grammar. problem is empty where there is
	// nothing to find.
	Native func(ir.NativeRule) (problem, hint string)
}

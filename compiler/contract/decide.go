package contract

import (
	"io/fs"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Judged is a target whose artifacts can be judged from outside: beside the
// emitter stands a model of how the agent decides. The two share no code but
// the format's parser, so that one's mistake does not hide the other's.
type Judged interface {
	Target
	// Open reads the artifacts below fsys as the agent would: those of this
	// target, and on a disk also the files of its owner that the agent reads
	// beside them. It returns a Decider for each surface on which the agent
	// decides in its own way. What the agent would ignore or refuse in a file
	// is a warning; an error means that nothing can be judged.
	Open(fsys fs.FS, o Options) ([]Decider, diag.List)
}

// Decider answers as the agent itself would, from artifacts read once. It is
// safe for concurrent use and never calls the policy of the source: of a hook
// it runs the real entry point on the emitted policy file.
type Decider interface {
	// Surface names where the agent decides ("ide", "cli"); "" where the
	// target has one.
	Surface() string
	// Assumes lists what the verdicts take for granted and no artifact says:
	// settings of the user, versions, what the agent was started with.
	Assumes() []string
	// Decide returns what becomes of an action. A subject that the artifacts
	// do not hold has the zero Verdict.
	Decide(ir.SubjectRef, policy.Action) Verdict
}

// Verdict is what an agent does with an action.
type Verdict struct {
	Answer // with everything in place
	// Bare is what remains where the agent does not run its hook; nil where
	// no hook stands behind the Answer.
	Bare *Answer
	// Hole is what the agent permits past its own artifacts, by a tool or an
	// input that it does not check; nil where no such way is known.
	Hole *Hole
	// BareHole is the same where the agent does not run its hook: what it
	// approves by itself and no rule of its format could hold back alone.
	BareHole *Hole
}

// Answer is a decision and the halves of it that the artifacts govern. Without
// Access a Deny means no more than Ask: the artifacts cannot forbid. Without
// Approval an Allow means no more than Ask.
type Answer struct {
	Decision ir.Decision
	Governs  Halves
	Rule     string   // the artifact's rule, as it stands there
	At       diag.Pos // where it stands; only the file where a rule is missing
}

// Hole is a known gap in an agent's own enforcement.
type Hole struct {
	Decision ir.Decision
	Why      string // one sentence: the tool or the input that goes past
}

// PersonDecider is a Decider whose subjects are people: it decides by the
// claims of a verified token instead of by a role's name.
type PersonDecider interface {
	Decider
	// DecidePerson returns what becomes of an action of somebody with these
	// claims.
	DecidePerson(claims map[string][]string, a policy.Action) Verdict
}

// Patterned is a Decider that tells which patterns a subject's artifacts hold, in
// the source's grammar as near as it goes. Witnesses are built from them too, so
// that a rule which only the artifact has is met.
type Patterned interface {
	Decider
	Patterns(ir.SubjectRef) map[ir.Group][]ir.Pattern
}

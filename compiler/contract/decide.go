package contract

import (
	"io/fs"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
)

// Judged is a target with a model of how its agent decides from artifacts. The model and
// the emitter share the format's parser and nothing else, so that a mistake in one does not
// hide the same mistake in the other.
type Judged interface {
	Target
	// Open reads the artifacts below fsys as the agent would, and on a disk also the
	// user's files that the agent reads beside them. It returns a Decider for each
	// surface on which the agent decides in a different way. It warns about what the
	// agent would ignore or refuse in a file; an error means that nothing can be judged.
	Open(fsys fs.FS, o Options) ([]Decider, diag.List)
	// Alone returns a Decider for each surface of Open, or one for all (""), that decides as the agent does by
	// itself, in sessions for which modec wrote nothing. Of a role only the permission mode
	// counts, where the agent has it, and of a mode that it is there. Verify compares with
	// it what the source leaves to the agent.
	Alone(*ir.Project) []Decider
}

// Decider decides as the agent itself would, from artifacts that were read once. It is safe
// for concurrent use. It never asks the policy of the source; where the artifacts have a
// hook, it runs the hook's real entry point on the emitted policy file.
type Decider interface {
	// Surface names where the agent decides ("ide", "cli"); "" where there is only one.
	Surface() string
	// Assumes lists what the verdicts depend on and no artifact says: settings of the
	// user, versions, the arguments with which the agent was started.
	Assumes() []string
	// Decide returns what the agent does with an action. It returns the zero Verdict for
	// a subject that the artifacts do not contain.
	Decide(ir.SubjectRef, policy.Action) Verdict
}

// OnSurface returns the decider of a surface, nil where a list has none.
func OnSurface(list []Decider, surface string) Decider {
	for _, d := range list {
		if d.Surface() == surface {
			return d
		}
	}
	return nil
}

// AloneOn returns what decides on a surface by itself: the decider of the surface, or else one that has none.
func AloneOn(list []Decider, surface string) Decider {
	if d := OnSurface(list, surface); d != nil {
		return d
	}
	return OnSurface(list, "")
}

// Verdict is what an agent does with an action.
type Verdict struct {
	Answer // with everything in place
	// Bare is the answer where the agent does not run its hook; nil where the Answer
	// does not depend on a hook.
	Bare *Answer
	// Hole is what the agent permits in spite of its artifacts, by a tool or an input
	// that it does not check; nil where no such way is known.
	Hole *Hole
	// BareHole is the same where the agent does not run its hook: what it approves by
	// itself and no rule of its format could restrict.
	BareHole *Hole
	// Lack is what stands in the artifacts and does not hold, whatever it would decide; nil where all holds.
	Lack *Lack
}

// Lack is a part of an artifact without effect: a hook that is turned off, a file that the agent does not load.
type Lack struct {
	Why string
	At  diag.Pos // of what takes the effect away
}

// Answer is a decision and the halves of it that the artifacts govern. Without Access, a
// Deny means no more than an Ask: the artifacts cannot forbid. Without Approval, an Allow
// means no more than an Ask.
type Answer struct {
	Decision ir.Decision
	Governs  Halves
	Rule     string   // the artifact's rule, as it is written
	At       diag.Pos // its place; only the file where a rule is missing
}

// Hole is a known gap in an agent's own enforcement.
type Hole struct {
	Decision ir.Decision
	Why      string // one sentence: the tool or the input that is not checked
	// Stricter is set where the session is in a mode that a person chose in a file of their own, and that permits less
	// than the one by which the agent starts by itself: that opens nothing.
	Stricter bool
}

// Past returns what is permitted where a decision has a hole; nil is none.
func (h *Hole) Past(d ir.Decision) ir.Decision {
	if h == nil {
		return d
	}
	return max(d, h.Decision)
}

// PersonDecider is a Decider that also decides for principals: by the claims of a verified
// token instead of by a role's name.
type PersonDecider interface {
	Decider
	// DecidePerson returns what becomes of an action of a principal with these claims, nil for
	// one without a verified token.
	DecidePerson(claims map[string][]string, a policy.Action) Verdict
}

// Patterned is a Decider that returns the patterns in a subject's artifacts, translated to
// the source's grammar as closely as possible. Verify tries actions that match them too, so
// that it finds a rule that only the artifact has.
type Patterned interface {
	Decider
	Patterns(ir.SubjectRef) map[ir.Group][]ir.Pattern
}

// CallNamer is a Decider that returns an action for each call that a rule in a subject's artifacts names and that a
// source may not know: a tool of a server, and one of the agent's own tools ([ir.Unknown]). Verify tries them too:
// elsewhere one name stands for all that no inventory lists. What a rule names of the given servers, by whatever name
// the agent has for them, is not among them.
type CallNamer interface {
	Decider
	NamedCalls(ref ir.SubjectRef, servers []string) []policy.Action
}

// Blaming is a Decider of an agent that reads several files as one, where one may change what the others say without
// saying itself what is permitted.
type Blaming interface {
	Decider
	// Cause returns where a file of somebody's own does that to an action, and how; false where none does.
	Cause(ref ir.SubjectRef, a policy.Action, somebodys func(file string) bool) (at diag.Pos, how string, ok bool)
}

// Container is a Decider that says which subjects its artifacts contain. Of any other subject
// Decide returns the zero Verdict.
type Container interface {
	Decider
	Contains(ir.SubjectRef) bool
}

// Regular is a Decider whose decisions about the plain arguments of some groups ([policy.Plain])
// depend on regular languages alone.
type Regular interface {
	Decider
	// Languages returns them: of two plain arguments of which the same languages of these have
	// both or neither, Decide thinks the same, but for the rule that decides. It fails where
	// something that is not regular decides, with [regexlang.ErrNotRegular] for an expression.
	Languages(ir.SubjectRef, policy.Field, *regexlang.Space) ([]regexlang.Language, error)
}

// Knowing is a Regular that decides some plain lines by more than languages: those of programs whose
// arguments its agent knows.
type Knowing interface {
	Regular
	// KnownPrograms returns what these lines begin with, wherever the program lies, in order: "cat",
	// "git log".
	KnownPrograms() []string
}

// Renaming is a Decider of an agent that has names of tools in fewer letters, so that two may have the same.
type Renaming interface {
	Decider
	// ToolName returns a tool's name as the agent has it.
	ToolName(name string) string
}

// Tooled is a Decider of an agent whose files name tools too, some of which no action stands for: a
// search of the web, and one of several tools that edit.
type Tooled interface {
	Decider
	// OwnTools lists these tools, in order.
	OwnTools() []OwnTool
	// DecideTool returns what the agent does with a call of such a tool that no rule about its
	// input concerns.
	DecideTool(ir.SubjectRef, string) Verdict
}

// OwnTool is a tool by its agent's own name.
type OwnTool struct {
	Name  string
	Group ir.Group // that it belongs to; ir.Unknown for none
}

// Starter is a target of which a session that names no agent starts as one of the agent's own, by the rules of the
// project for that one.
type Starter interface {
	Target
	// Starts returns its name: a project may have a mode of that name.
	Starts() string
}

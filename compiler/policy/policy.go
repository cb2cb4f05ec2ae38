// Package policy decides what a subject may do.
package policy

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// MCPKind says which part of an MCP server an action touches.
type MCPKind uint8

const (
	Tool MCPKind = iota
	Resource
	Prompt
)

// Action is one thing that an agent may try.
type Action struct {
	Group  ir.Group
	Server string  // mcp only: the server's inventory name
	Arg    string  // path, command line, host, slug; for mcp the tool's name
	Kind   MCPKind // mcp only
}

// Result is a decision and what decided it.
type Result struct {
	Decision ir.Decision
	Rule     string   // as a person reads it: `deny "git push *"`, `default of read`
	Pos      diag.Pos // where the deciding rule is written; zero for a rule of modec itself
	From     string   // "policy readonly" when the rule was inherited
}

// Engine answers for every subject of a project. It is safe for concurrent
// use; a subject is compiled when it is first asked for.
type Engine struct {
	project *ir.Project
}

// New prepares an engine. The project's patterns have been checked by the
// compiler; one that does not compile fails the first Subject that uses it.
func New(p *ir.Project) *Engine { return &Engine{project: p} }

// Project returns the model that the engine decides by.
func (e *Engine) Project() *ir.Project { return e.project }

// Subject compiles one subject's rules.
func (e *Engine) Subject(ref ir.SubjectRef) (*Subject, error) { return &Subject{}, nil }

// Subject is one subject's compiled rules.
type Subject struct{}

// Decide returns the decision for an action.
func (s *Subject) Decide(a Action) Result { return Result{} }

// Rules returns every rule that may match in a group other than mcp: own,
// inherited, guards (edit) and what a role's modes say (modes).
func (s *Subject) Rules(g ir.Group) []ir.Rule { return nil }

// Default returns the decision of a group other than mcp where no rule
// matches: the table's default, else what rule 2 and permissionMode say.
func (s *Subject) Default(g ir.Group) Result { return Result{} }

// Outside returns the ceiling of read or edit outside the project root.
func (s *Subject) Outside(g ir.Group) Result { return Result{} }

// UnknownTool returns the decision for a tool that maps to no group.
func (s *Subject) UnknownTool() Result { return Result{} }

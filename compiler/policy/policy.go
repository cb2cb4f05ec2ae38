package policy

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/cache"
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
	Args   string  // of a call of a tool: its arguments as a JSON object, "" where they are not known
	Most   bool    // in the place of Args: those with which the call may do the most
}

// Result is a decision and what decided it.
type Result struct {
	Decision ir.Decision
	Rule     string   // as a person reads it: `deny "git push *"`, `default of read`
	Reason   string   // Rule with what made it decide, where that is a part of a command line: see Explanation
	Pos      diag.Pos // where the deciding rule is written; zero for a rule of modec itself
	From     string   // "policy readonly" when the rule was inherited

	// Mapped is what a written permissionMode means on an agent that lacks the mode, where
	// the decision is Agent. It is Agent too where no permissionMode is written.
	Mapped ir.Decision

	// Odd is set where a command line is not plain, and a plain one that reads alike would be
	// decided as Read.
	Odd  bool
	Read ir.Decision

	named  bool   // decided by a file that the command names
	quiet  bool   // decided by the project's unsaid, which states nothing in a pair
	left   bool   // the subject leaves it to its agent, and everyone alone decides
	beside string // of a rule about lines of a kind: what it is that makes it decide beside that
}

// Explanation returns what a person is told of a decision: its rule, and the part of a command line
// that made it decide.
func (r *Result) Explanation() string { return cmp.Or(r.Reason, r.Rule) }

// Quiet reports whether the project's unsaid alone decided: in a role in a mode it gives way to what the other half
// says.
func (r *Result) Quiet() bool { return r.quiet }

// Named reports whether a file decided that a command names, which files of agents do not compare.
func (r *Result) Named() bool { return r.named }

// since returns the result with what made it decide.
func (r Result) since(part string) Result {
	switch {
	case part == "" || r.Decision == ir.Agent:
	case r.beside != "":
		r.Reason = part + ", and " + r.beside
	default:
		r.Reason = r.Rule + ", since " + part
	}
	return r
}

// WithoutPermissionMode returns the decision for an agent that lacks the role's permission mode.
func (r *Result) WithoutPermissionMode() ir.Decision {
	if r.Decision == ir.Agent {
		return r.Mapped
	}
	return r.Decision
}

// Engine answers for every subject of a project. It is safe for concurrent
// use; a subject is compiled when it is first asked for, and once.
type Engine struct {
	project   *ir.Project
	patterns  patterns
	inventory inventory
	digests   func() func(ir.SubjectRef) string
	times     *times
	closed    *Engine             // of an engine with times open: the one with none
	open      func(ir.Times) bool // and which are
	text      bool                // it decides by text alone: see OnText
	onText    *Engine

	paths sync.Pool // *filePath

	mu       sync.Mutex
	modes    map[string]*side
	roles    map[string]*side
	everyone func() (*side, error)                 // nil without a ceiling
	subjects map[ir.SubjectRef]*Subject            // modes, and roles
	pairs    *cache.Cache[ir.SubjectRef, *Subject] // roles in modes: their sides are kept anyway
	views    map[string]*Engine                    // by target: see For
}

// mostPairs is how many roles in modes at least an engine keeps.
const mostPairs = 256

// New prepares an engine. It decides with every time closed: see [Engine.At]. The project's patterns
// have been checked by the compiler; one that does not compile fails every Subject that uses it.
func New(p *ir.Project) *Engine {
	e := &Engine{
		project:   p,
		inventory: newInventory(slices.Concat(p.Servers, p.Behind)),
		modes:     map[string]*side{},
		roles:     map[string]*side{},
		subjects:  map[ir.SubjectRef]*Subject{},
		pairs:     cache.New[ir.SubjectRef, *Subject](mostPairs),
		digests:   sync.OnceValue(p.Digests),
		times:     &times{all: p.Times()},
	}
	e.everyone = sync.OnceValues(func() (*side, error) {
		if p.Everyone == nil {
			return nil, nil
		}
		return e.newSide(&side{name: ir.OfEveryone, can: p.Everyone})
	})
	e.paths.New = func() any { return newFilePath() }
	return e
}

// Read returns the engine of a compiled policy. It is the same for everybody who reads the same
// text, as the artifacts of several agents do, while it is among the last that were read.
func Read(data []byte) (*Engine, error) {
	key := sha256.Sum256(data)
	if e, ok := engines.Get(key); ok {
		return e, nil
	}
	p, err := ir.Unmarshal(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	e := New(p)
	engines.Put(key, e)
	return e, nil
}

var engines = cache.New[[sha256.Size]byte, *Engine](2)

// Digest returns the project's [ir.Project.Digest] of a subject.
func (e *Engine) Digest(ref ir.SubjectRef) string { return e.digests()(ref) }

// Project returns the model that the engine decides by.
func (e *Engine) Project() *ir.Project { return e.project }

// Subject returns one subject's compiled rules. It fails when the project has
// no such mode or role, and when a pattern does not compile.
func (e *Engine) Subject(ref ir.SubjectRef) (*Subject, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	pair := ref.Role != "" && ref.Mode != ""
	if s, ok := e.pairs.Get(ref); pair && ok {
		return s, nil
	}
	if s := e.subjects[ref]; s != nil {
		return s, nil
	}
	if ref == (ir.SubjectRef{}) {
		return nil, fmt.Errorf("a subject is a mode or a role; this one is neither")
	}
	s := &Subject{engine: e, ref: ref}
	if ref.Role != "" {
		side, err := e.roleSide(ref.Role)
		if err != nil {
			return nil, err
		}
		s.sides = append(s.sides, side)
	}
	if ref.Mode != "" {
		side, err := e.modeSide(ref.Mode)
		if err != nil {
			return nil, err
		}
		s.sides = append(s.sides, side)
	}
	s.ceiling = s.sides[0].alone.ceiling
	s.mcp = sync.OnceValue(s.compileMCP)
	if pair {
		e.pairs.Put(ref, s)
	} else {
		e.subjects[ref] = s
	}
	return s, nil
}

func (e *Engine) roleSide(name string) (*side, error) {
	if s := e.roles[name]; s != nil {
		return s, nil
	}
	r := e.project.Role(name)
	if r == nil {
		return nil, fmt.Errorf("the project has no role %q", name)
	}
	s, err := e.newSide(&side{name: "role " + name, can: &r.Can, role: r})
	if err == nil {
		e.roles[name] = s
	}
	return s, err
}

func (e *Engine) modeSide(slug string) (*side, error) {
	if s := e.modes[slug]; s != nil {
		return s, nil
	}
	m := e.project.Mode(slug)
	if m == nil {
		return nil, fmt.Errorf("the project has no mode %q", slug)
	}
	s, err := e.newSide(&side{name: "mode " + slug, can: &m.Can, mode: m})
	if err == nil {
		e.modes[slug] = s
	}
	return s, err
}

// Subject is one subject's compiled rules. It is safe for concurrent use.
type Subject struct {
	engine  *Engine
	ref     ir.SubjectRef
	sides   []*side // one, or the role's and the mode's
	ceiling *side   // what everyone states; nil: nothing
	mcp     func() *mcpTable
	lowered sync.Map // the rules of each group with the ceiling
}

// Decide returns the decision for an action. An unknown group is denied.
func (s *Subject) Decide(a Action) Result {
	switch a.Group {
	case ir.Read, ir.Edit:
		if OfProcess(a.Arg) {
			return s.DecideAt(&atTheRoot, a)
		}
		return *s.file(a.Group, a.Arg)
	case ir.Command:
		return s.command(&atTheRoot, a.Arg)
	case ir.Web:
		return *s.web(a.Arg)
	case ir.MCP:
		return *s.tool(a)
	case ir.Modes:
		return *s.over(ir.Modes, func(side *side) *Result { return side.modes.decide(a.Arg) })
	case ir.Unknown:
		return s.UnknownTool()
	}
	return Result{Rule: "unknown group"}
}

// DecideWithoutAgent decides an action where there is no agent, and so no shell: what the subject leaves to one is
// denied, also where everyone is asked about it.
func (s *Subject) DecideWithoutAgent(a Action) Result {
	r := s.Decide(a)
	if r.Decision == ir.Agent || r.left {
		r.Decision, r.Mapped = ir.Deny, ir.Deny
	}
	return r
}

// Rules returns every rule that may match in a group other than mcp: own,
// inherited, what a role's modes say (modes), and what everyone denies or asks about: see
// [Subject.below]. For a role in a mode they are those of every side that states the group; only
// Decide says how they combine. The caller must not change them.
func (s *Subject) Rules(g ir.Group) []ir.Rule {
	if s.ceiling == nil || !s.ceiling.states(g) {
		return s.ownRules(g)
	}
	if l, ok := s.lowered.Load(g); ok {
		return l.([]ir.Rule)
	}
	all := s.below(g, s.ownRules(g))
	s.lowered.Store(g, all)
	return all
}

// ownRules is Rules without what everyone is asked about.
func (s *Subject) ownRules(g ir.Group) (all []ir.Rule) {
	sides := s.own(g)
	if len(sides) == 1 {
		return slices.Clip(sides[0].rules(g))
	}
	for _, side := range sides {
		all = append(all, side.rules(g)...)
	}
	return all
}

// Restricts reports whether a rule of a group denies something or asks about it.
func (s *Subject) Restricts(g ir.Group) bool {
	return slices.ContainsFunc(s.Rules(g), func(r ir.Rule) bool { return r.Decision < ir.Allow })
}

// Default returns the decision of a group where no rule matches: the table's
// default, else what rule 2 and permissionMode say. For mcp it is the decision
// for a server that no entry names, for unknown that for all tools.
func (s *Subject) Default(g ir.Group) Result {
	if g == ir.Unknown {
		return s.UnknownTool()
	}
	return *s.over(g, func(side *side) *Result { return side.fallback(g) })
}

// Left returns the groups in which the subject leaves to the agent what no rule matches.
func (s *Subject) Left() []ir.Group {
	var left []ir.Group
	for _, g := range ir.Groups {
		if s.Default(g).Decision == ir.Agent && !slices.ContainsFunc(s.Rules(g), ir.Rule.DeniesAll) {
			left = append(left, g)
		}
	}
	if s.UnknownTool().Decision == ir.Agent {
		left = append(left, ir.Unknown)
	}
	return left
}

// Leaves reports whether the subject, or the role or the mode of it, may leave something of a group to the agent.
func (s *Subject) Leaves(g ir.Group) bool {
	return g == ir.MCP || slices.ContainsFunc(s.sides, func(side *side) bool {
		return side.fallback(g).Decision == ir.Agent
	})
}

// Outside returns the ceiling of read or edit outside the project root.
func (s *Subject) Outside(g ir.Group) Result {
	if g != ir.Read && g != ir.Edit {
		return Result{Rule: "unknown group"}
	}
	r := s.over(g, func(side *side) *Result { return side.outside(g) })
	for _, side := range s.sides {
		if side.writesOutside(g) {
			r = both(r, side.outside(g))
		}
	}
	return *r
}

// UnmatchedOutside returns the decision for paths outside of the project that no rule names: that of a rule which
// matches all of them, and else the default within [Subject.Outside].
func (s *Subject) UnmatchedOutside(g ir.Group) Result {
	if r, ok := s.alike(g, "/zq", "/a", "/b/.c", "/D_e/f-1"); ok {
		return r
	}
	rest, ceiling := s.Default(g), s.Outside(g)
	return *both(&rest, &ceiling)
}

// Unmatched returns the decision for arguments of read, edit, command or web that no rule names: that of a rule which
// matches all of them, and else the default.
func (s *Subject) Unmatched(g ir.Group) Result {
	of := []string{"zq", "a", "b/.c", "D_e/f-1"}
	switch g {
	case ir.Command:
		of = []string{"zq", "a b", "c.d --e f_g"}
	case ir.Web:
		of = []string{"zq.zq", "a.b-c.de"}
	}
	if r, ok := s.alike(g, of...); ok {
		return r
	}
	return s.Default(g)
}

// alike returns the decision for some arguments that have no letter in common, and whether it is the same for all.
func (s *Subject) alike(g ir.Group, of ...string) (r Result, ok bool) {
	for i, arg := range of {
		one := s.Decide(Action{Group: g, Arg: arg})
		if i > 0 && one.Decision != r.Decision {
			return Result{}, false
		}
		r = one
	}
	return r, true
}

// UnknownTool returns the decision for a tool that maps to no group.
func (s *Subject) UnknownTool() Result {
	var written []*side
	for _, side := range s.sides {
		if side.can.Unknown != nil {
			written = append(written, side)
		}
	}
	if len(written) == 0 {
		written = s.sides
	}
	r := &written[0].unknown
	for _, side := range written[1:] {
		r = side.lower(r, &side.unknown)
	}
	if s.ceiling != nil {
		r = s.ceiling.lower(r, &s.ceiling.unknown)
	}
	return *r
}

// stating returns the sides that say something of a group, all when none does, and the ceiling where it does.
func (s *Subject) stating(g ir.Group) []*side {
	sides := s.own(g)
	if s.ceiling != nil && s.ceiling.states(g) {
		return append(sides[:len(sides):len(sides)], s.ceiling)
	}
	return sides
}

// own is stating without the ceiling.
func (s *Subject) own(g ir.Group) []*side {
	if len(s.sides) == 1 {
		return s.sides
	}
	switch role, mode := s.sides[0].states(g), s.sides[1].states(g); {
	case role && !mode:
		return s.sides[:1]
	case mode && !role:
		return s.sides[1:]
	}
	return s.sides
}

// over returns the lowest of what the stating sides decide.
func (s *Subject) over(g ir.Group, decide func(*side) *Result) *Result {
	sides := s.stating(g)
	r := decide(sides[0])
	for _, side := range sides[1:] {
		r = side.lower(r, decide(side))
	}
	return r
}

// lower composes what two sides decide: the less permissive, the first when they agree.
// What only the project's unsaid decides gives way to the other side.
func lower(a, b *Result) *Result {
	switch {
	case a.quiet != b.quiet && a.quiet && b.Decision != ir.Agent:
		return b
	case a.quiet != b.quiet && b.quiet && a.Decision != ir.Agent:
		return a
	case b.Decision < a.Decision:
		return b
	}
	return a
}

// mapped returns the result as the permission mode of its role means it.
func (r Result) mapped() *Result {
	r.Decision = r.Mapped
	return &r
}

// both returns the result of an action that needs two, the first when they agree.
func both(a, b *Result) *Result {
	if a.Decision != b.Decision && ir.Both(a.Decision, b.Decision) == b.Decision {
		return b
	}
	return a
}

func result(d ir.Decision, pos diag.Pos, from string, rule ...string) Result {
	return Result{Decision: d, Rule: strings.Join(rule, ""), Pos: pos, From: from}
}

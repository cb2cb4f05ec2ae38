package contract

import (
	"slices"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Caller is who asks a hook about a call: the session that the hook is for, or an agent to which it handed work. What a
// caller may do is what it means to an agent that lacks permission modes.
type Caller struct {
	Ref     ir.SubjectRef
	Session *policy.Subject // as which the agent was started

	subject *policy.Subject // the session, or it in a mode
	beside  *policy.Subject // of a mode that works in a session of another one: that one; else nil
	disk    *Disk
	folder  string
	known   map[string]any // the arguments of its call; nil: they are not known
}

// NewCaller returns who asks: the subject of a request, at work in a folder, the project's where it is empty. mode is
// that of the agent that calls; nil for the session, and for an agent of somebody's own, which may do what its session
// may.
func NewCaller(req *HookRequest, disk *Disk, folder string, mode *ir.Mode) (*Caller, error) {
	session, err := req.Policy.Subject(req.Subject)
	if err != nil {
		return nil, err
	}
	c := &Caller{Ref: req.Subject, Session: session, subject: session, disk: disk, folder: folder}
	if folder == "" {
		c.folder = req.Root
	}
	if mode == nil {
		return c, nil
	}
	ref := ir.SubjectRef{Role: req.Subject.Role, Mode: mode.Slug}
	if ref.Role == "" && mode.Slug != req.Subject.Mode {
		c.beside = session
	}
	c.Ref = ref
	c.subject, err = req.Policy.Subject(ref)
	return c, err
}

// Decide decides an action of the caller, that of a server's tool with the arguments of its call.
func (c *Caller) Decide(a policy.Action) policy.Result {
	if a.Group == ir.MCP && c.known != nil {
		a.Args = string(JSONLine(c.known))
	}
	return c.over(func(s *policy.Subject) policy.Result { return s.Decide(a) })
}

// KnownTools returns known tools of a server of which the inventory may lack some ([policy.Subject.KnownTools]).
func (c *Caller) KnownTools(server string) []string { return c.subject.KnownTools(server) }

// ToolsNamed returns those of the tools of a server that a name may stand for, as an agent writes it, that are to be
// decided: these names, but for those about which nothing but what holds for every tool decides, where it is the name
// of a known tool that is allowed. is reports whether it is that of a tool.
func (c *Caller) ToolsNamed(server string, names []string, is func(tool string) bool) []string {
	a := policy.Action{Group: ir.MCP, Server: server, Arg: UnknownTool}
	rest, allowed := c.Decide(a), false
	var known []string
	for _, tool := range c.subject.KnownTools(server) {
		if is(tool) {
			a.Arg = tool
			known, allowed = append(known, tool), allowed || c.Decide(a).Decision == ir.Allow
		}
	}
	for _, name := range names {
		a.Arg = name
		if r := c.Decide(a); !slices.Contains(known, name) && (!allowed || r.Pos != rest.Pos) {
			known = append(known, name)
		}
	}
	return known
}

// At decides an action at the disk.
func (c *Caller) At(a policy.Action) policy.Result {
	return c.over(func(s *policy.Subject) policy.Result { return c.disk.Decide(s, a, c.folder) })
}

// AtAll decides an action on each of some paths, which a call needs all; [ir.Agent] for none.
func (c *Caller) AtAll(g ir.Group, paths []string) (all policy.Result) {
	all.Decision = ir.Agent
	for _, p := range paths {
		all = BothResults(all, c.At(policy.Action{Group: g, Arg: p}))
	}
	return all
}

// UnknownTool decides a tool of which nobody knows what it does.
func (c *Caller) UnknownTool() policy.Result { return c.over((*policy.Subject).UnknownTool) }

// Restricts reports whether the caller may not do everything of a group without a question.
func (c *Caller) Restricts(g ir.Group) bool {
	return c.subject.Restricts(g) || c.beside != nil && c.beside.Restricts(g)
}

func (c *Caller) over(by func(*policy.Subject) policy.Result) policy.Result {
	r := lacking(by(c.subject))
	if c.beside == nil {
		return r
	}
	if b := lacking(by(c.beside)); b.Decision < r.Decision {
		return b
	}
	return r
}

// lacking returns a result with what it means to an agent that lacks permission modes.
func lacking(r policy.Result) policy.Result {
	r.Decision = r.WithoutPermissionMode()
	return r
}

// BothResults returns the result of an action that needs two; the zero rule is that of none so far.
func BothResults(a, b policy.Result) policy.Result {
	if a.Rule == "" || ir.Both(a.Decision, b.Decision) == b.Decision {
		return b
	}
	return a
}

package contract

import (
	"fmt"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Call is a call of a tool about which an agent asks its hook. The package of the target says how the agent names tools
// and their arguments, and how it takes an answer.
type Call struct {
	*Caller
	Policy *policy.Engine

	disk *Disk
	cwd  string
	args map[string]any
}

// NewCall returns a call with some arguments in a folder. mode is that of the agent that calls, nil for the session.
func NewCall(req *HookRequest, cwd string, args map[string]any, mode *ir.Mode) (*Call, error) {
	disk := req.Disk()
	caller, err := NewCaller(req, disk, cwd, mode)
	if err == nil && !req.AnyArgs {
		caller.known = args
	}
	return &Call{caller, req.Policy, disk, cwd, args}, err
}

// Opinion is what the policy says of a call.
type Opinion struct {
	policy.Result
	Group  ir.Group
	Server string
	About  string // what a rule would name
}

// Judgement returns the opinion for the record.
func (o *Opinion) Judgement(tool, mode string, args map[string]any) *Judgement {
	return &Judgement{Tool: tool, Group: o.Group, Server: o.Server, Mode: mode, Input: args,
		About: func() string { return o.About }, Result: o.Result}
}

// Why says what a caller may do, and by which rule.
func (c *Call) Why(what string, o *Opinion) string {
	why := fmt.Sprintf("%s %s, by %s", c.Ref, what, o.Explanation())
	if p := o.Pos.String(); p != "" {
		why += " (" + p + ")"
	}
	return why
}

// Denied is the opinion of a call that nobody can judge.
func Denied(rule string) Opinion { return Opinion{Result: policy.Result{Rule: rule}} }

// LeftAlone is that of a call that is left to the agent.
func LeftAlone(rule string) Opinion {
	return Opinion{Result: policy.Result{Decision: ir.Agent, Mapped: ir.Agent, Rule: rule}}
}

// Harmless is that of a tool that touches nothing.
func Harmless() Opinion { return LeftAlone("a tool that touches nothing") }

// Text returns an argument that is a text, "" for any other.
func (c *Call) Text(name string) string {
	s, _ := c.args[name].(string)
	return s
}

// Written returns a path as a rule would name it: agents have absolute ones.
func (c *Call) Written(file string) string {
	if own := c.disk.Own(c.cwd, file); own != "" {
		return own
	}
	return file
}

// Command decides a line of the shell.
func (c *Call) Command(line string) Opinion {
	switch {
	case line == "":
		return Denied("a call without a readable command")
	case policy.NeedsPerson(line):
		return Denied(NeedsPerson)
	}
	return Opinion{Result: c.At(policy.Action{Group: ir.Command, Arg: line}), Group: ir.Command, About: line}
}

// File decides reading, or editing, a file.
func (c *Call) File(g ir.Group, file string) Opinion {
	if file == "" {
		return Denied("a call without a readable path")
	}
	return Opinion{Result: c.At(policy.Action{Group: g, Arg: file}), Group: g, About: c.Written(file)}
}

// Patch decides every file of a patch, and also those to which it moves one; ok: they could be read.
func (c *Call) Patch(files []string, ok bool) Opinion {
	if !ok {
		return Denied("a patch whose files cannot be read")
	}
	o := Opinion{Result: c.AtAll(ir.Edit, files), Group: ir.Edit}
	if len(files) == 1 {
		o.About = c.Written(files[0])
	}
	return o
}

// Fetch decides fetching a page.
func (c *Call) Fetch(url string) Opinion {
	host, ok := WebHost(url)
	if !ok {
		return Denied("a call without a readable url")
	}
	return Opinion{Result: c.Decide(policy.Action{Group: ir.Web, Arg: host}), Group: ir.Web, About: host}
}

// SearchWeb decides searching the web.
func (c *Call) SearchWeb() Opinion {
	return Opinion{Result: c.Decide(policy.Action{Group: ir.Web}), Group: ir.Web}
}

// Hand decides handing work to an agent, or reading a skill: of the name of a mode, or of its own.
func (c *Call) Hand(name string, mode *ir.Mode) Opinion {
	if mode != nil {
		name = mode.Slug
	}
	return Opinion{Result: c.Decide(policy.Action{Group: ir.Modes, Arg: name}), Group: ir.Modes, About: name}
}

// Resource decides reading a server's resources, of all servers where the call names none.
func (c *Call) Resource(server, uri string) Opinion {
	o := Opinion{Group: ir.MCP, Server: server, About: uri}
	of := []string{server}
	if server == "" {
		of = nil
		for i := range c.Policy.Project().Servers {
			of = append(of, c.Policy.Project().Servers[i].Name)
		}
	}
	o.Decision = ir.Agent
	for _, name := range of {
		a := policy.Action{Group: ir.MCP, Kind: policy.Resource, Server: name, Arg: uri}
		o.Result = BothResults(o.Result, c.Decide(a))
	}
	return o
}

// Unknown decides a tool of which nobody knows what it does.
func (c *Call) Unknown(tool string) Opinion {
	return Opinion{Result: c.UnknownTool(), Group: ir.Unknown, About: tool}
}

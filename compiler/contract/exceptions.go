package contract

import (
	"cmp"
	"fmt"
	"time"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Exception is a widening that modec.toml accepts in writing, under [[exceptions]].
type Exception struct {
	Subject ir.SubjectRef
	Group   ir.Group
	// Server and Pattern are what the exception names; both are empty where it is about
	// the whole group. Server is set for mcp only.
	Server, Pattern string
	// Entry names what somebody added to the files of an agent ("hook ./gate.sh", "plugin x.ts"), where the exception
	// is about that; the group is then empty.
	Entry  string
	Reason string
	Until  time.Time // the last day on which it holds
	Pos    diag.Pos
	// Partial is set for what nobody wrote: partial = "keep" keeps the group.
	Partial bool
}

// Excepts returns the exception that covers an MCP tool of a subject, nil for none. With byName only an exception
// with the tool's own name does: a tool that is destructive, or whose server is off by default, takes no other one.
func (in *Input) Excepts(ref ir.SubjectRef, server, tool string, byName bool) *Exception {
	for i := range in.Exceptions {
		e := &in.Exceptions[i]
		if e.Subject != ref || e.Group != ir.MCP {
			continue
		}
		named := e.Server == server && e.Pattern == tool
		whole := e.Server == "" || e.Server == server && e.Pattern == "*"
		if named || whole && !byName {
			return e
		}
	}
	if byName {
		return nil
	}
	return in.partial(ref, ir.MCP)
}

// ExceptsGroup returns the exception that covers a whole group of a subject, nil for none.
func (in *Input) ExceptsGroup(ref ir.SubjectRef, g ir.Group) *Exception {
	for i := range in.Exceptions {
		e := &in.Exceptions[i]
		if e.Subject == ref && e.Group == g && e.Server == "" && (e.Pattern == "" || e.Pattern == "*") {
			return e
		}
	}
	return in.partial(ref, g)
}

// partial returns what stands for an exception where partial = "keep", nil where it is not.
func (in *Input) partial(ref ir.SubjectRef, g ir.Group) *Exception {
	if !in.Partial {
		return nil
	}
	return &Exception{Subject: ref, Group: g, Partial: true}
}

// Keeps reports whether a subject keeps a group of which a target cannot say all, by an exception or by partial =
// "keep", and warns of it: at is the rule, and lack what it cannot say ("it cannot deny x").
func (in *Input) Keeps(
	diags *diag.List, target string, ref ir.SubjectRef, g ir.Group, at diag.Pos, lack string, args ...any,
) bool {
	x := in.ExceptsGroup(ref, g)
	if x != nil {
		x.Used(diags, target, at, "keeps the group %s, although %s", g, fmt.Sprintf(lack, args...))
	}
	return x != nil
}

// Used warns that an exception widens what a target emits. A gap is told at the rule, and an exception where it stands.
func (x *Exception) Used(diags *diag.List, target string, at diag.Pos, message string, args ...any) {
	code, hint := diag.ExceptionUsed, "reason: "+x.Reason+", until "+x.Until.Format(time.DateOnly)
	if x.Partial {
		code = diag.Gap
		hint = `hooks = "enforce" holds it where the agent has hooks; partial = "drop" leaves the group out`
	}
	diags.Warnf(code, cmp.Or(x.Pos, at), message, args...).
		Hint(hint).
		Target(target).
		Subject(x.Subject.String()).
		Loses(diag.Widening, string(x.Group))
}

// Shares reports whether an exception puts a server that is off by default into the list that everybody shares, and
// warns of it.
func (in *Input) Shares(diags *diag.List, target string, s *ir.Server) bool {
	for i := range in.Exceptions {
		if x := &in.Exceptions[i]; x.Group == ir.MCP && x.Server == s.Name {
			x.Used(diags, target, x.Pos, "the server %q, off by default, is in the list that everybody shares", s.Name)
			return true
		}
	}
	return false
}

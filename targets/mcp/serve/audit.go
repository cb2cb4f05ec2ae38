package serve

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// record writes down what a caller was told of a call.
func (s *Server) record(m *Model, ref ir.SubjectRef, tool string, in any, r policy.Result, start time.Time) {
	if s.opt.Audit == nil {
		return
	}
	input, _ := json.Marshal(in) // it was read as JSON
	e := audit.Event{Time: start, Via: audit.ViaServe, Role: ref.Role, Mode: ref.Mode, Tool: tool, Input: input,
		Decision: r.Decision.String(), Rule: r.Rule, Place: r.Pos.String(),
		MS: audit.Since(start)}
	if t, _, known := m.tool(tool); known {
		e.Group = string(t.Group)
		if c, ok := in.(callInput); ok {
			e.Server, e.About = c.Server, c.about(t.Group)
		}
	}
	if ref != (ir.SubjectRef{}) {
		e.Policy = m.Policy.Digest(ref)
	}
	switch r.Decision {
	case ir.Deny:
		e.Outcome = audit.Refused
	case ir.Allow:
		e.Outcome = audit.Allowed
	default: // what is left to the agent is answered like an ask
		e.Outcome = audit.Asked
	}
	s.opt.Audit(e)
}

// about returns what a call is about, as a rule would name it; "" where it is about none that a rule can name.
func (in *callInput) about(g ir.Group) string {
	switch c := in.call(g); g {
	case ir.Read, ir.Edit:
		if file := filepath.ToSlash(filepath.Clean(c.Path)); c.Path != "" && filepath.IsLocal(file) {
			return file
		}
	case ir.Command:
		return c.Command
	case ir.Web:
		host, _ := contract.WebHost(c.URL)
		return host
	case ir.MCP:
		return in.MCPTool
	case ir.Modes:
		return in.TargetMode
	}
	return ""
}

// recorded returns a handler of a tool that writes down what the policy refuses it.
func recorded[In, Out any](sc *scope, name string, handle func(context.Context, In) (*Out, error)) func(
	context.Context, In) (*Out, error) {
	return func(ctx context.Context, in In) (*Out, error) {
		start := time.Now()
		out, err := handle(ctx, in)
		if no, ok := errors.AsType[*refused](err); ok {
			sc.record(sc.Model(), ir.SubjectRef{Role: sc.opt.Role, Mode: sc.mode}, name, in, no.Result, start)
		}
		return out, err
	}
}

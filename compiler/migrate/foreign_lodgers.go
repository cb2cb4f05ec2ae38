package migrate

import (
	"context"
	"fmt"
	"slices"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/verify"
)

// judgeLodgers reports what an agent loads of somebody's own that no import reads: agents, programs, and servers. It
// leaves out agents that were reported already.
func (f *foreign) judgeLodgers(ctx context.Context, res *compiler.Result, t contract.Target, diags *diag.List) {
	lodging, ok := t.(contract.Lodging)
	if !ok {
		return
	}
	said := map[string]bool{}
	for i := range *diags {
		if d := &(*diags)[i]; d.Target == t.Name() {
			said[d.Pos.File] = true
		}
	}
	in := res.Input(t)
	for _, l := range f.sharedLodgers(ctx, lodging.Lodgers(f.req.Root, f.written)) {
		switch {
		case in.AcceptsEntry(l.What()), l.Kind == contract.EntryAgent && said[l.At.File]:
		case l.Kind == contract.EntryAgent:
			f.lodgingMode(ctx, res, t, &l, diags)
		case l.Kind != contract.EntryServer, l.Of != "":
			of := ""
			if l.Of != "" {
				of = " of the agent " + l.Of
			}
			diags.Warnf(diag.ForeignWidening, l.At, "the %s%s is of somebody's own, and runs in sessions of %s: what "+
				"it does, and permits, no rule of the source holds", l.What(), of, t.Name()).
				Hint(lodged).
				Target(t.Name()).
				Accepted(diag.Acceptance{What: l.What()})
		case l.Instead:
			f.lodgingServer(res, t, &l, diags)
		default:
			f.judgeServer(ctx, res, t, ir.Server{Name: l.Name, Pos: l.At}, diags)
		}
	}
}

// lodged is what to do about what somebody added.
const lodged = "read it, and take it out, or accept it: `modec verify --disk` prints the exception"

// lodgingMode warns of an agent, and says what it may do beyond the session that turns to it. One with the name of a
// mode of the source is an error.
func (f *foreign) lodgingMode(
	ctx context.Context, res *compiler.Result, t contract.Target, l *contract.Lodger, diags *diag.List,
) {
	ref := l.Subject()
	if l.Displaces(res.Input(t).Project) {
		displaced(diags, t, ref, l.At, f.wider(ctx, res, t, ref, nil))
		return
	}
	more := ""
	found := f.wider(ctx, res, t, ref, nil)
	if found != nil && l.Back {
		beyond(diags, t, ref, l.At, found)
		return
	}
	if found != nil {
		more = ", and it may do more than that session: " + string(found.Group) + " " + found.Action
	}
	diags.Warnf(diag.ForeignSubject, l.At, "%s is in this file and not in the source: a session may use it, and "+
		"nothing of the source holds it%s", ref, more).
		Hint("say it in the source as a mode, or " + lodged).
		Target(t.Name()).
		Subject(ref.String()).
		Accepted(diag.Acceptance{What: l.What()})
}

// displaced reports an agent with the name of a mode of the source, and what it may do beyond that where something was
// found.
func displaced(diags *diag.List, t contract.Target, ref ir.SubjectRef, at diag.Pos, found *verify.Finding) {
	more := ""
	if found != nil {
		more = fmt.Sprintf(", and it may do more than the source permits: got %s for %s %q, want %s: %s",
			found.Artifact, found.Group, found.Action, found.Source, found.Rule)
	}
	diags.Errorf(diag.ForeignWidening, at, "this file takes the place of modec's %s, or modec's file takes its place: "+
		"of two files with the name %q the agent reads one%s", ref, ref.Mode, more).
		Hint("rename the agent, or take it out; the source has what a mode says").
		Target(t.Name()).
		Subject(ref.String()).
		Loses(diag.Widening, "").
		Accepted(diag.Acceptance{What: agentNamed(ref)})
}

// agentNamed returns what an exception says about an agent.
func agentNamed(ref ir.SubjectRef) string {
	l := contract.Lodger{Kind: contract.EntryAgent, Name: ref.Mode}
	return l.What()
}

// lodgingServer reports a server in the place of the source's, where the source lets somebody use that.
func (f *foreign) lodgingServer(res *compiler.Result, t contract.Target, l *contract.Lodger, diags *diag.List) {
	in := res.Input(t)
	sv := in.Project.Server(l.Name)
	if sv == nil {
		return
	}
	for _, ref := range in.Project.Subjects() {
		s, err := in.Policy.Subject(ref)
		if err != nil || !contract.Usable(s, sv) {
			continue
		}
		diags.Errorf(diag.ForeignWidening, l.At, "this entry takes the place of the server %q of the source, and %s "+
			"may use it: what the source permits of one program, another one gets", l.Name, ref).
			Accepted(diag.Acceptance{What: l.What()}).
			Hint("take it out, or say it in the source; then `modec build`").
			Target(t.Name()).
			Subject(ref.String()).
			Loses(diag.Widening, string(ir.MCP))
		return
	}
}

// sharedLodgers leaves out what is one's own: that of files that git ignores, and of an earlier build.
func (f *foreign) sharedLodgers(ctx context.Context, list []contract.Lodger) []contract.Lodger {
	list = slices.DeleteFunc(list, func(l contract.Lodger) bool { return f.left(l.At.File) })
	return committed(ctx, f, list, func(l *contract.Lodger) string { return l.At.File })
}

// lodging returns what an agent loads of somebody's own, but from the files whose entries are compared one by one.
func (f *foreign) lodging(ctx context.Context, t contract.Target) (list []diff.Stray) {
	lodging, ok := t.(contract.Lodging)
	if !ok {
		return nil
	}
	for _, l := range f.sharedLodgers(ctx, lodging.Lodgers(f.req.Root, f.written)) {
		if contract.IsBeside(t, l.At.File) {
			continue
		}
		what := l.What()
		switch {
		case l.Kind == contract.EntryAgent:
			what = l.Subject().String()
		case l.Of != "":
			what += " of the agent " + l.Of
		}
		list = append(list, diff.Stray{What: what, Says: f.says(l.At.File), Pos: l.At})
	}
	return list
}

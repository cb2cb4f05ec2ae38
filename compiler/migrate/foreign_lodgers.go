package migrate

import (
	"context"
	"slices"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
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
	for _, l := range f.sharedLodgers(ctx, lodging.Lodgers(f.req.Root, f.written)) {
		switch {
		case l.Mode != "" && !said[l.At.File]:
			f.lodgingMode(ctx, res, t, &l, diags)
		case l.Program != "":
			diags.Warnf(diag.ForeignWidening, l.At, "%s is of somebody's own, and runs in sessions of %s: what it "+
				"does, and permits, no rule of the source holds", l.Program, t.Name()).
				Hint("read it, or take it out").
				Target(t.Name())
		case l.Instead:
			f.lodgingServer(res, t, &l, diags)
		case l.Server != "":
			f.judgeServer(ctx, res, t, ir.Server{Name: l.Server, Pos: l.At}, diags)
		}
	}
}

// lodgingMode warns of an agent, and says what it may do beyond the session that turns to it.
func (f *foreign) lodgingMode(
	ctx context.Context, res *compiler.Result, t contract.Target, l *contract.Lodger, diags *diag.List,
) {
	ref := l.Subject()
	said, more := "in this file and not in the source", ""
	if res.Input(t).Project.Mode(l.Mode) != nil {
		said = "in this file too, which an agent may read in place of modec's"
	}
	if found := f.wider(ctx, res, t, ref, nil); found != nil {
		more = ", and it may do more than that session: " + string(found.Group) + " " + found.Action
	}
	diags.Warnf(diag.ForeignSubject, l.At, "%s is %s: a session may use it, and nothing of the source holds it%s", ref,
		said, more).
		Hint("say it in the source as a mode, or take it out").
		Target(t.Name()).
		Subject(ref.String())
}

// lodgingServer reports a server in the place of the source's, where the source lets somebody use that.
func (f *foreign) lodgingServer(res *compiler.Result, t contract.Target, l *contract.Lodger, diags *diag.List) {
	in := res.Input(t)
	sv := in.Project.Server(l.Server)
	if sv == nil {
		return
	}
	for _, ref := range in.Project.Subjects() {
		s, err := in.Policy.Subject(ref)
		if err != nil || !contract.Usable(s, sv) {
			continue
		}
		diags.Errorf(diag.ForeignWidening, l.At, "this entry takes the place of the server %q of the source, and %s "+
			"may use it: what the source permits of one program, another one gets", l.Server, ref).
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
	if len(list) == 0 || f.req.Ignored == nil {
		return list
	}
	var files []string
	for i := range list {
		files = append(files, list[i].At.File)
	}
	ignored := f.req.Ignored(ctx, slices.Compact(files))
	return slices.DeleteFunc(list, func(l contract.Lodger) bool { return slices.Contains(ignored, l.At.File) })
}

package migrate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/verify"
)

// judgeLodgers reports what an agent loads of somebody's own that no import reads: agents, programs, servers and
// settings. It leaves out agents that were reported already. What was there when the first build was made is a note.
func (f *foreign) judgeLodgers(ctx context.Context, res *compiler.Result, t contract.Target, diags *diag.List) {
	said := map[string]bool{}
	for i := range *diags {
		if d := &(*diags)[i]; d.Target == t.Name() {
			said[d.Pos.File] = true
		}
	}
	in := res.Input(t)
	list := slices.DeleteFunc(f.lodgers(ctx, t), func(l contract.Lodger) bool {
		return l.Quiet || in.AcceptsEntry(l.What()) || l.Kind == contract.EntryAgent && said[l.At.File]
	})
	knows := func(l contract.Lodger) bool { return f.known.Has(f.knownLodger(t, &l)) }
	was := slices.DeleteFunc(slices.Clone(list), func(l contract.Lodger) bool { return !knows(l) })
	// Of what the team had, git need not say that it is the team's.
	came := f.sharedLodgers(ctx, slices.DeleteFunc(list, knows))
	for i, l := range slices.Concat(was, came) {
		var found diag.List
		known := i < len(was)
		switch {
		case l.Kind == contract.EntryAgent:
			f.lodgingMode(ctx, res, t, &l, known, &found)
		case l.Kind != contract.EntryServer, l.Of != "":
			unheld(&l, t, &found)
		case l.Instead:
			f.lodgingServer(res, t, &l, &found)
		case !known:
			f.judgeServer(ctx, res, t, ir.Server{Name: l.Name, Pos: l.At}, &found)
			if l.Starts && len(found) == 0 && !hasServer(in.Project, l.Name) {
				unheld(&l, t, &found)
			}
		}
		for i := range found {
			if known {
				output.Before(&found[i])
			}
		}
		*diags = append(*diags, found...)
	}
}

// unheld warns of something that no rule of the source holds.
func unheld(l *contract.Lodger, t contract.Target, diags *diag.List) {
	diags.Warnf(diag.ForeignWidening, l.At, "the %s is of somebody's own, and %s no rule of the source holds",
		l.Named(), does(l, "sessions", t)).
		Hint(lodged).
		Target(t.Name()).
		Accepted(diag.Acceptance{What: l.What()})
}

// hasServer reports whether a target's project has a server by a name.
func hasServer(p *ir.Project, name string) bool {
	return slices.ContainsFunc(p.Servers, func(s ir.Server) bool { return cmp.Or(s.As, s.Name) == name })
}

// does says what comes of something that sessions of a target's agent have, up to the rule that does not hold it.
func does(l *contract.Lodger, sessions string, t contract.Target) string {
	if l.Runs() || l.Kind == contract.EntryServer {
		return fmt.Sprintf("runs in %s of %s: what it does, and permits,", sessions, t.Name())
	}
	return fmt.Sprintf("holds in %s of %s: what it permits", sessions, t.Name())
}

// Own returns a note for each program and each setting of one person's own, in files that git ignores, that an agent
// loads from the project and of which nobody knows what it permits.
func Own(ctx context.Context, req Request, res *compiler.Result) (diags diag.List) {
	if req.Ignored == nil {
		return nil
	}
	of := newForeign(req, res)
	for _, o := range res.Outputs {
		list := of.lodgers(ctx, o.Target)
		if answered, ok := o.Target.(contract.Answered); ok {
			for _, p := range answered.Programs(req.Root) {
				if !p.Judged {
					list = append(list, contract.Lodger{Kind: contract.EntryHook, Name: p.Text, At: p.At})
				}
			}
		}
		list = slices.DeleteFunc(list, func(l contract.Lodger) bool {
			return l.Quiet || l.Kind == contract.EntryAgent || l.Kind == contract.EntryServer
		})
		shared := of.sharedLodgers(ctx, slices.Clone(list))
		for _, l := range list {
			if slices.Contains(shared, l) {
				continue
			}
			diags.Notef(diag.ForeignOwn, l.At, "the %s is one person's own, and %s no rule of the source holds",
				l.Named(), does(&l, "their sessions", o.Target)).
				Hint("read it, and take it out where you did not put it there").
				Target(o.Target.Name())
		}
	}
	return diags
}

// lodged is what to do about what somebody added.
const lodged = "read it, and take it out, or accept it: `modec verify --disk` prints the exception"

// lodgingMode reports an agent: as an error where it may do more than the session that turns to it, or has the name of
// a mode of the source, else as a warning, as one that was like that when modec came.
func (f *foreign) lodgingMode(
	ctx context.Context, res *compiler.Result, t contract.Target, l *contract.Lodger, known bool, diags *diag.List,
) {
	ref := l.Subject()
	if l.Displaces(res.Input(t).Project) {
		displaced(diags, t, ref, l.At, f.wider(ctx, res, t, ref, nil))
		return
	}
	more := ""
	found := f.wider(ctx, res, t, ref, nil)
	if found != nil && !known {
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

// judgeReplaced reports the servers of a build's files that start something else on disk than after a build, as those
// that stand in other files of a target's agent in their place. What a build would leave of an entry is the team's.
func (f *foreign) judgeReplaced(res *compiler.Result, o *contract.Artifacts, diags *diag.List) {
	if f.req.Root == nil {
		return
	}
	in, fields := res.Input(o.Target), contract.ListsOfServers([]contract.Target{o.Target})
	for i := range o.Files {
		ours := &o.Files[i]
		data, err := contract.ReadImport(f.req.Root, ours.Path)
		if err != nil || bytes.Equal(data, ours.Data) {
			continue
		}
		built := ours.Data
		if ours.Places != nil {
			res, err := jsonedit.Merge(data, ours.Data, output.PatternOf(ours), nil, true)
			if err == nil && res.Data != nil {
				built = res.Data
			}
		}
		emitted := contract.ListedServers(ours.Path, ours.Data, fields)
		written := contract.ListedServers(ours.Path, built, fields)
		for _, m := range contract.ListedServers(ours.Path, data, fields).Fields() {
			was := written.Get(m.Key)
			if emitted.Get(m.Key) == nil {
				continue // it is no server of modec's
			}
			l := contract.Lodger{Kind: contract.EntryServer, Name: m.Key, At: m.Pos, Instead: true}
			said := slices.ContainsFunc(*diags, func(d diag.Diagnostic) bool {
				return d.Target == o.Target.Name() && d.Pos == l.At
			})
			if was != nil && !said && !in.AcceptsEntry(l.What()) && contract.StartsOther(was, m.Value) {
				f.lodgingServer(res, o.Target, &l, diags)
			}
		}
	}
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

// lodgers returns what an agent loads of somebody's own that no import reads. Its files are read once.
func (f *foreign) lodgers(ctx context.Context, t contract.Target) (list []contract.Lodger) {
	if f.req.Root == nil {
		return nil
	}
	if list, known := f.loaded[t.Name()]; known {
		return slices.Clone(list)
	}
	if lodging, ok := t.(contract.Lodging); ok {
		list = lodging.Lodgers(f.req.Root, f.written)
	}
	if granter, ok := t.(contract.Granter); ok {
		list = append(list, granter.Hooks(f.req.Root, f.nested(ctx, granter))...)
	}
	list = slices.DeleteFunc(list, func(l contract.Lodger) bool { return f.left(l.At.File) })
	f.loaded[t.Name()] = list
	return slices.Clone(list)
}

// sharedLodgers leaves out what is one's own, in files that git ignores.
func (f *foreign) sharedLodgers(ctx context.Context, list []contract.Lodger) []contract.Lodger {
	return committed(ctx, f, list, func(l *contract.Lodger) string { return l.At.File })
}

// knownLodger returns the line of a lock for something that an agent loads. Its name may be a command line with a
// secret.
func (f *foreign) knownLodger(t contract.Target, l *contract.Lodger) string {
	return fmt.Sprintf("lodger %s: %s %s", l.At.File, t.Name(), output.Sum([]byte(l.Named()+"\n"+l.Sum(f.req.Root))))
}

// KnownLodgers returns, by targets, the lines for the lock of a first build of what lies in the files below the root of
// a request that agents load and no import reads, but for servers.
func KnownLodgers(ctx context.Context, req Request, res *compiler.Result) map[string][]string {
	of, lines := newForeign(req, res), map[string][]string{}
	for _, o := range res.Outputs {
		for _, l := range of.sharedLodgers(ctx, of.lodgers(ctx, o.Target)) {
			if l.Kind != contract.EntryServer || l.Of != "" {
				name := o.Target.Name()
				lines[name] = append(lines[name], of.knownLodger(o.Target, &l))
			}
		}
	}
	return lines
}

// lodging returns what an agent loads of somebody's own, but from the files whose entries are compared one by one.
func (f *foreign) lodging(ctx context.Context, t contract.Target) (list []diff.Stray) {
	for _, l := range f.sharedLodgers(ctx, f.lodgers(ctx, t)) {
		if l.Listed || contract.IsBeside(t, l.At.File) {
			continue
		}
		what := l.Named()
		if l.Kind == contract.EntryAgent {
			what = l.Subject().String()
		}
		says := f.says(l.At.File)
		if l.Entry != nil {
			says = output.Sum(contract.JSONLine(l.Entry.Any()))
		}
		list = append(list, diff.Stray{What: secret.Text(what), Says: says, By: t.Name(), Pos: l.At})
	}
	return list
}

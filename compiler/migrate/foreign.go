package migrate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/compiler/verify"
)

// Foreign returns a warning for each mode and role that an agent would load from the team's files below the
// root of a request, and that is none of the compiled project: an error where it permits what the source does
// not permit to the session that starts it. It returns an error for each server there that the source does not
// have, and of which an agent may call what the source does not permit, and for each command and skill that permits
// what the source does not, and for each link out of the project where an agent looks for such a file. It tells of
// what no import reads, too: agents, programs that run in sessions, and servers in the place of the source's; and of
// files of agents that are no targets, which were not there when the first build was made. What one person has for
// themselves is none.
func Foreign(ctx context.Context, req Request, res *compiler.Result) (diags diag.List) {
	of := newForeign(req, res)
	for i := range res.Outputs {
		o := &res.Outputs[i]
		grants, through := of.granted(ctx, o.Target)
		of.judgeLinks(ctx, res, o.Target, through, &diags)
		of.judgeImported(ctx, res, o.Target, grants, &diags)
		of.judgeLodgers(ctx, res, o.Target, &diags)
		of.judgeReplaced(res, o, &diags)
	}
	of.judgeUnheld(ctx, res, &diags)
	of.judgeBelow(ctx, res, &diags)
	return diags
}

// judgeUnheld warns of files of agents that are no targets and that were not there when the first build was made.
func (f *foreign) judgeUnheld(ctx context.Context, res *compiler.Result, diags *diag.List) {
	for _, x := range f.news(f.unheld(ctx, res)) {
		since, more := "was not among such files when modec came", ""
		if !output.KnowsUnheld(f.lock) {
			since = "an older modec did not note whether it was there before"
			more = "; `modec build` notes it in modec.lock"
		}
		hint := "`modec migrate` offers to take it into the source; or take it out"
		of := slices.IndexFunc(f.req.Targets, func(t contract.Target) bool { return t.Name() == x.Of })
		if r := res.Project.Role(x.Of); r != nil && r.For(x.Of) && of >= 0 {
			hint = fmt.Sprintf("the source has role %s, of which nothing is built: write %s into modec.toml; "+
				"or take the file out", r.Name, contract.TableOf(f.req.Targets[of], r.Name, res.Project.Baseline))
		}
		diags.Warnf(diag.ForeignAgent, x.Pos, "this file is of %s, which is no target, and %s: nothing of the source "+
			"holds what it permits", x.Of, since).
			Hint(hint + more).
			Target(x.Of)
	}
}

// news returns the files that were not there when the first build was made.
func (f *foreign) news(list []diff.Stray) []diff.Stray {
	was := output.WasUnheld(f.lock)
	return slices.DeleteFunc(list, func(x diff.Stray) bool { return was(x.What) })
}

// judgeImported reports what an import of a target's files reads that is none of the compiled project.
func (f *foreign) judgeImported(
	ctx context.Context, res *compiler.Result, t contract.Target, grants []contract.Grant, diags *diag.List,
) {
	if _, ok := t.(contract.Importer); !ok {
		return
	}
	ours, theirs := f.apart(ctx, t, res.Project)
	f.judgeGrants(ctx, res, t, grants, diags)
	f.judgePrograms(ctx, res, t, diags)
	for _, s := range theirs.servers {
		f.judgeServer(ctx, res, t, s, diags)
	}
	in := res.Input(t)
	for _, s := range theirs.subjects {
		if in.AcceptsEntry(agentNamed(s.ref)) {
			continue
		}
		twins := placesOf(ours.subjects, s.ref)
		same := displaces(in.Project, s.ref, twins)
		if j, ok := t.(contract.Joining); ok && same && j.Joins(s.at.File) {
			continue
		}
		found := f.wider(ctx, res, t, s.ref, twins)
		switch {
		case same:
			displaced(diags, t, s.ref, s.at, found)
			continue
		case found != nil:
			beyond(diags, t, s.ref, s.at, found)
			continue
		}
		d := diags.Warnf(diag.ForeignSubject, s.at, "%s is in this file and not in the source: "+
			"a session may use it, and nothing of the source holds it", s.ref).
			Hint("`modec migrate` shows how the source takes it in, with --apply it does; or take it out").
			Target(t.Name()).
			Subject(s.ref.String())
		if s.ref.Role == "" {
			d.Accepted(diag.Acceptance{What: agentNamed(s.ref)})
		}
	}
	for _, s := range theirs.withheld {
		if in.AcceptsEntry(agentNamed(s.ref)) {
			continue
		}
		diags.Warnf(diag.ForeignSubject, s.at, "%s is in this file and not in the source, since it states a "+
			"secret: a session may use it, and nothing of the source holds it", s.ref).
			Hint("write the secret into a variable of the environment, then `modec migrate`; or take it out").
			Target(t.Name()).
			Subject(s.ref.String())
	}
}

// beyond reports a subject that may do more than the session that starts it.
func beyond(diags *diag.List, t contract.Target, ref ir.SubjectRef, at diag.Pos, found *verify.Finding) {
	diags.Errorf(diag.ForeignWidening, at, "%s is in this file and not in the source, and may do more than "+
		"the session that starts it: got %s for %s %q (%s), want %s: %s",
		ref, found.Artifact, found.Group, found.Action, found.Half, found.Source, found.Rule).
		Hint("take it out, or say in the source what it permits (`modec migrate` offers a patch); "+
			"then `modec build`").
		Target(t.Name()).
		Subject(ref.String()).
		Loses(diag.Widening, string(found.Group)).
		Accepted(diag.Acceptance{What: agentNamed(ref)})
}

// displaces reports whether an agent that somebody added has the name of one that a build wrote: into files, or into
// settings that an import does not read as modes.
func displaces(p *ir.Project, ref ir.SubjectRef, twins map[string]bool) bool {
	l := contract.Lodger{Kind: contract.EntryAgent, Name: ref.Mode}
	return ref.Role == "" && (len(twins) > 0 || l.Displaces(p))
}

// Strays returns the modes, roles and servers that agents would load below the root of a request, and that are none of
// the compiled project; and what they load of files that are compared by their text, such as programs.
func Strays(ctx context.Context, req Request, res *compiler.Result) (list []diff.Stray) {
	of := newForeign(req, res)
	for _, o := range res.Outputs {
		list = append(list, of.lodging(ctx, o.Target)...)
		if _, ok := o.Target.(contract.Importer); !ok {
			continue
		}
		_, theirs := of.apart(ctx, o.Target, res.Project)
		for _, s := range slices.Concat(theirs.subjects, theirs.withheld) {
			x := diff.Stray{What: s.ref.String(), Says: of.says(s.at.File), Pos: s.at}
			same := func(y diff.Stray) bool { return x.What == y.What && x.Pos.File == y.Pos.File }
			if !slices.ContainsFunc(list, same) {
				list = append(list, x)
			}
		}
		for i := range theirs.servers {
			s := &theirs.servers[i]
			list = append(list, diff.Stray{What: "server " + cmp.Or(s.As, s.Name), Says: s.Shape(), Pos: s.Pos})
		}
	}
	return append(list, of.unheld(ctx, res)...)
}

// Unheld returns the files with permissions, below the root of a request, of agents that are no targets of the project.
func Unheld(ctx context.Context, req Request, res *compiler.Result) []diff.Stray {
	return newForeign(req, res).unheld(ctx, res)
}

// says tells a file from another one of its name.
func (f *foreign) says(file string) string {
	data, _ := fs.ReadFile(f.req.Root, file) // one that is not there says nothing
	return output.Sum(data)
}

// unheld returns the files of agents that are no targets of the project, and which no target's agent reads too.
func (f *foreign) unheld(ctx context.Context, res *compiler.Result) (list []diff.Stray) {
	places := func(t contract.Target) (at []diag.Pos) {
		if _, ok := t.(contract.Importer); !ok {
			return nil
		}
		of := f.load(ctx, t, f.req.Root, f.req.Ignored, true)
		for _, s := range of.subjects {
			at = append(at, s.at)
		}
		for i := range of.servers {
			at = append(at, of.servers[i].Pos)
		}
		return at
	}
	found := map[string]bool{}
	for _, t := range f.req.Targets {
		if slices.ContainsFunc(res.Config.Targets, func(c config.Target) bool { return c.Target.Name() == t.Name() }) {
			continue
		}
		for _, at := range places(t) {
			_, err := fs.Stat(f.written, at.File)
			if found[at.File] || err == nil || f.left(at.File) {
				continue
			}
			found[at.File] = true
			list = append(list, diff.Stray{What: at.File, Says: f.says(at.File), Of: t.Name(), Pos: at})
		}
	}
	for _, c := range res.Config.Targets {
		if len(list) == 0 {
			break // most projects: what their targets read need not be looked at
		}
		reads := map[string]bool{}
		for _, at := range places(c.Target) {
			reads[at.File] = true
		}
		for _, l := range f.lodgers(ctx, c.Target) {
			reads[l.At.File] = true
		}
		also, _ := c.Target.(contract.Reading)
		list = slices.DeleteFunc(list, func(x diff.Stray) bool {
			return reads[x.What] || also != nil && also.Reads(x.What)
		})
	}
	return list
}

func newForeign(req Request, res *compiler.Result) *foreign {
	lock, _ := contract.ReadImport(req.Root, output.LockFile) // without one nothing is known
	return &foreign{
		req: req, written: res.FS(), lock: lock, known: output.KnownOf(lock), built: output.Built(lock),
		inFolders: map[string][]string{}, loaded: map[string][]contract.Lodger{}}
}

// placesOf returns the files of a subject.
func placesOf(list []readSubject, ref ir.SubjectRef) map[string]bool {
	files := map[string]bool{}
	for _, s := range list {
		if s.ref == ref {
			files[s.at.File] = true
		}
	}
	return files
}

// foreign finds subjects that a compiled project has not.
type foreign struct {
	req       Request
	written   fs.FS  // the compiled files
	lock      []byte // of the project; nil: nothing is known
	known     *output.Known
	built     func(file string) bool
	inFolders map[string][]string          // by globs over files in any folder
	loaded    map[string][]contract.Lodger // by targets: what their agents load of somebody's own
}

// readSubject is a subject and the place where an agent reads it.
type readSubject struct {
	ref ir.SubjectRef
	at  diag.Pos
}

// loaded is what a target's agent loads below a root.
type loaded struct {
	subjects []readSubject
	servers  []ir.Server
	withheld []readSubject // what states a secret, and migrate leaves in its file
}

// apart returns what a target's agent loads of what was compiled, and what it loads beside it. Where all that
// it reads is as it was compiled, there is nothing beside, and ours is not read. What states a secret migrate leaves in
// its file, and what git ignores is one's own: both are looked for only where they make a difference.
func (f *foreign) apart(ctx context.Context, t contract.Target, p *ir.Project) (ours, theirs loaded) {
	disk := &compared{FS: f.req.Root, with: f.written}
	all := f.load(ctx, t, disk, nil, true)
	if !disk.differs {
		return ours, theirs
	}
	ours = f.load(ctx, t, f.written, nil, true)
	theirs = f.beside(all, ours, t.Name(), p)
	if len(theirs.subjects) > 0 || len(theirs.servers) > 0 {
		whole := f.beside(f.load(ctx, t, f.req.Root, f.req.Ignored, true), ours, t.Name(), p)
		theirs = f.beside(f.load(ctx, t, f.req.Root, f.req.Ignored, false), ours, t.Name(), p)
		for _, s := range whole.subjects {
			if !slices.Contains(theirs.subjects, s) {
				theirs.withheld = append(theirs.withheld, s)
			}
		}
	}
	theirs.servers = append(theirs.servers, f.listed(ctx, t, p, theirs.servers)...)
	return ours, theirs
}

// listed returns the servers of an agent's lists that neither the source has nor some others: an import leaves out a
// name that no source takes, and one that differs from another only in case. To the agent each is a server.
func (f *foreign) listed(ctx context.Context, t contract.Target, p *ir.Project, but []ir.Server) (servers []ir.Server) {
	host, ok := t.(contract.GatewayHost)
	if !ok {
		return nil
	}
	called := func(name string) func(ir.Server) bool {
		return func(sv ir.Server) bool { return cmp.Or(sv.As, sv.Name) == name }
	}
	known := func(name string) bool {
		ours := func(sv ir.Server) bool { return called(name)(sv) && sv.For(t.Name()) }
		return slices.ContainsFunc(but, called(name)) || slices.ContainsFunc(servers, called(name)) ||
			slices.ContainsFunc(p.Servers, ours)
	}
	var files []string
	for _, ref := range append(p.Subjects(), ir.SubjectRef{}) {
		files = append(files, host.Lists(f.req.Root, ref)...)
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		if f.left(file) {
			continue
		}
		written := contract.StartedIn(f.written, file)
		for _, s := range contract.StartedIn(f.req.Root, file) {
			same := func(o contract.Started) bool { return o.Name == s.Name }
			if !known(s.Name) && !slices.ContainsFunc(written, same) && !f.known.Has(knownServer(s)) {
				servers = append(servers, ir.Server{Name: s.Name, Pos: s.At})
			}
		}
	}
	return committed(ctx, f, servers, func(sv *ir.Server) string { return sv.Pos.File })
}

// knownServer returns the line of a lock for a server that an import leaves in its list.
func knownServer(s contract.Started) string {
	return fmt.Sprintf("server %s: %q %s", s.At.File, s.Name, output.Sum([]byte(s.Says)))
}

// KnownServers returns, for the lock of a first build, the servers that an import left in the files below the root of
// a request: nobody added them beside the source.
func KnownServers(ctx context.Context, req Request, res *compiler.Result) (lines []string) {
	of := newForeign(req, res)
	for _, o := range res.Outputs {
		for _, sv := range of.listed(ctx, o.Target, res.Project, nil) {
			for _, s := range contract.StartedIn(req.Root, sv.Pos.File) {
				if s.At == sv.Pos {
					lines = append(lines, knownServer(s))
				}
			}
		}
		for _, l := range of.sharedLodgers(ctx, of.lodgers(ctx, o.Target)) {
			if l.Kind == contract.EntryServer && l.Of == "" && !l.Instead {
				lines = append(lines, of.knownLodger(o.Target, &l))
			}
		}
	}
	return lines
}

// compared notes whether a file was read, or was not there, that is otherwise in another file system.
type compared struct {
	fs.FS
	with    fs.FS
	differs bool
}

// Open opens a file or a folder.
func (c *compared) Open(name string) (fs.File, error) {
	opened, err := c.FS.Open(name)
	if err != nil {
		c.missing(name)
		return nil, err
	}
	if info, err := opened.Stat(); err != nil || info.IsDir() {
		return opened, nil
	}
	if !c.differs {
		data, err := fs.ReadFile(c.FS, name)
		other, otherErr := fs.ReadFile(c.with, name)
		c.differs = err != nil || otherErr != nil || !bytes.Equal(data, other)
	}
	return opened, nil
}

// Stat describes a file or a folder.
func (c *compared) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(c.FS, name)
	if err != nil {
		c.missing(name)
	}
	return info, err
}

// Lstat describes a file, a folder or a link.
func (c *compared) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(c.FS, name) }

// ReadLink returns where a link leads.
func (c *compared) ReadLink(name string) (string, error) { return fs.ReadLink(c.FS, name) }

// missing notes a file that is not there.
func (c *compared) missing(name string) {
	_, err := fs.Stat(c.with, name)
	c.differs = c.differs || err == nil
}

// load returns what a target's agent loads below a root. A file that it would not load has none.
// A mode that states a secret is read only withSecrets: it is never imported, and stays where it is.
func (f *foreign) load(
	ctx context.Context, t contract.Target, root fs.FS, ignored func(context.Context, []string) []string,
	withSecrets bool,
) (of loaded) {
	only := []contract.Target{t}
	req := Request{Root: root, Targets: only, Ignored: ignored, ours: true, judged: true, withSecrets: withSecrets}
	in, _ := read(ctx, req)
	for i := range in.project.Modes {
		m := &in.project.Modes[i]
		of.subjects = append(of.subjects, readSubject{ir.SubjectRef{Mode: m.Slug}, m.Pos})
	}
	for i := range in.project.Roles {
		r := &in.project.Roles[i]
		of.subjects = append(of.subjects, readSubject{ir.SubjectRef{Role: r.Name}, r.Pos})
	}
	of.servers = in.project.Servers
	return of
}

// beside returns the subjects and servers that are none of ours. A role is one only beside a role of ours: the
// rules of a session in a file without one are entries of people's own, which a verification judges.
func (f *foreign) beside(all, ours loaded, target string, p *ir.Project) (theirs loaded) {
	known, roles := map[readSubject]bool{}, map[string]bool{}
	for _, s := range ours.subjects {
		known[readSubject{s.ref, diag.Pos{File: s.at.File}}] = true
		if s.ref.Role != "" {
			roles[s.at.File] = true
		}
	}
	for _, s := range all.subjects {
		switch {
		case known[readSubject{s.ref, diag.Pos{File: s.at.File}}], f.left(s.at.File):
		case s.ref.Role == "" || roles[s.at.File]:
			theirs.subjects = append(theirs.subjects, s)
		}
	}
	for i := range all.servers {
		sv := &all.servers[i]
		of := func(s ir.Server) bool { return cmp.Or(s.As, s.Name) == cmp.Or(sv.As, sv.Name) }
		said := func(s ir.Server) bool { return of(s) && s.For(target) }
		if !slices.ContainsFunc(ours.servers, of) && !slices.ContainsFunc(p.Servers, said) && !f.left(sv.Pos.File) {
			theirs.servers = append(theirs.servers, *sv)
		}
	}
	return theirs
}

// left reports whether a file is an earlier build's, which a check says.
func (f *foreign) left(file string) bool {
	_, err := fs.Stat(f.written, file)
	return err != nil && f.built(file)
}

// judgeServer reports a server that the source does not have, and of which a subject may call what the source
// does not permit.
func (f *foreign) judgeServer(
	ctx context.Context, res *compiler.Result, t contract.Target, sv ir.Server, diags *diag.List,
) {
	judged, ok := t.(contract.Judged)
	if !ok {
		return
	}
	in, name := res.Input(t), cmp.Or(sv.As, sv.Name)
	named := contract.Lodger{Kind: contract.EntryServer, Name: name}
	if in.AcceptsEntry(named.What()) {
		return
	}
	actions := []policy.Action{{Group: ir.MCP, Server: name, Arg: contract.UnknownTool}}
	for _, tool := range sv.Tools {
		actions = append(actions, policy.Action{Group: ir.MCP, Server: name, Arg: tool.Name})
	}
	found := firstWider(ctx, verify.Request{
		Policy:   in.Policy,
		Targets:  []verify.Target{{Target: judged, Input: in, Files: res.Over(f.req.Root)}},
		Subjects: in.Project.Subjects(),
		Actions:  actions,
	})
	if found == nil {
		return
	}
	hint := "take it out, or say it in the source (`modec migrate` offers a patch); then `modec build`"
	for i := range res.Project.Servers {
		has := cmp.Or(res.Project.Servers[i].As, res.Project.Servers[i].Name)
		if has != name && strings.EqualFold(has, name) {
			hint = fmt.Sprintf("the source cannot have it beside %q, from which its name differs in case alone: "+
				"rename it in this file, then `modec migrate --apply && modec build`; or take it out", has)
		}
	}
	diags.Errorf(diag.ForeignWidening, sv.Pos, "the server %q is in this file and not in the source, and %s may "+
		"call it: got %s for any tool of it (%s), want %s: %s",
		name, found.Subject, found.Artifact, found.Half, found.Source, found.Rule).
		Hint(hint).
		Target(t.Name()).
		Subject(found.Subject).
		Loses(diag.Widening, string(ir.MCP)).
		Accepted(diag.Acceptance{What: named.What()})
}

// judgeGrants reports the rules of commands and skills that permit to a session what the source does not.
func (f *foreign) judgeGrants(
	ctx context.Context, res *compiler.Result, t contract.Target, grants []contract.Grant, diags *diag.List,
) {
	granter, ok := t.(contract.Granter)
	judged, judges := t.(contract.Judged)
	if !ok || !judges {
		return
	}
	grants = committed(ctx, f, grants, func(g *contract.Grant) string { return g.At.File })
	for found := true; found && len(grants) > 0; { // a rule hides those that permit the same
		said := f.widened(ctx, res, granter, judged, grants)
		grants = slices.DeleteFunc(grants, func(g contract.Grant) bool {
			_, ok := said[g]
			return ok
		})
		inOrder := func(a, b contract.Grant) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Rule, b.Rule)) }
		for _, g := range slices.SortedFunc(maps.Keys(said), inOrder) {
			found := said[g]
			diags.Errorf(diag.ForeignWidening, g.At, "%s permits more than the source while a session follows this "+
				"file: got %s for %s %q of %s (%s), want %s: %s",
				g.Rule, found.Artifact, found.Group, found.Action, found.Subject, found.Half, found.Source, found.Rule).
				Hint("take it out, or say in the source what it permits; then `modec build`").
				Target(t.Name()).
				Subject(found.Subject).
				Loses(diag.Widening, string(found.Group))
		}
		found = len(said) > 0
	}
}

// granted returns the rules of commands and skills, in folders below the project's own too, and the links out of the
// project that a reader of them comes upon.
func (f *foreign) granted(ctx context.Context, t contract.Target) ([]contract.Grant, map[string]bool) {
	granter, ok := t.(contract.Granter)
	if !ok || f.req.Root == nil {
		return nil, nil
	}
	through := &leaving{FS: f.req.Root}
	return granter.Grants(through, f.nested(ctx, granter)), through.links
}

// nested returns the commands and skills in folders below the project's own. Git is asked once.
func (f *foreign) nested(ctx context.Context, granter contract.Granter) []string {
	glob := granter.Nested()
	if glob == "" || f.req.Tracked == nil {
		return nil
	}
	files, known := f.inFolders[glob]
	if !known {
		files = f.req.Tracked(ctx, glob)
		f.inFolders[glob] = files
	}
	return files
}

// widened returns the grants that permit to a role's session what the source does not.
func (f *foreign) widened(
	ctx context.Context, res *compiler.Result, granter contract.Granter, t contract.Judged, grants []contract.Grant,
) map[contract.Grant]verify.Finding {
	with := granter.Granted(f.req.Root, grants)
	if with == nil {
		return nil
	}
	in, disk := res.Input(t), source.Over(res.Over(f.req.Root), memfs.FS{with.Path: with.Data})
	var roles []ir.SubjectRef
	for i := range in.Project.Roles {
		roles = append(roles, ir.SubjectRef{Role: in.Project.Roles[i].Name})
	}
	report, err := verify.Run(ctx, verify.Request{
		Policy:   in.Policy,
		Targets:  []verify.Target{{Target: t, Input: in, Files: disk, Compiled: f.written}},
		Subjects: roles,
	})
	if err != nil {
		return nil
	}
	said := map[contract.Grant]verify.Finding{}
	for i := range report.Surfaces {
		for _, found := range report.Surfaces[i].Findings {
			for _, g := range grants {
				if _, known := said[g]; !known && g.Rule == found.By {
					said[g] = found
				}
			}
		}
	}
	return said
}

// committed leaves out what lies in files that git ignores: it is one's own.
func committed[T any](ctx context.Context, f *foreign, list []T, file func(*T) string) []T {
	if f.req.Ignored == nil || len(list) == 0 {
		return list
	}
	files := map[string]bool{}
	for i := range list {
		files[file(&list[i])] = true
	}
	ignored := f.req.Ignored(ctx, slices.Sorted(maps.Keys(files)))
	return slices.DeleteFunc(list, func(x T) bool { return slices.Contains(ignored, file(&x)) })
}

// firstWider returns the first thing that is wider than the source, nil where there is none.
func firstWider(ctx context.Context, req verify.Request) *verify.Finding {
	req.UntilWider = true
	report, err := verify.Run(ctx, req)
	if err != nil {
		return nil
	}
	for i := range report.Surfaces {
		if found := report.Surfaces[i].Findings; len(found) > 0 {
			return &found[0]
		}
	}
	return nil
}

// wider returns the first thing that a mode of somebody else's permits in a session of the baseline, and that
// the source does not permit to the session itself, or to the mode of its own that has the name; nil where there
// is none. twins are modec's files of that name: which of several files an agent reads is not known, so that the
// other one is judged without them.
func (f *foreign) wider(
	ctx context.Context, res *compiler.Result, t contract.Target, ref ir.SubjectRef, twins map[string]bool,
) *verify.Finding {
	judged, ok := t.(contract.Judged)
	in := res.Input(t)
	project := *in.Project
	if !ok || ref.Mode == "" || project.Role(project.Baseline) == nil {
		return nil
	}
	if project.Mode(ref.Mode) == nil {
		silent := &ir.Default{Decision: ir.Agent}
		project.Modes = append(slices.Clone(project.Modes), ir.Mode{Slug: ref.Mode, Name: ref.Mode,
			Can: ir.Can{Default: silent, Unknown: silent, OutsideRead: silent, OutsideEdit: silent}})
		in.Project, in.Policy = &project, policy.New(&project)
	}
	return firstWider(ctx, verify.Request{
		Policy:   in.Policy,
		Targets:  []verify.Target{{Target: judged, Input: in, Files: res.Over(lacking{f.req.Root, "", twins})}},
		Subjects: []ir.SubjectRef{{Role: project.Baseline, Mode: ref.Mode}},
	})
}

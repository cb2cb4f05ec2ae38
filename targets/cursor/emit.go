package cursor

import (
	"fmt"
	"path"
	"slices"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// emitter compiles one project.
type emitter struct {
	in    contract.Input
	hooks bool
	files []contract.File
	diags diag.List
}

// profile is one subject that files are written for.
type profile struct {
	ref     ir.SubjectRef
	label   string // "role:developer": what --subject takes
	dir     string
	subject *policy.Subject
	pos     diag.Pos
	held    []string // what only the hook holds, for one note
	heldPos diag.Pos
}

// Emit compiles a profile for each role and for the chosen mode, and the
// project-wide files for the chosen subject.
func (cursor) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in, hooks: in.Options.Bool("hooks")}
	e.checkNames()
	e.checkExtras()
	main, chosen := e.chosen()
	var refs []ir.SubjectRef
	for i := range in.Project.Roles {
		refs = append(refs, ir.SubjectRef{Role: in.Project.Roles[i].Name})
	}
	if chosen && main.Mode != "" {
		refs = append(refs, main)
	}
	for _, ref := range refs {
		p, err := e.profile(ref)
		if err != nil {
			e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
			continue
		}
		cli := e.emit(p)
		if chosen && ref == main { // the project's own files are people's too
			e.add(contract.File{Path: projectFile(format.TokensFile), Data: cli, Places: cliPlaces})
			e.addHooks(p, projectFile(format.HooksFile), hookPlaces)
		}
	}
	e.add(contract.File{Path: projectFile(format.ServersFile), Data: e.servers(), Places: contract.MCPServers})
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	return e.files, e.diags
}

// emit adds the files of a profile and reports its losses. It returns its cli.json.
func (e *emitter) emit(p *profile) []byte {
	commands := e.commands(p)
	e.add(contract.File{Path: path.Join(p.dir, format.PermissionsFile), Data: e.permissions(p, commands)})
	cli := contract.JSON(e.tokens(p, commands))
	e.add(contract.File{Path: path.Join(p.dir, format.TokensFile), Data: cli})
	e.addHooks(p, path.Join(p.dir, format.HooksFile), nil)
	e.asks(p)
	e.nativeRules(p)
	e.heldByHook(p)
	return cli
}

func (e *emitter) add(f contract.File) { e.files = append(e.files, f) }

func (e *emitter) addHooks(p *profile, name string, places []string) {
	if e.hooks {
		e.add(contract.File{Path: name, Data: hooksJSON(p, contract.PolicyFile), Places: places})
	}
}

func (e *emitter) profile(ref ir.SubjectRef) (*profile, error) {
	s, err := e.in.Policy.Subject(ref)
	if err != nil {
		return nil, err
	}
	p := &profile{ref: ref, dir: format.ProfileDir(ref), subject: s}
	if ref.Role != "" {
		p.label, p.pos = "role:"+ref.Role, e.in.Project.Role(ref.Role).Pos
	} else {
		p.label, p.pos = "mode:"+ref.Mode, e.in.Project.Mode(ref.Mode).Pos
	}
	return p, nil
}

// chosen returns the subject of the project-wide files; false where there is none.
func (e *emitter) chosen() (ir.SubjectRef, bool) {
	name := e.in.Options.String("subject")
	switch {
	case name != "":
		ref, err := e.in.Project.ParseSubject(name, "")
		if err != nil {
			e.diags.Errorf(codeUnknownSubject, e.in.Options.Pos("subject"), "%s", err.Error()).
				Path("targets.cursor.subject").
				Target("cursor")
		}
		return ref, err == nil
	case e.in.Project.Baseline != "":
		return ir.SubjectRef{Role: e.in.Project.Baseline}, true
	}
	e.diags.Warnf(codeNotHeld, diag.Pos{File: "modec.toml"},
		"got neither subject nor baseline: nothing holds Cursor in this repository").
		Hint("set subject in [targets.cursor], or baseline").
		Target("cursor")
	return ir.SubjectRef{}, false
}

// place returns where to report something of a subject: at a rule, or at the subject
// where the rule is a guard or nowhere in the source.
func (p *profile) place(at diag.Pos) diag.Pos {
	if at.IsZero() || at.File == ir.GuardsFile {
		return p.pos
	}
	return at
}

// loss warns that a subject may do less in a group than the source says, at the rule
// that the format cannot express.
func (e *emitter) loss(p *profile, g ir.Group, code diag.Code, at diag.Pos, message string, args ...any) diag.Builder {
	return e.diags.Warnf(code, p.place(at), message, args...).
		Target("cursor").
		Subject(p.ref.String()).
		Loses(diag.Narrowing, string(g))
}

// excepted warns that a written exception widens a group.
func (e *emitter) excepted(x *contract.Exception, message string, args ...any) {
	e.diags.Warnf(diag.ExceptionUsed, x.Pos, message, args...).
		Hintf("reason: %s, until %s", x.Reason, x.Until.Format(time.DateOnly)).
		Target("cursor").
		Subject(x.Subject.String()).
		Loses(diag.Widening, string(x.Group))
}

// closed reports whether a whole group may be denied because a token cannot say
// what its rules do. A written exception keeps it.
func (e *emitter) closed(p *profile, g ir.Group, at diag.Pos, what string) bool {
	if x := e.in.ExceptsGroup(p.ref, g); x != nil {
		e.excepted(x, "keeps %s, where no token denies %s", g, what)
		return false
	}
	e.loss(p, g, codeDeny, at, "no token denies %s, and hooks are off: the group %s is denied as a whole", what, g).
		Hintf("turn hooks on, or write an exception for %q", g)
	return true
}

// unsaid collects what no token says of a group. The hook holds all of it; without
// hooks the group is denied for the first.
type unsaid struct {
	p    *profile
	what string // the first; "" where tokens say everything
	at   diag.Pos
}

func (u *unsaid) rule(r ir.Rule) {
	u.add(r.Pos, r.Decision.String()+" "+r.Pattern.String())
	if u.what == "" {
		u.what, u.at = r.Pattern.String(), r.Pos
	}
}

func (u *unsaid) defaultOf(g ir.Group, at diag.Pos) {
	u.add(at, "the default of "+string(g))
	if u.what == "" {
		u.what, u.at = "what is not listed", at
	}
}

// add notes a deny or an ask that only the hook holds.
func (u *unsaid) add(at diag.Pos, what string) {
	if len(u.p.held) == 0 {
		u.p.heldPos = at
	}
	if !slices.Contains(u.p.held, what) {
		u.p.held = append(u.p.held, what)
	}
}

// heldByHook reports, once a subject, what only the hook holds.
func (e *emitter) heldByHook(p *profile) {
	if len(p.held) == 0 || !e.hooks {
		return
	}
	more := ""
	if n := len(p.held) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	e.diags.Notef(codeHookOnly, p.place(p.heldPos), "cli.json cannot express %s%s of %s: only the hook enforces it",
		p.held[0], more, p.ref).
		Target("cursor").
		Subject(p.ref.String())
}

// asks reports, once a group, what is refused because Cursor cannot ask there.
func (e *emitter) asks(p *profile) {
	groups := []ir.Group{ir.Read, ir.Edit}
	if e.hooks {
		groups = append(groups, ir.Web, ir.Modes)
	}
	for _, g := range groups {
		if at, ok := asked(p, g); ok {
			e.loss(p, g, codeAsk, at, "Cursor cannot ask about %s: what the source asks about is refused", g).
				Hint("allow it or deny it")
		}
	}
}

// asked returns the place of the default or the first rule that asks in a group; false
// where nothing does, or everything is denied.
func asked(p *profile, g ir.Group) (at diag.Pos, ok bool) {
	def := p.subject.Default(g)
	at, ok = def.Pos, def.Decision == ir.Ask
	for _, r := range p.subject.Rules(g) {
		switch {
		case r.Pattern.Kind == ir.All && r.Decision == ir.Deny:
			return at, false
		case r.Decision == ir.Ask && !ok:
			at, ok = r.Pos, true
		}
	}
	return at, ok
}

func (e *emitter) checkExtras() {
	check := func(all map[string]ir.Extra) {
		if x := all["cursor"]; len(x.Fields) > 0 {
			e.diags.Errorf(codeUnknownExtra, x.Pos,
				"extra.cursor has settings, and Cursor knows none for a mode; remove them").
				Target("cursor")
		}
	}
	for i := range e.in.Project.Modes {
		check(e.in.Project.Modes[i].Extra)
	}
	for i := range e.in.Project.Roles {
		check(e.in.Project.Roles[i].Extra)
	}
}

// nativeRules reports the rules of a role that only another agent understands.
func (e *emitter) nativeRules(p *profile) {
	if p.ref.Role == "" {
		return
	}
	for _, r := range e.in.Project.Role(p.ref.Role).Native {
		e.diags.Warnf(codeNativeRule, r.Pos, "the rule %q is for %s alone: it is left out", r.Text, r.Target).
			Hint("say it in can, where every target understands it").
			Target("cursor").
			Subject(p.ref.String()).
			Loses(diag.Text, "")
	}
}

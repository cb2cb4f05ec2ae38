package cursor

import (
	"fmt"
	"path"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// emitter compiles one project.
type emitter struct {
	in    contract.Input
	admin []format.Entry // the organisation's list; nil: it has none
	files []contract.File
	diags diag.List
}

// profile is one subject that files are written for.
type profile struct {
	ref       ir.SubjectRef
	dir       string
	subject   *policy.Subject
	text      *policy.Subject // as lists have it, which compare the text of each command
	pos       diag.Pos
	unsaid    map[ir.Group][]unsaid // what no token says
	resources []unsaid              // those of them about resources of servers
	hooked    bool                  // the subject has hooks
	chosen    bool                  // the files of the project as a whole are the subject's
	listed    bool                  // so is its permissions.json
}

// Emit compiles a profile for each role and for the chosen mode, and the
// project-wide files for the chosen subject.
func (cursor) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in}
	e.checkNames()
	e.readOrganisation()
	main, listed := e.chosen(), e.named(optLists)
	var refs []ir.SubjectRef
	for i := range in.Project.Roles {
		refs = append(refs, ir.SubjectRef{Role: in.Project.Roles[i].Name})
	}
	if main.Mode != "" {
		refs = append(refs, main)
	}
	holds := len(in.Project.Modes) > 0
	for _, ref := range refs {
		p, err := e.profile(ref)
		if err != nil {
			e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
			continue
		}
		p.chosen, p.listed = ref == main, ref == listed
		holds = e.emit(p) || holds
	}
	if main == (ir.SubjectRef{}) && e.in.Options.String(optSubject) == "" && holds {
		hint := "set subject in [targets.cursor], or baseline"
		if p := e.in.Project; len(p.Roles) == 0 && len(p.Modes) > 0 {
			hint = fmt.Sprintf("set subject in [targets.cursor], such as \"mode:%s\": the source has no role",
				p.Modes[0].Slug)
		}
		e.diags.Warnf(codeNotHeld, diag.Pos{File: "modec.toml"},
			"got neither subject nor baseline: nothing holds Cursor in this repository").
			Hint(hint).
			Target("cursor")
	}
	if list := e.servers(); len(list) > 0 {
		e.files = append(e.files, contract.File{Path: projectFile(format.ServersFile),
			Data: contract.JSON(contract.Object{"mcpServers", list}), Places: contract.MCPServers, Keys: serverKeys,
			Defaults: serverDefaults()})
	}
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	return e.files, e.diags
}

// emit adds the files of a profile, those of the project as a whole where it is the chosen
// one, and reports its losses. It returns whether they do more than allow.
func (e *emitter) emit(p *profile) bool {
	e.nativeRules(p)
	if e.quiet(p) {
		return false
	}
	e.organisation(p)
	commands := e.commands(p)
	lists, tokens := e.lists(p, commands), e.tokens(p, commands)
	if first, _ := p.unheld(); len(lists)+len(tokens) == 0 && (first != "" || !p.hooked && e.beyondTools(p)) {
		// Its files say that it is there.
		tokens = permissions([]string{}, []string{})
	}
	switch {
	case p.listed:
		e.files = append(e.files, e.projectLists(p, lists))
	case p.chosen && e.in.Options.String(optLists) == noLists:
	case len(lists) > 0:
		e.add(path.Join(p.dir, format.PermissionsFile), withProvenance(p, lists), nil)
	}
	holds := p.hooked || len(tokens) > 0 && !onlyAllows(tokens)
	if len(tokens) > 0 && (holds || p.chosen || !p.listed) { // else the lists say it all
		e.share(p, format.TokensFile, contract.JSON(tokens), cliPlaces)
	}
	if e.in.Listens() && len(e.stated(p)) > 0 {
		e.share(p, format.HooksFile, e.hooksJSON(p), hookPlaces)
	}
	e.asks(p)
	e.unheldByIDE(p)
	if g, first := p.unheld(); g != "" {
		e.diags.Warnf(codeNotHeld, p.place(first.at), "no token says %s, and hooks are off: nothing in Cursor holds %s",
			first.what, g).
			Hint("turn hooks on").
			Target("cursor").
			Subject(p.ref.String())
	}
	return holds
}

func (e *emitter) add(name string, data []byte, places []string) {
	e.files = append(e.files, contract.File{Path: name, Data: data, Places: places, Restrains: restraining,
		Strict: places != nil})
}

// share adds a file of a profile that Cursor reads in a project too: there, where modec's
// entries stand beside people's, for the chosen subject, else in the profile.
func (e *emitter) share(p *profile, base string, data []byte, places []string) {
	if p.chosen {
		e.add(projectFile(base), data, places)
		return
	}
	e.add(path.Join(p.dir, base), data, nil)
}

func (e *emitter) profile(ref ir.SubjectRef) (*profile, error) {
	s, err := e.in.Policy.Subject(ref)
	if err != nil {
		return nil, err
	}
	text, err := e.in.Policy.OnText().Subject(ref)
	if err != nil {
		return nil, err
	}
	p := &profile{ref: ref, dir: format.ProfileDir(ref), subject: s, text: text}
	if ref.Role != "" {
		p.pos = e.in.Project.Role(ref.Role).Pos
	} else {
		p.pos = e.in.Project.Mode(ref.Mode).Pos
	}
	e.findUnsaid(p)
	p.hooked = e.hooked(p)
	return p, nil
}

// chosen returns the subject of the project-wide files; none where nothing chooses one.
func (e *emitter) chosen() ir.SubjectRef {
	if e.in.Options.String(optSubject) == "" && e.in.Project.Baseline != "" {
		return ir.SubjectRef{Role: e.in.Project.Baseline}
	}
	return e.named(optSubject)
}

// named returns the subject that an option names; none where it names none.
func (e *emitter) named(option string) ir.SubjectRef {
	name := e.in.Options.String(option)
	if name == "" || option == optLists && name == noLists {
		return ir.SubjectRef{}
	}
	ref, err := e.in.Project.ParseSubject(name, "")
	if err != nil {
		e.diags.Errorf(codeUnknownSubject, e.in.Options.Pos(option), "%s", err.Error()).
			Path("targets.cursor." + option).
			Target("cursor")
	}
	return ref
}

// place returns where to report something of a subject: at a rule, or at the subject
// where the rule is a guard or nowhere in the source.
func (p *profile) place(at diag.Pos) diag.Pos {
	if at.IsZero() {
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

// asks reports, once a group, what is refused because Cursor cannot ask there.
func (e *emitter) asks(p *profile) {
	refused := []ir.Group{ir.Read, ir.Edit}
	if p.hooked {
		refused = append(refused, ir.Web, ir.Modes)
	}
	for _, g := range refused {
		if at, ok := asked(p, g); ok {
			e.loss(p, g, codeAsk, at, "Cursor cannot ask about %s: what the source asks about is refused", g).
				Hint("allow it or deny it")
		}
	}
}

// asked returns the place of the default or the first rule that asks in a group and is
// refused; false where nothing is, or everything is denied.
func asked(p *profile, g ir.Group) (at diag.Pos, ok bool) {
	if p.most(g) == ir.Deny {
		return at, false
	}
	if p.byDefault(g) == ir.Ask {
		return p.subject.Default(g).Pos, true
	}
	for _, r := range p.subject.Rules(g) {
		if r.Decision == ir.Ask && refuses(r) {
			return r.Pos, true
		}
	}
	return at, false
}

// unheldByIDE notes, once a subject, what only the CLI holds: the IDE reads no tokens.
func (e *emitter) unheldByIDE(p *profile) {
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		what, at := p.refused(g)
		if what == "" || p.hooked || len(p.unsaid[g]) > 0 {
			continue
		}
		e.diags.Notef(codeCLIOnly, p.place(at), "Cursor's CLI denies %s, and nothing denies it in the IDE", what).
			Hint("hooks = \"enforce\" in modec.toml denies it there too").
			Target("cursor").
			Subject(p.ref.String())
		return
	}
}

// unheld returns the first group, and what of it, that nothing holds: one without tokens, where a
// subject has no hooks.
func (p *profile) unheld() (ir.Group, unsaid) {
	for _, g := range []ir.Group{ir.Web, ir.Modes, ir.Unknown} {
		if len(p.unsaid[g]) > 0 && !p.hooked {
			return g, p.unsaid[g][0]
		}
	}
	if len(p.resources) > 0 && !p.hooked {
		return ir.MCP, p.resources[0]
	}
	return "", unsaid{}
}

// refused returns the first thing that tokens refuse of a group of paths, "" for none.
func (p *profile) refused(g ir.Group) (what string, at diag.Pos) {
	if p.most(g) < ir.Allow {
		return "every " + string(g), p.subject.Default(g).Pos
	}
	for _, r := range p.subject.Rules(g) {
		if refuses(r) {
			return string(g) + " of " + r.Pattern.String(), r.Pos
		}
	}
	return "", at
}

// nativeRules reports the rules of a role that only another agent understands.
func (e *emitter) nativeRules(p *profile) {
	if p.ref.Role == "" {
		return
	}
	r := e.in.Project.Role(p.ref.Role)
	contract.LeaveOut(&e.diags, codeNativeRule, New().Name(), p.ref.String(), r.Native...)
}

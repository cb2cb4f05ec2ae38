package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/render"
	"modec.dev/modec/compiler/source"
)

// differ finds what one target's files say otherwise.
type differ struct {
	target   contract.Target
	source   *ir.Project
	policy   *policy.Engine // of the source
	dialects []contract.Dialect
	only     bool // there is no other target
	others   []string
	chosen   string // the role that modec.toml has the target's own files for; ""
	home     string // the file of the subject that is compared
	noted    []contract.Note
	all      map[string]*imports // what the files of every target say
	extends  func(subject []string, policy string) bool
	whole    func(file string) bool                 // a build writes all of it
	keeps    func(s ir.Server, files []string) bool // a build leaves the entries of a server in files as they are
	before   *ir.Project                            // what the files said that are compared
	after    *ir.Project                            // and what they say
	out      []change
}

func (d *differ) change(at diag.Pos, what string, do func(*patcher) error) {
	d.out = append(d.out, change{Edit: Edit{Pos: at, What: what}, do: do})
}

// decides adds a change of what a subject may do.
func (d *differ) decides(subject, from string, at diag.Pos, what string, do func(*patcher) error) {
	what = cmp.Or(from, subject) + ": " + what
	d.out = append(d.out, change{Edit: Edit{Pos: at, What: what}, do: do, subject: subject, home: d.home, from: from})
}

// decisive returns the changes without those of rules by which nothing is decided otherwise: a build
// writes some of them in another way.
func (d *differ) decisive(before, after *ir.Project, seed uint64) []change {
	if !slices.ContainsFunc(d.out, func(c change) bool { return c.subject != "" && !c.beside }) {
		return d.out
	}
	for i := range after.Roles[min(1, len(after.Roles)):] {
		if after.Roles[i].Name == after.Roles[i+1].Name {
			return d.out // of two files, each is compared as it is written
		}
	}
	report, err := diff.Projects(policy.New(before), policy.New(after), seed)
	if err != nil {
		return d.out
	}
	return slices.DeleteFunc(d.out, func(c change) bool {
		return c.subject != "" && !c.beside && !slices.ContainsFunc(report.Changes, func(x diff.Change) bool {
			return x.Subject == c.subject || strings.HasPrefix(x.Subject, c.subject+" in ")
		})
	})
}

func (d *differ) cannot(at diag.Pos, what, why string) {
	d.out = append(d.out, change{Edit: Edit{Pos: at, What: what, Why: why}})
}

func (d *differ) compare(before, after *imports) {
	a, b := before.project, after.project
	d.before, d.after, d.noted = a, b, after.notes
	for i := range b.Servers {
		s := &b.Servers[i]
		d.server(a.Server(s.Name), s)
	}
	gone(d, a.Servers, b.Servers, serverKind, func(n string) bool { return d.source.Server(n) != nil })
	renamed := d.renamed(a.Modes, b.Modes)
	for i := range b.Modes {
		m := &b.Modes[i]
		if was := a.Mode(renamed[m.Slug]); was != nil {
			d.rename(was, m)
			continue
		}
		d.mode(a.Mode(m.Slug), m)
	}
	moved := slices.Collect(maps.Values(renamed))
	gone(d, a.Modes, b.Modes, modeKind, func(n string) bool {
		return d.source.Mode(n) != nil && !slices.Contains(moved, n)
	})
	for i := range b.Roles {
		r, was := &b.Roles[i], &ir.Role{Name: b.Roles[i].Name}
		if j := slices.IndexFunc(a.Roles, func(x ir.Role) bool {
			return x.Name == r.Name && x.Pos.File == r.Pos.File // two files may be about one role
		}); j >= 0 {
			was = &a.Roles[j]
		}
		d.role(was, r)
	}
	gone(d, a.Roles, b.Roles, roleKind, func(n string) bool { return d.source.Role(n) != nil })
	d.notes(before.notes, after.notes)
}

// renamed returns the former names of modes that are what another one was, by their new names. A mode that other
// targets have too keeps its name there.
func (d *differ) renamed(a, b []ir.Mode) map[string]string {
	rest := func(m ir.Mode) string {
		m.Slug, m.Name, m.Description, m.WhenToUse, m.Rules, m.Extra, m.Place = "", "", "", "", nil, nil, ir.Place{}
		return fingerprint(m)
	}
	out := map[string]string{}
	for i := range b {
		own := d.source.Mode(b[i].Slug)
		if own != nil && !own.Builtin {
			continue
		}
		var from []string
		for j := range a {
			was := d.source.Mode(a[j].Slug)
			if was == nil || was.Builtin || !d.only && !slices.Equal(was.Targets, []string{d.target.Name()}) ||
				slices.ContainsFunc(b, func(m ir.Mode) bool { return m.Slug == a[j].Slug }) {
				continue
			}
			if rest(a[j]) == rest(b[i]) {
				from = append(from, a[j].Slug)
			}
		}
		if len(from) == 1 && !slices.Contains(slices.Collect(maps.Values(out)), from[0]) {
			out[b[i].Slug] = from[0]
		}
	}
	return out
}

// rename gives a mode of the source another name, and keeps whatever else the source says of it.
func (d *differ) rename(a, b *ir.Mode) {
	own, first := d.source.Mode(a.Slug), len(d.out)
	name, at := b.Slug, []string{"modes", b.Slug}
	if own.As != "" {
		at[1] = own.Slug
	}
	d.texts("mode "+name, at, own, a, b)
	d.extra("mode "+name, at, b.Pos, a.Extra, b.Extra)
	rest := slices.Clone(d.out[first:])
	d.out = d.out[:first]
	d.change(b.Pos, fmt.Sprintf("mode %s is named %s", a.Slug, name), func(p *patcher) error {
		all := []func(*patcher) error{func(p *patcher) error { return p.rename(own.Slug, name) }}
		if own.As != "" {
			all[0] = func(p *patcher) error { return p.set([]string{"modes", own.Slug, "as"}, text(name)) }
		}
		for _, c := range rest {
			if c.do != nil { // else a rules file that is where it was
				all = append(all, c.do)
			}
		}
		return p.all(all)
	})
	if own.As == "" {
		d.out[first].renames = [2]string{a.Slug, name}
	}
}

// gone reports what somebody took out of a file as a whole.
func gone[T any](d *differ, a, b []T, k kind[T], stated func(string) bool) {
	for i := range a {
		name := *k.name(&a[i])
		still := slices.ContainsFunc(b, func(x T) bool { return *k.name(&x) == name })
		if at := (diag.Pos{File: k.pos(&a[i]).File}); !still && stated(name) {
			d.takeOut(k.word, name, at)
		}
	}
}

// takeOut takes a server, a mode or a role out of the source, or the target out of those that it has.
func (d *differ) takeOut(word, name string, at diag.Pos) {
	d.change(at, word+" "+name+" is taken out", func(p *patcher) error {
		path := []string{word + "s", name}
		var others []string
		targets := p.get(append(slices.Clip(path), "targets"))
		if targets != nil {
			for _, n := range targets.Elems {
				if n.Text != d.target.Name() {
					others = append(others, n.Text)
				}
			}
		}
		switch {
		case len(others) > 0:
			return p.drop(append(slices.Clip(path), "targets"), text(d.target.Name()))
		case targets == nil && !d.only: // it is for every target
			return p.set(append(slices.Clip(path), "targets"), texts(d.others))
		case word == "role" && (name == d.source.Baseline || name == d.chosen):
			return p.set(path, emptied(targets)) // it stands for every session without a role
		case word == "server":
			if err := p.forget(name); err != nil {
				return err
			}
		}
		return p.unset(path)
	})
	d.out[len(d.out)-1].target = d.target.Name()
}

// emptied returns a subject that says nothing but its targets.
func emptied(targets *source.Node) *value {
	if targets == nil {
		return &value{}
	}
	var names []string
	for _, n := range targets.Elems {
		names = append(names, n.Text)
	}
	return object("targets", texts(names))
}

func (d *differ) gone(name string, at diag.Pos) {
	d.cannot(at, name+" is taken out", fmt.Sprintf("take it out of the source, or %q out of its targets; "+
		"`modec build --force` writes it again", d.target.Name()))
}

// notes names what no import takes over, unless it was like that before.
func (d *differ) notes(before, after []contract.Note) {
	for _, n := range after {
		lost := n.Kind == contract.Refused || n.Kind == contract.Conflict || n.Kind == contract.Secret ||
			n.Kind == contract.Left && d.whole(n.Pos.File)
		same := func(o contract.Note) bool {
			return o.Kind == n.Kind && o.What == n.What && o.Subject == n.Subject && o.Pos.File == n.Pos.File
		}
		external := func() bool {
			name, ok := strings.CutPrefix(n.Subject, "server ")
			s := d.source.Server(name)
			return ok && s != nil && s.Type == ir.External
		}
		if lost && !slices.ContainsFunc(before, same) && !(n.Kind == contract.Secret && external()) {
			why := cmp.Or(n.Why, string(n.Kind))
			if n.Kind == contract.Left {
				why = "a build would take it out: " + why
			}
			d.cannot(n.Pos, strings.TrimPrefix(n.Subject+": "+n.What, ": "), why)
			last := &d.out[len(d.out)-1]
			last.note, last.unless = true, n.Kind == contract.Left
		}
	}
}

// placed limits what is new to the target that has it.
func (d *differ) placed(pl *ir.Place) {
	*pl = ir.Place{As: pl.As}
	if !d.only {
		pl.Targets = []string{d.target.Name()}
	}
}

func (d *differ) server(a, b *ir.Server) {
	own, name := d.source.Server(b.Name), "server "+b.Name
	switch {
	case own == nil:
		d.definition(name, []string{"servers", b.Name}, b.Pos, ir.Project{Servers: []ir.Server{*b}})
	case own.Type == ir.External && b.Type != ir.External:
		d.takeOver(own, b)
	case own.Type == ir.External:
		d.entries(own, b)
	case a != nil && a.Type == ir.External && b.Type == ir.External:
	case b.Type == ir.External && d.withheld(b.Pos): // a note says which secret
	case b.Type == ir.External && a != nil: // a rule still names it
		d.takeOut("server", b.Name, diag.Pos{File: a.Pos.File})
	case b.Type == ir.External:
		d.gone(name, b.Pos)
	case !own.For(d.target.Name()):
		if sameServer(own, b) && own.As == "" && b.As == "" {
			d.change(b.Pos, name+" is added", func(p *patcher) error {
				return p.add([]string{"servers", b.Name, "targets"}, text(d.target.Name()))
			})
		} else {
			d.taken(name, b.Pos, own.Place)
		}
	case a == nil:
		if !sameServer(own, b) {
			d.cannot(b.Pos, name+" is another one than that of the source", "give one of them another name")
		}
	default:
		d.fields(a, b)
	}
	for _, t := range b.Tools {
		if own != nil && len(own.Tools) > 0 && own.Tool(t.Name) == nil && (a == nil || a.Tool(t.Name) == nil) {
			d.change(t.Pos, fmt.Sprintf("%s: tool %s is named", name, t.Name), func(p *patcher) error {
				return p.set([]string{"servers", b.Name, "tools", t.Name}, &value{})
			})
		}
	}
}

// entries compares what the entries of an external server start with what they started when they were imported.
func (d *differ) entries(own, b *ir.Server) {
	for _, file := range slices.Sorted(maps.Keys(b.Entries)) {
		was, is := own.Entries[file], b.Entries[file]
		if was == "" || is == "" || contract.SameShape(was, is) {
			continue
		}
		d.change(b.Pos, fmt.Sprintf("server %s starts %q", b.Name, is), func(p *patcher) error {
			return p.set([]string{"servers", b.Name, "entries", file}, text(is))
		})
	}
}

// withheld reports whether something states a secret.
func (d *differ) withheld(at diag.Pos) bool {
	return slices.ContainsFunc(d.noted, func(n contract.Note) bool { return n.Kind == contract.Secret && n.Pos == at })
}

// definition adds what the source does not have. A server that somebody added for another target too, as the same, is
// for both.
func (d *differ) definition(name string, path []string, at diag.Pos, p ir.Project) {
	for i := range p.Servers {
		d.placed(&p.Servers[i].Place)
	}
	for i := range p.Modes {
		d.placed(&p.Modes[i].Place)
	}
	d.change(at, name+" is added", func(to *patcher) error {
		list := to.get(append(slices.Clip(path), "targets"))
		if list == nil {
			return to.definition(&p, d.dialects)
		}
		for _, n := range list.Elems {
			in := d.all[n.Text]
			if len(p.Servers) == 0 || in == nil || !sameServer(in.project.Server(path[1]), &p.Servers[0]) {
				return fmt.Errorf("%s has another one of this name, which is added, too: give one of them another name",
					n.Text)
			}
		}
		return to.add(append(slices.Clip(path), "targets"), text(d.target.Name()))
	})
	d.out[len(d.out)-1].target = d.target.Name()
}

// taken reports what is added under a name that the source has for other targets, and for something else.
func (d *differ) taken(name string, at diag.Pos, own ir.Place) {
	d.cannot(at, name+" is added", fmt.Sprintf("the source has another one of this name for %s: give it another name",
		strings.Join(own.Targets, ", ")))
}

// takeOver makes a server of the source that the agents' own files start.
func (d *differ) takeOver(own, b *ir.Server) {
	s := *b
	s.Place, s.Tools = own.Place, own.Tools
	for _, t := range b.Tools {
		s.AddTool(t)
	}
	others, files := []string{}, []string{b.Pos.File}
	for _, file := range slices.Sorted(maps.Keys(own.Entries)) {
		alike := func(in *imports) bool {
			o := in.project.Server(b.Name)
			return o != nil && o.Pos.File == file && sameServer(o, b)
		}
		switch {
		case file == b.Pos.File:
		case slices.ContainsFunc(slices.Collect(maps.Values(d.all)), alike):
			files = append(files, file)
		default:
			others = append(others, file)
		}
	}
	if !d.keeps(s, files) {
		return // it never was about a secret: the source cannot say all of the entry for every agent
	}
	d.change(b.Pos, fmt.Sprintf("server %s: the source can say its entry now", b.Name), func(p *patcher) error {
		if len(others) > 0 {
			return fmt.Errorf("its entry in %s has to state no secret either, and say the same",
				strings.Join(others, ", "))
		}
		return p.server(s)
	})
}

// fields compares the fields of a server's entry. They are changed together or not at all: a part of them
// would be a server that nobody wrote.
func (d *differ) fields(a, b *ir.Server) {
	var names []string
	var all []func(*patcher) error
	at := []string{"servers", b.Name}
	for _, f := range []struct {
		name string
		was  any
		is   any
		say  *value
	}{
		{"command", a.Command, b.Command, text(b.Command)},
		{"args", a.Args, b.Args, texts(b.Args)},
		{"cwd", a.Cwd, b.Cwd, text(b.Cwd)},
		{"env", a.Env, b.Env, textMap(b.Env)},
		{"url", a.URL, b.URL, text(b.URL)},
		{"headers", a.Headers, b.Headers, textMap(b.Headers)},
		{"type", a.Type, b.Type, text(b.Type)},
		{"timeout", a.TimeoutSeconds, b.TimeoutSeconds, &value{raw: fmt.Sprint(b.TimeoutSeconds)}},
		{"defaultEnabled", a.DefaultEnabled, b.DefaultEnabled, &value{raw: fmt.Sprint(b.DefaultEnabled)}},
	} {
		is := reflect.ValueOf(f.is)
		if reflect.DeepEqual(f.was, f.is) || is.Kind() != reflect.String && is.Kind() != reflect.Bool &&
			is.Kind() != reflect.Int && is.Len() == 0 && reflect.ValueOf(f.was).Len() == 0 {
			continue
		}
		none := is.Kind() != reflect.Bool && (is.IsZero() || is.Kind() != reflect.Int && is.Len() == 0) ||
			f.name == "type" && b.Type != "sse"
		implied := f.name == "type" && (a.URL == "") != (b.URL == "")
		if !implied || b.Type == "sse" {
			names = append(names, f.name)
		}
		path := append(slices.Clip(at), f.name)
		all = append(all, func(p *patcher) error {
			switch {
			case !none:
				return p.set(path, f.say)
			case implied && p.get(path) == nil:
				return nil
			}
			return p.unset(path)
		})
	}
	if len(all) == 0 {
		return
	}
	verb := "is"
	if len(names) > 1 {
		verb = "are"
	}
	what := fmt.Sprintf("server %s: %s %s changed", b.Name, strings.Join(names, ", "), verb)
	d.change(b.Pos, what, func(p *patcher) error { return p.all(all) })
	d.out[len(d.out)-1].about = "server " + b.Name
}

// field writes a field, or takes it out.
func (d *differ) field(subject string, at diag.Pos, path []string, v *value, none bool) {
	d.change(at, fmt.Sprintf("%s: %s is changed", subject, strings.Join(path[2:], ".")), func(p *patcher) error {
		if none {
			return p.unset(path)
		}
		return p.set(path, v)
	})
}

// alike reports whether two modes say the same, wherever they are emitted.
func (d *differ) alike(a, b *ir.Mode) bool {
	text := func(m ir.Mode) string {
		m.Place = ir.Place{}
		files, err := render.Source(&ir.Project{Modes: []ir.Mode{m}}, "modec", nil, d.dialects)
		return fmt.Sprint(files, err)
	}
	return text(*a) == text(*b)
}

func (d *differ) mode(a, b *ir.Mode) {
	own, name := d.source.Mode(b.Slug), "mode "+b.Slug
	switch at := []string{"modes", b.Slug}; {
	case own == nil && a != nil && d.source.Role(b.Slug) != nil: // a build makes it of a role
		d.ofRole(a, b)
	case own == nil || own.Builtin:
		d.definition(name, at, b.Pos, ir.Project{Modes: []ir.Mode{*b}})
	case !own.For(d.target.Name()):
		d.taken(name, b.Pos, own.Place)
	case a == nil:
		d.cannot(b.Pos, name+" is added", "the source has a mode of this name: give it another one")
	default:
		d.home = b.Pos.File
		d.texts(name, at, own, a, b)
		d.can(name, at, &a.Can, &b.Can)
		d.own(name, at, ir.SubjectRef{Mode: b.Slug}, b.Pos, [2][]ir.NativeRule{a.Native, b.Native}, a.Extra, b.Extra)
		if is := restrictions(b.Restrictions); !reflect.DeepEqual(restrictions(a.Restrictions), is) {
			d.field(name, b.Pos, append(slices.Clip(at), "mcpRestrictions"), is, b.Restrictions == nil)
		}
		rest(d, name, b.Pos, a, b, func(m *ir.Mode) {
			m.Can, m.Extra, m.Rules, m.Place, m.Restrictions = ir.Can{}, nil, nil, ir.Place{}, nil
			m.Native = nil
			m.Name, m.Description, m.WhenToUse, m.RoleDefinition, m.CustomInstructions, m.Model = "", "", "", "", "", ""
		})
	}
}

// restrictions returns a mode's restrictions of servers as the source says them.
func restrictions(m *ir.MCPRestrictions) *value {
	if m == nil {
		return &value{}
	}
	v := &value{}
	for _, f := range []struct {
		name string
		list *[]ir.Item
	}{{"allowedServers", m.AllowedServers}, {"disallowedServers", m.DisallowedServers}} {
		if f.list != nil {
			l := list()
			for _, i := range *f.list {
				l.items = append(l.items, text(i.Name))
			}
			v.fields = append(v.fields, field{f.name, l})
		}
	}
	for _, f := range []struct {
		name string
		list *[]ir.ToolRef
	}{{"allowedTools", m.AllowedTools}, {"disallowedTools", m.DisallowedTools}} {
		if f.list != nil {
			l := list()
			for _, r := range *f.list {
				ref := []field{{"serverName", text(r.Server)}, {"toolName", text(r.Tool)}}
				l.items = append(l.items, &value{fields: ref})
			}
			v.fields = append(v.fields, field{f.name, l})
		}
	}
	return v
}

// prose is a text of a mode's and the field that says it.
type prose struct{ field, text string }

// texts compares the texts of a mode. An agent's file may have several of them in one, or in
// another field: the field is changed whose text stood there.
func (d *differ) texts(name string, at []string, own, a, b *ir.Mode) {
	all := func(m *ir.Mode) []prose {
		return []prose{{"name", m.Name}, {"description", m.Description}, {"whenToUse", m.WhenToUse},
			{"roleDefinition", m.RoleDefinition}, {"customInstructions", m.CustomInstructions}, {"model", m.Model}}
	}
	from, is := all(own), all(b)
	for i, was := range all(a) {
		if was.text == is[i].text {
			continue
		}
		field, is, ok := saidBy(from, was, is[i].text)
		what := fmt.Sprintf("%s: %s is changed", name, was.field)
		if !ok {
			d.cannot(b.Pos, what, "the source says it in several fields: change it there")
			continue
		}
		d.change(b.Pos, what, func(p *patcher) error { return p.prose(append(slices.Clip(at), field), is) })
	}
	for _, r := range b.Rules {
		i := slices.IndexFunc(a.Rules, func(x ir.RuleFile) bool { return x.Name == r.Name })
		what := fmt.Sprintf("%s: rules file %s", name, r.Name)
		switch {
		case i < 0:
			d.change(r.Pos, what+" is added", func(p *patcher) error { return p.ruleFile(own.Slug, r) })
		case a.Rules[i].Text != r.Text:
			d.change(r.Pos, what+" is changed", func(p *patcher) error {
				return p.changeRuleFile(append(slices.Clip(at), "rules"), r)
			})
		}
	}
	for _, r := range a.Rules {
		if !slices.ContainsFunc(b.Rules, func(x ir.RuleFile) bool { return x.Name == r.Name }) {
			d.cannot(b.Pos, fmt.Sprintf("%s: rules file %s is taken out", name, r.Name),
				"take it out of the mode's rules")
		}
	}
}

// saidBy returns the field of the source that says a text which an agent's file has, and what it has
// to say for the file to have another one.
func saidBy(own []prose, was prose, is string) (field, text string, ok bool) {
	best := -1
	for _, f := range own {
		said := strings.TrimSpace(f.text)
		before, after, found := strings.Cut(was.text, said)
		better := len(said)*2 > best || f.field == was.field && len(said)*2+1 > best
		if said == "" || !found || !better || len(is) < len(before)+len(after) ||
			!strings.HasPrefix(is, before) || !strings.HasSuffix(is, after) {
			continue
		}
		best = len(said) * 2
		if f.field == was.field {
			best++
		}
		field, ok = f.field, true
		text = strings.Replace(f.text, said, is[len(before):len(is)-len(after)], 1)
	}
	if !ok && was.text == "" {
		i := slices.IndexFunc(own, func(f prose) bool { return f.field == was.field && f.text == "" })
		return was.field, is, i >= 0
	}
	return field, text, ok
}

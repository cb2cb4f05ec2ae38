package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/secret"
)

// withholder keeps the literal secrets of an import out of the project, the notes and the
// comments. What states one stays in its file alone.
type withholder struct {
	*contract.Imported
	target string
	values []string          // the secrets
	taken  map[string]string // by the variable that was named for them: secrets
}

// withhold takes literal secrets out of what a target imported, and returns them. A server whose
// entry states one becomes external: its entry stays in its file, and the source has its name and
// its shape.
func withhold(im *contract.Imported, target string) []string {
	w := withholder{Imported: im, target: target}
	if p := im.Project; p != nil {
		for i := range p.Servers {
			w.server(&p.Servers[i])
			for j := range p.Servers[i].Tools {
				t := &p.Servers[i].Tools[j]
				t.Description = w.text(t.Description)
			}
		}
		for i := range p.Roles {
			r := &p.Roles[i]
			w.env(r)
			w.extra(r)
			w.rules(&r.Can, "role "+r.Name)
			r.Native = slices.DeleteFunc(r.Native, func(x ir.NativeRule) bool {
				return w.withholds(x.Text, x.Decision, x.Pos, "role "+r.Name)
			})
		}
		for i := range p.Modes {
			m := &p.Modes[i]
			w.rules(&m.Can, "mode "+m.Slug)
			m.Native = slices.DeleteFunc(m.Native, func(x ir.NativeRule) bool {
				return w.withholds(x.Text, x.Decision, x.Pos, "mode "+m.Slug)
			})
		}
		modes := slices.Clone(p.Modes)
		p.Modes = slices.DeleteFunc(p.Modes, func(m ir.Mode) bool { return w.mode(m, modes) })
		for i := range p.Modes {
			w.texts(&p.Modes[i])
		}
	}
	for i := range w.Notes {
		n := &w.Notes[i]
		n.What, n.Why, n.Subject = w.mask(n.What), w.mask(n.Why), w.mask(n.Subject)
	}
	for at, text := range w.Comments {
		w.Comments[at] = w.mask(text)
	}
	return w.values
}

// server makes a server external whose entry states a secret.
func (w *withholder) server(s *ir.Server) {
	found := s.Entry().Literals()
	if len(found) == 0 {
		return
	}
	var places, refs []string
	for _, l := range found {
		places = append(places, l.Where)
		refs = append(refs, w.reference(w.variable(s.Name, l)))
		w.values = append(w.values, l.Values...)
	}
	entries := map[string]string(nil)
	if file := s.Pos.File; slices.Contains(w.Files, file) && fs.ValidPath(strings.TrimPrefix(file, "~/")) {
		entries = map[string]string{file: contract.SourceRefs(s.Shape())}
	}
	w.Note(contract.Secret, s.Pos, "server "+s.Name, strings.Join(places, ", "), fmt.Sprintf(
		"it states a secret in clear text, so that the entry stays in this file and the source has its name and shape "+
			"alone; to import the server, write %s in its place, set the variable where the agent runs, and run "+
			"`modec migrate --apply && modec build`", strings.Join(slices.Compact(refs), ", ")))
	*s = ir.Server{
		Name: s.Name, Pos: s.Pos, Type: ir.External, Place: ir.Place{Targets: []string{w.target}, As: s.As},
		DefaultEnabled: s.DefaultEnabled, Tools: s.Tools, Entries: entries,
	}
}

// restate gives external servers the shapes that a build compares their entries by: it reads them in the words of
// each file, whichever of two addresses an agent takes.
func (in *imports) restate(req Request) {
	fields := contract.ListsOfServers(req.Targets)
	for i := range in.project.Servers {
		s := &in.project.Servers[i]
		for file := range s.Entries {
			if entry := contract.EntryOf(req.Root, file, cmp.Or(s.As, s.Name), fields); entry != nil {
				s.Entries[file] = contract.ShapeOf(entry)
			}
		}
	}
}

// variable returns a name for the variable of a secret that no other server has: what has no name of its own has
// that of the server.
func (w *withholder) variable(server string, l secret.Literal) string {
	if w.taken == nil {
		w.taken = map[string]string{}
	}
	name := l.Variable
	if owner, ok := w.taken[name]; name == "TOKEN" || ok && owner != strings.Join(l.Values, "\n") {
		name = secret.Variable(server + "_" + strings.ToLower(name))
	}
	w.taken[name] = strings.Join(l.Values, "\n")
	return name
}

// reference returns how the files of the agent refer to a variable of the environment.
func (w *withholder) reference(variable string) string {
	if w.Reference == nil {
		return "${" + variable + "}"
	}
	return w.Reference("${" + variable + "}")
}

// env leaves out the variables of a role that are secrets.
func (w *withholder) env(r *ir.Role) {
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		if !secret.Is(name, r.Env[name]) {
			continue
		}
		w.values = append(w.values, secret.Entry{Env: map[string]string{name: r.Env[name]}}.Literals()[0].Values...)
		delete(r.Env, name)
		w.Note(contract.Secret, r.Pos, "role "+r.Name, "env "+name,
			"it is a secret in clear text and stays in its file: set the variable where the agent runs")
	}
}

// extra leaves out what only the agent understands of a role and states a secret.
func (w *withholder) extra(r *ir.Role) {
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		for _, key := range stating(r.Extra[name].Fields) {
			delete(r.Extra[name].Fields, key)
			w.Note(contract.Secret, r.Pos, "role "+r.Name, key,
				"it states a secret in clear text and stays in its file: set a variable in its place")
		}
	}
}

// mode reports whether a mode is left out: it states a secret and has a file of its own, which stays as
// it is.
func (w *withholder) mode(m ir.Mode, all []ir.Mode) bool {
	alone := !slices.ContainsFunc(all, func(x ir.Mode) bool { return x.Slug != m.Slug && x.Pos.File == m.Pos.File })
	if !alone {
		return false
	}
	var what []string
	for _, t := range modeTexts(&m) {
		if w.text(*t.text) != *t.text {
			what = append(what, t.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Extra)) {
		what = append(what, stating(m.Extra[name].Fields)...)
	}
	if len(what) == 0 {
		return false
	}
	w.Note(contract.Secret, m.Pos, "mode "+m.Slug, strings.Join(what, ", "), "it states a secret in clear text, so "+
		"that the mode is not imported and its file stays as it is: set a variable in its place, and run "+
		"`modec migrate --apply && modec build`")
	w.forget(m.Slug)
	return true
}

// texts takes the secrets out of a mode that shares its file with others, or has them in files of their own.
func (w *withholder) texts(m *ir.Mode) {
	const why = "it states a secret in clear text, which the source does not have: `modec build` takes it out of " +
		"the file"
	for _, t := range modeTexts(m) {
		if masked := w.text(*t.text); masked != *t.text {
			*t.text = masked
			w.Note(contract.Secret, m.Pos, "mode "+m.Slug, t.name, why)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Extra)) {
		for _, key := range stating(m.Extra[name].Fields) {
			delete(m.Extra[name].Fields, key)
			w.Note(contract.Secret, m.Pos, "mode "+m.Slug, key, why)
		}
	}
	m.Rules = slices.DeleteFunc(slices.Clone(m.Rules), func(r ir.RuleFile) bool {
		if w.text(r.Text) == r.Text {
			return false
		}
		w.Note(contract.Secret, r.Pos, "mode "+m.Slug, "the rules file "+r.Name,
			"it states a secret in clear text and stays as it is, beside what `modec build` writes")
		return true
	})
}

// modeText is a text of a mode, and its name.
type modeText struct {
	name string
	text *string
}

// modeTexts returns the texts of a mode that lie in the mode's own file.
func modeTexts(m *ir.Mode) []modeText {
	list := []modeText{
		{"name", &m.Name}, {"description", &m.Description}, {"whenToUse", &m.WhenToUse},
		{"roleDefinition", &m.RoleDefinition}, {"customInstructions", &m.CustomInstructions}, {"model", &m.Model},
	}
	for _, g := range ir.Groups {
		if t := m.Can.Table(g); t != nil {
			list = append(list, modeText{"the description of " + string(g), &t.Description})
		}
	}
	return list
}

// stating returns the fields that state a secret.
func stating(fields map[string]any) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		text, err := json.Marshal(map[string]any{key: fields[key]})
		if err != nil || secret.Text(string(text)) != string(text) {
			keys = append(keys, key)
		}
	}
	return keys
}

// text masks the secrets of a text, and keeps them in mind.
func (w *withholder) text(text string) string {
	for _, x := range secret.Index(text) {
		w.values = append(w.values, text[x[0]:x[1]])
	}
	return secret.Text(text)
}

// forget takes the references to a mode out that is left out.
func (w *withholder) forget(slug string) {
	for i := range w.Project.Roles {
		r := &w.Project.Roles[i]
		if r.Modes != nil {
			*r.Modes = slices.DeleteFunc(*r.Modes, func(s string) bool { return s == slug })
		}
	}
	for i := range w.Originals {
		o := &w.Originals[i]
		o.Subjects = slices.DeleteFunc(slices.Clone(o.Subjects), func(s ir.SubjectRef) bool { return s.Mode == slug })
	}
}

// rules leaves out what is allowed by a rule that states a secret. A deny or an ask holds for
// every text in the secret's place.
func (w *withholder) rules(can *ir.Can, subject string) {
	for _, g := range ir.Groups {
		t := can.Table(g)
		if t == nil {
			continue
		}
		t.Rules = slices.DeleteFunc(slices.Clone(t.Rules), func(r ir.Rule) bool {
			return r.Decision == ir.Allow && w.withholds(r.Pattern.Text, r.Decision, r.Pos, subject)
		})
		for i := range t.Rules {
			any := map[ir.PatternKind]string{ir.Plain: "*", ir.Regex: ".*"}
			if p := &t.Rules[i].Pattern; any[p.Kind] != "" && secret.Text(p.Text) != p.Text {
				p.Text = strings.ReplaceAll(w.text(p.Text), secret.Mask, any[p.Kind])
			}
		}
	}
}

// withholds reports whether a rule states a secret, and notes that it is left out.
func (w *withholder) withholds(text string, d ir.Decision, at diag.Pos, subject string) bool {
	masked := w.text(text)
	if masked == text {
		return false
	}
	what := d.String() + " " + masked
	w.Notes = slices.DeleteFunc(w.Notes, func(n contract.Note) bool { // what else was said of it
		return n.Rule && n.Pos == at && secret.Text(n.What) == what
	})
	w.NoteRule(contract.Secret, at, subject, what, "it states a secret in clear text and stays in its file alone")
	return true
}

// mask masks secrets in what was noted after the import: what was mended and proved.
func (rep *Report) mask(values []string) {
	for i := range rep.Notes {
		n := &rep.Notes[i]
		n.What, n.Why, n.Subject = masked(n.What, values), masked(n.Why, values), masked(n.Subject, values)
	}
	for i := range rep.Narrower {
		n := &rep.Narrower[i]
		n.Rule, n.Example = masked(n.Rule, values), masked(n.Example, values)
	}
	for i := range rep.Proof {
		for _, t := range []*Tally{&rep.Proof[i].Source, &rep.Proof[i].Built} {
			t.Part = masked(t.Part, values)
		}
	}
}

// mask masks the secrets of the import in a text, wherever they stand.
func (w *withholder) mask(text string) string { return masked(text, w.values) }

// masked masks given secrets and whatever else looks like one.
func masked(text string, values []string) string {
	for _, v := range values {
		if strings.TrimSpace(v) != "" {
			text = strings.ReplaceAll(text, v, secret.Mask)
		}
	}
	return secret.Text(text)
}

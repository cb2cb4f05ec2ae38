package migrate

import (
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
	again  string   // the commands that import what was left out
	values []string // the secrets
}

// withhold takes literal secrets out of what a target imported, and returns them. A server whose
// entry states one becomes external: its entry stays in its file, and the source has its name and
// its shape.
func withhold(im *contract.Imported, target, local string) []string {
	w := withholder{Imported: im, target: target, again: "modec build && modec migrate --apply"}
	if local != "" {
		w.again = "modec build && modec migrate --local --apply"
	}
	if p := im.Project; p != nil {
		for i := range p.Servers {
			w.server(&p.Servers[i])
		}
		for i := range p.Roles {
			r := &p.Roles[i]
			w.env(r)
			w.rules(&r.Can, "role "+r.Name)
			r.Native = slices.DeleteFunc(r.Native, func(x ir.NativeRule) bool {
				return w.withholds(x.Text, x.Decision, x.Pos, "role "+r.Name)
			})
		}
		for i := range p.Modes {
			w.rules(&p.Modes[i].Can, "mode "+p.Modes[i].Slug)
		}
		p.Modes = slices.DeleteFunc(p.Modes, w.mode)
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
		refs = append(refs, w.reference(l.Variable))
		w.values = append(w.values, l.Values...)
	}
	entries := map[string]string(nil)
	if file := s.Pos.File; slices.Contains(w.Files, file) && fs.ValidPath(strings.TrimPrefix(file, "~/")) {
		entries = map[string]string{file: contract.SourceRefs(s.Shape())}
	}
	w.Note(contract.Secret, s.Pos, "server "+s.Name, strings.Join(places, ", "), fmt.Sprintf(
		"it states a secret in clear text, so that the entry stays in this file and the source has its name and shape "+
			"alone; to import the server, write %s in its place, set the variable where the agent runs, and run "+
			"`%s`", strings.Join(slices.Compact(refs), ", "), w.again))
	*s = ir.Server{
		Name: s.Name, Pos: s.Pos, Type: ir.External, Place: ir.Place{Targets: []string{w.target}, As: s.As},
		DefaultEnabled: s.DefaultEnabled, Tools: s.Tools, Entries: entries,
	}
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

// mode leaves out what only the agent understands of a mode and states a secret. It reports whether
// the whole mode is left out: one with a file of its own stays as it is.
func (w *withholder) mode(m ir.Mode) bool {
	alone := !slices.ContainsFunc(w.Project.Modes, func(x ir.Mode) bool {
		return x.Slug != m.Slug && x.Pos.File == m.Pos.File
	})
	for _, name := range slices.Sorted(maps.Keys(m.Extra)) {
		fields := m.Extra[name].Fields
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			text, err := json.Marshal(map[string]any{key: fields[key]})
			if err == nil && secret.Text(string(text)) == string(text) {
				continue
			}
			if alone {
				w.Note(contract.Secret, m.Pos, "mode "+m.Slug, key, "it states a secret in clear text, so that the "+
					"mode is not imported and its file stays as it is: set a variable in its place, and run `"+
					w.again+"`")
				w.forget(m.Slug)
				return true
			}
			delete(fields, key)
			w.Note(contract.Secret, m.Pos, "mode "+m.Slug, key,
				"it states a secret in clear text and is not imported: `modec build` takes it out of the file")
		}
	}
	return false
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
			if p := &t.Rules[i].Pattern; p.Kind == ir.Plain {
				p.Text = strings.ReplaceAll(secret.Text(p.Text), secret.Mask, "*")
			}
		}
	}
}

// withholds reports whether a rule states a secret, and notes that it is left out.
func (w *withholder) withholds(text string, d ir.Decision, at diag.Pos, subject string) bool {
	masked := secret.Text(text)
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

package lint

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/secret"
)

// secrets finds what the source states in clear text, by the detector that migrate and every output
// use: in the model first, where the value's name is known, then in whatever else the files contain.
func (p *pass) secrets() {
	s := &stated{pass: p}
	for i := range p.Project.Servers {
		s.server(&p.Project.Servers[i])
	}
	for i := range p.Project.Roles {
		s.env(&p.Project.Roles[i])
	}
	for _, x := range p.subjects() {
		s.subject(x)
	}
	for _, file := range slices.Sorted(maps.Keys(p.Sources)) {
		s.file(file, p.Sources[file])
	}
}

// stated finds secrets, each once.
type stated struct {
	*pass
	values []string // what was found
}

const takeOut = "take it out, and revoke it: the history keeps it"

// text finds a secret in a text, and says what the text is.
func (s *stated) text(at diag.Pos, what, subject, text, hint string) {
	found := secret.Index(text)
	for _, x := range found {
		s.values = append(s.values, text[x[0]:x[1]])
	}
	if len(found) > 0 {
		s.find(at, "%s contains what looks like a secret", what).Subject(subject).Hint(hint)
	}
}

func (s *stated) server(sv *ir.Server) {
	subject := "server " + sv.Name
	for _, l := range sv.Entry().Literals() {
		s.values = append(s.values, l.Values...)
		s.find(sv.Pos, "%s contains what looks like a secret", l.Where).
			Subject(subject).
			Hintf("write ${%s} and set the variable where the agent runs", secretVariable(sv.Name, l))
	}
	for _, file := range slices.Sorted(maps.Keys(sv.Entries)) {
		s.text(sv.Pos, "the shape of its entry in "+file, subject, sv.Entries[file],
			"write "+secret.Mask+" in its place")
	}
	for _, t := range sv.Tools {
		s.text(t.Pos, "the description of the tool "+t.Name, subject, t.Description, takeOut)
	}
}

func (s *stated) env(r *ir.Role) {
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		for _, l := range (secret.Entry{Env: map[string]string{name: r.Env[name]}}).Literals() {
			s.values = append(s.values, l.Values...)
			s.find(r.Pos, "the variable %s contains what looks like a secret", name).
				Subject("role " + r.Name).
				Hint("leave it out and set the variable where the agent runs")
		}
	}
}

func (s *stated) subject(x subject) {
	for _, t := range prompts(x) {
		s.text(x.pos, t.name, x.name, t.text, "every request sends it: take it out")
	}
	extra := map[string]ir.Extra(nil)
	if x.mode != nil {
		s.text(x.pos, "the description", x.name, x.mode.Description, takeOut)
		s.text(x.pos, "whenToUse", x.name, x.mode.WhenToUse, "every request sends it: take it out")
		for _, r := range x.mode.Native {
			s.text(r.Pos, "a rule", x.name, r.Text, "write * in its place")
		}
		extra = x.mode.Extra
	} else {
		s.text(x.pos, "the description", x.name, x.role.Description, takeOut)
		for _, r := range slices.Concat(x.role.Native, x.role.Written) {
			s.text(r.Pos, "a rule", x.name, r.Text, "write * in its place")
		}
		extra = x.role.Extra
	}
	for _, target := range slices.Sorted(maps.Keys(extra)) {
		if text, err := json.Marshal(extra[target].Fields); err == nil {
			s.text(extra[target].Pos, "agents."+target+".settings", x.name, string(text), takeOut)
		}
	}
	for _, g := range ir.Groups {
		t := x.can.Table(g)
		if t == nil {
			continue
		}
		s.text(x.pos, "the description of can."+string(g), x.name, t.Description, takeOut)
		for _, r := range t.Rules {
			s.text(r.Pos, "a pattern", x.name, r.Pattern.Text, "write * in its place")
		}
	}
}

// file finds what the model does not have or has no name for: comments, policies that nothing
// extends, modec.toml.
func (s *stated) file(file string, text []byte) {
	for _, x := range secret.Index(string(text)) {
		v := string(text[x[0]:x[1]])
		same := func(w string) bool { return strings.Contains(w, v) || strings.Contains(v, w) }
		if slices.ContainsFunc(s.values, same) {
			continue
		}
		before := text[:x[0]]
		at := diag.Pos{
			File: file, Line: bytes.Count(before, []byte("\n")) + 1, Col: x[0] - bytes.LastIndexByte(before, '\n'),
		}
		s.find(at, "the file contains what looks like a secret").Hint(takeOut)
	}
}

// secretVariable returns the name of a variable that could hold a secret of a server.
func secretVariable(server string, l secret.Literal) string {
	switch l.Variable {
	case "AUTHORIZATION", "COOKIE", "TOKEN":
		return secret.Variable(server + "_token")
	}
	return l.Variable
}

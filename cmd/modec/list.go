package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

type listCmd struct {
	textOrJSON
}

func (listCmd) reports() []any { return []any{listing{}, outcome{}} }

// listing is the JSON of a list.
type listing struct {
	envelope
	Modes   []listed `json:"modes"`
	Roles   []listed `json:"roles"`
	Servers []listed `json:"servers"`
}

type listed struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty" jsonschema:"the name of a mode that people see"`
	Description string   `json:"description,omitempty"`
	Pos         diag.Pos `json:"pos"`
	Tools       []string `json:"tools,omitempty"`
	Targets     []string `json:"targets,omitempty" jsonschema:"the only targets that it is emitted for"`
	As          string   `json:"as,omitempty" jsonschema:"its name in the files of its targets"`
	// Left are the groups that a subject leaves to the agent.
	Left []ir.Group `json:"left,omitempty" jsonschema:"the tool groups that the source leaves to the agent"`
}

func (c *listCmd) Run(e *env) error {
	res, diags := compiler.Open(e.ctx, e.request())
	if diags.HasErrors() {
		return e.ui.fail(diags)
	}
	l := list(res.Project, res.Policy)
	l.envelope = e.ui.envelope()
	if e.ui.json {
		return e.ui.emit(l)
	}
	w := tabwriter.NewWriter(e.ui.out, 0, 4, 2, ' ', 0)
	for _, s := range []struct {
		title string
		items []listed
	}{{"modes", l.Modes}, {"roles", l.Roles}, {"servers", l.Servers}} {
		fmt.Fprintf(w, "%s\n", s.title)
		for _, i := range s.items {
			about := i.Description
			if len(i.Tools) > 0 {
				about = count(len(i.Tools), "tool") + ": " + strings.Join(i.Tools, ", ")
			}
			if len(i.Left) > 0 {
				about = strings.TrimSpace(about + " (leaves " + ir.Names(i.Left) + " to the agent)")
			}
			if of := i.emitted(); of != "" {
				about = strings.TrimSpace(about + " (" + of + ")")
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\n", diag.Clean(i.Name), i.Pos, diag.Clean(about))
		}
	}
	return w.Flush()
}

// emitted says for which targets something is emitted, "" for all of them under its own name.
func (l *listed) emitted() string {
	text := ""
	if len(l.Targets) > 0 {
		text = "for " + strings.Join(l.Targets, ", ") + " only"
	}
	if l.As != "" {
		text = strings.TrimPrefix(text+", as "+l.As, ", ")
	}
	return text
}

func list(p *ir.Project, e *policy.Engine) listing {
	left := func(ref ir.SubjectRef) []ir.Group {
		s, err := e.Subject(ref)
		if err != nil {
			return nil
		}
		return s.Left()
	}
	l := listing{Modes: []listed{}, Roles: []listed{}, Servers: []listed{}}
	for _, m := range p.Modes {
		l.Modes = append(l.Modes, listed{Name: m.Slug, Title: m.Name, Description: m.Description, Pos: m.Pos,
			Targets: m.Targets, As: m.As,
			Left: left(ir.SubjectRef{Mode: m.Slug})})
	}
	for _, r := range p.Roles {
		l.Roles = append(l.Roles, listed{Name: r.Name, Description: r.Description, Pos: r.Pos,
			Targets: r.Targets, As: r.As,
			Left: left(ir.SubjectRef{Role: r.Name})})
	}
	for _, s := range p.Servers {
		i := listed{Name: s.Name, Pos: s.Pos, Targets: s.Targets, As: s.As}
		for _, t := range s.Tools {
			i.Tools = append(i.Tools, t.Name)
		}
		l.Servers = append(l.Servers, i)
	}
	return l
}

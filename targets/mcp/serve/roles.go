package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Who wrote a role.
const (
	bySource   = "source"    // somebody, in the source
	bySetRoles = "set_roles" // this tool
)

// RolesFile is the file of the source that set_roles writes, below the source's folder.
const RolesFile = "served/roles.cue"

// Hidden stands in the place of a value that callers must not see.
const Hidden = "***"

// role is a role in the form of the specification of roles, as it was written or set. What list_roles returns,
// set_roles takes.
type role struct {
	Name               string            `json:"name"`
	Description        string            `json:"description"`
	PermissionMode     any               `json:"permission_mode" jsonschema:"a text or null"`
	AllowedTools       []string          `json:"allowed_tools"`
	DisallowedTools    []string          `json:"disallowed_tools"`
	Tools              any               `json:"tools" jsonschema:"built-in tools with commas, or null: all"`
	AppendSystemPrompt any               `json:"append_system_prompt" jsonschema:"a text or null"`
	Env                map[string]string `json:"env,omitempty"`

	SetBy string     `json:"set_by" jsonschema:"source: set_roles does not change it; set_roles: this tool wrote it"`
	Flags *roleFlags `json:"flags,omitempty" jsonschema:"what the role is compiled to"`
	Rules string     `json:"rules,omitempty" jsonschema:"compiled: the lists are of flags, since the role has no rules"`
}

// orNull returns a text, nil for none.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// written returns a role as its author wrote it, without what it is compiled to.
func (m *Model) written(r *ir.Role) role {
	out := role{
		Name: r.Name, Description: r.Description, PermissionMode: orNull(r.PermissionMode),
		AllowedTools: []string{}, DisallowedTools: []string{}, AppendSystemPrompt: orNull(r.AppendSystemPrompt),
		Env: r.Env, SetBy: bySource,
	}
	if dir, file := path.Split(r.Pos.File); path.Join(path.Base(dir), file) == RolesFile {
		out.SetBy = bySetRoles
	}
	for _, w := range r.Written {
		switch w.Decision {
		case ir.Allow:
			out.AllowedTools = append(out.AllowedTools, w.Text)
		case ir.Deny:
			out.DisallowedTools = append(out.DisallowedTools, w.Text)
		}
	}
	if r.Tools != nil {
		out.Tools = strings.Join(*r.Tools, ",")
	}
	return out
}

// compiledRules marks a role whose rules are those of its flags.
const compiledRules = "compiled"

// compiled gives a role of the source that has no rules of its own those that it is compiled to: without any it looks
// as if nothing restricted it.
func (r *role) compiled(flags *roleFlags) {
	if r.SetBy != bySource || len(r.AllowedTools)+len(r.DisallowedTools) > 0 ||
		len(flags.AllowedTools)+len(flags.DisallowedTools) == 0 {
		return
	}
	r.AllowedTools = append(r.AllowedTools, flags.AllowedTools...)
	r.DisallowedTools = append(r.DisallowedTools, flags.DisallowedTools...)
	r.Rules = compiledRules
}

// roles lists the roles of a model.
func (m *Model) roles() ([]role, error) {
	out := []role{}
	for i := range m.Project.Roles {
		r := m.written(&m.Project.Roles[i])
		flags, err := m.flagsOf(&m.Project.Roles[i])
		if err != nil {
			return nil, fail(internalError, "%v", err)
		}
		r.Flags = flags
		r.compiled(flags)
		out = append(out, r)
	}
	return out, nil
}

// rolesWords writes roles as the specification of roles has them: a list.
func rolesWords(list []role) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	short := []role{}
	for _, r := range list {
		r.Flags = nil
		short = append(short, r)
	}
	if err := e.Encode(short); err != nil {
		return "[]" // does not happen: the values are texts
	}
	return b.String()
}

func (o *listRolesOutput) words() string { return rolesWords(o.Roles) }

func (o *writeOutput) words() string {
	switch {
	case o.Code != "":
		text := "Nothing was changed."
		for _, p := range o.Problems {
			if p.Severity == diag.Error.String() {
				text += "\n" + p.Place + ": " + p.Message
				if p.Hint != "" {
					text += "; " + p.Hint
				}
			}
		}
		return text
	case o.Roles != nil:
		return rolesWords(o.Roles)
	}
	if !o.Changed {
		return "Nothing was changed."
	}
	return "Written: " + o.File
}

// checkProject refuses another project than the one that is served. Names are compared without case, as Thurbox
// does.
func checkProject(m *Model, name string) error {
	if name == "" || strings.EqualFold(strings.TrimSpace(name), m.Project.Name) {
		return nil
	}
	return failData(projectNotFound, map[string]any{"project": name, "error": "Project not found: " + name},
		"Project not found: %s; the one that is served is %q", name, m.Project.Name)
}

type listRolesInput struct {
	Project string `json:"project,omitempty" jsonschema:"the project's name; there is one, and it may be left out"`
}

type listRolesOutput struct {
	Roles []role `json:"roles"`
}

func (sc *scope) listRoles(_ context.Context, in listRolesInput) (*listRolesOutput, error) {
	m := sc.Model()
	if err := checkProject(m, in.Project); err != nil {
		return nil, err
	}
	list, err := m.roles()
	return &listRolesOutput{list}, err
}

// ofSource reports whether a role of a call is one of the source, as list_roles lists it: it stays as it is.
func (m *Model) ofSource(in *RoleInput) bool {
	r := m.Project.Role(in.Name)
	if r == nil {
		return false
	}
	have := m.written(r)
	if have.SetBy != bySource {
		return false
	}
	if in.Rules == compiledRules {
		flags, err := m.flagsOf(r)
		if err != nil {
			return false
		}
		have.compiled(flags)
	}
	text := func(p *string) any {
		if p == nil {
			return nil
		}
		return *p
	}
	same := role{
		Name: in.Name, Description: in.Description, PermissionMode: orNull(in.PermissionMode),
		AllowedTools:       append([]string{}, in.AllowedTools...),
		DisallowedTools:    append([]string{}, in.DisallowedTools...),
		Tools:              text(in.Tools),
		AppendSystemPrompt: orNull(in.AppendSystemPrompt), Env: in.Env, SetBy: bySource,
		Rules: in.Rules,
	}
	if len(same.Env) == 0 {
		same.Env = have.Env
	}
	return reflect.DeepEqual(have, same)
}

func (sc *scope) setRoles(ctx context.Context, in setRolesInput) (*writeOutput, error) {
	m := sc.Model()
	if err := checkProject(m, in.Project); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	own, kept := []RoleInput{}, []problem{}
	for i := range in.Roles {
		r := &in.Roles[i]
		if r.Name = strings.TrimSpace(r.Name); r.Name == "" {
			return nil, fail(validationError, "got role %d without a name, want one", i+1)
		}
		if seen[r.Name] {
			return nil, fail(validationError, "got the role %q twice, want it once: nothing was changed", r.Name)
		}
		seen[r.Name] = true
		switch have := m.Project.Role(r.Name); {
		case m.ofSource(r):
			continue
		case have != nil && m.written(have).SetBy == bySource:
			no := &writeOutput{Problems: []problem{{Severity: diag.Error.String(), Code: string(diag.NotOurs),
				Place:   have.Pos.String(),
				Message: fmt.Sprintf("the source has role %q already, and this is another one", r.Name),
				Hint:    "leave it as list_roles returned it, choose another name, or change the source"}}}
			no.refused()
			return no, nil
		}
		own = append(own, *r)
	}
	for i := range m.Project.Roles {
		r := m.written(&m.Project.Roles[i])
		if r.SetBy == bySource && !seen[r.Name] && len(in.Roles) > 0 {
			kept = append(kept, problem{Severity: diag.Warning.String(), Code: "of-the-source",
				Place: m.Project.Roles[i].Pos.String(), Message: "role " + r.Name + " is of the source, and stays"})
		}
	}
	out, err := sc.write(ctx, func() (*Written, error) { return sc.opt.Writer.SetRoles(ctx, own) })
	if err != nil || out.Code != "" {
		return out, err
	}
	out.Problems, out.Roles = append(out.Problems, kept...), []role{}
	list, err := sc.Model().roles()
	for _, r := range in.Roles {
		for _, x := range list {
			if x.Name == r.Name {
				out.Roles = append(out.Roles, x)
			}
		}
	}
	return out, err
}

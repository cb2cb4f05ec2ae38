// Package render writes a model as the data files of a source: [Source] is the inverse of
// compiling one. The files compile to the same model.
package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// ServersFile is the file with the servers.
const ServersFile = "servers.cue"

// Source returns the files of a project below dir: servers.cue, everyone.cue, and one file for each
// policy, mode and role in the folders policies, modes and roles. Long prompts and rules
// files become Markdown beside them.
//
// What a subject has From "policy NAME" is written once, as that policy, if the subject has
// all of it. Anything else that it inherits is written as its own. comments are added to
// what was at their places; dialects are those of the roles' native rules.
func Source(
	p *ir.Project, dir string, comments map[diag.Pos]string, dialects []contract.Dialect,
) ([]contract.File, error) {
	w := writer{dir: dir, comments: comments, dialects: dialects}
	if len(p.Servers) > 0 {
		root := &tree{}
		servers := &tree{}
		for i := range p.Servers {
			servers.set(p.Servers[i].Name, w.server(&p.Servers[i]))
		}
		root.set("servers", servers)
		w.data("servers", root)
	}
	if p.Everyone != nil {
		if can := w.can(p.Everyone, nil); can != nil {
			root, everyone := &tree{}, &tree{}
			everyone.set("can", can)
			root.set(ir.OfEveryone, everyone)
			w.data(ir.OfEveryone, root)
		}
	}
	w.findPolicies(p)
	for _, name := range slices.Sorted(maps.Keys(w.policies)) {
		can := w.can(w.policies[name], nil)
		if can == nil {
			continue
		}
		root, policies, policy := &tree{}, &tree{}, &tree{}
		policy.set("can", can)
		policies.set(name, policy)
		root.set("policies", policies)
		w.data("policies/"+contract.PathName(name), root)
	}
	for i := range p.Modes {
		root, modes := &tree{}, &tree{}
		modes.set(p.Modes[i].Slug, w.mode(&p.Modes[i]))
		root.set("modes", modes)
		w.data("modes/"+p.Modes[i].Slug, root)
	}
	for i := range p.Roles {
		root, roles := &tree{}, &tree{}
		roles.set(p.Roles[i].Name, w.role(&p.Roles[i]))
		root.set("roles", roles)
		w.data("roles/"+contract.PathName(p.Roles[i].Name), root)
	}
	slices.SortFunc(w.files, func(a, b contract.File) int { return cmp.Compare(a.Path, b.Path) })
	return w.files, w.err
}

// writer collects the files.
type writer struct {
	dir      string
	comments map[diag.Pos]string
	dialects []contract.Dialect
	policies map[string]*ir.Can
	files    []contract.File
	err      error
}

// data adds a data file.
func (w *writer) data(name string, root *tree) {
	b, err := file(root)
	if err != nil {
		w.err = cmp.Or(w.err, fmt.Errorf("%s: %w", name, err))
	}
	w.files = append(w.files, contract.File{Path: path.Join(w.dir, name+".cue"), Data: b})
}

// noted adds the comment of a place to a tree.
func (w *writer) noted(t *tree, at diag.Pos) *tree {
	t.comment = w.comments[at]
	return t
}

// The bytes and lines from which a text gets a file of its own.
const (
	longText  = 600
	manyLines = 12
)

// prompt sets a text field, or the field that names the text's file.
func (w *writer) prompt(t *tree, field, s, file string) {
	long := len(s) >= longText || strings.Count(s, "\n") > manyLines
	kept := !strings.Contains(s, "\r") && !strings.HasPrefix(s, "\uFEFF") // as a file it would be read without
	switch {
	case s == "":
	case long && kept:
		t.set(field+"File", text(path.Base(file)))
		w.files = append(w.files, contract.File{Path: path.Join(w.dir, file), Data: []byte(s)})
	default:
		t.setText(field, s)
	}
}

func (w *writer) server(s *ir.Server) *tree {
	t := w.noted(&tree{}, s.Pos)
	t.setText("command", s.Command)
	if len(s.Args) > 0 {
		t.set("args", texts(s.Args))
	}
	t.setText("cwd", s.Cwd)
	w.textMap(t, "env", s.Env)
	t.setText("url", s.URL)
	if s.Type == ir.External || s.Type == "sse" {
		t.setText("type", s.Type)
	}
	w.textMap(t, "headers", s.Headers)
	w.textMap(t, "entries", s.Entries)
	if s.TimeoutSeconds > 0 {
		t.set("timeout", scalar(strconv.Itoa(s.TimeoutSeconds)))
	}
	if !s.DefaultEnabled {
		t.set("defaultEnabled", scalar("false"))
	}
	if len(s.Tools) > 0 {
		tools := &tree{}
		for _, tool := range s.Tools {
			x := w.noted(&tree{}, tool.Pos)
			x.setText("description", tool.Description)
			x.setText("risk", tool.Risk)
			tools.set(tool.Name, x)
		}
		t.set("tools", tools)
	}
	w.place(t, s.Place)
	return t
}

// place writes where something is emitted.
func (w *writer) place(t *tree, pl ir.Place) {
	if pl.Order != nil {
		t.set("order", scalar(strconv.Itoa(*pl.Order)))
	}
	if pl.Targets != nil {
		t.set("targets", texts(pl.Targets))
	}
	t.setText("as", pl.As)
}

func (w *writer) textMap(t *tree, key string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	x := &tree{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		x.set(k, text(m[k]))
	}
	t.set(key, x)
}

func (w *writer) mode(m *ir.Mode) *tree {
	t := w.noted(&tree{block: true}, m.Pos)
	t.setText("name", m.Name)
	t.setText("description", m.Description)
	t.setText("whenToUse", m.WhenToUse)
	w.prompt(t, "roleDefinition", m.RoleDefinition, "modes/"+m.Slug+".md")
	w.prompt(t, "customInstructions", m.CustomInstructions, "modes/"+m.Slug+".instructions.md")
	t.setText("model", m.Model)
	if len(m.Rules) > 0 {
		rules := list()
		for _, r := range m.Rules {
			rules.list = append(rules.list, text("../rules/"+m.Slug+"/"+r.Name))
			w.files = append(w.files, contract.File{
				Path: path.Join(w.dir, "rules", m.Slug, r.Name), Data: []byte(r.Text),
			})
		}
		t.set("rules", rules)
	}
	w.permissions(t, &m.Can)
	if m.Restrictions != nil {
		t.set("mcpRestrictions", w.restrictions(m.Restrictions))
	}
	w.own(t, m.Extra, m.Native)
	w.place(t, m.Place)
	return t
}

func (w *writer) role(r *ir.Role) *tree {
	t := w.noted(&tree{block: true}, r.Pos)
	t.setText("description", r.Description)
	t.setText("permissionMode", r.PermissionMode)
	w.prompt(t, "appendSystemPrompt", r.AppendSystemPrompt, "roles/"+contract.PathName(r.Name)+".md")
	if r.Modes != nil {
		t.set("modes", texts(*r.Modes))
	}
	t.setText("claims", string(r.Principals))
	if len(r.Claims) > 0 {
		claims := &tree{}
		for _, k := range slices.Sorted(maps.Keys(r.Claims)) {
			claims.set(k, texts(r.Claims[k]))
		}
		t.set("claims", claims)
	}
	if r.Tools != nil {
		t.set("tools", texts(*r.Tools))
	}
	w.textMap(t, "env", r.Env)
	w.permissions(t, &r.Can)
	w.own(t, r.Extra, r.Native)
	w.place(t, r.Place)
	return t
}

// own writes what a subject says for one agent alone.
func (w *writer) own(t *tree, extra map[string]ir.Extra, rules []ir.NativeRule) {
	agents := &tree{}
	for _, d := range w.dialects {
		var foreign, own []ir.NativeRule // what the neutral vocabulary cannot say, and what stays as it is
		for _, n := range rules {
			switch {
			case n.Target != d.Name():
			case n.Own:
				own = append(own, n)
			default:
				foreign = append(foreign, n)
			}
		}
		for _, l := range byField(d.RuleLists()) {
			w.native(t, l.Field, l.Decision, foreign)
		}
		native := &tree{}
		for _, decision := range []ir.Decision{ir.Allow, ir.Ask, ir.Deny} {
			w.native(native, decision.String(), decision, own)
		}
		if len(native.fields) > 0 {
			agent(agents, d.Name()).set("native", native)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if fields := extra[name].Fields; len(fields) > 0 {
			agent(agents, name).set("settings", w.any(fields))
		}
	}
	if len(agents.fields) > 0 {
		t.set("agents", agents)
	}
}

// agent returns what is for one agent alone.
func agent(all *tree, name string) *tree {
	of := all.get(name)
	if of == nil {
		of = &tree{}
		all.set(name, of)
	}
	return of
}

// byField returns the lists that are fields of a role, by name.
func byField(lists []contract.RuleList) []contract.RuleList {
	lists = slices.DeleteFunc(slices.Clone(lists), func(l contract.RuleList) bool { return l.Field == "" })
	slices.SortFunc(lists, func(a, b contract.RuleList) int { return cmp.Compare(a.Field, b.Field) })
	return lists
}

// native writes a list of rules in the grammar of an agent: those of a decision.
func (w *writer) native(t *tree, field string, d ir.Decision, all []ir.NativeRule) {
	rules := list()
	for _, n := range all {
		if n.Decision == d {
			rules.list = append(rules.list, w.noted(text(n.Text), n.Pos))
		}
	}
	if len(rules.list) > 0 {
		t.set(field, rules)
	}
}

// permissions writes extends and can.
func (w *writer) permissions(t *tree, can *ir.Can) {
	var extends []string
	for _, name := range slices.Sorted(maps.Keys(w.policies)) {
		if w.extends(can, name) {
			extends = append(extends, name)
		}
	}
	if len(extends) > 0 {
		t.set("extends", texts(extends))
	}
	if x := w.can(can, extends); x != nil {
		t.set("can", x)
	}
}

func (w *writer) restrictions(m *ir.MCPRestrictions) *tree {
	t := &tree{}
	servers := func(key string, l *[]ir.Item) {
		if l == nil {
			return
		}
		x := list()
		for _, i := range *l {
			x.list = append(x.list, w.noted(text(i.Name), i.Pos))
		}
		t.set(key, x)
	}
	tools := func(key string, l *[]ir.ToolRef) {
		if l == nil {
			return
		}
		x := list()
		for _, r := range *l {
			ref := &tree{}
			ref.setText("serverName", r.Server)
			ref.setText("toolName", r.Tool)
			x.list = append(x.list, w.noted(ref, r.Pos))
		}
		t.set(key, x)
	}
	servers("allowedServers", m.AllowedServers)
	servers("disallowedServers", m.DisallowedServers)
	tools("allowedTools", m.AllowedTools)
	tools("disallowedTools", m.DisallowedTools)
	return t
}

// any writes a value of JSON.
func (w *writer) any(v any) *tree {
	switch v := v.(type) {
	case string:
		return text(v)
	case map[string]any:
		t := &tree{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			t.set(k, w.any(v[k]))
		}
		return t
	case []any:
		t := list()
		for _, x := range v {
			t.list = append(t.list, w.any(x))
		}
		return t
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		w.err = cmp.Or(w.err, err)
	}
	return scalar(strings.TrimSpace(b.String()))
}

const policyPrefix = "policy "

// findPolicies collects the policies that subjects inherit from. Of each policy it takes
// what the subject has that inherits most of it.
func (w *writer) findPolicies(p *ir.Project) {
	w.policies = map[string]*ir.Can{}
	size := map[string]int{}
	collect := func(can *ir.Can) {
		names := map[string]bool{}
		from := func(f string) {
			if name, ok := strings.CutPrefix(f, policyPrefix); ok {
				names[name] = true
			}
		}
		sources(can, from)
		for name := range names {
			part, n := part(can, policyPrefix+name)
			if n > size[name] {
				w.policies[name], size[name] = part, n
			}
		}
	}
	for i := range p.Modes {
		collect(&p.Modes[i].Can)
	}
	for i := range p.Roles {
		collect(&p.Roles[i].Can)
	}
}

// extends reports whether a subject has all of a policy, so that it can extend it.
func (w *writer) extends(can *ir.Can, name string) bool {
	own, n := part(can, policyPrefix+name)
	return n > 0 && reflect.DeepEqual(own, w.policies[name])
}

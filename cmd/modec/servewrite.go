package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/targets/mcp/serve"
)

// servedHeader begins the files of the source that modec serve writes. Without it a
// file of such a name is somebody's own.
const servedHeader = "// Written by modec serve; the next call writes it anew.\n"

// SetRoles writes roles into served/roles.cue of the source.
func (l *modelLoader) SetRoles(ctx context.Context, roles []serve.RoleInput) (*serve.Written, error) {
	type role struct {
		Description        string            `json:"description,omitempty"`
		PermissionMode     string            `json:"permissionMode,omitempty"`
		AllowedTools       []string          `json:"allowedTools,omitempty"`
		DisallowedTools    []string          `json:"disallowedTools,omitempty"`
		Tools              *[]string         `json:"tools,omitempty"`
		AppendSystemPrompt string            `json:"appendSystemPrompt,omitempty"`
		Env                map[string]string `json:"env,omitempty"`
	}
	all := map[string]role{}
	for _, r := range roles {
		out := role{Description: r.Description, PermissionMode: r.PermissionMode, AllowedTools: r.AllowedTools, DisallowedTools: r.DisallowedTools, AppendSystemPrompt: r.AppendSystemPrompt, Env: r.Env}
		if r.Tools != nil {
			tools := strings.FieldsFunc(*r.Tools, func(c rune) bool { return c == ',' || c == ' ' })
			out.Tools = &tools
		}
		all[r.Name] = out
	}
	return l.change(ctx, "roles.cue", "roles", all, func(without, _ *compiler.Result, file string) (diags diag.List) {
		for _, r := range roles {
			if other := without.Project.Role(r.Name); other != nil {
				diags.Errorf(diag.NotOurs, diag.Pos{File: file}, "got role %q, which the source has already: what is set would join it", r.Name).
					Path("roles."+r.Name).
					Hint("choose another name, or change the role in the source").
					Related(other.Pos, "written here")
			}
		}
		return diags
	})
}

// SetRestrictions writes a mode's MCP restrictions into a file of their own.
func (l *modelLoader) SetRestrictions(ctx context.Context, slug string, r *serve.RestrictionsInput) (*serve.Written, error) {
	modes := map[string]any{}
	if r != nil {
		modes[slug] = map[string]any{"mcpRestrictions": r}
	}
	return l.change(ctx, "mode-"+contract.PathName(slug)+".cue", "modes", modes, func(without, with *compiler.Result, file string) diag.List {
		return onlyHoldBack(without, with, slug, file)
	})
}

// onlyHoldBack reports restrictions by which a mode may do more than without them. Where
// it says nothing of MCP, restrictions leave available what they do not hold back, and
// where they name a server that is off by default, they open it.
func onlyHoldBack(without, with *compiler.Result, slug, file string) diag.List {
	md := with.Project.Mode(slug)
	was := without.Project.Mode(slug)
	if was == nil || md == nil || md.Restrictions == nil {
		return nil // there is nothing to widen
	}
	refuse := func(format string, args ...any) diag.List {
		return diag.List{{Code: diag.Wider, Pos: diag.Pos{File: file}, Message: fmt.Sprintf(format, args...) + ": restrictions only hold back", Hint: "say in can.mcp of the mode what it may use", Related: []diag.Related{{Pos: was.Pos, Message: "the mode"}}}}
	}
	if was.Can.MCP == nil && was.Can.Default == nil && was.Restrictions == nil {
		return refuse("got restrictions for mode %q, which says nothing of MCP: they would let it ask", slug)
	}
	before, err := without.Policy.Subject(ir.SubjectRef{Mode: slug})
	if err != nil {
		return refuse("%v", err)
	}
	after, err := with.Policy.Subject(ir.SubjectRef{Mode: slug})
	if err != nil {
		return refuse("%v", err)
	}
	names := toolWitnesses(md)
	for i := range with.Project.Servers {
		sv := &with.Project.Servers[i]
		tried := slices.Clone(names)
		for _, t := range sv.Tools {
			tried = append(tried, t.Name)
		}
		for _, kind := range []policy.MCPKind{policy.Tool, policy.Resource, policy.Prompt} {
			for _, n := range tried {
				a := policy.Action{Group: ir.MCP, Kind: kind, Server: sv.Name, Arg: n}
				if was, is := before.Decide(a).Decision, after.Decide(a).Decision; is > was {
					return refuse("got %s for %s:%s, want %s at most", is, sv.Name, n, was)
				}
			}
		}
	}
	return nil
}

// toolWitnesses are names of tools that a mode's patterns tell apart: one for each, and
// one for none.
func toolWitnesses(md *ir.Mode) []string {
	names := []string{contract.UnknownTool}
	add := func(pattern string) {
		names = append(names, strings.NewReplacer("*", "modec", "?", "x").Replace(pattern), strings.NewReplacer("*", "", "?", "x").Replace(pattern))
	}
	if md.Can.MCP != nil {
		for _, e := range md.Can.MCP.Entries {
			for _, r := range e.Rules {
				add(r.Pattern.Text)
			}
		}
		for _, r := range md.Can.MCP.Rules {
			add(r.Pattern.Text)
		}
	}
	for _, list := range []*[]ir.ToolRef{md.Restrictions.AllowedTools, md.Restrictions.DisallowedTools} {
		if list != nil {
			for _, t := range *list {
				add(t.Tool)
			}
		}
	}
	return names
}

// change puts a file into the source if the whole project compiles with it and check
// has nothing against it, and serves the project then. check sees the project without
// the file and with it.
func (l *modelLoader) change(ctx context.Context, name, field string, value any, check func(without, with *compiler.Result, file string) diag.List) (*serve.Written, error) {
	release, err := output.Exclude(l.dir, 5*time.Second) // another server may write it too
	if err != nil {
		return nil, err
	}
	defer release()
	cfg, diags := compiler.ReadConfig(l.request())
	if diags.HasErrors() {
		return &serve.Written{Diagnostics: diags}, nil
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{field: value}); err != nil {
		return nil, err
	}
	file := contract.File{Path: path.Join(cfg.Source, "served", name)}
	if file.Data, err = source.FormatCUE(servedHeader + "package modec\n\n" + strings.TrimSuffix(strings.TrimPrefix(text.String(), "{"), "}\n") + "\n"); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if have, err := root.ReadFile(file.Path); err == nil && !bytes.HasPrefix(have, []byte(servedHeader)) {
		diags.Errorf(diag.NotOurs, diag.Pos{File: file.Path, Line: 1, Col: 1}, "got a file that modec serve did not write, want to leave it alone")
		return &serve.Written{Diagnostics: diags}, nil
	}
	req := l.request()
	if req.FS, err = source.Overlay(root.FS(), cfg.Source, contract.InMemory([]contract.File{file})); err != nil {
		return nil, fmt.Errorf("the source cannot be read: %w", err)
	}
	with, diags := compiler.Compile(ctx, req)
	if diags.HasErrors() {
		return &serve.Written{Diagnostics: diags}, nil
	}
	if req.FS, err = source.Overlay(root.FS(), cfg.Source, memfs.FS{file.Path: []byte("package modec\n")}); err != nil {
		return nil, fmt.Errorf("the source cannot be read: %w", err)
	}
	without, list := compiler.Open(ctx, req)
	if list.HasErrors() { // something of the source refers to what the file holds
		return &serve.Written{Diagnostics: list}, nil
	}
	if list := check(without, with, file.Path); list.HasErrors() {
		return &serve.Written{Diagnostics: list}, nil
	}
	if err := ctx.Err(); err != nil { // whoever asked was told that it failed
		return nil, err
	}
	if list := output.Put(l.dir, []contract.File{file}, output.ReplaceExisting); list.HasErrors() {
		return &serve.Written{Diagnostics: list}, nil
	}
	l.reload()
	return &serve.Written{File: file.Path, Diagnostics: diags}, nil
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
	"modec.dev/modec/targets/mcp"
)

// servedHeader begins the files of the source that modec serve writes. Without it a
// file of such a name is somebody's own.
const servedHeader = "// Written by modec serve; the next call writes it anew.\n"

// SetRoles writes roles into served/roles.cue of the source.
func (l *modelLoader) SetRoles(_ context.Context, roles []mcp.RoleInput) (*mcp.Written, error) {
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
	return l.change("roles.cue", "roles", all, func(without, _ *compiler.Result, file string) (diags diag.List) {
		for _, r := range roles {
			if other := without.Project.Role(r.Name); other != nil {
				diags = append(diags, diag.Diagnostic{Code: "not-ours", Pos: diag.Pos{File: file}, Path: "roles." + r.Name, Message: fmt.Sprintf("got role %q, which the source has already: what is set would join it", r.Name), Hint: "choose another name, or change the role in the source",
					Related: []diag.Related{{Pos: other.Pos, Message: "written here"}}})
			}
		}
		return diags
	})
}

// SetRestrictions writes a mode's MCP restrictions into a file of their own.
func (l *modelLoader) SetRestrictions(_ context.Context, slug string, r *mcp.RestrictionsInput) (*mcp.Written, error) {
	modes := map[string]any{}
	if r != nil {
		modes[slug] = map[string]any{"mcpRestrictions": r}
	}
	return l.change("mode-"+target.PathName(slug)+".cue", "modes", modes, func(without, with *compiler.Result, file string) diag.List {
		return onlyHoldBack(without, with, slug, file)
	})
}

// onlyHoldBack reports restrictions by which a mode may do more than without them: where
// it says nothing of MCP, restrictions leave available what they do not hold back.
func onlyHoldBack(without, with *compiler.Result, slug, file string) (diags diag.List) {
	before, err := without.Policy.Subject(ir.SubjectRef{Mode: slug})
	if err != nil {
		return nil // there is no mode to widen
	}
	after, err := with.Policy.Subject(ir.SubjectRef{Mode: slug})
	if err != nil {
		diags.Errorf(diag.Pos{File: file}, "bad-pattern", "", "%v", err)
		return diags
	}
	for i := range with.Project.Servers {
		sv := &with.Project.Servers[i]
		names := []string{target.UnknownTool}
		for _, t := range sv.Tools {
			names = append(names, t.Name)
		}
		for _, n := range names {
			a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: n}
			if was, is := before.Decide(a), after.Decide(a); is.Decision > was.Decision {
				return diag.List{{Code: "wider", Pos: diag.Pos{File: file}, Message: fmt.Sprintf("got %s for %s:%s, want %s at most: restrictions only hold back", is.Decision, sv.Name, n, was.Decision), Hint: "say in can.mcp of the mode what it may use",
					Related: []diag.Related{{Pos: was.Pos, Message: "decided by " + was.Rule}}}}
			}
		}
	}
	return nil
}

// change puts a file into the source if the whole project compiles with it and check
// has nothing against it, and serves the project then. check sees the project without
// the file and with it.
func (l *modelLoader) change(name, field string, value any, check func(without, with *compiler.Result, file string) diag.List) (*mcp.Written, error) {
	release, err := compiler.Exclude(l.dir, 5*time.Second) // another server may write it too
	if err != nil {
		return nil, err
	}
	defer release()
	cfg, diags := compiler.LoadConfig(l.dir, nil, l.request().Targets)
	if diags.HasErrors() {
		return &mcp.Written{Diagnostics: diags}, nil
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{field: value}); err != nil {
		return nil, err
	}
	file := target.File{Path: path.Join(cfg.Source, "served", name)}
	if file.Data, err = compiler.FormatCUE(servedHeader + "package modec\n\n" + strings.TrimSuffix(strings.TrimPrefix(text.String(), "{"), "}\n") + "\n"); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if have, err := root.ReadFile(file.Path); err == nil && !bytes.HasPrefix(have, []byte(servedHeader)) {
		diags.Errorf(diag.Pos{File: file.Path, Line: 1, Col: 1}, "not-ours", "", "got a file that modec serve did not write, want to leave it alone")
		return &mcp.Written{Diagnostics: diags}, nil
	}
	req := l.request()
	if req.FS, err = compiler.Overlay(root.FS(), cfg.Source, []target.File{file}); err != nil {
		return nil, fmt.Errorf("the source cannot be read: %w", err)
	}
	with, diags := compiler.Compile(req)
	if diags.HasErrors() {
		return &mcp.Written{Diagnostics: diags}, nil
	}
	if req.FS, err = compiler.Overlay(root.FS(), cfg.Source, []target.File{{Path: file.Path, Data: []byte("package modec\n")}}); err != nil {
		return nil, fmt.Errorf("the source cannot be read: %w", err)
	}
	without, list := compiler.Open(req)
	if list.HasErrors() { // something of the source refers to what the file holds
		return &mcp.Written{Diagnostics: list}, nil
	}
	if list := check(without, with, file.Path); list.HasErrors() {
		return &mcp.Written{Diagnostics: list}, nil
	}
	if list := compiler.Put(l.dir, []target.File{file}, true); list.HasErrors() {
		return &mcp.Written{Diagnostics: list}, nil
	}
	l.reload()
	return &mcp.Written{File: file.Path, Diagnostics: diags}, nil
}

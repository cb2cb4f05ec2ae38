package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
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
	return l.change("roles.cue", "roles", all)
}

// SetRestrictions writes a mode's MCP restrictions into a file of their own.
func (l *modelLoader) SetRestrictions(_ context.Context, slug string, r *mcp.RestrictionsInput) (*mcp.Written, error) {
	modes := map[string]any{}
	if r != nil {
		modes[slug] = map[string]any{"mcpRestrictions": r}
	}
	return l.change("mode-"+target.PathName(slug)+".cue", "modes", modes)
}

// change puts a file into the source if the whole project compiles with it, and serves
// the project then.
func (l *modelLoader) change(name, field string, value any) (*mcp.Written, error) {
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
	var err error
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
	_, diags = compiler.Compile(req)
	if diags.HasErrors() {
		return &mcp.Written{Diagnostics: diags}, nil
	}
	if list := compiler.Put(l.dir, []target.File{file}, true); list.HasErrors() {
		return &mcp.Written{Diagnostics: list}, nil
	}
	l.reload()
	return &mcp.Written{File: file.Path, Diagnostics: diags}, nil
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/targets/mcp/serve"
)

// servedHeader begins the files of the source that modec serve writes. A file without it
// is somebody's own.
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
	if err := l.reveal(ctx, roles); err != nil {
		return nil, err
	}
	for _, r := range roles {
		out := role{Description: r.Description, PermissionMode: r.PermissionMode, AllowedTools: r.AllowedTools,
			DisallowedTools: r.DisallowedTools, AppendSystemPrompt: r.AppendSystemPrompt, Env: r.Env}
		if r.Tools != nil {
			tools := strings.FieldsFunc(*r.Tools, func(c rune) bool { return c == ',' || c == ' ' })
			out.Tools = &tools
		}
		all[r.Name] = out
	}
	check := func(without, _ *compiler.Result, file string) (diags diag.List) {
		for _, r := range roles {
			if other := without.Project.Role(r.Name); other != nil {
				diags.Errorf(diag.NotOurs, diag.Pos{File: file},
					"the source has role %q already, and what is set would join it", r.Name).
					Path("roles."+r.Name).
					Hint("choose another name, or change the role in the source").
					Related(other.Pos, "written here")
			}
		}
		return diags
	}
	file, err := servedFile("roles.cue", "roles", all, check)
	if err != nil {
		return nil, err
	}
	if cfg, diags := compiler.ReadConfig(l.request()); len(all) == 0 && !diags.HasErrors() {
		_, err := os.Stat(filepath.Join(l.dir, filepath.FromSlash(file.path(cfg.Source))))
		if errors.Is(err, fs.ErrNotExist) {
			return &serve.Written{}, nil // as it was
		}
	}
	return l.change(ctx, file)
}

// reveal puts the values of environments in the places of those that callers do not see: who lists roles and sets
// them again does not know them.
func (l *modelLoader) reveal(ctx context.Context, roles []serve.RoleInput) error {
	hidden := func(r serve.RoleInput) bool {
		return slices.Contains(slices.Collect(maps.Values(r.Env)), serve.Hidden)
	}
	if !slices.ContainsFunc(roles, hidden) {
		return nil
	}
	now, diags := compiler.Open(ctx, l.request())
	if diags.HasErrors() {
		return errors.New(diags[0].String())
	}
	for i, r := range roles {
		if !hidden(r) {
			continue
		}
		env := maps.Clone(r.Env)
		for name, value := range env {
			have := now.Project.Role(r.Name)
			if value == serve.Hidden && (have == nil || have.Env[name] == "") {
				return fmt.Errorf("the value of %s of role %q is not known; send it", name, r.Name)
			} else if value == serve.Hidden {
				env[name] = have.Env[name]
			}
		}
		roles[i].Env = env
	}
	return nil
}

// SetRestrictions writes a mode's MCP restrictions into a file of their own, in the place of those in the source.
func (l *modelLoader) SetRestrictions(ctx context.Context, slug string, r *serve.RestrictionsInput) (
	*serve.Written, error) {
	file, err := servedRestrictions(slug, r)
	if err != nil {
		return nil, err
	}
	return l.change(ctx, file)
}

// tryRestrictions returns what the project would say of a mode's MCP restrictions, and writes nothing.
func (l *modelLoader) tryRestrictions(ctx context.Context, slug string, r *serve.RestrictionsInput) (
	diag.List, error) {
	file, err := servedRestrictions(slug, r)
	if err != nil {
		return nil, err
	}
	d, err := l.draft(ctx, file)
	return d.diags, err
}

// servedRestrictions returns the file with a mode's MCP restrictions; without any, one that sets none.
func servedRestrictions(slug string, r *serve.RestrictionsInput) (sourceFile, error) {
	modes := map[string]any{}
	if r != nil {
		modes[slug] = map[string]any{"mcpRestrictions": r}
	}
	return servedFile(path.Base(source.ServedMode("", contract.PathName(slug))), "modes", modes, nil)
}

// servedFile returns a file of the source that modec serve writes: one field and its value, and what is asked of the
// project with it.
func servedFile(name, field string, value any, check acceptance) (f sourceFile, err error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{field: value}); err != nil {
		return f, err
	}
	fields := strings.TrimSuffix(strings.TrimPrefix(text.String(), "{"), "}\n")
	fields = strings.ReplaceAll(fields, "\uFEFF", `\uFEFF`) // which CUE takes for the mark of a file
	return sourceFile{
		path:   func(folder string) string { return path.Join(folder, source.Served, name) },
		header: servedHeader,
		text:   servedHeader + "package modec\n\n" + fields + "\n",
		writer: "modec serve",
		check:  check,
	}, nil
}

// change puts a file into the source if the whole project compiles with it, no artifact permits more than it
// says, and the file's own check reports nothing. It serves the project then.
func (l *modelLoader) change(ctx context.Context, what sourceFile) (*serve.Written, error) {
	release, err := output.Exclude(l.dir, 5*time.Second) // another server may write it too
	if err != nil {
		return nil, err
	}
	defer release()
	d, err := l.draft(ctx, what)
	if err != nil || d.diags.HasErrors() {
		return &serve.Written{Diagnostics: d.diags}, err
	}
	if _, list := l.proves(ctx, d.with); list.HasErrors() {
		return &serve.Written{Diagnostics: list}, nil
	}
	if err := ctx.Err(); err != nil { // whoever asked was told that it failed
		return nil, err
	}
	opt := output.PutOptions{Dir: l.dir, Existing: output.ReplaceExisting, Progress: l.progress()}
	if list := output.Put(ctx, []contract.File{d.file}, opt); list.HasErrors() {
		return &serve.Written{Diagnostics: list}, nil
	}
	l.reload()
	return &serve.Written{File: d.file.Path, Diagnostics: d.diags}, nil
}

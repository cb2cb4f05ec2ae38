package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/mcp/serve"
)

// modelLoader loads what is served, from the source or from a compiled model.
type modelLoader struct {
	*env
	log    *slog.Logger
	file   string // of a compiled model; "": the source
	global bool
	own    string // the folder of the user's own modes; "": the usual one
	server *serve.Server
	found  bool // there was a project

	loading sync.Mutex // so that a later reload does not serve what was there before
}

// alone reports whether there is no project: the modes of the user and of modec are served then.
func (l *modelLoader) alone() bool {
	if l.file != "" {
		return false
	}
	_, err := os.Stat(filepath.Join(l.dir, config.File))
	info, dirErr := os.Stat(l.dir)
	return errors.Is(err, fs.ErrNotExist) && dirErr == nil && info.IsDir()
}

func (l *modelLoader) watch() (*watcher, error) {
	if l.file != "" {
		return l.watchFile(l.file)
	}
	return l.env.watch()
}

func (l *modelLoader) load() (*serve.Model, diag.List) {
	var diags diag.List
	var p *ir.Project
	if l.file != "" {
		var err error
		if p, err = readModel(l.file); err != nil {
			diags.Errorf(diag.BadModel, diag.Pos{File: l.file}, "%v", err)
			return nil, diags
		}
	} else if l.alone() {
		l.log.Info("there is no project here: the user's modes and the built-in ones are served", "folder", l.dir)
		p = &ir.Project{Version: ir.Version, Name: filepath.Base(l.dir), ClosedInventory: true}
	} else {
		res, list := compiler.Open(l.ctx, l.request())
		if diags = list; diags.HasErrors() {
			return nil, diags
		}
		p, l.found = res.Project, true
	}
	var global []*ir.Project
	if l.global {
		global = l.users()
	}
	m := serve.NewModel(l.dir, l.targets, p, global...)
	m.Home, _ = os.UserHomeDir()
	return m, diags
}

// users returns the user's own modes. One that does not load is logged and left out: it
// must not keep the project from being served.
func (l *modelLoader) users() (out []*ir.Project) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	own := filepath.Join(home, ".config", "modec")
	if l.own != "" {
		own = l.abs(l.own)
	}
	if file := filepath.Join(own, "modec.model.json"); l.file != "" {
		if p, err := readModel(file); err == nil {
			out = append(out, p)
		} else if !errors.Is(err, fs.ErrNotExist) {
			l.log.Warn("the user's own model is left out", "error", err)
		}
	} else if _, err := os.Stat(filepath.Join(own, config.File)); err == nil && own != l.dir {
		req := l.request()
		req.Root = own
		if res, diags := compiler.Open(l.ctx, req); diags.HasErrors() {
			l.log.Warn("the user's own source is left out", "error", diags[0].String())
		} else {
			out = append(out, res.Project)
		}
	}
	for _, t := range l.targets {
		g, ok := t.(contract.GlobalModes)
		if !ok {
			continue
		}
		format, files := g.GlobalModes()
		for _, name := range files {
			if p := l.customModes(g, format, filepath.Join(own, path.Base(name))); p != nil {
				out = append(out, p)
			}
			if p := l.customModes(g, format, filepath.Join(home, filepath.FromSlash(name))); p != nil {
				out = append(out, p)
			}
		}
		break // of two agents with such a file the first: modec's own folder has one for both
	}
	return out
}

// customModes reads a file of modes in an agent's own format.
func (l *modelLoader) customModes(from contract.Importer, format, file string) *ir.Project {
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil
	}
	defer root.Close()
	got, diags := from.Import(contract.Source{Root: contract.Plain(root.FS()), Format: format,
		Files: []string{filepath.Base(file)}})
	if diags.HasErrors() {
		l.log.Warn("the user's own modes are left out", "file", file, "error", diags[0].String())
		return nil
	}
	return got.Project
}

// reload serves what is there now, or keeps serving the last good model.
func (l *modelLoader) reload() {
	l.loading.Lock()
	defer l.loading.Unlock()
	defer func() {
		if r := recover(); r != nil {
			l.server.Broken(fmt.Sprintf("the source cannot be served: %v", r))
		}
	}()
	if l.found && l.alone() {
		l.server.Broken(config.File + " is gone: put it back, or start modec serve again")
		return
	}
	m, diags := l.load()
	if diags.HasErrors() {
		i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
		l.server.Broken(diags[i].String())
		return
	}
	l.server.Reload(m)
}

// verify verifies the artifacts of the source as it is now.
func (l *modelLoader) verify(ctx context.Context) (*serve.Verification, error) {
	res, diags := compiler.Compile(ctx, l.request())
	if diags.HasErrors() {
		return nil, errors.New(diags[0].String())
	}
	report, _ := res.Verify(ctx, compiler.Seed, nil)
	if report == nil {
		return nil, errors.New("the artifacts cannot be verified")
	}
	v := &serve.Verification{Decisions: report.Decisions, Wider: report.Wider(),
		Targets: []string{}, Findings: []string{}}
	for _, s := range report.Surfaces {
		if !slices.Contains(v.Targets, s.Target) {
			v.Targets = append(v.Targets, s.Target)
		}
		for _, f := range s.Findings {
			if len(v.Findings) < 10 {
				v.Findings = append(v.Findings, fmt.Sprintf("%s: %s %s %q: %s, and %s by the source",
					s.Target, f.Subject, f.Group, f.Action, f.Artifact, f.Source))
			}
		}
	}
	return v, nil
}

// modelLimit is the most bytes of a compiled model.
const modelLimit = 64 << 20

func readModel(file string) (*ir.Project, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("the model cannot be read: %w; run `modec build` in the project", err)
	}
	defer f.Close()
	p, err := ir.Unmarshal(io.LimitReader(f, modelLimit))
	if err != nil {
		return nil, fmt.Errorf("the model %s cannot be used: %w; run `modec build` in the project", file, err)
	}
	return p, nil
}

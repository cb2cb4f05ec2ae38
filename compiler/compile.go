package compiler

import (
	"fmt"
	"io/fs"
	"slices"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

// PolicyFile is the compiled policy that the hooks read. It is written by
// every build, whatever its targets.
const PolicyFile = ".modec/policy.json"

// Request says what to compile.
type Request struct {
	Root    string            // the project's folder
	FS      fs.FS             // the files to compile instead of those below Root; nil: those
	Targets []contract.Target // every target there is, in printing order
	Only    []string          // names of the targets to compile; empty: those of modec.toml
	Today   time.Time         // the day on which exceptions are judged
}

// Result is a compiled project. Nothing of it has touched the disk.
type Result struct {
	Config  *Config
	Project *ir.Project
	Policy  *policy.Engine
	Outputs []Output        // one a target, in printing order
	Shared  []contract.File // what every build writes

	inputs map[string]contract.Input
}

// Empty returns a project of which nobody is a part.
func Empty() *ir.Project { return &ir.Project{Version: ir.Version} }

// Input returns what a compiled target was given.
func (r *Result) Input(t contract.Target) contract.Input { return r.inputs[t.Name()] }

// Output is what one target emitted.
type Output struct {
	Target contract.Target
	Files  []contract.File // sorted by path
	Losses diag.List       // sorted
}

// Files returns every file of the result, the shared ones last.
func (r *Result) Files() []contract.File {
	var files []contract.File
	for _, o := range r.Outputs {
		files = append(files, o.Files...)
	}
	return append(files, r.Shared...)
}

// FS returns the files as the agents would find them.
func (r *Result) FS() fs.FS {
	out := memfs.FS{}
	for _, f := range r.Files() {
		out[f.Path] = f.Data
	}
	return out
}

// Open loads a project without compiling it for any target: the model and the
// engine that decides by it. The config is returned even where the model is
// not.
func Open(req Request) (*Result, diag.List) {
	cfg, diags := LoadConfig(req.Root, req.FS, req.Targets)
	if diags.HasErrors() {
		return nil, diags
	}
	var owned []string
	for _, t := range req.Targets {
		owned = append(owned, t.Owns()...)
	}
	p, list := Load(Source{Root: req.Root, FS: req.FS, Dir: cfg.Source}, Settings{
		Name: cfg.Name, ClosedInventory: cfg.Closed, Baseline: cfg.Baseline, Guards: owned, Config: cfg.Bytes})
	diags = append(diags, list...)
	if p == nil || diags.HasErrors() {
		diags.Sort()
		return nil, diags
	}
	if cfg.Baseline != "" && p.Role(cfg.Baseline) == nil {
		d := diag.Diagnostic{Code: diag.UnknownRole, Pos: cfg.baselinePos, Path: "baseline", Message: fmt.Sprintf("got unknown role %q, want one of %s", cfg.Baseline, diag.Quote(p.RoleNames()))}
		d.Hint = diag.DidYouMean(cfg.Baseline, p.RoleNames())
		diags = append(diags, d)
	}
	diags.Sort()
	return &Result{Config: cfg, Project: p, Policy: policy.New(p)}, diags
}

// Compile loads a project and emits it for its targets. It reads the project's
// folder and writes nothing. The result is nil when a diagnostic is an error.
func Compile(req Request) (*Result, diag.List) {
	res, diags := Open(req)
	if diags.HasErrors() {
		return nil, diags
	}
	configs, list := chosen(res.Config, req)
	diags = append(diags, list...)
	excs, list := resolveExceptions(res.Config, res.Project, req.Today)
	diags = append(diags, list...)
	if diags.HasErrors() {
		diags.Sort()
		return nil, diags
	}
	diags = append(diags, res.emit(configs, excs)...)
	diags.Sort()
	if diags.HasErrors() {
		return nil, diags
	}
	return res, diags
}

// chosen returns the targets to compile: those that the request names, with
// the options of modec.toml where it has any, else those of modec.toml.
func chosen(cfg *Config, req Request) ([]TargetConfig, diag.List) {
	var diags diag.List
	if len(req.Only) == 0 {
		if len(cfg.Targets) == 0 {
			diags.Errorf(diag.NoTargets, diag.Pos{File: ConfigFile}, "%s", "got no [targets.NAME] table, want at least one of "+diag.Quote(targetNames(req.Targets))).
				Hint("`--target NAME` compiles for a target that modec.toml does not list")
		}
		return cfg.Targets, diags
	}
	for _, name := range req.Only {
		if !slices.Contains(targetNames(req.Targets), name) {
			diags.Errorf(diag.UnknownTarget, diag.Pos{}, "got unknown target %q, want one of %s", name, diag.Quote(targetNames(req.Targets))).
				Hint(diag.DidYouMean(name, targetNames(req.Targets)))
		}
	}
	var out []TargetConfig
	for _, t := range req.Targets {
		if !slices.Contains(req.Only, t.Name()) {
			continue
		}
		i := slices.IndexFunc(cfg.Targets, func(c TargetConfig) bool { return c.Target.Name() == t.Name() })
		if i >= 0 {
			out = append(out, cfg.Targets[i])
			continue
		}
		out = append(out, TargetConfig{Target: t, Options: contract.NewOptions(t.Options(), nil, nil), OnLoss: map[ir.Group]string{"": "narrow"}})
	}
	return out, diags
}

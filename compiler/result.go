package compiler

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"

	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/pins"
	schema "modec.dev/modec/cue"
)

// Empty returns a project without servers, modes and roles.
func Empty() *ir.Project { return &ir.Project{Version: ir.Version} }

// Input returns what a compiled target was given.
func (r *Result) Input(t contract.Target) contract.Input { return r.inputs[t.Name()] }

// Files returns every file of the result.
func (r *Result) Files() []contract.File {
	var files []contract.File
	for _, o := range r.Outputs {
		files = append(files, o.Files...)
	}
	return files
}

// Sessions returns what sessions of the agents are started with, and the policy of their hooks.
func (r *Result) Sessions() []contract.File {
	files := []contract.File{{Path: contract.PolicyFile, Data: r.PolicyJSON()}}
	for _, o := range r.Outputs {
		files = append(files, o.Sessions...)
	}
	return files
}

// FS returns the files as the agents would find them, and what their sessions are started with.
func (r *Result) FS() memfs.FS { return contract.InMemory(slices.Concat(r.Files(), r.Sessions())) }

// Over returns the files of a disk with what the sessions of the agents are started with.
func (r *Result) Over(disk fs.FS) fs.FS { return contract.Over(disk, r.Sessions()) }

// PolicyJSON returns the compiled source as hooks decide by it.
func (r *Result) PolicyJSON() []byte { return r.policy() }

func policyJSON(p *ir.Project) []byte {
	p = p.Decisions()
	if p.Enforced != nil {
		p.InFiles, p.Everyone = cmp.Or(p.Everyone, &ir.Can{}), p.Enforced
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts, numbers and times
	}
	return data
}

// Lint looks for what the source probably does not mean, with the severities of
// modec.toml, and for what targets find in code of the project, where its files are given.
// The findings are sorted. A warning about what was there before modec is a note.
func (r *Result) Lint(project fs.FS) []lint.Finding {
	sources := maps.Clone(r.Sources)
	sources[config.File] = r.Config.Bytes
	var reviewed diag.List
	for _, c := range r.Config.Targets {
		if t, ok := c.Target.(contract.Reviewer); ok && project != nil {
			reviewed = append(reviewed, t.Review(project, c.Options)...)
		}
	}
	for _, d := range reviewed {
		if text, err := fs.ReadFile(project, d.Pos.File); err == nil {
			sources[d.Pos.File] = text
		}
	}
	var set *pins.Set
	var broken []lint.Finding
	if project != nil {
		var diags diag.List
		set, diags = pins.Read(project)
		for _, d := range diags {
			broken = append(broken, lint.Finding{Diagnostic: d})
		}
	}
	found := append(lint.Run(lint.Request{
		Reviewed:    reviewed,
		Project:     r.Project,
		Policy:      r.Policy,
		Rules:       lint.All(r.targets),
		Levels:      r.Config.Lint,
		PromptLimit: r.Config.PromptLimit,
		Sources:     sources,
		Pins:        set,
		Exceptions:  r.Config.Ends(),
		Now:         r.now,
		IsFolder: func(path string) bool {
			if project == nil {
				return false
			}
			info, err := fs.Stat(project, path)
			return err == nil && info.IsDir()
		},
	}), broken...)
	if project == nil {
		return found
	}
	if lock, err := contract.ReadImport(project, output.LockFile); err == nil {
		known := output.KnownOf(lock)
		for i := range found {
			known.Ease(&found[i].Diagnostic)
		}
	}
	return found
}

// Known returns, for the lock of a first build, what lint and the agents' models warn of in what people had, whose
// files are given.
func (r *Result) Known(disk fs.FS) (lines []string) {
	note := func(d *diag.Diagnostic) {
		if d.Severity == diag.Warning {
			lines = append(lines, output.KnownLine(d))
		}
	}
	found := r.Lint(nil)
	for i := range found {
		note(&found[i].Diagnostic)
	}
	for _, o := range r.Outputs {
		if t, ok := o.Target.(contract.Judged); ok {
			_, list := t.Open(r.Over(disk), r.Input(o.Target).Options)
			for i := range list {
				note(&list[i])
			}
		}
	}
	return lines
}

// Write puts the artifacts on disk: all of them or none.
func (r *Result) Write(ctx context.Context, opt output.Options) ([]output.Change, diag.List) {
	return output.Write(ctx, r.build(), opt)
}

// Eject puts the artifacts on disk like Write, and forgets that modec wrote them.
func (r *Result) Eject(ctx context.Context, opt output.Options) ([]output.Change, diag.List) {
	return output.Eject(ctx, r.build(), opt)
}

// build returns what is to be on disk.
func (r *Result) build() output.Build {
	return output.Build{
		Schema:  schema.Hash(),
		Model:   ir.Version,
		Outputs: r.Outputs,
		Partial: r.partial(),
	}
}

// partial reports whether a target of modec.toml was not compiled.
func (r *Result) partial() bool {
	return slices.ContainsFunc(r.Config.Targets, func(t config.Target) bool {
		return !slices.ContainsFunc(
			r.Outputs,
			func(o contract.Artifacts) bool { return o.Target.Name() == t.Target.Name() },
		)
	})
}

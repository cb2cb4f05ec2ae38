package compiler

import (
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/cases"

	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// chosen returns the targets to compile: those that the request names, with
// the options of modec.toml where it has any, else those of modec.toml.
func chosen(cfg *config.Config, req Request) ([]config.Target, diag.List) {
	var diags diag.List
	if len(req.Only) == 0 {
		if len(cfg.Targets) == 0 && !req.SourceAlone {
			diags.Errorf(diag.NoTargets, diag.Pos{File: config.File},
				"modec.toml has no [targets.NAME] table; NAME is one of %s", diag.Quote(contract.Names(req.Targets))).
				Hint("`--target NAME` compiles for a target that modec.toml does not list")
		}
		return cfg.Targets, diags
	}
	for _, name := range req.Only {
		if !slices.Contains(contract.Names(req.Targets), name) {
			diags.Errorf(diag.UnknownTarget, diag.Pos{},
				"got unknown target %q, want one of %s", name, diag.Quote(contract.Names(req.Targets))).
				Hint(diag.DidYouMean(name, contract.Names(req.Targets)))
		}
	}
	var out []config.Target
	for _, t := range req.Targets {
		if !slices.Contains(req.Only, t.Name()) {
			continue
		}
		i := slices.IndexFunc(cfg.Targets, func(c config.Target) bool { return c.Target.Name() == t.Name() })
		if i >= 0 {
			out = append(out, cfg.Targets[i])
			continue
		}
		out = append(out, config.Target{
			Target:  t,
			Options: contract.NewOptions(t.Options(), nil, nil),
			OnLoss:  map[ir.Group]string{"": "narrow"},
		})
	}
	return out, diags
}

// emit compiles the project for each target, side by side: a target reads the
// model and the engine and shares nothing else.
func (r *Result) emit(
	configs []config.Target, excs map[string][]contract.Exception, hooks contract.HookState,
) diag.List {
	var diags diag.List
	reaches, err := r.reaches(configs)
	if err != nil {
		diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return diags
	}
	r.Outputs = make([]contract.Artifacts, len(configs))
	r.inputs = map[string]contract.Input{}
	problems := make([]diag.List, len(configs))
	var beside, shared []string
	everybodys := map[string]string{}
	for _, tc := range append(slices.Clone(configs), r.Config.Targets...) {
		beside = append(beside, tc.Target.Name())
		options := tc.Options.WithBaseline(contract.View(tc.Target, r.Policy).Project().Baseline)
		if role := options.Everybody().Role; role != "" {
			everybodys[tc.Target.Name()] = role
		}
		if s, ok := tc.Target.(contract.Sharer); ok {
			shared = append(shared, s.Shares())
		}
	}
	var wg sync.WaitGroup
	for i, tc := range configs {
		view := contract.View(tc.Target, r.Policy)
		excepted, list := r.exceptions(tc.Target, view.Project(), excs[tc.Target.Name()])
		diags = append(diags, list...)
		in := contract.Input{
			Project:    view.Project(),
			Policy:     view,
			Source:     r.Project,
			Reach:      reaches[view],
			Options:    tc.Options.WithBaseline(view.Project().Baseline).WithModes(r.Project.Modes).WithHooks(hooks),
			Exceptions: excepted,
			Partial:    tc.Partial,
			Entries:    r.entries,
			Beside:     beside,
			Everybodys: everybodys,
			Shared:     slices.Contains(shared, tc.Target.Name()),
		}
		r.inputs[tc.Target.Name()] = in
		diags = append(diags, contract.CheckGateways(tc.Target, r.Project, in.Project, r.Config.Gateway.At)...)
		wg.Go(func() { r.Outputs[i], problems[i] = emitTarget(tc, in) })
	}
	wg.Wait()
	for _, list := range problems {
		diags = append(diags, list...)
	}
	return append(diags, r.checkPaths()...)
}

// reaches returns what the subjects of each view may do with each server.
func (r *Result) reaches(configs []config.Target) (map[*policy.Engine]*contract.Reach, error) {
	out := map[*policy.Engine]*contract.Reach{}
	for _, tc := range configs {
		view := contract.View(tc.Target, r.Policy)
		if out[view] != nil {
			continue
		}
		reach, err := contract.NewReach(view)
		if err != nil {
			return nil, err
		}
		out[view] = reach
	}
	return out, nil
}

// exceptions returns the exceptions for a target with the names that its files use. It leaves
// out those about what the target does not emit, and warns of those that a gateway leaves without effect.
func (r *Result) exceptions(
	t contract.Target, view *ir.Project, list []contract.Exception,
) (out []contract.Exception, diags diag.List) {
	for _, e := range list {
		ref, emitted := contract.InView(t, r.Project, e.Subject)
		if !emitted {
			continue
		}
		if e.Group == ir.MCP && !r.decides(view.Gateways[t.Name()], ref, e.Server) {
			diags.Warnf(diag.BadException, e.Pos, "the exception has no effect: modec's gateway is in the place of "+
				"the servers, and passes on to %s what the source permits and nothing else", e.Subject).
				Target(t.Name()).
				Hint("remove it, or say in the source what the subject may use")
			continue
		}
		a := policy.Action{Group: e.Group, Server: e.Server}
		if e.Group == ir.MCP && e.Server != "" {
			if a, emitted = policy.ActionInView(r.Project, t.Name(), a); !emitted {
				continue
			}
		}
		behind := e
		e.Subject, e.Server = ref, a.Server
		out = append(out, e)
		for _, tool := range view.BehindGateway(e.Server, e.Pattern) {
			behind.Subject, behind.Server, behind.Pattern = ref, tool.Server, tool.Tool
			out = append(out, behind)
		}
	}
	return out, diags
}

// decides reports whether the agent itself decides about a server for a subject: there is no gateway in its place, or
// one for several subjects.
func (r *Result) decides(gateways []ir.Gateway, ref ir.SubjectRef, server string) bool {
	shared := func(g ir.Gateway) bool { return g.Serves(ref) && !g.Apart && g.Mode == "" }
	return len(gateways) == 0 || slices.ContainsFunc(gateways, shared) || r.external(server)
}

// external reports whether another program starts a server, which no gateway can stand for.
func (r *Result) external(server string) bool {
	sv := r.Project.Server(server)
	return sv != nil && sv.Type == ir.External
}

// Hooked reports whether the artifacts of a target have its agent ask a hook.
func (r *Result) Hooked(t contract.Target) bool {
	asks := func(f contract.File) bool { return contract.RunsHook(f.Data) }
	return slices.ContainsFunc(r.Outputs, func(o contract.Artifacts) bool {
		return o.Target == t && slices.ContainsFunc(o.Files, asks)
	})
}

// emitTarget compiles for one target. It separates the losses that modec.toml accepts from
// the other diagnostics.
func emitTarget(tc config.Target, in contract.Input) (out contract.Artifacts, problems diag.List) {
	files, list := tc.Target.Emit(in)
	slices.SortFunc(files, func(a, b contract.File) int { return strings.Compare(a.Path, b.Path) })
	out.Target = tc.Target
	for _, f := range files {
		if contract.IsSession(f.Path) {
			out.Sessions = append(out.Sessions, f)
		} else {
			out.Files = append(out.Files, f)
		}
	}
	for _, d := range list {
		if d.Loss == diag.Narrowing && tc.Fails(ir.Group(d.Group)) {
			d.Severity = diag.Error
		}
		if d.Loss == diag.NoLoss || d.Severity == diag.Error {
			problems = append(problems, d)
		} else {
			out.Losses = append(out.Losses, d)
		}
	}
	out.Losses.Sort()
	return out, problems
}

// Emitter returns the model from which an artifact is written, and a function that writes it from another one as this
// result's target does; false where the result has no such artifact.
func (r *Result) Emitter(path string) (of *ir.Project, emit func(*ir.Project) ([]byte, bool), ok bool) {
	at := func(f contract.File) bool { return f.Path == path }
	for _, o := range r.Outputs {
		if !slices.ContainsFunc(slices.Concat(o.Files, o.Sessions), at) {
			continue
		}
		if of = r.Project; r.inputs[o.Target.Name()].Project != of { // not a target that has all of the source
			of = of.For(o.Target.Name())
		}
		return of, func(p *ir.Project) ([]byte, bool) {
			in := r.inputs[o.Target.Name()]
			in.Policy = contract.View(o.Target, policy.New(p))
			in.Project, in.Source = in.Policy.Project(), p
			reach, err := contract.NewReach(in.Policy)
			if err != nil {
				return nil, false
			}
			in.Reach = reach
			files, diags := o.Target.Emit(in)
			i := slices.IndexFunc(files, at)
			if diags.HasErrors() || i < 0 {
				return nil, false
			}
			return files[i].Data, true
		}, true
	}
	return nil, nil, false
}

// checkPaths reports paths that a target does not own, and paths that two targets
// write, also on a file system that folds case.
func (r *Result) checkPaths() diag.List {
	var diags diag.List
	fold := cases.Fold()
	owner := map[string]string{}
	for _, o := range r.Outputs {
		for _, f := range o.Files {
			name := o.Target.Name()
			switch {
			case f.Path != path.Clean(f.Path) || !contract.LocalPath(f.Path) || !contract.Owns(o.Target, f.Path):
				diags.Errorf(diag.ForeignPath, diag.Pos{}, "got the path %q, want one that the target owns", f.Path).
					Target(name)
			case owner[fold.String(f.Path)] != "":
				diags.Errorf(diag.PathCollision, diag.Pos{},
					"%s writes the path %q too", owner[fold.String(f.Path)], f.Path).
					Hint("names that differ only in case share a path on macOS and Windows").
					Target(name)
			}
			owner[fold.String(f.Path)] = name
		}
	}
	return diags
}

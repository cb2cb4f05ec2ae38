package migrate

import (
	"context"
	"slices"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/compiler/verify"
)

// judgePrograms warns of programs of people's own that an agent asks, and that may allow what the source asks about or
// denies: what they answer, nobody knows from the files. One that was there when the file was taken over, and has not
// changed since, is the team's own, and so is one that an exception names.
func (f *foreign) judgePrograms(ctx context.Context, res *compiler.Result, t contract.Target, diags *diag.List) {
	answered, ok := t.(contract.Answered)
	judged, judges := t.(contract.Judged)
	if !ok || !judges {
		return
	}
	adopted := output.AdoptedPrograms(f.lock)
	list := slices.DeleteFunc(answered.Programs(f.req.Root), func(p contract.Program) bool {
		return p.Judged || adopted(p.At.File, p.Sum)
	})
	for _, programs := range f.sharedPrograms(ctx, list) {
		said := f.allowed(ctx, res, answered, judged, programs)
		for len(said) > 0 {
			programs = slices.DeleteFunc(programs, func(p contract.Program) bool {
				found, ok := said[p.At]
				if found != nil {
					mayAllow(diags, t, p, found)
				}
				return ok
			})
			said = f.allowed(ctx, res, answered, judged, programs) // one hides those that are asked about the same
		}
	}
}

// mayAllow warns of a program, with something that it can permit.
func mayAllow(diags *diag.List, t contract.Target, p contract.Program, found *verify.Finding) {
	p.MayAllow(diags, t.Name(), found.Subject, "%s %q of %s, for which the source says %s: %s",
		found.Group, found.Action, found.Subject, found.Source, found.Rule)
}

// allowed returns for some programs in one file the first decision that would be wider if they allowed it, nil where
// exceptions accept all of them. Programs without any are left out.
func (f *foreign) allowed(
	ctx context.Context, res *compiler.Result, answered contract.Answered, t contract.Judged,
	programs []contract.Program,
) map[diag.Pos]*verify.Finding {
	with, places := answered.Allowing(f.req.Root, programs)
	if with == nil {
		return nil
	}
	in := res.Input(t)
	report, err := verify.Run(ctx, verify.Request{
		Policy: in.Policy,
		Targets: []verify.Target{{Target: t, Input: in, Compiled: f.written,
			Files: source.Over(res.Over(f.req.Root), memfs.FS{with.Path: with.Data})}},
		Subjects: in.Project.Subjects(),
	})
	if err != nil {
		return nil
	}
	said := map[diag.Pos]*verify.Finding{}
	for i := range report.Surfaces {
		for j := range report.Surfaces[i].Findings {
			found := &report.Surfaces[i].Findings[j]
			at := slices.Index(places, found.At)
			if at < 0 {
				continue
			}
			p := &programs[at]
			accepted := slices.ContainsFunc(in.Exceptions, func(x contract.Exception) bool {
				return p.Accepts(&x, found.Subject)
			})
			switch {
			case said[p.At] != nil:
			case accepted:
				said[p.At] = nil
			default:
				said[p.At] = found
			}
		}
	}
	return said
}

// sharedPrograms returns programs by the files that name them, without those that git ignores.
func (f *foreign) sharedPrograms(ctx context.Context, list []contract.Program) (byFile [][]contract.Program) {
	list = committed(ctx, f, list, func(p *contract.Program) string { return p.At.File })
	for _, p := range list {
		if n := len(byFile); n > 0 && byFile[n-1][0].At.File == p.At.File {
			byFile[n-1] = append(byFile[n-1], p)
		} else {
			byFile = append(byFile, []contract.Program{p})
		}
	}
	return byFile
}

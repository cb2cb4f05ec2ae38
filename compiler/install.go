package compiler

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/verify"
)

// Install puts what restricts a subject's sessions into a home folder: all of it or none.
// The diagnostics report what the installed files permit beyond the source, by entries of a
// person's own.
func (r *Result) Install(
	ctx context.Context, ref ir.SubjectRef, root string, targets []contract.Target, opt output.InstallOptions,
) ([]output.Change, diag.List) {
	in := output.Installation{Subject: ref, Root: root}
	var diags diag.List
	compiled, err := r.PolicyJSON()
	if err != nil {
		diags.Errorf(diag.BadModel, diag.Pos{}, "%v", err)
		return nil, diags
	}
	in.Policy = compiled
	for _, t := range targets {
		if i, ok := t.(contract.Installer); ok {
			as, ok := contract.InView(t, r.Project, ref)
			if !ok {
				diags.Errorf(diag.NotEmitted, diag.Pos{}, "%s is not emitted for %s", ref, t.Name()).
					Hint("`targets` of the subject limits where it is emitted")
				continue
			}
			files, list := i.Install(r.Input(t), as, output.InstalledPolicy(opt.Home, root, compiled))
			diags = append(diags, list...)
			in.Homes = append(in.Homes, output.HomeFiles{Target: i, Files: files})
		}
	}
	if diags.HasErrors() {
		return nil, diags
	}
	changes, merged, list := output.Install(ctx, in, opt)
	if diags = append(list, diags...); list.HasErrors() {
		return nil, diags
	}
	return changes, append(diags, r.judgeInstalled(ctx, ref, targets, merged)...)
}

// judgeInstalled compares the installed files with the source, each in the place of the
// artifact with the same content. Whatever is wider then is a person's own.
func (r *Result) judgeInstalled(
	ctx context.Context, ref ir.SubjectRef, targets []contract.Target, merged []output.Merged,
) diag.List {
	compiled := r.FS()
	files, names := maps.Clone(compiled), map[string]string{}
	for _, m := range merged {
		files[m.Artifact.Path] = m.Artifact.Data
		names[m.Artifact.Path] = m.Home
	}
	req := verify.Request{Policy: r.Policy, Seed: 1, Subjects: []ir.SubjectRef{ref}}
	for _, t := range targets {
		_, installs := t.(contract.Installer)
		if j, ok := t.(contract.Judged); ok && installs { // the home folder has files of no other one
			req.Targets = append(req.Targets,
				verify.Target{Target: j, Input: r.Input(t), Files: files, Compiled: compiled})
		}
	}
	report, err := verify.Run(ctx, req)
	if err != nil {
		return notVerified(ctx, err)
	}
	var diags diag.List
	for _, d := range report.Diagnostics {
		if name, ok := names[d.Pos.File]; ok {
			d.Pos.File = name
			diags = append(diags, d)
		}
	}
	for i := range report.Surfaces {
		diags = append(diags, ownRules(&report.Surfaces[i], names, compiled, files)...)
	}
	return diags
}

// ownRules reports, once for each rule of a person, what it permits beyond the source. What
// several rules permit together may be found at one that modec wrote: it is reported at the
// person's, unless there is none.
func ownRules(s *verify.Surface, names map[string]string, compiled, files memfs.FS) (diags diag.List) {
	type rule struct {
		at diag.Pos
		by string // where it has no place
	}
	in := func(files memfs.FS, f verify.Finding) bool {
		text, err := json.Marshal(f.By)
		return err == nil && bytes.Contains(files[f.At.File], text)
	}
	var order []rule
	found := map[rule][]verify.Finding{}
	for _, f := range s.Findings {
		r := rule{at: f.At}
		if f.At.IsZero() {
			r.by = f.By
		}
		if found[r] == nil {
			order = append(order, r)
		}
		at := len(found[r])
		if in(files, f) { // what it permits by itself goes before what it opens
			at = 0
		}
		found[r] = slices.Insert(found[r], at, f)
	}
	modecs := func(r rule) bool { return in(compiled, found[r][0]) }
	if slices.ContainsFunc(order, func(r rule) bool { return !modecs(r) }) {
		order = slices.DeleteFunc(order, modecs)
	}
	for _, r := range order {
		f, more := found[r][0], ""
		if n := len(found[r]) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more like it", n)
		}
		at := r.at
		at.File = cmp.Or(names[at.File], at.File)
		diags.Warnf(diag.ForeignWidening, at, "got an entry of your own, %s: %s %q%s is %s, and %s by the source",
			f.By, f.Group, f.Action, more, f.Artifact, f.Source).
			Hint("take it out, or say in the source what it permits").
			Target(s.Target).
			Subject(f.Subject).
			Loses(diag.Widening, string(f.Group)).
			Related(f.Pos, "decided by "+f.Rule)
	}
	return diags
}

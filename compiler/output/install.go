package output

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/located"
)

// InstallOptions configure an installation.
type InstallOptions struct {
	Home    string // the home folder; it has to be there
	Version string // of modec, for the state
	Force   bool   // replace entries that modec did not write, until they are taken out
	DryRun  bool   // plan only
	// Progress reports paths as "~/.claude/settings.json".
	Progress Progress

	step func(step) // for tests: called before each change of the disk
}

// Installation is what restricts the sessions of some agents to a subject.
type Installation struct {
	Subject ir.SubjectRef
	Root    string // the project's folder
	Policy  []byte // the compiled policy, which the hooks read at [InstalledPolicy]
	Homes   []HomeFiles
}

// HomeFiles are what a target wants in a home folder.
type HomeFiles struct {
	Target contract.Installer
	Files  []contract.HomeFile
}

// Merged is an installed file in the form of the artifact with the same content.
type Merged struct {
	Artifact contract.File
	Home     string // "~/.claude/settings.json"
}

// Install puts files into a home folder: all of them or none. It keeps what is there, and
// returns the merged files so that a caller can judge them.
func Install(
	ctx context.Context, in Installation, opt InstallOptions,
) (changes []Change, merged []Merged, diags diag.List) {
	h, diags := openHome(opt)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	defer h.close()
	var kept []contract.File
	sum := Sum(in.Policy)
	policy := contract.File{Path: policyOf(sum), Data: in.Policy}
	if len(in.Policy) > 0 {
		h.made(policy.Path)
	}
	for _, home := range in.Homes {
		wanted := map[string]bool{}
		for _, f := range home.Files {
			wanted[f.Path] = true
			p, ok := h.plan(home.Target, f)
			if !ok {
				continue
			}
			record := Installed{
				Target:  home.Target.Name(),
				Project: in.Root,
				Subject: in.Subject.String(),
				Written: p.change.SHA256,
				Entries: p.change.entries,
			}
			if p.original != nil {
				record.Original = Sum(p.original)
				kept = append(kept, contract.File{Path: originalOf(record.Original), Data: p.original})
			}
			if bytes.Contains(f.Data, []byte(path.Base(policy.Path))) { // its hook reads it
				record.Policy = sum
			}
			h.made(f.Path)
			h.next.Files[f.Path] = record
			changes = append(changes, p.change)
			if m, ok := asArtifact(f, p.original); ok {
				merged = append(merged, m)
			}
		}
		for _, p := range slices.Sorted(maps.Keys(h.next.Files)) {
			if h.next.Files[p].Target == home.Target.Name() && !wanted[p] && slices.Contains(home.Target.Home(), p) {
				changes = append(changes, h.takeOut(p)...)
			}
		}
	}
	if h.diags.HasErrors() {
		return nil, nil, h.told()
	}
	for _, r := range h.next.Files {
		if r.Policy == sum {
			kept = append(kept, policy)
			break
		}
	}
	if !opt.DryRun {
		if diags := h.write(ctx, changes, kept); diags.HasErrors() {
			return nil, nil, append(h.told(), diags...)
		}
	}
	return changes, merged, h.told()
}

// Uninstall brings the files of some targets back to what they would be without modec:
// to the byte where nothing changed since, else without modec's entries.
func Uninstall(ctx context.Context, targets []contract.Target, opt InstallOptions) ([]Change, diag.List) {
	h, diags := openHome(opt)
	if diags.HasErrors() {
		return nil, diags
	}
	defer h.close()
	var changes []Change
	for _, p := range slices.Sorted(maps.Keys(h.next.Files)) {
		if slices.ContainsFunc(targets, func(t contract.Target) bool {
			i, ok := t.(contract.Installer)
			return ok && t.Name() == h.next.Files[p].Target && slices.Contains(i.Home(), p)
		}) {
			changes = append(changes, h.takeOut(p)...)
		}
	}
	if h.diags.HasErrors() || opt.DryRun {
		return changes, h.told()
	}
	diags = h.write(ctx, changes, nil)
	return changes, append(h.told(), diags...)
}

// write makes the changes, unless the context has ended.
func (h *home) write(ctx context.Context, changes []Change, kept []contract.File) diag.List {
	if diags := interrupted(ctx); diags != nil {
		return diags
	}
	if err := h.apply(changes, kept); err != nil {
		return cannotWrite(err)
	}
	return nil
}

// asArtifact merges what was there before with the artifact of the same content.
func asArtifact(f contract.HomeFile, original []byte) (Merged, bool) {
	res, err := jsonedit.Merge(original, f.Artifact.Data, jsonedit.Pattern{Places: f.Places}, nil, jsonedit.Overwrite)
	if err != nil || len(res.Conflicts) > 0 {
		return Merged{}, false
	}
	return Merged{contract.File{Path: f.Artifact.Path, Data: res.Data}, "~/" + f.Path}, true
}

// planned is a file to install, and what was there before modec; nil: nothing.
type planned struct {
	change   Change
	original []byte
}

// plan merges one file. A problem is reported, and ok false.
func (h *home) plan(t contract.Installer, f contract.HomeFile) (p planned, ok bool) {
	if !slices.Contains(t.Home(), f.Path) {
		h.diags.Errorf(diag.ForeignPath, diag.Pos{}, "got the path %q, want one that the target owns", f.Path).
			Target(t.Name())
		return p, false
	}
	have, err := h.read(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.diags.Errorf(diag.CannotWrite, diag.Pos{File: f.Path}, "%v", diag.WithoutPath(err))
		return p, false
	}
	if p.original, ok = h.restored(f.Path, have); !ok || !h.loads(t.Name(), f, p.original) {
		return p, false
	}
	base := p.original
	if base == nil {
		base = f.Start
	}
	res, err := jsonedit.Merge(base, f.Data, jsonedit.Pattern{Places: f.Places}, nil, jsonedit.Force(h.opt.Force))
	if err != nil {
		unmerged(&h.diags, t.Name(), f.Path, err, mend)
		return p, false
	}
	const hint = "take it out, or `--force` replaces it until `modec uninstall`"
	if conflicts(&h.diags, t.Name(), f.Path, res.Conflicts, hint, hint) {
		return p, false
	}
	p.change = Change{
		Target:  t.Name(),
		Path:    f.Path,
		Bytes:   len(res.Data),
		SHA256:  Sum(res.Data),
		Action:  Update,
		Merged:  true,
		data:    res.Data,
		have:    have,
		entries: res.Entries,
	}
	switch {
	case have == nil:
		p.change.Action = Create
	case bytes.Equal(have, res.Data):
		p.change.Action = Unchanged
	}
	return p, true
}

// loads reports whether the agent would load a person's file and run the hook in it.
func (h *home) loads(target string, f contract.HomeFile, original []byte) bool {
	if original == nil {
		return true
	}
	if unloaded(&h.diags, target, &f.File, original, mend) {
		return false
	}
	if f.Off == "" {
		return true
	}
	if v, err := located.JSON(f.Path, original); err == nil && v.Get(f.Off).True() {
		h.diags.Errorf(diag.CannotMerge, diag.Pos{File: f.Path},
			"%s is set, and the agent then runs no hook; take it out", f.Off).
			Hint("the hook is what holds the subject").Target(target)
		return false
	}
	return true
}

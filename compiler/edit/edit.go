// Package edit says what a change of a source does before it is written: the files as they would be, what is permitted
// otherwise then, and what lint and the agents' formats have against it.
//
// [Read] reads a source at one moment, [Base.Propose] tries changes of it, and [Said] lists what a mode, a role or a
// policy says itself, at the places that [migrate.Change] names. [Matches] shows what a pattern stands for while
// somebody types it. Nothing here writes.
package edit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/source"
)

// Base is a source as it was at one moment.
type Base struct {
	Result *compiler.Result
	// Digest tells it from any other source. What was decided for one is not to be done to another.
	Digest string

	req      compiler.Request // with the files of that moment
	diags    diag.List
	findings []lint.Finding
	seed     uint64
}

// Read reads and compiles the source of a request, whose files are those of fsys. Where it is the one that was read
// before, it returns that one.
func Read(ctx context.Context, fsys fs.FS, req compiler.Request, seed uint64, before *Base) (*Base, diag.List) {
	req.FS = fsys
	cfg, diags := compiler.ReadConfig(req)
	if diags.HasErrors() {
		return nil, diags
	}
	b := &Base{req: req, seed: seed}
	files, err := source.Overlay(fsys, cfg.Source, nil)
	if err == nil {
		b.req.FS = files
		b.Digest, err = digestOf(files, cfg.Source)
	}
	if err != nil {
		diags.Errorf(diag.UnreadableFile, diag.Pos{File: cfg.Source}, "the source cannot be read: %v",
			diag.WithoutPath(err))
		return nil, diags
	}
	if before != nil && before.Digest == b.Digest {
		return before, nil
	}
	if b.Result, b.diags = compiler.Compile(ctx, b.req); b.diags.HasErrors() {
		return nil, b.diags
	}
	b.findings = b.Result.Lint(files)
	return b, nil
}

// digestOf returns the digest of all that a source says.
func digestOf(files fs.FS, dir string) (string, error) {
	h := sha256.New()
	add := func(name string) error {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %d\n", name, len(data))
		h.Write(data)
		return nil
	}
	if err := add(config.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	err := fs.WalkDir(files, path.Clean(dir), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return add(name)
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// Proposal is a change of a source that is not written.
type Proposal struct {
	// Digest tells the proposal from any other one, and from the same one of another source.
	Digest string
	Files  []output.Replacement // by their paths
	After  *compiler.Result     // what the source would compile to; nil where it would not
	Report *diff.Report         // what is permitted otherwise
	// Wrong is why the source would not compile.
	Wrong diag.List
	// Findings are what lint finds in it and did not before, and Mended how many it finds no more.
	Findings []lint.Finding
	Mended   int
	// Losses are what formats of agents could not hold of it, and could before.
	Losses diag.List
}

// Change proposes changes of what the source says at some places.
func (b *Base) Change(ctx context.Context, changes ...migrate.Change) (*Proposal, error) {
	files, err := migrate.Apply(b.req.FS, b.Result.Config.Source, changes...)
	if err != nil {
		return nil, err
	}
	return b.Write(ctx, files)
}

// Write proposes files in the place of those that are there.
func (b *Base) Write(ctx context.Context, files []contract.File) (*Proposal, error) {
	var list []output.Replacement
	for _, f := range files {
		list = append(list, output.Replacement{Path: f.Path, Is: f.Data})
	}
	return b.Propose(ctx, list)
}

// Propose proposes to replace and to remove files. What they have now it reads itself.
func (b *Base) Propose(ctx context.Context, list []output.Replacement) (*Proposal, error) {
	p := &Proposal{Files: slices.Clone(list)}
	h := sha256.New()
	fmt.Fprintln(h, b.Digest)
	over := memfs.FS{}
	for i := range p.Files {
		f := &p.Files[i]
		have, err := fs.ReadFile(b.req.FS, f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			have = nil
		case err != nil:
			return nil, fmt.Errorf("%s cannot be read: %w", f.Path, diag.WithoutPath(err))
		case have == nil:
			have = []byte{}
		}
		f.Was = have
		if over[f.Path] = f.Is; f.Is == nil {
			over[f.Path] = []byte("package modec\n") // which says nothing
		}
		fmt.Fprintf(h, "%q %v %d\n", f.Path, f.Is == nil, len(f.Is))
		h.Write(f.Is)
	}
	p.Digest = hex.EncodeToString(h.Sum(nil))
	req := b.req
	var err error
	if req.FS, err = source.Overlay(b.req.FS, b.Result.Config.Source, over); err != nil {
		return nil, fmt.Errorf("the source cannot be read: %w", diag.WithoutPath(err))
	}
	after, diags := compiler.Compile(ctx, req)
	if diags.HasErrors() {
		p.Wrong = slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
		return p, nil
	}
	p.After = after
	if p.Report, err = diff.Projects(b.Result.Policy, after.Policy, b.seed); err != nil {
		return nil, err
	}
	said := func(f lint.Finding) diag.Diagnostic { return f.Diagnostic }
	p.Findings, p.Mended = fresh(b.findings, after.Lint(req.FS), said)
	p.Losses, _ = fresh(b.diags, diags, func(d diag.Diagnostic) diag.Diagnostic { return d })
	return p, nil
}

// fresh returns what only the second of two lists has, wherever it stands, and how many only the first one has.
func fresh[T any](before, after []T, of func(T) diag.Diagnostic) (list []T, gone int) {
	key := func(x T) string {
		d := of(x)
		return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s", d.Code, d.Target, d.Subject, d.Group, d.Message)
	}
	had := map[string]int{}
	for _, x := range before {
		had[key(x)]++
	}
	for _, x := range after {
		if k := key(x); had[k] > 0 {
			had[k]--
		} else {
			list = append(list, x)
		}
	}
	for n := range maps.Values(had) {
		gone += n
	}
	return list, gone
}

// Tree returns the source as it is said, with a proposal or, for nil, without one.
func (b *Base) Tree(p *Proposal) (*source.Node, error) {
	over := memfs.FS{}
	if p != nil {
		for _, f := range p.Files {
			if over[f.Path] = f.Is; f.Is == nil {
				over[f.Path] = []byte("package modec\n")
			}
		}
	}
	files, err := source.Overlay(b.req.FS, b.Result.Config.Source, over)
	if err != nil {
		return nil, err
	}
	tree, diags := source.Load(files, b.Result.Config.Source)
	if diags.HasErrors() || tree.Root == nil {
		return nil, errors.New("the source could not be read any more")
	}
	return tree.Root, nil
}

// Request returns the request with the files of that moment.
func (b *Base) Request() compiler.Request { return b.req }

package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// Existing is what Put does with a file that is there already.
type Existing int

const (
	KeepExisting    Existing = iota // refuse, and write nothing
	ReplaceExisting                 // write over it
)

// PutOptions configure where Put writes.
type PutOptions struct {
	Dir      string // created when missing
	Existing Existing
	Progress Progress
}

// Edit replaces a file by what edit returns for it, in one step: whoever reads it sees the
// old bytes or the new. It keeps other runs from writing beside it. It gives edit nil for a
// file that does not exist.
func Edit(ctx context.Context, p string, edit func(have []byte) ([]byte, error), opt PutOptions) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	d, err := takeDisk(ctx, opt.Dir, opt.Progress)
	if err != nil {
		return err
	}
	defer d.close()
	have, err := d.read(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		have = nil
	case err != nil:
		return fmt.Errorf("cannot read %s: %w", p, diag.WithoutPath(err))
	case have == nil:
		have = []byte{}
	}
	data, err := edit(have)
	if err != nil || have != nil && bytes.Equal(have, data) {
		return err
	}
	return d.commit(transaction{write: []contract.File{{Path: p, Data: data}}})
}

// Put writes files that are people's own from then on: all of them or none. It never
// writes outside the folder or through a symbolic link. A context that ends stops it
// before the first change. Where it may replace files, one without data goes.
func Put(ctx context.Context, files []contract.File, opt PutOptions) diag.List {
	return transact(ctx, opt, func(d *disk, t *transaction, diags *diag.List) {
		for _, f := range files {
			have, err := d.read(f.Path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				t.write = append(t.write, f)
			case err != nil:
				diags.Errorf(diag.CannotWrite, diag.Pos{File: f.Path}, "%v", d.reason(f.Path, err))
			case f.Data == nil && opt.Existing == ReplaceExisting:
				t.remove = append(t.remove, f.Path)
			case bytes.Equal(have, f.Data):
			case opt.Existing == ReplaceExisting:
				t.write = append(t.write, f)
			default:
				diags.Errorf(diag.NotOurs, diag.Pos{File: f.Path},
					"the file is there already; modec leaves it alone").
					Hint("move it away")
			}
		}
	})
}

// Replacement is a file of a person's: what it has to have still, and what it gets. nil is no file.
type Replacement struct {
	Path    string
	Was, Is []byte
}

// Replace writes and removes files, all of them or none, where each still has what it had. It never writes over what
// somebody else wrote meanwhile.
func Replace(ctx context.Context, list []Replacement, opt PutOptions) diag.List {
	return transact(ctx, opt, func(d *disk, t *transaction, diags *diag.List) {
		for _, r := range list {
			have, err := d.read(r.Path)
			gone := errors.Is(err, fs.ErrNotExist)
			switch {
			case err != nil && !gone:
				diags.Errorf(diag.CannotWrite, diag.Pos{File: r.Path}, "%v", d.reason(r.Path, err))
			case gone != (r.Was == nil), !bytes.Equal(have, r.Was):
				diags.Errorf(diag.Edited, diag.Pos{File: r.Path}, "the file changed meanwhile; nothing was written").
					Hint("look at what is to be written once more")
			case r.Is == nil && !gone:
				t.remove = append(t.remove, r.Path)
			case r.Is != nil:
				t.write = append(t.write, contract.File{Path: r.Path, Data: r.Is})
			}
		}
	})
}

// transact changes files of a folder, all of them or none, as do decides: not where it reports an error.
func transact(ctx context.Context, opt PutOptions, do func(*disk, *transaction, *diag.List)) (diags diag.List) {
	if diags := interrupted(ctx); diags != nil {
		return diags
	}
	d, err := takeDisk(ctx, opt.Dir, opt.Progress)
	if err != nil {
		return cannotTake(ctx, err)
	}
	defer d.close()
	var t transaction
	do(&d, &t, &diags)
	if !diags.HasErrors() {
		if err := d.commit(t); err != nil {
			diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
		}
	}
	diags.Sort()
	return diags
}

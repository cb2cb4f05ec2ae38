package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/compiler/verify"
)

// sourceFile is a file of the source that modec writes itself.
type sourceFile struct {
	path   func(folder string) string // in the folder of the source
	header string                     // that begins it; a file without it is somebody's own
	text   string                     // CUE that is not formatted yet
	writer string                     // the command that writes it
	check  acceptance                 // nil: of the project with it nothing is asked but that it compiles
}

// acceptance reports what is wrong with a file of the source, given the project without it and the project with it.
type acceptance func(without, with *compiler.Result, file string) diag.List

// draft is a change of the source that is not written yet.
type draft struct {
	file  contract.File
	same  bool             // it lies there already
	with  *compiler.Result // the project with the file
	diags diag.List        // of the project; with errors the rest may be absent
}

// draft compiles the project with a file, and checks it.
func (e *env) draft(ctx context.Context, what sourceFile) (d draft, err error) {
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return d, err
	}
	defer root.Close()
	cfg, diags := compiler.ReadConfig(e.request())
	if diags.HasErrors() {
		return draft{diags: diags}, nil
	}
	d.file.Path = what.path(cfg.Source)
	if d.file.Data, err = source.FormatCUE(what.text); err != nil {
		return d, err
	}
	have, err := root.ReadFile(d.file.Path)
	if err == nil && !strings.HasPrefix(string(have), what.header) {
		d.diags.Errorf(diag.NotOurs, diag.Pos{File: d.file.Path, Line: 1, Col: 1},
			"%s did not write this file, and leaves it alone", what.writer).
			Hint("move it away, or rename it")
		return d, nil
	}
	d.same = err == nil && string(have) == string(d.file.Data)
	req := e.sourceRequest()
	files := contract.Plain(root.FS())
	if req.FS, err = source.Overlay(files, cfg.Source, contract.InMemory([]contract.File{d.file})); err != nil {
		return d, fmt.Errorf("the source cannot be read: %v", diag.WithoutPath(err))
	}
	if d.with, d.diags = compiler.Compile(ctx, req); d.diags.HasErrors() || what.check == nil {
		return d, nil
	}
	empty := memfs.FS{d.file.Path: []byte("package modec\n")}
	if req.FS, err = source.Overlay(files, cfg.Source, empty); err != nil {
		return d, fmt.Errorf("the source cannot be read: %v", diag.WithoutPath(err))
	}
	without, list := compiler.Open(ctx, req)
	if !list.HasErrors() { // else something of the source refers to what the file holds
		list = what.check(without, d.with, d.file.Path)
	}
	if list.HasErrors() {
		d.diags = list
	}
	return d, nil
}

// proves verifies what a changed source compiles to. The report is nil where the verification did not end.
func (e *env) proves(ctx context.Context, res *compiler.Result) (*verify.Report, diag.List) {
	return res.VerifyBy(ctx, compiler.Verification{Seed: compiler.Seed})
}

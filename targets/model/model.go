// Package model emits the resolved model itself, modec.model.json: every
// subject with inheritance applied, every rule with its place, every prompt
// inlined. It is the debugging view of a source and what a server can load
// without CUE. Its form is package ir's, versioned by ir.Version; nothing is
// lost.
package model

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/target"
)

// Path is where the model is written.
const Path = "modec.model.json"

type model struct{}

// New returns the target.
func New() target.Target { return model{} }

func (model) Name() string             { return "model" }
func (model) Summary() string          { return "the resolved model, for people and tools" }
func (model) Options() []target.Option { return nil }
func (model) Codes() []diag.Doc        { return nil }
func (model) Owns() []string           { return []string{Path} }

// Governs: no agent reads the model.
func (model) Governs(string, ir.Group) target.Halves { return target.Neither }

func (model) Emit(in target.Input) ([]target.File, diag.List) {
	b, err := in.Project.Marshal()
	if err != nil {
		return nil, diag.List{{Code: diag.BadModel, Target: "model", Message: err.Error()}}
	}
	return []target.File{{Path: Path, Data: b}}, nil
}

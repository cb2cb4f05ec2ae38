// Package model emits the resolved model itself, modec.model.json: every
// subject with inheritance applied, every rule, every prompt inlined, and no
// place of the source, so that a comment changes nothing in it. It is what a
// server can load without CUE. Its form is package ir's, versioned by ir.Version.
package model

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Path is where the model is written.
const Path = contract.ModelFile

type model struct{}

// New returns the target.
func New() contract.Target { return model{} }

func (model) Name() string               { return "model" }
func (model) Summary() string            { return "the resolved model, for people and tools" }
func (model) Options() []contract.Option { return nil }
func (model) Codes() []diag.Doc          { return nil }
func (model) Owns() []string             { return []string{Path} }

// EmitsWhole says that the model has every subject, whichever targets that names.
func (model) EmitsWhole() {}

// Governs: no agent reads the model.
func (model) Governs(string, ir.Group) contract.Halves { return contract.Neither }

func (model) Emit(in contract.Input) ([]contract.File, diag.List) {
	b, err := in.Project.WithoutPlaces().Marshal()
	if err != nil {
		return nil, diag.List{{Code: diag.BadModel, Target: "model", Message: err.Error()}}
	}
	return []contract.File{{Path: Path, Data: b}}, nil
}

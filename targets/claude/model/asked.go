package model

import (
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/claude/format"
)

// Programs returns the hooks of the project's settings that may allow a call, without modec's own and those whose
// answer stands in the line, and a sandbox in which commands run unasked.
func Programs(project fs.FS) (programs []contract.Program) {
	for _, f := range format.SettingsFiles {
		read := settingsOf(project, f.Path)
		if read == nil {
			continue
		}
		box := sandboxOf(read)
		if p, ok := box.program(); ok {
			programs = append(programs, p)
		}
		for _, h := range format.Asked(read.Hooks) {
			if h.Kind == "command" && Known(h.Text) {
				continue
			}
			of := h.Event
			if h.Matcher != "" {
				of += "(" + h.Matcher + ")"
			}
			entry := contract.JSONLine([]any{h.Event, h.Matcher, h.Entry.Any()})
			programs = append(programs, contract.Program{Of: of, Text: h.Text,
				Sum: contract.SumOfProgram(project, entry, h.Text), At: h.At})
		}
	}
	return programs
}

// Allowing returns the settings with a line in the place of each of some hooks that prints an allow.
func Allowing(project fs.FS, programs []contract.Program) (*contract.File, []diag.Pos) {
	if len(programs) == 0 {
		return nil, nil
	}
	file := programs[0].At.File
	read := settingsOf(project, file)
	if read == nil {
		return nil, nil
	}
	index := map[diag.Pos]int{} // of the programs' hooks
	text := func(s string) *located.Value { return &located.Value{Kind: located.String, Text: s} }
	for i, h := range format.Asked(read.Hooks) {
		index[h.At] = i
		for _, p := range programs {
			if p.At == h.At {
				h.Entry.Members = []located.Member{{Key: "type", Value: text("command")},
					{Key: "command", Value: text(Allows(h.Event))}}
			}
		}
	}
	data := contract.JSON(read.Root.Any())
	read, err := format.ReadSettings(file, data)
	if err != nil {
		return nil, nil
	}
	hooks, at := format.Asked(read.Hooks), []diag.Pos{}
	for _, p := range programs {
		at = append(at, hooks[index[p.At]].At)
	}
	return &contract.File{Path: file, Data: data}, at
}

// settingsOf reads a settings file of a project; nil where none loads.
func settingsOf(project fs.FS, file string) *format.Settings {
	data, err := contract.ReadImport(project, file)
	if err != nil {
		return nil
	}
	read, err := format.ReadSettings(file, data)
	if err != nil {
		return nil
	}
	return read
}

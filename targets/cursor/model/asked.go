package model

import (
	"io/fs"
	"path"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/cursor/format"
)

// Programs returns the hooks of people's own in the project's file: what they answer nobody knows.
func Programs(project fs.FS) (programs []contract.Program) {
	name := path.Join(format.Dir, format.HooksFile)
	data, err := contract.ReadImport(project, name)
	if err != nil {
		return nil
	}
	hooks, err := format.ReadHooks(name, data)
	if err != nil {
		return nil
	}
	for _, event := range format.HookEvents {
		for _, h := range hooks[event] {
			e := hookEntry{Hook: h}
			if strings.Contains(h.Command, "modec") {
				continue
			}
			entry := contract.JSONLine([]any{event, h.Command, h.Prompt})
			programs = append(programs, contract.Program{Of: event, Text: e.text(), At: h.At, Judged: true,
				Unknown: true, Sum: contract.SumOfProgram(project, entry, h.Command)})
		}
	}
	return programs
}

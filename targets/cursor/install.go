package cursor

import (
	"path/filepath"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// The places at which modec's entries stand in files that people write too.
var (
	cliPlaces  = []string{"/permissions/allow/-", "/permissions/deny/-"}
	hookPlaces = []string{"/version", "/hooks/*/-"}
	listPlaces = []string{"/approvalMode", "/mcpAllowlist/-", "/terminalAllowlist/-"}
)

// Home lists the user's own lists, configuration of the CLI and hooks.
func (cursor) Home() []string {
	return []string{".cursor/permissions.json", ".cursor/cli-config.json", ".cursor/hooks.json"}
}

// Install writes a profile for the home folder: the lists, which the IDE reads there
// alone, the permissions and the run mode of the CLI, and the hooks on the project's
// policy. The CLI's own configuration is strict JSON with fields that it demands
// (cursor.com/docs/cli/reference/configuration): a file that is not there begins with
// these.
func (cursor) Install(in contract.Input, ref ir.SubjectRef, root string) ([]contract.HomeFile, diag.List) {
	e := &emitter{in: in, hooks: in.Options.Bool("hooks")}
	p, err := e.profile(ref)
	if err != nil {
		e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return nil, e.diags
	}
	commands := e.commands(p)
	lists, tokens := e.lists(p, commands), e.tokens(p, commands)
	e.diags = nil // said by the build
	home := func(name string, data []byte, places []string, artifact contract.File) contract.HomeFile {
		return contract.HomeFile{File: contract.File{Path: ".cursor/" + name, Data: data, Places: places}, Artifact: artifact}
	}
	cli := home("cli-config.json", contract.JSON(append(contract.Object{"approvalMode", "allowlist"}, tokens...)), append([]string{"/approvalMode"}, cliPlaces...),
		contract.File{Path: p.dir + "cli.json", Data: contract.JSON(tokens)})
	cli.Strict = true
	cli.Start = contract.JSON(contract.Object{"version", 1, "editor", contract.Object{"vimMode", false}})
	files := []contract.HomeFile{home("permissions.json", contract.JSON(lists), listPlaces, contract.File{Path: p.dir + "permissions.json", Data: contract.JSON(lists)}), cli}
	if e.hooks {
		files = append(files, home("hooks.json", hooksJSON(p, filepath.Join(root, filepath.FromSlash(policyFile))), hookPlaces,
			contract.File{Path: p.dir + "hooks.json", Data: hooksJSON(p, policyFile)}))
	}
	return files, nil
}

package cursor

import (
	"path"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/cursor/format"
)

// The places of modec's entries in files that people write too.
var (
	cliPlaces    = []string{"/permissions/allow/-", "/permissions/deny/-"}
	configPlaces = append([]string{"/approvalMode"}, cliPlaces...)
	hookPlaces   = []string{"/version", "/hooks/*/-"}
	restraining  = append([]string{"/permissions/deny/-"}, hookPlaces...)
	listPlaces   = []string{"/approvalMode", "/mcpAllowlist/-", "/terminalAllowlist/-"}
)

// Home lists the user's own lists, configuration of the CLI and hooks.
func (cursor) Home() []string {
	return []string{projectFile(format.PermissionsFile), projectFile(format.ConfigFile), projectFile(format.HooksFile)}
}

// Install writes a profile for the home folder: the lists, which the IDE reads there
// alone, the permissions and the run mode of the CLI, and the hooks on the project's
// policy. The CLI's own configuration is strict JSON with required fields
// (cursor.com/docs/cli/reference/configuration): a file that is not there begins with
// these.
func (cursor) Install(
	in contract.Input, ref ir.SubjectRef, policy contract.PolicyCopy,
) ([]contract.HomeFile, diag.List) {
	e := &emitter{in: in}
	p, err := e.profile(ref)
	if err != nil {
		e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return nil, e.diags
	}
	if e.quiet(p) {
		return nil, nil
	}
	commands := e.commands(p)
	// The user's own entries are in these lists, and may allow what the source does not.
	lists := e.lists(p, commands, func(g ir.Group) bool { return p.closes(g) || e.restricts(p, g) })
	tokens := e.tokens(p, commands)
	e.diags = nil // the build reports them
	artifact := func(base string, data []byte) contract.File {
		return contract.File{Path: path.Join(p.dir, base), Data: data}
	}
	home := func(base string, data []byte, places []string) contract.File {
		return contract.File{Path: path.Join(format.Dir, base), Data: data, Places: places}
	}
	var files []contract.HomeFile
	if data := contract.JSON(lists); len(lists) > 0 {
		files = append(files, contract.HomeFile{
			File: home(format.PermissionsFile, data, listPlaces), Artifact: artifact(format.PermissionsFile, data),
		})
	}
	if len(tokens) > 0 {
		config := home(format.ConfigFile, contract.JSON(append(e.runMode(p), tokens...)), configPlaces)
		config.Strict = true
		files = append(files, contract.HomeFile{
			File:     config,
			Artifact: artifact(format.TokensFile, contract.JSON(tokens)),
			Start:    contract.JSON(contract.Object{"version", 1, "editor", contract.Object{"vimMode", false}}),
		})
	}
	if p.hooked {
		files = append(files, contract.HomeFile{
			File:     home(format.HooksFile, e.hooksJSON(p, policy.Flags(), refused), hookPlaces),
			Artifact: artifact(format.HooksFile, e.hooksJSON(p, projectPolicy, refused)),
		})
	}
	return files, nil
}

// restricts reports whether the source asks about commands or tools, or denies some.
func (e *emitter) restricts(p *profile, g ir.Group) bool {
	if g == ir.Command {
		return p.subject.Restricts(g)
	}
	return slices.ContainsFunc(e.in.Project.Servers, func(sv ir.Server) bool {
		return sv.DefaultEnabled && (p.tool(sv.Name, contract.UnknownTool) < ir.Allow ||
			slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return p.tool(sv.Name, t.Name) < ir.Allow }))
	})
}

// runMode returns the run mode of the CLI, in which its tokens count; nothing where the
// subject leaves all to Cursor that a run mode decides.
func (e *emitter) runMode(p *profile) contract.Object {
	for _, g := range e.stated(p) {
		if g == ir.Command || g == ir.Web || g == ir.MCP {
			return contract.Object{"approvalMode", "allowlist"}
		}
	}
	return nil
}

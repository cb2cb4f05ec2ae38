package cursor

import (
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/cursor/format"
)

// The places of modec's entries in files that people write too.
var (
	cliPlaces   = []string{"/permissions/allow/-", "/permissions/deny/-"}
	hookPlaces  = []string{"/version", "/hooks/*/-"}
	restraining = append([]string{"/permissions/deny/-"}, hookPlaces...)
	listPlaces  = []string{"/approvalMode", "/mcpAllowlist/-", "/terminalAllowlist/-"}
)

// Beside returns Cursor's settings.
func (cursor) Beside() []contract.File {
	blocked := []string{"/autoRun/block_instructions/-", "/autoReview/block_instructions/-"}
	lists := slices.Concat(listPlaces, blocked,
		[]string{"/autoRun/allow_instructions/-", "/autoReview/allow_instructions/-"})
	denied := []string{"/networkPolicy/deny/-"}
	confined := append([]string{"/type", "/readBoundary", "/disableTmpWrite", "/additionalReadPaths/-",
		"/additionalReadonlyPaths/-", "/additionalReadwritePaths/-", "/networkPolicy/default",
		"/networkPolicy/allow/-"}, denied...)
	return []contract.File{
		{Path: projectFile(format.PermissionsFile), Places: lists, Restrains: blocked},
		{Path: projectFile(format.TokensFile), Places: cliPlaces, Restrains: restraining},
		{Path: projectFile(format.HooksFile), Places: hookPlaces, Restrains: restraining},
		{Path: projectFile(format.ServersFile), Places: contract.MCPServers},
		{Path: projectFile(format.SandboxFile), Places: confined, Restrains: denied},
	}
}

// Below returns what Cursor reads in a workspace's folder.
func (cursor) Below() []string { return []string{projectFile(format.PermissionsFile)} }

// Lodgers returns what the classifier of Cursor is told to allow, the only part of the project's permissions.json that
// 3.20.17 takes, and a sandbox that is wider than by itself. A subagent of Cursor's has what its session has.
func (cursor) Lodgers(project, compiled fs.FS) []contract.Lodger {
	out := contract.Added(instructions(project), instructions(compiled))
	for _, name := range []string{format.PermissionsFile, format.TokensFile} {
		if root, err := contract.ReadJSONC(project, projectFile(name)); err == nil {
			out = append(out, contract.Unasking(root,
				contract.Loose{Key: []string{"approvalMode"}, Values: []string{"unrestricted"}})...)
		}
	}
	file := projectFile(format.SandboxFile)
	if box, err := contract.ReadJSONC(project, file); err == nil && widens(box) {
		out = append(out, contract.Lodger{Kind: contract.EntryFile, Name: file, At: diag.Pos{File: file}})
	}
	return out
}

// instructions returns what the classifier is told to allow.
func instructions(project fs.FS) (out []contract.Lodger) {
	root, err := contract.ReadJSONC(project, projectFile(format.PermissionsFile))
	if err != nil {
		return nil
	}
	for _, key := range []string{"autoReview", "autoRun"} {
		list := root.Get(key).Get("allow_instructions")
		if len(list.Strings()) > 0 {
			out = append(out, contract.Lodger{Kind: contract.EntrySetting, Name: key + ".allow_instructions",
				Entry: list, At: list.Pos})
		}
	}
	return out
}

// widens reports whether a sandbox gives the commands in it more than the project's folder.
func widens(box *located.Value) bool {
	kind, _ := box.Get("type").Str()
	network := box.Get("networkPolicy")
	byItself, _ := network.Get("default").Str()
	return kind == "insecure_none" || byItself == "allow" ||
		len(slices.Concat(box.Get("additionalReadwritePaths").List(), network.Get("allow").List())) > 0
}

package cursor

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/cursor/format"
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

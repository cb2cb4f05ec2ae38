// Package format is what Cursor's files look like: their names, the grammar of the
// entries and tokens in them, and which hooks.json Cursor accepts.
//
// The emitter, the model of how Cursor decides and the importer share this package and
// nothing else. It reads texts into values with their places and decides nothing.
//
// Sources: Cursor's documentation of permissions, CLI permissions and hooks
// (cursor.com/docs, autumn 2026), the agent engine in the npm package @cursor/sdk
// 1.0.32, and permissions.schema.json of Cursor 3.20.17.
package format

import (
	"path"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// Dir is the folder of Cursor's files, in a project and in the home folder.
const Dir = ".cursor"

// The files of Cursor, by their names in a folder.
const (
	PermissionsFile = "permissions.json" // the IDE's allowlists and run mode
	TokensFile      = "cli.json"         // the permissions of the CLI
	ConfigFile      = "cli-config.json"  // the same and more, in the home folder
	HooksFile       = "hooks.json"
	ServersFile     = "mcp.json"
	SandboxFile     = "sandbox.json" // what a sandbox confines
	StateFile       = "state.vscdb"  // the IDE's settings
)

// ProfilesDir is where the model finds a folder for each subject: the files that hold a session of Cursor to it.
// `modec args` writes them, and users copy or link them to where Cursor reads them.
var ProfilesDir = path.Clean(contract.SessionPath("cursor", ""))

// ProfileDir returns the folder of a subject's profile.
func ProfileDir(ref ir.SubjectRef) string { return ProfilesDir + "/" + contract.SubjectName(ref) }

// RunMode is how the IDE decides whether a tool waits for its user: a value of
// approvalMode in permissions.json.
type RunMode string

const (
	AskEveryTime  RunMode = "manual"
	UseAllowlist  RunMode = "allowlist"
	RunEverything RunMode = "unrestricted"
)

// ParseRunMode reads a run mode; false for a value that Cursor does not know.
func ParseRunMode(text string) (RunMode, bool) {
	switch m := RunMode(text); m {
	case AskEveryTime, UseAllowlist, RunEverything:
		return m, true
	}
	return "", false
}

// Trim removes surrounding space as JavaScript's trim does.
func Trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r == '\ufeff' || unicode.IsSpace(r) && r != '\u0085' })
}

// Fold returns the form in which the engine and the IDE compare names.
func Fold(s string) string { return strings.ToLower(Trim(s)) }

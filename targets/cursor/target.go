// Package cursor emits the configuration of Cursor: the IDE's allowlists
// (permissions.json), the permissions of its CLI (cli.json), MCP servers
// (mcp.json), and the hooks that make all of them exact (hooks.json).
//
// Beside the emitter stand packages that do not know it: format reads the files, model
// answers what Cursor does with them, importer turns them into a source, hook answers
// Cursor's hooks at run time, and allowlist edits the IDE's list for `modec cursor add`.
//
// Sources: Cursor's documentation of permissions, CLI permissions and hooks
// (cursor.com/docs, autumn 2026), the agent engine in the npm package
// @cursor/sdk 1.0.32, whose matcher and hook runner the end-to-end tests
// execute, and bundles of the IDE up to 3.20.17. Nothing was observed in a
// running IDE.
//
// # Which file decides what
//
// permissions.json says what runs without approval in the IDE and cannot deny: Cursor asks
// about what it does not list. cli.json allows, denies, and asks about the rest of
// commands, MCP tools and hosts; a path it can only deny, since the engine
// reads and writes inside the workspace without asking. The IDE reads no cli.json. The hooks
// ask the compiled policy before a tool call, in both. For commands and MCP tools they answer
// deny, ask or nothing. For the rest Cursor has no ask, so that the hook refuses what
// the source asks about, with a message (cursor-ask).
//
// A role may have tokens of cli.json for the CLI alone (agents.cursor.native). They are written as they are, and
// no hook holds them in the IDE. One that allows something needs a group of which the source says
// nothing that only a hook holds.
//
// Cursor has no permission modes: a written permissionMode decides what a role leaves unsaid.
// What is left to Cursor even then is in no file. A subject that says nothing has none. An
// entry for what Cursor asks about anyway is not written; an empty list of permissions.json
// is, where the source says that it asks about, or denies, what it does not list: it takes
// the place of the user's own list. cli.json always has both lists, which Cursor requires.
//
// # Hooks
//
// No token says some things to the CLI (an expression, what is not listed beside a
// list, a host, a subagent, an unknown tool, what lies outside the project, what an open
// inventory does not list), and the IDE reads none: hooks hold that. An event is registered
// where the subject says something of its groups.
//
// A hook that came with the repository never answers allow. It abstains with an
// object without a permission ({}), which the engine takes for "no opinion" on each of these
// events, and goes on to its own lists (observed with its hook runner for all six:
// e2e/testdata/decide.json). Empty output would block, as would output that is not JSON.
//
// Where modec is missing, or another program has its name, every call is refused.
//
// # How Cursor matches
//
// The engine (1.0.32) compares the whole text, `*` stands for any text, "/"
// included, and every other character for itself. The documentation speaks of
// globs, as picomatch reads them. A token here means to both what the source does or,
// where that cannot be, less for an allow and more for a deny: braces are
// expanded, other glob characters of a deny become `*`, an allow contains none. For picomatch
// `*` and `**` leave out names that start with a dot: that counts for nothing here.
//
//   - Shell(git push) matches a simple command that is "git push" or starts
//     with "git push ". The engine splits a line as a shell does and wants every
//     part allowed.
//   - Shell(npm:ci) matches "npm ci" and nothing longer.
//   - Shell(git:push*), as often seen, does not match `git push origin a/b` for
//     picomatch. It is never written.
//   - Read and Write tokens are compared with absolute paths; the documentation
//     says that a relative one starts at the workspace. Without hooks a path is
//     therefore written as `**/path`, which also denies it deeper in the workspace, and
//     everything where the workspace itself lies below such a path. An allow of a
//     path is never written: `**` would open the whole disk.
//   - WebFetch(*.host) matches the host itself too. A WebFetch deny only takes
//     the host out of the allowlist: the fetch is then asked about.
//   - Names are compared without case and surrounding space: names that become
//     equal are errors (cursor-name-collision).
//
// # Hazards
//
//   - permissions.json in the home folder replaces the lists of the settings and,
//     with any entry, switches off the user's own run mode. `modec args` therefore
//     writes it into a folder that a person names, and nothing else moves it.
//   - A repository's own .cursor/permissions.json is read, and its lists were not
//     applied, up to 3.20.17; by the documentation they add to the user's own. It is written only for the
//     role that lists = "role:NAME" names, without a run mode where the role leaves that to Cursor. One that no
//     build wrote counts for every subject, as the documentation reads it.
//   - An empty list meant "the list of the settings" in older builds:
//     approvalMode "allowlist" is always written beside the lists, and not without one.
//   - The engine's hook runner may append `<<'CURSOR_HOOK_EOF'` to the command. It
//     would feed the last command of a list, so the command is one `{ …; }`.
//   - A server's id may carry a prefix, user- or project-N-FOLDER-, and a suffix,
//     ::mcpScope:…. The hook strips them; aliases = true writes the prefixed
//     forms into the lists. A name that is longer in another way is another server. Where
//     the payload says what runs, and it is not what the source says, the hook refuses.
//   - Project servers start disabled until the user enables them, and project
//     hooks run in a trusted workspace only.
//
// # Known holes of the agent
//
//   - Cloud agents run no MCP hooks, and no hooks at all in read-only turns.
//   - The engine takes an ask of beforeMCPExecution, and any allow, for no opinion:
//     its own lists ask, unless the user chose Run Everything.
//   - Grep over a folder also shows files below it that may not be read:
//     only .cursorignore keeps files out of it.
//   - Without hooks nothing in the IDE denies a read or an edit (cursor-cli-only).
//   - Without hooks, tokens are compared with case, with links unresolved for
//     reads, and only with the text of a command: `/usr/bin/git push` and `sh -c 'git
//     push'` are other commands than `git push`, about which Cursor asks. What lies
//     outside the workspace it asks about by itself.
//   - Assignments, redirects inside the workspace and tests are not part of a command
//     to the engine: without hooks, and with them where the command is left to Cursor,
//     `npm ci > .env` runs where npm ci is listed, and the words after a redirect are
//     not compared (`rm > x -rf /`).
//   - Of a line with a substitution the engine compares every command, and words as they
//     are written: `rm x $(rm y)` runs where rm is listed. Without hooks, and with them where
//     such a line is left to Cursor, nothing asks about it.
//   - `*` crosses "/" and no line break: a path with one passes Write(**).
//   - On Windows, where Cursor runs a hook by PowerShell, a line with braces does not run: every
//     call is refused.
package cursor

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
	"modec.dev/modec/targets/cursor/hook"
	"modec.dev/modec/targets/cursor/importer"
	"modec.dev/modec/targets/cursor/model"
)

type cursor struct{}

// The options that name subjects.
const (
	optSubject = "subject"
	optLists   = "lists"
	noLists    = "none"
)

// New returns the target. Cursor's hooks are answered by it too ([contract.Hooker]).
func New() contract.Target { return cursor{} }

func (cursor) Name() string { return "cursor" }

func (cursor) Summary() string {
	return "Cursor: MCP allowlist, CLI permissions, MCP servers, hooks"
}

func (cursor) Options() []contract.Option {
	return []contract.Option{
		{Name: "aliases", Type: contract.Bool, Default: false,
			Doc: "Also list servers under the ids that the IDE may give them, user-NAME and project-0-FOLDER-NAME."},
		{Name: "folder", Type: contract.String,
			Doc: "The name of the workspace's folder, for the aliases project-0-FOLDER-NAME. " +
				"Default: the project's name."},
		{Name: optLists, Type: contract.String,
			Doc: "The role whose allowlists .cursor/permissions.json has (\"role:NAME\" or the bare name), for those " +
				"who keep that file in the repository: Cursor's documentation says that it adds to the user's own " +
				"lists, and up to 3.20.17 Cursor did not apply it. Default: nobody, and the file is not written. " +
				"\"none\": nobody, and subject has no lists in a profile either, since it is for the CLI alone."},
		{Name: "mcpToolAllowlist", Type: contract.Strings,
			Doc: "The MCP tools that your organisation's settings run without a question, as SERVER:TOOL: Cursor " +
				"then ignores everybody's own list. Default: no organisation has such a list."},
		{Name: "mcpToolsProtection", Type: contract.Bool, Default: false,
			Doc: "Whether Cursor's settings protect MCP tools: its editor then asks about each, whatever is listed."},
		{Name: optSubject, Type: contract.String, Holds: true,
			Doc: "The role or mode that .cursor/cli.json and .cursor/hooks.json hold everybody to (\"role:NAME\", " +
				"\"mode:SLUG\" or the bare name). Default: the baseline. Without either, none is written."},
	}
}

// Codes documents what the target reports.
func (cursor) Codes() []diag.Doc { return append(diag.Docs(codesText), importer.Codes()...) }

func (cursor) Owns() []string {
	return []string{projectFile(format.TokensFile), projectFile(format.HooksFile), projectFile(format.ServersFile)}
}

// OwnsPlaced returns the file that is written for the role of the option lists alone. Guards ask about the folder.
func (cursor) OwnsPlaced() []string { return []string{projectFile(format.PermissionsFile)} }

// ChosenBy returns the option that names the subject of a file of the project.
func (cursor) ChosenBy(file string) string {
	if file == projectFile(format.PermissionsFile) {
		return optLists
	}
	return optSubject
}

// HoldsRoles marks that every role that says something has a profile.
func (cursor) HoldsRoles() {}

// projectFile returns the path of a file that everybody in the project shares.
func projectFile(base string) string { return path.Join(format.Dir, base) }

// governs is the table of the package comment: which halves of a decision a file governs.
var governs = map[string]map[ir.Group]contract.Halves{
	format.PermissionsFile: {ir.MCP: contract.Approval, ir.Command: contract.Approval},
	format.TokensFile: {ir.MCP: contract.Both, ir.Command: contract.Both, ir.Web: contract.Approval,
		ir.Read: contract.Access, ir.Edit: contract.Access},
	format.HooksFile: {ir.MCP: contract.Both, ir.Command: contract.Both, ir.Read: contract.Access,
		ir.Edit: contract.Access, ir.Web: contract.Access, ir.Modes: contract.Access, ir.Unknown: contract.Access},
}

func (cursor) Governs(file string, g ir.Group) contract.Halves { return governs[path.Base(file)][g] }

// Agent describes Cursor's editor and its command line, by its new and its old name.
func (cursor) Agent() contract.Agent {
	return contract.Agent{Name: "Cursor", Programs: []string{"cursor", "cursor-agent"}}
}

// Hook answers one payload of Cursor's hooks.
func (cursor) Hook(req contract.HookRequest) contract.HookAnswer { return hook.Answer(req) }

// Open reads the artifacts as Cursor does. The model runs the real hook.
func (cursor) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys, o, hook.Answer)
}

// OpenAt reads the artifacts as Cursor does that works at a disk.
func (cursor) OpenAt(fsys fs.FS, o contract.Options, at contract.Disk) ([]contract.Decider, diag.List) {
	return model.OpenAt(fsys, o, hook.Answer, at)
}

// Programs returns the hooks of people's own. The model takes each for one that allows.
func (cursor) Programs(project fs.FS) []contract.Program { return model.Programs(project) }

// Allowing returns no file: the model judges them.
func (cursor) Allowing(fs.FS, []contract.Program) (*contract.File, []diag.Pos) { return nil, nil }

// Alone returns what Cursor decides by itself; it has no permission mode of a role.
func (cursor) Alone(*ir.Project) []contract.Decider { return model.Alone() }

// AgentFiles lists the files of Cursor.
func (cursor) AgentFiles() []contract.AgentFile { return importer.Files() }

// Formats returns the one that Cursor has.
func (cursor) Formats() []string { return []string{"cursor"} }

// Import reads the IDE's lists, the CLI's tokens and the servers. Lists of a repository that a build would write in
// another way stay with their file.
func (cursor) Import(src contract.Source) (contract.Imported, diag.List) {
	im, diags := importer.Import(src)
	name, ok := im.Options[optLists].(string)
	if !ok || name == noLists || src.Ours {
		return im, diags
	}
	role := im.Project.Role(strings.TrimPrefix(name, "role:"))
	if !writesAll(im, ir.SubjectRef{Role: role.Name}, src.Root) {
		delete(im.Options, optLists)
		im.Note(contract.Left, role.Pos, "role "+role.Name, format.PermissionsFile,
			"a build would write an entry of its lists in another way or not at all: it stays as it is, and what the "+
				"source says of it is what modec args writes")
	}
	return im, diags
}

// writesAll reports whether a build writes each entry of the project's lists as it stands there.
func writesAll(im contract.Imported, ref ir.SubjectRef, root fs.FS) bool {
	e := &emitter{in: contract.Input{Project: im.Project, Policy: policy.New(im.Project)}}
	p, err := e.profile(ref)
	data, missing := contract.ReadImport(root, projectFile(format.PermissionsFile))
	if err != nil || missing != nil {
		return false
	}
	there, err := located.JSONC(format.PermissionsFile, data)
	if err != nil {
		return false
	}
	written := map[string][]string{}
	lists := e.lists(p, e.commands(p))
	for i := 0; i+1 < len(lists); i += 2 {
		if list, ok := lists[i+1].([]string); ok {
			written[lists[i].(string)] = list
		}
	}
	for _, key := range []string{"mcpAllowlist", "terminalAllowlist"} {
		was, is := slices.Sorted(slices.Values(there.Get(key).Strings())), slices.Sorted(slices.Values(written[key]))
		if !slices.Equal(slices.Compact(was), slices.Compact(is)) {
			return false
		}
	}
	return there.Get("approvalMode") != nil || !p.closes(ir.MCP) && !p.closes(ir.Command)
}

// Package cursor emits the configuration of Cursor: the IDE's allowlists
// (permissions.json), the permissions of its CLI (cli.json), MCP servers
// (mcp.json), and the hooks that make all of them exact (hooks.json).
//
// Sources: Cursor's documentation of permissions, CLI permissions and hooks
// (cursor.com/docs, autumn 2026), the agent engine in the npm package
// @cursor/sdk 1.0.32, whose matcher and hook runner the end-to-end tests
// execute, and bundles of the IDE up to 3.20.17. Nothing was observed in a
// running IDE.
//
// # What holds what
//
// permissions.json says what runs without approval and cannot deny: what it
// does not list is asked. cli.json allows, denies, and asks about the rest of
// commands, MCP tools and hosts; a path it can only deny, since the engine
// reads and writes inside the workspace without asking. The hooks ask the
// compiled policy about every tool call. For commands and MCP tools they answer
// deny, ask or nothing; for the rest there is no ask, so that an ask is refused
// there, with a message (cursor-ask).
//
// A hook that came with the repository never answers allow. It abstains with an
// object without a permission ({}), which the engine takes for "no opinion" and
// goes on to its own lists. Empty output would block, as would output that is
// no JSON.
//
// # How Cursor matches
//
// The engine (1.0.32) compares the whole text, `*` stands for any text, "/"
// included, and every other character for itself. The documentation speaks of
// globs, as picomatch reads them. Every token here means the same to both or,
// where that cannot be, less for an allow and more for a deny: braces are
// expanded, other glob characters of a deny become `*`, an allow holds none.
//
//   - Shell(git push) matches a simple command that is "git push" or starts
//     with "git push ". The engine splits a line as a shell does and wants every
//     part allowed, but lets it write into files of the workspace: therefore an
//     allow is written only with the hooks beside it.
//   - Shell(npm:ci) matches "npm ci" and nothing longer.
//   - Shell(git:push*), as often seen, does not match `git push origin a/b` for
//     picomatch. It is never written.
//   - Read and Write tokens are compared with absolute paths; the documentation
//     says that a relative one starts at the workspace. Without hooks both forms
//     are written. An allow of a path is never written: `**` would open the
//     whole disk.
//   - WebFetch(*.host) matches the host itself too. A WebFetch deny only takes
//     the host out of the allowlist: the fetch is then asked about.
//   - Names are compared without case and surrounding space: names that become
//     equal are errors (cursor-name-collision).
//
// # Hazards
//
//   - permissions.json in the home folder replaces the lists of the settings and,
//     with any entry, switches off the user's own run mode. A build therefore
//     writes it under .cursor/modec, and nothing else moves it.
//   - A repository's own .cursor/permissions.json is read, and its lists were not
//     applied, up to 3.20.17. None is written.
//   - An empty list meant "the list of the settings" in older builds:
//     approvalMode "allowlist" is always written beside the lists.
//   - The engine's hook runner may append `<<'CURSOR_HOOK_EOF'` to the command. It
//     would feed the last command of a list, so the command is one `{ …; }`.
//   - A server's id may carry a prefix, user- or project-N-FOLDER-, and a suffix,
//     ::mcpScope:…. The hook strips them; aliases = true writes the prefixed
//     forms into the lists.
//   - Project servers start disabled until the user enables them, and project
//     hooks run in a trusted workspace only.
//
// # Known holes of the agent
//
//   - Cloud agents run no MCP hooks, and no hooks at all in read-only turns.
//   - The engine takes an ask of beforeMCPExecution, and any allow, for no opinion:
//     its own lists ask, unless the user chose Run Everything.
//   - Grep over a folder also shows what lies below it and may not be read:
//     only .cursorignore keeps files out of it.
//   - Without hooks, tokens are compared with case, with links unresolved for
//     reads, and only with the text of a command: `/usr/bin/git push` is another
//     command than `git push`. Nothing confines reads to the workspace, and
//     nothing holds subagents back.
//   - Assignments, redirects inside the workspace and tests are no part of a command
//     to the engine: without hooks `npm ci > .env` runs where npm ci is listed, and
//     the words after a redirect are not compared (`rm > x -rf /`).
//   - `*` crosses "/" and no line break: a path that holds one passes Write(**).
//   - On Windows the hooks' command is no PowerShell: every call is refused.
package cursor

import (
	"fmt"
	"path"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

type cursor struct{}

// New returns the target. It also answers Cursor's hooks (target.Hooker).
func New() contract.Target { return cursor{} }

func (cursor) Name() string { return "cursor" }

func (cursor) Summary() string {
	return "Cursor: MCP allowlist, CLI permissions, MCP servers, hooks"
}

func (cursor) Options() []contract.Option {
	return []contract.Option{
		{Name: "aliases", Type: contract.Bool, Default: false, Doc: "Also list servers under the ids that the IDE may give them, user-NAME and project-0-FOLDER-NAME."},
		{Name: "folder", Type: contract.String, Doc: "The name of the workspace's folder, for the aliases project-0-FOLDER-NAME. Default: the project's name."},
		{Name: "hooks", Type: contract.Bool, Default: true, Doc: "Emit hooks that run `modec hook cursor` before each tool call: the only artifact that can forbid inside the IDE. Without them everything that tokens cannot say is narrowed."},
		{Name: "subject", Type: contract.String, Doc: "The role or mode that .cursor/cli.json and .cursor/hooks.json hold everybody to (\"role:NAME\", \"mode:SLUG\" or the bare name). Default: the baseline. Without either, only the profiles under .cursor/modec are written."},
	}
}

func (cursor) Owns() []string {
	return []string{".cursor/modec/**", ".cursor/cli.json", ".cursor/hooks.json", ".cursor/mcp.json"}
}

// governs is the table of the package comment: which halves a file holds.
var governs = map[string]map[ir.Group]contract.Halves{
	"permissions.json": {ir.MCP: contract.Approval, ir.Command: contract.Approval},
	"cli.json":         {ir.MCP: contract.Both, ir.Command: contract.Both, ir.Web: contract.Approval, ir.Read: contract.Access, ir.Edit: contract.Access},
	"hooks.json": {ir.MCP: contract.Both, ir.Command: contract.Both, ir.Read: contract.Access, ir.Edit: contract.Access, ir.Web: contract.Access,
		ir.Modes: contract.Access, ir.Unknown: contract.Access},
}

func (cursor) Governs(file string, g ir.Group) contract.Halves { return governs[path.Base(file)][g] }

// emitter compiles one project.
type emitter struct {
	in    contract.Input
	hooks bool
	diags diag.List
}

// profile is one subject that files are written for.
type profile struct {
	ref     ir.SubjectRef
	label   string // "role:developer": what --subject takes
	dir     string
	subject *policy.Subject
	pos     diag.Pos
	held    []string // what only the hook holds, for one note
	heldPos diag.Pos
}

// Emit compiles a profile for each role and for the chosen mode, and the
// project-wide files for the chosen subject.
func (cursor) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in, hooks: in.Options.Bool("hooks")}
	e.checkNames()
	e.checkExtras()
	main, chosen := e.chosen()
	refs := []ir.SubjectRef{}
	for i := range in.Project.Roles {
		refs = append(refs, ir.SubjectRef{Role: in.Project.Roles[i].Name})
	}
	if chosen && main.Mode != "" {
		refs = append(refs, main)
	}
	var files []contract.File
	for _, ref := range refs {
		p, err := e.profile(ref)
		if err != nil {
			e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
			continue
		}
		dirs := []string{p.dir}
		if chosen && ref == main {
			dirs = append(dirs, ".cursor/")
		}
		commands := e.commands(p)
		permissions, cli := e.permissions(p, commands), contract.JSON(e.tokens(p, commands))
		files = append(files, contract.File{Path: p.dir + "permissions.json", Data: permissions})
		for _, dir := range dirs {
			var lists, hooks []string // the project's own files are people's too
			if dir != p.dir {
				lists, hooks = cliPlaces, hookPlaces
			}
			files = append(files, contract.File{Path: dir + "cli.json", Data: cli, Places: lists})
			if e.hooks {
				files = append(files, contract.File{Path: dir + "hooks.json", Data: hooksJSON(p, policyFile), Places: hooks})
			}
		}
		e.asks(p)
		e.claudeRules(p)
		e.heldByHook(p)
	}
	files = append(files, contract.File{Path: ".cursor/mcp.json", Data: e.servers(), Places: contract.MCPServers})
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	return files, e.diags
}

func (e *emitter) profile(ref ir.SubjectRef) (*profile, error) {
	s, err := e.in.Policy.Subject(ref)
	if err != nil {
		return nil, err
	}
	if ref.Role != "" {
		return &profile{ref: ref, label: "role:" + ref.Role, dir: ".cursor/modec/" + contract.PathName(ref.Role) + "/", subject: s, pos: e.in.Project.Role(ref.Role).Pos}, nil
	}
	label := "mode:" + ref.Mode
	return &profile{ref: ref, label: label, dir: ".cursor/modec/" + contract.PathName(label) + "/", subject: s, pos: e.in.Project.Mode(ref.Mode).Pos}, nil
}

// chosen returns the subject of the project-wide files; false when none is.
func (e *emitter) chosen() (ir.SubjectRef, bool) {
	name := e.in.Options.String("subject")
	switch {
	case name != "":
		ref, err := e.in.Project.ParseSubject(name, "")
		if err != nil {
			e.diags.Errorf(codeUnknownSubject, e.in.Options.Pos("subject"), "%s", err.Error()).
				Path("targets.cursor.subject").
				Target("cursor")
		}
		return ref, err == nil
	case e.in.Project.Baseline != "":
		return ir.SubjectRef{Role: e.in.Project.Baseline}, true
	}
	e.diags.Warnf(codeNotHeld, diag.Pos{File: "modec.toml"}, "got neither subject nor baseline: nothing holds Cursor in this repository").
		Hint("set subject in [targets.cursor], or baseline").
		Target("cursor")
	return ir.SubjectRef{}, false
}

// loss reports what a subject loses, at the place that the format cannot say.
func (e *emitter) loss(p *profile, at diag.Pos, g ir.Group, code diag.Code, message, hint string) {
	if at.IsZero() || at.File == ir.GuardsFile {
		at = p.pos
	}
	e.diags.Warnf(code, at, "%s", message).
		Hint(hint).
		Target("cursor").
		Subject(p.ref.String()).
		Loses(diag.Narrowing, string(g))
}

// closed reports whether a whole group may be denied because a token cannot say
// what its rules do. A written exception keeps it.
func (e *emitter) closed(p *profile, g ir.Group, at diag.Pos, what string) bool {
	if x := e.in.ExceptsGroup(p.ref, g); x != nil {
		e.diags.Warnf(diag.ExceptionUsed, x.Pos, "keeps %s, where no token denies %s", g, what).
			Hint("reason: "+x.Reason+", until "+x.Until.Format("2006-01-02")).
			Target("cursor").
			Subject(p.ref.String()).
			Loses(diag.Widening, string(g))
		return false
	}
	e.loss(p, at, g, codeDeny, fmt.Sprintf("no token denies %s, and hooks are off: the group %s is denied as a whole", what, g), fmt.Sprintf("turn hooks on, or write an exception for %q", g))
	return true
}

// hold notes a deny or an ask that only the hook holds.
func (p *profile) hold(at diag.Pos, what string) {
	if len(p.held) == 0 {
		p.heldPos = at
	}
	if !slices.Contains(p.held, what) {
		p.held = append(p.held, what)
	}
}

func (e *emitter) heldByHook(p *profile) {
	if len(p.held) == 0 || !e.hooks {
		return
	}
	at := p.heldPos
	if at.IsZero() || at.File == ir.GuardsFile {
		at = p.pos
	}
	more := ""
	if n := len(p.held) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	e.diags.Notef(codeHookOnly, at, "cli.json cannot say %s%s of %s: the hook alone holds it", p.held[0], more, p.ref).
		Target("cursor").
		Subject(p.ref.String())
}

// asks lists, once a group, what is refused because Cursor cannot ask there.
func (e *emitter) asks(p *profile) {
	groups := []ir.Group{ir.Read, ir.Edit}
	if e.hooks {
		groups = append(groups, ir.Web, ir.Modes)
	}
	for _, g := range groups {
		def := p.subject.Default(g)
		at, asks := def.Pos, def.Decision == ir.Ask
		for _, r := range p.subject.Rules(g) {
			if r.Pattern.Kind == ir.All && r.Decision == ir.Deny {
				asks = false
				break
			}
			if r.Decision == ir.Ask && !asks {
				at, asks = r.Pos, true
			}
		}
		if asks {
			e.loss(p, at, g, codeAsk, fmt.Sprintf("Cursor cannot ask about %s: what the source asks about is refused", g), "allow it or deny it")
		}
	}
}

func (e *emitter) checkExtras() {
	check := func(x ir.Extra, ok bool) {
		if ok && len(x.Fields) > 0 {
			e.diags.Errorf(codeUnknownExtra, x.Pos, "got settings in extra.cursor, want none").
				Target("cursor")
		}
	}
	for i := range e.in.Project.Modes {
		x, ok := e.in.Project.Modes[i].Extra["cursor"]
		check(x, ok)
	}
	for i := range e.in.Project.Roles {
		x, ok := e.in.Project.Roles[i].Extra["cursor"]
		check(x, ok)
	}
}

// claudeRules reports the rules that only Claude Code can say.
func (e *emitter) claudeRules(p *profile) {
	if p.ref.Role == "" {
		return
	}
	for _, r := range e.in.Project.Role(p.ref.Role).Native {
		e.diags.Warnf(codeClaudeRule, r.Pos, "the rule %q says something of Claude Code's own tools: it is left out", r.Text).
			Hint("say it in can, where every target understands it").
			Target("cursor").
			Subject(p.ref.String()).
			Loses(diag.Text, "")
	}
}

// Agent is Cursor's editor and its command line, by its new and its old name.
func (cursor) Agent() contract.Agent {
	return contract.Agent{Name: "Cursor", Programs: []string{"cursor", "cursor-agent"}}
}

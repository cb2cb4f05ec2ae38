// Package cursor emits the configuration of Cursor: the MCP allowlist of the
// IDE (permissions.json), the CLI's permissions (cli.json), MCP servers, and
// the hooks that make them exact.
//
// Sources: cursor.com/docs (permissions, CLI, hooks), the engine in
// @cursor/sdk 1.0.32, and recovered bundles up to 3.20.17. Nothing here was
// observed in a running IDE.
//
// # What holds what
//
// permissions.json says what runs without approval and cannot deny: what it
// does not list is asked. cli.json allows and denies, and asks about the rest.
// The hooks ask the compiled policy about every tool call; for shell commands
// and MCP tools they answer deny, ask or allow, for reads, writes and subagents
// they cannot ask, so that an ask is refused, with a message.
//
// # Hazards
//
//   - A user-level permissions.json with any allowlist switches off the user's
//     own run mode. A build writes it beside the project, under .cursor/modec;
//     nothing puts it into the home folder by itself.
//   - A repository's own permissions.json was read, not applied, up to 3.20.17.
//   - An empty allowlist meant "the IDE's list" in older builds: approvalMode
//     "allowlist" is always written with it.
//   - Entries are compared without case, and the engine reads them as globs: a
//     name with a glob character is never written.
//   - A `*` in a token does not cross "/": `Shell(git:push*)` does not match
//     `git push origin feat/x`. Denies are written as prefixes, Shell(git push).
//   - Whether Shell(git log) also matches `git log; rm x` is not known: a Shell
//     allow is written only with the hooks beside it.
//   - A server's id may carry a prefix, user- or project-N-NAME-. The hook
//     strips one; `aliases = true` writes allowlist entries for them.
//   - Cloud agents run no MCP hooks, and project hooks need a trusted workspace.
package cursor

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
)

type cursor struct{}

// New returns the target.
func New() target.Target { return cursor{} }

func (cursor) Name() string { return "cursor" }

func (cursor) Summary() string {
	return "Cursor: MCP allowlist, CLI permissions, MCP servers, hooks"
}

func (cursor) Options() []target.Option {
	return []target.Option{
		{Name: "aliases", Type: target.Bool, Default: false, Doc: "Also allow servers under the ids user-NAME and project-0-PROJECT-NAME, which the IDE gives them."},
		{Name: "hooks", Type: target.Bool, Default: true, Doc: "Emit hooks that run `modec hook cursor` before each tool call: the only artifact that can forbid inside the IDE."},
		{Name: "subject", Type: target.String, Doc: "The role or mode that .cursor/cli.json and .cursor/hooks.json hold everybody to. Default: the baseline. Without either, only the profiles under .cursor/modec are written."},
	}
}

func (cursor) Owns() []string {
	return []string{".cursor/modec/**", ".cursor/cli.json", ".cursor/hooks.json", ".cursor/mcp.json"}
}

// Governs: see the package comment.
func (cursor) Governs(path string, g ir.Group) target.Halves {
	switch {
	case strings.HasSuffix(path, "permissions.json"):
		if g == ir.MCP || g == ir.Command {
			return target.Approval
		}
	case strings.HasSuffix(path, "cli.json"):
		if g != ir.Modes {
			return target.Both
		}
	case strings.HasSuffix(path, "hooks.json"):
		if g == ir.MCP || g == ir.Command {
			return target.Both
		}
		if g != ir.Web {
			return target.Access
		}
	}
	return target.Neither
}

func (cursor) Codes() []diag.Doc {
	return []diag.Doc{
		{Code: "cursor-not-held", Text: "Neither the option subject nor a baseline says whom this repository's Cursor is held to, so that no project-wide cli.json and hooks.json are written: nothing holds Cursor here. Set subject, or baseline in modec.toml."},
		{Code: "cursor-unknown-subject", Text: "The option subject names no role or mode of the source."},
		{Code: "cursor-name", Text: "Cursor's engine reads allowlist entries and tokens as globs. A server whose name holds a glob character is left out of the lists, so that its tools are asked about; the hooks still decide for it. Rename the server."},
		{Code: "cursor-ask", Text: "Cursor's hooks for reading, editing, the web and subagents can allow or deny, not ask: what the source asks about is refused there, with a message. Allow it or deny it, or work in the CLI, whose own prompt asks."},
		{Code: "cursor-deny", Text: "Without hooks, this deny cannot be written as a token that is sure to match, so that the whole group is denied. Turn hooks on, write the pattern as a prefix or a glob, or ask instead of denying."},
	}
}

type emitter struct {
	in    target.Input
	hooks bool
	diags diag.List
}

// profile is what is compiled for one subject.
type profile struct {
	ref     ir.SubjectRef
	label   string // "role:developer"
	subject *policy.Subject
	pos     diag.Pos
}

// Emit compiles a profile for each role, and the project-wide files for the
// chosen subject.
func (cursor) Emit(in target.Input) ([]target.File, diag.List) {
	e := &emitter{in: in, hooks: in.Options.Bool("hooks")}
	var files []target.File
	for i := range in.Project.Roles {
		r := &in.Project.Roles[i]
		p, err := e.profile(ir.SubjectRef{Role: r.Name})
		if err != nil {
			e.diags.Errorf(r.Pos, "bad-pattern", "", "%v", err)
			continue
		}
		dir := ".cursor/modec/" + target.PathName(r.Name) + "/"
		files = append(files, target.File{Path: dir + "permissions.json", Data: e.permissions(p)}, target.File{Path: dir + "cli.json", Data: e.cli(p)})
		if e.hooks {
			files = append(files, target.File{Path: dir + "hooks.json", Data: hooksJSON(p)})
			e.unaskable(p)
		}
	}
	if main := e.mainProfile(); main != nil {
		files = append(files, target.File{Path: ".cursor/cli.json", Data: e.cli(main)})
		if e.hooks {
			files = append(files, target.File{Path: ".cursor/hooks.json", Data: hooksJSON(main)})
			if main.ref.Role == "" {
				e.unaskable(main)
			}
		}
	}
	if data := e.servers(); data != nil {
		files = append(files, target.File{Path: ".cursor/mcp.json", Data: data})
	}
	return files, e.diags
}

func (e *emitter) profile(ref ir.SubjectRef) (*profile, error) {
	s, err := e.in.Policy.Subject(ref)
	if err != nil {
		return nil, err
	}
	if ref.Role != "" {
		return &profile{ref, "role:" + ref.Role, s, e.in.Project.Role(ref.Role).Pos}, nil
	}
	return &profile{ref, "mode:" + ref.Mode, s, e.in.Project.Mode(ref.Mode).Pos}, nil
}

// mainProfile is the subject of the project-wide files, nil when none is
// chosen.
func (e *emitter) mainProfile() *profile {
	name := e.in.Options.String("subject")
	ref := ir.SubjectRef{Role: e.in.Project.Baseline}
	if name != "" {
		var err error
		if ref, err = e.in.Project.ParseSubject(name, ""); err != nil {
			e.diags.Errorf(e.in.Options.Pos("subject"), "cursor-unknown-subject", "targets.cursor.subject", "%v", err)
			return nil
		}
	} else if ref.Role == "" {
		e.diags = append(e.diags, diag.Diagnostic{Severity: diag.Warning, Code: "cursor-not-held", Target: "cursor", Pos: diag.Pos{File: "modec.toml"}, Message: "got neither subject nor baseline: nothing holds Cursor in this repository",
			Hint: "set subject in [targets.cursor], or baseline"})
		return nil
	}
	p, err := e.profile(ref)
	if err != nil {
		e.diags.Errorf(diag.Pos{}, "bad-pattern", "", "%v", err)
		return nil
	}
	return p
}

func (e *emitter) loss(p *profile, at diag.Pos, g ir.Group, code, message, hint string) {
	if at.IsZero() || at.File == "modec:guards" {
		at = p.pos
	}
	e.diags = append(e.diags, diag.Diagnostic{Severity: diag.Warning, Code: code, Pos: at, Message: message, Hint: hint, Target: "cursor", Subject: p.ref.String(), Group: string(g), Loss: diag.Narrowing})
}

// unaskable lists, once a group, what a hook refuses because it cannot ask.
func (e *emitter) unaskable(p *profile) {
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Web, ir.Modes} {
		at, asks := p.subject.Default(g).Pos, p.subject.Default(g).Decision == ir.Ask
		if slices.ContainsFunc(p.subject.Rules(g), func(r ir.Rule) bool { return r.Decision == ir.Deny && r.Pattern.Kind == ir.All }) {
			continue // nothing is left to ask about
		}
		for _, r := range p.subject.Rules(g) {
			if r.Decision == ir.Ask && !asks {
				at, asks = r.Pos, true
			}
		}
		if asks {
			e.loss(p, at, g, "cursor-ask", fmt.Sprintf("hooks for %s cannot ask: what the source asks about is refused in the IDE", g), "allow it or deny it")
		}
	}
}

// literal reports whether a name means itself where the engine reads globs.
func literal(s string) bool {
	return !strings.ContainsAny(s, `*?[]{}()!+@\|:`) && s == strings.TrimSpace(s)
}

// tools calls f for each inventory tool whose decision no tool that differs in
// case only contradicts.
func (e *emitter) tools(p *profile, f func(sv *ir.Server, tool string, d ir.Decision)) {
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		if !literal(sv.Name) {
			continue
		}
		for _, t := range sv.Tools {
			d := ir.Allow
			for _, other := range sv.Tools {
				if strings.EqualFold(t.Name, other.Name) {
					d = min(d, e.decide(p, sv.Name, other.Name))
				}
			}
			f(sv, t.Name, d)
		}
	}
}

func (e *emitter) decide(p *profile, server, tool string) ir.Decision {
	return p.subject.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool}).Decision
}

// entries lists the MCP tools of one decision as server:tool, a server whole
// where every tool, listed or not, has it.
func (e *emitter) entries(p *profile, want ir.Decision) []string {
	whole := map[string]bool{}
	var out []string
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		if !literal(sv.Name) {
			continue
		}
		same := e.decide(p, sv.Name, target.UnknownTool) == want
		for _, t := range sv.Tools {
			same = same && e.decide(p, sv.Name, t.Name) == want
		}
		if same {
			whole[sv.Name] = true
			out = append(out, sv.Name+":*")
		}
	}
	e.tools(p, func(sv *ir.Server, tool string, d ir.Decision) {
		if d == want && !whole[sv.Name] && !slices.ContainsFunc(out, func(o string) bool { return strings.EqualFold(o, sv.Name+":"+tool) }) {
			out = append(out, sv.Name+":"+tool)
		}
	})
	slices.Sort(out)
	return out
}

const provenance = "// Written by modec from the project's source; edits are overwritten.\n"

// permissions writes the IDE's allowlist.
func (e *emitter) permissions(p *profile) []byte {
	list := e.entries(p, ir.Allow)
	if e.in.Options.Bool("aliases") {
		for _, entry := range slices.Clone(list) {
			list = append(list, "user-"+entry, "project-0-"+e.in.Project.Name+"-"+entry)
		}
		slices.Sort(list)
	}
	for i := range e.in.Project.Servers {
		if sv := &e.in.Project.Servers[i]; !literal(sv.Name) {
			e.loss(p, sv.Pos, ir.MCP, "cursor-name", fmt.Sprintf("the server name %q holds a character that Cursor reads as a glob: it is left out of the lists", sv.Name), "rename the server")
		}
	}
	return append([]byte(provenance), target.JSON(target.Object{"approvalMode", "allowlist", "mcpAllowlist", orEmpty(list), "terminalAllowlist", []string{}})...)
}

func orEmpty(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

// events are the hooks that can refuse, with what they are asked about.
var events = []string{"beforeMCPExecution", "beforeReadFile", "beforeShellExecution", "beforeTabFileRead", "preToolUse", "subagentStart"}

// hooksJSON runs modec on every event that can refuse. A hook that fails,
// prints nothing or is missing blocks the call.
func hooksJSON(p *profile) []byte {
	command := "modec hook cursor --model .modec/policy.json --subject " + target.ShellQuote(p.label) + " || exit 2"
	hooks := target.Object{}
	for _, ev := range events {
		hooks = append(hooks, ev, []any{target.Object{"command", command, "type", "command", "timeout", 10, "failClosed", true}})
	}
	return target.JSON(target.Object{"version", 1, "hooks", hooks})
}

// servers writes the shared server list: what somebody may use and is on by
// default.
func (e *emitter) servers() []byte {
	all := target.Object{}
	for i := range e.in.Project.Servers {
		s := &e.in.Project.Servers[i]
		if !s.DefaultEnabled || e.in.Reach.Server(s.Name).Any() == ir.Deny {
			continue
		}
		o := target.Object{}
		if s.Type == "stdio" {
			o = append(o, "type", "stdio", "command", target.EnvRefs(s.Command))
			if len(s.Args) > 0 {
				o = append(o, "args", target.EnvRefsList(s.Args))
			}
			if len(s.Env) > 0 {
				o = append(o, "env", target.EnvRefsAll(s.Env))
			}
		} else {
			o = append(o, "url", target.EnvRefs(s.URL))
			if len(s.Headers) > 0 {
				o = append(o, "headers", target.EnvRefsAll(s.Headers))
			}
		}
		all = append(all, s.Name, o)
	}
	if len(all) == 0 {
		return nil
	}
	return target.JSON(target.Object{"mcpServers", all})
}

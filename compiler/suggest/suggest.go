// Package suggest finds where a project permits more than it seems to need, as far as the
// source itself shows that. [Project] returns the suggestions with a patch of the source for
// each. It proves that the patches permit nothing new.
package suggest

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
)

// Suggestion is one place at which the source could permit less.
type Suggestion struct {
	Code    diag.Code `json:"code"`
	Subject string    `json:"subject"`
	Pos     diag.Pos  `json:"pos"`
	Message string    `json:"message"` // lower case, no period
	// File is the file of the source that the patch writes. Several suggestions
	// about one subject may share it.
	File string `json:"file"`
}

// The codes of the suggestions. Lint documents command-defeats-edit.
const (
	codeBlanketApproval    diag.Code = "blanket-approval"
	codeCommandDefeatsEdit diag.Code = "command-defeats-edit"
	codeDangerousTool      diag.Code = "dangerous-tool"
	codeUnmentionedServer  diag.Code = "unmentioned-server"
	codeWidens             diag.Code = "suggestion-widens"
)

//go:embed codes.md
var codesText string

// Codes documents the suggestions.
func Codes() []diag.Doc { return diag.Docs(codesText) }

// Result contains the suggestions, and the files that apply all of them.
type Result struct {
	Suggestions []Suggestion
	Files       []contract.File
}

// Project looks at a compiled project whose files are those of fsys. It proves that the
// project compiles with the patches and that they raise no decision of any subject.
func Project(ctx context.Context, fsys fs.FS, req compiler.Request, res *compiler.Result) (*Result, diag.List) {
	f := finder{res: res, fsys: fsys, files: map[string][]byte{}}
	for i := range res.Project.Modes {
		f.mode(&res.Project.Modes[i])
	}
	for i := range res.Project.Roles {
		r := &res.Project.Roles[i]
		f.approvals(owner{"role", "roles", r.Name}, r.Can.MCP)
	}
	slices.SortStableFunc(f.out, compare)
	f.out = slices.CompactFunc(f.out, func(a, b Suggestion) bool { return compare(a, b) == 0 })
	result := &Result{Suggestions: f.out}
	for name, data := range f.files {
		result.Files = append(result.Files, contract.File{Path: name, Data: data})
	}
	slices.SortFunc(result.Files, func(a, b contract.File) int { return cmp.Compare(a.Path, b.Path) })
	return result, f.prove(ctx, req, result.Files)
}

func compare(a, b Suggestion) int {
	return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
}

type finder struct {
	res   *compiler.Result
	fsys  fs.FS
	out   []Suggestion
	files map[string][]byte
}

// owner is a subject or a policy in the source.
type owner struct {
	kind    string // "mode"
	section string // "modes"
	name    string
}

func (o owner) String() string { return o.kind + " " + o.name }

func (f *finder) add(s Suggestion, format string, args ...any) {
	s.Message = fmt.Sprintf(format, args...)
	f.out = append(f.out, s)
}

// mode looks at one mode. What it should not see of servers goes into a file of its own:
// mcpRestrictions only ever restrict, whatever can.mcp says.
func (f *finder) mode(m *ir.Mode) {
	s, err := f.res.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
	if err != nil {
		return // reported where it was compiled
	}
	o := owner{"mode", "modes", m.Slug}
	f.approvals(o, m.Can.MCP)
	f.commands(o, m)
	if m.Can.MCP == nil || m.Restrictions != nil {
		return
	}
	file := path.Join(f.res.Config.Source, "modes", m.Slug+".suggested.cue")
	found := Suggestion{Subject: o.String(), Pos: m.Pos, File: file}
	words := mentioned(m)
	var servers []string
	var tools []ir.ToolRef
	readOnly := !permits(s, ir.Edit) && !permits(s, ir.Command)
	for i := range f.res.Project.Servers {
		sv := &f.res.Project.Servers[i]
		usable, risky := uses(s, sv)
		switch {
		case !usable:
		case !mentions(words, sv):
			servers = append(servers, sv.Name)
			found.Code = codeUnmentionedServer
			f.add(found, "it may use the server %q, which its prompts and rules never mention", sv.Name)
		case readOnly:
			for _, t := range risky {
				tools = append(tools, ir.ToolRef{Server: sv.Name, Tool: t.Name})
				found.Code = codeDangerousTool
				f.add(found, "it neither edits nor runs commands, but may call %s:%s, which changes something",
					sv.Name, t.Name)
			}
		}
	}
	if len(servers)+len(tools) > 0 {
		f.files[file] = restrictions(m.Slug, servers, tools)
	}
}

// commands looks for a mode that may edit some files only, and run any command.
func (f *finder) commands(o owner, m *ir.Mode) {
	t := m.Can.Command
	if t == nil || t.Default == nil || t.Default.Decision < ir.Allow || !limitsEdits(m.Can.Edit) {
		return
	}
	at := t.Default.Pos
	if file, ok := f.replace(at, `"allow"`, `"ask"`); ok {
		f.add(Suggestion{Code: codeCommandDefeatsEdit, Subject: o.String(), Pos: at, File: file},
			"it may edit some files only, but run any command without a question, and a command can write every file")
	}
}

// uses reports whether a subject may use a server, and which of its dangerous tools.
func uses(s *policy.Subject, sv *ir.Server) (usable bool, risky []ir.Tool) {
	may := func(tool string) bool {
		return s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool}).Decision > ir.Deny
	}
	usable = may(contract.UnknownTool)
	for _, t := range sv.Tools {
		if may(t.Name) {
			usable = true
			if dangerous(t) {
				risky = append(risky, t)
			}
		}
	}
	return usable, risky
}

// limitsEdits reports whether a table permits edits of some files only.
func limitsEdits(t *ir.Table) bool {
	return t != nil && (t.Default == nil || t.Default.Decision == ir.Deny) && slices.ContainsFunc(t.Rules, permit)
}

// permits reports whether a subject may do anything in a group.
func permits(s *policy.Subject, g ir.Group) bool {
	return s.Default(g).Decision > ir.Deny || slices.ContainsFunc(s.Rules(g), permit)
}

func permit(r ir.Rule) bool { return r.Decision > ir.Deny }

// approvals looks for servers whose tools are all allowed.
func (f *finder) approvals(o owner, t *ir.MCPTable) {
	if t == nil {
		return
	}
	for _, e := range t.Entries {
		sv := f.res.Project.Server(e.Key)
		if sv == nil || onlyReads(sv) {
			continue
		}
		found := Suggestion{Code: codeBlanketApproval, Subject: o.String()}
		if d := e.Default; d != nil && d.Decision == ir.Allow && len(e.Rules) == 0 {
			if file, ok := f.replace(d.Pos, `"allow"`, `"ask"`); ok {
				found.Pos, found.File = d.Pos, file
				f.add(found, "every tool of the server %q is allowed without a question", e.Key)
			}
			continue
		}
		i := slices.IndexFunc(e.Rules, func(r ir.Rule) bool { return r.Decision == ir.Allow && r.Pattern.Everything() })
		if i < 0 || slices.ContainsFunc(e.Rules, func(r ir.Rule) bool { return r.Decision == ir.Ask }) {
			continue
		}
		in := o
		if name, ok := strings.CutPrefix(e.From, "policy "); ok {
			in = owner{"policy", "policies", name}
		} else if e.From != "" {
			continue // found at the subject that it comes from
		}
		found.Pos = e.Rules[i].Pos
		found.File = path.Join(f.res.Config.Source, in.section, contract.PathName(in.name)+".approvals.suggested.cue")
		f.files[found.File] = askAbout(f.files[found.File], in, e.Key, asked(o, &e))
		f.add(found, "every tool of the server %q is allowed without a question", e.Key)
	}
}

// onlyReads reports whether a server has tools that are listed, all of them for reading.
func onlyReads(sv *ir.Server) bool {
	return len(sv.Tools) > 0 && !slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return t.Risk != "read" })
}

// asked returns the entry that asks about every tool. An ask about "*" covers resources and
// prompts too, so that they are denied where they were.
func asked(o owner, e *ir.MCPEntry) string {
	denied := e.Default == nil && o.section == "modes" || e.Default != nil && e.Default.Decision == ir.Deny
	if denied && e.Resources == nil && e.Prompts == nil {
		return `{ask: ["*"], resources: "deny", prompts: "deny"}`
	}
	return `ask: ["*"]`
}

// replace changes a literal of a CUE file at its place; ok is false where something else is
// there.
func (f *finder) replace(at diag.Pos, from, to string) (file string, ok bool) {
	if path.Ext(at.File) != ".cue" {
		return "", false
	}
	data := f.files[at.File]
	if data == nil {
		var err error
		if data, err = fs.ReadFile(f.fsys, at.File); err != nil {
			return "", false
		}
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	if at.Line < 1 || at.Line > len(lines) {
		return "", false
	}
	line := lines[at.Line-1]
	if at.Col < 1 || at.Col > len(line) || !bytes.HasPrefix(line[at.Col-1:], []byte(from)) {
		return "", false
	}
	lines[at.Line-1] = slices.Concat(line[:at.Col-1], []byte(to), line[at.Col-1+len(from):])
	f.files[at.File] = bytes.Join(lines, nil)
	return at.File, true
}

// dangers are words in the names of tools that change something.
var dangers = []string{
	"delete", "drop", "remove", "destroy", "purge", "kill", "create", "update", "write", "push", "send", "merge",
	"exec", "execute", "deploy", "transfer", "publish",
}

var dangerName = lazy.Regexp(`(?i)(?:^|[_.-])(?:` + strings.Join(dangers, "|") + `)(?:$|[_.-]|[A-Z])`)

// dangerous reports whether a tool changes something, by its risk or else by its name.
func dangerous(t ir.Tool) bool {
	return t.Risk == "write" || t.Risk == "destructive" || t.Risk == "" && dangerName().MatchString(t.Name)
}

// mentioned returns the words of all texts of a mode.
func mentioned(m *ir.Mode) map[string]bool {
	texts := []string{m.Slug, m.Name, m.Description, m.WhenToUse, m.RoleDefinition, m.CustomInstructions}
	for _, r := range m.Rules {
		texts = append(texts, r.Text)
	}
	words := map[string]bool{}
	for _, t := range texts {
		for _, w := range wordPattern().FindAllString(strings.ToLower(t), -1) {
			words[strings.TrimRight(w, "-_.")] = true
			for _, part := range strings.FieldsFunc(w, joins) {
				words[part] = true
			}
		}
	}
	return words
}

var wordPattern = lazy.Regexp(`[\pL\pN][\pL\pN_.-]*`)

// joins reports whether a character joins the parts of a word.
func joins(r rune) bool { return r == '-' || r == '_' || r == '.' }

// mentions reports whether words name a server, a part of its name, or one of its tools.
func mentions(words map[string]bool, sv *ir.Server) bool {
	name := strings.ToLower(sv.Name)
	if words[name] {
		return true
	}
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return joins(r) || r == ' ' }) {
		if len(part) < 4 || part == "server" {
			continue
		}
		if words[part] || words[part+"s"] || words[strings.TrimSuffix(part, "s")] {
			return true
		}
	}
	return slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return words[strings.ToLower(t.Name)] })
}

// restrictions writes a file that disallows servers and tools in a mode.
func restrictions(slug string, servers []string, tools []ir.ToolRef) []byte {
	var b strings.Builder
	b.WriteString("package modec\n\n// What the mode does not seem to need.\n")
	fmt.Fprintf(&b, "modes: %s: mcpRestrictions: {\n", label(slug))
	if len(servers) > 0 {
		b.WriteString("\tdisallowedServers: [\n")
		for _, s := range servers {
			fmt.Fprintf(&b, "\t\t%s,\n", literal.String.Quote(s))
		}
		b.WriteString("\t]\n")
	}
	if len(tools) > 0 {
		b.WriteString("\tdisallowedTools: [\n")
		for _, t := range tools {
			fmt.Fprintf(&b, "\t\t{serverName: %s, toolName: %s},\n",
				literal.String.Quote(t.Server), literal.String.Quote(t.Tool))
		}
		b.WriteString("\t]\n")
	}
	b.WriteString("}\n")
	return formatted(b.String())
}

// askAbout adds an entry for a server to a file; nil: a new one.
func askAbout(old []byte, in owner, server, entry string) []byte {
	line := fmt.Sprintf("%s: %s: can: mcp: %s: %s\n", in.section, label(in.name), label(server), entry)
	if old == nil {
		old = []byte("package modec\n\n// Ask before any tool of a server runs whose tools nobody has looked at.\n")
	}
	if bytes.Contains(old, []byte(line)) {
		return old
	}
	return formatted(string(old) + line)
}

func label(s string) string {
	if ast.StringLabelNeedsQuoting(s) {
		return literal.String.Quote(s)
	}
	return s
}

func formatted(s string) []byte {
	out, err := format.Source([]byte(s))
	if err != nil {
		return []byte(s)
	}
	return out
}

// prove compiles the project with the patches and compares every subject before and after.
// It reports a patch that does not compile or raises a decision.
func (f *finder) prove(ctx context.Context, req compiler.Request, files []contract.File) diag.List {
	if len(files) == 0 {
		return nil
	}
	var out diag.List
	tree, err := source.Overlay(f.fsys, f.res.Config.Source, contract.InMemory(files))
	if err != nil {
		out.Errorf(diag.UnreadableFile, diag.Pos{}, "%v", err)
		return out
	}
	req.FS = tree
	after, diags := compiler.Open(ctx, req)
	if diags.HasErrors() {
		return diags
	}
	changes, err := diff.Projects(f.res.Policy, after.Policy, 1)
	if err != nil {
		out.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return out
	}
	for _, c := range changes.Changes {
		if c.Kind == diff.Widened {
			out.Errorf(codeWidens, c.After.Pos, "a suggestion would change %s %q of %s from %s to %s",
				c.Group, c.Examples[0], c.Subject, c.Before.Decision, c.After.Decision)
		}
	}
	return out
}

// Package suggest tells where a project permits more than it seems to need, as far
// as the source itself shows it, with a patch of the source for each. A patch only
// ever holds back: that is proved before it is offered.
package suggest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
)

// Suggestion is one place at which the source could say less.
type Suggestion struct {
	Code    diag.Code `json:"code"`
	Subject string    `json:"subject"`
	Pos     diag.Pos  `json:"pos"`
	Message string    `json:"message"` // lower case, no period
	// File is the file of the source that the patch writes. Several suggestions
	// about one subject may share it.
	File string `json:"file"`
}

// The codes of the suggestions. lint documents command-defeats-edit.
const (
	codeBlanketApproval    diag.Code = "blanket-approval"
	codeCommandDefeatsEdit diag.Code = "command-defeats-edit"
	codeDangerousTool      diag.Code = "dangerous-tool"
	codeUnmentionedServer  diag.Code = "unmentioned-server"
	codeWidens             diag.Code = "suggestion-widens"
)

// Codes documents the suggestions.
func Codes() []diag.Doc {
	return []diag.Doc{
		{Code: codeBlanketApproval, Text: "Every tool of a server is allowed without a question, those that nobody has listed or looked at included (Roo's alwaysAllow: [\"*\"]). The patch asks about them; list the tools that only read under allow, and give tools a risk, so that @read can stand for them."},
		{Code: codeDangerousTool, Text: "A mode that neither edits nor runs commands may call a tool that writes or destroys, by its risk or, where none is said, by its name. The patch denies it to the mode by mcpRestrictions."},
		{Code: codeWidens, Text: "A suggestion would permit more than the source does without it. It is not offered; that is a defect of modec, please report it."},
		{Code: codeUnmentionedServer, Text: "A mode may use a server that neither its prompts nor its rules nor its description ever mention, by the server's name or by one of its tools'. The patch takes the server out of the mode by mcpRestrictions. Stock Roo has all of MCP in a mode or none: a build tells what that costs."},
	}
}

// Result is what was found, and the files that apply all of it.
type Result struct {
	Suggestions []Suggestion
	Files       []contract.File
}

// Project looks at a compiled project whose files are those of fsys. The patches
// compile with it, and raise no decision of any subject.
func Project(ctx context.Context, fsys fs.FS, req compiler.Request, res *compiler.Result) (*Result, diag.List) {
	f := finder{res: res, fsys: fsys, files: map[string][]byte{}}
	for i := range res.Project.Modes {
		f.mode(&res.Project.Modes[i])
	}
	for i := range res.Project.Roles {
		r := &res.Project.Roles[i]
		f.approvals("role "+r.Name, "roles", r.Name, r.Can.MCP)
	}
	slices.SortStableFunc(f.out, func(a, b Suggestion) int {
		return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	f.out = slices.CompactFunc(f.out, func(a, b Suggestion) bool { return a.Pos == b.Pos && a.Code == b.Code && a.Message == b.Message })
	result := &Result{Suggestions: f.out}
	for name, data := range f.files {
		result.Files = append(result.Files, contract.File{Path: name, Data: data})
	}
	slices.SortFunc(result.Files, func(a, b contract.File) int { return cmp.Compare(a.Path, b.Path) })
	return result, f.prove(ctx, req, result.Files)
}

type finder struct {
	res   *compiler.Result
	fsys  fs.FS
	out   []Suggestion
	files map[string][]byte
}

func (f *finder) add(code diag.Code, subject string, at diag.Pos, file, format string, args ...any) {
	f.out = append(f.out, Suggestion{code, subject, at, fmt.Sprintf(format, args...), file})
}

// mode looks at one mode. What it should not see of servers goes into a file of its
// own: mcpRestrictions only hold back, whatever can.mcp says.
func (f *finder) mode(m *ir.Mode) {
	subject := "mode " + m.Slug
	s, err := f.res.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
	if err != nil {
		return // reported where it was compiled
	}
	f.approvals(subject, "modes", m.Slug, m.Can.MCP)
	if t := m.Can.Command; t != nil && t.Default != nil && t.Default.Decision == ir.Allow && narrowEdit(m.Can.Edit) {
		if file, ok := f.replace(t.Default.Pos, `"allow"`, `"ask"`); ok {
			f.add(codeCommandDefeatsEdit, subject, t.Default.Pos, file, "it may edit some files only, and run any command unasked: a command can write every file")
		}
	}
	if m.Can.MCP == nil || m.Restrictions != nil {
		return
	}
	words := mentioned(m)
	file := path.Join(f.res.Config.Source, "modes", m.Slug+".suggested.cue")
	var servers []string
	var tools []ir.ToolRef
	readOnly := !permits(s, ir.Edit) && !permits(s, ir.Command)
	for i := range f.res.Project.Servers {
		sv := &f.res.Project.Servers[i]
		usable := s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool}).Decision > ir.Deny
		var risky []ir.Tool
		for _, t := range sv.Tools {
			if s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}).Decision > ir.Deny {
				usable = true
				if dangerous(t) {
					risky = append(risky, t)
				}
			}
		}
		switch {
		case !usable:
		case !speaksOf(words, sv):
			servers = append(servers, sv.Name)
			f.add(codeUnmentionedServer, subject, m.Pos, file, "it may use the server %q, which its prompts and rules never mention", sv.Name)
		case readOnly:
			for _, t := range risky {
				tools = append(tools, ir.ToolRef{Server: sv.Name, Tool: t.Name})
				f.add(codeDangerousTool, subject, m.Pos, file, "it neither edits nor runs commands, and may call %s:%s, which changes something", sv.Name, t.Name)
			}
		}
	}
	if len(servers)+len(tools) > 0 {
		f.files[file] = restrictions(m.Slug, servers, tools)
	}
}

func narrowEdit(t *ir.Table) bool {
	return t != nil && (t.Default == nil || t.Default.Decision == ir.Deny) && slices.ContainsFunc(t.Rules, func(r ir.Rule) bool { return r.Decision > ir.Deny })
}

// permits reports whether a subject may do anything in a group.
func permits(s *policy.Subject, g ir.Group) bool {
	return s.Default(g).Decision > ir.Deny || slices.ContainsFunc(s.Rules(g), func(r ir.Rule) bool { return r.Decision > ir.Deny })
}

// approvals looks for servers of which everything is allowed.
func (f *finder) approvals(subject, section, name string, t *ir.MCPTable) {
	if t == nil {
		return
	}
	for _, e := range t.Entries {
		sv := f.res.Project.Server(e.Key)
		if sv == nil || len(sv.Tools) > 0 && !slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return t.Risk != "read" }) {
			continue
		}
		if d := e.Default; d != nil && d.Decision == ir.Allow && len(e.Rules) == 0 {
			if file, ok := f.replace(d.Pos, `"allow"`, `"ask"`); ok {
				f.add(codeBlanketApproval, subject, d.Pos, file, "every tool of the server %q is allowed unasked", e.Key)
			}
			continue
		}
		i := slices.IndexFunc(e.Rules, func(r ir.Rule) bool { return r.Decision == ir.Allow && r.Pattern.Text == "*" })
		if i < 0 || slices.ContainsFunc(e.Rules, func(r ir.Rule) bool { return r.Decision == ir.Ask }) {
			continue
		}
		owner, in := name, section
		if p, ok := strings.CutPrefix(e.From, "policy "); ok {
			owner, in = p, "policies"
		} else if e.From != "" {
			continue // said where it is inherited from
		}
		file := path.Join(f.res.Config.Source, in, contract.PathName(owner)+".approvals.suggested.cue")
		held := e.Default == nil && section == "modes" || e.Default != nil && e.Default.Decision == ir.Deny
		f.files[file] = approvalsFile(f.files[file], in, owner, e.Key, held && e.Resources == nil && e.Prompts == nil)
		f.add(codeBlanketApproval, subject, e.Rules[i].Pos, file, "every tool of the server %q is allowed unasked", e.Key)
	}
}

// replace changes a literal of a CUE file at its place; ok is false where something
// else stands there.
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

// dangerName is what tools are called that change something, where nobody says what
// they risk.
var dangerName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[_.-])(?:delete|drop|remove|destroy|purge|create|update|write|push|send|merge|exec|execute|deploy|kill|transfer|publish)(?:$|[_.-]|[A-Z])`)
})

func dangerous(t ir.Tool) bool {
	return t.Risk == "write" || t.Risk == "destructive" || t.Risk == "" && dangerName().MatchString(t.Name)
}

// mentioned returns the words of everything that a mode is told.
func mentioned(m *ir.Mode) map[string]bool {
	texts := []string{m.Slug, m.Name, m.Description, m.WhenToUse, m.RoleDefinition, m.CustomInstructions}
	for _, r := range m.Rules {
		texts = append(texts, r.Text)
	}
	words := map[string]bool{}
	for _, t := range texts {
		for _, w := range wordPattern().FindAllString(strings.ToLower(t), -1) {
			words[strings.TrimRight(w, "-_.")] = true
			for _, part := range strings.FieldsFunc(w, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
				words[part] = true
			}
		}
	}
	return words
}

var wordPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\pN][\pL\pN_.-]*`) })

// speaksOf reports whether words name a server, a word of its name, or a tool.
func speaksOf(words map[string]bool, sv *ir.Server) bool {
	name := strings.ToLower(sv.Name)
	if words[name] {
		return true
	}
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' || r == ' ' }) {
		if len(part) >= 4 && part != "server" && (words[part] || words[part+"s"] || words[strings.TrimSuffix(part, "s")]) {
			return true
		}
	}
	return slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return words[strings.ToLower(t.Name)] })
}

func restrictions(slug string, servers []string, tools []ir.ToolRef) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "package modec\n\n// What the mode does not seem to need.\nmodes: %s: mcpRestrictions: {\n", label(slug))
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
			fmt.Fprintf(&b, "\t\t{serverName: %s, toolName: %s},\n", literal.String.Quote(t.Server), literal.String.Quote(t.Tool))
		}
		b.WriteString("\t]\n")
	}
	b.WriteString("}\n")
	return formatted(b.String())
}

// approvalsFile adds to a file that asks about every tool of servers. Resources and
// prompts, which an ask about everything holds for too, stay denied where they are.
func approvalsFile(old []byte, section, owner, server string, held bool) []byte {
	what := `ask: ["*"]`
	if held {
		what = `{ask: ["*"], resources: "deny", prompts: "deny"}`
	}
	line := fmt.Sprintf("%s: %s: can: mcp: %s: %s\n", section, label(owner), label(server), what)
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

// prove compiles the project with the patches and compares every subject before and
// after: a patch that raises a decision, or does not compile, is an error.
func (f *finder) prove(ctx context.Context, req compiler.Request, files []contract.File) diag.List {
	if len(files) == 0 {
		return nil
	}
	tree, err := source.Overlay(f.fsys, f.res.Config.Source, contract.InMemory(files))
	if err != nil {
		return diag.List{{Code: diag.UnreadableFile, Message: err.Error()}}
	}
	req.FS = tree
	after, diags := compiler.Open(ctx, req)
	if diags.HasErrors() {
		return diags
	}
	changes, err := diff.Projects(f.res.Policy, after.Policy, 1)
	if err != nil {
		return diag.List{{Code: diag.BadPattern, Message: err.Error()}}
	}
	var out diag.List
	for _, c := range changes.Changes {
		if c.Kind == diff.Widened {
			out.Errorf(codeWidens, c.After.Pos, "got %s for %s %q of %s by a suggestion, want no more than %s", c.After.Decision, c.Group, c.Examples[0], c.Subject, c.Before.Decision)
		}
	}
	return out
}

package serve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// specGroup is the name of a group in the modes-server specification.
func specGroup(g ir.Group) string {
	if g == ir.Web {
		return "browser"
	}
	return string(g)
}

// most is how many patterns or names a sentence lists.
const mostNamed = 8

// listed joins names for a sentence.
func listed(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// byRule are the patterns of a subject's own rules in a group, by what they decide.
func byRule(s *policy.Subject, g ir.Group) (out [ir.Agent + 1][]string) {
	for _, r := range s.Rules(g) {
		if r.Pattern.Kind == ir.All {
			continue
		}
		if !slices.Contains(out[r.Decision], r.Pattern.Text) {
			out[r.Decision] = append(out[r.Decision], r.Pattern.Text)
		}
	}
	return out
}

// limits says in words what restricts a subject in a group, "" where nothing does. A role in a mode has the
// limits of both.
func (m *Model) limits(s *policy.Subject, g ir.Group) string {
	if g == ir.MCP {
		return listed(m.mcpLimits(s))
	}
	var out []string
	for _, side := range s.Sides() {
		if text := limitsOf(side, g); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; of it ")
}

func limitsOf(s *policy.Subject, g ir.Group) string {
	rest, _ := s.Decisions(g)
	rules := byRule(s, g)
	var out []string
	switch {
	case rest == ir.Deny && len(rules[ir.Allow])+len(rules[ir.Ask]) == 0:
		return ""
	case rest == ir.Deny:
		if allow := rules[ir.Allow]; len(allow) > 0 {
			out = append(out, "only "+listed(allow))
		}
		if ask := rules[ir.Ask]; len(ask) > 0 {
			out = append(out, "after approval "+listed(ask))
		}
	case rest == ir.Ask:
		out = append(out, "after approval")
		if allow := rules[ir.Allow]; len(allow) > 0 {
			out = append(out, "without it "+listed(allow))
		}
	default:
		if rest == ir.Agent {
			out = append(out, "as the agent decides")
		}
		if ask := rules[ir.Ask]; len(ask) > 0 {
			out = append(out, "after approval "+listed(ask))
		}
	}
	if deny := rules[ir.Deny]; len(deny) > 0 {
		out = append(out, "not "+listed(deny))
	}
	return strings.Join(out, ", ")
}

// mcpLimits says of each server that a subject may use which tools it may.
func (m *Model) mcpLimits(s *policy.Subject) (out []string) {
	for _, name := range m.servers(s) {
		out = append(out, name+": "+serverLimits(serverRules(s, m.Project.Server(name))))
	}
	return out
}

// serverLimits says which tools of a server may be used.
func serverLimits(sv modeServer) string {
	of := map[string][]string{}
	for _, t := range sv.Tools {
		of[t.Decision] = append(of[t.Decision], t.Name)
	}
	if other := sv.OtherTools; other != ir.Deny.String() {
		rest := "others"
		if len(sv.Tools) == 0 {
			rest = "any tool"
		}
		of[other] = append(of[other], rest)
	}
	var out []string
	if allow := of[ir.Allow.String()]; len(allow) > 0 {
		out = append(out, listed(allow))
	}
	if ask := slices.Concat(of[ir.Ask.String()], of[ir.Agent.String()]); len(ask) > 0 {
		out = append(out, "after approval "+listed(ask))
	}
	return cmp.Or(strings.Join(out, ", "), "resources and prompts")
}

// brief writes a group with what restricts it.
func (t *toolGroup) brief(name string) string {
	if t.Limits != "" {
		return name + " (" + t.Limits + ")"
	}
	return name
}

// groupNames are the groups in their order, by the specification's names.
func groupNames() (out []string) {
	for _, g := range ir.Groups {
		out = append(out, specGroup(g))
	}
	return out
}

// enabled lists the groups in which anything may be done.
func (g toolGroups) enabled() (out []string) {
	for _, name := range groupNames() {
		if t := g[name]; t.Enabled {
			out = append(out, t.brief(name))
		}
	}
	return out
}

// lines writes a line for each group.
func (g toolGroups) lines(mode string) string {
	var b strings.Builder
	for _, name := range groupNames() {
		if t := g[name]; t.Enabled {
			b.WriteString("✓ " + t.brief(name) + "\n")
		} else {
			b.WriteString("✗ " + name + " (not available in mode " + mode + ")\n")
		}
	}
	return b.String()
}

func (o *listModesOutput) words() string {
	var b strings.Builder
	b.WriteString("Available modes:\n")
	for i, md := range o.Modes {
		fmt.Fprintf(&b, "\n%d. %s (%s) - %s\n", i+1, md.Slug, md.Name, md.Source)
		if text := cmp.Or(md.Description, md.WhenToUse); text != "" {
			b.WriteString("   Description: " + diag.Clean(text) + "\n")
		}
		b.WriteString("   Tool groups: " + cmp.Or(strings.Join(md.brief, ", "), "none") + "\n")
	}
	if len(o.Modes) == 0 {
		b.WriteString("\nnone of this source\n")
	}
	if o.Broken != "" {
		b.WriteString("\nThe source on the disk does not compile, and an older one is served: " + o.Broken + "\n")
	}
	return b.String()
}

func (i *modeInfo) words() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Mode: %s (%s)\nSource: %s\n", i.Name, i.Slug, i.Source)
	if i.Description != "" {
		b.WriteString("Description: " + i.Description + "\n")
	}
	if i.WhenToUse != "" {
		b.WriteString("\nWhen to use:\n" + i.WhenToUse + "\n")
	}
	b.WriteString("\nTool Groups:\n" + i.ToolGroups.lines(i.Slug))
	if len(i.Servers) == 0 {
		b.WriteString("\nMCP servers: none\n")
	} else {
		b.WriteString("\nMCP servers: " + strings.Join(i.Servers, ", ") + "\n")
	}
	if i.SystemPrompt != "" {
		b.WriteString("\nSystem prompt:\n" + i.SystemPrompt + "\n")
	}
	return b.String()
}

func (o *createTaskOutput) words() string {
	if o.Refused != nil {
		return "No task was created.\n\n" + o.Refused.words()
	}
	return fmt.Sprintf("Task created successfully\n\nSession ID: %s\nTask ID: %s\nMode: %s (%s)\nState: %s\n"+
		"Tool groups: %s\n\nUse this session_id for subsequent operations.",
		o.SessionID, o.TaskID, o.ModeSlug, o.name, o.State, cmp.Or(strings.Join(o.ToolGroups.enabled(), ", "), "none"))
}

func (o *createTaskOutput) metadata() map[string]any {
	if o.Refused != nil {
		return o.Refused.metadata()
	}
	return map[string]any{"session_id": o.SessionID, "task_id": o.TaskID, "mode_slug": o.ModeSlug}
}

func (o *switchModeOutput) words() string {
	if o.Refused != nil {
		return "The mode stays " + o.OldMode + ".\n\n" + o.Refused.words()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Mode switched successfully\n\nSession: %s\nOld mode: %s\nNew mode: %s\n",
		o.SessionID, o.OldMode, o.NewMode)
	if o.reason != "" {
		b.WriteString("Reason: " + o.reason + "\n")
	}
	b.WriteString("\nNew tool groups:\n" + o.ToolGroups.lines(o.NewMode))
	if len(o.Changes) > 0 {
		b.WriteString("\nChanged:\n")
	}
	for _, c := range o.Changes {
		fmt.Fprintf(&b, "- %s: %s; was %s\n", c.Group, c.New, c.Old)
	}
	return b.String()
}

func (o *switchModeOutput) metadata() map[string]any {
	if o.Refused != nil {
		return o.Refused.metadata()
	}
	return map[string]any{"old_mode": o.OldMode, "new_mode": o.NewMode}
}

func (o *taskInfoOutput) words() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Session ID: %s\nTask ID: %s\nMode: %s\nState: %s\nCreated: %s\nExpires: %s\nMessages: %d\n",
		o.SessionID, o.TaskID, o.ModeSlug, o.State, o.CreatedAt, o.ExpiresAt, o.MessageCount)
	if o.Result != "" {
		b.WriteString("Result: " + o.Result + "\n")
	}
	for _, x := range o.Messages {
		b.WriteString("\n" + x.Role + ": " + x.Text + "\n")
	}
	for _, up := range o.Ancestors {
		b.WriteString("\nAbove: " + up.words())
	}
	for _, down := range o.Children {
		b.WriteString("\nBelow: " + down.words())
	}
	return b.String()
}

func (o *taskInfoOutput) metadata() map[string]any {
	return map[string]any{"session_id": o.SessionID, "task_id": o.TaskID, "mode_slug": o.ModeSlug, "state": o.State}
}

func (t *taskBrief) words() string {
	return t.SessionID + " in mode " + t.ModeSlug + ", " + t.State + "\n"
}

func (o *completeTaskOutput) words() string {
	return fmt.Sprintf("Task %s\n\nSession: %s\nTask ID: %s\nMode: %s", o.Status, o.SessionID, o.TaskID, o.ModeSlug)
}

func (o *completeTaskOutput) metadata() map[string]any {
	return map[string]any{"session_id": o.SessionID, "task_id": o.TaskID, "status": o.Status}
}

func (o *serversOutput) words() string {
	if len(o.Servers) == 0 {
		return "Mode " + o.ModeSlug + " may use no MCP server."
	}
	var b strings.Builder
	b.WriteString("MCP servers of mode " + o.ModeSlug + ":\n")
	for _, sv := range o.Servers {
		b.WriteString("- " + sv.Name + ": " + serverLimits(sv) + "\n")
	}
	return b.String()
}

// words says why a policy refused.
func (r *refusal) words() string { return "✗ " + r.Reason }

func (r *refusal) metadata() map[string]any {
	return map[string]any{"allowed": false, "error": r.Reason, "code": r.Code}
}

func (o *explainOutput) words() string {
	text := o.Subject + ": " + o.Decision + ", by " + o.Rule
	if o.Place != "" {
		text += " (" + o.Place + ")"
	}
	return text
}

// promptServers is what a mode's system prompt says of the MCP servers that it may use, "" where there are none.
func (m *Model) promptServers(slug string) string {
	s, err := m.Policy.Subject(ir.SubjectRef{Mode: slug})
	if err != nil {
		return ""
	}
	limits := m.mcpLimits(s)
	if len(limits) == 0 {
		return ""
	}
	return "MCP servers and tools that you may use in this mode:\n- " + strings.Join(limits, "\n- ")
}

// samples are arguments of a group that tell the rules of subjects apart: for each of their patterns one that it
// takes, and some that most do not.
func (m *Model) samples(g ir.Group, subjects ...*policy.Subject) (out []policy.Action) {
	add := func(arg string) { out = append(out, policy.Action{Group: g, Arg: arg}) }
	if g == ir.MCP {
		for i := range m.Project.Servers {
			sv := &m.Project.Servers[i]
			out = append(out, policy.Action{Group: g, Server: sv.Name, Arg: contract.UnknownTool})
			for _, t := range sv.Tools {
				out = append(out, policy.Action{Group: g, Server: sv.Name, Arg: t.Name})
			}
		}
		return out
	}
	if g == ir.Modes {
		for _, slug := range m.Project.ModeNames() {
			add(slug)
		}
		return out
	}
	for _, arg := range map[ir.Group][]string{
		ir.Read: {"x", "src/x.go", "docs/x.md", "x.md"}, ir.Edit: {"x", "src/x.go", "docs/x.md", "x.md"},
		ir.Command: {"x", "ls", "git status", "rm -r x"}, ir.Web: {"example.com", "x.example.com"},
	}[g] {
		add(arg)
	}
	fill := strings.NewReplacer("**/", "", "**", "x", "*.", "x.", "*", "x", "?", "x", `\.`, ".", "^", "", "$", "")
	for _, s := range subjects {
		for _, list := range byRule(s, g) {
			for _, pattern := range list {
				add(fill.Replace(pattern))
			}
		}
	}
	return out
}

// change compares what two subjects may do in a group.
func (m *Model) change(g ir.Group, from, to *policy.Subject) (gains, loses bool) {
	for _, a := range m.samples(g, from, to) {
		was, is := from.Decide(a).Decision, to.Decide(a).Decision
		gains, loses = gains || is > was, loses || is < was
	}
	return gains, loses
}

package model

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// surface is a program of Cursor that decides in its own way.
type surface string

const (
	ide surface = "ide"
	cli surface = "cli"
)

// decider decides as one surface does.
type decider struct {
	surface surface
	*opened
}

func (d *decider) Surface() string { return string(d.surface) }

func (d *decider) Assumes() []string { return d.surface.assumes() }

func (on surface) assumes() []string {
	assumes := []string{
		"the agent runs locally, in a workspace that the user trusts: elsewhere Cursor runs no project hooks",
		"modec is on the PATH of Cursor",
		"no path of the project is a link",
	}
	if on == ide {
		return append(assumes,
			"the profile's permissions.json is the user's ~/.cursor/permissions.json, "+
				"and the run mode is its approvalMode (Allowlist)",
			"a list that the profile does not have allows nothing",
			"no organisation sets the run mode, and its list of MCP tools is that of the option mcpToolAllowlist",
			"no sandbox runs what the list does not contain")
	}
	return append(assumes,
		"the run mode is allowlist: neither --force nor approvalMode in cli-config.json says otherwise",
		"the user's own cli-config.json allows nothing",
		"the sandbox is off: with it, unlisted commands run inside it")
}

// Decide returns the most permissive verdict among the subject's setups and the tools of
// Cursor that perform the action.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	var v contract.Verdict
	for i, s := range d.setups[ref] {
		w := d.judge(s, a)
		w.Lack = s.lack
		if i == 0 {
			v = w
		} else {
			v = wider(v, w)
		}
	}
	return v
}

// wider joins two verdicts of setups with the same kinds of files.
func wider(a, b contract.Verdict) contract.Verdict {
	if b.Decision > a.Decision {
		a.Answer = b.Answer
	}
	if a.Bare == nil || b.Bare != nil && b.Bare.Decision > a.Bare.Decision {
		a.Bare = b.Bare
	}
	a.Lack = cmp.Or(a.Lack, b.Lack)
	a.Hole, a.BareHole = cmp.Or(a.Hole, b.Hole), cmp.Or(a.BareHole, b.BareHole)
	return a
}

// judge decides by one setup.
func (d *decider) judge(s setup, a policy.Action) contract.Verdict {
	tools := d.tools(d.surface, a)
	if d.placed && (a.Group == ir.Read || a.Group == ir.Edit) {
		a.Arg = d.disk.Written(a.Arg) // the files of Cursor name no path of the disk
	}
	if len(tools) == 0 { // a person invokes a server's prompts; no hook sees that
		return contract.Verdict{Answer: d.lists(s, a, a.Server)}
	}
	ids := d.ids(d.surface, a.Server)
	var v contract.Verdict
	var lists contract.Answer
	for i, calls := range tools {
		if i == 0 || a.Group == ir.MCP {
			lists = d.lists(s, a, ids[i%len(ids)])
		} else if !canAllow(a) && v.Decision >= lists.Decision {
			break // the hooks lower what the lists say, and say nothing else of the other tools
		}
		if w := d.tool(s, a, ids[i%len(ids)], lists, calls); i == 0 {
			v = w
		} else {
			v = wider(v, w)
		}
	}
	switch {
	case ofSomebody(a) && v.Decision > ir.Deny && v.Hole == nil:
		v.Hole = &contract.Hole{Decision: v.Decision,
			Why: "Cursor takes ~name for a file of the workspace, and no shell does"}
		v.Decision = ir.Deny
	case s.hooks.ours():
		v.Hole = cmp.Or(v.Hole, d.hole(s, a, v.Answer))
	case d.surface == cli && v.Decision > ir.Deny:
		if refusal, why := s.tokens.meant(a); why != "" {
			v.Hole = &contract.Hole{Decision: v.Hole.Past(v.Decision), Why: why}
			v.Decision, v.Rule, v.At = ir.Deny, refusal.Rule, refusal.At
		} else if a.Group == ir.Command && !splitShell(a.Arg).redirects {
			v.Governs &^= contract.Access // what lies outside the workspace no token denies: Cursor asks about it
		}
	}
	return v
}

// ofSomebody reports whether a path begins with the home folder of a named user: ~NAME.
func ofSomebody(a policy.Action) bool {
	file := a.Group == ir.Read || a.Group == ir.Edit
	return file && strings.HasPrefix(a.Arg, "~") && a.Arg != "~" && !strings.HasPrefix(a.Arg, "~/")
}

// canAllow reports whether a hook may allow an action that the lists ask about.
func canAllow(a policy.Action) bool {
	return a.Group == ir.Command || a.Group == ir.MCP && a.Kind == policy.Tool
}

// tool decides an action that one tool of Cursor performs, on a server of an id of which the lists
// say something.
func (d *decider) tool(s setup, a policy.Action, id string, lists contract.Answer, calls []call) contract.Verdict {
	var hole *contract.Hole
	ofTool := a.Group == ir.MCP && a.Kind == policy.Tool
	if ofTool && lists.Decision == ir.Allow && d.otherwiseWritten(s, id, a.Arg) {
		lists.Decision, hole = ir.Ask, &contract.Hole{Decision: ir.Allow, Why: looseTool}
	}
	bare := lists
	switch {
	case a.Group == ir.Command:
		bare, hole = strictly(lists, a.Arg, d.entries(s))
	case ofTool && bare.Decision > ir.Deny:
		hole = cmp.Or(hole, d.settings.hole(id, a.Arg))
	}
	switch {
	case s.hooks == nil:
		return contract.Verdict{Answer: bare, Hole: hole}
	case !s.hooks.ours():
		return contract.Verdict{Answer: d.hooked(s.hooks, a, bare, calls), Hole: hole}
	}
	v := contract.Verdict{Answer: d.hooked(s.hooks, a, lists, calls), Bare: &bare, BareHole: hole}
	switch {
	case hole == nil:
	case a.Group == ir.MCP && v.Decision > ir.Deny: // Cursor ignores a hook's ask
		v.Hole = hole
	case a.Group != ir.MCP && d.abstains(s.hooks, calls[len(calls)-1]):
		v.Decision, v.Hole = bare.Decision, hole
	}
	return v
}

// abstains reports whether modec's hook is asked and leaves a call to the lists.
func (o *opened) abstains(f *hooksFile, c call) bool {
	said, by := o.ask(f, c)
	return said == none && by != nil
}

// entries returns those that let commands run.
func (d *decider) entries(s setup) []token {
	switch {
	case d.surface == cli && s.tokens != nil:
		return s.tokens.shellAllow
	case d.surface == ide && s.permissions != nil && s.permissions.mode == format.UseAllowlist:
		return s.permissions.shell
	}
	return nil
}

// lists returns what the lists alone say.
func (d *decider) lists(s setup, a policy.Action, id string) contract.Answer {
	if d.surface == cli {
		return s.tokens.decide(a, id, d.settings)
	}
	switch {
	case a.Group == ir.MCP && a.Kind == policy.Tool:
		return s.permissions.tool(id, a.Arg, d.settings)
	case a.Group == ir.Command:
		return s.permissions.command(a.Arg)
	}
	return d.surface.byItself(a)
}

// hooked joins what the hooks say with the lists. A deny holds. The engine
// asks where beforeShellExecution asks, and takes an ask of any other event for
// no opinion. It takes every allow for none; the documentation says that the
// IDE does not ask where a hook for a command or an MCP tool allows.
func (d *decider) hooked(f *hooksFile, a policy.Action, lists contract.Answer, calls []call) contract.Answer {
	can, out := canAllow(a), lists
	switch {
	case !f.ours(): // nobody's programs hold what the source says
	case can:
		out.Governs = contract.Both
	default:
		out.Governs |= contract.Access
	}
	for _, c := range calls {
		said, by := d.ask(f, c)
		switch {
		case said == denied:
			out.Decision, out.Rule, out.At = ir.Deny, c.event+": "+by.text(), by.At
			return out
		case said == asked && c.event == "beforeShellExecution" && out.Decision == ir.Allow:
			out.Decision, out.Rule, out.At = ir.Ask, c.event+": "+by.text(), by.At
		case said == allowed && can && c.event != "preToolUse" && d.surface == ide && out.Decision == ir.Ask:
			out.Decision, out.Rule, out.At = ir.Allow, c.event+": "+by.text(), by.At
			out.Governs |= contract.Approval
		}
	}
	return out
}

// refuses reports whether hooks refuse an action themselves, by any tool: a program of somebody's that has no say
// opens nothing that the lists refuse.
func (o *opened) refuses(f *hooksFile, tools [][]call) bool {
	return slices.ContainsFunc(slices.Concat(tools...), func(c call) bool {
		said, _ := o.ask(f, c)
		return said == denied
	})
}

// hole returns a way past a refusal of the hooks that Cursor leaves open.
func (d *decider) hole(s setup, a policy.Action, answer contract.Answer) *contract.Hole {
	if answer.Decision == ir.Allow {
		return nil
	}
	passes := func(c call) bool {
		said, _ := d.ask(s.hooks, c)
		return said != denied
	}
	switch a.Group {
	case ir.Read:
		folder := "."
		if !inside(root, absolute(a.Arg)) {
			folder = path.Dir(absolute(a.Arg))
		}
		search := d.preTool("Grep", texts("file_path", folder, "pattern", "x"))
		if answer.Decision == ir.Deny && d.refuses(s.hooks, d.tools(d.surface, a)) && passes(search) {
			return &contract.Hole{Decision: ir.Allow,
				Why: "Grep over a folder also shows the files below it that may not be read"}
		}
	case ir.Command:
		held := slices.ContainsFunc(d.tools(d.surface, a)[0], func(c call) bool {
			said, _ := d.ask(s.hooks, c)
			return said == denied || said == asked
		})
		if held && passes(d.preTool("WriteShellStdin", typed(a.Arg))) {
			return &contract.Hole{Decision: ir.Allow,
				Why: "WriteShellStdin types into a shell that runs already, and its payload does not say what"}
		}
	}
	return nil
}

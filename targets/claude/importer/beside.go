package importer

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

const onlyClaude = "only Claude Code can say it"

// concerns are the groups of the tools that do what other agents do, beside those of SharedGroup.
var concerns = map[string]ir.Group{
	"WebFetch": ir.Web, "WebSearch": ir.Web, "Agent": ir.Modes, "Task": ir.Modes,
}

// groupOf returns the group of the tool that a rule is about, "" for a tool of Claude Code's own and for
// one of a server.
func groupOf(r rule.Rule) ir.Group { return cmp.Or(concerns[r.Tool], format.SharedGroup(r.Tool)) }

// concernsOthers reports whether a deny or an ask that is kept for Claude Code holds back what other
// agents may do without it. They have no skills and no tools of Claude Code's own, they ask about what
// lies outside the project, and about a command of a whole line as about the command alone.
func concernsOthers(r rule.Rule, mode string) bool {
	switch g := groupOf(r); {
	case strings.HasPrefix(r.Tool, "mcp__"), strings.Contains(r.Tool, "*"):
		return true
	case g == "":
		return false
	case mode == format.Bypass:
		return true
	case r.Tool == "Read" || r.Tool == "Edit":
		return !r.HasSpec || !leavesProject(r.Spec)
	case r.Tool == "Bash":
		return !strings.ContainsAny(r.Spec, "|;&\n")
	}
	return true
}

func leavesProject(spec string) bool {
	return strings.HasPrefix(spec, "//") || strings.HasPrefix(spec, "~") || strings.HasPrefix(spec, "../")
}

// opensBeyond returns the groups of paths of which a session or one of its subagents approves those outside
// the project that no rule is about: by a rule for every path, or by the permission mode. Of files that were
// built, the source says whether such rules stay as they are, whatever somebody edits beside them.
func (im *importer) opensBeyond(from *outline) map[ir.Group]bool {
	opened := map[ir.Group]bool{}
	if im.src.Ours {
		for _, n := range im.src.Own {
			if r, err := rule.Parse(n.Text); n.Decision < ir.Allow && err == nil && r.HasSpec && anyFolder(r.Spec) {
				opened[groupOf(r)] = true
			}
		}
		return opened
	}
	for _, text := range from.allowed {
		if r, err := rule.Parse(text); err == nil && !r.HasSpec {
			opened[groupOf(r)] = true
		}
	}
	sessions := []state{from.state}
	for _, a := range im.subagents {
		of := from.state
		of.enter(a)
		sessions = append(sessions, of)
	}
	for _, of := range sessions {
		of.settle()
		if of.mode == format.Bypass || of.mode == format.Auto || of.mode == format.Plan && !of.noAuto {
			opened[ir.Read], opened[ir.Edit] = true, true
		}
	}
	return opened
}

// runsAll reports whether a session in dontAsk runs every command but those that a rule holds back. Where the source
// said so, a redirect would be held by its rules of files, and no bare Bash does that: it may write every file.
func (o *outline) runsAll() bool {
	writesAll := len(o.held) == 0 && slices.Contains(o.allowed, "Edit")
	return o.mode == format.DontAsk && !writesAll && slices.Contains(o.allowed, "Bash")
}

// besides returns the groups of files outside the project of which a session holds some back: no rule of the source is
// about these, and a bare allow beside them stays as it is.
func (o *outline) besides() map[ir.Group]bool {
	groups := map[ir.Group]bool{}
	for _, text := range o.held {
		r, err := rule.Parse(text)
		if err == nil && (strings.HasPrefix(r.Spec, "~") || strings.HasPrefix(r.Spec, "//")) {
			groups[groupOf(r)] = true
		}
	}
	return groups
}

// outline is the permission mode of a session, and its rules.
type outline struct {
	state
	allowed, held []string // those that allow something, and the others
}

// outline returns that of a session.
func (from *session) outline() (o outline) {
	for _, l := range from.layers {
		read, err := format.ReadSettings(l.File, l.Data)
		if err != nil {
			continue
		}
		o.noAuto, o.noBypass = o.noAuto || read.NoAuto, o.noBypass || read.NoBypass
		if mode, ok := format.ModeOf(read.Mode); ok && (mode != format.Auto || !l.Project) {
			o.mode = mode
		}
		for _, item := range read.Rules {
			switch text, ok := item.Str(); {
			case !ok:
			case item.List == ir.Allow:
				o.allowed = append(o.allowed, text)
			default:
				o.held = append(o.held, text)
			}
		}
	}
	if from.flags != nil {
		o.mode = cmp.Or(from.flags.Mode, o.mode)
		o.allowed = append(o.allowed, from.flags.Allowed...)
		o.held = append(o.held, from.flags.Disallowed...)
	}
	return o
}

// anyFolder reports whether the content of a rule about paths names a file at any depth.
func anyFolder(spec string) bool {
	spec = strings.TrimPrefix(spec, "./")
	dir, below := strings.CutSuffix(spec, "/**")
	if !below {
		dir = strings.TrimSuffix(spec, "/")
	}
	return strings.HasPrefix(spec, "**/") || !strings.Contains(dir, "/")
}

package importer

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// importedRules are rules on their way to a subject, and the session that they hold in.
type importedRules struct {
	state
	modePos diag.Pos
	folder  string // that a path with one leading slash starts from; "" the project's
	neutral []neutralRule
	kept    []ir.NativeRule
	alone   bool // a rule that is kept holds back what other agents may do
	outside bool // a deny concerns files outside the project
	runsAll bool // the session runs every command but those that a rule holds back, in dontAsk
	ofFiles bool // the session has no command line: a build writes its rules into the file where they stand
	// beyond are the groups of paths of which something approves those outside the project that no
	// rule is about.
	beyond map[ir.Group]bool
	// besides are those of which a rule holds back some outside the project.
	besides map[ir.Group]bool
	// unknown is what is left of the tools that belong to no group, where a rule holds
	// some of them back; nil where none does.
	unknown *ir.Default
}

type neutralRule struct {
	contract.NeutralRule
	decision ir.Decision
	pos      diag.Pos
}

// everything is the pattern of a rule for all of a group.
var everything = ir.Pattern{Kind: ir.All}

// add adds a neutral rule.
func (rules *importedRules) add(n contract.NeutralRule, d ir.Decision, at diag.Pos) {
	rules.neutral = append(rules.neutral, neutralRule{n, d, at})
}

// whole adds a rule for all of a group. star is the pattern that says so in a list.
func (rules *importedRules) whole(g ir.Group, star string, d ir.Decision, at diag.Pos) {
	n := contract.NeutralRule{Group: g, Pattern: ir.Pattern{Text: star}}
	if d == ir.Deny {
		n.Pattern = everything
	}
	rules.add(n, d, at)
}

// asks reports whether a rule asks.
func (rules *importedRules) asks() bool {
	neutral := func(n neutralRule) bool { return n.decision == ir.Ask }
	kept := func(n ir.NativeRule) bool { return n.Decision == ir.Ask }
	return slices.ContainsFunc(rules.neutral, neutral) || slices.ContainsFunc(rules.kept, kept)
}

// inMode replaces rules by what the permission mode makes of them.
func (rules *importedRules) inMode() {
	switch rules.mode {
	case format.DontAsk: // nobody is asked: what a rule asks about is refused
		for i := range rules.neutral {
			if rules.neutral[i].decision == ir.Ask {
				rules.neutral[i].decision = ir.Deny
			}
		}
	case format.Plan: // it asks about edits, whatever a rule allows
		allowsEdit := func(n neutralRule) bool { return n.Group == ir.Edit && n.decision == ir.Allow }
		rules.neutral = slices.DeleteFunc(rules.neutral, allowsEdit)
	}
}

// written is a rule as it stands in a list or on a command line.
type written struct {
	decision ir.Decision
	text     string
	at       diag.Pos
	what     string // for the note
}

const refusedServer = "the source does not take this name of a server"

// became notes what became of a rule.
func (r *roleReader) became(kind contract.NoteKind, w written, why string) {
	r.out.NoteRule(kind, w.at, r.subject, w.what, why)
}

// rule translates one rule.
func (r *roleReader) rule(w written) {
	parsed, err := parse(w)
	if err != nil {
		r.became(contract.Left, w, "Claude Code ignores it: "+err.Error())
		return
	}
	rules := &r.rules
	if w.decision == ir.Deny && !parsed.HasSpec {
		rules.denied = append(rules.denied, parsed.Names())
	}
	if spec := rules.fromRoot(parsed); spec != parsed.Spec {
		parsed.Spec = spec
		w.text = parsed.String()
	}
	if why := r.unknownServer(parsed, w); why != "" {
		r.became(contract.Refused, w, why)
		return
	}
	if parsed.Tool == "*" { // which no rule allows
		rules.all(w.decision, w.at)
		r.became(contract.Understood, w, "")
		return
	}
	translate := dialect.Translate
	if rules.mode == format.DontAsk { // no rule for Claude Code alone opens what the mode refuses
		translate = dialect.TranslateAnywhere
	}
	neutral, ok := translate(parsed, w.decision, inventory{r.importer, w.at})
	if !ok || w.decision == ir.Allow && r.wider(parsed, neutral) ||
		r.rules.stays(parsed, w.decision) || r.rules.means(neutral, w.decision) {
		subagent := parsed.HasSpec && groupOf(parsed) == ir.Modes // which the source may have as a mode
		r.keep(parsed, w, ok || subagent)
		return
	}
	for _, n := range neutral {
		if n.Group == ir.MCP && r.namesNoTool(n) { // the source would take it for a spelling mistake
			n.Pattern.Text += "*"
		}
		if n.Pattern.Text == oddCase {
			n.Pattern = ir.Pattern{Kind: ir.Regex, Text: "[\u017F\u212A]"}
		}
		rules.add(n, w.decision, w.at)
	}
	r.became(contract.Understood, w, "")
}

// stays reports whether a rule means less, or less elsewhere, than the source would by it, or needs none
// in this mode: it stays as it is written. A bare rule is about its own tool, a line with quotes or
// variables is compared as it is written, reading in the project and starting a subagent need no rule.
func (rules *importedRules) stays(r rule.Rule, d ir.Decision) bool {
	allow, closes := d == ir.Allow, rules.mode == format.DontAsk
	switch g := groupOf(r); {
	case rules.plans():
		return true
	case g == "":
		return false
	case !r.HasSpec && allow:
		return !closes || g == ir.Command && rules.runsAll || rules.besides[g]
	case !r.HasSpec:
		return r.Tool != "Bash"
	case g == ir.Command:
		return !allow && strings.ContainsAny(r.Spec, "'\"\\`$")
	case !allow && rules.beyond[g] && anyFolder(r.Spec):
		return !closes // where the mode closes the rest, the source has to say it
	case g == ir.Read:
		return allow && !closes
	case g == ir.Edit:
		return allow && !closes && rules.mode != "" && rules.mode != format.Default
	case g == ir.Modes:
		return allow || r.Tool == "Task"
	}
	return false
}

// opensOutside returns what a rule about every path of a group says of those outside the project, nil where none does.
func (rules *importedRules) opensOutside(g ir.Group) *ir.Default {
	for _, n := range rules.neutral {
		if n.Group == g && n.decision == ir.Allow && n.Pattern.Everything() {
			return &ir.Default{Decision: ir.Allow, Pos: n.pos}
		}
	}
	return nil
}

// plans reports whether the session plans and approves by itself what no rule is about. What the source said there
// would have to be held however it is written, and no rule of Claude Code does that: a build would close the plan,
// and ask about everything else.
func (rules *importedRules) plans() bool {
	return rules.ofFiles && rules.mode == format.Plan && !rules.noAuto
}

// means reports whether a rule means another thing than the source would say by it: any address of a fetch,
// which in the source is a search too, and a command that sets a variable, which no list of the source allows
// and whose blanks Claude Code takes as they are. An allow of paths beside whole folders finds more than the
// source would, so that none is built from it.
func (rules *importedRules) means(neutral []contract.NeutralRule, d ir.Decision) bool {
	return slices.ContainsFunc(neutral, func(n contract.NeutralRule) bool {
		switch n.Group {
		case ir.Edit:
			return d == ir.Allow && dialect.AllowedFolder(n.Pattern.Text) == "" &&
				!(rules.mode == format.DontAsk && n.Pattern.Everything())
		case ir.Web:
			return n.Pattern.Everything()
		case ir.Command:
			return n.Pattern.Kind == ir.Plain && assigns.MatchString(n.Pattern.Text)
		}
		return false
	})
}

// assigns matches a command that begins with the value of a variable.
var assigns = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_]*\+?=`)

// keep leaves a rule to Claude Code alone. own is set for one that the source could say for every agent.
func (r *roleReader) keep(parsed rule.Rule, w written, own bool) {
	r.rules.kept = append(r.rules.kept, ir.NativeRule{
		Target: "claude", Decision: w.decision, Text: w.text, Pos: w.at, Own: own})
	why := onlyClaude
	if own {
		why = "it stays as it is written, for Claude Code alone: said in can it would be about more than it is"
	}
	if w.decision < ir.Allow && concernsOthers(parsed, r.rules.mode) {
		r.rules.alone = true
		why += ": " + r.subject + " is for Claude Code alone"
	}
	r.became(contract.Kept, w, why)
}

// unknownServer says why a rule about tools of servers is about none, "" for any other rule.
func (r *roleReader) unknownServer(parsed rule.Rule, w written) string {
	server, tool, mcp := parsed.MCP()
	plain := strings.ReplaceAll(parsed.Tool, "*", "")
	switch {
	case !mcp:
		return ""
	case rule.Name(plain) != plain:
		return "Claude Code matches nothing by it: in the name of a tool it writes _ for every other character"
	case !r.knows(server, tool, w.at):
		return refusedServer + ": what no rule names is left to Claude Code"
	}
	return ""
}

// parse reads a rule. It fails for one that Claude Code ignores.
func parse(w written) (rule.Rule, error) {
	r, err := rule.Parse(w.text)
	if err == nil {
		err = r.Skipped(w.decision)
	}
	if err == nil && r.Inert(w.decision) {
		err = rule.ErrInert
	}
	return r, err
}

// wider reports whether an allow would mean more in the source than to Claude Code: a
// pattern for every line, where Claude Code has only a bare Bash for that, or a tool that
// no server has.
func (r *roleReader) wider(parsed rule.Rule, neutral []contract.NeutralRule) bool {
	return slices.ContainsFunc(neutral, func(n contract.NeutralRule) bool {
		return parsed.HasSpec && n.Group == ir.Command && n.Pattern.Text == "*" || r.namesNoTool(n)
	})
}

// namesNoTool reports whether a rule over several servers names a tool that none of them
// is known to have.
func (im *importer) namesNoTool(n contract.NeutralRule) bool {
	if n.Group != ir.MCP || !strings.ContainsAny(n.Server, "*?") ||
		n.Pattern.Kind != ir.Plain || strings.ContainsAny(n.Pattern.Text, "*?") {
		return false
	}
	for _, s := range im.servers {
		if policy.Wildcard(n.Server, s.Name) && s.Tool(n.Pattern.Text) != nil {
			return false
		}
	}
	return true
}

// fromRoot returns the content of a rule. A path with one leading slash starts from the
// folder of the file that it stands in: it is written as one that starts from the
// project's.
func (rules *importedRules) fromRoot(r rule.Rule) string {
	g := format.SharedGroup(r.Tool)
	switch {
	case g != ir.Read && g != ir.Edit, rules.folder == "":
		return r.Spec
	case !strings.HasPrefix(r.Spec, "/"), strings.HasPrefix(r.Spec, "//"):
		return r.Spec
	case strings.HasPrefix(rules.folder, "~"):
		return rules.folder + r.Spec
	}
	return strings.TrimSuffix(path.Join("/", rules.folder), "/") + r.Spec
}

// oddCase matches names with the long s or the Kelvin sign, which the source takes for an
// s and a k in a glob that asks or denies.
const oddCase = "*[\u017F\u212A]*"

// all adds a rule for everything that Claude Code can do.
func (rules *importedRules) all(d ir.Decision, at diag.Pos) {
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.Modes} {
		star := "*"
		if g == ir.Read || g == ir.Edit {
			star = "**"
		}
		rules.whole(g, star, d, at)
	}
	rules.add(contract.NeutralRule{Group: ir.MCP, Server: "*", Pattern: ir.Pattern{Text: "*"}}, d, at)
	rules.limitUnknown(d, at)
}

func (rules *importedRules) limitUnknown(d ir.Decision, at diag.Pos) {
	if rules.unknown == nil || d < rules.unknown.Decision {
		rules.unknown = &ir.Default{Decision: d, Pos: at}
	}
}

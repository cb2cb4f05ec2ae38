package gemini

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/gemini/format"
)

// rule is a rule of a policy.
type rule struct {
	tools    []string
	server   string
	expr     string // argsPattern; "" for none
	decision ir.Decision
	rank     rank
	subagent string
	told     string // denyMessage
	inside   bool   // it is about an agent in a session alone
}

// rank is a rule's priority. The highest one that matches decides. 950 is none of them: Gemini CLI takes a rule with it
// for one that somebody clicked, and ignores it where security.disableAlwaysAllow is set.
type rank int

const (
	// Whatever no other rule is about.
	byDefault     rank = 30
	byDefaultSaid rank = 60
	itself        rank = 100
	harmless      rank = 200
	// What a role's permission mode decides, or the project's unsaid: in a group that the role does not mention, and
	// in one that it does. Between them is what a mode leaves to Gemini CLI.
	unsaid    rank = 300
	byGemini  rank = 550
	unsaidYet rank = 560
	// A mode allows what the session leaves to Gemini CLI.
	restOfMode    rank = 590
	allowedByMode rank = 600
	askedOfAll    rank = 620 // what everyone asks about in a group that a role does not mention
	unstated      rank = 630 // what a mode does not mention
	restOfRole    rank = 650 // a call without the argument of the lists
	allowed       rank = 700
	notAsked      rank = 790 // what a list asks about, and the subject permits nowhere
	asked         rank = 800
	denied        rank = 900

	// The tools of servers are no others. What is said of a tool comes before what is said of its server.
	everyServer rank = 780
	askedOfOne  rank = 810 // as Gemini CLI does
	serverOff   rank = 820
	oneServer   rank = 850
	oneTool     rank = 880

	// A rule about a tool is one about the agent of that name, too.
	everyAgent rank = 980
	oneAgent   rank = 990
)

// below returns the rank of a decision among those that begin with a rank: what permits less comes first.
func (r rank) below(d ir.Decision) rank { return r - 10*rank(d) }

// rank returns that of a decision that a subject states.
func (w *writer) rank(d ir.Decision) rank {
	switch {
	case d == ir.Deny:
		return denied
	case d == ir.Ask:
		return asked
	case w.mode != nil:
		return allowedByMode
	}
	return allowed
}

// beside is how many characters an expression has beside lists: the name of its argument.
const beside = 64

// mostParts is how many characters the alternatives of an expression have that has some lists of them.
func mostParts(lists int) int { return (format.MostExpression - beside) / lists }

// The parts of what begins with any name of a path, and ends with a name.
const (
	anyFolder = `(?:[^"\x00]*/|)`
	nameEnd   = `(?:/|")`
)

// frames are what alternatives begin and end with: it is written once for all that have it.
var frames = []struct{ before, after string }{
	{anyFolder, nameEnd}, {"", nameEnd}, {anyFolder, ""}, {"", exact}, {"", open}, {"", exactHeld}, {"", openHeld},
	{beforeHost, afterHost},
}

// framed returns the number of the frame of an alternative, the first that it has; len(frames) for none.
func framed(alternative string) int {
	for i, f := range frames {
		if len(alternative) >= len(f.before)+len(f.after) && strings.HasPrefix(alternative, f.before) &&
			strings.HasSuffix(alternative, f.after) {
			return i
		}
	}
	return len(frames)
}

// chunks splits alternatives into lists of at most some characters each, those that begin and end alike together.
func chunks(alternatives []string, most int) (out [][]string) {
	var last []string
	for _, a := range inFrames(alternatives) {
		longer := append(slices.Clip(last), a)
		if len(out) == 0 || len(either(longer)) > most {
			out, longer = append(out, nil), []string{a}
		}
		out[len(out)-1], last = longer, longer
	}
	return out
}

// inFrames returns alternatives once each, those with a frame together.
func inFrames(alternatives []string) []string {
	seen := map[string]bool{}
	out := slices.DeleteFunc(slices.Clone(alternatives), func(a string) bool {
		was := seen[a]
		seen[a] = true
		return was
	})
	slices.SortStableFunc(out, func(a, b string) int { return framed(a) - framed(b) })
	return out
}

// either returns an expression for any of some alternatives. What those of a frame begin and end with is written once.
func either(alternatives []string) string {
	if len(alternatives) == 1 && !strings.Contains(alternatives[0], "|") {
		return alternatives[0]
	}
	var parts []string
	for list := inFrames(alternatives); len(list) > 0; {
		of, n := framed(list[0]), 1
		for n < len(list) && framed(list[n]) == of {
			n++
		}
		run := list[:n]
		list = list[n:]
		if of == len(frames) {
			parts = append(parts, run...)
			continue
		}
		f := frames[of]
		rest := make([]string, n)
		for i, a := range run {
			rest[i] = a[len(f.before) : len(a)-len(f.after)]
		}
		inner := rest[0]
		if n > 1 || strings.Contains(inner, "|") {
			inner = "(?:" + strings.Join(rest, "|") + ")"
		}
		parts = append(parts, f.before+inner+f.after)
	}
	if len(parts) == 1 && framed(alternatives[0]) < len(frames) {
		return parts[0]
	}
	return "(?:" + strings.Join(parts, "|") + ")"
}

// unless matches every call but those whose argument begins with what an expression matches.
func unless(key, expr string) string { return `^(?![^]*` + key + expr + `)` }

// tools of a policy are written as a text where there is one.
func quotedTools(tools []string) string {
	quoted := make([]string, len(tools))
	for i, t := range tools {
		quoted[i] = contract.QuoteTOML(t)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// text writes a policy. Those that decide first come first, of each agent.
func text(title string, rules []rule) []byte {
	var b strings.Builder
	b.WriteString(title)
	slices.SortStableFunc(rules, func(x, y rule) int {
		if x.subagent != y.subagent {
			return 0
		}
		return int(y.rank - x.rank)
	})
	for i := range rules {
		r := &rules[i]
		if r.subagent != "" && (i == 0 || rules[i-1].subagent != r.subagent) {
			b.WriteString("\n# The agent " + r.subagent + ".\n")
		}
		b.WriteString("\n[[rule]]\n")
		line := func(key, value string) { b.WriteString(key + " = " + value + "\n") }
		if r.subagent != "" {
			line("subagent", contract.QuoteTOML(r.subagent))
		}
		if r.server != "" {
			line("mcpName", contract.QuoteTOML(r.server))
		}
		line("toolName", quotedTools(r.tools))
		if r.expr != "" {
			line("argsPattern", "'"+strings.ReplaceAll(r.expr, "'", `\x27`)+"'")
		}
		line("decision", contract.QuoteTOML(format.Word(r.decision)))
		if r.told != "" {
			line("denyMessage", contract.QuoteTOML(r.told))
		}
		line("priority", fmt.Sprint(int(r.rank)))
	}
	return []byte(b.String())
}

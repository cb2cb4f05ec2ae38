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
}

// rank is a rule's priority. The highest one that matches decides.
type rank int

const (
	byDefault rank = 1   // whatever no other rule is about
	byGroup   rank = 100 // the tools of a group, the tools of a server
	// byAgent is above the tools of other groups: a rule about a tool is one about the agent of that name, too.
	byAgent   rank = 110
	permitted rank = 200 // what is asked about: a list, or all that is not listed
	approved  rank = 250
	held      rank = 300 // what a list allows and another one asks about
	refused   rank = 400
	// inMode is added for a subagent: the rules of the session hold for it too.
	inMode rank = 500
	// always is what a list of the session denies: no subagent may do it either.
	always rank = 950
)

// beside is how many characters an expression has beside lists, its shape and the name of its argument.
const beside = 64

// mostParts is how many characters the alternatives of an expression have that has some lists of them behind a shape.
func mostParts(shape string, lists int) int {
	return (format.MostExpression - len(shape) - beside) / max(1, lists)
}

// The parts of what begins with any name of a path, and ends with a name.
const (
	anyFolder = `(?:[^"\x00]*/|)`
	nameEnd   = `(?:/|")`
)

// chunks splits alternatives into lists of at most some characters each, those that begin alike together.
func chunks(alternatives []string, most int) (out [][]string) {
	for _, begins := range []bool{true, false} {
		size := most + 1
		seen := map[string]bool{}
		for _, a := range alternatives {
			if strings.HasPrefix(a, anyFolder) != begins || seen[a] {
				continue
			}
			seen[a] = true
			if size += len(a) + 1; size > most {
				out, size = append(out, nil), len(a)+1
			}
			out[len(out)-1] = append(out[len(out)-1], a)
		}
	}
	return out
}

// either returns an expression for any of some alternatives. What all of them begin and end with is written once.
func either(alternatives []string) string {
	if len(alternatives) == 1 && !strings.Contains(alternatives[0], "|") {
		return alternatives[0]
	}
	before, after := anyFolder, nameEnd
	for _, a := range alternatives {
		if !strings.HasPrefix(a, before) {
			before = ""
		}
		if !strings.HasSuffix(a, after) {
			after = ""
		}
	}
	rest := make([]string, len(alternatives))
	for i, a := range alternatives {
		rest[i] = a[len(before) : len(a)-len(after)]
	}
	return before + "(?:" + strings.Join(rest, "|") + ")" + after
}

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

// text writes a policy. Those that decide first come first.
func text(title string, rules []rule) []byte {
	var b strings.Builder
	b.WriteString(title)
	slices.SortStableFunc(rules, func(x, y rule) int { return int(y.priority() - x.priority()) })
	for i := range rules {
		r := &rules[i]
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
		line("priority", fmt.Sprint(int(r.priority())))
	}
	return []byte(b.String())
}

func (r *rule) priority() rank {
	if r.subagent != "" {
		return r.rank + inMode
	}
	return r.rank
}

// denial says what a rule denies that is in a list, "" for any other rule.
func (r *rule) denial() string {
	if r.decision > ir.Deny || r.rank != refused && r.rank != always || r.expr == "" {
		return ""
	}
	return strings.Join(r.tools, " ") + " " + r.server + " " + r.expr
}

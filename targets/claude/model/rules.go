package model

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format/rule"
)

// place is a rule as it stands in its file, or what decides in its stead.
type place struct {
	text string
	mode string // what text says is so in that mode; "": in any
	at   diag.Pos
}

// said returns what decides as a person reads it.
func (p *place) said() string {
	if p.mode != "" {
		return p.text + " in the mode " + p.mode
	}
	return p.text
}

// ruleSet contains the rules of one list (deny, ask or allow) by what they are about.
type ruleSet struct {
	tools  []toolRule // a tool's name: Bash, mcp__docs, mcp__docs__*, *
	bash   []bashRule
	power  []bashRule // allows for PowerShell, in lower case
	read   []pathRule
	edit   []pathRule
	hosts  []hostRule
	agents []nameRule
	skills []nameRule
}

type toolRule struct {
	place
	rule.Tools
}

type hostRule struct {
	place
	host string
	sub  bool // *.host: its subdomains only
	all  bool
}

type nameRule struct {
	place
	name string
}

// add compiles a rule of a list. base is the folder that a leading slash stands for. It
// fails for a rule that Claude Code skips or never matches.
func (rs *ruleSet) add(list ir.Decision, text string, at diag.Pos, base string) error {
	r, err := rule.Parse(text)
	if err != nil {
		return err
	}
	if err := r.Skipped(list); err != nil {
		return err
	}
	if r.Inert(list) {
		return rule.ErrInert
	}
	p := place{text: text, at: at}
	if r.HasSpec {
		return rs.addSpec(p, r, list, base)
	}
	rs.tools = append(rs.tools, toolRule{p, r.Names()})
	switch r.Tool {
	case "Bash":
		rs.bash = append(rs.bash, newBashRule(p, "*"))
	case "PowerShell":
		rs.power = append(rs.power, newBashRule(p, "*"))
	}
	return nil
}

// addSpec compiles a rule with content.
func (rs *ruleSet) addSpec(p place, r rule.Rule, list ir.Decision, base string) error {
	switch r.Tool {
	case "Bash":
		rs.bash = append(rs.bash, newBashRule(p, r.Spec))
	case "PowerShell":
		rs.power = append(rs.power, newBashRule(p, strings.ToLower(r.Spec)))
	case "Read", "Edit":
		pr, err := newPathRule(p, r, list, base)
		if err != nil {
			return rule.ErrInert
		}
		if r.Tool == "Read" {
			rs.read = append(rs.read, pr)
		} else {
			rs.edit = append(rs.edit, pr)
		}
	case "WebFetch":
		rs.hosts = append(rs.hosts, newHostRule(p, strings.TrimPrefix(r.Spec, "domain:")))
	case "Agent", "Task":
		rs.agents = append(rs.agents, nameRule{p, r.Spec})
	case "Skill":
		rs.skills = append(rs.skills, nameRule{p, strings.TrimSuffix(r.Spec, " *")})
	}
	return nil
}

func newHostRule(p place, host string) hostRule {
	h := hostRule{place: p, all: host == "*"}
	h.host, h.sub = strings.CutPrefix(strings.ToLower(strings.TrimSuffix(host, ".")), "*.")
	return h
}

func (rs *ruleSet) join(o *ruleSet) {
	rs.tools = union(rs.tools, o.tools)
	rs.bash = union(rs.bash, o.bash)
	rs.power = union(rs.power, o.power)
	rs.read = union(rs.read, o.read)
	rs.edit = union(rs.edit, o.edit)
	rs.hosts = union(rs.hosts, o.hosts)
	rs.agents = union(rs.agents, o.agents)
	rs.skills = union(rs.skills, o.skills)
}

// union returns the rules of two lists. Where one is empty it is the other one, which many sessions share.
func union[R any](a, b []R) []R {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return slices.Clip(b)
	}
	return append(a, b...)
}

// tool returns the rule that names a whole tool.
func (rs *ruleSet) tool(name string) *place {
	for i := range rs.tools {
		if rs.tools[i].Has(name) {
			return &rs.tools[i].place
		}
	}
	return nil
}

func (rs *ruleSet) host(name string) *place {
	for i := range rs.hosts {
		r := &rs.hosts[i]
		switch {
		case r.all, !r.sub && name == r.host, r.sub && len(name) > len(r.host) && strings.HasSuffix(name, "."+r.host):
			return &r.place
		}
	}
	return nil
}

func matchName(rules []nameRule, name string) *place {
	for i := range rules {
		if rules[i].name == name {
			return &rules[i].place
		}
	}
	return nil
}

func matchPath(rules []pathRule, f *file) *place {
	for i := range rules {
		if rules[i].match(f) {
			return &rules[i].place
		}
	}
	return nil
}

// matchAlike reports whether a rule matches what a file system may take a path for.
func matchAlike(rules []pathRule, f *file) bool {
	return slices.ContainsFunc(rules, func(r pathRule) bool { return r.nearly(f) })
}

// first returns the first rule that matched.
func first(rules ...*place) *place {
	for _, r := range rules {
		if r != nil {
			return r
		}
	}
	return nil
}

package claude

import (
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/rule"
)

// place is a rule as it stands in its file.
type place struct {
	text string
	at   diag.Pos
}

// ruleSet holds the rules of one list (deny, ask or allow) by what they are
// about.
type ruleSet struct {
	tools  []toolRule // a tool's name: Bash, mcp__docs, mcp__docs__*, *
	bash   []bashRule
	read   []pathRule
	edit   []pathRule
	hosts  []hostRule
	agents []nameRule
	skills []nameRule
}

type toolRule struct {
	place
	pieces []string // the name, cut at each *
	server string   // of a rule mcp__server, which is about each of its tools
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

// add compiles a rule of a list. base is the folder that a leading / stands
// for. It reports what Claude Code says of a rule that it skips.
//
// Inert, observed on 2.1.329: Write(x), NotebookEdit(x), MultiEdit(x) and
// Glob(x) match nothing. A name with a wildcard is skipped in allow unless it
// follows mcp__server__.
func (rs *ruleSet) add(list ir.Decision, text string, at diag.Pos, base string) error {
	r, err := rule.Parse(text)
	if err != nil {
		return err
	}
	p := place{text, at}
	server, tool, mcp := r.MCP()
	if !r.HasSpec {
		t := toolRule{place: p, pieces: strings.Split(r.Tool, "*")}
		if len(t.pieces) > 1 && list == ir.Allow && (!mcp || strings.Contains(server, "*") || tool == "") {
			return errWildcard
		}
		if mcp && tool == "" {
			t.server = server
		}
		rs.tools = append(rs.tools, t)
	}
	switch r.Tool {
	case "Bash":
		if !r.HasSpec {
			r.Spec = "*"
		}
		rs.bash = append(rs.bash, newBashRule(p, r.Spec))
	case "Read", "Edit":
		if !r.HasSpec {
			return nil
		}
		pr, ok := newPathRule(p, r.Spec, list, base)
		if !ok {
			return errInert
		}
		if r.Tool == "Read" {
			rs.read = append(rs.read, pr)
		} else {
			rs.edit = append(rs.edit, pr)
		}
	case "WebFetch":
		if !r.HasSpec {
			return nil
		}
		host, ok := strings.CutPrefix(r.Spec, "domain:")
		if !ok {
			return errInert
		}
		h := hostRule{place: p, host: strings.ToLower(strings.TrimSuffix(host, ".")), all: host == "*"}
		h.host, h.sub = strings.CutPrefix(h.host, "*.")
		rs.hosts = append(rs.hosts, h)
	case "Agent", "Task":
		if r.HasSpec {
			rs.agents = append(rs.agents, nameRule{p, r.Spec})
		}
	case "Skill":
		if r.HasSpec {
			rs.skills = append(rs.skills, nameRule{p, strings.TrimSuffix(r.Spec, " *")})
		}
	default:
		if r.HasSpec {
			return errInert
		}
	}
	return nil
}

type ruleError string

func (e ruleError) Error() string { return string(e) }

const (
	errWildcard ruleError = "a name with a wildcard is not supported in allow rules"
	errInert    ruleError = "no call is held against this rule"
)

// tool returns the rule that names a whole tool.
func (rs *ruleSet) tool(name string) *place {
	for i := range rs.tools {
		r := &rs.tools[i]
		if wild(r.pieces, name) || r.server != "" && len(r.pieces) == 1 && strings.HasPrefix(name, "mcp__"+r.server+"__") {
			return &r.place
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

func named(rules []nameRule, name string) *place {
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

// wild matches a text against a pattern that was cut at its wildcards.
func wild(pieces []string, text string) bool {
	last := len(pieces) - 1
	if last == 0 {
		return text == pieces[0]
	}
	rest, ok := strings.CutPrefix(text, pieces[0])
	if !ok {
		return false
	}
	for _, p := range pieces[1:last] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, pieces[last])
}

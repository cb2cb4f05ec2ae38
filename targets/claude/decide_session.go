package claude

import (
	"cmp"
	"net"
	"strings"

	"golang.org/x/net/idna"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// session is what decides while Claude Code runs: the rules of every settings
// file and flag, the tools that are offered, and the hooks.
type session struct {
	rules   [ir.Allow + 1]ruleSet // by the decision of their list
	mode    string
	noAuto  bool // disableAutoMode
	noPass  bool // disableBypassPermissionsMode
	tools   []*toolList
	hooks   []*listener
	noHooks bool // disableAllHooks
	servers []string
	strict  bool            // no other servers
	skills  map[string]bool // those on the disk
	at      diag.Pos        // the file that a missing rule is missing from

	approval, bare contract.Halves // with the hooks, and without
}

// ruling is what rules and mode make of a call.
type ruling struct {
	ir.Decision
	place
	// held is set where a hook's allow does not help: a rule denies or asks,
	// or the mode does.
	held bool
	rule bool // an ask rule holds it: dontAsk then refuses even what a hook asks about
	// loose says why an allow is Claude Code's own and not what the rules say;
	// "" where it is.
	loose string
}

// call is one use of a native tool.
type call struct {
	tool string
	policy.Action
	file *file // of read and edit
	line *line // of a command
	host string
}

// settle brings a mode to what it means: dontAsk and bypassPermissions may be
// switched off, manual is default.
func (s *session) settle() {
	switch {
	case s.mode == "manual", s.mode == "delegate", s.mode == "bypassPermissions" && s.noPass, s.mode == "auto" && s.noAuto:
		s.mode = "default"
	}
}

// add lays a settings file over what stood before. Lists are joined, the mode
// is the last one's.
func (s *session) add(l *settings) {
	for d := range s.rules {
		s.rules[d].join(&l.rules[d])
	}
	if l.mode != "" {
		s.mode = l.mode
	}
	s.noAuto = s.noAuto || l.noAuto
	s.noPass = s.noPass || l.noPass
	s.noHooks = s.noHooks || l.noHooks
	s.hooks = append(s.hooks, l.hooks...)
}

func (rs *ruleSet) join(o *ruleSet) {
	rs.tools = append(rs.tools, o.tools...)
	rs.bash = append(rs.bash, o.bash...)
	rs.read = append(rs.read, o.read...)
	rs.edit = append(rs.edit, o.edit...)
	rs.hosts = append(rs.hosts, o.hosts...)
	rs.agents = append(rs.agents, o.agents...)
	rs.skills = append(rs.skills, o.skills...)
}

// verdict is the most permissive of what the native tools of an action may do.
func (s *session) verdict(a policy.Action) contract.Verdict {
	if a.Group == ir.MCP && a.Kind == policy.Prompt {
		return contract.Verdict{}
	}
	var with, without *ruling
	var hole, bareHole *contract.Hole
	hooked := len(s.hooks) > 0 && !s.noHooks
	for _, c := range s.calls(a) {
		r := s.rule(&c)
		w, h := s.strictly(r)
		w.Decision = s.confirmed(w)
		if bareHole = cmp.Or(bareHole, h); without == nil || w.Decision > without.Decision {
			without = &w
		}
		if hooked {
			r = s.ask(&c, r)
		}
		r, h = s.strictly(r)
		r.Decision = s.confirmed(r)
		if hole = cmp.Or(hole, h); with == nil || r.Decision > with.Decision {
			with = &r
		}
	}
	if with == nil {
		with = &ruling{place: place{"no tool that is offered does it", s.at}}
		without = with
	}
	v := contract.Verdict{Answer: contract.Answer{Decision: with.Decision, Governs: s.approval, Rule: with.text, At: with.at}}
	if v.Hole = hole; hooked {
		v.Bare, v.BareHole = &contract.Answer{Decision: without.Decision, Governs: s.bare, Rule: without.text, At: without.at}, bareHole
		v.Hole = cmp.Or(hole, s.searchHole(a, with))
	}
	if !hooked && v.Decision == ir.Ask && !s.named(a) {
		v.Governs &^= contract.Access // rules alone ask about what they cannot refuse
	}
	return v
}

// named reports whether rules can refuse an action by its name, one by one: a
// tool of a server, a mode. Of paths, commands and hosts they can refuse some.
func (s *session) named(a policy.Action) bool { return a.Group == ir.MCP && a.Kind == policy.Tool }

// confirmed turns an ask into what the mode makes of it.
func (s *session) confirmed(r ruling) ir.Decision {
	if s.mode == "dontAsk" && r.Decision == ir.Ask && (r.rule || !r.hooked()) {
		return ir.Deny
	}
	return r.Decision
}

// hooked reports whether a hook's answer decided.
func (r *ruling) hooked() bool { return strings.HasPrefix(r.text, hookText) }

// calls lists the native tools that perform an action, of those that are
// offered. Write stands for Edit and NotebookEdit, whose rules are the same,
// unless it alone is taken away.
func (s *session) calls(a policy.Action) []call {
	var names []string
	c := call{Action: a}
	switch a.Group {
	case ir.Read:
		names = []string{"Read", "Grep", "Glob", "LSP"}
		if strings.ContainsRune(a.Arg, 0) {
			return nil // "cannot contain null bytes"
		}
		c.file = newFile(a.Arg)
	case ir.Edit:
		names = []string{"Edit", "Write"}
		if strings.HasSuffix(a.Arg, ".ipynb") {
			names = append(names, "NotebookEdit")
		}
		if strings.ContainsRune(a.Arg, 0) {
			return nil
		}
		c.file = newFile(a.Arg)
	case ir.Command:
		if a.Arg == "" {
			return nil
		}
		names = []string{"Bash", "Monitor"}
		c.line = newLine(a.Arg)
	case ir.Web:
		names = []string{"WebFetch"}
		if c.host = hostname(a.Arg); c.host == "" {
			return nil
		}
	case ir.Modes:
		names = []string{"Agent"}
		if s.skills[a.Arg] {
			names = append(names, "Skill")
		}
	case ir.MCP:
		server := toolWord(a.Server)
		if !s.connected(server) {
			return nil
		}
		names = []string{"mcp__" + server + "__" + toolWord(a.Arg)}
		if a.Kind == policy.Resource {
			names = []string{"ReadMcpResourceTool"}
		}
	case ir.Unknown:
		if a.Arg == "" {
			return nil
		}
		names = []string{a.Arg}
	}
	var calls []call
	for _, n := range names {
		if s.offered(n) {
			c.tool = n
			calls = append(calls, c)
		}
	}
	return calls
}

// offered: a tool that a deny rule names is taken away, and so is one that a
// list of tools leaves out. Grep and Glob are there where --tools names them or
// Bash is not; LSP where a list names it. Observed on 2.1.329.
func (s *session) offered(tool string) bool {
	rule := s.rules[ir.Deny].tool(tool)
	if tool == "Agent" && rule == nil {
		rule = s.rules[ir.Deny].tool("Task")
	}
	if rule != nil {
		return false
	}
	listed, flagged := false, false
	for _, l := range s.tools {
		if !l.offers(tool) {
			return false
		}
		listed = listed || l.names(tool)
		flagged = flagged || l.builtin && l.names(tool)
	}
	switch tool {
	case "Grep", "Glob":
		return flagged || !s.offered("Bash")
	case "LSP":
		return listed
	}
	return true
}

// connected: under --strict-mcp-config there are no other servers; else the
// user may have more of their own.
func (s *session) connected(server string) bool {
	if !s.strict {
		return true
	}
	for _, n := range s.servers {
		if n == server {
			return true
		}
	}
	return false
}

// hostname is the host of a URL as Claude Code reads it, which is as browsers
// do: lower case, in ASCII, the port and the last dot cut.
func hostname(arg string) string {
	h := strings.TrimSuffix(arg, ".")
	if name, _, err := net.SplitHostPort(h); err == nil {
		h = strings.TrimSuffix(name, ".")
	}
	if strings.ContainsAny(h, "/@?#\\ ") {
		return ""
	}
	if a, err := idna.Lookup.ToASCII(h); err == nil {
		return a
	}
	return strings.ToLower(h)
}

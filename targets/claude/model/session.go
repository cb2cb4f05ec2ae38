package model

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/net/idna"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

// session is what decides while Claude Code runs: the rules of every settings file and
// flag, the tools that are offered, and the hooks.
type session struct {
	rules    [ir.Allow + 1]ruleSet // by the decision of their list
	mode     string
	modeAt   diag.Pos // that says the mode; zero where none does
	noAuto   bool     // disableAutoMode
	noBypass bool     // disableBypassPermissionsMode
	tools    []format.ToolList
	hooks    []*listener
	noHooks  *located.Value // disableAllHooks of the last file that writes it
	sandbox  sandbox
	lack     *contract.Lack // the first thing that does not hold
	disarms  *contract.Lack // what keeps the hooks from holding; nil: nothing
	servers  []string
	strict   bool            // there are no other servers
	skills   map[string]bool // those on the disk
	folders  []folder        // beside the project's own
	grants   []grant
	agent    string // the subagent as which it runs
	// subagents are the names of those that have another one than their slug.
	subagents map[string]string
	at        diag.Pos       // the file that a missing rule is missing from
	disk      *contract.Disk // at which it works; nil where that is not known

	bare contract.Halves // what is governed without the hooks
	// nobodys is set for a session without a role: only a hook's answer governs approval.
	nobodys bool
	partly  bool // the role or the mode has no hook of its own
}

func newSession(at diag.Pos) *session {
	return &session{
		mode: format.Default, at: at, skills: map[string]bool{}, bare: contract.Both}
}

// ruling is what rules and mode make of a call.
type ruling struct {
	ir.Decision
	place
	// held means that a hook's allow has no effect: a rule denies or asks, or the mode
	// does.
	held bool
	// rule means that an ask rule holds the call: dontAsk then refuses even what a hook
	// asks about.
	rule   bool
	hooked bool // a hook's answer decided, or that of a mode asks as a rule does
	// loose says why Claude Code allows by itself what the rules do not allow, "" where
	// the rules allow it.
	loose string
}

// call is one use of a native tool.
type call struct {
	tool string
	policy.Action
	written string // the path as the agent writes it, of read and edit
	file    *file
	line    *line // of a command
	// subagent is its name, of modes.
	subagent string
	host     string
}

// settle replaces a mode by the one that it means or that holds where it is disabled, and says what does not hold.
func (s *session) settle() {
	if s.noHooks.True() {
		s.disarms = &contract.Lack{Why: "disableAllHooks turns modec's hook off", At: s.noHooks.Pos}
	}
	if len(s.hooks) > 0 {
		s.lack = cmp.Or(s.lack, s.disarms)
	}
	if s.lack != nil {
		s.at = s.lack.At
	}
	switch {
	case s.mode == format.Manual, s.mode == format.Delegate,
		s.mode == format.Bypass && s.noBypass, s.mode == format.Auto && s.noAuto:
		s.mode, s.modeAt = format.Default, diag.Pos{}
	}
}

// add lays a settings file over what stood before. Lists are joined, the mode is the last
// one's.
func (s *session) add(l *settings) {
	for d := range s.rules {
		s.rules[d].join(&l.rules[d])
	}
	s.setMode(l.mode, l.modeAt)
	s.noAuto = s.noAuto || l.noAuto
	s.noBypass = s.noBypass || l.noBypass
	if l.noHooks.Is(located.Bool) { // the last file that writes it holds
		s.noHooks = l.noHooks
	}
	s.sandbox.add(l.sandbox)
	s.hooks, s.folders = append(s.hooks, l.hooks...), append(s.folders, l.folders...)
	s.grants = append(s.grants, l.grants...)
	s.lack, s.disarms = cmp.Or(s.lack, l.lack), cmp.Or(s.disarms, l.disarms)
}

// enter lays a subagent over its session. Its own mode holds unless the session has one
// that Claude Code does not let a subagent lower.
func (s *session) enter(a *agent) {
	s.agent = a.name
	s.tools = append(s.tools, a.tools...)
	s.hooks, s.lack = append(s.hooks, a.hooks...), cmp.Or(s.lack, a.lack)
	switch s.mode {
	case format.Bypass, format.AcceptEdits, format.Auto:
	default:
		s.setMode(a.mode, a.modeAt)
	}
}

// setMode lays a mode over another; "" says none.
func (s *session) setMode(mode string, at diag.Pos) {
	if mode != "" {
		s.mode, s.modeAt = mode, at
	}
}

// verdict is the most permissive of what the native tools of an action may do.
func (s *session) verdict(a policy.Action) contract.Verdict {
	if a.Group == ir.MCP && a.Kind == policy.Prompt {
		return contract.Verdict{}
	}
	hooked := s.runsHooks()
	var with, without outcome
	calls := s.calls(a)
	for _, c := range calls {
		r := s.rule(&c)
		without.add(s, &c, r)
		if hooked {
			if with.settled(r) {
				continue
			}
			r = s.ask(&c, r)
		}
		with.add(s, &c, r)
	}
	if !with.any {
		with.most = ruling{place: place{text: "no tool that is offered does it", at: s.at}}
		without.most = with.most
	}
	governs := contract.Both
	if s.nobodys && !with.most.hooked {
		governs = contract.Access
	}
	v := contract.Verdict{Answer: with.answer(governs), Hole: with.hole}
	if hooked {
		bare := without.answer(s.bare)
		v.Bare, v.BareHole = &bare, without.hole
		v.Hole = cmp.Or(with.hole, s.searchHole(a, &with.most))
	}
	if (!hooked || s.partly) && v.Decision == ir.Ask && !named(a) {
		v.Governs &^= contract.Access // rules alone ask about what they cannot refuse
	}
	if v.Lack = s.lackFor(calls); v.Lack != nil && (v.At == s.at || v.At.Line == 0) {
		v.Rule, v.At = v.Rule+", since "+v.Lack.Why, v.Lack.At
	}
	return v
}

// runsHooks reports whether modec's hooks are there and run.
func (s *session) runsHooks() bool { return len(s.hooks) > 0 && s.disarms == nil }

// lackFor returns what does not hold for some calls.
func (s *session) lackFor(calls []call) *contract.Lack {
	if s.lack != nil || !s.runsHooks() {
		return s.lack
	}
	for i := range calls {
		for _, h := range s.hooks {
			if tool := calls[i].tool; !h.matches(tool) {
				return &contract.Lack{Why: "the matcher of modec's hook leaves out " + tool, At: h.matcherAt}
			}
		}
	}
	return nil
}

// outcome collects the rulings on the native tools of an action.
type outcome struct {
	any  bool
	most ruling
	hole *contract.Hole // the first
}

func (o *outcome) add(s *session, c *call, r ruling) {
	r, hole := strictly(s.granted(c, r))
	r.Decision = s.confirmed(r)
	o.hole = cmp.Or(o.hole, hole)
	if !o.any || r.Decision > o.most.Decision {
		o.any, o.most = true, r
	}
}

// opening returns the entry by which a session takes a path outside the project for one of its own, nil for none.
// Observed on 2.1.330: what is read there, by a command too, is not asked about, and in acceptEdits no edit is.
func (s *session) opening(f *file) *place {
	for i := range s.folders {
		of := &s.folders[i]
		if _, inside := below(of.clean, f.clean); !f.inside && (inside || f.clean == of.clean) {
			return &of.place
		}
	}
	return nil
}

// within reports whether a path is in a folder of the session.
func (s *session) within(f *file) bool { return f.inside || s.opening(f) != nil }

// settled reports whether a call changes nothing whatever a hook says of it: another one is
// allowed, and where this one is allowed by itself no hole comes of that, or one is known.
func (o *outcome) settled(r ruling) bool {
	return o.any && o.most.Decision == ir.Allow && (o.hole != nil || r.Decision != ir.Allow || r.loose == "")
}

func (o *outcome) answer(governs contract.Halves) contract.Answer {
	return contract.Answer{Decision: o.most.Decision, Governs: governs, Rule: o.most.said(), At: o.most.at}
}

// named reports whether rules can refuse an action by its name: a tool of a server. Of
// paths, commands and hosts they can refuse some.
func named(a policy.Action) bool { return a.Group == ir.MCP && a.Kind == policy.Tool }

// confirmed returns what the mode makes of a decision.
func (s *session) confirmed(r ruling) ir.Decision {
	if s.mode == format.DontAsk && r.Decision == ir.Ask && (r.rule || !r.hooked) {
		return ir.Deny
	}
	return r.Decision
}

// calls lists the native tools that perform an action, of those that are offered.
func (s *session) calls(a policy.Action) []call {
	c := call{Action: a}
	names := s.performers(&c)
	calls := make([]call, 0, len(names))
	for _, name := range names {
		if s.offered(name) {
			c.tool = name
			calls = append(calls, c)
		}
	}
	return calls
}

// performers names the native tools that perform an action, and reads its argument as
// they would. There are none for an argument that they refuse. Edit and Write have the
// same rules as NotebookEdit.
func (s *session) performers(c *call) []string {
	switch a := &c.Action; a.Group {
	case ir.Read, ir.Edit:
		if strings.ContainsRune(a.Arg, 0) {
			return nil // "cannot contain null bytes"
		}
		c.written = a.Arg
		if s.disk != nil {
			a.Arg = s.disk.Written(a.Arg)
		}
		c.file = newFile(a.Arg)
		switch {
		case a.Group == ir.Read:
			return []string{"Read", "Grep", "Glob", "LSP"}
		case strings.HasSuffix(a.Arg, ".ipynb"):
			return []string{"Edit", "Write", "NotebookEdit"}
		}
		return []string{"Edit", "Write"}
	case ir.Command:
		if a.Arg != "" {
			c.line = newLine(a.Arg)
			if len(s.rules[ir.Allow].power) > 0 { // else it asks about every line, as Bash does
				return []string{"Bash", "Monitor", "PowerShell"}
			}
			return []string{"Bash", "Monitor"}
		}
	case ir.Web:
		if c.host = hostname(a.Arg); c.host != "" {
			return []string{"WebFetch"}
		}
	case ir.Modes:
		c.subagent = cmp.Or(s.subagents[a.Arg], a.Arg)
		if s.skills[a.Arg] {
			return []string{"Agent", "Skill", "Workflow"}
		}
		return []string{"Agent", "Workflow"}
	case ir.MCP:
		return s.serverTools(a)
	case ir.Unknown:
		if a.Arg != "" {
			return []string{a.Arg}
		}
	}
	return nil
}

func (s *session) serverTools(a *policy.Action) []string {
	server := toolName(a.Server)
	switch {
	case s.strict && !slices.Contains(s.servers, server): // else the user may have more of their own
		return nil
	case a.Kind == policy.Resource:
		return []string{"ReadMcpResourceTool"}
	}
	return []string{"mcp__" + server + "__" + toolName(a.Arg)}
}

// offered reports whether a session has a tool. A deny rule that names the tool takes it
// away, and so does a list of tools that leaves it out. Grep and Glob are there where
// --tools names them or Bash is not, LSP where a list names it. Observed on 2.1.329.
func (s *session) offered(tool string) bool {
	deny := &s.rules[ir.Deny]
	if deny.tool(tool) != nil || tool == "Agent" && deny.tool("Task") != nil {
		return false
	}
	listed, flagged := false, false
	for _, l := range s.tools {
		if !l.Leaves(tool) {
			return false
		}
		listed = listed || l.Names(tool)
		flagged = flagged || l.NamesBuiltIn(tool)
	}
	switch tool {
	case "Grep", "Glob":
		return flagged || !s.offered("Bash")
	case "LSP":
		return listed
	}
	return true
}

// inURL writes names of hosts as a URL does, with dashes anywhere.
var inURL = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckHyphens(false))

// hostname returns the host of a URL as Claude Code reads it, which is as browsers do:
// lower case, in ASCII, without the port and the last dot, an address as they write it
// (0x7f.1 is 127.0.0.1). Observed on 2.1.330.
func hostname(arg string) string {
	h := strings.TrimSuffix(arg, ".")
	if name, _, err := net.SplitHostPort(h); err == nil {
		h = strings.TrimSuffix(name, ".")
	}
	if strings.ContainsAny(h, "/@?#\\ ") {
		return ""
	}
	if ip, err := netip.ParseAddr(strings.Trim(h, "[]")); err == nil && ip.Is6() {
		return inBrackets(ip)
	}
	if a, err := inURL.ToASCII(h); err == nil {
		h = a
	}
	if ip, ok := ipv4(h); ok {
		return ip
	}
	return strings.ToLower(h)
}

// inBrackets returns an address of IP version 6 as it stands in a URL, where one of version 4 in it
// is written in hexadecimal.
func inBrackets(ip netip.Addr) string {
	if ip.Is4In6() {
		b := ip.As16()
		return fmt.Sprintf("[::ffff:%x:%x]", uint(b[12])<<8|uint(b[13]), uint(b[14])<<8|uint(b[15]))
	}
	return "[" + ip.String() + "]"
}

// ipv4 reads the numbers of an address: up to four, in decimal, octal or hexadecimal, of which the
// last one fills what is left.
func ipv4(host string) (string, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return "", false
	}
	var ip uint64
	for i, part := range parts {
		if strings.ContainsAny(part, "_oObB+") {
			return "", false
		}
		n, err := strconv.ParseUint(part, 0, 64)
		if part == "0x" || part == "0X" { // a number without digits is 0
			n, err = 0, nil
		}
		left := uint64(1) << (8 * (4 - i))
		last := i == len(parts)-1
		if err != nil || last && n >= left || !last && n > 255 {
			return "", false
		}
		if !last {
			n <<= 8 * (3 - i)
		}
		ip |= n
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}).String(), true
}

// ofName are the UTF-16 units that stay in the name of a tool (2.1.329:
// name.replace(/[^a-zA-Z0-9_-]/g, "_")). The emitter has a reading of its own.
const ofName = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// toolName returns the name of a server or a tool in mcp__SERVER__TOOL.
func toolName(name string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(name)) {
		if !strings.ContainsRune(ofName, rune(unit)) {
			unit = '_'
		}
		b.WriteByte(byte(unit))
	}
	return b.String()
}

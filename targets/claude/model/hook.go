package model

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/hook"
)

// listener is one of modec's own hooks in hooks.PreToolUse. Any other hook is left out:
// what it answers is not known, so that it holds nothing back for sure.
type listener struct {
	matcher
	matcherAt diag.Pos
	engine    *policy.Engine // nil where the policy cannot be used: modec then refuses
	ref       ir.SubjectRef
	mayAllow  bool
	text      string // what it is called where it decides
	at        diag.Pos
}

// matcher says for which tools a hook runs. The zero value is for every tool.
type matcher struct {
	exact []string
	re    *regexp.Regexp
}

// hooksOf returns modec's own among some hooks, and what one that does not hold lacks. Observed on 2.1.329: a hook
// that exits with 1, is missing or does not answer JSON changes nothing.
func (o *opener) hooksOf(list []format.Hook) (hooks []*listener, lack *contract.Lack) {
	for _, of := range list {
		h := o.hook(of.Command, of.At)
		if h == nil {
			continue
		}
		m, err := newMatcher(of.Matcher)
		switch {
		case err != nil:
			lack = o.lacks(of.MatcherAt, "the matcher of modec's hook is not an expression: it holds nothing")
		case of.Odd != "":
			lack = o.lacks(of.OddAt, "modec's hook has %q so that it holds nothing for sure", of.Odd)
		default:
			h.matcher, h.matcherAt = m, of.MatcherAt
			hooks = append(hooks, h)
		}
	}
	return hooks, lack
}

// lacks warns of what does not hold.
func (o *opener) lacks(at diag.Pos, format string, args ...any) *contract.Lack {
	o.warn(at, format, args...)
	return &contract.Lack{Why: fmt.Sprintf(format, args...), At: at}
}

var toolNames = regexp.MustCompile(`^[A-Za-z0-9_|]+$`)

// newMatcher reads a matcher. One of letters, digits and "|" names tools, any other is an
// expression that matches anywhere in a name. "" and "*" match every tool. Observed on
// 2.1.329.
func newMatcher(text string) (matcher, error) {
	switch {
	case text == "", text == "*":
		return matcher{}, nil
	case toolNames.MatchString(text):
		return matcher{exact: strings.Split(text, "|")}, nil
	}
	if _, err := ecma.Parse(text); err != nil {
		return matcher{}, err
	}
	re, err := regexp.Compile(text)
	return matcher{re: re}, err
}

func (m matcher) matches(tool string) bool {
	switch {
	case m.exact != nil:
		return slices.Contains(m.exact, tool)
	case m.re != nil:
		return m.re.MatchString(tool)
	}
	return true
}

// hook reads the line of a hook, nil where it holds nothing for sure.
func (o *opener) hook(line string, at diag.Pos) *listener {
	l, err := contract.ParseHookLine(line)
	switch {
	case err != nil && !strings.Contains(line, "modec"):
		o.diags.Notef(codeIgnored, at, "this hook is a person's own program: what it decides, modec does not know")
		return nil
	case err != nil:
		o.warn(at, "the hook is not modec's, so that it holds nothing for sure: %v", err)
		return nil
	case l.Agent != "claude":
		o.warn(at, "the hook is for %q, want claude", l.Agent)
		return nil
	case l.Observes:
		return nil
	case !l.FailClosed:
		o.warn(at, "the hook permits a call where modec is missing or fails: write `|| exit 2` after it")
		return nil
	}
	if l.Elsewhere(at.File) {
		o.warn(at, "the hook is about the folder %q: what it decides there, modec does not know", l.Root)
		return nil
	}
	h := &listener{at: at, mayAllow: l.MayAllow}
	if h.engine, h.ref, err = o.policy.Of(&l); err != nil {
		o.warn(at, "%v", err)
		h.engine, h.text = nil, "the hook"
		return h
	}
	h.text = "the hook of " + h.ref.String()
	return h
}

// ask lets the session's hooks answer, and combines that with what the rules say. Of
// several hooks the strictest counts. A deny holds. An ask lowers an allow rule, and
// dontAsk refuses it only where an ask rule asks too. An allow skips the question, but
// neither a deny or ask rule nor plan. Observed on 2.1.329.
func (s *session) ask(c *call, r ruling) ruling {
	if r.Decision == ir.Deny {
		return r // whatever they answer
	}
	var by *listener
	decision, modeAsks := ir.Allow, false
	for _, h := range s.hooks {
		if !h.matches(c.tool) {
			continue
		}
		d, answered := h.answer(c, s)
		if answered && (by == nil || d < decision) {
			by, decision = h, d
		}
		modeAsks = modeAsks || answered && d < ir.Allow && h.ref.Mode != ""
	}
	if by == nil {
		return r
	}
	switch {
	case decision == ir.Allow && (r.held || s.mode == format.Plan && c.changes()):
		return r
	case decision == ir.Ask && r.Decision == ir.Ask && r.rule:
		r.hooked = modeAsks
		return r
	}
	return ruling{Decision: decision, place: place{text: by.text, at: by.at}, held: r.held, rule: r.rule, hooked: true}
}

// changes reports whether plan asks about a call whatever a hook allows.
func (c *call) changes() bool {
	switch c.Group {
	case ir.Edit, ir.MCP:
		return true
	case ir.Command:
		return !c.line.readOnly()
	}
	return false
}

// payload returns that of Claude Code's PreToolUse, for a session in a folder.
func (c *call) payload(s *session, folder string) []byte {
	p := map[string]any{"hook_event_name": "PreToolUse", "permission_mode": s.mode, "cwd": folder, "tool_name": c.tool,
		"tool_input": c.input(folder)}
	if s.agent != "" {
		p["agent_type"] = s.agent
	}
	b, _ := json.Marshal(p) // texts and numbers
	return b
}

// answer returns what the hook says of a call. It reports false where the hook abstains.
func (h *listener) answer(c *call, s *session) (d ir.Decision, answered bool) {
	if h.engine == nil { // modec refuses
		return ir.Deny, true
	}
	var said answer
	if s.disk != nil {
		said = h.run(c.payload(s, s.disk.Root), *s.disk)
	} else {
		said = h.remembered(c.payload(s, root))
	}
	if said.refuses {
		return ir.Deny, true
	}
	return said.decision, said.answered
}

// answer is what a hook says of a payload.
type answer struct {
	refuses  bool // without an answer
	answered bool
	decision ir.Decision
}

// question is what an answer depends on where nothing is known of the disk.
type question struct {
	engine   *policy.Engine
	ref      ir.SubjectRef
	mayAllow bool
	payload  string
}

// answers are the last ones: sessions that start in several ways have the same hook.
var answers = cache.New[question, answer](4096)

// decisions are those behind them: of Bash and Monitor, say, which run the same line.
var decisions = contract.NewDecisions()

func (h *listener) remembered(payload []byte) answer {
	q := question{h.engine, h.ref, h.mayAllow, string(payload)}
	said, ok := answers.Get(q)
	if !ok {
		clean := func(p string) (string, error) { return path.Clean(p), nil }
		disk := contract.Disk{Root: root, Resolve: clean, Kept: decisions}
		said = h.run(payload, disk)
		answers.Put(q, said)
	}
	return said
}

// run runs the hook's entry point.
func (h *listener) run(payload []byte, disk contract.Disk) answer {
	req := contract.HookRequest{Payload: payload, Policy: h.engine, Subject: h.ref, MayAllow: h.mayAllow}
	a := hook.Answer(req.At(disk))
	if a.Exit != 0 {
		return answer{refuses: a.Exit == 2}
	}
	d, answered := read(a.Stdout)
	return answer{answered: answered, decision: d}
}

// read returns what a hook printed. It reports false where that is not a decision.
func read(stdout []byte) (d ir.Decision, answered bool) {
	var out struct {
		Specific struct {
			Event    string `json:"hookEventName"`
			Decision string `json:"permissionDecision"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal(stdout, &out) != nil || out.Specific.Event != "PreToolUse" {
		return 0, false
	}
	switch out.Specific.Decision {
	case "deny":
		return ir.Deny, true
	case "ask":
		return ir.Ask, true
	case "allow":
		return ir.Allow, true
	}
	return 0, false
}

// input returns what the agent writes into tool_input in a project's folder.
func (c *call) input(folder string) map[string]any {
	written := c.written
	elsewhere := folder == root && drive.MatchString(written) // where drives are: in the project of no system
	if c.file != nil && !elsewhere && !filepath.IsAbs(written) && !strings.HasPrefix(written, "/") &&
		!strings.HasPrefix(written, "~") {
		written = folder + "/" + written
	}
	switch c.tool {
	case "Read", "Edit", "Write":
		return map[string]any{"file_path": written}
	case "NotebookEdit":
		return map[string]any{"notebook_path": written}
	case "Grep", "Glob":
		return map[string]any{"pattern": "x", "path": written}
	case "LSP":
		return map[string]any{"operation": "hover", "filePath": written, "line": 1, "character": 1}
	case "Bash", "Monitor":
		return map[string]any{"command": c.Arg, "description": "x"}
	case "WebFetch":
		return map[string]any{"url": "https://" + bracketed(c.Arg) + "/", "prompt": "x"}
	case "Agent":
		return map[string]any{"description": "x", "prompt": "x", "subagent_type": c.subagent}
	case "Skill":
		return map[string]any{"skill": c.Arg}
	case "ReadMcpResourceTool":
		return map[string]any{"server": c.Server, "uri": c.Arg}
	}
	return map[string]any{}
}

// bracketed returns a host as a URL contains it: an address of IP version 6 in brackets.
func bracketed(host string) string {
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		return "[" + host + "]"
	}
	return host
}

// searchHole returns the search that shows what only a hook refuses to open. A search in
// the project's folder looks into every file that no Read rule denies. Observed on
// 2.1.329: Grep over the folder printed a line of a file that Read, and Grep of that file,
// were refused.
func (s *session) searchHole(a policy.Action, with *ruling) *contract.Hole {
	if a.Group != ir.Read || with.Decision != ir.Deny || !with.hooked {
		return nil
	}
	if s.disk != nil {
		a.Arg = s.disk.Written(a.Arg)
	}
	f := newFile(a.Arg)
	if !f.inside || matchPath(s.rules[ir.Deny].read, f) != nil {
		return nil
	}
	for _, tool := range []string{"Grep", "Glob"} {
		if !s.offered(tool) {
			continue
		}
		c := call{tool: tool, Action: policy.Action{Group: ir.Read, Arg: "."}, written: ".", file: newFile(".")}
		r := s.ask(&c, s.rule(&c))
		if d := s.confirmed(r); d > ir.Deny {
			why := tool + " over the project's folder looks into files that only the hook would refuse to open"
			return &contract.Hole{Decision: d, Why: why}
		}
	}
	return nil
}

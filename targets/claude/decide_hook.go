package claude

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
)

// listener is a line of modec's own in hooks.PreToolUse. What any other line
// answers is not known, and it is left out: it cannot hold anything back for
// sure.
type listener struct {
	exact    []string       // the matcher's tools
	re       *regexp.Regexp // the matcher as an expression; nil with exact nil: every tool
	engine   *policy.Engine // nil where the policy cannot be used: modec then refuses
	ref      ir.SubjectRef
	mayAllow bool
	at       diag.Pos
}

const hookText = "the hook"

// hooksOf reads hooks.PreToolUse. A matcher of letters, digits and | names
// tools, any other is an expression that matches anywhere in the name; "", "*"
// or none match every tool. Observed on 2.1.329; so is that a hook which exits
// with 1, is missing or answers no JSON changes nothing.
func (o *opener) hooksOf(v *located.Value) []*listener {
	var hooks []*listener
	for _, entry := range v.Get("PreToolUse").List() {
		h := listener{}
		matcher, _ := entry.Get("matcher").Str()
		switch {
		case matcher == "", matcher == "*":
		case plainMatcher.MatchString(matcher):
			h.exact = strings.Split(matcher, "|")
		default:
			re, err := regexp.Compile(matcher)
			if err != nil {
				o.warn(entry.Get("matcher").Line(), "got a matcher that is no expression: %v", err)
				continue
			}
			h.re = re
		}
		for _, c := range entry.Get("hooks").List() {
			line, ok := c.Get("command").Str()
			if kind, _ := c.Get("type").Str(); !ok || kind != "command" {
				continue
			}
			if one := o.hook(h, line, c.Get("command").Line()); one != nil {
				hooks = append(hooks, one)
			}
		}
	}
	return hooks
}

var plainMatcher = regexp.MustCompile(`^[A-Za-z0-9_|]+$`)

func (o *opener) hook(h listener, line string, at diag.Pos) *listener {
	l, err := contract.ParseHookLine(line)
	switch {
	case err != nil:
		o.warn(at, "got a hook of somebody else, which holds nothing for sure: %v", err)
		return nil
	case l.Agent != "claude":
		o.warn(at, "got a hook for %q, want claude", l.Agent)
		return nil
	case !l.FailClosed:
		o.warn(at, "got a hook that permits where modec is missing or fails, and holds nothing for sure: want `|| exit 2` after it")
		return nil
	}
	h.at, h.mayAllow = at, l.MayAllow
	model, ok := strings.CutPrefix(l.Model, "${CLAUDE_PROJECT_DIR}/")
	if !ok || model != ".modec/policy.json" {
		o.warn(at, "got the policy %q, want ${CLAUDE_PROJECT_DIR}/.modec/policy.json", l.Model)
		return &h
	}
	e := o.engine(path.Clean(model))
	if e == nil {
		o.warn(at, "got a policy that is not there or not readable: the hook refuses everything")
		return &h
	}
	ref, err := e.Project().ParseSubject(l.Subject, "")
	if err == nil {
		_, err = e.Subject(ref)
	}
	if err != nil {
		o.warn(at, "got a subject that the policy does not hold: %v", err)
		return &h
	}
	h.engine, h.ref = e, ref
	return &h
}

func (h *listener) asks(tool string) bool {
	switch {
	case h.exact != nil:
		for _, n := range h.exact {
			if n == tool {
				return true
			}
		}
		return false
	case h.re != nil:
		return h.re.MatchString(tool)
	}
	return true
}

// ask lets the session's hooks answer and combines that with what the rules
// say: of several hooks the strictest counts; a deny holds; an ask lowers an
// allow rule, and dontAsk refuses it only where an ask rule asks too; an allow
// skips the question, but neither a deny or ask rule nor plan. Observed on
// 2.1.329.
func (s *session) ask(c *call, r ruling) ruling {
	var by *listener
	decision := ir.Allow
	for _, h := range s.hooks {
		if !h.asks(c.tool) {
			continue
		}
		if d, answered := h.answer(c, s.mode); answered && (by == nil || d < decision) {
			by, decision = h, d
		}
	}
	if by == nil || r.Decision == ir.Deny {
		return r
	}
	said := ruling{Decision: decision, place: place{hookText + " of " + by.ref.String(), by.at}, held: r.held, rule: r.rule}
	switch {
	case decision == ir.Allow && (r.held || s.mode == "plan" && c.changes()):
		return r
	case decision == ir.Ask && r.Decision == ir.Ask && r.rule:
		return r
	}
	return said
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

// event is the payload of Claude Code's PreToolUse.
type event struct {
	Event string         `json:"hook_event_name"`
	Mode  string         `json:"permission_mode"`
	Cwd   string         `json:"cwd"`
	Tool  string         `json:"tool_name"`
	Input map[string]any `json:"tool_input"`
}

// answer runs the hook's entry point. answered is false where it abstains.
func (h *listener) answer(c *call, mode string) (d ir.Decision, answered bool) {
	if h.engine == nil {
		return ir.Deny, true
	}
	payload, err := json.Marshal(event{"PreToolUse", mode, root, c.tool, c.input()})
	if err != nil {
		return ir.Deny, true
	}
	a := claude{}.Hook(contract.HookRequest{Payload: payload, Policy: h.engine, Subject: h.ref, Root: root, MayAllow: h.mayAllow,
		Resolve: func(p string) (string, error) { return path.Clean(p), nil }})
	if a.Exit == 2 {
		return ir.Deny, true
	}
	var out struct {
		Specific struct {
			Decision string `json:"permissionDecision"`
		} `json:"hookSpecificOutput"`
	}
	if a.Exit != 0 || json.Unmarshal(a.Stdout, &out) != nil {
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

// input is what the agent puts into tool_input.
func (c *call) input() map[string]any {
	written := portable(c.Arg)
	if c.file != nil && !strings.HasPrefix(written, "/") && !strings.HasPrefix(written, "~") {
		written = root + "/" + written
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
		return map[string]any{"description": "x", "prompt": "x", "subagent_type": c.Arg}
	case "Skill":
		return map[string]any{"skill": c.Arg}
	case "ReadMcpResourceTool":
		return map[string]any{"server": c.Server, "uri": c.Arg}
	}
	return map[string]any{}
}

// bracketed writes an address of IP version 6 as a URL has it.
func bracketed(host string) string {
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		return "[" + host + "]"
	}
	return host
}

// searchHole: a search in the project's folder looks into every file that no
// Read rule denies, also into those that only the hook would refuse to open.
// Observed on 2.1.329: Grep over the folder printed a line of a file that Read,
// and Grep of that file, were refused.
func (s *session) searchHole(a policy.Action, with *ruling) *contract.Hole {
	if a.Group != ir.Read || with.Decision != ir.Deny || !with.hooked() {
		return nil
	}
	f := newFile(a.Arg)
	if !f.inside || matchPath(s.rules[ir.Deny].read, f) != nil {
		return nil
	}
	for _, tool := range []string{"Grep", "Glob"} {
		if !s.offered(tool) {
			continue
		}
		c := call{tool: tool, Action: policy.Action{Group: ir.Read, Arg: "."}, file: newFile(".")}
		r := s.ask(&c, s.rule(&c))
		if d := s.confirmed(r); d > ir.Deny {
			return &contract.Hole{Decision: d, Why: tool + " over the project's folder looks into files that only the hook would refuse to open"}
		}
	}
	return nil
}

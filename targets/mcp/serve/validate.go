package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// validateInput asks whether a tool may be used on something.
type validateInput struct {
	SessionID string `json:"session_id,omitempty" jsonschema:"the session that asks; or name a mode"`
	Mode      string `json:"mode,omitempty" jsonschema:"a mode's slug, without a session"`
	Role      string `json:"role,omitempty" jsonschema:"a role's name, alone or with the mode"`
	callInput
	Calls []callInput `json:"calls,omitempty" jsonschema:"several calls at once, in the place of the fields above"`
}

// callInput is a call that somebody asks about.
type callInput struct {
	ToolName   string `json:"tool_name,omitempty"` // described by validateFields
	FilePath   string `json:"file_path,omitempty" jsonschema:"the path that is read or edited, relative or absolute"`
	Command    string `json:"command,omitempty" jsonschema:"the line of a tool that runs commands"`
	Server     string `json:"server,omitempty" jsonschema:"the MCP server of use_mcp_tool, access_mcp_resource and mcp"`
	MCPTool    string `json:"mcp_tool,omitempty" jsonschema:"the tool of that server"`
	URL        string `json:"url,omitempty" jsonschema:"the address or host of a tool that fetches"`
	TargetMode string `json:"target_mode,omitempty" jsonschema:"the mode of switch_mode, new_task and Agent"`
}

// validateFields describes fields of validateInput at more length than a tag can.
var validateFields = map[string]string{
	"tool_name": "a tool of Roo Code (write_to_file, execute_command), of Claude Code (Edit, Bash, " +
		"mcp__SERVER__TOOL), or a group (read, edit, command, web, mcp, modes)",
}

// validateOutput is the answer: for several calls the lowest decision, and that of each.
type validateOutput struct {
	validated
	Calls []validated `json:"calls,omitempty" jsonschema:"the answer for each of the calls, in their order"`
}

// validated is the answer for a call.
type validated struct {
	Allowed          bool   `json:"allowed" jsonschema:"whether it may happen, perhaps after a person's approval"`
	Decision         string `json:"decision" jsonschema:"deny, ask or allow"`
	RequiresApproval bool   `json:"requires_approval" jsonschema:"whether a person has to approve it first"`
	ToolName         string `json:"tool_name,omitempty"`
	Mode             string `json:"mode,omitempty"`
	Role             string `json:"role,omitempty"`

	// Restriction is what refuses.
	Restriction string `json:"restriction,omitempty" jsonschema:"tool_group, file, command, host, server or mode"`
	Rule        string `json:"rule,omitempty" jsonschema:"the rule that decided"`
	Place       string `json:"place,omitempty" jsonschema:"where the rule is written"`
	Code        string `json:"code,omitempty" jsonschema:"TOOL_RESTRICTION_ERROR or FILE_RESTRICTION_ERROR, if refused"`
	SpecCode    int    `json:"spec_code,omitempty"`
	Reason      string `json:"reason" jsonschema:"the answer as a sentence"`

	// MissingArgument is set where the answer is about a whole group.
	MissingArgument string `json:"missing_argument,omitempty" jsonschema:"the argument without which a group is judged"`

	AllowedPatterns []string `json:"allowed_patterns,omitempty" jsonschema:"what the same tool may be used on"`
	AllowedInModes  []string `json:"allowed_in_modes,omitempty" jsonschema:"modes in which the call may happen"`

	about string // what a refusal is about, as its author wrote it
}

// words says the answer for a person and a model.
func (v *validated) words() string {
	name := "mode '" + v.Mode + "'"
	if v.Mode == "" {
		name = "role '" + v.Role + "'"
	}
	switch {
	case v.Allowed && v.RequiresApproval:
		return fmt.Sprintf("✓ Tool '%s' is allowed in %s after a person's approval\n\n%s.",
			v.ToolName, name, v.Reason)
	case v.Allowed:
		return fmt.Sprintf("✓ Tool '%s' is allowed in %s\n\n%s.", v.ToolName, name, v.Reason)
	}
	text := fmt.Sprintf("✗ Tool '%s' is restricted in %s\n\n", v.ToolName, name)
	if v.Restriction == "file" && len(v.AllowedPatterns) > 0 {
		text += fmt.Sprintf("File '%s' does not match allowed pattern: %s\n\n", v.about, listed(v.AllowedPatterns))
	} else if len(v.AllowedPatterns) > 0 {
		text += "Allowed is: " + listed(v.AllowedPatterns) + "\n\n"
	}
	text += v.Reason + "."
	if modes := v.AllowedInModes; len(modes) > 0 {
		text += "\nIt may happen in " + listed(modes) + ": use switch_mode first."
	}
	return text
}

func (o *validateOutput) words() string {
	if len(o.Calls) == 0 {
		return o.validated.words()
	}
	texts := []string{o.Reason + "."}
	for i := range o.Calls {
		texts = append(texts, fmt.Sprintf("%d. %s", i+1, o.Calls[i].words()))
	}
	return strings.Join(texts, "\n\n")
}

func (o *validateOutput) metadata() map[string]any {
	out := map[string]any{"allowed": o.Allowed, "tool_name": o.ToolName, "mode": o.Mode, "error": nil}
	if !o.Allowed {
		out["error"], out["restriction"] = o.Reason, o.Rule
		if len(o.AllowedPatterns) > 0 {
			out["restriction"] = strings.Join(o.AllowedPatterns, ", ")
		}
	}
	return out
}

// mostCalls is how many calls one question is about at most.
const mostCalls = 100

// validate answers a question about one call or several.
func (sc *scope) validate(_ context.Context, in validateInput) (*validateOutput, error) {
	m := sc.current()
	calls := in.Calls
	switch {
	case in.Calls != nil && len(calls) == 0 && in.callInput == callInput{}:
		return nil, failData(validationError, map[string]any{"field": "calls"},
			"validate_tool_use: got an empty list of calls, want one or more")
	case len(calls) == 0:
		calls = []callInput{in.callInput}
	case in.callInput != callInput{}:
		return nil, fail(validationError, "validate_tool_use: got tool_name and calls, want one of them")
	case len(calls) > mostCalls:
		return nil, fail(limitReached, "got %d calls, want at most %d", len(calls), mostCalls)
	}
	for i, c := range calls {
		if field := "tool_name"; c.ToolName == "" {
			if len(in.Calls) > 0 {
				field = fmt.Sprintf("calls[%d].tool_name", i)
			}
			return nil, failData(validationError, map[string]any{"field": field},
				"validate_tool_use: got no %s, want a tool of an agent, or a group", field)
		}
	}
	ref, s, err := sc.subject(m, in.SessionID, in.Mode, in.Role)
	no, isRefusal := errors.AsType[*refused](err)
	if err != nil && !isRefusal {
		return nil, err
	}
	out := &validateOutput{}
	for _, c := range calls {
		var v *validated
		var j judgement
		start := time.Now()
		if isRefusal {
			j = judgement{no.Result, "mode"}
			v = answer(ref, &c, j)
		} else {
			if j, err = m.judge(ref, s, &c); err != nil {
				return nil, err
			}
			if v = answer(ref, &c, j); !v.Allowed {
				sc.instead(m, ref, s, &c, v)
			} else if v.MissingArgument = m.missing(&c); v.MissingArgument != "" {
				v.Reason += "; this is about all that the tool may do, since the call has no " + v.MissingArgument
			}
		}
		if !v.Allowed {
			sc.opt.Logger.Info("a call is refused", "tool", c.ToolName, "subject", ref.String(), "rule", v.Rule)
		}
		sc.record(m, ref, c.ToolName, c, j.Result, start)
		out.Calls = append(out.Calls, *v)
	}
	if len(in.Calls) == 0 {
		return &validateOutput{validated: out.Calls[0]}, nil
	}
	out.join(ref)
	return out, nil
}

// join sums several answers up: all may happen, or one of them decides.
func (o *validateOutput) join(ref ir.SubjectRef) {
	o.validated = validated{Allowed: true, Decision: ir.Allow.String(), Mode: ref.Mode, Role: ref.Role}
	refused := 0
	for _, c := range o.Calls {
		switch {
		case !c.Allowed:
			if refused++; o.Allowed {
				o.Rule, o.Place, o.Code, o.SpecCode, o.Restriction = c.Rule, c.Place, c.Code, c.SpecCode, c.Restriction
			}
			o.Allowed, o.Decision = false, c.Decision
		case c.RequiresApproval && o.Allowed:
			o.Decision = c.Decision
		}
	}
	o.RequiresApproval = o.Allowed && o.Decision == ir.Ask.String()
	if o.Reason = fmt.Sprintf("All of the %d calls may happen", len(o.Calls)); refused > 0 {
		o.Reason = fmt.Sprintf("%d of the %d calls are refused", refused, len(o.Calls))
	}
}

// instead says what a refused call may be used on, and in which other modes it may happen.
func (sc *scope) instead(m *Model, ref ir.SubjectRef, s *policy.Subject, in *callInput, out *validated) {
	t, _, _ := m.tool(in.ToolName)
	out.about = object(in)
	switch t.Group {
	case "":
	case ir.MCP:
		out.AllowedPatterns = m.allowedTools(s)
	case ir.Modes:
		for _, slug := range m.Project.ModeNames() {
			if s.Decide(policy.Action{Group: ir.Modes, Arg: slug}).Decision > ir.Deny {
				out.AllowedPatterns = append(out.AllowedPatterns, slug)
			}
		}
	default:
		if rules := byRule(s, t.Group); s.Default(t.Group).Decision == ir.Deny {
			out.AllowedPatterns = slices.Concat(rules[ir.Allow], rules[ir.Ask])
		}
	}
	if ref.Mode == "" || sc.mode != "" {
		return
	}
	for i := range m.Project.Modes {
		slug := m.Project.Modes[i].Slug
		if slug == ref.Mode || enters(m, ref.Role, slug) != nil || handsOver(m, ref, slug) != nil {
			continue
		}
		other := ir.SubjectRef{Mode: slug, Role: ref.Role}
		s, err := m.Policy.Subject(other)
		if err != nil {
			continue
		}
		if j, err := m.judge(other, s, in); err == nil && j.Decision > ir.Deny {
			out.AllowedInModes = append(out.AllowedInModes, slug)
		}
		if len(out.AllowedInModes) == mostNamed {
			break
		}
	}
}

// allowedTools are the tools of servers that a subject may use, as SERVER:TOOL.
func (m *Model) allowedTools(s *policy.Subject) (out []string) {
	for _, name := range m.servers(s) {
		rules := serverRules(s, m.Project.Server(name))
		for _, t := range rules.Tools {
			if t.Decision != ir.Deny.String() {
				out = append(out, name+":"+t.Name)
			}
		}
		if rules.OtherTools != ir.Deny.String() {
			out = append(out, name+":*")
		}
	}
	return out
}

// tool describes a tool by the name that any agent has for it, or a group by its own
// name; judge is the target that judges calls of it, nil where the policy does.
func (m *Model) tool(name string) (t contract.Tool, judge contract.ToolJudge, known bool) {
	if name == "browser" {
		return contract.Tool{Group: ir.Web}, nil, true
	}
	if slices.Contains(ir.Groups, ir.Group(name)) {
		return contract.Tool{Group: ir.Group(name)}, nil, true
	}
	for _, target := range m.targets {
		if tools, ok := target.(contract.Tools); ok {
			if t, known = tools.Tool(name); known {
				judge, _ = target.(contract.ToolJudge)
				return t, judge, true
			}
		}
	}
	return t, nil, false
}

// judgement is a decision and what kind of argument it was about.
type judgement struct {
	policy.Result
	about string // tool_group, file, command, host, server or mode
}

// judge decides a question for a subject. What is refused with the whole group is the
// group's restriction.
func (m *Model) judge(ref ir.SubjectRef, s *policy.Subject, in *callInput) (judgement, error) {
	j, err := m.judgeCall(ref, s, in)
	if t, _, _ := m.tool(in.ToolName); err == nil && t.Group != "" && j.Decision == ir.Deny {
		if r, _ := m.most(ref, s, t.Group); r.Decision == ir.Deny {
			j.about = "tool_group"
		}
	}
	return j, err
}

// about names what an argument of a group is.
var about = map[ir.Group]string{
	"":         "tool_group",
	ir.Read:    "file",
	ir.Edit:    "file",
	ir.Command: "command",
	ir.Web:     "host",
	ir.MCP:     "server",
	ir.Modes:   "mode",
}

// judgeCall judges a call as the agent's hook does where its target can, and else as the
// policy says.
func (m *Model) judgeCall(ref ir.SubjectRef, s *policy.Subject, in *callInput) (judgement, error) {
	t, judge, known := m.tool(in.ToolName)
	if !known {
		return judgement{s.UnknownTool(), "tool_group"}, nil
	}
	if err := in.check(t.Group); err != nil {
		return judgement{}, err
	}
	if judge == nil {
		return m.judgeNeutral(ref, s, t, in)
	}
	if !t.Unnamed && !in.names(t.Group) {
		return judgement{m.whole(ref, s, t.Group), "tool_group"}, nil
	}
	req := contract.HookRequest{Policy: m.Policy, Subject: ref, Root: m.root(), Resolve: m.resolve, AnyArgs: true}
	if m.Root != "" {
		req.Home, req.Same, req.Folds = m.Home, contract.SameFolder, true
	}
	r, err := judge.JudgeTool(req, in.call(t.Group))
	return judgement{r, about[t.Group]}, err
}

// check refuses arguments that no tool of a group can have.
func (in *callInput) check(g ir.Group) error {
	if strings.ContainsRune(in.FilePath, 0) {
		return fail(validationError, "got a NUL in file_path, want a path")
	}
	if in.URL != "" && g == ir.Web {
		if _, ok := contract.WebHost(in.URL); !ok {
			return fail(validationError, "got the url %q, want an address with a host, of http or https", in.URL)
		}
	}
	return nil
}

// names reports whether a question names what a tool of a group is to be used on.
func (in *callInput) names(g ir.Group) bool {
	return in.call(g) != contract.ToolCall{Tool: in.ToolName}
}

// arguments name what a tool of a group is used on.
var arguments = map[ir.Group]string{ir.Read: "file_path", ir.Edit: "file_path", ir.Command: "command", ir.Web: "url",
	ir.MCP: "server", ir.Modes: "target_mode"}

// missing returns the argument that a question about a tool leaves out; "" where there is none.
func (m *Model) missing(in *callInput) string {
	t, _, known := m.tool(in.ToolName)
	if !known || t.Group == "" || t.Unnamed || in.names(t.Group) {
		return ""
	}
	return arguments[t.Group]
}

// call returns the question as a call of a tool of a group.
func (in *callInput) call(g ir.Group) contract.ToolCall {
	c := contract.ToolCall{Tool: in.ToolName}
	switch g {
	case ir.Read, ir.Edit:
		c.Path = in.FilePath
	case ir.Command:
		c.Command = in.Command
	case ir.Web:
		c.URL = in.URL
	case ir.Modes:
		c.Mode = in.TargetMode
	case ir.MCP:
		c.Server = in.Server
	}
	return c
}

// judgeNeutral judges a call by the policy alone.
func (m *Model) judgeNeutral(
	ref ir.SubjectRef, s *policy.Subject, t contract.Tool, in *callInput,
) (judgement, error) {
	decide := func(a policy.Action) (judgement, error) { return judgement{s.Decide(a), about[a.Group]}, nil }
	switch g := t.Group; {
	case g == "":
		return judgement{policy.Result{Decision: ir.Allow, Rule: "a tool that touches nothing"}, about[g]}, nil
	case (g == ir.Read || g == ir.Edit) && t.Searches:
		return judgement{m.below(s, g, cmp.Or(in.FilePath, ".")), about[g]}, nil
	case (g == ir.Read || g == ir.Edit) && in.FilePath != "":
		return judgement{m.at(s, policy.Action{Group: g, Arg: in.FilePath}), about[g]}, nil
	case g == ir.Command && in.Command != "":
		return judgement{m.at(s, policy.Action{Group: g, Arg: in.Command}), about[g]}, nil
	case g == ir.Web && in.URL != "":
		host, _ := contract.WebHost(in.URL)
		return decide(policy.Action{Group: g, Arg: host})
	case g == ir.Modes && in.TargetMode != "":
		return decide(policy.Action{Group: g, Arg: in.TargetMode})
	case g == ir.MCP && in.Server == "" && in.MCPTool != "":
		return judgement{}, fail(validationError, "got mcp_tool %q without a server, want both", in.MCPTool)
	case g == ir.MCP && in.Server != "" && in.ToolName == "access_mcp_resource":
		return decide(policy.Action{Group: g, Kind: policy.Resource, Server: in.Server, Arg: "*"})
	case g == ir.MCP && in.Server != "" && in.MCPTool != "":
		return decide(policy.Action{Group: g, Server: in.Server, Arg: in.MCPTool})
	case g == ir.MCP && in.Server != "":
		return judgement{m.someOf(s, in.Server), about[g]}, nil
	}
	return judgement{m.whole(ref, s, t.Group), "tool_group"}, nil
}

// below decides a tool that looks below a folder: an ask where some of it may not be
// read unasked.
func (m *Model) below(s *policy.Subject, g ir.Group, folder string) policy.Result {
	r := m.at(s, policy.Action{Group: g, Arg: folder})
	if r.Decision == ir.Allow && s.Restricts(g) {
		r.Decision, r.Rule = ir.Ask, r.Rule+", and some of what is below may not be read"
	}
	return r
}

// root returns the folder that paths are relative to.
func (m *Model) root() string {
	if m.Root != "" {
		return m.Root
	}
	return filepath.FromSlash("/") + "modec-project" // no path of a disk: nothing is resolved then
}

// resolve follows links, those of the project's own folder once.
func (m *Model) resolve(p string) (string, error) {
	switch m.Root {
	case "":
		return filepath.Clean(p), nil
	case p:
		return m.realRoot()
	}
	return contract.ResolveLinks(p)
}

// at decides an action at the disk where the project's folder is known, so that a link does
// not lead past a rule.
func (m *Model) at(s *policy.Subject, a policy.Action) policy.Result {
	if m.Root == "" {
		return s.Decide(a)
	}
	d := contract.Disk{Root: m.Root, Home: m.Home, Resolve: m.resolve, Same: contract.SameFolder,
		Folds: true}
	return d.Decide(s, a, m.Root)
}

// whole answers a question that does not name what the tool is to be used on: it is an
// ask where a rule allows some of the group, and an allow where all of it is allowed.
func (m *Model) whole(ref ir.SubjectRef, s *policy.Subject, g ir.Group) policy.Result {
	r, all := m.most(ref, s, g)
	if r.Decision == ir.Allow && !all {
		r.Decision, r.Rule = ir.Ask, r.Rule+", of some of it"
	}
	return r
}

// someOf returns the most that may happen with a tool of a server. Where some tools are
// allowed and others are not, that is an ask.
func (m *Model) someOf(s *policy.Subject, server string) policy.Result {
	names := []string{contract.UnknownTool}
	if sv := m.Project.Server(server); sv != nil {
		for _, t := range sv.Tools {
			names = append(names, t.Name)
		}
	}
	best, all := policy.Result{}, true
	for i, n := range names {
		r := s.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: n})
		if all = all && r.Decision == ir.Allow; i == 0 || r.Decision > best.Decision {
			best = r
		}
	}
	if best.Decision == ir.Allow && !all {
		best.Decision, best.Rule = ir.Ask, best.Rule+", of some of it"
	}
	return best
}

var verbs = map[ir.Decision]string{
	ir.Deny:  "may not use",
	ir.Ask:   "may use, after a person's approval,",
	ir.Allow: "may use",
	ir.Agent: "leaves it to the agent itself whether to use",
}

// answer writes a judgement as the tool's output. What is left to the agent is an ask: what
// the agent does with it by itself is not known here.
func answer(ref ir.SubjectRef, in *callInput, j judgement) *validated {
	decision := j.Decision
	if decision == ir.Agent {
		decision = ir.Ask
	}
	out := &validated{
		Allowed:          decision > ir.Deny,
		Decision:         decision.String(),
		RequiresApproval: decision == ir.Ask,
		ToolName:         in.ToolName,
		Mode:             ref.Mode,
		Role:             ref.Role,
		Rule:             ruleText(j.Result),
		Place:            j.Pos.String(),
	}
	out.Reason = ref.String() + " " + verbs[j.Decision] + " " + in.ToolName
	if on := object(in); on != "" {
		out.Reason += " on " + on
	}
	out.Reason += ", by " + out.Rule
	if out.Place != "" {
		out.Reason += " (" + out.Place + ")"
	}
	if !out.Allowed {
		c := toolRestriction
		if j.about == "file" {
			c = fileRestriction
		}
		out.Restriction, out.Code, out.SpecCode = j.about, string(c), specCodes[c]
	}
	return out
}

func ruleText(r policy.Result) string {
	if r.From != "" {
		return r.Explanation() + " of " + r.From
	}
	return r.Explanation()
}

// object returns what a question is about, as its author wrote it.
func object(in *callInput) string {
	switch {
	case in.FilePath != "":
		return in.FilePath
	case in.Command != "":
		return in.Command
	case in.Server != "" && in.MCPTool != "":
		return in.Server + ":" + in.MCPTool
	case in.Server != "":
		return in.Server
	case in.URL != "":
		return in.URL
	}
	return in.TargetMode
}

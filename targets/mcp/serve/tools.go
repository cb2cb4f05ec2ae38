package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// tool is a tool with typed input and output. An error of the handler becomes an error of
// the protocol. A policy's refusal comes with an output and becomes a result with isError,
// so that the model sees it.
type tool[In, Out any] struct {
	name, title, doc string
	fields           map[string]string   // descriptions of the input's fields, beside their tags
	enums            map[string][]string // the only values of fields of the input, or of its items: "calls.tool"
	writes           bool                // changes the source
	handle           func(context.Context, In) (*Out, error)
	failed           func(*Out, *refusal) bool // whether an output is a refusal; nil: never
}

// shape is the schemas of a tool, inferred once in a process.
type shape struct{ in, out *jsonschema.Schema }

var shapes sync.Map // the tool's name → *shape

func shapeOf[In, Out any](t tool[In, Out]) *shape {
	if s, ok := shapes.Load(t.name); ok {
		return s.(*shape)
	}
	s := &shape{in: schemaFor[In](), out: schemaFor[Out]()}
	for name, text := range t.fields {
		s.in.Properties[name].Description = text
	}
	for name, values := range t.enums {
		of := s.in
		if list, field, ok := strings.Cut(name, "."); ok { // of the items of a list
			of, name = s.in.Properties[list].Items, field
		}
		enumerate(of.Properties[name], values)
	}
	for _, name := range s.in.Required {
		if p := s.in.Properties[name]; p.Type == "string" {
			one := 1
			p.MinLength = &one
		}
	}
	s.in.AdditionalProperties = nil // what a tool does not have, it ignores with a warning
	s.out.Properties[warningsField] = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"},
		Description: "arguments that were ignored"}
	fixed(s.out)
	shapes.Store(t.name, s)
	return s
}

// warningsField is the member of every output that names ignored arguments.
const warningsField = "warnings"

func enumerate(s *jsonschema.Schema, values []string) {
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
}

// outputs are the values that fields of outputs have, the only ones.
var outputs = map[string][]string{
	"source": {FromProject, FromGlobal, FromBuiltin},
	"status": {string(Active), string(Completed), string(Failed), string(Cancelled)},
	"state":  {statePending, string(Completed), string(Failed), string(Cancelled)},
}

// fixed adds the values of the fields of an output.
func fixed(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	for name, p := range s.Properties {
		if p.Type == "string" && outputs[name] != nil {
			enumerate(p, outputs[name])
		}
		fixed(p)
	}
	fixed(s.Items)
	fixed(s.AdditionalProperties)
}

func schemaFor[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err)
	}
	portable(s)
	return s
}

// portable makes the type of a slice a list. Inference allows null too, which some models'
// dialects cannot read, and modec never writes null.
func portable(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, p := range s.Properties {
		portable(p)
	}
	portable(s.Items)
	portable(s.AdditionalProperties)
}

// add registers a tool. decode validates the input by the schema; the output fits its
// schema because of its type.
func add[In, Out any](sc *scope, t tool[In, Out]) {
	sh := shapeOf(t)
	t.handle = recorded(sc, t.name, t.handle)
	sc.sdk.AddTool(&sdk.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  t.doc,
		InputSchema:  sh.in,
		OutputSchema: sh.out,
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint:    !t.writes,
			IdempotentHint:  !t.writes,
			OpenWorldHint:   new(bool),
			DestructiveHint: &t.writes,
		},
	}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in In
		warnings, err := decode(t.name, sh.in, req.Params.Arguments, &in)
		if err != nil {
			return nil, err
		}
		for _, w := range warnings {
			sc.opt.Logger.Warn("an argument was ignored", "tool", t.name, "warning", w)
		}
		return t.answer(ctx, in, warnings)
	})
}

// worded is an output that says itself in words, for a model and as the modes-server specification has it.
type worded interface{ words() string }

// noted is an output with the metadata of the modes-server specification.
type noted interface{ metadata() map[string]any }

// answer calls the handler and writes what it returns as a result or an error of the
// protocol.
func (t *tool[In, Out]) answer(ctx context.Context, in In, warnings []string) (*sdk.CallToolResult, error) {
	out, err := t.handle(ctx, in)
	no, isRefusal := errors.AsType[*refused](err)
	switch {
	case isRefusal && out == nil: // the refusal is all that there is to answer
		b, err := json.Marshal(no.refusal)
		return &sdk.CallToolResult{
			IsError: true,
			Content: []sdk.Content{&sdk.TextContent{Text: no.words()}, &sdk.TextContent{Text: string(b)}},
		}, err
	case err != nil && !isRefusal:
		return nil, wire(err)
	}
	var why *refusal
	if isRefusal {
		why = &no.refusal
	}
	res := &sdk.CallToolResult{IsError: t.failed != nil && t.failed(out, why)}
	b, err := json.Marshal(out)
	if err == nil && len(warnings) > 0 {
		var list []byte
		list, err = json.Marshal(warnings)
		b = fmt.Appendf(bytes.TrimSuffix(b, []byte("}")), `,"%s":%s}`, warningsField, list)
		b = bytes.Replace(b, []byte("{,"), []byte("{"), 1)
	}
	if err != nil {
		return nil, fail(internalError, "%v", err)
	}
	res.StructuredContent = json.RawMessage(b)
	if w, ok := any(out).(worded); ok {
		res.Content = append(res.Content, &sdk.TextContent{Text: strings.TrimRight(w.words(), "\n")})
	}
	for _, w := range warnings {
		res.Content = append(res.Content, &sdk.TextContent{Text: "Warning: " + w})
	}
	res.Content = append(res.Content, &sdk.TextContent{Text: string(b)})
	if n, ok := any(out).(noted); ok {
		res.Meta = sdk.Meta{metadataKey: n.metadata()}
	}
	return res, nil
}

// metadataKey is where a tool's handler leaves the metadata of its result until withMetadata puts it in place.
const metadataKey = "modec.dev/metadata"

// result is that of a tool, with the metadata of the modes-server specification beside what the protocol has.
type result struct {
	*sdk.CallToolResult
	metadata any
}

// texts is the result of reading a resource, with a text where it is empty: the SDK leaves it out.
type texts struct{ *sdk.ReadResourceResult }

// MarshalJSON writes the result of the protocol, each of whose contents has a text.
func (t *texts) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(t.ReadResourceResult)
	if err != nil {
		return nil, err
	}
	var out map[string]json.RawMessage
	var contents []map[string]json.RawMessage
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(out["contents"], &contents); err != nil {
		return nil, err
	}
	for _, c := range contents {
		if c["text"] == nil {
			c["text"] = json.RawMessage(`""`)
		}
	}
	if out["contents"], err = json.Marshal(contents); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// withMetadata puts the metadata of a result in its place.
func withMetadata(res sdk.Result) sdk.Result {
	if r, ok := res.(*sdk.ReadResourceResult); ok && r != nil {
		for _, c := range r.Contents {
			if c.Text == "" {
				return &texts{r}
			}
		}
		return res
	}
	r, ok := res.(*sdk.CallToolResult)
	if !ok || r == nil || r.Meta[metadataKey] == nil {
		return res
	}
	out := &result{r, r.Meta[metadataKey]}
	delete(r.Meta, metadataKey)
	return out
}

// MarshalJSON writes the result of the protocol and the metadata.
func (r *result) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(r.CallToolResult)
	if err != nil {
		return nil, err
	}
	more, err := json.Marshal(r.metadata)
	return fmt.Appendf(bytes.TrimSuffix(b, []byte("}")), `,"metadata":%s}`, more), err
}

// wire returns any error as an error of the protocol.
func wire(err error) error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	return fail(internalError, "%v", err)
}

// tools registers every tool.
func (sc *scope) tools() {
	sc.modeTools()
	sc.taskTools()
	sc.policyTools()
	if sc.opt.Verify != nil {
		add(sc, tool[struct{}, Verification]{
			name:  "verify",
			title: "Prove the artifacts",
			doc: "Compiles the project in memory and compares every artifact with the source, decision by " +
				"decision. Nothing may be wider.",
			handle: sc.verify,
			failed: func(v *Verification, _ *refusal) bool { return v.Wider > 0 },
		})
	}
	if sc.opt.Writer != nil {
		sc.writers()
	}
}

// modeTools registers the tools that describe modes, roles and servers.
func (sc *scope) modeTools() {
	add(sc, tool[listModesInput, listModesOutput]{
		name:  "list_modes",
		title: "List modes",
		doc: "Lists the modes of the project, the user and modec, with where each comes from and what " +
			"restricts it.",
		enums:  map[string][]string{"source": {FromBuiltin, FromGlobal, FromProject, "all"}},
		handle: sc.listModes,
	})
	add(sc, tool[modeInfoInput, modeInfo]{
		name:  "get_mode_info",
		title: "Describe a mode",
		doc: "Describes what a mode is for and what it may do: tool groups, restrictions of files, MCP servers, " +
			"and its system prompt on demand.",
		handle: sc.modeInfo,
	})
	add(sc, tool[listRolesInput, listRolesOutput]{
		name:  "list_roles",
		title: "List roles",
		doc: "Lists the roles of the project, sorted by name: each as it was written or set, with the flags " +
			"of Claude Code that it is compiled to.",
		handle: sc.listRoles,
	})
	add(sc, tool[serversInput, serversOutput]{
		name:  "list_servers_for_mode",
		title: "List the servers of a mode",
		doc: "Lists the MCP servers of which a mode may use anything, with their tools and the decision for " +
			"each tool.",
		handle: sc.serversForMode,
	})
}

// taskTools registers the tools that start, change and end tasks.
func (sc *scope) taskTools() {
	add(sc, tool[createTaskInput, createTaskOutput]{
		name:  "create_task",
		title: "Start a task",
		doc: "Starts a task in a mode and returns a session's handle. A role that may not work in the mode " +
			"is refused.",
		handle: sc.createTask,
		failed: func(o *createTaskOutput, r *refusal) bool { o.Refused = r; return r != nil },
	})
	add(sc, tool[switchModeInput, switchModeOutput]{
		name:  "switch_mode",
		title: "Switch the mode",
		doc: "Continues a task in another mode, and lists the tool groups that it gains and loses. A mode that " +
			"the role may not enter is refused.",
		handle: sc.switchMode,
		failed: func(o *switchModeOutput, r *refusal) bool { o.Refused = r; return r != nil },
	})
	add(sc, tool[taskInfoInput, taskInfoOutput]{
		name:  "get_task_info",
		title: "Describe a task",
		doc: "Returns the state of a task: its mode and how it came there. On demand also its messages and the " +
			"tasks above and below.",
		handle: sc.taskInfo,
	})
	add(sc, tool[completeTaskInput, completeTaskOutput]{
		name:   "complete_task",
		title:  "End a task",
		doc:    "Ends a task as completed, failed or cancelled.",
		enums:  map[string][]string{"status": {string(Completed), string(Failed), string(Cancelled)}},
		handle: sc.completeTask,
	})
}

// policyTools registers the tools that decide and explain.
func (sc *scope) policyTools() {
	add(sc, tool[validateInput, validateOutput]{
		name:  "validate_tool_use",
		title: "May this tool be used",
		doc: "Decides whether a session, a mode or a role may use a tool on a path, a command, a server or a host. " +
			"Returns the rule that decides and where it is written. What is refused is an error result: do not " +
			"attempt it in another way.",
		fields: validateFields,
		handle: sc.validate,
		failed: func(o *validateOutput, _ *refusal) bool { return !o.Allowed },
	})
	add(sc, tool[restrictionsInput, restrictionsOutput]{
		name:  "validate_restrictions",
		title: "Check MCP restrictions",
		doc: "Checks a mode's MCP restrictions before they are written: contradictions, names that the inventory " +
			"does not have, whether the project compiles with them and permits no more, and what they would leave " +
			"available.",
		handle: sc.validateRestrictions,
	})
	add(sc, tool[explainInput, explainOutput]{
		name:  "explain",
		title: "Explain a decision",
		doc: "Decides what a mode or a role may do with an action (read, edit, command, web, mcp, modes). Returns " +
			"the rule that decides and the other rules of the group.",
		handle: sc.explain,
	})
}

// verify proves the artifacts, for one caller at a time.
func (sc *scope) verify(ctx context.Context, _ struct{}) (*Verification, error) {
	if !sc.proving.TryLock() {
		return nil, fail(limitReached, "another verification is running; ask again when it is done")
	}
	defer sc.proving.Unlock()
	v, err := sc.opt.Verify(ctx)
	if err != nil {
		return nil, fail(validationError, "%v", err)
	}
	return v, nil
}

type listModesInput struct {
	Source string `json:"source,omitempty" jsonschema:"builtin, global, project or all (the default)"`
}

type listModesOutput struct {
	Modes []modeBrief `json:"modes"`
	// Broken is set where the source on the disk does not compile: the last one that did is served.
	Broken string `json:"broken,omitempty" jsonschema:"why the source on the disk is not served: an older one is"`
}

type modeBrief struct {
	Slug        string   `json:"slug"`
	Name        string   `json:"name"`
	Source      string   `json:"source"`
	Description string   `json:"description,omitempty"`
	WhenToUse   string   `json:"when_to_use,omitempty"`
	Groups      []string `json:"groups" jsonschema:"the tool groups in which the mode may do anything"`
	// Limits say what restricts a group, by its name; the whole is in get_mode_info.
	Limits map[string]string `json:"limits" jsonschema:"what of a group may be done, where not all of it may"`

	brief []string // the groups in words
}

func (sc *scope) listModes(_ context.Context, in listModesInput) (*listModesOutput, error) {
	m := sc.current()
	out := &listModesOutput{Modes: []modeBrief{}}
	if why := sc.broken.Load(); why != nil {
		out.Broken = *why
	}
	for i := range m.Project.Modes {
		md := &m.Project.Modes[i]
		source := m.Source(md.Slug)
		if in.Source != "" && in.Source != "all" && in.Source != source {
			continue
		}
		i, err := m.info(md)
		if err != nil {
			return nil, err
		}
		b := modeBrief{Slug: md.Slug, Name: md.Name, Source: source, Description: md.Description,
			WhenToUse: md.WhenToUse, Groups: []string{}, Limits: map[string]string{}, brief: i.ToolGroups.enabled()}
		for _, g := range ir.Groups {
			t := i.ToolGroups[specGroup(g)]
			if t.Enabled {
				b.Groups = append(b.Groups, string(g))
			}
			if t.Limits != "" {
				b.Limits[string(g)] = t.Limits
			}
		}
		out.Modes = append(out.Modes, b)
	}
	return out, nil
}

type modeInfoInput struct {
	ModeSlug            string `json:"mode_slug"`
	IncludeSystemPrompt bool   `json:"include_system_prompt,omitempty"`
}

func (sc *scope) modeInfo(_ context.Context, in modeInfoInput) (*modeInfo, error) {
	m := sc.current()
	md, err := mode(m, in.ModeSlug)
	if err != nil {
		return nil, err
	}
	if in.IncludeSystemPrompt {
		return m.infoWithPrompt(md)
	}
	return m.info(md)
}

// subject returns whom a question is about, with what decides for it. It refuses a role
// in a mode that the role may not enter.
func (sc *scope) subject(m *Model, session, slug, name string) (ir.SubjectRef, *policy.Subject, error) {
	ref, err := sc.asked(m, session, slug, name)
	if err != nil {
		return ref, nil, err
	}
	if err := enters(m, ref.Role, ref.Mode); err != nil {
		return ref, nil, err
	}
	s, err := m.Policy.Subject(ref)
	if err != nil {
		return ref, nil, fail(modeNotFound, "%v", err)
	}
	return ref, s, nil
}

// asked returns whom a question is about: a session, or a mode, a role or both, and else
// whom the server fixes.
func (sc *scope) asked(m *Model, session, slug, name string) (ir.SubjectRef, error) {
	var ref ir.SubjectRef
	if session != "" {
		if slug != "" || name != "" {
			return ref, fail(validationError, "got a session_id and a mode or a role, want one of them")
		}
		s, err := sc.session(session)
		if err != nil {
			return ref, err
		}
		if s.Status != Active {
			return ref, fail(validationError, "got a session that is %s, want one that is active", s.Status)
		}
		slug, name = s.Mode, s.Role
	}
	if sc.mode != "" && slug != "" && slug != sc.mode {
		return ref, fail(validationError, "got mode %q, want %q: the endpoint fixes the mode", slug, sc.mode)
	}
	if sc.opt.Role != "" && name != "" && name != sc.opt.Role {
		return ref, fail(validationError, "got role %q, want %q: the server fixes the role", name, sc.opt.Role)
	}
	if slug == "" && (name == "" || sc.mode != "") {
		slug = sc.mode
	}
	if name == "" {
		name = sc.opt.Role
	}
	if slug == "" && name == "" {
		return ref, fail(validationError, "got neither session_id nor mode nor role, want one of them")
	}
	if slug != "" {
		if _, err := mode(m, slug); err != nil {
			return ref, err
		}
	}
	if name != "" {
		if err := checkRole(m, name); err != nil {
			return ref, err
		}
	}
	return ir.SubjectRef{Mode: slug, Role: name}, nil
}

type serversInput struct {
	ModeSlug string `json:"mode_slug"`
	Role     string `json:"role,omitempty" jsonschema:"a role that works in the mode"`
}

type serversOutput struct {
	ModeSlug string       `json:"mode_slug"`
	Servers  []modeServer `json:"servers"`
}

type modeServer struct {
	Name           string     `json:"name"`
	DefaultEnabled bool       `json:"default_enabled"`
	Tools          []toolRule `json:"tools"`
	OtherTools     string     `json:"other_tools" jsonschema:"the decision for tools that the inventory does not list"`
}

type toolRule struct {
	Name     string `json:"name"`
	Decision string `json:"decision" jsonschema:"deny, ask, allow, or agent: the agent itself decides"`
	Rule     string `json:"rule"`
}

func (sc *scope) serversForMode(_ context.Context, in serversInput) (*serversOutput, error) {
	m := sc.current()
	ref, s, err := sc.subject(m, "", in.ModeSlug, in.Role)
	if err != nil {
		return nil, err
	}
	out := &serversOutput{ModeSlug: ref.Mode, Servers: []modeServer{}}
	for _, name := range m.servers(s) {
		out.Servers = append(out.Servers, serverRules(s, m.Project.Server(name)))
	}
	return out, nil
}

type explainInput struct {
	Mode   string `json:"mode,omitempty" jsonschema:"a mode's slug"`
	Role   string `json:"role,omitempty" jsonschema:"a role's name, alone or in the mode"`
	Action string `json:"action" jsonschema:"read, edit, command, web, mcp, modes or unknown"`
	Arg    string `json:"arg" jsonschema:"a path, a line, a host, SERVER:TOOL or a mode's slug"`
}

type explainOutput struct {
	Subject  string        `json:"subject"`
	Decision string        `json:"decision" jsonschema:"deny, ask, allow, or agent: the agent itself decides"`
	Rule     string        `json:"rule"`
	Place    string        `json:"place,omitempty"`
	Default  string        `json:"default" jsonschema:"what happens where no rule matches"`
	Rules    []explainRule `json:"rules" jsonschema:"the group's rules: deny wins over ask, ask over allow"`
}

type explainRule struct {
	Decision string `json:"decision"`
	Pattern  string `json:"pattern"`
	Place    string `json:"place,omitempty"`
	From     string `json:"from,omitempty" jsonschema:"where it is inherited from"`
}

func (sc *scope) explain(_ context.Context, in explainInput) (*explainOutput, error) {
	m := sc.current()
	ref, s, err := sc.subject(m, "", in.Mode, in.Role)
	if err != nil {
		return nil, err
	}
	a, err := policy.ParseAction(in.Action, in.Arg)
	if err != nil {
		return nil, fail(validationError, "%v", err)
	}
	r := m.at(s, a)
	out := &explainOutput{
		Subject:  ref.String(),
		Decision: r.Decision.String(),
		Rule:     ruleText(r),
		Place:    r.Pos.String(),
		Default:  s.Default(a.Group).Decision.String(),
		Rules:    []explainRule{},
	}
	if a.Group != ir.MCP { // whose rules are by server
		for _, rule := range s.Rules(a.Group) {
			out.Rules = append(out.Rules,
				explainRule{rule.Decision.String(), rule.Pattern.String(), rule.Pos.String(), rule.From})
		}
	}
	return out, nil
}

// problems writes diagnostics for a reply.
func problems(list diag.List) []problem {
	out := []problem{}
	for _, d := range list {
		out = append(out, problem{d.Severity.String(), string(d.Code), d.Pos.String(), d.Message, d.Hint})
	}
	return out
}

type problem struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Place    string `json:"place,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// ReadOnlyTools returns the tools that change nothing, which every server has.
func ReadOnlyTools() []string {
	return []string{
		"explain", "get_mode_info", "get_task_info", "list_modes", "list_roles", "list_servers_for_mode",
		"validate_restrictions", "validate_tool_use",
	}
}

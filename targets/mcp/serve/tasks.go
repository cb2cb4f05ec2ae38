package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

type createTaskInput struct {
	ModeSlug        string `json:"mode_slug,omitempty" jsonschema:"the mode to work in; default: the endpoint's"`
	InitialMessage  string `json:"initial_message,omitempty" jsonschema:"what is to be done"`
	ParentSessionID string `json:"parent_session_id,omitempty" jsonschema:"the session that starts this one"`
	Role            string `json:"role,omitempty" jsonschema:"the role; default: the parent's or the server's"`
}

type createTaskOutput struct {
	SessionID       string     `json:"session_id" jsonschema:"the handle that the other calls take"`
	TaskID          string     `json:"task_id"`
	ModeSlug        string     `json:"mode_slug"`
	Role            string     `json:"role,omitempty"`
	ParentSessionID string     `json:"parent_session_id,omitempty"`
	Status          string     `json:"status,omitempty"`
	State           string     `json:"state,omitempty" jsonschema:"the status in the words of the specification"`
	ToolGroups      toolGroups `json:"tool_groups" jsonschema:"what the task may do at most"`
	SystemPrompt    string     `json:"system_prompt" jsonschema:"the mode's system prompt"`
	Refused         *refusal   `json:"refused,omitempty" jsonschema:"why a policy refused: no task was created"`

	name string // of the mode
}

// refusal is a result with the reason for which a policy refused.
type refusal struct {
	Allowed  bool   `json:"allowed"`
	Code     string `json:"code"`
	SpecCode int    `json:"spec_code"`
	Rule     string `json:"rule"`
	Place    string `json:"place,omitempty"`
	Reason   string `json:"reason"`
}

// refused is the error of a policy's refusal: a result that the model sees.
type refused struct {
	refusal
	policy.Result
}

func (r *refused) Error() string { return r.refusal.Reason }

func refuse(r policy.Result, reason string) error {
	return &refused{refusal{
		Code:     string(toolRestriction),
		SpecCode: specCodes[toolRestriction],
		Rule:     ruleText(r),
		Place:    r.Pos.String(),
		Reason:   reason + ", by " + ruleText(r),
	}, r}
}

// mode returns a mode of the model.
func mode(m *Model, slug string) (*ir.Mode, error) {
	mode := m.Project.Mode(slug)
	if mode == nil {
		hint := diag.DidYouMean(slug, m.Project.ModeNames())
		if hint != "" {
			hint = "; " + hint
		}
		return nil, failData(modeNotFound, map[string]any{"mode_slug": slug},
			"got mode %q, want %s%s", slug, diag.OneOf(m.Project.ModeNames(), "none: the project has no mode"), hint)
	}
	return mode, nil
}

// checkRole reports an error where a model does not have a role.
func checkRole(m *Model, name string) error {
	if m.Project.Role(name) == nil {
		return failData(roleNotFound, map[string]any{"role": name},
			"got role %q, want %s", name, diag.OneOf(m.Project.RoleNames(), "none: the project has no role"))
	}
	return nil
}

// enters reports an error where a role may not enter a mode.
func enters(m *Model, name, slug string) error {
	if name == "" || slug == "" {
		return nil
	}
	if err := checkRole(m, name); err != nil {
		return err
	}
	s, err := m.Policy.Subject(ir.SubjectRef{Role: name})
	if err != nil {
		return fail(internalError, "%v", err)
	}
	if r := s.Decide(policy.Action{Group: ir.Modes, Arg: slug}); r.Decision == ir.Deny {
		return refuse(r, "role "+name+" may not work in mode "+slug)
	}
	return nil
}

// session returns a session that is in use, and marks it as used now.
func (sc *scope) session(id string) (*Session, error) {
	s, err := sc.opt.Store.Get(id)
	switch {
	case err != nil:
		return nil, storeFailed(err)
	case s == nil:
		return nil, unknownSession(id)
	}
	now := sc.now()
	if err := sc.inUse(s, now); err != nil {
		return nil, err
	}
	if now.Sub(s.Used) < sc.opt.Limits.Timeout/20 { // so that a question seldom writes
		return s, nil
	}
	return sc.change(id, func(*Session) error { return nil })
}

// inUse reports an error for a session that expired, and for one of another role or mode
// than the endpoint's: that one counts as unknown.
func (sc *scope) inUse(s *Session, now time.Time) error {
	if sc.opt.Role != "" && s.Role != sc.opt.Role || sc.mode != "" && s.Mode != sc.mode {
		return unknownSession(s.ID)
	}
	if idle := now.Sub(s.Used); idle > sc.opt.Limits.Timeout {
		sc.opt.Logger.Info("a session is expired", "task", short(s.Task), "idle", idle.Round(time.Second))
		return expired(s.ID, idle)
	}
	return nil
}

// short is the beginning of a task's id, for the log: the whole looks like a secret, and would be masked.
func short(task string) string { return task[:min(len(task), len("tsk_")+6)] }

func unknownSession(id string) error {
	return failData(taskNotFound, map[string]any{"session_id": id},
		"there is no session %q: create_task starts one, and it ends after a time without use", id)
}

func expired(id string, idle time.Duration) error {
	return failData(sessionExpired, map[string]any{"session_id": id},
		"session %q expired: nobody used it for %s; create_task starts another", id, idle.Round(time.Second))
}

// change changes a session that is in use.
func (sc *scope) change(id string, fn func(*Session) error) (*Session, error) {
	s, err := sc.opt.Store.Update(id, func(s *Session) error {
		now := sc.now()
		if err := sc.inUse(s, now); err != nil {
			return err
		}
		s.Used = now
		return fn(s)
	})
	var wire *jsonrpc.Error
	var no *refused
	switch {
	case errors.As(err, &wire), errors.As(err, &no):
		return nil, err
	case err != nil:
		return nil, storeFailed(err)
	case s == nil:
		return nil, unknownSession(id)
	}
	return s, nil
}

func (sc *scope) createTask(_ context.Context, in createTaskInput) (*createTaskOutput, error) {
	m := sc.current()
	in.ModeSlug = cmp.Or(in.ModeSlug, sc.mode)
	if err := sc.checkTask(m, &in); err != nil {
		return nil, err
	}
	md, err := mode(m, in.ModeSlug)
	if err != nil {
		return nil, err
	}
	in.Role = cmp.Or(in.Role, sc.opt.Role)
	if in.ParentSessionID != "" {
		if err := sc.inherit(m, &in); err != nil {
			return in.unless(err)
		}
	}
	if err := enters(m, in.Role, in.ModeSlug); err != nil {
		return in.unless(err)
	}
	s := in.session(sc.now())
	groups, err := sc.groupsOf(m, s)
	if err != nil {
		return nil, err
	}
	if err := sc.keep(s); err != nil {
		return nil, err
	}
	sc.opt.Logger.Info("a session was created", "task", short(s.Task), "mode", s.Mode, "role", s.Role)
	return &createTaskOutput{
		SessionID:       s.ID,
		TaskID:          s.Task,
		ModeSlug:        s.Mode,
		Role:            s.Role,
		ParentSessionID: s.Parent,
		Status:          string(s.Status),
		State:           s.state(),
		ToolGroups:      groups,
		SystemPrompt:    m.prompt(md),
		name:            md.Name,
	}, nil
}

// checkTask refuses a task without a mode, and one for another mode or role than the server's.
func (sc *scope) checkTask(m *Model, in *createTaskInput) error {
	switch {
	case in.ModeSlug == "":
		return fail(validationError, "got no mode_slug, want %s",
			diag.OneOf(m.Project.ModeNames(), "a mode: the project has none"))
	case sc.mode != "" && in.ModeSlug != sc.mode:
		return fail(validationError, "got mode_slug %q, want %q: the endpoint fixes the mode", in.ModeSlug, sc.mode)
	case sc.opt.Role != "" && in.Role != "" && in.Role != sc.opt.Role:
		return fail(validationError, "got role %q, want %q: the server fixes the role", in.Role, sc.opt.Role)
	}
	return sc.opt.Limits.text("an initial_message", in.InitialMessage)
}

// inherit takes the role of the parent session, and reports an error where that session
// may not start the task.
func (sc *scope) inherit(m *Model, in *createTaskInput) error {
	parent, err := sc.session(in.ParentSessionID)
	if err != nil {
		return err
	}
	if in.Role == "" {
		in.Role = parent.Role
	} else if parent.Role != "" && in.Role != parent.Role {
		return fail(validationError, "got role %q, want that of the parent session, %q", in.Role, parent.Role)
	}
	if parent.Status != Active {
		return fail(validationError, "got a parent session that is %s, want one that is active", parent.Status)
	}
	if err := handsOver(m, parent.subject(), in.ModeSlug); err != nil {
		return err
	}
	depth, err := sc.depth(parent)
	if err != nil {
		return err
	}
	if depth >= sc.opt.Limits.Depth {
		return fail(limitReached, "got a session below %d others, want at most %d", depth, sc.opt.Limits.Depth-1)
	}
	return nil
}

// unless returns the output beside a policy's refusal, and none beside another error.
func (in *createTaskInput) unless(err error) (*createTaskOutput, error) {
	if _, ok := errors.AsType[*refused](err); !ok {
		return nil, err
	}
	return &createTaskOutput{
		ModeSlug:        in.ModeSlug,
		Role:            in.Role,
		ParentSessionID: in.ParentSessionID,
		ToolGroups:      toolGroups{},
	}, err
}

// session returns a new session for a task.
func (in *createTaskInput) session(now time.Time) *Session {
	s := &Session{
		ID:      handle("ses_"),
		Task:    handle("tsk_"),
		Mode:    in.ModeSlug,
		Role:    in.Role,
		Parent:  in.ParentSessionID,
		Status:  Active,
		Created: now,
		Used:    now,
		History: []Switch{{To: in.ModeSlug, At: now}},
	}
	if in.InitialMessage != "" {
		s.Messages = []Message{{"user", in.InitialMessage, now}}
	}
	return s
}

// keep adds a session. Where there are too many, those that expired go first.
func (sc *scope) keep(s *Session) error {
	err := sc.opt.Store.Add(s, sc.opt.Limits.Sessions)
	var full *jsonrpc.Error
	if errors.As(err, &full) {
		if n, cleanErr := sc.opt.Store.Clean(sc.now().Add(-sc.opt.Limits.Timeout)); cleanErr == nil && n > 0 {
			err = sc.opt.Store.Add(s, sc.opt.Limits.Sessions)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &full):
		return full
	}
	return storeFailed(err)
}

// depth counts a session and those above it.
func (sc *scope) depth(s *Session) (int, error) {
	n := 1
	for s.Parent != "" && n <= sc.opt.Limits.Depth {
		up, err := sc.opt.Store.Get(s.Parent)
		if err != nil {
			return 0, storeFailed(err)
		}
		if up == nil {
			break
		}
		s = up
		n++
	}
	return n, nil
}

// statePending is what the modes-server specification calls a task that is not ended: the server itself works
// on none.
const statePending = "pending"

// state is the status in the words of the modes-server specification.
func (s *Session) state() string {
	if s.Status == Active {
		return statePending
	}
	return string(s.Status)
}

// subject returns whom a session's decisions are about.
func (s *Session) subject() ir.SubjectRef { return ir.SubjectRef{Mode: s.Mode, Role: s.Role} }

func (sc *scope) groupsOf(m *Model, s *Session) (toolGroups, error) {
	sub, err := m.Policy.Subject(s.subject())
	if err != nil {
		return nil, fail(modeNotFound, "%v", err)
	}
	return m.groups(s.subject(), sub, m.regexOf(s.Mode)), nil
}

// regexOf returns the expression that limits the edits of a mode.
func (m *Model) regexOf(slug string) string {
	if md := m.Project.Mode(slug); md != nil {
		return m.pathPattern(md)
	}
	return ""
}

type switchModeInput struct {
	SessionID   string `json:"session_id"`
	NewModeSlug string `json:"new_mode_slug"`
	Reason      string `json:"reason,omitempty" jsonschema:"why, for the session's history"`
}

type switchModeOutput struct {
	SessionID    string   `json:"session_id"`
	OldMode      string   `json:"old_mode"`
	NewMode      string   `json:"new_mode"`
	GainedGroups []string `json:"gained_groups" jsonschema:"tool groups in which more may be done than in the old mode"`
	LostGroups   []string `json:"lost_groups" jsonschema:"tool groups in which less may be done than in the old mode"`
	// Changes are those of the groups above, and of groups whose rules differ.
	Changes      []groupChange `json:"changes" jsonschema:"what may be done in a group then and now"`
	ToolGroups   toolGroups    `json:"tool_groups" jsonschema:"what the task may do at most now"`
	SystemPrompt string        `json:"system_prompt"`
	Refused      *refusal      `json:"refused,omitempty" jsonschema:"why a policy refused: the mode is the old one"`

	reason string
}

// groupChange is what may be done in a group in two modes.
type groupChange struct {
	Group string `json:"group"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

func (sc *scope) switchMode(_ context.Context, in switchModeInput) (*switchModeOutput, error) {
	m := sc.current()
	if err := sc.opt.Limits.text("a reason", in.Reason); err != nil {
		return nil, err
	}
	md, err := mode(m, in.NewModeSlug)
	if err != nil {
		return nil, err
	}
	if sc.mode != "" && in.NewModeSlug != sc.mode {
		return nil, fail(validationError, "got new_mode_slug %q, want %q: the endpoint fixes the mode",
			in.NewModeSlug, sc.mode)
	}
	out := &switchModeOutput{
		SessionID:    in.SessionID,
		NewMode:      in.NewModeSlug,
		GainedGroups: []string{},
		LostGroups:   []string{},
		Changes:      []groupChange{},
		ToolGroups:   toolGroups{},
		SystemPrompt: m.prompt(md),
		reason:       in.Reason,
	}
	_, err = sc.change(in.SessionID, func(s *Session) error {
		out.OldMode = s.Mode
		if s.Status != Active {
			return fail(validationError, "got a session that is %s, want one that is active", s.Status)
		}
		if err := enters(m, s.Role, in.NewModeSlug); err != nil {
			return err
		}
		if err := handsOver(m, s.subject(), in.NewModeSlug); err != nil {
			return err
		}
		if err := sc.compare(m, s, out); err != nil {
			return err
		}
		if n := s.size() + len(in.Reason); n > sc.opt.Limits.Text*sessionTexts {
			return fail(limitReached, "got a session of %d bytes, want at most %d", n, sc.opt.Limits.Text*sessionTexts)
		}
		if n := len(s.History) + len(s.Messages); n >= sc.opt.Limits.Messages {
			return fail(limitReached, "got a session of %d messages and switches, want at most %d",
				n, sc.opt.Limits.Messages)
		}
		s.History = append(slices.Clip(s.History), Switch{s.Mode, in.NewModeSlug, in.Reason, s.Used})
		s.Mode = in.NewModeSlug
		return nil
	})
	return out, err
}

// compare lists what a session gains and loses with the new mode. It compares with nothing where the model
// does not have the old mode any more.
func (sc *scope) compare(m *Model, s *Session, out *switchModeOutput) error {
	after := *s
	after.Mode = out.NewMode
	groups, err := sc.groupsOf(m, &after)
	if err != nil {
		return err
	}
	out.ToolGroups = groups
	from, err := m.Policy.Subject(s.subject())
	if err != nil || m.Project.Mode(s.Mode) == nil {
		return nil
	}
	to, err := m.Policy.Subject(after.subject())
	if err != nil {
		return fail(modeNotFound, "%v", err)
	}
	was := m.groups(s.subject(), from, "")
	for _, g := range ir.Groups {
		old, next := was[specGroup(g)], groups[specGroup(g)]
		gains, loses := m.change(g, from, to)
		if gains || next.Enabled && !old.Enabled {
			out.GainedGroups = append(out.GainedGroups, string(g))
		}
		if loses || old.Enabled && !next.Enabled {
			out.LostGroups = append(out.LostGroups, string(g))
		}
		if a, b := old.said(), next.said(); gains || loses || a != b {
			out.Changes = append(out.Changes, groupChange{string(g), a, b})
		}
	}
	return nil
}

// said is what may be done in a group.
func (t *toolGroup) said() string {
	switch {
	case !t.Enabled:
		return "not available"
	case t.Limits != "":
		return t.Limits
	}
	return t.Decision
}

// handsOver reports an error where a mode may not hand over to another.
func handsOver(m *Model, from ir.SubjectRef, to string) error {
	if from.Mode == to || !explicit(m, from.Mode) {
		return nil
	}
	s, err := m.Policy.Subject(ir.SubjectRef{Mode: from.Mode})
	if err != nil {
		return fail(internalError, "%v", err)
	}
	if r := s.Decide(policy.Action{Group: ir.Modes, Arg: to}); r.Decision == ir.Deny {
		return refuse(r, "mode "+from.Mode+" may not hand over to mode "+to)
	}
	return nil
}

// explicit reports whether a mode has rules for the modes that may follow it. Without
// them the session's role and the person decide.
func explicit(m *Model, slug string) bool {
	md := m.Project.Mode(slug)
	return md != nil && (md.Can.Mentions(ir.Modes) || md.Can.Default != nil)
}

type taskInfoInput struct {
	SessionID        string `json:"session_id"`
	IncludeMessages  bool   `json:"include_messages,omitempty"`
	IncludeHierarchy bool   `json:"include_hierarchy,omitempty" jsonschema:"also the sessions above and below"`
}

type taskInfoOutput struct {
	SessionID       string        `json:"session_id"`
	TaskID          string        `json:"task_id"`
	ModeSlug        string        `json:"mode_slug"`
	Role            string        `json:"role,omitempty"`
	Status          string        `json:"status"`
	State           string        `json:"state" jsonschema:"the status in the words of the specification"`
	Result          string        `json:"result,omitempty"`
	CreatedAt       string        `json:"created_at"`
	LastUsedAt      string        `json:"last_used_at"`
	ExpiresAt       string        `json:"expires_at" jsonschema:"when the session ends without further use"`
	MessageCount    int           `json:"message_count"`
	ModeHistory     []switchInfo  `json:"mode_history"`
	Messages        []messageInfo `json:"messages,omitempty"`
	ParentSessionID string        `json:"parent_session_id,omitempty"`
	Ancestors       []taskBrief   `json:"ancestors,omitempty"`
	Children        []taskBrief   `json:"children,omitempty"`
}

type switchInfo struct {
	OldMode string `json:"old_mode,omitempty"`
	NewMode string `json:"new_mode"`
	Reason  string `json:"reason,omitempty"`
	At      string `json:"at"`
}

type messageInfo struct {
	Role string `json:"role"`
	Text string `json:"text"`
	At   string `json:"at"`
}

type taskBrief struct {
	SessionID string `json:"session_id"`
	TaskID    string `json:"task_id"`
	ModeSlug  string `json:"mode_slug"`
	Status    string `json:"status"`
	State     string `json:"state"`
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func brief(s *Session) taskBrief { return taskBrief{s.ID, s.Task, s.Mode, string(s.Status), s.state()} }

func (sc *scope) taskInfo(_ context.Context, in taskInfoInput) (*taskInfoOutput, error) {
	s, err := sc.session(in.SessionID)
	if err != nil {
		return nil, err
	}
	out := &taskInfoOutput{
		SessionID:       s.ID,
		TaskID:          s.Task,
		ModeSlug:        s.Mode,
		Role:            s.Role,
		Status:          string(s.Status),
		State:           s.state(),
		Result:          s.Result,
		CreatedAt:       stamp(s.Created),
		LastUsedAt:      stamp(s.Used),
		ExpiresAt:       stamp(s.Used.Add(sc.opt.Limits.Timeout)),
		MessageCount:    len(s.Messages),
		ModeHistory:     []switchInfo{},
		ParentSessionID: s.Parent,
	}
	for _, h := range s.History {
		out.ModeHistory = append(out.ModeHistory, switchInfo{h.From, h.To, h.Reason, stamp(h.At)})
	}
	if in.IncludeMessages {
		for _, x := range s.Messages {
			out.Messages = append(out.Messages, messageInfo{x.Role, x.Text, stamp(x.At)})
		}
	}
	if in.IncludeHierarchy {
		err = sc.hierarchy(s, out)
	}
	return out, err
}

// hierarchy lists the sessions above and below a session.
func (sc *scope) hierarchy(s *Session, out *taskInfoOutput) (err error) {
	for up := s; up.Parent != "" && len(out.Ancestors) < sc.opt.Limits.Depth; {
		if up, err = sc.opt.Store.Get(up.Parent); err != nil {
			return storeFailed(err)
		}
		if up == nil {
			break
		}
		out.Ancestors = append(out.Ancestors, brief(up))
	}
	children, err := sc.opt.Store.Children(s.ID)
	if err != nil {
		return storeFailed(err)
	}
	for _, c := range children {
		out.Children = append(out.Children, brief(c))
	}
	return nil
}

type completeTaskInput struct {
	SessionID string `json:"session_id"`
	Status    string `json:"status,omitempty" jsonschema:"completed (the default), failed or cancelled"`
	Result    string `json:"result,omitempty" jsonschema:"what came out"`
}

type completeTaskOutput struct {
	SessionID string `json:"session_id"`
	TaskID    string `json:"task_id"`
	ModeSlug  string `json:"mode_slug"`
	Status    string `json:"status"`
	State     string `json:"state"`
}

func (sc *scope) completeTask(_ context.Context, in completeTaskInput) (*completeTaskOutput, error) {
	status := cmp.Or(Status(in.Status), Completed)
	if err := sc.opt.Limits.text("a result", in.Result); err != nil {
		return nil, err
	}
	s, err := sc.change(in.SessionID, func(s *Session) error {
		if s.Status != Active {
			return fail(validationError, "got a session that is %s already, want one that is active", s.Status)
		}
		s.Status, s.Result = status, in.Result
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &completeTaskOutput{s.ID, s.Task, s.Mode, string(s.Status), s.state()}, nil
}

package format

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
)

// Hooks are the hooks of a hooks.json, by their event.
type Hooks map[string][]Hook

// Hook is one hook of an event.
type Hook struct {
	At      diag.Pos
	Command string // "" for a hook that asks a model
	Prompt  string
	Matcher *ecma.Regexp // nil matches every call
	// Timeout is how long Cursor waits, in seconds.
	Timeout   float64
	TimeoutAt diag.Pos
	// FailClosed is set where a hook that fails refuses the call.
	FailClosed bool
	// Other is a field that the engine does not know; nil: there is none.
	Other *located.Member
}

// hookFields are the fields that the engine of @cursor/sdk 1.0.32 knows.
var hookFields = []string{"type", "command", "prompt", "timeout", "matcher", "failClosed", "loop_limit", "model"}

// HookEvents are all the events that hooks.json may name. With any other the engine
// refuses the file (@cursor/sdk 1.0.32, Qe; Cursor's documentation of hooks).
var HookEvents = []string{
	"sessionStart", "sessionEnd", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "subagentStop",
	"beforeShellExecution", "afterShellExecution", "beforeMCPExecution", "afterMCPExecution", "beforeReadFile",
	"afterFileEdit", "beforeSubmitPrompt", "preCompact", "stop", "afterAgentResponse", "afterAgentThought",
	"beforeTabFileRead", "afterTabFileEdit", "workspaceOpen",
}

// defaultTimeout is the time-out of a hook that names none, in seconds.
const defaultTimeout = 60

// matchTimeout bounds how long a matcher may search.
const matchTimeout = 50 * time.Millisecond

var (
	lineComment  = lazy.Regexp(`//[^\n\r\x{2028}\x{2029}]*`)
	blockComment = lazy.Regexp(`(?s)/\*.*?\*/`)
)

// ReadHooks reads a hooks.json as the engine does. Comments are cut out by two
// expressions that also cut inside strings, the rest is strict JSON, and for one mistake
// the engine ignores the whole file. The error names the first mistake.
func ReadHooks(name string, data []byte) (Hooks, error) {
	if lineComment().Match(data) || blockComment().Match(data) {
		data = blockComment().ReplaceAll(lineComment().ReplaceAll(data, nil), nil)
	}
	v, err := located.JSON(name, data)
	if err != nil {
		return nil, err
	}
	if !positiveInteger(v.Get("version")) {
		return nil, errors.New("got no version, want a positive integer")
	}
	events := v.Get("hooks")
	if !events.Is(located.Object) {
		return nil, errors.New("got no hooks, want an object")
	}
	hooks := Hooks{}
	for _, m := range events.Members {
		list, err := readEvent(m)
		if err != nil {
			return nil, err
		}
		hooks[m.Key] = list // of equal keys the last one counts
	}
	return hooks, nil
}

func readEvent(m located.Member) ([]Hook, error) {
	if !slices.Contains(HookEvents, m.Key) {
		return nil, fmt.Errorf("got the event %q, which Cursor does not know", m.Key)
	}
	if !m.Value.Is(located.List) {
		return nil, fmt.Errorf("%s: got %s, want a list", m.Key, m.Value.Kind)
	}
	var list []Hook
	for _, item := range m.Value.Items {
		h, err := readHook(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Key, err)
		}
		list = append(list, h)
	}
	return list, nil
}

func readHook(v *located.Value) (Hook, error) {
	h := Hook{At: v.Pos, Timeout: defaultTimeout}
	if !v.Is(located.Object) {
		return h, errors.New("got a hook that is not an object")
	}
	for i, m := range v.Members {
		if !slices.Contains(hookFields, m.Key) {
			h.Other = &v.Members[i]
		}
	}
	for _, read := range []func(*Hook, *located.Value) error{
		readText, readMatcher, readTimeout, checkLoopLimit, readFailClosed,
	} {
		if err := read(&h, v); err != nil {
			return h, err
		}
	}
	return h, nil
}

// readText reads the command of a hook, or its prompt.
func readText(h *Hook, v *located.Value) error {
	kind, _ := v.Get("type").Str()
	switch {
	case v.Get("type") == nil, kind == "command":
		text, ok := v.Get("command").Str()
		if !ok {
			return errors.New("got a hook without a command")
		}
		h.Command, h.At = text, v.Get("command").Pos
	case kind == "prompt":
		text, ok := v.Get("prompt").Str()
		if !ok || Trim(text) == "" {
			return errors.New("got a hook without a prompt")
		}
		h.Prompt = text
	default:
		return errors.New("got a hook of an unknown type")
	}
	return nil
}

// readMatcher reads the expression that a call has to match: all calls match where
// there is none, an empty one or "*".
func readMatcher(h *Hook, v *located.Value) error {
	if v.Get("matcher") == nil {
		return nil
	}
	text, ok := v.Get("matcher").Str()
	if ok && (text == "" || text == "*") {
		return nil
	}
	re, err := ecma.Compile(text, ecma.Options{Timeout: matchTimeout})
	if !ok || err != nil {
		return errors.New("got a matcher that is not an expression")
	}
	h.Matcher = re
	return nil
}

func readTimeout(h *Hook, v *located.Value) error {
	if v.Get("timeout") == nil {
		return nil
	}
	n, ok := number(v.Get("timeout"))
	if !ok || n <= 0 {
		return errors.New("got a timeout that is not a positive number")
	}
	h.Timeout, h.TimeoutAt = n, v.Get("timeout").Pos
	return nil
}

func checkLoopLimit(_ *Hook, v *located.Value) error {
	if l := v.Get("loop_limit"); l != nil && !l.Is(located.Null) && !positiveInteger(l) {
		return errors.New("got a loop_limit that is not a positive integer")
	}
	return nil
}

func readFailClosed(h *Hook, v *located.Value) error {
	c := v.Get("failClosed")
	if c != nil && !c.Is(located.Bool) {
		return errors.New("got a failClosed that is neither true nor false")
	}
	h.FailClosed = c.True()
	return nil
}

func number(v *located.Value) (float64, bool) {
	if !v.Is(located.Number) {
		return 0, false
	}
	n, err := strconv.ParseFloat(v.Text, 64)
	return n, err == nil
}

func positiveInteger(v *located.Value) bool {
	n, ok := number(v)
	return ok && n >= 1 && n == float64(int64(n))
}

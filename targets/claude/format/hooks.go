package format

import (
	"slices"
	"strconv"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// Hook is a command that an event runs.
type Hook struct {
	Matcher   string
	MatcherAt diag.Pos
	Command   string
	At        diag.Pos // of the command
	// Odd is a field by which it is not known to run for each call that its matcher names, and to end before the
	// call goes on; "" for a hook that does.
	Odd   string
	OddAt diag.Pos
}

// Guards are the events by which hooks decide. Observed on 2.1.330: a settings file in which an entry of theirs is
// not well formed does not load, nor does such a subagent. Of other events such an entry is left out.
var Guards = []string{"PreToolUse", "PermissionRequest"}

// Hooks returns the commands of an event. It fails where Claude Code loads nothing of what the hooks stand in.
func Hooks(hooks *located.Value, event string) (list []Hook, err error) {
	if err := checkHooks(hooks); err != nil {
		return nil, err
	}
	for _, group := range hooks.Get(event).List() {
		matcher, _ := group.Get("matcher").Str()
		other := func(m located.Member) bool { return m.Key != "matcher" && m.Key != "hooks" }
		beside, besideAt := firstOf(group, other)
		for _, entry := range group.Get("hooks").List() {
			if kind, _ := entry.Get("type").Str(); kind != "command" {
				continue
			}
			command := entry.Get("command")
			h := Hook{Matcher: matcher, MatcherAt: group.Get("matcher").Line(),
				Command: command.Text, At: command.Line()}
			if h.Odd, h.OddAt = firstOf(entry, notHarmless); h.Odd == "" {
				h.Odd, h.OddAt = beside, besideAt
			}
			list = append(list, h)
		}
	}
	return list, nil
}

// AskedHook is a hook by which Claude Code may take a call for allowed.
type AskedHook struct {
	Event, Matcher string
	Kind           string         // "command", "http" and the like
	Text           string         // its command line, or what else it consists of
	Entry          *located.Value // the whole of it
	At             diag.Pos       // of the text
}

// Asked returns the hooks of the events that decide, whatever their kind; none where Claude Code loads nothing of what
// they stand in.
func Asked(hooks *located.Value) (list []AskedHook) {
	if checkHooks(hooks) != nil {
		return nil
	}
	for _, event := range Guards {
		for _, group := range hooks.Get(event).List() {
			matcher, _ := group.Get("matcher").Str()
			for _, entry := range group.Get("hooks").List() {
				kind, _ := entry.Get("type").Str()
				text := entry.Get(needed[kind])
				list = append(list, AskedHook{event, matcher, kind, text.Text, entry, text.Line()})
			}
		}
	}
	return list
}

// firstOf returns the first member of some kind, "" where there is none.
func firstOf(v *located.Value, is func(located.Member) bool) (key string, at diag.Pos) {
	for _, m := range v.Fields() {
		if is(m) {
			return m.Key, m.Pos
		}
	}
	return "", diag.Pos{}
}

// notHarmless reports whether a field of an entry may change whether the hook runs, or is waited for. Known not to
// are those below (2.1.330). With if, async, args or another shell the call passed, asyncRewake and once are said to
// let calls pass, and what a later version knows nobody can say.
func notHarmless(m located.Member) bool {
	switch m.Key {
	case "type", "command", "statusMessage", "onFailure":
		return false
	case "timeout":
		return !isAbove(contract.HookSeconds)(m.Value) // Claude Code lets a call pass where it ends before (2.1.330)
	case "shell":
		return m.Value.Text != "bash"
	case "async", "asyncRewake", "once":
		return m.Value.True()
	}
	return true
}

// checkHooks returns why Claude Code loads nothing of what hooks stand in.
func checkHooks(hooks *located.Value) error {
	if isList(hooks) && len(hooks.Items) > 0 || isObject(hooks) && hooks.Get("hooks") != nil {
		return &FormError{hooks.Pos, "hooks", "an object with a list for each event"}
	}
	for _, m := range hooks.Fields() {
		switch {
		case !slices.Contains(Guards, m.Key):
			for _, below := range m.Value.Fields() {
				if err := strayGuard(below); err != nil {
					return err
				}
			}
		case m.Value.Is(located.Null):
		case !isList(m.Value):
			return &FormError{m.Value.Pos, m.Key, "a list"}
		default:
			for _, group := range m.Value.Items {
				if err := checkGroup(m.Key, group); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkGroup(event string, group *located.Value) error {
	if !isList(group.Get("hooks")) {
		return &FormError{group.Pos, event, "a matcher and a list of hooks"}
	}
	if m := group.Get("matcher"); m != nil && !isText(m) {
		return &FormError{m.Pos, "matcher", "a text"}
	}
	for _, entry := range group.Get("hooks").Items {
		kind, _ := entry.Get("type").Str()
		text, ok := needed[kind]
		if !ok {
			return &FormError{entry.Pos, "type", "command, prompt, agent, http or mcp_tool"}
		}
		if !isText(entry.Get(text)) {
			return &FormError{entry.Pos, text, "a text"}
		}
		if err := checkForms(entry, hookForms); err != nil {
			return err
		}
	}
	return nil
}

// needed is the text without which a hook of a type is none.
var needed = map[string]string{
	"command": "command", "prompt": "prompt", "agent": "prompt", "http": "url", "mcp_tool": "server",
}

func number(v *located.Value) (float64, bool) {
	if !isNumber(v) {
		return 0, false
	}
	n, err := strconv.ParseFloat(v.Text, 64)
	return n, err == nil
}

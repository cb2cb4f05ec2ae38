package model

import (
	"encoding/json"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/claude/format"
)

// grant is somebody's hook that says yes to every call: it prints one answer and does nothing else. What any other
// program of theirs answers nobody can say.
type grant struct {
	matcher
	place
	dialog bool // it answers for the person whom Claude Code would ask (PermissionRequest)
}

// grantsOf returns those among some hooks, which were checked before.
func grantsOf(hooks *located.Value) (list []grant) {
	for _, event := range []string{"PreToolUse", "PermissionRequest"} {
		all, _ := format.Hooks(hooks, event)
		for _, h := range all {
			text, ok := contract.EchoedText(h.Command)
			m, err := newMatcher(h.Matcher)
			if ok && err == nil && grants(event, text) {
				by := place{text: "a hook of " + event + " that allows", at: h.At}
				list = append(list, grant{matcher: m, place: by, dialog: event == "PermissionRequest"})
			}
		}
	}
	return list
}

// Known reports whether the answers of a hook's line are known: it is modec's and reads the project's policy, or prints
// one text and does nothing else.
func Known(line string) bool {
	if text, ok := contract.EchoedText(line); ok {
		return !strings.Contains(text, "${") // what a variable says, nobody knows
	}
	l, err := contract.ParseHookLine(line)
	return err == nil && l.Agent == "claude" && l.Root == ""
}

// Allows returns a hook's line that allows every call of an event.
func Allows(event string) string {
	of := map[string]any{"hookEventName": event, "permissionDecision": "allow"}
	if event == "PermissionRequest" {
		of = map[string]any{"hookEventName": event, "decision": map[string]any{"behavior": "allow"}}
	}
	answer := contract.JSONLine(map[string]any{"hookSpecificOutput": of})
	return "echo " + contract.ShellQuote(string(answer))
}

// grants reports whether the answer of a hook of an event allows the call.
func grants(event, text string) bool {
	var out struct {
		Decision string `json:"decision"` // the form of before
		Specific struct {
			Event    string `json:"hookEventName"`
			Decision string `json:"permissionDecision"`
			Request  struct {
				Behavior string `json:"behavior"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal([]byte(text), &out) != nil {
		return false
	}
	if event == "PermissionRequest" {
		return out.Specific.Event == event && out.Specific.Request.Behavior == "allow"
	}
	return out.Decision == "approve" || out.Specific.Event == event && out.Specific.Decision == "allow"
}

// granted returns what somebody's hooks make of a ruling. Before a tool runs they lift a question that no rule, no hook
// and not plan asks (observed on 2.1.330). In the place of a person they answer any question; with -p, where nobody is
// there to ask, Claude Code does not run them.
func (s *session) granted(c *call, r ruling) ruling {
	if r.Decision != ir.Ask || s.noHooks.True() {
		return r
	}
	i := slices.IndexFunc(s.grants, func(g grant) bool {
		lifts := !r.held && !r.rule && !r.hooked && (s.mode != format.Plan || !c.changes())
		return g.matches(c.tool) && (lifts || g.dialog && s.mode != format.DontAsk)
	})
	if i < 0 {
		return r
	}
	return byAllow(&s.grants[i].place)
}

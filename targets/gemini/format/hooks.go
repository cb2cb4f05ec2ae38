package format

import (
	"cmp"
	"math"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// Before is the event that Gemini CLI has before each call of a tool.
const Before = "BeforeTool"

// The keys of settings that say which hooks run.
const (
	HooksKey    = "hooks"
	HooksConfig = "hooksConfig"
)

// Hook is a hook of settings before a call.
type Hook struct {
	Name    string // by which it is turned off
	Command string // "": what it runs is not known
	Some    bool   // it is about some tools alone
	Late    bool   // Gemini CLI may end it before modec answers, and goes on then
	At      diag.Pos
}

// ReadHooks returns the hooks of settings before a call, each line once: the first one counts.
func ReadHooks(root *located.Value) (all []Hook) {
	seen := map[[2]string]bool{}
	for _, d := range root.Get(HooksKey).Get(Before).List() {
		matcher, _ := d.Get("matcher").Str()
		matcher = strings.TrimSpace(matcher)
		for _, item := range d.Get("hooks").List() {
			line, _ := item.Get("command").Str()
			name, _ := item.Get("name").Str()
			key := [2]string{name, line}
			if seen[key] {
				continue
			}
			seen[key] = true
			h := Hook{Name: cmp.Or(name, line), Some: matcher != "" && matcher != Every,
				Late: late(item.Get("timeout")), At: item.Pos}
			kind, _ := item.Get("type").Str()
			// Variables may have it run something else.
			if kind == "command" && item.Get("env") == nil && !strings.Contains(line, "$") {
				h.Command = line
			}
			all = append(all, h)
		}
	}
	return all
}

// late reports whether a time, in milliseconds, may be over before modec answers. A longer one than a timer has is over
// at once.
func late(timeout *located.Value) bool {
	if timeout == nil {
		return false
	}
	ms, ok := timeout.Any().(float64)
	return !ok || ms <= contract.HookSeconds*1000 || ms > math.MaxInt32
}

// HookOff returns what in settings turns a hook off, nil for nothing. What a variable stands for is not known.
func HookOff(root *located.Value, name string) *located.Value {
	config := root.Get(HooksConfig)
	if enabled := config.Get("enabled"); enabled != nil && !enabled.True() {
		return enabled
	}
	for _, item := range config.Get("disabled").List() {
		if text, ok := item.Str(); !ok || text == name || strings.Contains(text, "$") {
			return item
		}
	}
	return nil
}

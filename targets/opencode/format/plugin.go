package format

import (
	_ "embed"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// HookFile is the plugin by which opencode asks modec about every call.
const HookFile = ".modec/opencode/hook.js"

// SessionHook is where the model finds it beside what a session is started with.
var SessionHook = contract.SessionPath("opencode", "hook.js")

// HookText is what the file says.
//
//go:embed hook.js
var HookText []byte

// Tools of opencode's own that have no key of their name: ToolResources and ToolTemplates list what servers have.
const (
	ToolGlob      = "glob"
	ToolLSP       = "lsp"
	ToolPatch     = "apply_patch"
	ToolResource  = "read_mcp_resource"
	ToolResources = "list_mcp_resources"
	ToolTemplates = "list_mcp_resource_templates"
	ToolWrite     = "write"
)

// Quiet are further names of what touches nothing but the conversation.
var Quiet = []string{"doom_loop", "invalid", "plan_enter", "plan_exit", "suggest", "todoread"}

// The members of what a list of plugins says beside the path of the hook: the command of every session, and those of
// sessions of some agents.
const (
	HookCommand = "command"
	HookAgents  = "agents"
)

// Hook is the plugin as a list has it.
type Hook struct {
	At      diag.Pos
	Command string
	Agents  map[string]string
	// Bare is set where it stands without anything: it refuses every call.
	Bare bool
}

// Line returns the command that is run for an agent, "" for none.
func (h *Hook) Line(agent string) string {
	if line, ok := h.Agents[agent]; ok {
		return line
	}
	return h.Command
}

// PluginName returns the name, or the path, of an item in a list of plugins.
func PluginName(item *located.Value) string {
	if list := item.List(); len(list) > 0 {
		item = list[0]
	}
	name, _ := item.Str()
	return name
}

// BesideFile returns how a file names another one by its path from there.
func BesideFile(file, other string) string {
	rel, err := filepath.Rel(path.Dir(file), other)
	if rel = filepath.ToSlash(rel); err != nil || !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	return rel
}

// IsHook reports whether an item of a list of plugins is the hook, by its path in a file.
func IsHook(file string, item *located.Value) bool {
	name := PluginName(item)
	return contract.IsSession(file) && name == SessionHook ||
		strings.HasPrefix(name, ".") && path.Join(path.Dir(file), name) == HookFile
}

// readHook returns the hook in the list of a file, of several the last; nil for none.
func readHook(file string, plugins *located.Value) *Hook {
	for _, item := range slices.Backward(plugins.List()) {
		if !IsHook(file, item) {
			continue
		}
		h := &Hook{At: item.Pos, Bare: len(item.List()) < 2}
		if !h.Bare {
			says := item.List()[1]
			h.Command, _ = says.Get(HookCommand).Str()
			for _, m := range says.Get(HookAgents).Fields() {
				if h.Agents == nil {
					h.Agents = map[string]string{}
				}
				h.Agents[m.Key], _ = m.Value.Str()
			}
		}
		return h
	}
	return nil
}

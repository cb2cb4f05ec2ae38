package format

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// PluginFile is where the plugin lies below the folder of opencode, and of a program that is made of it. They load
// every file there by themselves.
const PluginFile = "/plugin/modec.js"

// HookFile is the plugin by which opencode asks modec about every call.
const HookFile = Dir + PluginFile

// SessionHook returns where the model of a target finds the plugin of the sessions of a subject.
func SessionHook(target string, ref ir.SubjectRef) string { return sessionFile(target, ref, ".js") }

//go:embed plugin.js
var plugin []byte

// noLines is what the plugin says where no agent asks.
const noLines = "const lines = {};"

// HookText returns the plugin that runs a line for each agent; [Every] stands for those that have none of their own.
func HookText(lines map[string]string) []byte {
	data, err := json.Marshal(lines)
	if err != nil {
		panic(err) // texts
	}
	return bytes.Replace(plugin, []byte(noLines), []byte("const lines = "+string(data)+";"), 1)
}

// ReadHook returns the lines of a plugin. It reports false for a text that HookText does not return.
func ReadHook(text []byte) (lines map[string]string, ok bool) {
	before, after, _ := strings.Cut(string(plugin), noLines)
	data, begins := strings.CutPrefix(string(text), before+"const lines = ")
	data, ends := strings.CutSuffix(data, ";"+after)
	if !begins || !ends || json.Unmarshal([]byte(data), &lines) != nil {
		return nil, false
	}
	return lines, bytes.Equal(text, HookText(lines))
}

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

// Tools of Kilo's alone.
const (
	ToolNotebookEdit = "notebook_edit"
	ToolNotebookRead = "notebook_read"
	ToolProcess      = "background_process"
	ToolSemantic     = "semantic_search" // which searches by meaning, below a folder
)

// Quiet are further names of what touches nothing but the conversation.
var Quiet = []string{"doom_loop", "invalid", "plan_enter", "plan_exit", "suggest", "todoread"}

// PluginName returns the name, or the path, of an item in a list of plugins.
func PluginName(item *located.Value) string {
	if list := item.List(); len(list) > 0 {
		item = list[0]
	}
	name, _ := item.Str()
	return name
}

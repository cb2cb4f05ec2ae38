// Package roo emits the configuration of Roo Code and its successor Zoo Code:
// modes (.roomodes, .zoomodes), MCP servers (mcp.json), ignored paths
// (.rooignore, .zooignore) and rules folders.
//
// Sources: RooCodeInc/Roo-Code at 3.52.1 (packages/types/src/mode.ts,
// src/shared/tools.ts, src/core/tools/validateToolUse.ts), its published schema
// @roo-code/types 1.115.0, and Zoo-Code-Org/Zoo-Code 3.82.0 (which reads
// .zoomodes before .roomodes and .zooignore before .rooignore).
//
// # What the artifacts hold
//
// A mode's groups and fileRegex hold access: whether it may happen at all.
// Whether a person confirms it is the user's own auto-approve setting; only
// for MCP tools mcp.json says it (alwaysAllow), for all modes at once.
//
// # Dialects
//
//   - stock: Roo 3.52.1. A mode has all of MCP or none.
//   - zoo: a mode lists its servers (allowedMcpServers); the group web exists.
//   - mcp-restrictions: the mode key mcpRestrictions and the server key
//     defaultEnabled of Roo's restriction plan. Roo 3.52.1 ignores both.
//
// # What is lost
//
// The read, command and web groups are all or nothing: a mode that may not
// read some path, run some command or fetch from some host loses the group,
// unless every mode agrees (then the ignore file holds the path). A mode has no
// model. An MCP tool that only some modes may call unasked is asked about in
// all. Paths with characters that Unicode normalisation changes are refused
// where a deny would have to compare them.
//
// # Known holes of the agent
//
// Roo does not test the regex on a write without content, on the target of a
// move in apply_patch, and in generate_image; it offers switch_mode and
// new_task in every mode; stock Roo only hides MCP tools from the model of a
// mode without the group. It reads outside the workspace with the user's
// approval. Groups are not withheld because of these.
package roo

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/target"
)

const (
	stock        = "stock"
	restrictions = "mcp-restrictions"
	zoo          = "zoo"
)

type roo struct{ zoo bool }

// New returns the target "roo", whose dialect is an option.
func New() target.Target { return roo{} }

// NewZoo returns the target "zoo": the same with the dialect zoo, so that a
// team that moves can build both.
func NewZoo() target.Target { return roo{zoo: true} }

func (t roo) Name() string {
	if t.zoo {
		return "zoo"
	}
	return "roo"
}

func (t roo) Summary() string {
	if t.zoo {
		return "Zoo Code: modes, MCP servers and rules"
	}
	return "Roo Code: modes, MCP servers and rules"
}

func (t roo) Options() []target.Option {
	options := []target.Option{
		{Name: "builtins", Type: target.String, Default: "keep", Choices: []string{"keep", "shadow"}, Doc: "The built-in modes that the source does not name stay reachable in the agent. shadow emits their slugs without any group."},
		{Name: "format", Type: target.String, Default: "yaml", Choices: []string{"yaml", "json"}, Doc: "The form of the modes file; the agent reads both."},
	}
	if !t.zoo {
		options = append([]target.Option{options[0], {Name: "dialect", Type: target.String, Default: stock, Choices: []string{stock, restrictions, zoo},
			Doc: "stock: Roo Code 3.52.1. mcp-restrictions: a Roo that knows the restriction plan's mcpRestrictions and defaultEnabled. zoo: Zoo Code."}}, options[1:]...)
	}
	return options
}

func (t roo) dialect(o target.Options) string {
	if t.zoo {
		return zoo
	}
	return o.String("dialect")
}

func (t roo) Owns() []string {
	own := []string{".zoomodes", ".zooignore", ".zoo/mcp.json", ".zoo/rules-*/*"}
	if !t.zoo {
		own = append([]string{".roomodes", ".rooignore", ".roo/mcp.json", ".roo/rules-*/*"}, own...)
	}
	return own
}

// Governs: a mode's groups hold access, mcp.json both halves of MCP tools.
func (t roo) Governs(path string, g ir.Group) target.Halves {
	switch path {
	case ".roomodes", ".zoomodes":
		if g == ir.Modes || g == ir.Web && path == ".roomodes" {
			return target.Neither
		}
		return target.Access
	case ".roo/mcp.json", ".zoo/mcp.json":
		if g == ir.MCP {
			return target.Both
		}
	case ".rooignore", ".zooignore":
		if g == ir.Read || g == ir.Edit {
			return target.Access
		}
	}
	return target.Neither
}

// Emit compiles modes, servers, ignored paths and rules files.
func (t roo) Emit(in target.Input) ([]target.File, diag.List) {
	e := &emitter{in: in, name: t.Name(), dialect: t.dialect(in.Options)}
	return e.emit()
}

type emitter struct {
	in      target.Input
	name    string
	dialect string
	diags   diag.List
	ignored map[string]bool // deny globs that .rooignore holds
}

// file returns the dialect's name of a file: ".roomodes" or ".zoomodes".
func (e *emitter) file(name string) string {
	if e.dialect == zoo {
		return ".zoo" + name
	}
	return ".roo" + name
}

// dir is the folder of the dialect's files.
func (e *emitter) dir() string {
	if e.dialect == zoo {
		return ".zoo"
	}
	return ".roo"
}

// loss reports what a mode loses, at the rule that the format cannot say.
func (e *emitter) loss(m *ir.Mode, g ir.Group, code string, at diag.Pos, message, hint string) {
	if at.IsZero() || at.File == "modec:guards" {
		at = m.Pos
	}
	e.diags = append(e.diags, diag.Diagnostic{Severity: diag.Warning, Code: code, Pos: at, Message: message, Hint: hint,
		Target: e.name, Subject: "mode " + m.Slug, Group: string(g), Loss: diag.Narrowing})
}

// widened reports that an exception keeps what would have been left out.
func (e *emitter) widened(m *ir.Mode, g ir.Group, x *target.Exception, message string) {
	e.diags = append(e.diags, diag.Diagnostic{Severity: diag.Warning, Code: "exception-used", Pos: x.Pos, Message: message, Hint: "until " + x.Until.Format("2006-01-02") + ": " + x.Reason,
		Target: e.name, Subject: "mode " + m.Slug, Group: string(g), Loss: diag.Widening})
}

func (t roo) Codes() []diag.Doc {
	return []diag.Doc{
		{Code: "exception-used", Text: "A target keeps something that it cannot hold back, because an [[exceptions]] entry of modec.toml accepts that in writing. Every build lists it until the exception ends."},
		{Code: "roo-read", Text: "A Roo mode has the group read or not: it cannot allow some paths and refuse others, and .rooignore holds a path only for all modes at once. A mode that may not read everything loses the group. Give every mode the same deny, allow reading as a whole, or accept the difference with an exception."},
		{Code: "roo-edit", Text: "A rule over paths cannot be written as Roo's fileRegex (an expression with back references or named groups, a class beyond U+FFFF). An allow is left out; for a deny the mode loses the group edit. Write the rule as a glob."},
		{Code: "roo-command", Text: "A Roo mode has the group command or not: which commands run unasked is the user's own setting. A mode that denies some command loses the group. Ask instead of denying, or accept the difference with an exception."},
		{Code: "roo-web", Text: "A Zoo mode has the group web or not. A mode that denies some host loses the group. Ask instead of denying, or accept the difference with an exception."},
		{Code: "roo-mcp", Text: "The format limits MCP for a mode only as a whole (Roo) or by server (Zoo). A mode that denies a tool of an enabled server, while another mode may use it, loses the group or that server. Deny the tool in every mode, use the mcp-restrictions dialect, or accept the difference with an exception."},
		{Code: "roo-mcp-off", Text: "A server with defaultEnabled false is there for the modes that name it and for no other. Roo starts a server for all modes or for none, so it is written disabled. Enable the server by default, or use a dialect that limits servers by mode."},
		{Code: "roo-mcp-approval", Text: "alwaysAllow in mcp.json holds for all modes at once. A tool that one mode may call unasked and another must ask about is asked about everywhere."},
		{Code: "roo-model", Text: "A Roo mode names no model: the user chooses one for each mode. The source's model is left out."},
		{Code: "roo-tool-collision", Text: "Roo names a tool mcp--server--tool, without characters other than letters, digits, dashes and underscores, and cut at 64 characters. Two tools of the inventory come out alike, and Roo would call the first for both. Rename one of them."},
		{Code: "roo-unknown-extra", Text: "extra.roo and extra.zoo accept no setting: Roo ignores keys of a mode that it does not know, silently."},
	}
}

// Package roo emits the configuration of Roo Code and its successor Zoo Code:
// modes (.roomodes, .zoomodes), MCP servers (mcp.json), ignored paths
// (.rooignore, .zooignore) and rules folders.
//
// Sources: RooCodeInc/Roo-Code at 3.52.1 (packages/types/src/mode.ts,
// src/shared/tools.ts, src/core/tools/validateToolUse.ts), its published schema
// @roo-code/types 1.115.0, and Zoo-Code-Org/Zoo-Code 3.82.0 (which reads
// .zoomodes before .roomodes and .zooignore before .rooignore).
//
// # What the artifacts govern
//
// A mode's groups and fileRegex restrict access: whether an action may happen at all.
// Whether a person confirms it is the user's own auto-approve setting; only
// for MCP tools mcp.json says it (alwaysAllow), for all modes at once.
//
// A mode has what it leaves to the agent: the group is there, and no server approves anything.
//
// # Dialects
//
//   - stock: Roo 3.52.1. A mode has all of MCP or none.
//   - zoo, the target of that name: a mode lists its servers (allowedMcpServers); the group web
//     exists.
//   - mcp-restrictions: the mode key mcpRestrictions and the server key
//     defaultEnabled of Roo's restriction plan. Roo 3.52.1 ignores both.
//
// # What is lost
//
//   - The read, command and web groups are all or nothing: a mode that may not
//     read some path, run some command or fetch from some host loses the group.
//     A path that no mode may read goes into the ignore file instead, which
//     refuses it to every tool: nobody can edit it either, nor name it to cat.
//   - MCP is all or nothing in stock Roo and by server in Zoo. An MCP tool that
//     only some modes may call unasked is asked about in all. A server that is
//     off by default is disabled in stock Roo.
//   - fileRegex is written to be read: one look-ahead refuses denied names; what follows is permitted.
//     Roo tests a path as its model wrote it: docs/../x passes an expression about docs.
//   - An expression with back references or named groups has no place in fileRegex.
//   - A mode has no model.
//
// # Known holes of the agent
//
// fileRegex and the ignore file compare letters as they are. On a file system that ignores their
// case or form, another spelling of a denied path (.ENV) opens it. The ignore file is
// about paths in which each backslash is a slash (toPosix), also where a name has one: "/*.key" does
// not refuse a\b.key.
//
// Roo does not test the regex on a write without content, on the target of a
// move in apply_patch, and in generate_image; a command that it runs may write
// and read any file, so that the group command goes past fileRegex and the
// ignore file. It offers switch_mode and new_task in every mode; stock Roo only
// hides MCP tools from the model of a mode without the group. It reads outside
// the workspace with the user's approval, where the ignore file says nothing. The
// resources of a server are read unasked where the user auto-approves MCP, since
// alwaysAllow is about tools; generate_image looks at the ignore file before it
// adds an extension; custom tools run in every mode. Groups are not withheld because of these.
package roo

import (
	"cmp"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/roo/format"
)

type roo struct{ zoo bool }

// New returns the target "roo", whose dialect is an option.
func New() contract.Target { return roo{} }

// NewZoo returns the target "zoo": the same with the dialect zoo, so that a
// team that moves can build both.
func NewZoo() contract.Target { return roo{zoo: true} }

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

func (t roo) Options() []contract.Option {
	options := []contract.Option{
		{Name: "builtins", Type: contract.String, Default: "keep", Choices: []string{"keep", "shadow"},
			Doc: "The built-in modes that the source does not name stay reachable in the agent. shadow emits their " +
				"slugs without any group."},
		{Name: "format", Type: contract.String, Default: "yaml", Choices: []string{"yaml", "json"},
			Doc: "The form of the modes file; the agent reads both."},
	}
	if !t.zoo {
		options = slices.Insert(options, 1, contract.Option{Name: "dialect", Type: contract.String,
			Default: string(format.Stock),
			Choices: []string{string(format.Stock), string(format.Restrictions)},
			Doc: "stock: Roo Code 3.52.1. mcp-restrictions: a Roo that knows the restriction plan's mcpRestrictions " +
				"and defaultEnabled."})
	}
	return options
}

// OwnModes returns the names of the built-in modes, none where they are shadowed.
func (roo) OwnModes(o contract.Options) (names []string) {
	if o.String("builtins") == "shadow" {
		return nil
	}
	for _, b := range builtins {
		names = append(names, b.slug)
	}
	return names
}

func (t roo) dialect(o contract.Options) format.Dialect {
	if t.zoo {
		return format.Zoo
	}
	return cmp.Or(format.Dialect(o.String("dialect")), format.Stock)
}

func (t roo) Owns() []string {
	own := "." + t.Name()
	return []string{own + "modes", own + "ignore", own + "/mcp.json", own + "/rules-*/*"}
}

// Governs returns access for a mode's groups, and both halves for the MCP tools in mcp.json.
func (t roo) Governs(path string, g ir.Group) contract.Halves {
	switch path {
	case ".roomodes", ".zoomodes":
		switch g {
		case ir.Read, ir.Edit, ir.Command, ir.MCP:
			return contract.Access
		case ir.Web:
			if path == ".zoomodes" {
				return contract.Access
			}
		}
	case ".roo/mcp.json", ".zoo/mcp.json":
		if g == ir.MCP {
			return contract.Both
		}
	case ".rooignore", ".zooignore":
		if g == ir.Read || g == ir.Edit {
			return contract.Access
		}
	}
	return contract.Neither
}

// Emit compiles modes, servers, ignored paths and rules files.
func (t roo) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in, name: t.Name(), dialect: t.dialect(in.Options)}
	return e.emit()
}

type emitter struct {
	in      contract.Input
	name    string
	dialect format.Dialect
	diags   diag.List
	// ignored are the deny globs that the ignore file lists, and their lines.
	ignored map[string]string
}

// dir returns the folder of the agent's files, with which the names of its other files begin too.
func (e *emitter) dir() string { return "." + e.name }

// loss reports what a mode loses, at the rule that the format cannot say.
func (e *emitter) loss(m *ir.Mode, g ir.Group, code diag.Code, at diag.Pos, text string, args ...any) diag.Builder {
	if at.IsZero() {
		at = m.Pos
	}
	return e.diags.Warnf(code, at, text, args...).
		Target(e.name).
		Subject("mode "+m.Slug).
		Loses(diag.Narrowing, string(g))
}

// Agent returns the extension of VS Code.
func (t roo) Agent() contract.Agent {
	if t.zoo {
		return contract.Agent{Name: "Zoo Code", Extension: format.Zoo.Layout().Extension}
	}
	return contract.Agent{Name: "Roo Code", Extension: format.Stock.Layout().Extension, Observed: "3.52.1"}
}

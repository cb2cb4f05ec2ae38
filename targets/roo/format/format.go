// Package format is what the files of Roo Code look like, and those of its forks: their
// names, how the agent reads them, and what its schema takes.
//
// [ReadModes] reads a modes file and [ReadServers] an mcp.json, as the agent does: a
// file that it would refuse is refused, with the place and the words of the schema.
// [YAML] and [Clean] are the steps before it.
//
// The emitter, the model of how Roo decides (package model) and the importer share this
// package and nothing else. It decides nothing.
//
// Sources: RooCodeInc/Roo-Code at 3.52.1 (packages/types/src/mode.ts,
// src/core/config/CustomModesManager.ts, src/services/mcp/McpHub.ts), Zoo-Code-Org/Zoo-Code
// 3.82.0, and for the legacy extension Kilo-Org/kilocode.
package format

// Dialect is an agent of the family, or a variant of one.
type Dialect string

const (
	Stock        Dialect = "stock"            // Roo Code 3.52.1: a mode has all of MCP or none
	Restrictions Dialect = "mcp-restrictions" // Roo's restriction plan: mcpRestrictions, defaultEnabled
	Zoo          Dialect = "zoo"              // Zoo Code: allowedMcpServers, the group web
	Kilo         Dialect = "kilo"             // Kilo Code's legacy extension: only imported
)

// Layout is where an agent keeps its files in a project.
type Layout struct {
	Modes   []string // the first that is there counts
	Servers []string // likewise
	Ignore  []string // likewise
	Rules   []string // what a mode's rules folder begins with; all of them count
	Single  []string // what a mode's single rules file begins with; the first counts
	// Extension is the identifier of the extension of VS Code.
	Extension string
}

var roo = Layout{
	Modes:     []string{".roomodes"},
	Servers:   []string{".roo/mcp.json"},
	Ignore:    []string{".rooignore"},
	Rules:     []string{".roo/rules-"},
	Single:    []string{".roorules-", ".clinerules-"},
	Extension: "rooveterinaryinc.roo-cline",
}

var layouts = map[Dialect]Layout{
	Stock:        roo,
	Restrictions: roo,
	Zoo: {
		Modes:     []string{".zoomodes", ".roomodes"},
		Servers:   []string{".zoo/mcp.json", ".roo/mcp.json"},
		Ignore:    []string{".zooignore", ".rooignore"},
		Rules:     []string{".zoo/rules-"},
		Single:    []string{".zoorules-"},
		Extension: "zoocodeorganization.zoo-code",
	},
	Kilo: {
		Modes:     []string{".kilocodemodes"},
		Servers:   []string{".kilocode/mcp.json"},
		Ignore:    []string{".kilocodeignore"},
		Rules:     []string{".kilocode/rules-"},
		Single:    []string{".kilocoderules-"},
		Extension: "kilocode.kilo-code",
	},
}

// Layout returns where the agent keeps its files.
func (d Dialect) Layout() Layout { return layouts[d] }

// NameEnd is where a denied name ends in a fileRegex that modec writes: what is below it is denied too.
//
//	^(?!(db/applied|(.*/)?\.env)(/|$)).*\.md$
const NameEnd = `(/|$)`

// EverythingElse is the description that modec gives the group edit of a mode that may
// edit everything but what is denied.
const EverythingElse = "Everything but what is denied"

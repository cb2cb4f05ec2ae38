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

import (
	"strings"

	"modec.dev/modec/compiler/ecma"
)

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

// A fileRegex that modec writes begins with a look-ahead. It refuses what is not a clean
// path below the root, since Roo tests the path as the model wrote it, and denied names
// with all that is below them:
//
//	^(?!~|.:|.*\\|(modec|(.*/)?(\.{0,2}|\.git))(/|$))
const (
	Home      = `~`       // of somebody
	Drive     = `.:`      // of Windows
	Backslash = `.*\\`    // a path to Windows, a name to others
	Dots      = `\.{0,2}` // a name that is ".", ".." or, in an absolute path and beside "//", nothing
	NameEnd   = `(/|$)`

	// Here stands before the look-ahead where a mode's own expression took files outside the project too, and the one
	// of modec's does not: a path in the project may begin so.
	Here = `(\./)?`
)

// A fileRegex of modec's that takes files outside the project too is about the last name of a path. It
// refuses denied names however they are reached, since no look-ahead knows where an absolute path leads:
//
//	^(?!(.*[/\\])?(modec|\.git)([/\\]|$)).*\.md$
const (
	Folders = `(.*[/\\])?` // as any system separates them
	AnyEnd  = `([/\\]|$)`
	AnyName = `[^/\\]` // in place of [^/]
)

// Anywhere returns the names that the first look-ahead of such an expression refuses; false for any
// other expression.
func Anywhere(p *ecma.Pattern) (ecma.Sequence, bool) {
	if at, ok := Looks(p); !ok || at != 1 {
		return nil, false
	}
	body := refused(p.Root[0], 1)
	if len(body) != 1 || len(body[0]) < 3 {
		return nil, false
	}
	s, last := body[0], len(body[0])-1
	return s[1:last], s[:1].String() == Folders && s[last:].String() == AnyEnd
}

// Looks returns where the first look-ahead stands in an expression of modec's; false for any other expression.
func Looks(p *ecma.Pattern) (at int, ok bool) {
	if len(p.Root) != 1 || p.Root[0][:min(1, len(p.Root[0]))].String() != "^" {
		return 0, false
	}
	if at = 1; len(p.Root[0]) > 1 && p.Root[0][1:2].String() == Here {
		at = 2
	}
	return at, refused(p.Root[0], at) != nil
}

// Refusal returns what a fileRegex of modec's refuses by names, as an expression of its own; false for any
// other expression.
func Refusal(p *ecma.Pattern) (string, bool) {
	if _, ok := Anywhere(p); ok {
		return p.Root[0][:2].String(), true
	}
	at, ok := Looks(p)
	if !ok {
		return "", false
	}
	body := refused(p.Root[0], at)
	last := len(body) - 1
	if last < 1 || body[last-1].String() != Backslash || !strings.Contains(body[last].String(), Dots) {
		return "", false
	}
	return p.Root[0][:at+1].String(), true
}

// refused returns the body of a negative look-ahead in a sequence, nil for none there.
func refused(s ecma.Sequence, i int) ecma.Alternation {
	if i < len(s) {
		if look, ok := s[i].(*ecma.Look); ok && look.Kind == ecma.NotAhead {
			return look.Body
		}
	}
	return nil
}

// EverythingElse is the description that modec gives the group edit of a mode that may
// edit everything but what is denied.
const EverythingElse = "Everything but what is denied"

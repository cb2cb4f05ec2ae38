// Package inventory compares what MCP servers say of themselves with the inventory of the
// source. [Compare] finds the differences; package render writes the file of the source that mends them.
package inventory

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/pins"
)

// maxDescription is the most characters of a description that are written into the source.
const maxDescription = 120

// Offered is what a server says that it offers.
type Offered struct {
	Tools     []Tool
	Prompts   []string // names
	Resources []string // addresses, those of templates too
	// Pinned is all of the server that pins are about, as it is.
	Pinned *pins.Server
}

// Tool is a tool as its server describes it.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Risk is what its annotations claim: read, write, destructive, "" where they say nothing. It is a claim of
	// the server: no rule may go by it before a person has written it.
	Risk string `json:"risk,omitempty" jsonschema:"what the server claims of it"`
}

// Difference is where a server and the source do not agree. Its lists are sorted by name.
type Difference struct {
	New  []Tool    // that the source does not list
	Gone []ir.Tool // that the server does not offer
	// Refused are the names of tools that the source does not take.
	Refused []string
	// Riskier are the tools of which their server says worse than the source does.
	Riskier []Tool
}

// Any reports whether there is a difference that the source could take.
func (d Difference) Any() bool { return len(d.New)+len(d.Gone)+len(d.Riskier) > 0 }

var risks = []string{"", "read", "write", "destructive"}

// Compare compares a server of the source with what it offers.
func Compare(sv *ir.Server, o Offered) (d Difference) {
	offered := map[string]bool{}
	for _, t := range o.Tools {
		offered[t.Name] = true
		have := sv.Tool(t.Name)
		switch {
		case !Takes(t.Name):
			d.Refused = append(d.Refused, t.Name)
		case have == nil:
			d.New = append(d.New, t)
		case have.Risk != "" && slices.Index(risks, t.Risk) > slices.Index(risks, have.Risk):
			d.Riskier = append(d.Riskier, t)
		}
	}
	for _, t := range sv.Tools {
		if !offered[t.Name] {
			d.Gone = append(d.Gone, t)
		}
	}
	byName := func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(d.New, byName)
	slices.SortFunc(d.Riskier, byName)
	slices.Sort(d.Refused)
	return d
}

var toolName = lazy.Regexp(`^[A-Za-z0-9_.-]{1,128}$`)

// Takes reports whether the source takes a tool's name.
func Takes(tool string) bool { return toolName().MatchString(tool) }

// Short returns the first sentence of a description, on one line.
func Short(s string) string {
	s = strings.Join(strings.Fields(diag.Clean(strings.Join(strings.Fields(s), " "))), " ")
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	if r := []rune(s); len(r) > maxDescription {
		s = strings.TrimSpace(string(r[:maxDescription-1])) + "…"
	}
	return s
}

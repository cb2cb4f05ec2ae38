// Package inventory compares what MCP servers say of themselves with the inventory of the
// source. [Compare] finds the differences, and [Text] writes the file of the source that
// mends them.
package inventory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// maxDescription is the most characters of a description that are written into the source.
const maxDescription = 120

// Offered is what a server says that it offers.
type Offered struct {
	Tools     []Tool
	Prompts   []string // names
	Resources []string // addresses, those of templates too
}

// Tool is a tool as its server describes it.
type Tool struct {
	Name        string
	Description string
	// Risk is what its annotations claim: read, write, destructive, "" where they say nothing. It is a claim of
	// the server: no rule may go by it before a person has written it.
	Risk string
}

// Difference is where a server and the source do not agree. Its lists are sorted by name.
type Difference struct {
	New  []Tool    // that the source does not list
	Gone []ir.Tool // that the server does not offer
	// Riskier are the tools of which their server says worse than the source does.
	Riskier []Tool
}

// Any reports whether there is a difference.
func (d Difference) Any() bool { return len(d.New)+len(d.Gone)+len(d.Riskier) > 0 }

var risks = []string{"", "read", "write", "destructive"}

// Compare compares a server of the source with what it offers.
func Compare(sv *ir.Server, o Offered) (d Difference) {
	offered := map[string]bool{}
	for _, t := range o.Tools {
		offered[t.Name] = true
		have := sv.Tool(t.Name)
		switch {
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
	return d
}

// Header begins the files that Text writes.
const Header = "// Written by modec inventory --update: the risk of a tool stays as it is, " +
	"and the rest is written anew.\n"

// Path returns the path of the file in which the tools of a server are, in the folder of a source.
func Path(source, server string) string {
	return path.Join(source, "inventory", contract.PathName(server)+".cue")
}

// Text returns the file with the tools that a server offers and that no other file of the source lists, in CUE that
// is not formatted yet. file is its path: tools that the source has from there keep their risk.
func Text(sv *ir.Server, o Offered, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%spackage modec\n\nservers: %s: tools: {\n", Header, label(sv.Name))
	tools := slices.SortedFunc(slices.Values(o.Tools), func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	for _, t := range tools {
		have, risk := sv.Tool(t.Name), ""
		if have != nil && have.Pos.File != file {
			continue
		}
		var fields []string
		if d := Short(t.Description); d != "" {
			fields = append(fields, "description: "+quoted(d))
		}
		if have != nil && have.Risk != "" {
			risk = have.Risk
			fields = append(fields, "risk: "+quoted(risk))
		}
		fmt.Fprintf(&b, "\t%s: {%s}", label(t.Name), strings.Join(fields, ", "))
		if t.Risk != "" && t.Risk != risk {
			fmt.Fprintf(&b, " // the server says: risk: %s", quoted(t.Risk))
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// bare are the names that a field can have without quotes. One that begins with _ would be hidden.
var bare = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// keywords are words of CUE's grammar.
var keywords = []string{"false", "for", "if", "import", "in", "let", "null", "package", "true"}

func label(name string) string {
	if bare.MatchString(name) && !slices.Contains(keywords, name) {
		return name
	}
	return quoted(name)
}

// quoted writes a text as CUE and JSON do.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)                                                                     // a text can be written
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\uFEFF", `\uFEFF`) // CUE has it only as an escape
}

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

package diag

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"
)

// The parts of SARIF 2.1.0 (OASIS, March 2020) that modec writes. Our own structs: the
// libraries for it link a schema validator and an HTTP client into every hook call.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name            string      `json:"name"`
		SemanticVersion string      `json:"semanticVersion,omitempty"`
		Rules           []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID              Code      `json:"id"`
		FullDescription sarifText `json:"fullDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID           Code            `json:"ruleId"`
		RuleIndex        int             `json:"ruleIndex"`
		Level            string          `json:"level"`
		Message          sarifText       `json:"message"`
		Locations        []sarifLocation `json:"locations,omitempty"`
		RelatedLocations []sarifLocation `json:"relatedLocations,omitempty"`
	}
	sarifLocation struct {
		ID       *int          `json:"id,omitempty"`
		Message  *sarifText    `json:"message,omitempty"`
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// SARIF writes a list as a SARIF 2.1.0 log. docs describe the codes; one without an
// entry is its own description. source returns a file's text, by which columns are
// counted in characters; nil: they are those of bytes.
func SARIF(w io.Writer, version string, list List, docs []Doc, source func(file string) ([]byte, error)) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "modec", Rules: []sarifRule{}}
	if v := strings.TrimPrefix(version, "v"); v != "" && v[0] >= '0' && v[0] <= '9' {
		run.Tool.Driver.SemanticVersion = v
	}
	text := map[Code]string{}
	for _, d := range docs {
		text[d.Code] = d.Text
	}
	index := map[Code]int{}
	for _, d := range list {
		i, ok := index[d.Code]
		if !ok {
			i = len(run.Tool.Driver.Rules)
			index[d.Code] = i
			description := text[d.Code]
			if description == "" {
				description = string(d.Code)
			}
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{d.Code, sarifText{description}})
		}
		r := sarifResult{RuleID: d.Code, RuleIndex: i, Level: d.Severity.String(), Message: sarifText{sentence(d)}}
		if d.Pos.File != "" {
			r.Locations = []sarifLocation{{Physical: physical(d.Pos, source)}}
		}
		for n, x := range d.Related {
			if x.Pos.File != "" {
				r.RelatedLocations = append(r.RelatedLocations,
					sarifLocation{ID: &n, Message: &sarifText{x.Message}, Physical: physical(x.Pos, source)})
			}
		}
		run.Results = append(run.Results, r)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	const schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
	return e.Encode(sarifLog{schema, "2.1.0", []sarifRun{run}})
}

// sentence is what a diagnostic says, with its subject and its hint.
func sentence(d Diagnostic) string {
	s := d.Message
	if d.Subject != "" {
		s = d.Subject + ": " + s
	}
	if d.Hint != "" {
		s += " (hint: " + d.Hint + ")"
	}
	return s
}

func physical(p Pos, source func(string) ([]byte, error)) sarifPhysical {
	out := sarifPhysical{Artifact: sarifArtifact{URI: (&url.URL{Path: p.File}).EscapedPath(), URIBaseID: "%SRCROOT%"}}
	if p.Line > 0 {
		out.Region = &sarifRegion{StartLine: p.Line, StartColumn: column(p, source)}
	}
	return out
}

// column counts the characters before a place.
func column(p Pos, source func(string) ([]byte, error)) int {
	if source == nil || p.Col == 0 {
		return p.Col
	}
	data, err := source(p.File)
	if err != nil {
		return p.Col
	}
	lines := strings.Split(string(data), "\n")
	if p.Line > len(lines) || p.Col-1 > len(lines[p.Line-1]) {
		return p.Col
	}
	return 1 + len([]rune(lines[p.Line-1][:p.Col-1]))
}

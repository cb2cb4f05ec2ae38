// Package diag holds what modec says about a source: positions, diagnostics
// and their rendering. Stages collect diagnostics in a [List] and return it;
// only the command line prints.
//
// A diagnostic states a fact at a place: what was got, then what was wanted,
// in lower case and without a period. Its code is stable: it is documented
// ([Doc]), matched by tests and never renamed.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity ranks a diagnostic. Only an Error stops a build.
type Severity int

const (
	Error Severity = iota
	Warning
	Note
)

var severityNames = [...]string{"error", "warning", "note"}

func (s Severity) String() string { return severityNames[s] }

// MarshalText writes the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a severity's name.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severityNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("got severity %q, want one of %s", text, strings.Join(severityNames[:], ", "))
	}
	*s = Severity(i)
	return nil
}

// Pos is a place in a source file. Line and Col are 1-based, Col counts bytes.
// File is slash-separated and relative to the project root. The zero Pos means
// that no place is known, and prints nothing.
type Pos struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
}

// IsZero reports whether no place is known.
func (p Pos) IsZero() bool { return p == Pos{} }

// String formats the place as file:line:col, leaving out what is not known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Compare orders places by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// Related is a second place that a diagnostic speaks of.
type Related struct {
	Pos     Pos    `json:"pos"`
	Message string `json:"message"`
}

// Code names a kind of diagnostic: kebab-case, stable and documented ([Doc]).
// Codes are constants of the package that reports them.
type Code string

// Diagnostic is one problem or one loss.
type Diagnostic struct {
	Severity Severity  `json:"severity"`
	Code     Code      `json:"code"`              // "unknown-field"
	Pos      Pos       `json:"pos"`               //
	Path     string    `json:"path,omitempty"`    // modes.code.model
	Message  string    `json:"message"`           // got before wanted, lower case, no period
	Hint     string    `json:"hint,omitempty"`    // what to do about it
	Related  []Related `json:"related,omitempty"` // "also set here"

	// The fields below are set on a loss: a difference between what the
	// source decides and what an artifact of Target decides for Subject.
	Target  string `json:"target,omitempty"`
	Subject string `json:"subject,omitempty"` // "mode architect"
	Group   string `json:"group,omitempty"`   // the tool group that lost something
	Loss    Loss   `json:"loss,omitempty"`

	// Needless is set where nobody has to do anything about a loss: the agent is stricter by
	// itself, or the source has what the hint would ask for. A short report leaves it out.
	Needless bool `json:"-"`
	// Unloaded is set for a file of which an agent loads nothing: nothing in it holds back anything.
	Unloaded bool `json:"-"`
	// Accepts are what the exceptions of modec.toml would say that accept this together.
	Accepts []Acceptance `json:"-"`
}

// Acceptance is what an exception says for a finding of a target.
type Acceptance struct {
	Subject string // "mode architect"; "" where it concerns every session
	What    string // "edit", "plugin x.ts"
}

// Loss says in which direction a target differs from the source.
type Loss string

const (
	NoLoss    Loss = ""
	Narrowing Loss = "narrowing" // the artifact permits less
	Widening  Loss = "widening"  // the artifact permits more, by a written exception
	Text      Loss = "text"      // no permission is concerned: a field has no equivalent
)

// List is a collection of diagnostics.
type List []Diagnostic

// Sort orders the list by place, then severity, code, target, subject and
// message, and drops exact repetitions, so that output does not depend on the
// order in which stages ran.
func (l *List) Sort() {
	slices.SortStableFunc(*l, compare)
	*l = slices.CompactFunc(*l, func(a, b Diagnostic) bool { return compare(a, b) == 0 })
}

func compare(a, b Diagnostic) int {
	return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Target, b.Target), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Message, b.Message))
}

// HasErrors reports whether any diagnostic is an Error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Count returns how many diagnostics have the severity.
func (l List) Count(s Severity) int {
	n := 0
	for _, d := range l {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// Err returns the list as an error, nil when it holds no Error.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error joins the messages, one a line, without source excerpts.
func (l List) Error() string {
	var b strings.Builder
	for i, d := range l {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(d.String())
	}
	return b.String()
}

// String formats the diagnostic as `file:line:col: error: message [code]`.
func (d Diagnostic) String() string {
	var b strings.Builder
	if p := d.Pos.String(); p != "" {
		b.WriteString(p + ": ")
	}
	b.WriteString(d.Severity.String() + ": ")
	if d.Target != "" {
		b.WriteString(d.Target + ": ")
	}
	b.WriteString(d.Message)
	if d.Code != "" {
		b.WriteString(" [" + string(d.Code) + "]")
	}
	return b.String()
}

// Doc documents one code for `modec explain --code`.
type Doc struct {
	Code Code // "unknown-field"
	// Text is a paragraph: what the code means, why it matters and what to do.
	Text string
}

// Docs reads the documentation of codes, which is Markdown with a section for each: its heading
// is the code.
func Docs(markdown string) []Doc {
	var docs []Doc
	for _, section := range strings.Split(markdown, "\n## ")[1:] {
		code, text, _ := strings.Cut(section, "\n")
		docs = append(docs, Doc{Code: Code(strings.TrimSpace(code)), Text: strings.Join(strings.Fields(text), " ")})
	}
	return docs
}

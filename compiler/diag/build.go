package diag

import (
	"fmt"

	"modec.dev/modec/compiler/secret"
)

// A Builder adds details to a diagnostic. Texts are masked: a message may quote what a source
// states.
//
//	diags.Errorf(BadGlob, pos, "got %q, want a glob", text).Path("modes.code.can.edit").Hint("…")
type Builder struct{ d *Diagnostic }

// Errorf appends an error.
func (l *List) Errorf(c Code, at Pos, format string, args ...any) Builder {
	return l.add(Error, c, at, fmt.Sprintf(format, args...))
}

// Warnf appends a warning.
func (l *List) Warnf(c Code, at Pos, format string, args ...any) Builder {
	return l.add(Warning, c, at, fmt.Sprintf(format, args...))
}

// Notef appends a note.
func (l *List) Notef(c Code, at Pos, format string, args ...any) Builder {
	return l.add(Note, c, at, fmt.Sprintf(format, args...))
}

func (l *List) add(s Severity, c Code, at Pos, message string) Builder {
	*l = append(*l, Diagnostic{Severity: s, Code: c, Pos: at, Message: secret.Text(message)})
	return Build(&(*l)[len(*l)-1])
}

// Build returns a builder of a diagnostic that is not in a list.
func Build(d *Diagnostic) Builder { return Builder{d} }

// Path sets the path of the field: "modes.code.model".
func (b Builder) Path(path string) Builder { b.d.Path = path; return b }

// Hint sets what to do about it.
func (b Builder) Hint(text string) Builder { b.d.Hint = secret.Text(text); return b }

// Hintf is Hint with a format.
func (b Builder) Hintf(format string, args ...any) Builder {
	return b.Hint(fmt.Sprintf(format, args...))
}

// Related adds a second place.
func (b Builder) Related(at Pos, message string) Builder {
	b.d.Related = append(b.d.Related, Related{at, secret.Text(message)})
	return b
}

// Target names the target that reports it.
func (b Builder) Target(name string) Builder { b.d.Target = name; return b }

// Subject names the subject that it concerns: "mode architect".
func (b Builder) Subject(name string) Builder { b.d.Subject = name; return b }

// Accepted names an exception that accepts it, or all of them together.
func (b Builder) Accepted(by ...Acceptance) Builder {
	b.d.Accepts = append(b.d.Accepts, by...)
	return b
}

// Needless marks a loss about which nobody has to do anything.
func (b Builder) Needless() Builder { b.d.Needless = true; return b }

// Loses makes it a loss; group is the tool group that differs, "" for none.
func (b Builder) Loses(l Loss, group string) Builder {
	b.d.Loss, b.d.Group = l, group
	return b
}

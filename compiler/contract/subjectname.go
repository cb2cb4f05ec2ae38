package contract

import (
	"net/url"
	"strings"

	"modec.dev/modec/compiler/ir"
)

// modePrefix is how the name of a mode's file begins: a role may have the same name.
const modePrefix = "mode:"

// SubjectName returns the name of a file or a folder for a role, or for a mode.
func SubjectName(ref ir.SubjectRef) string {
	if ref.Role != "" {
		return PathName(ref.Role)
	}
	return PathName(modePrefix + ref.Mode)
}

// NamedSubject returns the subject of such a name. It reports false for a name of another form.
func NamedSubject(name string) (ir.SubjectRef, bool) {
	name, err := url.PathUnescape(name)
	if slug, ok := strings.CutPrefix(name, modePrefix); ok {
		return ir.SubjectRef{Mode: slug}, err == nil
	}
	return ir.SubjectRef{Role: name}, err == nil
}

package contract

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Limits of names, in characters. No expression says them: one that counts costs every
// start of modec a part of a millisecond.
const (
	mostServerName = 256
	mostToolName   = 128
)

// ServerName reports whether the source takes a server's name.
func ServerName(name string) bool {
	return utf8.RuneCountInString(name) <= mostServerName && !strings.ContainsAny(name, ":*") && strings.TrimSpace(name) != "" && !slices.Contains(ir.ReservedServers, name)
}

// ToolName reports whether the source takes a tool's name.
func ToolName(name string) bool {
	return name != "" && len(name) <= mostToolName && all(name, func(c rune) bool { return slugCharacter(c) || c == '_' || c == '.' })
}

func slugCharacter(c rune) bool {
	return c == '-' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func all(s string, ok func(rune) bool) bool {
	return strings.IndexFunc(s, func(c rune) bool { return !ok(c) }) < 0
}

// Slug returns the slug that is nearest to a name: itself where it is one, "" for a
// name without a letter or digit.
func Slug(name string) string {
	if name != "" && all(name, slugCharacter) {
		return name
	}
	s := strings.Map(func(r rune) rune {
		if slugCharacter(r) {
			return r
		}
		return '-'
	}, strings.TrimSpace(name))
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	return strings.Trim(s, "-")
}

// Read reads a file to import if it is there, and keeps at, its name in places. One
// that cannot be read is an error of the code.
func (im *Imported) Read(fsys fs.FS, name, at string, code diag.Code, diags *diag.List) ([]byte, bool) {
	data, err := ReadImport(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		diags.Errorf(code, diag.Pos{File: at}, "got a file that cannot be imported: %v", err)
		return nil, false
	}
	if !slices.Contains(im.Files, at) {
		im.Files = append(im.Files, at)
	}
	return data, true
}

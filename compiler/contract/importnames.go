package contract

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Limits of names, in characters. They are checked without a regular expression, because
// compiling one that counts slows every start of modec.
const (
	mostServerName = 256
	mostToolName   = 128
)

// ServerName reports whether a name is valid for a server of the source.
func ServerName(name string) bool {
	return utf8.RuneCountInString(name) <= mostServerName &&
		!strings.ContainsAny(name, ":*") && !strings.ContainsFunc(name, unicode.IsControl) &&
		strings.TrimSpace(name) != "" &&
		!slices.Contains(ir.ReservedServers, name)
}

// ServerURL reports whether an address is valid for a server of the source.
func ServerURL(url string) bool {
	host, ok := strings.CutPrefix(url, "http://")
	if !ok {
		host, ok = strings.CutPrefix(url, "https://")
	}
	return ok && host != "" && host[0] != '\n'
}

// ToolName reports whether a name is valid for a tool of the source.
func ToolName(name string) bool {
	return name != "" && len(name) <= mostToolName && all(name, toolCharacter)
}

func toolCharacter(c rune) bool { return slugCharacter(c) || c == '_' || c == '.' }

func slugCharacter(c rune) bool {
	return c == '-' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// all reports whether a condition holds for every character of a text.
func all(s string, ok func(rune) bool) bool {
	return strings.IndexFunc(s, func(c rune) bool { return !ok(c) }) < 0
}

// NoSlug says why [Slug] makes none of a name.
const NoSlug = "its name has no letter and no digit, or leads out of its folder"

// Slug returns the slug that is closest to a name: the name itself where it is a slug, ""
// for a name without a letter or digit, and for a path that leads out of its folder, as "../x": it is not x.
func Slug(name string) string {
	if name != "" && all(name, slugCharacter) {
		return name
	}
	slashes := strings.ReplaceAll(name, `\`, "/")
	if strings.HasPrefix(slashes, "/") || slices.Contains(strings.Split(slashes, "/"), "..") {
		return ""
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

// Read reads a file to import, and false where there is none. at is its name in places,
// which Read adds to im.Files. It reports a file that cannot be read with the code.
func (im *Imported) Read(fsys fs.FS, name, at string, code diag.Code, diags *diag.List) ([]byte, bool) {
	data, err := ReadImport(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		diags.Errorf(code, diag.Pos{File: at}, "this file cannot be imported: %v", err)
		return nil, false
	}
	if !slices.Contains(im.Files, at) {
		im.Files = append(im.Files, at)
	}
	return data, true
}

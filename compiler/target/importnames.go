package target

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
)

var (
	slugPattern   = regexp.MustCompile(`^[a-zA-Z0-9-]+$`)
	serverPattern = regexp.MustCompile(`^[^:*]{1,256}$`)
	toolPattern   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	reserved      = []string{"default", "allow", "ask", "deny", "resources", "prompts"}
)

// ServerName reports whether the source takes a server's name.
func ServerName(name string) bool {
	return serverPattern.MatchString(name) && strings.TrimSpace(name) != "" && !slices.Contains(reserved, name)
}

// ToolName reports whether the source takes a tool's name.
func ToolName(name string) bool { return toolPattern.MatchString(name) }

// Slug returns the slug that is nearest to a name: itself where it is one, "" for a
// name without a letter or digit.
func Slug(name string) string {
	if slugPattern.MatchString(name) {
		return name
	}
	s := strings.Map(func(r rune) rune {
		if r == '-' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
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
func (im *Imported) Read(fsys fs.FS, name, at, code string, diags *diag.List) ([]byte, bool) {
	data, err := ReadImport(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		diags.Errorf(diag.Pos{File: at}, code, "", "got a file that cannot be imported: %v", err)
		return nil, false
	}
	if !slices.Contains(im.Files, at) {
		im.Files = append(im.Files, at)
	}
	return data, true
}

package contract

import (
	"path"
	"slices"
	"strings"
)

// Below is a target whose agent, in a session that starts in a folder below the project's own, reads files there, too.
type Below interface {
	Target
	// Below returns what such a file is called from that folder: a path whose last segment may be a pattern of
	// path.Match.
	Below() []string
}

// FolderOf returns the folder below the project's own to which a file belongs by one of such names; false for a file of
// the project's folder, of a folder that no session starts in, and for any other file.
func FolderOf(names []string, file string) (folder string, ok bool) {
	keys := strings.Split(file, "/")
	for _, name := range names {
		n := len(keys) - strings.Count(name, "/") - 1
		if n < 1 || slices.ContainsFunc(keys[:n], elsewhere) {
			continue
		}
		if matched, err := path.Match(name, strings.Join(keys[n:], "/")); matched && err == nil {
			return strings.Join(keys[:n], "/"), true
		}
	}
	return "", false
}

// elsewhere reports whether a folder has other people's files, or an agent's own.
func elsewhere(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "node_modules" || folder == "vendor"
}

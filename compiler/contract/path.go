package contract

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// PathName returns a path segment for the name of a subject or server that is safe on every
// file system. Letters, digits, `_` and `-` stay, and so does `.` unless it is first; every
// other byte becomes %XX. Distinct names stay distinct.
func PathName(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case slugCharacter(rune(c)), c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// MostPathName is how many bytes PathName may return for a mode or a role. File systems have names of 255 bytes, to
// which modec's own files, and the writer's copies of them, add up to 35.
const MostPathName = 220

// LocalPath reports whether a slash-separated path is below the folder that it is relative
// to, on every operating system.
func LocalPath(p string) bool {
	clean := path.Clean(p)
	return p != "" && !path.IsAbs(p) && clean != "." && clean != ".." && !strings.HasPrefix(clean, "../") &&
		!strings.ContainsAny(p, "\\:\x00")
}

// WebHost returns the host of an address, or of a bare host; false where agents and browsers
// may disagree about it.
func WebHost(raw string) (string, bool) {
	scheme, _, ok := strings.Cut(raw, ":")
	if lower := strings.ToLower(scheme); !ok || lower != "http" && lower != "https" {
		if strings.Contains(raw, "://") {
			return "", false // of another scheme
		}
		raw = "https://" + raw
	} else if !strings.HasPrefix(raw[len(scheme):], "://") {
		return "", false // https:/host is https://host to a browser
	}
	if strings.ContainsAny(raw, "\\ \t\r\n") {
		return "", false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	return u.Hostname(), true
}

// WrittenHost returns the host of an address in the letters in which it is written, as agents' files compare it.
func WrittenHost(address string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(address, "https://"), "/")
	return host
}

// systemFolders are folders below the system's root that no project has below its own.
var systemFolders = []string{"etc", "home", "usr", "var", "tmp", "root", "opt", "Users", "private", "Library", "System",
	"proc", "dev", "sys", "mnt", "Volumes"}

// SystemPath reports whether a path pattern begins with a slash and a folder of the system,
// as /etc/** does.
func SystemPath(pattern string) bool {
	rest, ok := strings.CutPrefix(pattern, "/")
	first, _, _ := strings.Cut(rest, "/")
	return ok && slices.Contains(systemFolders, first) && rest != first
}

package contract

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// PathName turns a subject's or server's name into one path segment that is
// safe on every file system: letters, digits, `_` and `-` stay, also `.` but
// not first; every other byte becomes %XX. Distinct names stay distinct.
func PathName(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// LocalPath reports whether a slash-separated path stays below the folder that it is
// relative to, on every system.
func LocalPath(p string) bool {
	clean := path.Clean(p)
	return p != "" && !path.IsAbs(p) && clean != "." && clean != ".." && !strings.HasPrefix(clean, "../") &&
		!strings.ContainsAny(p, "\\:\x00")
}

// DecideAt decides an absolute path at the disk, as it is written and with its links
// resolved, for a project whose folder is root; the lower decision holds. resolve is
// HookRequest's.
func DecideAt(s *policy.Subject, g ir.Group, root, file string, resolve func(string) (string, error)) policy.Result {
	resolved, err := resolve(file)
	if err != nil {
		return policy.Result{Decision: ir.Deny, Rule: "a path whose links cannot be resolved"}
	}
	real, err := resolve(root)
	if err != nil {
		return policy.Result{Decision: ir.Deny, Rule: "a project root that cannot be resolved"}
	}
	written := policy.Relative(root, file)
	if filepath.IsAbs(written) { // the project may be named by its resolved path
		written = policy.Relative(real, file)
	}
	return s.DecideFile(g, written, policy.Relative(real, resolved))
}

// WebHost reads the host that a fetch of an address or of a bare host goes to; false
// where agents and browsers may read it otherwise.
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

// ResolveLinks follows the links of an absolute path as far as it exists, and
// keeps the rest as written. A link that leads nowhere is an error: writing through it
// would create its target.
func ResolveLinks(file string) (string, error) {
	rest := ""
	for p := filepath.Clean(file); ; {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if _, err := os.Lstat(p); err == nil {
			return "", fmt.Errorf("%s: a link that leads nowhere", p)
		}
		parent := filepath.Dir(p)
		if parent == p {
			return "", err
		}
		rest = filepath.Join(filepath.Base(p), rest)
		p = parent
	}
}

// systemFolders are folders below the system's root that no project has at its own.
var systemFolders = []string{"etc", "home", "usr", "var", "tmp", "root", "opt", "Users", "private", "Library", "System",
	"proc", "dev", "sys", "mnt", "Volumes"}

// SystemPath reports whether a path pattern begins with a slash and a folder of the
// system, as /etc/** does.
func SystemPath(pattern string) bool {
	rest, ok := strings.CutPrefix(pattern, "/")
	first, _, _ := strings.Cut(rest, "/")
	return ok && slices.Contains(systemFolders, first) && rest != first
}

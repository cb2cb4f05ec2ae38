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

// LocalPath reports whether a slash-separated path is below the folder that it is relative
// to, on every operating system.
func LocalPath(p string) bool {
	clean := path.Clean(p)
	return p != "" && !path.IsAbs(p) && clean != "." && clean != ".." && !strings.HasPrefix(clean, "../") &&
		!strings.ContainsAny(p, "\\:\x00")
}

// DecideAt decides about a file on the disk by its absolute path, both as it is written and
// with its links resolved, in a project whose folder is root. A file outside of that is also
// decided as ../NAME, as a source may write it. The lowest decision holds. resolve is that of a
// HookRequest.
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
	if filepath.IsAbs(written) { // the path may begin with the project's resolved one
		written = policy.Relative(real, file)
	}
	return s.DecideFile(g, written, policy.Relative(real, resolved),
		above(root, file), above(real, file), above(real, resolved))
}

// above returns the path of a file outside of a folder from there ("../x"), "" for one inside,
// and where there is none.
func above(folder, file string) string {
	if rest, ok := strings.CutPrefix(file, folder); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return "" // as nearly all are
	}
	up, err := filepath.Rel(folder, file)
	if err != nil || up != ".." && !strings.HasPrefix(up, ".."+string(filepath.Separator)) {
		return ""
	}
	return filepath.ToSlash(up)
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

// ResolveLinks returns an absolute path with its links resolved as far as it exists, and the
// rest as written. It fails on a link whose target does not exist, because writing through
// that link would create the target.
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
			return "", fmt.Errorf("%s: the link's target does not exist", p)
		}
		parent := filepath.Dir(p)
		if parent == p {
			return "", err
		}
		rest = filepath.Join(filepath.Base(p), rest)
		p = parent
	}
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

package target

import (
	"fmt"
	"strings"
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

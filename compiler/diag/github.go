package diag

import (
	"fmt"
	"io"
	"strings"
)

// GitHub writes a list as workflow commands, which GitHub Actions shows beside the
// lines of a pull request.
func GitHub(w io.Writer, list List) {
	level := map[Severity]string{Error: "error", Warning: "warning", Note: "notice"}
	for _, d := range list {
		var at []string
		if d.Pos.File != "" {
			at = append(at, "file="+property(d.Pos.File))
		}
		if d.Pos.Line > 0 {
			at = append(at, fmt.Sprintf("line=%d", d.Pos.Line))
		}
		if d.Pos.Col > 0 {
			at = append(at, fmt.Sprintf("col=%d", d.Pos.Col))
		}
		at = append(at, "title="+property("modec "+string(d.Code)))
		fmt.Fprintf(w, "::%s %s::%s\n", level[d.Severity], strings.Join(at, ","), data(sentence(d)))
	}
}

var (
	dataEscape     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscape = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func data(s string) string { return dataEscape.Replace(s) }

func property(s string) string { return propertyEscape.Replace(s) }

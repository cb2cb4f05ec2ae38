package policy

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"modec.dev/modec/compiler/ir"
)

// Covers reports whether a pattern matches everything that another one matches. It reports false where that takes more
// than a look at the text.
func Covers(g ir.Group, wide, narrow ir.Pattern) bool {
	switch {
	case wide.Kind == ir.All, wide == narrow:
		return true
	case wide.Kind != ir.Plain || narrow.Kind != ir.Plain, wide.Args != "" && wide.Args != narrow.Args:
		return false
	}
	switch g {
	case ir.Read, ir.Edit:
		return globCovers(wide.Text, narrow.Text)
	case ir.Command:
		return commandCovers(wide.Text, narrow.Text)
	case ir.Web:
		suffix, ok := strings.CutPrefix(wide.Text, "*")
		return ok && strings.HasSuffix(narrow.Text, suffix) && (suffix == "" || narrow.Text != suffix[1:])
	}
	return WildcardCovers(wide.Text, narrow.Text)
}

func globCovers(wide, narrow string) bool {
	if strings.ContainsAny(wide+narrow, "[]\\{}?") {
		return false
	}
	if anyDepth(wide) {
		wide = "**/" + wide
	}
	if anyDepth(narrow) && !strings.HasPrefix(wide, "**/") {
		return false
	}
	ok, err := doublestar.Match(strings.TrimPrefix(wide, "/"), strings.TrimPrefix(narrow, "/"))
	return ok && err == nil && (strings.Contains(wide, "**") || !strings.Contains(narrow, "**"))
}

// anyDepth reports whether a glob has no inner slash and therefore matches in every folder.
func anyDepth(glob string) bool { return !strings.Contains(strings.TrimSuffix(glob, "/"), "/") }

func commandCovers(wide, narrow string) bool {
	if w, ok := strings.CutSuffix(wide, ":*"); ok {
		wide = w + " *"
	}
	narrow = strings.Replace(narrow, ":*", " *", 1)
	command, ok := strings.CutSuffix(wide, " *")
	return ok && !strings.Contains(command, "*") && (narrow == command || strings.HasPrefix(narrow, command+" "))
}

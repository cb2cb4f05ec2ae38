package policy

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"modec.dev/modec/compiler/ir"
)

// CheckGlob reports why a text is not a file pattern: see the package comment,
// 4. The message says what was got and what is wanted.
func CheckGlob(text string) error {
	of, _, _ := ofTool(text)
	if !fileGroup(of) {
		of = ir.Read
	}
	if err := notATool(of, text); err != nil {
		return err
	}
	if len(text) > maxGlobBytes {
		return fmt.Errorf("got a file pattern of %d bytes, want at most %d", len(text), maxGlobBytes)
	}
	g, err := parseGlob(text)
	if err != nil {
		return err
	}
	for _, a := range g {
		if a.anyDepths() > maxAnyDepths {
			return fmt.Errorf(`got %q, want at most %d "**" between names: `+
				"agents that compare by an expression try all ways to spread a path over them", text, maxAnyDepths)
		}
	}
	if _, err := parseGlob(Fold(text)); err != nil {
		// Deny and ask compare folded: "[Z-a]" has no meaning there.
		return fmt.Errorf("%w (case-folded, as deny and ask compare)", err)
	}
	if !doublestar.ValidatePattern(text) {
		return fmt.Errorf("got %q, want a doublestar pattern", text)
	}
	return nil
}

// The bounds of a glob: of its text, and of the "**" in one of its alternatives.
const (
	maxGlobBytes = 1024
	maxAnyDepths = 5
)

// anyDepths returns how many "**" an alternative has between its names.
func (a alternative) anyDepths() (n int) {
	for i := 1; i < len(a)-1; i++ {
		if a[i].kind == segAnyDepth {
			n++
		}
	}
	return n
}

// CheckToolGlob reports why a text is not a pattern over MCP tool names: the
// characters of a name ([A-Za-z0-9_.-], at most 128), "*" and "?". Names are
// compared as they are written.
func CheckToolGlob(text string) error {
	switch {
	case text == "":
		return errors.New(`got "", want a tool name, "*" and "?" allowed`)
	case len(text) > 128:
		return fmt.Errorf("got a tool pattern of %d characters, want at most 128", len(text))
	case strings.HasPrefix(text, "@"):
		return fmt.Errorf(`got %q, want one of "@read", "@write", "@destructive"`, text)
	case strings.HasPrefix(text, "mcp__"):
		_, tool, _ := strings.Cut(text[len("mcp__"):], "__")
		return fmt.Errorf("got %q, want a tool name without the name of its server: write %q", text, cmp.Or(tool, "*"))
	}
	if err := notATool(ir.MCP, text); err != nil {
		return err
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; !isLetter(c) && !isDigit(c) && strings.IndexByte("_.-*?", c) < 0 {
			r, _ := utf8.DecodeRuneInString(text[i:])
			return fmt.Errorf("got %q, want a tool name without %q: letters, digits, _ . - and the wildcards * ?",
				text, string(r))
		}
	}
	return nil
}

// CheckSlug reports why a text is not a pattern over modes: a slug or "*".
func CheckSlug(text string) error {
	if err := notATool(ir.Modes, text); err != nil {
		return err
	}
	if text == "*" {
		return nil
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; !isLetter(c) && !isDigit(c) && c != '-' {
			return fmt.Errorf(`got %q, want a mode's slug or "*"`, text)
		}
	}
	if text == "" {
		return errors.New(`got "", want a mode's slug or "*"`)
	}
	return nil
}

// CheckRisk reports why a text is not an MCP risk.
func CheckRisk(text string) error {
	switch text {
	case "read", "write", "destructive":
		return nil
	}
	return fmt.Errorf(`got "@%s", want one of "@read", "@write", "@destructive"`, text)
}

// Unlisted begins the names that stand for all those that nothing names. A pattern matches these only where it matches
// every name.
const (
	Unlisted       = "modec-unlisted"
	UnlistedTool   = Unlisted + "-tool"
	UnlistedServer = Unlisted + "-server"
)

// Wildcard reports whether name matches a pattern of "*" and "?".
func Wildcard(pattern, name string) bool {
	if name == UnlistedTool || name == UnlistedServer {
		return pattern != "" && strings.Trim(pattern, "*") == ""
	}
	return matchWild(pattern, name, 0)
}

// WildcardCovers reports whether a pattern of "*" and "?" matches each name that another one matches.
func WildcardCovers(wide, narrow string) bool { return matchWild(wide, narrow, '*') }

// matchWild reports whether name matches a pattern of which "?" stands for any letter but one.
func matchWild(pattern, name string, but byte) bool {
	i, at, star, back := 0, 0, -1, 0
	for {
		switch {
		case i == len(pattern) && at == len(name):
			return true
		case i < len(pattern) && pattern[i] == '*':
			star, back = i, at
			i++
			continue
		case i < len(pattern) && at < len(name) && pattern[i] == name[at]:
			i, at = i+1, at+1
			continue
		case i < len(pattern) && at < len(name) && pattern[i] == '?' && (but == 0 || name[at] != but):
			_, n := utf8.DecodeRuneInString(name[at:])
			i, at = i+1, at+n
			continue
		}
		if star < 0 || back >= len(name) {
			return false
		}
		back++
		i, at = star+1, back
	}
}

func isLetter(c byte) bool { return 'a' <= lowerByte(c) && lowerByte(c) <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

package roo

import (
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// everythingElse is the description that the emitter gives a group that may edit
// everything.
const everythingElse = "Everything but the project's guarded and denied paths"

// stripInside takes a fileRegex that modec wrote apart: what may be edited, what
// may not, and whether everything else may. What refuses paths that are no clean
// paths below the root, and what is known from elsewhere, every project has. An
// expression of somebody else is the one thing that it permits.
func stripInside(source string, known map[string]bool) (permits, denies []string, all bool) {
	rest, ok := strings.CutPrefix(source, "^"+inside)
	if !ok {
		return []string{agreed(source)}, nil, false
	}
	rest = strings.TrimPrefix(rest, `(?![\s\S]*`+policy.Decomposed()+")")
	if body, tail, ok := lookahead(rest, "(?!(?:", ")$)"); ok {
		rest = tail
		for _, d := range alternatives(body) {
			if !known[d] {
				denies = append(denies, unwrapped(d, true))
			}
		}
	}
	if body, tail, ok := lookahead(rest, "(?=(?:", ")$))"); ok {
		// Guarded paths, some of which the mode opens.
		_, guards, _ := strings.Cut(body, ")$|(?!(?:")
		for _, g := range alternatives(guards) {
			if !known[g] {
				return []string{agreed(source)}, nil, false
			}
		}
		rest = tail
	}
	switch {
	case rest == `[\s\S]+$`:
		return nil, denies, true
	case strings.HasPrefix(rest, "(?:") && strings.HasSuffix(rest, ")$"):
		for _, p := range alternatives(rest[len("(?:") : len(rest)-len(")$")]) {
			permits = append(permits, unwrapped(p, false))
		}
		return permits, denies, false
	}
	return []string{agreed(source)}, nil, false // edited since
}

// written are globs as the emitter writes them in a deny.
func written(globs []string) map[string]bool {
	out := map[string]bool{}
	for _, g := range globs {
		if source, _, err := policy.ECMAScript(g, ir.Deny); err == nil {
			out[source] = true
		}
	}
	return out
}

// lookahead cuts a group off that begins and ends as given, at its own end.
func lookahead(s, open, end string) (body, rest string, ok bool) {
	if !strings.HasPrefix(s, open) {
		return "", s, false
	}
	depth := 0
	walk(s, func(i int, c byte) bool {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				body, rest, ok = s[len(open):i+1], s[i+1:], true
				return false
			}
		}
		return true
	})
	body, fits := strings.CutSuffix(body, end)
	return body, rest, ok && fits
}

// alternatives splits an expression at its own "|".
func alternatives(s string) []string {
	var out []string
	depth, start := 0, 0
	walk(s, func(i int, c byte) bool {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			out = append(out, s[start:i])
			start = i + 1
		}
		return true
	})
	return append(out, s[start:])
}

// walk calls f for every character of an expression that is not escaped and in
// no class, until f returns false.
func walk(s string, f func(i int, c byte) bool) {
	class := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case !f(i, c):
			return
		}
	}
}

// unwrapped undoes what the emitter puts around an expression of the source; any
// other becomes one over the whole path.
func unwrapped(s string, deny bool) string {
	const tail = `)[\s\S]*`
	body, ok := strings.CutSuffix(s, tail)
	for _, odd := range []string{`[\uD800-\uDFFF\u2028\u2029]`, `[^\u0000-\u007F]`} {
		if !ok {
			break
		}
		if deny {
			if re, is := strings.CutPrefix(body, `(?=[\s\S]*?(?:`); is && strings.HasSuffix(re, "|"+odd+")") {
				return strings.TrimSuffix(re, "|"+odd+")")
			}
		} else if re, is := strings.CutPrefix(body, `(?![\s\S]*`+odd+`)(?=[\s\S]*?(?:`); is && strings.HasSuffix(re, ")") {
			return strings.TrimSuffix(re, ")")
		}
	}
	return "^(?:" + s + ")$"
}

// globOf returns a glob that matches exactly the cleaned paths which an
// expression matches, as an allow. It takes what needs no more than literal text,
// [^/]* and [^/]+, alternatives of literals, an optional literal, and anchors; "."
// stands for a character that is no line break, which no glob can say.
func globOf(re string) (string, bool) {
	if inner, ok := groupBody(re); ok && len(alternatives(inner)) > 1 {
		re = inner
	}
	var globs []string
	for _, alt := range alternatives(re) {
		g, ok := globOfOne(alt)
		if !ok {
			return "", false
		}
		globs = append(globs, g)
	}
	glob := globs[0]
	if len(globs) > 1 {
		for _, g := range globs {
			if strings.Contains(g, "/") != strings.Contains(globs[0], "/") {
				return "", false // in braces all of them would be anchored
			}
		}
		glob = "{" + strings.Join(globs, ",") + "}"
	}
	return glob, policy.CheckGlob(glob) == nil
}

// groupBody returns what stands in the one group that an expression is.
func groupBody(s string) (string, bool) {
	body, rest, ok := lookahead(s, "(", ")")
	if !ok || rest != "" {
		return "", false
	}
	if strings.HasPrefix(body, "?") {
		return strings.CutPrefix(body, "?:")
	}
	return body, true
}

func globOfOne(re string) (string, bool) {
	anyFolder := false
	for _, prefix := range []string{"(^|/)", "(?:^|/)"} {
		if rest, ok := strings.CutPrefix(re, prefix); ok {
			re, anyFolder = rest, true
			break
		}
	}
	from, head := strings.CutPrefix(re, "^")
	if !head && !anyFolder {
		from = strings.TrimPrefix(from, ".*") // unanchored, it may be nothing
	}
	body, tail := from, false
	if strings.HasSuffix(from, "$") && !strings.HasSuffix(from, `\$`) {
		body, tail = strings.TrimSuffix(from, "$"), true
	}
	if !tail {
		body = strings.TrimSuffix(body, ".*")
	}
	g, ok := globText(body)
	if !ok || g == "" || head && (anyFolder || strings.HasPrefix(g, "/")) || mayBeEmpty(g) {
		return "", false
	}
	switch {
	case anyFolder && tail:
		if strings.HasPrefix(g, "/") {
			return "", false
		}
		if strings.Contains(g, "/") {
			return "**/" + g, true
		}
		return g, true
	case anyFolder, !head && !tail:
		return "", false
	case head && tail:
		if !strings.Contains(g, "/") {
			g = "/" + g
		}
		return g, !strings.HasSuffix(g, "/")
	case head: // anything behind it
		if strings.HasSuffix(g, "/") {
			return g + "**/*", true
		}
		return g + "*/**", true
	}
	switch { // anything before it
	case strings.HasSuffix(g, "/"):
		return "", false
	case strings.HasPrefix(g, "/"):
		return "*/**" + g, true
	case strings.Contains(g, "/"):
		return "**/*" + g, true
	}
	return "*" + g, true
}

// mayBeEmpty reports whether a name of a glob can be nothing but an alternative
// without text: no path has an empty name, and the glob would lose its slash.
func mayBeEmpty(glob string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSuffix(glob, "/"), "/"), "/") {
		for strings.HasPrefix(name, "{") {
			body, rest, _ := strings.Cut(name[1:], "}")
			if body != "" && body[0] != ',' && !strings.HasSuffix(body, ",") && !strings.Contains(body, ",,") {
				break
			}
			name = rest
		}
		if name == "" {
			return true
		}
	}
	return false
}

// wholeCharacters begins an expression over paths without characters beyond
// U+FFFF.
const wholeCharacters = `^(?![\s\S]*[^\u0000-\uFFFF])[\s\S]*?(?:`

// agreed returns an expression of somebody else's that matches no path which the
// agent's own engine does not match. To that engine a character beyond U+FFFF is
// two: "^.$" matches none of them there.
func agreed(re string) string {
	if !countsCharacters(re) {
		return re
	}
	return wholeCharacters + re + ")"
}

// countsCharacters reports whether an expression may match a path because a
// character beyond U+FFFF is one and not two: something that matches one stands
// without a repetition that has no end, or something must not match.
func countsCharacters(re string) bool {
	beyond := func(s string) bool { return strings.ContainsFunc(s, func(r rune) bool { return r > 0xFFFF }) }
	wide := beyond(re)
	for i := 0; i < len(re); {
		n, takes := 1, false // the length of an item, and whether it takes such a character
		switch c := re[i]; {
		case c == '\\' && i+1 < len(re):
			n = 1 + len(string([]rune(re[i+1:])[:1]))
			takes = strings.IndexByte("WDS", re[i+1]) >= 0
		case c == '[':
			n = len(classOf(re[i:]))
			text := re[i : i+n]
			takes = strings.HasPrefix(text, "[^") || strings.Contains(text, `\W`) || strings.Contains(text, `\D`) || strings.Contains(text, `\S`) || strings.Contains(text, `\u`) || strings.ContainsFunc(text, func(r rune) bool { return r >= 0xD800 })
		case c == '.':
			takes = true
		case c >= 0xF0:
			n = 4
			rest := re[i+n:]
			takes = rest != "" && strings.IndexByte("*+?{", rest[0]) >= 0
			if takes {
				return true // of two halves the repetition would hold for the second
			}
		}
		i += n
		wide = wide || takes
		if takes && (i == len(re) || re[i] != '*' && re[i] != '+') {
			return true
		}
	}
	return wide && (strings.Contains(re, "(?!") || strings.Contains(re, "(?<!"))
}

// classOf returns the class that an expression begins with.
func classOf(re string) string {
	for i := 1; i < len(re); i++ {
		switch re[i] {
		case '\\':
			i++
		case ']':
			return re[:i+1]
		}
	}
	return re
}

// globText writes the inside of an expression as a glob.
func globText(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); {
		atom, n, ok := globAtom(s[i:])
		if !ok {
			return "", false
		}
		i += n
		if i < len(s) && s[i] == '?' {
			if strings.ContainsAny(atom, "{}*/") && !strings.HasPrefix(atom, "{") || strings.ContainsAny(atom, "*/") {
				return "", false
			}
			atom, i = "{,"+strings.Trim(atom, "{}")+"}", i+1
		}
		if i < len(s) && strings.IndexByte("*+{", s[i]) >= 0 {
			return "", false
		}
		if atom == "*" && strings.HasSuffix(b.String(), "*") {
			return "", false // "**" is something else
		}
		b.WriteString(atom)
	}
	return b.String(), true
}

// globAtom reads one character, [^/]* or a group of literals.
func globAtom(s string) (glob string, n int, ok bool) {
	switch c := s[0]; {
	case strings.HasPrefix(s, "[^/]*"):
		return "*", len("[^/]*"), true
	case c == '\\':
		if len(s) < 2 || !literalByte(s[1]) && strings.IndexByte(".-/+()$^|#&%@=~ ", s[1]) < 0 || 'a' <= s[1]|0x20 && s[1]|0x20 <= 'z' || '0' <= s[1] && s[1] <= '9' {
			return "", 0, false
		}
		return s[1:2], 2, true
	case c == '(':
		body, rest, found := lookahead(s, "(", ")")
		if !found {
			return "", 0, false
		}
		n = len(s) - len(rest)
		body = strings.TrimPrefix(body, "?:")
		var texts []string
		for _, alt := range alternatives(body) {
			text, ok := globText(alt)
			if !ok || strings.ContainsAny(text, "*/{}") {
				return "", 0, false
			}
			texts = append(texts, text)
		}
		if len(texts) == 1 {
			return texts[0], n, true
		}
		return "{" + strings.Join(texts, ",") + "}", n, true
	case literalByte(c):
		return s[:1], 1, true
	}
	return "", 0, false
}

// literalByte is a character that is itself in an expression and in a glob.
func literalByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_-/ #&%@=~:;<>\"'", c) >= 0
}

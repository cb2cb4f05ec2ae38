package importer

import (
	"strings"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/policy"
)

// globOf returns a glob that matches exactly the cleaned paths which an
// expression matches, as an allow. It takes what needs no more than literal text,
// [^/]*, alternatives of literals, an optional literal, and anchors; "."
// stands for a character that is not a line break, which no glob can say.
func globOf(source string) (string, bool) {
	p, err := ecma.Parse(source)
	if err != nil {
		return "", false
	}
	all := p.Root
	if len(all) == 1 {
		if inner, ok := groupBody(all[0]); ok && len(inner) > 1 {
			all = inner
		}
	}
	var globs []string
	for _, s := range all {
		g, ok := globOfOne(s)
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

// reach is what a sequence leaves open before and behind its text.
type reach int

const (
	wholePath    reach = iota // ^text$
	pathInFolder              // (^|/)text$
	beginsPath                // ^text
	endsPath                  // text$
	insidePath                // text, or (^|/)text
)

// globOfOne returns the glob of one alternative.
func globOfOne(s ecma.Sequence) (string, bool) {
	body, r := anchored(s)
	g, ok := globText(body)
	if !ok || g == "" || mayBeEmpty(g) {
		return "", false
	}
	rooted, folder, slash := strings.HasPrefix(g, "/"), strings.HasSuffix(g, "/"), strings.Contains(g, "/")
	switch {
	case r == insidePath, rooted && r != endsPath, folder && r != beginsPath:
		return "", false // a cleaned path does not begin or end with a slash
	case r == pathInFolder:
		if slash {
			g = "**/" + g
		}
		return g, true
	case r == wholePath:
		if !slash {
			g = "/" + g
		}
		return g, true
	case r == beginsPath && folder:
		return g + "**/*", true
	case r == beginsPath:
		return g + "*/**", true
	case rooted:
		return "*/**" + g, true
	case slash:
		return "**/*" + g, true
	}
	return "*" + g, true
}

// anchored takes the anchors of a sequence off, and what may be anything where it
// has none.
func anchored(s ecma.Sequence) (body ecma.Sequence, r reach) {
	head, anyFolder, tail := false, false, false
	if n := len(s); n > 0 && s[n-1:].String() == "$" {
		s, tail = s[:n-1], true
	} else if n > 0 && s[n-1:].String() == ".*" {
		s = s[:n-1]
	}
	if inner, ok := groupBody(s[:min(1, len(s))]); ok && inner.String() == "^|/" {
		s, anyFolder = s[1:], true
	} else if len(s) > 0 && s[:1].String() == "^" {
		s, head = s[1:], true
	} else if len(s) > 0 && s[:1].String() == ".*" {
		s = s[1:]
	}
	switch {
	case head && tail:
		return s, wholePath
	case head:
		return s, beginsPath
	case tail && anyFolder:
		return s, pathInFolder
	case tail:
		return s, endsPath
	}
	return s, insidePath
}

// mayBeEmpty reports whether a name of a glob can be nothing but an alternative
// without text: no path has an empty name, and the glob would lose its slash.
func mayBeEmpty(glob string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSuffix(glob, "/"), "/"), "/") {
		for strings.HasPrefix(name, "{") {
			body, rest, _ := strings.Cut(name[1:], "}")
			if !strings.Contains(","+body+",", ",,") {
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

// globText writes a sequence without anchors as a glob.
func globText(s ecma.Sequence) (string, bool) {
	var b strings.Builder
	for _, t := range s {
		atom, ok := globTerm(t)
		if !ok || atom == "*" && strings.HasSuffix(b.String(), "*") {
			return "", false // "**" is something else
		}
		b.WriteString(atom)
	}
	return b.String(), true
}

// wildcards are what the emitter writes for those of a glob.
var wildcards = map[string]string{"[^/]*": "*", "[^/]+": "*", ".*": "*", ".+": "*", "(.*/)?": "**/",
	`([\uD800-\uDBFF].|[^/])`: "?"}

// globTerm writes one character, a wildcard, a group of literals, or an optional one of these.
func globTerm(t ecma.Term) (string, bool) {
	switch t := t.(type) {
	case *ecma.Literal:
		return globChar(t.Char)
	case *ecma.Group:
		return globGroup(t)
	case *ecma.Repetition:
		switch (ecma.Sequence{t}).String() {
		case "[^/]*":
			return "*", true
		case (ecma.Sequence{t.Term}).String() + "?":
			atom, ok := globTerm(t.Term)
			if !ok || strings.ContainsAny(atom, "*/") || strings.ContainsAny(atom, "{}") && atom[0] != '{' {
				return "", false
			}
			return "{," + strings.Trim(atom, "{}") + "}", true
		}
	}
	return "", false
}

// globGroup writes a group of literals.
func globGroup(g *ecma.Group) (string, bool) {
	if g.Name != "" {
		return "", false
	}
	var texts []string
	for _, s := range g.Body {
		text, ok := globText(s)
		if !ok || strings.ContainsAny(text, "*/{}") {
			return "", false
		}
		texts = append(texts, text)
	}
	if len(texts) == 1 {
		return texts[0], true
	}
	return "{" + strings.Join(texts, ",") + "}", true
}

const (
	lettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	// plain are the other characters that are themselves in an expression and in a glob.
	plain = "_-/ #&%@=~:;<>\"'"
)

// globChar writes a character that is itself in a glob.
func globChar(c ecma.Char) (string, bool) {
	if c.Unit >= 0x80 {
		return "", false
	}
	text := string(rune(c.Unit))
	switch {
	case c.Escape == "":
		return text, strings.Contains(lettersAndDigits+plain, text)
	case c.Escape == `\`+text:
		return text, strings.Contains(plain+".+()$^|", text)
	}
	return "", false
}

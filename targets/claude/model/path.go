package model

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// pathRule is a Read(...) or Edit(...) rule. Its pattern has the grammar of .gitignore.
// As in the library that Claude Code uses (node-ignore) it folds case, in allow rules
// too. What is below a matched folder matches as well, so that Edit(*.md) allows
// x.md/run.sh. Both observed on 2.1.329.
type pathRule struct {
	place
	base   string // the folder that the pattern is relative to
	folded ignored
	exact  ignored // in the case in which the pattern is written
	alike  ignored // in the form in which a file system may take names for each other
	folder string  // the folder of a pattern for what is in one: modec/*
}

// newPathRule compiles the pattern of a rule. folder is that of the file in which the
// rule stands.
func newPathRule(p place, r rule.Rule, list ir.Decision, folder string) (pathRule, error) {
	pattern, _ := r.Path(list)
	out := pathRule{place: p, base: root}
	switch pattern.From {
	case rule.System:
		out.base = "/"
	case rule.Home:
		out.base = home
	case rule.Folder:
		out.base = folder
	}
	dir, ok := strings.CutSuffix(pattern.Pattern, "/*")
	switch {
	case ok && !strings.ContainsAny(dir, `/*?[\`):
		out.folder = path.Join(out.base, dir)
	case strings.TrimPrefix(pattern.Pattern, "/") == "**":
		out.folder = out.base
	}
	var err error
	if out.folded, err = newIgnored(fold(pattern.Pattern)); err == nil {
		out.exact, err = newIgnored(pattern.Pattern)
	}
	if err == nil {
		out.alike, err = newIgnored(policy.Fold(pattern.Pattern))
	}
	return out, err
}

func (r *pathRule) match(f *file) bool {
	rel := f.below(r.base)
	return rel != nil && r.folded.match(rel.folded)
}

// matchExact reports whether a rule matches in the case in which it is written.
func (r *pathRule) matchExact(f *file) bool {
	rel := f.below(r.base)
	return rel != nil && r.exact.match(rel.exact)
}

// nearly reports whether a rule matches a path whose names some file system takes for those of the
// path that is given. Claude Code compares letters by case only.
func (r *pathRule) nearly(f *file) bool {
	rel := f.below(r.base)
	if rel == nil {
		return false
	}
	if !rel.isAlike {
		rel.alike, rel.isAlike = policy.Fold(rel.exact), true
	}
	return r.alike.match(rel.alike)
}

// ignored is a line of .gitignore. Where "*" is the only character with a meaning of its own it matches
// without a regular expression.
type ignored struct {
	line     string
	re       *regexp.Regexp // nil where the segments say it
	segments [][]string     // each cut at its "*", nil for "**"; none where only the expression says it
	within   bool           // it matches what is in a folder, and not the folder itself
}

func newIgnored(line string) (ignored, error) {
	ig := ignored{line: line}
	if strings.ContainsAny(line, "?[\\\ufffd") || !utf8.ValidString(line) {
		// An expression takes invalid text for \ufffd, and there is none of such a line.
		var err error
		ig.re, err = regexp.Compile(ignorePattern(line))
		return ig, err
	}
	line, ig.within = strings.CutSuffix(line, "/")
	if !strings.Contains(line, "/") {
		ig.segments = append(ig.segments, nil)
	}
	for seg := range strings.SplitSeq(strings.TrimPrefix(line, "/"), "/") {
		if seg == "**" {
			ig.segments = append(ig.segments, nil)
			continue
		}
		for strings.Contains(seg, "**") {
			seg = strings.ReplaceAll(seg, "**", "*")
		}
		ig.segments = append(ig.segments, strings.Split(seg, "*"))
	}
	return ig, nil
}

// match reports whether the pattern matches a path, or a folder above it.
func (ig *ignored) match(rel string) bool {
	if ig.re != nil {
		return ig.re.MatchString(rel)
	}
	return ig.matchFrom(ig.segments, rel)
}

func (ig *ignored) matchFrom(segments [][]string, rel string) bool {
	for i, seg := range segments {
		last := i == len(segments)-1
		if seg == nil {
			if last {
				return rel != ""
			}
			for ; ; rel = rel[strings.IndexByte(rel, '/')+1:] {
				if ig.matchFrom(segments[i+1:], rel) {
					return true
				}
				if !strings.Contains(rel, "/") {
					return false
				}
			}
		}
		name, rest, more := strings.Cut(rel, "/")
		switch {
		case !rule.Match(seg, name):
			return false
		case last:
			return more || !ig.within
		case !more:
			return false
		}
		rel = rest
	}
	return false
}

// ignorePattern returns a line of .gitignore as a regular expression over paths relative
// to its folder.
func ignorePattern(line string) string {
	dir := strings.HasSuffix(line, "/")
	line = strings.TrimSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	if !anchored {
		b.WriteString(`(?:.*/)?`)
	}
	segments := strings.Split(line, "/")
	for i, seg := range segments {
		last := i == len(segments)-1
		switch {
		case seg == "**" && last:
			b.WriteString(`.+\z`)
			return b.String()
		case seg == "**":
			b.WriteString(`(?:.*/)?`)
			continue
		}
		ignoreSegment(&b, seg)
		if !last {
			b.WriteByte('/')
		}
	}
	if dir {
		b.WriteString(`/.*\z`)
	} else {
		b.WriteString(`(?:/.*)?\z`)
	}
	return b.String()
}

func ignoreSegment(b *strings.Builder, seg string) {
	for i := 0; i < len(seg); i++ {
		switch c := seg[i]; {
		case c == '*':
			for i+1 < len(seg) && seg[i+1] == '*' {
				i++
			}
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '\\':
			if i+1 < len(seg) {
				i++
			}
			b.WriteString(regexp.QuoteMeta(seg[i : i+1]))
		case c == '[':
			i += ignoreClass(b, seg[i+1:])
		case c >= 0x80:
			b.WriteByte(c)
		default:
			b.WriteString(regexp.QuoteMeta(seg[i : i+1]))
		}
	}
}

// ignoreClass writes the class whose opening bracket stands before rest, and returns how
// much of rest belongs to it.
func ignoreClass(b *strings.Builder, rest string) int {
	end := strings.IndexByte(rest, ']')
	if end <= 0 {
		b.WriteString(`\[`)
		return 0
	}
	class := rest[:end]
	b.WriteByte('[')
	if class[0] == '!' || class[0] == '^' {
		class = class[1:]
		b.WriteByte('^')
	}
	b.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(class))
	b.WriteByte(']')
	return end + 1
}

// fold returns what a JavaScript expression with the flag i compares: upper case, where a
// letter outside of ASCII never becomes one inside.
func fold(s string) string {
	if ascii(s) {
		return strings.ToUpper(s)
	}
	return strings.Map(func(r rune) rune {
		if u := unicode.ToUpper(r); r < 0x80 || u >= 0x80 {
			return u
		}
		return r
	}, s)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// file is a path that a tool is given.
type file struct {
	clean     string // absolute
	inside    bool   // of the project's folder
	protected bool
	odd       string // why no rule is about the path, "" where one can be
	bases     []relative
}

// relative is a path relative to a folder in which it is, in the forms that rules compare.
type relative struct {
	base    string
	in      bool
	exact   string
	folded  string
	alike   string // where isAlike is set
	isAlike bool
}

// below returns the path relative to a folder, nil where it is not in the folder.
func (f *file) below(base string) *relative {
	var r *relative
	for i := range f.bases {
		if f.bases[i].base == base {
			r = &f.bases[i]
		}
	}
	if r == nil {
		rel, ok := below(base, f.clean)
		f.bases = append(f.bases, relative{base: base, in: ok, exact: rel, folded: fold(rel)})
		r = &f.bases[len(f.bases)-1]
	}
	if !r.in {
		return nil
	}
	return r
}

var drive = regexp.MustCompile(`^[A-Za-z]:|^\\\\`)

// newFile reads a path as Claude Code does in the project's folder.
func newFile(arg string) *file {
	f := &file{}
	switch {
	case strings.Contains(arg, `\`):
		f.odd = looseName
	case strings.HasPrefix(arg, "~") && arg != "~" && !strings.HasPrefix(arg, "~/"):
		f.odd = looseHome
	}
	switch arg = portable(arg); {
	case arg == "~", strings.HasPrefix(arg, "~/"):
		f.clean = path.Clean(home + arg[1:])
	case strings.HasPrefix(arg, "/"):
		f.clean = path.Clean(arg)
	default:
		f.clean = path.Clean(root + "/" + arg)
	}
	rel, inside := below(root, f.clean)
	f.inside = inside || f.clean == root
	f.protected = protected(rel)
	if f.odd == "" && !f.protected && protected(policy.Fold(rel)) {
		f.odd = looseAlike
	}
	return f
}

// portable returns a path on a drive or a share as one that is outside the project on
// every system. On Windows it is outside, elsewhere it is a file of the project.
func portable(arg string) string {
	if drive.MatchString(arg) {
		return "/" + strings.ReplaceAll(arg, `\`, "/")
	}
	return arg
}

// below returns a path relative to a folder. It reports false for a path that is not in
// the folder.
func below(dir, p string) (string, bool) {
	if dir == "/" {
		dir = ""
	}
	rest, ok := strings.CutPrefix(p, dir)
	if !ok || rest == "" || rest[0] != '/' {
		return p, false
	}
	return rest[1:], true
}

// protected reports whether Claude Code asks about a path in every mode but
// bypassPermissions, whatever rule allows it.
func protected(rel string) bool {
	for seg := range strings.SplitSeq(strings.ToLower(rel), "/") {
		if slices.Contains(format.Protected, seg) {
			return true
		}
	}
	return false
}

package claude

import (
	"path"
	"regexp"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/ir"
)

// pathRule is a Read(...) or Edit(...) rule. Its pattern has the grammar of
// .gitignore, and as in the library that Claude Code uses (node-ignore) it
// folds case, in allow rules too; what is below a matched folder matches as
// well, so that Edit(*.md) allows x.md/run.sh. Both observed on 2.1.329.
type pathRule struct {
	place
	base  string // the folder that the pattern is relative to
	re    *regexp.Regexp
	exact *regexp.Regexp // in the case in which it is written
}

// newPathRule compiles a pattern. //x is absolute, ~/x below the home, /x below
// the folder of its settings file, and the rest below the working directory.
// `dir/**` with one segment holds at any depth in deny and ask and only below
// the working directory in allow.
func newPathRule(p place, spec string, list ir.Decision, base string) (pathRule, bool) {
	r := pathRule{place: p, base: root}
	switch {
	case strings.HasPrefix(spec, "//"):
		r.base, spec = "/", spec[1:]
	case strings.HasPrefix(spec, "~/"):
		r.base, spec = home, spec[1:]
	case strings.HasPrefix(spec, "/"):
		r.base = base
	case strings.HasPrefix(spec, "./"):
		spec = spec[1:]
	default:
		if dir, ok := strings.CutSuffix(spec, "/**"); ok && list != ir.Allow && dir != "" && !strings.Contains(dir, "/") {
			spec = "**/" + spec
		}
	}
	if strings.HasPrefix(spec, "!") || strings.HasPrefix(spec, "#") || strings.TrimSpace(spec) == "" {
		return r, false
	}
	var err error
	if r.re, err = regexp.Compile(ignorePattern(fold(spec))); err == nil {
		r.exact, err = regexp.Compile(ignorePattern(spec))
	}
	return r, err == nil
}

func (r *pathRule) match(f *file) bool {
	rel, ok := below(r.base, f.clean)
	return ok && r.re.MatchString(fold(rel))
}

// ignorePattern writes a line of .gitignore as a regular expression over paths
// relative to its folder.
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
		switch c := seg[i]; c {
		case '*':
			for i+1 < len(seg) && seg[i+1] == '*' {
				i++
			}
			b.WriteString(`[^/]*`)
		case '?':
			b.WriteString(`[^/]`)
		case '\\':
			if i+1 < len(seg) {
				i++
			}
			b.WriteString(regexp.QuoteMeta(seg[i : i+1]))
		case '[':
			end := strings.IndexByte(seg[i+1:], ']')
			if end <= 0 {
				b.WriteString(`\[`)
				continue
			}
			class := seg[i+1 : i+1+end]
			negate := class[0] == '!' || class[0] == '^'
			if negate {
				class = class[1:]
			}
			b.WriteByte('[')
			if negate {
				b.WriteByte('^')
			}
			b.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(class))
			b.WriteByte(']')
			i += end + 1
		default:
			if c < 0x80 {
				b.WriteString(regexp.QuoteMeta(seg[i : i+1]))
			} else {
				b.WriteByte(c)
			}
		}
	}
}

// fold is what a JavaScript expression with the flag i compares: upper case,
// and a letter outside of ASCII never becomes one inside.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if u := unicode.ToUpper(r); r < 0x80 || u >= 0x80 {
			return u
		}
		return r
	}, s)
}

// file is a path that a tool is given.
type file struct {
	clean     string // absolute
	inside    bool   // the project
	protected bool
	backslash bool // as written
}

// oddName says why a path is no matter of rules; "" where it is.
func (f *file) oddName() string {
	if f.backslash {
		return looseName
	}
	return ""
}

var drive = regexp.MustCompile(`^[A-Za-z]:[/\\]|^\\\\`)

// newFile reads a path as Claude Code does in the project's folder.
func newFile(arg string) *file {
	f := &file{backslash: strings.Contains(arg, `\`)}
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
	return f
}

// portable writes a drive or a share, which is outside on Windows and a file of
// the project elsewhere, as a path that is outside everywhere.
func portable(arg string) string {
	if drive.MatchString(arg) {
		return "/" + strings.ReplaceAll(arg, `\`, "/")
	}
	return arg
}

// below returns a path relative to a folder that it is in.
func below(dir, p string) (string, bool) {
	if dir != "/" {
		dir += "/"
	}
	return strings.CutPrefix(p, dir)
}

// protected paths are asked about in every mode but bypassPermissions, whatever
// rule allows them: observed for these on 2.1.329, at any depth.
func protected(rel string) bool {
	for seg := range strings.SplitSeq(strings.ToLower(rel), "/") {
		switch seg {
		case ".git", ".vscode", ".claude", ".mcp.json":
			return true
		}
	}
	return false
}

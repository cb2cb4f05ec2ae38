package verify

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
)

// dailyPaths are paths to try whatever the patterns are: what agents read and write every
// day, what nobody wants them to, and ways out of the project.
var dailyPaths = []string{
	"README.md", "src/index.ts", "src/a/b/c/deep.go", "docs/guide.md", "package.json", "Makefile", ".env",
	".env.local", "config/.env", ".gitignore", ".npmrc",
	"id_rsa", "server.pem", "secrets/token.txt", "node_modules/x/index.js", ".git/config", ".git/hooks/pre-commit",
	".github/workflows/ci.yml",
	".claude/settings.json", ".claude/settings.local.json", ".cursor/hooks.json", ".roomodes", ".ROOMODES",
	".roo/mcp.json", "CLAUDE.md", "sub/CLAUDE.md", "AGENTS.md",
	"modec.toml", "modec.lock", "modec/modes/x.cue", ".modec/policy.json", ".vscode/tasks.json", ".mcp.json",
	".", "a", "é.md", "e\u0301.md", "日本語.md", "a b.md", "-rf", "#x", "$HOME", "{a,b}", "[a]", "*",
	"/etc/passwd", "/", "~/.ssh/id_rsa", "~", "../other/file.md", "..", "docs/../../up.md", "C:/Windows/x.ini",
	`C:\x`, `\\host\share\x`, "//host/share", "a\x00.md", "x\n.md",
}

// dressing is a way to write a path.
type dressing struct {
	class string
	do    func(string) string
}

// near are tried on every pattern: what it is about, and what it is about no more.
var near = []dressing{
	{"below", func(s string) string { return s + "/inner.txt" }},
	{"deeper", func(s string) string { return "zz/" + s }},
	{"near: longer", func(s string) string { return s + "x" }},
	{"near: shorter", func(s string) string { r := []rune(s); return string(r[:len(r)-1]) }},
	{"near: before", func(s string) string { return path.Join(path.Dir(s), "x"+path.Base(s)) }},
	{"near: other end", func(s string) string { return strings.TrimSuffix(s, path.Ext(s)) + ".zz" }},
	{"case: upper", strings.ToUpper},
}

// dress are ways to write a path so that a careless matcher takes it for another one.
var dress = []dressing{
	{"case: lower", strings.ToLower},
	{"path: parent", func(s string) string { return "../" + s }},
	{"path: escape", func(s string) string { return "a/../../" + s }},
	{"path: around", func(s string) string { return "a/../" + s }},
	{"path: dot", func(s string) string { return "./" + s }},
	{"path: absolute", func(s string) string { return "/" + s }},
	{"path: home", func(s string) string { return "~/" + s }},
	{"path: drive", func(s string) string { return "C:/" + s }},
	{"path: backslash", func(s string) string { return strings.ReplaceAll(s, "/", `\`) }},
	{"path: double", func(s string) string { return strings.Replace(s, "/", "//", 1) }},
	{"path: folder", func(s string) string { return s + "/" }},
	{"path: space", func(s string) string { return s + " " }},
	{"path: NUL", func(s string) string { return s + "\x00.txt" }},
	{"path: line", func(s string) string { return s + "\n" }},
	{"unicode: NFD", norm.NFD.String},
	{"unicode: NFC", norm.NFC.String},
	{"unicode: folded", policy.Fold},
	{"unicode: case", alike(func(r rune) bool { return unicode.SimpleFold(r) != r })},
	{"unicode: letters", alike(func(r rune) bool { return utf8.RuneCountInString(policy.Fold(string(r))) > 1 })},
}

// alike returns a function that replaces the first letters for which policy.Fold takes another
// letter, one of those that are given.
func alike(of func(rune) bool) func(string) string {
	return func(s string) string {
		for i := range s {
			for n := min(3, len(s)-i); n > 0; n-- { // the longest text first: ss before s
				for _, r := range spellings()[policy.Fold(s[i:i+n])] {
					if of(r) {
						return s[:i] + string(r) + s[i+n:]
					}
				}
			}
		}
		return s
	}
}

// spellings are the letters outside of ASCII by the ASCII text that policy.Fold takes them for.
var spellings = sync.OnceValue(func() map[string][]rune {
	all := map[string][]rune{}
	for r := rune(utf8.RuneSelf); r <= 0x24ff; r++ {
		if as := policy.Fold(string(r)); as[0] < utf8.RuneSelf {
			all[as] = append(all[as], r)
		}
	}
	return all
})

// files adds paths for the rules of a group.
func (u *universe) files(g ir.Group, rules []ir.Rule, random *rand.Rand) {
	for _, p := range dailyPaths {
		u.add(g, p, "daily")
	}
	for i := range rules {
		if u.ctx.Err() != nil {
			return
		}
		var ways []dressing
		sampled := u.samples(&rules[i])
		if sampled {
			ways = near
		}
		if u.novel(g, &rules[i]) {
			ways = slices.Concat(ways, dress)
		}
		if len(ways) == 0 {
			continue
		}
		for j, sample := range fileSamples(rules[i].Pattern) {
			if sample == "" {
				continue
			}
			if sampled {
				u.add(g, sample, "match")
			}
			if j > 0 {
				continue // one sample is enough for the other ways to write it
			}
			for _, d := range ways {
				u.add(g, d.do(sample), d.class)
			}
		}
	}
	if u.plan != nil {
		return
	}
	u.fileCrossings(g)
	words := vocabulary(rules, "/*{},", "src", "a.md", "B", ".x")
	for range randomArgs {
		parts := make([]string, 1+random.IntN(4))
		for i := range parts {
			parts[i] = pick(random, words)
		}
		u.add(g, strings.Join(parts, "/"), "random")
	}
}

// samples reports whether arguments that a rule matches, and near ones, are tried by themselves. Of a
// rule in plain letters the cells have them.
func (u *universe) samples(r *ir.Rule) bool {
	return u.plan == nil || !plainPattern().MatchString(r.Pattern.Text)
}

// plainPattern matches the patterns of plain arguments.
var plainPattern = lazy.Regexp(`^[A-Za-z0-9./_*{},?-]*$`)

// fills are the texts for the wildcards of a glob.
var fills = []struct{ star, deep string }{
	{"x", "a/b"},
	{"Name.v2", ""},
	{".hid", ".d"},
}

// fileSamples returns paths that a pattern matches.
func fileSamples(p ir.Pattern) []string {
	switch p.Kind {
	case ir.Regex:
		return regexSamples(p.Text)
	case ir.Plain:
	default:
		return nil
	}
	text, system := strings.CutPrefix(p.Text, "//") // of an artifact alone
	globs, err := policy.ExpandBraces(text)
	if err != nil {
		return nil
	}
	var out []string
	for _, glob := range globs {
		for _, f := range fills {
			sample := globSample(glob, f.star, f.deep)
			if system {
				sample = "/" + sample
			}
			out = append(out, sample)
		}
	}
	return out
}

// globSample returns a path that a glob without braces matches.
func globSample(glob, star, deep string) string {
	var segments []string
	for seg := range strings.SplitSeq(strings.TrimPrefix(glob, "/"), "/") {
		switch seg {
		case "**":
			if deep != "" {
				segments = append(segments, deep)
			}
		case "": // "dir/" matches everything below it
			segments = append(segments, star)
		default:
			segments = append(segments, segmentSample(seg, star))
		}
	}
	return strings.Join(segments, "/")
}

func segmentSample(seg, star string) string {
	var b strings.Builder
	for i := 0; i < len(seg); i++ {
		switch c := seg[i]; c {
		case '*':
			b.WriteString(star)
		case '?':
			b.WriteByte('q')
		case '\\':
			if i++; i < len(seg) {
				b.WriteByte(seg[i])
			}
		case '[':
			end := strings.IndexByte(seg[i+1:], ']')
			if end <= 0 {
				b.WriteByte(c)
				continue
			}
			class := seg[i+1 : i+1+end]
			if class[0] == '^' || class[0] == '!' {
				b.WriteByte('Z')
			} else {
				b.WriteByte(class[0])
			}
			i += end + 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// fileCrossings adds paths that two rules with different decisions may both match: what one
// denies inside what the other one allows.
func (u *universe) fileCrossings(g ir.Group) {
	u.crossed(g, func(d, a *ir.Rule) {
		for _, held := range firstSamples(d.Pattern) {
			for _, free := range firstSamples(a.Pattern) {
				u.add(g, path.Join(path.Dir(free), path.Base(held)), "crossing")
				u.add(g, held+"/"+path.Base(free), "crossing")
				u.add(g, path.Dir(free)+"/"+held, "crossing")
				// The folders in which it lies: an artifact may deny one whole.
				for dir := path.Dir(held); len(dir) > 1; dir = path.Dir(dir) {
					u.add(g, dir+"/"+path.Base(free), "crossing")
				}
			}
		}
	})
}

// firstSamples returns one sample for each alternative of a pattern.
func firstSamples(p ir.Pattern) []string {
	all := fileSamples(p)
	if p.Kind == ir.Regex {
		return all
	}
	var out []string
	for i := 0; i < len(all); i += len(fills) {
		out = append(out, all[i])
	}
	return out
}

package policy

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// filesCase lists, for one table, paths and what they get.
type filesCase struct {
	name string
	can  *ir.Table
	want map[string]ir.Decision
}

func (c *filesCase) run(t *testing.T, g ir.Group) {
	t.Run(c.name, func(t *testing.T) {
		can := ir.Can{Read: c.can}
		if g == ir.Edit {
			can = ir.Can{Edit: c.can}
		}
		s := mode(t, can)
		for path, d := range c.want {
			want(t, s, Action{Group: g, Arg: path}, d)
		}
	})
}

func TestGlobs(t *testing.T) {
	for _, c := range []filesCase{
		{"without a slash at any depth", table(allow("*.md")), map[string]ir.Decision{
			"a.md": ir.Allow, "x/y/a.md": ir.Allow, ".hidden/.a.md": ir.Allow, "a.mdx": ir.Deny, "a.md/run.sh": ir.Deny}},
		{"a leading slash anchors", table(allow("/a.md")), map[string]ir.Decision{
			"a.md": ir.Allow, "x/a.md": ir.Deny}},
		{"an inner slash anchors", table(allow("docs/a.md")), map[string]ir.Decision{
			"docs/a.md": ir.Allow, "x/docs/a.md": ir.Deny}},
		{"two stars cross folders", table(allow("**/docs/**")), map[string]ir.Decision{
			"docs/a": ir.Allow, "x/docs/a/b": ir.Allow, "docs": ir.Allow, "docsx/a": ir.Deny}},
		{"an allow does not reach below a directory", table(allow("docs")), map[string]ir.Decision{
			"docs": ir.Allow, "docs/a": ir.Deny}},
		{"but as dir/", table(allow("docs/")), map[string]ir.Decision{
			"docs/a/b": ir.Allow, "docs": ir.Allow, "x/docs/a": ir.Allow}},
		{"and as dir/**", table(allow("docs/**")), map[string]ir.Decision{
			"docs/a/b": ir.Allow, "docs": ir.Allow, "x/docs/a": ir.Deny}},
		{"a deny holds below", table(allow("**"), deny("secret", "x/y")), map[string]ir.Decision{
			"secret": ir.Deny, "a/secret/b/c": ir.Deny, "x/y/z": ir.Deny, "a/x/y": ir.Allow, "secrets": ir.Allow}},
		{"an ask holds below", table(allow("**"), ask("src")), map[string]ir.Decision{
			"src/a.go": ir.Ask, "a/src/b": ir.Ask, "b": ir.Allow}},
		{"braces", table(allow("*.{md,mdx}", "{a,b/c}/x")), map[string]ir.Decision{
			"q.md": ir.Allow, "q.mdx": ir.Allow, "q.m": ir.Deny, "a/x": ir.Allow, "b/c/x": ir.Allow, "z/a/x": ir.Deny}},
		{"classes", table(allow("[a-c].go", "[^a-z].py")), map[string]ir.Decision{
			"b.go": ir.Allow, "d.go": ir.Deny, "A.py": ir.Allow, "b.py": ir.Deny}},
		{"one character", table(allow("?.go")), map[string]ir.Decision{
			"é.go": ir.Allow, "ab.go": ir.Deny, ".go": ir.Deny}},
		{"escapes", table(allow(`app/\[id\]/*`)), map[string]ir.Decision{
			"app/[id]/page.tsx": ir.Allow, "app/i/page.tsx": ir.Deny}},
		{"everything", table(allow("**")), map[string]ir.Decision{
			".": ir.Allow, "": ir.Allow, "a": ir.Allow, "a/.b/c": ir.Allow}},
		{"the root is not a name", table(allow("*")), map[string]ir.Decision{
			".": ir.Deny, "a": ir.Allow, "a/b": ir.Allow}},
	} {
		c.run(t, ir.Read)
		c.run(t, ir.Edit)
	}
}

func TestDenyComparesFoldedAndComposed(t *testing.T) {
	for _, c := range []filesCase{
		{"case", table(allow("**"), deny(".env", "Straße/*.KEY")), map[string]ir.Decision{
			".ENV": ir.Deny, "a/.Env": ir.Deny, "STRAßE/x.key": ir.Deny, "straẞe/x.Key": ir.Deny, "x.key": ir.Allow}},
		{"the Kelvin sign is a k, the long s an s", table(allow("**"), deny("keys")), map[string]ir.Decision{
			"\u212aEY\u017f": ir.Deny}},
		{"composed", table(allow("**"), deny("caf\u00e9")), map[string]ir.Decision{
			"cafe\u0301": ir.Deny, "CAFE\u0301/menu": ir.Deny, "CAF\u00c9": ir.Deny, "cafe": ir.Allow}},
		{"an allow compares as it is written", table(allow("README.md", "caf\u00e9")), map[string]ir.Decision{
			"README.md": ir.Allow, "readme.md": ir.Deny, "cafe\u0301": ir.Deny}},
		{"a class folds", table(allow("**"), deny("[A-Z].txt")), map[string]ir.Decision{
			"q.txt": ir.Deny, "Q.TXT": ir.Deny, "1.txt": ir.Allow}},
	} {
		c.run(t, ir.Read)
	}
}

func TestPathsAreCleaned(t *testing.T) {
	(&filesCase{"cleaned", table(allow("src/**"), deny("src/gen")), map[string]ir.Decision{
		"./src//a": ir.Allow, "src/./x/../b": ir.Allow, "src/x/../gen/a": ir.Deny, "src/../etc": ir.Deny,
		"src/": ir.Allow, "x/../src/a": ir.Allow, "src/../../src/a": ir.Deny}}).run(t, ir.Read)
}

func TestRegex(t *testing.T) {
	for _, c := range []filesCase{
		{"unanchored, on the cleaned path", table(allow(`/\.(ts|tsx)$/`)), map[string]ir.Decision{
			"a.ts": ir.Allow, "./x//a.tsx": ir.Allow, "a.ts/b": ir.Deny, "a.tsq": ir.Deny, "a.ts\n": ir.Deny}},
		{"no flags", table(allow("**"), deny(`/^Secret/`)), map[string]ir.Decision{
			"Secret": ir.Deny, "secret": ir.Allow}},
		{"lookbehind and named groups", table(allow(`/(?<!test)\.go$/`, `/^(?<x>a+)-\k<x>$/`)), map[string]ir.Decision{
			"a.go": ir.Allow, "test.go": ir.Deny, "aa-aa": ir.Allow, "aa-a": ir.Deny}},
		{"digits are ASCII", table(allow(`/^\d+$/`)), map[string]ir.Decision{
			"12": ir.Allow, "\u0661": ir.Deny}},
		{"a dot is no line separator", table(allow(`/^a.b$/`)), map[string]ir.Decision{
			"axb": ir.Allow, "a\nb": ir.Deny, "a\u2028b": ir.Deny}},
		{"a deny is tried on the composed path too", table(allow("**"), deny("/caf\u00e9/")), map[string]ir.Decision{
			"cafe\u0301": ir.Deny}},
		{"a character beyond U+FFFF is two", table(allow(`/^.$/`, "/^[^a]{2}x$/", "/^😀+y$/")), map[string]ir.Decision{
			"é": ir.Allow, "😀": ir.Deny, "😀x": ir.Allow, "😀y": ir.Allow, "😀😀y": ir.Deny}},
		{"a letter beyond ASCII is no word character", table(allow(`/\bkey/`)), map[string]ir.Decision{
			"akey": ir.Deny, "ékey": ir.Allow}},
		{"a deny over a line separator", table(allow("**"), deny(`/^a.b$/`)), map[string]ir.Decision{
			"axb": ir.Deny, "a\u2028b": ir.Allow}},
		{"a group forgets with every round", table(allow(`/^(?:(a)|b)*\1$/`)), map[string]ir.Decision{
			"ab": ir.Allow, "aba": ir.Deny, "aa": ir.Allow}},
	} {
		c.run(t, ir.Read)
	}
}

// A regex that does not come to an end is a matched deny and an unmatched
// allow.
func TestRegexTimeLimit(t *testing.T) {
	const slow = `/^(([a-z])+.)+[A-Z]([a-z])+$/`
	path := strings.Repeat("a", 60)
	want(t, mode(t, ir.Can{Read: table(allow(slow))}), Action{Group: ir.Read, Arg: path}, ir.Deny)
	want(t, mode(t, ir.Can{Read: table(deny(slow), allow("**"))}), Action{Group: ir.Read, Arg: path}, ir.Deny)
	want(t, mode(t, ir.Can{Read: table(ask(slow), allow("**"))}), Action{Group: ir.Read, Arg: path}, ir.Ask)
}

var outsidePaths = []string{
	"..", "../a", "a/../../b", "/etc/passwd", "/", "//server/share", "~", "~/.ssh/id", "~root/x", "C:/x", `c:\x`, "c:x",
	`\\server\share`, `\etc`, `a\..\..\b`, `..\a`, "a\x00b",
}

func TestOutsideTheRoot(t *testing.T) {
	all := ir.Can{Read: bare(ir.Allow), Edit: bare(ir.Allow)}
	asked := all
	asked.OutsideRead, asked.OutsideEdit = def(ir.Ask), def(ir.Ask)
	opened := all
	opened.OutsideRead, opened.OutsideEdit = def(ir.Allow), def(ir.Allow)
	for _, r := range []struct {
		name       string
		s          *Subject
		read, edit ir.Decision
	}{
		{"a mode denies", mode(t, all), ir.Deny, ir.Deny},
		{"a role asks before it reads", role(t, ir.Role{Can: all}), ir.Ask, ir.Deny},
		{"can.outside", mode(t, asked), ir.Ask, ir.Ask},
		{"can.outside may allow", mode(t, opened), ir.Allow, ir.Allow},
	} {
		for _, p := range outsidePaths {
			want(t, r.s, Action{Group: ir.Read, Arg: p}, r.read)
			want(t, r.s, Action{Group: ir.Edit, Arg: p}, r.edit)
		}
		if got := r.s.Outside(ir.Read).Decision; got != r.read {
			t.Errorf("%s: got ceiling %s, want %s", r.name, got, r.read)
		}
		want(t, r.s, Action{Group: ir.Read, Arg: "a/../b"}, ir.Allow)
		want(t, r.s, Action{Group: ir.Read, Arg: "..a/b..c"}, ir.Allow)
	}
	if r := mode(t, all).Decide(Action{Group: ir.Read, Arg: "/x"}); r.Explanation() != `default of can.outside.read: "/x" is outside the project` {
		t.Errorf("got rule %q, want the path and what opens it", r.Rule)
	}
}

// The ceiling is no permission.
func TestOutsideNeverRaises(t *testing.T) {
	s := mode(t, ir.Can{Read: table(allow("src/**"), deny("*.pem")), OutsideRead: def(ir.Allow)})
	want(t, s, Action{Group: ir.Read, Arg: "/x"}, ir.Deny)
	want(t, s, Action{Group: ir.Read, Arg: "/src/x"}, ir.Deny)
	want(t, s, Action{Group: ir.Read, Arg: "../k.pem"}, ir.Deny)
	shared := mode(t, ir.Can{Read: table(allow("../shared/**")), OutsideRead: def(ir.Allow)})
	want(t, shared, Action{Group: ir.Read, Arg: "../shared/x"}, ir.Allow)
	want(t, shared, Action{Group: ir.Read, Arg: "../other"}, ir.Deny)
}

// A backslash is a character to POSIX and a separator to Windows.
func TestBackslashIsReadBothWays(t *testing.T) {
	s := mode(t, ir.Can{Edit: table(allow("src/**"), deny("src/gen/**"))})
	for path, d := range map[string]ir.Decision{
		`src\a`:             ir.Deny, // one name to POSIX, outside src
		`src/a\b`:           ir.Allow,
		`src/a\..\..\b`:     ir.Deny,
		`src/a\..\gen\x`:    ir.Deny,
		`src/gen\x`:         ir.Deny,
		`src/..\..\.bashrc`: ir.Deny,
	} {
		want(t, s, Action{Group: ir.Edit, Arg: path}, d)
	}
}

// All names of a file are decided, from every folder in which the path may begin.
func TestDecideAt(t *testing.T) {
	can := commands(allow("cat *", "ls *"))
	can.Read = withDefault(table(allow("src/**"), deny("secrets/")), ir.Ask)
	s, left := mode(t, can), role(t, ir.Role{})
	leads := map[string][]string{"src/a": {"src/a"}, "src/link": {"src/link", "/etc/passwd"}, "/p/src/a": {"src/a"},
		"src/key": {"src/key", "secrets/key"}, "./src": {"src"}, "link": {"link", "src"}, "link/a": {"link/a", "src/a"}}
	place := Place{Names: func(dir, file string) []string { return leads[strings.TrimPrefix(dir+"/"+file, "./")] }}
	leads["/p/src/a"], leads["src"] = []string{"src/a"}, []string{"src"}
	for arg, want := range map[string]ir.Decision{
		"src/a": ir.Allow, "src/link": ir.Deny, "/p/src/a": ir.Allow, "src/key": ir.Deny, "link/a": ir.Ask, "gone": ir.Deny,
	} {
		if got := s.DecideAt(&place, Action{Group: ir.Read, Arg: arg}); got.Decision != want {
			t.Errorf("read %q: got %s (%s), want %s", arg, got.Decision, got.Rule, want)
		}
		if got := s.DecideAt(&place, Action{Group: ir.Command, Arg: "cat < " + arg}); got.Decision != want {
			t.Errorf("cat < %q: got %s (%s), want %s", arg, got.Decision, got.Rule, want)
		}
		if got := left.DecideAt(&place, Action{Group: ir.Read, Arg: arg}); got.Decision != ir.Agent {
			t.Errorf("%q, left to the agent: got %s (%s)", arg, got.Decision, got.Rule)
		}
	}
	for line, want := range map[string]ir.Decision{
		"cd src && cat < a": ir.Allow, "cd src && cat < key": ir.Deny, "cd link && cat < a": ir.Ask, // as link/a and src/a
		"cd gone && ls": ir.Deny, "cd src; cat < a": ir.Deny, // ./a is not known here
	} {
		if got := s.DecideAt(&place, Action{Group: ir.Command, Arg: line}); got.Decision != want {
			t.Errorf("%q: got %s (%s), want %s", line, got.Decision, got.Rule, want)
		}
	}
	place.Dirs = []string{"src", "."}
	if got := s.DecideAt(&place, Action{Group: ir.Read, Arg: "a"}); got.Decision != ir.Deny {
		t.Errorf("from two folders: got %s (%s), want deny", got.Decision, got.Rule)
	}
}

func TestOfProcess(t *testing.T) {
	for _, file := range []string{
		"/proc/self/cwd/a", "/proc/self/cwd", "//proc/./17/cwd//a/../b", "/proc/self/task/1/cwd/a", "/proc/thread-self/cwd/../a", "/proc/self/root/etc",
		"/dev/fd/../cwd/a", "/proc/1/../self/fd/../cwd/a", "/../proc/self/cwd", "../../../proc/self/cwd/a", "a/../../dev/stdin/x", "/proc/self/fd/3", "/proc/self/fd",
		"/proc/self/fd/0/a", "/proc/17/fd/0", "/proc/self/map_files/1-2", "/dev/stdin/a", "/dev/stdin/..", "/dev/fd/3", "/dev/fd/0/a", "/dev//stderr/./a", "/proc/self/environ",
	} {
		if !OfProcess(file) {
			t.Errorf("%q: got false", file)
		}
	}
	for _, file := range []string{"/dev/stdin", "/dev/stdin/", "/dev/stdout/.", "/dev/fd", "/dev/null", "/proc/self", "/proc/self/../../x", "proc/self/cwd/a",
		"/x/proc/self/cwd", "a/../proc/self/cwd", "dev/stdin/a", "/proc/net/tcp", ""} {
		if OfProcess(file) {
			t.Errorf("%q: got true", file)
		}
	}
	s := mode(t, ir.Can{Read: withDefault(table(deny("secrets/")), ir.Allow), Command: bare(ir.Allow), OutsideRead: def(ir.Allow)})
	want(t, s, Action{Group: ir.Read, Arg: "/proc/self/cwd/secrets/key"}, ir.Deny)
	want(t, s, Action{Group: ir.Command, Arg: "cat < /proc/self/cwd/secrets/key"}, ir.Deny)
	want(t, s, Action{Group: ir.Command, Arg: "cd secrets && cat < /proc/self/cwd/key"}, ir.Deny)
	want(t, s, Action{Group: ir.Command, Arg: "pushd x; cat < /proc/self/cwd/key"}, ir.Deny)
	want(t, s, Action{Group: ir.Command, Arg: "cat < /proc/self/cwd/key"}, ir.Deny)
}

// What a process has open may be any file, and what lies behind it too.
func TestOpenFilesNameNone(t *testing.T) {
	can := ir.Can{Read: withDefault(table(deny("secrets/**")), ir.Allow), Command: withDefault(table(allow("@readonly_filters")), ir.Deny), OutsideRead: def(ir.Allow)}
	s := role(t, ir.Role{Can: can})
	for _, file := range []string{"/dev/stdin/secrets/key", "/proc/self/fd/0/secrets/key", "/dev/fd/5", "/proc/9/map_files/1", "../../dev/stdin/x"} {
		want(t, s, Action{Group: ir.Read, Arg: file}, ir.Deny)
		want(t, s, Action{Group: ir.Command, Arg: "head " + file + " 0< ."}, ir.Deny)
		want(t, s, Action{Group: ir.Command, Arg: "pushd x; head < " + file}, ir.Deny)
	}
	want(t, s, Action{Group: ir.Command, Arg: "cat /dev/stdin < a"}, ir.Allow)
	left := role(t, ir.Role{})
	want(t, left, Action{Group: ir.Read, Arg: "/dev/stdin/secrets/key"}, ir.Agent)
	closed := role(t, ir.Role{Can: ir.Can{OutsideRead: def(ir.Deny)}})
	want(t, closed, Action{Group: ir.Read, Arg: "/dev/stdin/secrets/key"}, ir.Deny)
}

func TestRelative(t *testing.T) {
	for _, r := range []struct{ root, path, want string }{
		{"/p", "/p/a/b", "a/b"},
		{"/p/", "/p//a/../b", "b"},
		{"/p", "/p", "."},
		{"/p", "/px/a", "/px/a"},
		{"/p", "/p/../q", "/p/../q"},
		{"/p", "a/b", "a/b"},
		{"/p", "../x", "../x"},
		{"/p", "~/x", "~/x"},
		{"/p", "/p/~x", "./~x"},
		{"/", "/etc", "etc"},
		{"", "/etc", "/etc"},
		{`C:\p`, `C:\p\a\b`, "a/b"},
		{`C:\p`, `D:\p\a`, `D:\p\a`},
	} {
		if got := Relative(r.root, r.path); got != r.want {
			t.Errorf("Relative(%q, %q): got %q, want %q", r.root, r.path, got, r.want)
		}
	}
}

func TestLongPathsAreRefused(t *testing.T) {
	s := mode(t, ir.Can{Read: bare(ir.Allow), OutsideRead: def(ir.Allow)})
	want(t, s, Action{Group: ir.Read, Arg: strings.Repeat("a", maxPath)}, ir.Allow)
	want(t, s, Action{Group: ir.Read, Arg: strings.Repeat("a", maxPath+1)}, ir.Deny)
}

// Two patterns meet where a path exists that both match.
func TestMeet(t *testing.T) {
	regex := func(text string) ir.Pattern { return ir.Pattern{Kind: ir.Regex, Text: text} }
	glob := func(text string) ir.Pattern { return ir.Pattern{Text: text} }
	long := strings.Repeat("a", 100)
	for _, c := range []struct {
		a, b ir.Pattern
		met  bool
	}{
		{glob("modec.toml"), glob("docs/**"), true}, // at any depth
		{glob("/modec.toml"), glob("docs/**"), false},
		{glob("modec/**"), glob("docs/**"), false},
		{glob("modec/**"), glob("*.md"), true},
		{glob("modec.toml"), glob("*.md"), false},
		{glob(".git/"), glob("docs/*.md"), false},
		{glob(".git/"), glob("docs/**/*.md"), true},
		{glob("**/.claude/agents/*.md"), glob("**/*.ts"), false},
		{glob("**/.claude/agents/*.md"), glob("**/A*"), true},
		{glob("HEAD"), glob("h[a-e]ad"), true},
		{glob(".git/"), regex(`^docs/adr/\d{4}-[a-z0-9-]+\.md$`), false},
		{glob(".git/"), regex(`^docs/adr/.*\.md$`), true},
		{glob(".git/"), regex(`^docs/adr/[^/]*\.md$`), false},
		{glob("modec.toml"), regex(`\.md$`), false},
		{glob("modec.toml"), regex(`TOML`), true},
		{glob("modec.toml"), regex(`^(?!modec)`), true}, // not regular
		{glob("modec.toml"), regex(`^modec\.toml\/x$`), false},
		{glob("a b"), regex(`^a\sb$`), true},
		{glob("modec.toml"), regex(`^[^\s]+$`), true},
		{glob("modec.toml"), regex(`^[\w\s.-]+$`), true},
		{glob("a b"), regex(`^[^\s]+$`), false},
		{glob("a b"), regex(`^a[^\S]b$`), true},
		{glob("modec.toml"), regex(`^[\s\S]+$`), true},
		{glob("modec.toml"), regex(`^[\]\s]+$`), false},
		{glob("*"), regex(`^[^x]*(.{500})+r$`), true},
		{glob("İ"), regex(`^i$`), true}, // not looked at
		{glob("/" + long), glob("/" + strings.ToUpper(long)), true},
		{glob("/" + long), glob("/" + long[1:]), false},
		{glob("/" + long + "*"), glob("/*" + long), true},
		{glob("/" + long + "*b"), glob("/*" + long), false},
		{glob("/*a*b*"), glob("/*b*a*"), true},
		{glob("/x/**/a?"), glob("/**/[a-c]/*"), true},
		{glob("/x/**/y/?"), glob("/x/z"), false},
	} {
		e := New(&ir.Project{})
		if got, err := e.meet(c.a, itself, c.b, itself); err != nil || got != c.met {
			t.Errorf("%s and %s: got %v (%v), want %v", c.a, c.b, got, err, c.met)
		}
	}
	e := New(&ir.Project{})
	if !e.Meet(deny("secret")[0], allow("secret/x")[0]) || e.Meet(deny("/secret")[0], allow("docs/**")[0]) {
		t.Error("a deny holds for what is below it, and for nothing else")
	}
}

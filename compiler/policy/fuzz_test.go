package policy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// source draws a model from fuzz bytes.
type source struct{ bytes []byte }

func (s *source) next(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := int(s.bytes[0])
	s.bytes = s.bytes[1:]
	return b % n
}

func pick[T any](s *source, from []T) T { return from[s.next(len(from))] }

func (s *source) decision() ir.Decision { return ir.Decision(s.next(3)) }

func (s *source) optional() *ir.Default {
	if s.next(2) == 0 {
		return nil
	}
	return def(ir.Decision(s.next(4)))
}

var (
	fuzzGlobs = []string{"**", "*", "*.md", "**/*.md", "src/**", "src/", "src", "/src", "src/*/a", "{src,docs}/**", "*.{md,MD,go}", "[a-c]*", "?", "A", "a/b/c",
		"**/a/**", "a/**/c", "**/b", ".*", "[^a].md", "Src/*.MD", "é*", "e\u0301", "../x/**", "{a,b/c}", "a*b*c", "*/", "{,a}b", "~/**", "src/**/*.go", `\[a\]`, "**/**", "a/**", "src\u200c/**", "*:*", "*.", "H\uff25AD", "stra\u00dfe"}
	fuzzRegexes = []string{`\.md$`, `^src/`, `(^|/)a(/|$)`, `^(?!src/).*$`, `é`, `.`}
	fuzzPaths   = []string{"", ".", "a", "A", "b", "a.md", "A.MD", "src", "src/a", "SRC/A", "src/a/b.go", "src/x/a", "docs/a.md", "a/b/c", "a/x/y/c", ".env", "é", "e\u0301x", "É/x",
		"../x", "../x/y", "/src/a", "/", "~/a", "C:/a", `src\a`, `a\..\b`, "src/../a", "./a//b/", "x/src", "aXbYc", "[a]", "a/../../b", "ab", "CLAUDE.md", "x/claude.MD", ".roo/mcp.json", ".roo/a.md", "src/x/.ROO/a.md", "docs/HEAD", "HEAD/x", ".Claude/x", "docs/.claude/a.md", "\xff", "a\xff/b",
		"src./a", "src /a", ".roo::$INDEX_ALLOCATION/a.md", "CLAUDE.md:x", "a.md ", "a.md.", "docs/HEAD. .", "src/.../a", "src/.. /a", "...", " ", "a:b/c", ":x", "sr\u200cc/a", "\u200d",
		"H\uff25AD", "a\u00ad.md", "\ufeffCLAUDE.md", "a/\u2060/b", "\u00a0", "src/x\uff0fy", "c:/...", "a/. ./b", "stra\u00dfe", "STRASSE"}
	fuzzHosts     = []string{"*", "a.org", "*.a.org", "b.a.org", "127.0.0.1", "bücher.example", "xn--bcher-kva.example"}
	fuzzHostArgs  = []string{"", "a.org", "A.ORG.", "b.a.org:80", "c.b.a.org", "xa.org", "0x7f.1", "BÜCHER.example", "a b", "a.org/x"}
	fuzzTools     = []string{"*", "list_*", "delete_repo", "?ist_users", "mystery", "create_issue", "*e*"}
	fuzzServers   = []string{"*", "admin", "docs", "github", "g*", "*s", "???s"}
	fuzzToolNames = []string{"list_users", "drop_table", "search", "get_page", "create_issue", "delete_repo", "list_issues", "mystery", "unlisted"}
	fuzzNames     = []string{"admin", "docs", "github", "other", "gs"}
	fuzzArgs      = []string{"", "", "", `{"repo":"acme/*"}`, `{"n":"7"}`, `{"a.b":"*x*y","repo":"*"}`, `{"on":"true"}`}
	fuzzCalls     = []string{"", "{}", "[]", "{", `{"repo":"acme/x"}`, `{"repo":"Acme/x","n":7}`, `{"repo":"other","n":7.0}`, `{"repo":"acme/x","REPO":"other"}`, `{"repo":null,"n":1e1}`,
		`{"a":{"b":"xyxy"},"repo":""}`, `{"a":{"b":{}},"repo":"z","on":true}`, `{"repo":["acme/x"],"on":"TRUE"}`, `{"n":-0,"a":"b"}`, `{"n":9007199254740994}`}
	fuzzModes = []string{"", "default", "plan", "auto", "acceptEdits", "dontAsk", "bypassPermissions"}
)

func (s *source) table(patterns []string, regexes []string) *ir.Table {
	if s.next(4) == 0 {
		return nil
	}
	t := &ir.Table{Default: s.optional()}
	for i := s.next(6); i > 0; i-- {
		r := ir.Rule{Decision: s.decision(), Pattern: ir.Pattern{Text: pick(s, patterns)}}
		switch k := s.next(10); {
		case k == 0 && r.Decision == ir.Deny:
			r.Pattern = ir.Pattern{Kind: ir.All}
		case k == 1 && len(regexes) > 0:
			r.Pattern = ir.Pattern{Kind: ir.Regex, Text: pick(s, regexes)}
		}
		t.Rules = append(t.Rules, r)
	}
	return t
}

func (s *source) mcp() *ir.MCPTable {
	if s.next(4) == 0 {
		return nil
	}
	t := &ir.MCPTable{Default: s.optional()}
	if s.next(12) == 1 {
		t.Rules = deny("!")
	}
	for i := s.next(4); i > 0; i-- {
		key := pick(s, fuzzServers)
		e := ir.MCPEntry{Key: key, Literal: !strings.ContainsAny(key, "*?"), Default: s.optional()}
		if s.next(3) == 0 {
			e.From = "policy p"
			if e.Default != nil {
				e.Default.From = "policy p"
			}
		}
		// One own entry a key, as the compiler writes them.
		for _, other := range t.Entries {
			if other.Key == key && other.From == "" {
				e.From = "policy p"
				if e.Default != nil {
					e.Default.From = "policy p"
				}
			}
		}
		for j := s.next(4); j > 0; j-- {
			r := ir.Rule{Decision: s.decision(), Pattern: ir.Pattern{Text: pick(s, fuzzTools)}}
			switch k := s.next(6); {
			case k == 0 && r.Decision == ir.Deny:
				r.Pattern = ir.Pattern{Kind: ir.All}
			case k == 1:
				r.Pattern = ir.Pattern{Kind: ir.Risk, Text: pick(s, []string{"read", "write", "destructive"})}
			}
			if r.Pattern.Kind != ir.All {
				r.Pattern.Args = ir.Args(pick(s, fuzzArgs))
			}
			e.Rules = append(e.Rules, r)
		}
		t.Entries = append(t.Entries, e)
	}
	return t
}

func (s *source) restrictions() *ir.MCPRestrictions {
	if s.next(3) > 0 {
		return nil
	}
	r := &ir.MCPRestrictions{}
	if s.next(2) == 0 {
		r.AllowedServers = items(pick(s, fuzzServers), pick(s, fuzzServers))
	}
	if s.next(2) == 0 {
		r.DisallowedServers = items(pick(s, fuzzServers))
	}
	if s.next(2) == 0 {
		r.AllowedTools = refs(pick(s, fuzzServers)+":"+pick(s, fuzzTools), pick(s, fuzzServers)+":"+pick(s, fuzzTools))
	}
	if s.next(2) == 0 {
		r.DisallowedTools = refs(pick(s, fuzzServers) + ":" + pick(s, fuzzTools))
	}
	return r
}

// project draws a mode "m" and a role "r".
func (s *source) project() *ir.Project {
	can := func() ir.Can {
		c := ir.Can{Default: s.optional(), OutsideRead: s.optional(), OutsideEdit: s.optional(), Web: s.table(fuzzHosts, nil), MCP: s.mcp(),
			Read: s.table(fuzzGlobs, fuzzRegexes), Edit: s.table(fuzzGlobs, fuzzRegexes)}
		return c
	}
	p := &ir.Project{
		Servers: standard,
		Unsaid:  s.optional(),
		Modes:   []ir.Mode{{Slug: "m", Can: can(), Restrictions: s.restrictions()}},
		Roles:   []ir.Role{{Name: "r", Can: can(), PermissionMode: pick(s, fuzzModes)}},
	}
	if s.next(2) == 1 {
		c := can()
		c.OutsideRead, c.OutsideEdit = nil, nil
		lists := []*ir.Table{c.Read, c.Edit, c.Web}
		if c.MCP != nil {
			for i := range c.MCP.Entries {
				lists = append(lists, &ir.Table{Rules: c.MCP.Entries[i].Rules})
			}
		}
		for _, t := range lists {
			for i := 0; t != nil && i < len(t.Rules); i++ {
				t.Rules[i].Decision = min(t.Rules[i].Decision, ir.Ask)
			}
		}
		p.Everyone = &c
		if r := &p.Roles[0]; r.PermissionMode == "dontAsk" { // a role that denies what it leaves: TestEveryone
			r.PermissionMode = ""
		}
	}
	if s.next(2) == 1 {
		m, r := can(), can()
		p.Modes[0].Agents, p.Roles[0].Agents = map[string]*ir.Can{"a": &m}, map[string]*ir.Can{"a": &r, "b": {}}
	}
	return p
}

func actions(arg string) []Action {
	var all []Action
	for _, p := range append(fuzzPaths, arg) {
		all = append(all, Action{Group: ir.Read, Arg: p}, Action{Group: ir.Edit, Arg: p})
	}
	for _, h := range append(fuzzHostArgs, arg) {
		all = append(all, Action{Group: ir.Web, Arg: h})
	}
	for _, server := range fuzzNames {
		for _, tool := range fuzzToolNames {
			all = append(all, Action{Group: ir.MCP, Server: server, Arg: tool},
				Action{Group: ir.MCP, Server: server, Arg: tool, Most: true},
				Action{Group: ir.MCP, Server: server, Arg: tool, Args: fuzzCalls[len(all)/3%len(fuzzCalls)]})
		}
	}
	return all
}

var fuzzSeeds = []string{"", "a", "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f", strings.Repeat("\x01\x02\x05\x07\x0b", 60),
	strings.Repeat("\x03\x01\x04\x01\x05\x09\x02\x06", 40), strings.Repeat("\xff\xfe\x01", 90), strings.Repeat("\x02\x03", 100)}

// FuzzAgainstNaive holds the engine to a second evaluator.
func FuzzAgainstNaive(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s), "src/a")
	}
	f.Fuzz(againstNaive)
}

// TestAgainstNaive does so for models that are drawn by chance, always the
// same.
func TestAgainstNaive(t *testing.T) {
	for _, model := range drawn(400) {
		againstNaive(t, model, "src/a")
	}
}

// foldingPlace is a place where names stand for others, at the root of a disk without links.
var foldingPlace = &Place{Names: func(_, file string) []string { return []string{file} }, Folds: true}

// drawn returns n models.
func drawn(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	models := make([][]byte, n)
	for i := range models {
		models[i] = make([]byte, 300)
		for j := range models[i] {
			models[i][j] = byte(r.Uint32())
		}
	}
	return models
}

func againstNaive(t *testing.T, model []byte, arg string) {
	p := (&source{model}).project()
	asNaive(t, New(p), p, arg)
	for _, target := range p.Agents() {
		q := *p
		q.Modes, q.Roles = slices.Clone(p.Modes), slices.Clone(p.Roles)
		if own := p.Modes[0].Agents[target]; own != nil {
			q.Modes[0].Can = *own
		}
		q.Roles[0].Can = *p.Roles[0].Agents[target]
		asNaive(t, New(p).For(target), &q, arg)
	}
}

// asNaive holds an engine to the second evaluator of a project.
func asNaive(t *testing.T, e *Engine, p *ir.Project, arg string) {
	for ref, n := range map[ir.SubjectRef]*naive{
		{Mode: "m"}: {p: p, can: &p.Modes[0].Can, mode: &p.Modes[0]},
		{Role: "r"}: {p: p, can: &p.Roles[0].Can, role: &p.Roles[0]},
	} {
		s, err := e.Subject(ref)
		if err != nil {
			t.Fatal(err)
		}
		if len(arg) > maxPath || strings.ContainsAny(arg, "\u2028\u2029") {
			arg = ""
		}
		for _, a := range actions(arg) {
			var want ir.Decision
			switch a.Group {
			case ir.Web:
				want = n.below(func(n *naive) ir.Decision { return n.web(a.Arg) })
			case ir.MCP:
				want = n.below(func(n *naive) ir.Decision { return n.tool(a) })
			default:
				want = n.below(func(n *naive) ir.Decision { return n.file(a.Group, a.Arg) })
			}
			if a.Group == ir.Read || a.Group == ir.Edit {
				want := n.below(func(n *naive) ir.Decision { return n.folded(a.Group, a.Arg) })
				if got := s.DecideAt(foldingPlace, a); got.Decision != want {
					t.Errorf("%s: %s %q folded: got %s (%s), want %s", ref, a.Group, a.Arg, got.Decision, got.Rule, want)
				}
			}
			got := s.Decide(a)
			if got.Decision != want {
				t.Errorf("%s: %s %s %q %s: got %s (%s), want %s", ref, a.Group, a.Server, a.Arg, a.Args, got.Decision, got.Rule, want)
			}
			if a.Args != "" {
				most := a
				most.Args, most.Most = "", true
				if m := s.Decide(most); min(got.Decision, ir.Allow) > m.Decision {
					t.Errorf("%s: %s %q %s: got %s, want at most %s", ref, a.Server, a.Arg, a.Args, got.Decision, m.Decision)
				}
			}
		}
	}
}

var fuzzLines = []string{
	"git push", "git log && ls", "ls > a", "sh -c 'git push'", "X=1 git push", "git $X", "cat <<E\n$(git push)\nE", "f() { git push; }; f", "cd a; ls > b", "sudo -u x git push",
	"find . -exec git push {} ;", "echo ${x:-`git push`}", "[[ a -eq b ]]", "((x++))", "case x in a) b;; esac", "for ((;;)); do ls; done", "coproc x { ls; }", "a=(b c)", "ls 2>&1 >/dev/null",
	"timeout -k 1 5 nice -n 3 ls", "env -S 'git push' x", "bash <<< \"$x\"", "{a,b}", "$'\\x41'", "ls @(a|b)", "let x=1", "declare -i x=1", "select x in a; do ls; done", "ls |& cat", "! ls", "if", "'",
	"xargs -I% git %", "parallel git {1} ::: push", "trap 'ls' EXIT", "eval ls", "alias a='b c'", "=ls", "function a { ls; }", "time -p ls", "\\\nls", "ls & ls", "(ls)", "git -C x push", "ls <(ls)",
}

// FuzzCommand holds that no line breaks the engine, and that a further deny
// never permits more.
func FuzzCommand(f *testing.F) {
	for _, l := range fuzzLines {
		f.Add(l, "git push *", "docs")
	}
	f.Fuzz(func(t *testing.T, line, pattern, dir string) {
		base := commands(allow("ls *", "git *", "@git_read", "@readonly_filters", "echo:*"), ask("git commit *"))
		base.Read, base.Edit = table(allow("src/**")), table(allow("out/**"))
		open := ir.Can{Command: table(allow("*")), Read: bare(ir.Allow), Edit: bare(ir.Allow)}
		for _, can := range []ir.Can{base, open} {
			less := can
			less.Command = table(can.Command.Rules, deny("git push *"))
			if CheckCommand(pattern) == nil {
				less.Command = table(less.Command.Rules, deny(pattern))
			}
			if len(less.Command.Rules) > 0 && strings.HasPrefix(pattern, "@") {
				return
			}
			before, after := mode(t, can), mode(t, less)
			b, a := commandIn(before, dir, line), commandIn(after, dir, line)
			if a.Decision > b.Decision {
				t.Errorf("%q: got %s (%s) with a further deny of %q, want at most %s (%s)", line, a.Decision, a.Rule, pattern, b.Decision, b.Rule)
			}
			if a.Rule == "" || b.Rule == "" {
				t.Errorf("%q: got no rule", line)
			}
		}
	})
}

// FuzzDenyIsMonotone adds a deny to a drawn model: nothing may be permitted
// that was not, for a mode, a role and the pair.
func FuzzDenyIsMonotone(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add([]byte(s), byte(i))
	}
	f.Fuzz(denyIsMonotone)
}

func TestDenyIsMonotone(t *testing.T) {
	for i, model := range drawn(400) {
		denyIsMonotone(t, model, byte(i))
	}
}

func denyIsMonotone(t *testing.T, model []byte, pickRule byte) {
	p, q := (&source{model}).project(), (&source{model}).project()
	s := &source{[]byte{pickRule}}
	for _, can := range []*ir.Can{&q.Modes[0].Can, &q.Roles[0].Can} {
		// A deny is added where the group is stated: to state a group is
		// no restriction only.
		for _, t := range []*ir.Table{can.Read, can.Edit} {
			if t != nil {
				t.Rules = append(t.Rules, deny(pick(s, fuzzGlobs))...)
			}
		}
		if can.Web != nil {
			can.Web.Rules = append(can.Web.Rules, deny(pick(s, fuzzHosts))...)
		}
		if can.MCP != nil {
			for i := range can.MCP.Entries {
				can.MCP.Entries[i].Rules = append(can.MCP.Entries[i].Rules, deny(pick(s, fuzzTools))...)
			}
		}
	}
	for _, ref := range []ir.SubjectRef{{Mode: "m"}, {Role: "r"}, {Mode: "m", Role: "r"}} {
		before, after := mustSubject(t, p, ref), mustSubject(t, q, ref)
		for _, a := range actions("x") {
			if b, got := before.Decide(a), after.Decide(a); got.Decision > b.Decision {
				t.Errorf("%s: %s %s %q: got %s (%s) after a deny, want at most %s (%s)", ref, a.Group, a.Server, a.Arg, got.Decision, got.Rule, b.Decision, b.Rule)
			}
		}
	}
}

// FuzzCheck holds that a pattern that passes its check compiles, and that no
// pattern or argument breaks the engine.
func FuzzCheck(f *testing.F) {
	for _, p := range append(append(fuzzGlobs, fuzzRegexes...), fuzzHosts...) {
		f.Add(p, "src/a")
	}
	f.Fuzz(func(t *testing.T, pattern, arg string) {
		for g, check := range map[ir.Group]func(string) error{ir.Read: CheckGlob, ir.Command: CheckCommand, ir.Web: CheckHost} {
			if check(pattern) != nil {
				continue
			}
			for _, d := range []ir.Decision{ir.Deny, ir.Allow} {
				tab := table([]ir.Rule{{Decision: d, Pattern: ir.Pattern{Text: pattern}}})
				s, err := New(modeOf(ir.Can{Read: tab, Command: tab, Web: tab})).Subject(ir.SubjectRef{Mode: "m"})
				if err != nil {
					// The other grammars may refuse it.
					if CheckGlob(pattern) == nil && CheckCommand(pattern) == nil && CheckHost(pattern) == nil {
						t.Errorf("%s %q: got %v, want what passes its check to compile", g, pattern, err)
					}
					continue
				}
				for _, a := range []Action{{Group: ir.Read, Arg: arg}, {Group: ir.Command, Arg: arg}, {Group: ir.Web, Arg: arg}} {
					s.Decide(a)
				}
			}
		}
		if CheckRegex(pattern) == nil {
			s := mode(t, ir.Can{Read: table([]ir.Rule{{Pattern: ir.Pattern{Kind: ir.Regex, Text: pattern}}})})
			s.Decide(Action{Group: ir.Read, Arg: arg})
		}
	})
}

// FuzzGlob holds the matcher to doublestar, for any pattern and path.
// No wildcard of an anchored allow stands for what leads out of the root.
func TestGlobsOutside(t *testing.T) {
	for pattern, allowed := range map[string][]string{
		"/*": nil, "*/x": nil, "*/**": nil, "../*": {"../x"}, "~/*": {"~/x"}, "[~]/x": nil,
		"*": {"/", "/x", "/a/x", "~/x", "../x", "C:/x"}, "**/x": {"/x", "/a/x", "~/x", "../x", "C:/x"},
	} {
		for _, arg := range []string{"/", "/x", "/a/x", "~/x", "../x", "C:/x"} {
			for _, d := range []ir.Decision{ir.Deny, ir.Allow} {
				can := ir.Can{
					Read:        withDefault(table([]ir.Rule{{Decision: d, Pattern: ir.Pattern{Text: pattern}}}), ir.Ask),
					OutsideRead: def(ir.Allow),
				}
				got := mode(t, can).Decide(Action{Group: ir.Read, Arg: arg}).Decision
				n := naive{p: &ir.Project{}, can: &can, mode: &ir.Mode{}}
				if want := n.file(ir.Read, arg); got != want {
					t.Errorf("%s %q on %q: got %s, want %s", d, pattern, arg, got, want)
				}
				if d == ir.Allow && (got == d) != slices.Contains(allowed, arg) {
					t.Errorf("allow %q on %q: got %s", pattern, arg, got)
				}
			}
		}
	}
}

func FuzzGlob(f *testing.F) {
	for i, g := range fuzzGlobs {
		f.Add(g, fuzzPaths[i%len(fuzzPaths)])
	}
	f.Add("{}", "0")
	f.Add("0*", "0")
	f.Fuzz(func(t *testing.T, pattern, arg string) {
		if CheckGlob(pattern) != nil || len(arg) > maxPath || strings.Contains(arg, `\\`) || strings.ContainsAny(pattern, `\\`) && strings.ContainsAny(pattern, "{}") {
			return
		}
		for _, d := range []ir.Decision{ir.Deny, ir.Allow} {
			can := ir.Can{Read: withDefault(table([]ir.Rule{{Decision: d, Pattern: ir.Pattern{Text: pattern}}}), ir.Ask), OutsideRead: def(ir.Allow)}
			n := naive{p: &ir.Project{}, can: &can, mode: &ir.Mode{}}
			if got, want := mode(t, can).Decide(Action{Group: ir.Read, Arg: arg}).Decision, n.file(ir.Read, arg); got != want {
				t.Errorf("%s %q on %q: got %s, want %s", d, pattern, arg, got, want)
			}
		}
	})
}

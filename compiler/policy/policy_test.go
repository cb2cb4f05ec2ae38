package policy

import (
	"strings"
	"sync"
	"testing"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// The helpers below write the smallest model that shows one thing.

func at(line int) diag.Pos { return diag.Pos{File: "m.cue", Line: line, Col: 1} }

// rules turns patterns into rules of one decision: "@x" is a built-in set,
// "/x/" a regex, "!" a bare decision.
func rules(d ir.Decision, patterns ...string) []ir.Rule {
	var out []ir.Rule
	for i, p := range patterns {
		r := ir.Rule{Decision: d, Pattern: ir.Pattern{Text: p}, Pos: at(i + 1)}
		switch {
		case p == "!":
			r.Pattern = ir.Pattern{Kind: ir.All}
		case len(p) > 1 && strings.HasPrefix(p, "@"):
			r.Pattern = ir.Pattern{Kind: ir.Builtin, Text: p[1:]}
		case len(p) > 2 && strings.HasPrefix(p, "/") && strings.HasSuffix(p, "/"):
			r.Pattern = ir.Pattern{Kind: ir.Regex, Text: p[1 : len(p)-1]}
		}
		out = append(out, r)
	}
	return out
}

func deny(p ...string) []ir.Rule  { return rules(ir.Deny, p...) }
func ask(p ...string) []ir.Rule   { return rules(ir.Ask, p...) }
func allow(p ...string) []ir.Rule { return rules(ir.Allow, p...) }

// table joins lists of rules; a default is given with def.
func table(lists ...[]ir.Rule) *ir.Table {
	t := &ir.Table{}
	for _, l := range lists {
		t.Rules = append(t.Rules, l...)
	}
	return t
}

func def(d ir.Decision) *ir.Default { return &ir.Default{Decision: d, Pos: at(99)} }

func bare(d ir.Decision) *ir.Table { return &ir.Table{Default: def(d)} }

func withDefault(t *ir.Table, d ir.Decision) *ir.Table {
	t.Default = def(d)
	return t
}

func modeOf(can ir.Can) *ir.Project {
	return &ir.Project{Version: ir.Version, Modes: []ir.Mode{{Slug: "m", Pos: at(1), Can: can}}}
}

func roleOf(r ir.Role) *ir.Project {
	r.Name = "r"
	return &ir.Project{Version: ir.Version, Roles: []ir.Role{r}}
}

func mustSubject(t testing.TB, p *ir.Project, ref ir.SubjectRef) *Subject {
	t.Helper()
	s, err := New(p).Subject(ref)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mode compiles a mode that may do can.
func mode(t testing.TB, can ir.Can) *Subject {
	return mustSubject(t, modeOf(can), ir.SubjectRef{Mode: "m"})
}

func role(t testing.TB, r ir.Role) *Subject {
	return mustSubject(t, roleOf(r), ir.SubjectRef{Role: "r"})
}

func want(t *testing.T, s *Subject, a Action, d ir.Decision) {
	t.Helper()
	if r := s.Decide(a); r.Decision != d {
		t.Errorf("%s %s%s: got %s (%s), want %s", a.Group, a.Server, a.Arg, r.Decision, r.Rule, d)
	}
}

func TestPrecedence(t *testing.T) {
	s := mode(t, ir.Can{Web: table(allow("*"), ask("*.example.com"), deny("evil.example.com"))})
	want(t, s, Action{Group: ir.Web, Arg: "evil.example.com"}, ir.Deny)
	want(t, s, Action{Group: ir.Web, Arg: "docs.example.com"}, ir.Ask)
	want(t, s, Action{Group: ir.Web, Arg: "other.org"}, ir.Allow)
}

func TestDefaults(t *testing.T) {
	type row struct {
		name string
		s    *Subject
		g    ir.Group
		d    ir.Decision
		rule string
	}
	for _, r := range []row{
		{"a mode denies a group that is not mentioned", mode(t, ir.Can{}), ir.Read, ir.Deny, "read is not mentioned"},
		{"can.default covers it", mode(t, ir.Can{Default: def(ir.Ask)}), ir.Web, ir.Ask, "can.default"},
		{"the omitted default of a mode's table is deny", mode(t, ir.Can{Web: table(allow("a.org"))}), ir.Web, ir.Deny,
			"web writes no default"},
		{"can.default covers a table without a default", mode(t, ir.Can{Default: def(ir.Allow), Web: table(deny("a.org"))}), ir.Web, ir.Allow,
			"can.default"},
		{"the omitted default of a role's table is the agent's", role(t, ir.Role{Can: ir.Can{Edit: table(deny("a.org"))}}), ir.Edit, ir.Agent,
			"edit writes no default"},
		{"in its permissionMode", role(t, ir.Role{PermissionMode: "acceptEdits", Can: ir.Can{Edit: table(deny("a"))}}), ir.Edit, ir.Agent,
			`permissionMode "acceptEdits"`},
		{"a mode may leave a group to its agent", mode(t, ir.Can{Web: bare(ir.Agent)}), ir.Web, ir.Agent, "default of web"},
		{"a written default", mode(t, ir.Can{Web: bare(ir.Ask)}), ir.Web, ir.Ask, "default of web"},
		{"a role leaves what it does not mention", role(t, ir.Role{}), ir.Read, ir.Agent, "read is not mentioned"},
		{"its modes too", role(t, ir.Role{}), ir.Modes, ir.Agent, "modes is not mentioned"},
		{"can.default goes before permissionMode", role(t, ir.Role{PermissionMode: "bypassPermissions", Can: ir.Can{Default: def(ir.Deny)}}), ir.Web, ir.Deny, "can.default"},
	} {
		got := r.s.Default(r.g)
		if got.Decision != r.d || got.Rule != r.rule {
			t.Errorf("%s: got %s (%s), want %s (%s)", r.name, got.Decision, got.Rule, r.d, r.rule)
		}
	}
}

// A written permissionMode leaves to the agent what is unsaid, and says what that means on
// an agent that lacks the mode. One that is not known denies.
func TestPermissionMode(t *testing.T) {
	const deny, ask, allow, agent = ir.Deny, ir.Ask, ir.Allow, ir.Agent
	for mode, want := range map[string][4]ir.Decision{ // read, edit, command, modes
		"":                  {agent, agent, agent, agent},
		"default":           {allow, ask, ask, allow},
		"plan":              {allow, ask, ask, allow},
		"auto":              {allow, ask, ask, allow},
		"acceptEdits":       {allow, allow, ask, allow},
		"dontAsk":           {deny, deny, deny, allow},
		"bypassPermissions": {allow, allow, allow, allow},
		"yolo":              {deny, deny, deny, allow},
	} {
		s := role(t, ir.Role{PermissionMode: mode})
		for i, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Modes} {
			if r := s.Default(g); r.Decision != ir.Agent || r.WithoutPermissionMode() != want[i] {
				t.Errorf("%q: %s: got %s and %s, want agent and %s", mode, g, r.Decision, r.WithoutPermissionMode(), want[i])
			}
		}
	}
}

// silent is a project whose unsaid decides, with a role and a mode.
func silent(d ir.Decision, r ir.Role, m ir.Mode) *ir.Project {
	r.Name, m.Slug = "r", "m"
	return &ir.Project{Unsaid: def(d), Roles: []ir.Role{r}, Modes: []ir.Mode{m}}
}

func TestUnsaid(t *testing.T) {
	ls := Action{Group: ir.Command, Arg: "ls"}
	p := silent(ir.Ask, ir.Role{Can: ir.Can{Web: bare(ir.Agent), Command: table(deny("rm *"))}}, ir.Mode{Can: ir.Can{Command: bare(ir.Allow)}})
	r := mustSubject(t, p, ir.SubjectRef{Role: "r"})
	want(t, r, ls, ir.Ask)
	want(t, r, Action{Group: ir.Read, Arg: "a"}, ir.Ask)
	want(t, r, Action{Group: ir.Unknown}, ir.Ask)
	want(t, r, Action{Group: ir.Web, Arg: "a.org"}, ir.Agent) // it is written
	pair := mustSubject(t, p, ir.SubjectRef{Role: "r", Mode: "m"})
	want(t, pair, ls, ir.Allow) // unsaid states nothing in a pair
	want(t, pair, Action{Group: ir.Command, Arg: "rm x"}, ir.Deny)
	want(t, mustSubject(t, p, ir.SubjectRef{Mode: "m"}), Action{Group: ir.Read, Arg: "a"}, ir.Deny)
	want(t, mustSubject(t, silent(ir.Deny, ir.Role{}, ir.Mode{}), ir.SubjectRef{Role: "r"}), Action{Group: ir.Read, Arg: "../a"}, ir.Deny)
	want(t, mustSubject(t, silent(ir.Deny, ir.Role{PermissionMode: "plan"}, ir.Mode{}), ir.SubjectRef{Role: "r"}), ls, ir.Agent)
}

// What needs several decisions at once is allowed where all are, and left to the agent where
// one is and none holds it back.
func TestBoth(t *testing.T) {
	s := role(t, ir.Role{Can: ir.Can{Command: table(allow("ls *"), ask("cp *"), deny("rm *"))}})
	for line, d := range map[string]ir.Decision{
		"ls": ir.Allow, "ls && ls -l": ir.Allow, "make": ir.Agent, "ls && make": ir.Agent, "make | ls": ir.Agent,
		"make && cp a b": ir.Ask, "make; rm a": ir.Deny, "ls $(make)": ir.Agent, "for x in a; do ls; done": ir.Agent,
		"$X": ir.Agent, "ls \"": ir.Agent, "rm $X": ir.Deny,
	} {
		want(t, s, Action{Group: ir.Command, Arg: line}, d)
	}
}

// A list with "*" leaves no command to the agent, not even one that matches no other entry.
func TestEveryCommand(t *testing.T) {
	every := role(t, ir.Role{Can: ir.Can{Command: table(allow("*"))}})
	but := role(t, ir.Role{Can: ir.Can{Command: table(allow("*"), deny("rm *"))}})
	for line, d := range map[string][2]ir.Decision{
		"make": {ir.Allow, ir.Allow}, "rm a": {ir.Allow, ir.Deny}, "$X": {ir.Allow, ir.Deny},
		"ls | sh": {ir.Allow, ir.Deny}, "ls \"": {ir.Allow, ir.Deny},
	} {
		want(t, every, Action{Group: ir.Command, Arg: line}, d[0])
		want(t, but, Action{Group: ir.Command, Arg: line}, d[1])
	}
}

func TestBareDenyIsARule(t *testing.T) {
	s := mode(t, ir.Can{Web: table(deny("!"), allow("a.org")), Read: table(deny("!"), allow("**")), Command: table(deny("!"), allow("*"))})
	want(t, s, Action{Group: ir.Web, Arg: "a.org"}, ir.Deny)
	want(t, s, Action{Group: ir.Read, Arg: "a"}, ir.Deny)
	want(t, s, Action{Group: ir.Command, Arg: "ls"}, ir.Deny)
	if r := s.Decide(Action{Group: ir.Read, Arg: "a"}); r.Rule != "deny everything" {
		t.Errorf("got rule %q, want %q", r.Rule, "deny everything")
	}
}

func TestUnknownTool(t *testing.T) {
	for _, r := range []struct {
		name string
		s    *Subject
		d    ir.Decision
	}{
		{"a mode denies", mode(t, ir.Can{Default: def(ir.Allow)}), ir.Deny},
		{"a role leaves it", role(t, ir.Role{PermissionMode: "bypassPermissions"}), ir.Agent},
		{"can.default closes it", role(t, ir.Role{Can: ir.Can{Default: def(ir.Deny)}}), ir.Deny},
		{"and does not allow it", role(t, ir.Role{Can: ir.Can{Default: def(ir.Allow)}}), ir.Ask},
		{"can.unknown", mode(t, ir.Can{Unknown: def(ir.Ask)}), ir.Ask},
	} {
		if got := r.s.UnknownTool(); got.Decision != r.d {
			t.Errorf("%s: got %s (%s), want %s", r.name, got.Decision, got.Rule, r.d)
		}
		want(t, r.s, Action{Group: ir.Unknown}, r.d)
	}
	want(t, mode(t, ir.Can{Default: def(ir.Allow)}), Action{Group: "teleport"}, ir.Deny)
}

func TestResultsTellTheirOrigin(t *testing.T) {
	can := ir.Can{Read: table(allow("**"), []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Text: ".env"}, Pos: at(7), From: "policy readonly"}})}
	got := mode(t, can).Decide(Action{Group: ir.Read, Arg: "app/.env"})
	want := Result{Decision: ir.Deny, Rule: `deny ".env"`, Pos: at(7), From: "policy readonly"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSubjectErrors(t *testing.T) {
	for _, r := range []struct {
		name, want string
		p          *ir.Project
		ref        ir.SubjectRef
	}{
		{"none", "a subject is a mode or a role; this one is neither", &ir.Project{}, ir.SubjectRef{}},
		{"unknown mode", `the project has no mode "x"`, &ir.Project{}, ir.SubjectRef{Mode: "x"}},
		{"unknown role", `the project has no role "x"`, &ir.Project{}, ir.SubjectRef{Role: "x"}},
		{"bad glob", `mode m: got "!a"`, modeOf(ir.Can{Read: table(allow("!a"))}), ir.SubjectRef{Mode: "m"}},
		{"bad regex", `mode m: got "("`, modeOf(ir.Can{Edit: table(deny("/(/"))}), ir.SubjectRef{Mode: "m"}},
		{"bad command", `mode m: got "a 'b"`, modeOf(ir.Can{Command: table(deny("a 'b"))}), ir.SubjectRef{Mode: "m"}},
		{"bad built-in", `mode m: got "@rm"`, modeOf(ir.Can{Command: table(allow("@rm"))}), ir.SubjectRef{Mode: "m"}},
		{"bad host", `mode m: got "a b"`, modeOf(ir.Can{Web: table(allow("a b"))}), ir.SubjectRef{Mode: "m"}},
		{"wrong kind", `mode m: got a pattern of kind "builtin"`, modeOf(ir.Can{Web: table(allow("@git_read"))}), ir.SubjectRef{Mode: "m"}},
	} {
		_, err := New(r.p).Subject(r.ref)
		if err == nil || !strings.HasPrefix(err.Error(), r.want) {
			t.Errorf("%s: got error %v, want %q", r.name, err, r.want)
		}
	}
}

func TestRulesAreWhatCanMatch(t *testing.T) {
	p := modeOf(ir.Can{Edit: table(allow("**/*.md"))})
	p.Roles = []ir.Role{{Name: "r", Pos: at(3), Modes: &[]string{"m"}}}
	s := mustSubject(t, p, ir.SubjectRef{Mode: "m"})
	if got := len(s.Rules(ir.Edit)); got != 1 {
		t.Errorf("edit: got %d rules, want the allow", got)
	}
	if got := s.Rules(ir.Read); len(got) != 0 {
		t.Errorf("read: got %v, want none", got)
	}
	r := mustSubject(t, p, ir.SubjectRef{Role: "r"})
	if got := r.Rules(ir.Modes); len(got) != 1 || got[0].Decision != ir.Allow || got[0].Pattern.Text != "m" {
		t.Errorf("modes: got %v, want an allow for m", got)
	}
	if got := r.Default(ir.Modes); got.Decision != ir.Deny {
		t.Errorf("modes: got default %s, want deny", got.Decision)
	}
	pair := mustSubject(t, p, ir.SubjectRef{Mode: "m", Role: "r"})
	if got := len(pair.Rules(ir.Edit)); got != 1 {
		t.Errorf("pair: got %d rules, want those of the side that states edit", got)
	}
}

// One engine answers everybody at once.
func TestConcurrentUse(t *testing.T) {
	p := company(20)
	p.Roles = []ir.Role{{Name: "r", Claims: map[string][]string{"roles": {"r"}}}}
	e := New(p)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, ref := range append(p.Subjects(), ir.SubjectRef{Mode: "mode-0003", Role: "r"}) {
				s, err := e.Subject(ref)
				if err != nil {
					t.Error(err)
					return
				}
				for _, d := range decisions {
					if got := s.Decide(d.a); ref.Mode != "" && got.Decision != d.d {
						t.Errorf("%s: %s: got %s, want %s", ref, d.name, got.Decision, d.d)
					}
				}
			}
			if _, held, err := e.Person(map[string][]string{"roles": {"r"}}, decisions[0].a); err != nil || len(held) != 1 {
				t.Errorf("got %v, %v, want the role r", held, err)
			}
		})
	}
	wg.Wait()
}

// A subject is compiled once.
func TestSubjectsAreShared(t *testing.T) {
	e := New(company(1))
	a, _ := e.Subject(ir.SubjectRef{Mode: "mode-0000"})
	b, _ := e.Subject(ir.SubjectRef{Mode: "mode-0000"})
	if a != b {
		t.Error("got two, want one")
	}
}

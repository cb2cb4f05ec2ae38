package policy

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// inventoryOf lists servers as "name: tool/risk tool"; a name with a "-" in
// front is off by default.
func inventoryOf(lines ...string) []ir.Server {
	var out []ir.Server
	for i, l := range lines {
		name, tools, _ := strings.Cut(l, ":")
		sv := ir.Server{Name: strings.TrimPrefix(name, "-"), Pos: at(200 + i), DefaultEnabled: name[0] != '-'}
		for _, t := range strings.Fields(tools) {
			tool, risk, _ := strings.Cut(t, "/")
			sv.Tools = append(sv.Tools, ir.Tool{Name: tool, Risk: risk})
		}
		out = append(out, sv)
	}
	return out
}

// standard is sorted by name, as every inventory, and so are its tools.
var standard = inventoryOf(
	"-admin: drop_table/destructive list_users/read",
	"docs: get_page search",
	"github: create_issue/write delete_repo/destructive list_issues/read mystery",
)

// entry is what a subject says of one server. "@x" in a list is a risk.
func entry(key string, lists ...[]ir.Rule) ir.MCPEntry {
	e := ir.MCPEntry{Key: key, Literal: !strings.ContainsAny(key, "*?"), Pos: at(50)}
	for _, l := range lists {
		for _, r := range l {
			if r.Pattern.Kind == ir.Builtin {
				r.Pattern.Kind = ir.Risk
			}
			e.Rules = append(e.Rules, r)
		}
	}
	return e
}

func (e entryOption) apply(x ir.MCPEntry) ir.MCPEntry { e(&x); return x }

type entryOption func(*ir.MCPEntry)

func with(e ir.MCPEntry, options ...entryOption) ir.MCPEntry {
	for _, o := range options {
		e = o.apply(e)
	}
	return e
}

func otherwise(d ir.Decision) entryOption { return func(e *ir.MCPEntry) { e.Default = def(d) } }
func resources(d ir.Decision) entryOption { return func(e *ir.MCPEntry) { e.Resources = def(d) } }
func prompts(d ir.Decision) entryOption   { return func(e *ir.MCPEntry) { e.Prompts = def(d) } }
func inherited(from string) entryOption {
	return func(e *ir.MCPEntry) {
		e.From = from
		if e.Default != nil {
			e.Default.From = from
		}
	}
}

func mcp(entries ...ir.MCPEntry) *ir.MCPTable { return &ir.MCPTable{Entries: entries} }

// tools maps "server:tool" to what it gets.
type tools map[string]ir.Decision

func testTools(t *testing.T, name string, s *Subject, want tools) {
	t.Helper()
	for k, d := range want {
		server, tool, _ := strings.Cut(k, ":")
		if r := s.Decide(Action{Group: ir.MCP, Server: server, Arg: tool}); r.Decision != d {
			t.Errorf("%s: %s: got %s (%s), want %s", name, k, r.Decision, r.Rule, d)
		}
	}
}

func modeWith(t testing.TB, m ir.Mode) *Subject {
	m.Slug, m.Pos = "m", at(1)
	return mustSubject(t, &ir.Project{Servers: standard, Modes: []ir.Mode{m}}, ir.SubjectRef{Mode: "m"})
}

func roleWith(t testing.TB, r ir.Role) *Subject {
	r.Name, r.Pos = "r", at(1)
	return mustSubject(t, &ir.Project{Servers: standard, Roles: []ir.Role{r}}, ir.SubjectRef{Role: "r"})
}

func TestMCPEntries(t *testing.T) {
	can := func(m *ir.MCPTable) *Subject { return modeWith(t, ir.Mode{Can: ir.Can{MCP: m}}) }
	testTools(t, "lists and the omitted default", can(mcp(entry("github", allow("list_*"), ask("create_issue"), deny("delete_*")))), tools{
		"github:list_issues": ir.Allow, "github:create_issue": ir.Ask, "github:delete_repo": ir.Deny, "github:mystery": ir.Deny,
		"github:list_new": ir.Allow, "github:other": ir.Deny, "docs:search": ir.Deny, "unlisted:x": ir.Deny})
	testTools(t, "every entry that matches counts", can(mcp(entry("github", allow("*")), entry("*", deny("delete_*")), entry("git*", ask("mystery")))), tools{
		"github:delete_repo": ir.Deny, "github:mystery": ir.Ask, "github:list_issues": ir.Allow})
	testTools(t, "the literal entry's default goes before the globs'", can(mcp(with(entry("github"), otherwise(ir.Ask)), with(entry("*"), otherwise(ir.Allow)))), tools{
		"github:mystery": ir.Ask, "docs:search": ir.Allow, "unlisted:x": ir.Allow})
	testTools(t, "an omitted one falls to the globs'", can(mcp(entry("github", deny("delete_*")), with(entry("*"), otherwise(ir.Allow)))), tools{
		"github:mystery": ir.Allow, "github:delete_repo": ir.Deny, "docs:search": ir.Allow})
	role := func(m *ir.MCPTable) *Subject { return roleWith(t, ir.Role{Can: ir.Can{MCP: m}}) }
	testTools(t, "in a role too", role(mcp(entry("github", deny("delete_*")), with(entry("*"), otherwise(ir.Deny)))), tools{"github:mystery": ir.Deny})
	testTools(t, "else to can.mcp.default", role(&ir.MCPTable{Default: def(ir.Deny), Entries: []ir.MCPEntry{entry("github", allow("list_*")), entry("d*")}}), tools{
		"github:list_issues": ir.Allow, "github:mystery": ir.Deny, "docs:search": ir.Deny})
	testTools(t, "whatever it is", role(&ir.MCPTable{Default: def(ir.Allow), Entries: []ir.MCPEntry{entry("github", ask("list_*"))}}), tools{
		"github:mystery": ir.Allow, "github:list_issues": ir.Ask, "docs:search": ir.Allow})
	testTools(t, "among globs the lowest default", can(mcp(with(entry("*"), otherwise(ir.Allow)), with(entry("git*"), otherwise(ir.Ask)))), tools{
		"github:mystery": ir.Ask, "docs:search": ir.Allow})
	testTools(t, "can.mcp.default", can(&ir.MCPTable{Default: def(ir.Ask), Entries: []ir.MCPEntry{with(entry("docs"), otherwise(ir.Allow))}}), tools{
		"docs:search": ir.Allow, "github:mystery": ir.Ask, "admin:list_users": ir.Deny})
	testTools(t, "a bare deny", can(&ir.MCPTable{Rules: deny("!"), Entries: []ir.MCPEntry{entry("docs", allow("*"))}}), tools{
		"docs:search": ir.Deny, "github:mystery": ir.Deny, "unlisted:x": ir.Deny})
	testTools(t, "a bare deny of a server", can(&ir.MCPTable{Default: def(ir.Allow), Entries: []ir.MCPEntry{entry("docs", deny("!"))}}), tools{
		"docs:search": ir.Deny, "github:mystery": ir.Allow})
	testTools(t, "a glob in a literal name is none", can(&ir.MCPTable{Default: def(ir.Allow), Entries: []ir.MCPEntry{{Key: "?ocs", Literal: true, Rules: deny("!")}}}), tools{
		"docs:search": ir.Allow, "?ocs:x": ir.Deny})
	testTools(t, "a role leaves what it does not say", roleWith(t, ir.Role{Can: ir.Can{MCP: mcp(entry("github", allow("list_*")))}}), tools{
		"github:list_issues": ir.Allow, "github:mystery": ir.Agent, "docs:search": ir.Agent, "admin:list_users": ir.Deny})
	testTools(t, "a role that says nothing of mcp", roleWith(t, ir.Role{}), tools{"docs:search": ir.Agent, "admin:list_users": ir.Deny})
	testTools(t, "a mode that says nothing of mcp", modeWith(t, ir.Mode{}), tools{"docs:search": ir.Deny})
}

func TestMCPInheritedDefaults(t *testing.T) {
	can := func(m *ir.MCPTable) *Subject { return modeWith(t, ir.Mode{Can: ir.Can{MCP: m}}) }
	testTools(t, "the own one where written", can(mcp(with(entry("docs"), otherwise(ir.Allow)), with(entry("docs"), otherwise(ir.Deny), inherited("policy p")))), tools{"docs:search": ir.Allow})
	testTools(t, "else the lowest inherited", can(mcp(entry("docs", deny("get_page")),
		with(entry("docs"), otherwise(ir.Allow), inherited("policy p")), with(entry("docs"), otherwise(ir.Ask), inherited("policy q")))), tools{
		"docs:search": ir.Ask, "docs:get_page": ir.Deny})
}

func TestServerOffByDefault(t *testing.T) {
	can := func(m *ir.MCPTable) *Subject {
		return modeWith(t, ir.Mode{Can: ir.Can{Default: def(ir.Allow), MCP: m}})
	}
	closed := tools{"admin:list_users": ir.Deny, "admin:drop_table": ir.Deny, "admin:unlisted": ir.Deny}
	testTools(t, "can.default does not open it", can(nil), closed)
	testTools(t, "can.mcp.default does not", can(&ir.MCPTable{Default: def(ir.Allow)}), closed)
	testTools(t, "a star does not", can(mcp(with(entry("*", allow("*")), otherwise(ir.Allow)))), closed)
	testTools(t, "a glob does not", can(mcp(with(entry("adm*", allow("*")), otherwise(ir.Allow)))), closed)
	testTools(t, "an entry of denies does not", can(mcp(entry("admin", deny("drop_*")), with(entry("*"), otherwise(ir.Allow)))), closed)
	testTools(t, "an empty entry does not", can(mcp(entry("admin"))), closed)
	testTools(t, "resources alone do not", can(mcp(with(entry("admin"), resources(ir.Allow)))), closed)
	testTools(t, "its name with an allow does", can(mcp(entry("admin", allow("list_*")))), tools{"admin:list_users": ir.Allow, "admin:drop_table": ir.Allow})
	testTools(t, "with an ask", can(mcp(entry("admin", ask("list_*")))), tools{"admin:list_users": ir.Ask, "admin:drop_table": ir.Allow})
	testTools(t, "leaving it to the agent does not", can(mcp(with(entry("admin"), otherwise(ir.Agent)))), closed)
	testTools(t, "with a default", can(mcp(with(entry("admin"), otherwise(ir.Ask)))), tools{"admin:list_users": ir.Ask, "admin:drop_table": ir.Ask})
	testTools(t, "inherited", can(mcp(with(entry("admin", allow("list_*")), inherited("policy p")))), tools{"admin:list_users": ir.Allow})
	if r := can(nil).Decide(Action{Group: ir.MCP, Server: "admin", Arg: "x"}); r.Rule != `server "admin" is off by default` || r.Pos != standard[0].Pos {
		t.Errorf("got %q at %s, want the server's own place", r.Rule, r.Pos)
	}
}

// What is asked about or denied is so under the name, too, that an agent gives to its model.
func TestNamesOfAgents(t *testing.T) {
	s := modeWith(t, ir.Mode{Can: ir.Can{MCP: mcp(with(entry("*", deny("repo.delete*", "größe"), ask("a b"), allow("repo.*", "c.d")), otherwise(ir.Deny)),
		entry("x.*", deny("w.*")))}})
	testTools(t, "names", s, tools{"github:repo.delete_all": ir.Deny, "github:repo_delete_all": ir.Deny, "github:repo.list": ir.Allow,
		"github:repo_list": ir.Deny, "github:gr__e": ir.Deny, "github:a_b": ir.Ask, "github:c.d": ir.Allow, "github:c_d": ir.Deny})
	open := modeWith(t, ir.Mode{Can: ir.Can{MCP: mcp(entry("x.*", deny("w.*")), with(entry("*"), otherwise(ir.Allow)))}})
	testTools(t, "servers", open, tools{"x.y:w.z": ir.Deny, "x_y:w_z": ir.Deny, "x_y:wz": ir.Allow, "xy:w_z": ir.Allow})
}

func TestMCPRisk(t *testing.T) {
	all := func(lists ...[]ir.Rule) *Subject {
		return modeWith(t, ir.Mode{Can: ir.Can{MCP: mcp(with(entry("*", lists...), otherwise(ir.Ask)))}})
	}
	testTools(t, "allow takes what is known", all(allow("@read", "@write")), tools{
		"github:list_issues": ir.Allow, "github:create_issue": ir.Allow, "github:delete_repo": ir.Ask, "github:mystery": ir.Ask, "github:unlisted": ir.Ask, "x:y": ir.Ask})
	testTools(t, "an unknown risk is a write", all(deny("@write")), tools{
		"github:list_issues": ir.Ask, "github:create_issue": ir.Deny, "github:delete_repo": ir.Ask, "github:mystery": ir.Deny, "github:unlisted": ir.Deny, "x:y": ir.Deny})
	testTools(t, "and destructive", all(deny("@destructive")), tools{
		"github:list_issues": ir.Ask, "github:create_issue": ir.Ask, "github:delete_repo": ir.Deny, "github:mystery": ir.Deny})
	testTools(t, "and no read", all(deny("@read")), tools{"github:list_issues": ir.Deny, "github:mystery": ir.Ask})
}

func TestResourcesAndPrompts(t *testing.T) {
	for _, r := range []struct {
		name      string
		m         *ir.MCPTable
		res, prom ir.Decision
	}{
		{"follow the default", mcp(with(entry("docs", allow("*")), otherwise(ir.Ask))), ir.Ask, ir.Ask},
		{"may say less", mcp(with(entry("docs"), otherwise(ir.Allow), resources(ir.Deny), prompts(ir.Ask))), ir.Deny, ir.Ask},
		{"never more", mcp(with(entry("docs"), otherwise(ir.Ask), resources(ir.Allow))), ir.Ask, ir.Ask},
		{"of any entry that matches", mcp(with(entry("docs"), otherwise(ir.Allow)), with(entry("*"), resources(ir.Ask))), ir.Ask, ir.Allow},
		{"a pattern over tools is no rule for them", mcp(with(entry("docs", deny("get_*"), deny("@write")), otherwise(ir.Allow))), ir.Allow, ir.Allow},
		{"but a star is", mcp(with(entry("docs", ask("*")), otherwise(ir.Allow))), ir.Ask, ir.Ask},
		{"and a bare deny", mcp(entry("docs", deny("!"))), ir.Deny, ir.Deny},
	} {
		s := modeWith(t, ir.Mode{Can: ir.Can{MCP: r.m}})
		want(t, s, Action{Group: ir.MCP, Server: "docs", Arg: "get_x", Kind: Resource}, r.res)
		want(t, s, Action{Group: ir.MCP, Server: "docs", Arg: "get_x", Kind: Prompt}, r.prom)
		want(t, s, Action{Group: ir.MCP, Server: "admin", Arg: "get_x", Kind: Prompt}, ir.Deny)
	}
}

func items(names ...string) *[]ir.Item {
	list := []ir.Item{}
	for i, n := range names {
		list = append(list, ir.Item{Name: n, Pos: at(300 + i)})
	}
	return &list
}

func refs(names ...string) *[]ir.ToolRef {
	list := []ir.ToolRef{}
	for i, n := range names {
		server, tool, _ := strings.Cut(n, ":")
		list = append(list, ir.ToolRef{Server: server, Tool: tool, Pos: at(400 + i)})
	}
	return &list
}

func TestMCPRestrictions(t *testing.T) {
	limited := func(r ir.MCPRestrictions) *Subject { return modeWith(t, ir.Mode{Restrictions: &r}) }
	testTools(t, "nothing listed: what is on is asked", limited(ir.MCPRestrictions{}), tools{
		"docs:search": ir.Ask, "github:mystery": ir.Ask, "admin:list_users": ir.Deny})
	testTools(t, "allowedServers", limited(ir.MCPRestrictions{AllowedServers: items("do*", "admin")}), tools{
		"docs:search": ir.Ask, "github:mystery": ir.Deny, "admin:list_users": ir.Ask})
	testTools(t, "a pattern does not open", limited(ir.MCPRestrictions{AllowedServers: items("*")}), tools{"admin:list_users": ir.Deny, "docs:search": ir.Ask})
	testTools(t, "disallowedServers win", limited(ir.MCPRestrictions{AllowedServers: items("*"), DisallowedServers: items("git???")}), tools{
		"docs:search": ir.Ask, "github:mystery": ir.Deny})
	testTools(t, "allowedTools limit every server", limited(ir.MCPRestrictions{AllowedTools: refs("github:list_*", "admin:list_users")}), tools{
		"github:list_issues": ir.Ask, "github:mystery": ir.Deny, "docs:search": ir.Deny, "admin:list_users": ir.Deny, "admin:drop_table": ir.Deny})
	testTools(t, "a server that is off needs allowedServers too", limited(ir.MCPRestrictions{AllowedServers: items("admin"), AllowedTools: refs("admin:list_users")}), tools{
		"admin:list_users": ir.Ask, "admin:drop_table": ir.Deny, "docs:search": ir.Deny})
	testTools(t, "a deny matches what an agent makes of a name", limited(ir.MCPRestrictions{DisallowedTools: refs("git.hub:list.*")}), tools{
		"git_hub:list_issues": ir.Deny, "git.hub:list.issues": ir.Deny, "git-hub:list_issues": ir.Ask})
	testTools(t, "empty allowedTools mean none", limited(ir.MCPRestrictions{AllowedTools: refs()}), tools{"docs:search": ir.Deny})
	testTools(t, "disallowedTools win", limited(ir.MCPRestrictions{AllowedTools: refs("*:*"), DisallowedTools: refs("github:delete_*")}), tools{
		"docs:search": ir.Ask, "github:delete_repo": ir.Deny, "github:mystery": ir.Ask})
	testTools(t, "an allowed tool of a server that is not allowed", limited(ir.MCPRestrictions{AllowedServers: items("docs"), AllowedTools: refs("github:*", "docs:*")}), tools{
		"docs:search": ir.Ask, "github:mystery": ir.Deny})

	both := func(can ir.Can, r ir.MCPRestrictions) *Subject {
		return modeWith(t, ir.Mode{Can: can, Restrictions: &r})
	}
	testTools(t, "what is left is what can.mcp says", both(ir.Can{MCP: mcp(with(entry("docs", deny("get_page")), otherwise(ir.Allow)))}, ir.MCPRestrictions{DisallowedTools: refs("docs:x")}), tools{
		"docs:search": ir.Allow, "docs:get_page": ir.Deny, "docs:x": ir.Deny, "github:mystery": ir.Deny})
	testTools(t, "else can.default", both(ir.Can{Default: def(ir.Allow)}, ir.MCPRestrictions{DisallowedServers: items("docs")}), tools{
		"docs:search": ir.Deny, "github:mystery": ir.Allow})
	r := limited(ir.MCPRestrictions{DisallowedServers: items("docs")}).Decide(Action{Group: ir.MCP, Server: "docs", Arg: "search"})
	if r.Rule != `disallowedServers "docs"` || r.Pos != at(300) {
		t.Errorf("got %q at %s, want the restriction and its place", r.Rule, r.Pos)
	}
	s := limited(ir.MCPRestrictions{AllowedTools: refs("docs:search"), DisallowedTools: refs("github:*")})
	want(t, s, Action{Group: ir.MCP, Server: "docs", Kind: Resource}, ir.Ask)
	want(t, s, Action{Group: ir.MCP, Server: "github", Kind: Resource}, ir.Deny)
}

// pairOf compiles a role in a mode.
func pairOf(t testing.TB, r ir.Role, m ir.Mode) *Subject {
	m.Slug, m.Pos, r.Name, r.Pos = "m", at(1), "r", at(2)
	p := &ir.Project{Servers: standard, Modes: []ir.Mode{m}, Roles: []ir.Role{r}}
	return mustSubject(t, p, ir.SubjectRef{Mode: "m", Role: "r"})
}

func TestRoleInMode(t *testing.T) {
	type row struct {
		name       string
		role, mode ir.Can
		a          Action
		d          ir.Decision
	}
	web := Action{Group: ir.Web, Arg: "a.org"}
	read := Action{Group: ir.Read, Arg: "a"}
	out := Action{Group: ir.Read, Arg: "/a"}
	line := Action{Group: ir.Command, Arg: "ls > a"}
	for _, r := range []row{
		{"the lower of two", ir.Can{Web: bare(ir.Allow)}, ir.Can{Web: bare(ir.Ask)}, web, ir.Ask},
		{"the other way round", ir.Can{Web: table(deny("a.org"))}, ir.Can{Web: bare(ir.Allow)}, web, ir.Deny},
		{"what the role does not mention is the mode's", ir.Can{}, ir.Can{Web: bare(ir.Allow)}, web, ir.Allow},
		{"what the mode does not mention is the role's", ir.Can{Web: bare(ir.Allow)}, ir.Can{}, web, ir.Allow},
		{"can.default covers a group", ir.Can{Default: def(ir.Deny)}, ir.Can{Web: bare(ir.Allow)}, web, ir.Deny},
		{"neither: the lower of the defaults", ir.Can{}, ir.Can{}, web, ir.Deny},
		{"permissionMode states nothing", ir.Can{}, ir.Can{Read: bare(ir.Ask)}, read, ir.Ask},
		{"outside, the ceiling of the side that states read", ir.Can{Read: bare(ir.Allow)}, ir.Can{}, out, ir.Ask},
		{"and a ceiling that is written", ir.Can{Read: bare(ir.Allow)}, ir.Can{OutsideRead: def(ir.Deny)}, out, ir.Deny},
		{"commands", ir.Can{Command: bare(ir.Ask)}, ir.Can{Command: bare(ir.Allow), Edit: bare(ir.Allow)}, line, ir.Ask},
		{"redirects are the pair's edits", ir.Can{Edit: table()}, ir.Can{Command: bare(ir.Allow), Edit: bare(ir.Deny)}, line, ir.Deny},
		{"unknown tools", ir.Can{Unknown: def(ir.Allow)}, ir.Can{}, Action{Group: ir.Unknown}, ir.Allow},
		{"of both", ir.Can{Unknown: def(ir.Allow)}, ir.Can{Unknown: def(ir.Ask)}, Action{Group: ir.Unknown}, ir.Ask},
		{"of neither", ir.Can{}, ir.Can{}, Action{Group: ir.Unknown}, ir.Deny},
	} {
		s := pairOf(t, ir.Role{Can: r.role}, ir.Mode{Can: r.mode})
		if got := s.Decide(r.a); got.Decision != r.d {
			t.Errorf("%s: got %s (%s), want %s", r.name, got.Decision, got.Rule, r.d)
		}
	}
	s := pairOf(t, ir.Role{Can: ir.Can{Read: bare(ir.Allow)}}, ir.Mode{Can: ir.Can{OutsideRead: def(ir.Deny)}})
	if got := s.Outside(ir.Read); got.Decision != ir.Deny {
		t.Errorf("outside: got %s, want deny", got.Decision)
	}
}

func TestRoleInModeOpensServers(t *testing.T) {
	opens := ir.Can{MCP: mcp(entry("admin", allow("list_*")))}
	asks := ir.Can{MCP: mcp(with(entry("admin"), otherwise(ir.Ask)))}
	others := ir.Can{MCP: &ir.MCPTable{Default: def(ir.Allow)}}
	refuses := ir.Can{MCP: &ir.MCPTable{Default: def(ir.Allow), Entries: []ir.MCPEntry{entry("admin", deny("!"))}}}
	stars := ir.Can{MCP: mcp(entry("*", deny("list_*")))}
	for _, r := range []struct {
		name       string
		role, mode ir.Can
		d          ir.Decision
	}{
		{"the mode names it", others, opens, ir.Allow},
		{"the role names it", opens, others, ir.Allow},
		{"both: the lower", asks, opens, ir.Ask},
		{"neither", others, others, ir.Deny},
		{"an explicit deny wins", refuses, opens, ir.Deny},
		{"on either side", opens, refuses, ir.Deny},
		{"a deny over every server is explicit", stars, opens, ir.Deny},
		{"the other says nothing of mcp", ir.Can{}, opens, ir.Allow},
	} {
		s := pairOf(t, ir.Role{Can: r.role}, ir.Mode{Can: r.mode})
		testTools(t, r.name, s, tools{"admin:list_users": r.d})
	}
	s := pairOf(t, ir.Role{Can: opens}, ir.Mode{Restrictions: &ir.MCPRestrictions{DisallowedServers: items("admin")}})
	testTools(t, "a restriction is explicit", s, tools{"admin:list_users": ir.Deny})
}

func TestModesOfARole(t *testing.T) {
	enter := func(s *Subject, slug string) ir.Decision {
		return s.Decide(Action{Group: ir.Modes, Arg: slug}).Decision
	}
	none, one := []string{}, []string{"ask", "code"}
	for _, r := range []struct {
		name      string
		role      ir.Role
		ask, code ir.Decision
		other     ir.Decision
	}{
		{"omitted: the agent's", ir.Role{}, ir.Agent, ir.Agent, ir.Agent},
		{"empty: none", ir.Role{Modes: &none}, ir.Deny, ir.Deny, ir.Deny},
		{"listed", ir.Role{Modes: &one}, ir.Allow, ir.Allow, ir.Deny},
		{"can.modes says less of a listed one", ir.Role{Modes: &one, Can: ir.Can{Modes: table(ask("ask"), deny("code"))}}, ir.Ask, ir.Deny, ir.Deny},
		{"and never more", ir.Role{Modes: &one, Can: ir.Can{Modes: withDefault(table(allow("*")), ir.Allow)}}, ir.Allow, ir.Allow, ir.Deny},
		{"an ask for every mode", ir.Role{Modes: &one, Can: ir.Can{Modes: table(ask("*"))}}, ir.Ask, ir.Ask, ir.Deny},
		{"can.modes alone", ir.Role{Can: ir.Can{Modes: table(allow("ask"))}}, ir.Allow, ir.Agent, ir.Agent},
	} {
		s := role(t, r.role)
		if a, c, o := enter(s, "ask"), enter(s, "code"), enter(s, "x"); a != r.ask || c != r.code || o != r.other {
			t.Errorf("%s: got ask %s, code %s, other %s, want %s, %s, %s", r.name, a, c, o, r.ask, r.code, r.other)
		}
	}
	s := pairOf(t, ir.Role{}, ir.Mode{Can: ir.Can{Modes: table(deny("code"), allow("*"))}})
	if got := enter(s, "code"); got != ir.Deny {
		t.Errorf("role without a list in a mode: got %s, want the mode's deny", got)
	}
}

func TestPerson(t *testing.T) {
	p := &ir.Project{Roles: []ir.Role{
		{Name: "admin", Claims: map[string][]string{"roles": {"admin"}, "mfa": {"yes"}}, Can: ir.Can{Web: bare(ir.Allow)}},
		{Name: "lead", Claims: map[string][]string{"roles": {"dev", "lead"}}, Can: ir.Can{Web: bare(ir.Ask)}},
		{Name: "nobody", Can: ir.Can{Web: bare(ir.Allow)}},
		{Name: "reader", Claims: map[string][]string{"roles": {"lead", "reader"}}, Can: ir.Can{Web: table(deny("*"))}},
	}}
	e := New(p)
	for _, r := range []struct {
		name   string
		claims map[string][]string
		held   string
		d      ir.Decision
	}{
		{"no claim", nil, "", ir.Deny},
		{"one role", map[string][]string{"roles": {"reader"}}, "reader", ir.Deny},
		{"the highest of two", map[string][]string{"roles": {"lead"}}, "lead reader", ir.Ask},
		{"every claim of a role must fit", map[string][]string{"roles": {"admin"}}, "", ir.Deny},
		{"both do", map[string][]string{"roles": {"x", "admin"}, "mfa": {"yes"}}, "admin", ir.Allow},
	} {
		got, held, err := e.Person(r.claims, Action{Group: ir.Web, Arg: "a.org"})
		if err != nil || got.Decision != r.d || strings.Join(held, " ") != r.held {
			t.Errorf("%s: got %s by %v (%v), want %s by %s", r.name, got.Decision, held, err, r.d, r.held)
		}
	}
	p.Roles[3].Can.Web = table(deny("a b"))
	if _, _, err := New(p).Person(map[string][]string{"roles": {"reader"}}, Action{Group: ir.Web}); err == nil {
		t.Error("a role that does not compile: got no error, want one")
	}
}

func TestCheckToolGlob(t *testing.T) {
	for text, want := range map[string]string{
		"list_*": "", "a.b-c?": "",
		"": `got "", want a tool name, "*" and "?" allowed`, "@rd": `got "@rd", want one of "@read", "@write", "@destructive"`,
		"a b":   `got "a b", want a tool name without " ": letters, digits, _ . - and the wildcards * ?`,
		"a{b}é": `got "a{b}é", want a tool name without "{": letters, digits, _ . - and the wildcards * ?`,
	} {
		got := ""
		if err := CheckToolGlob(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

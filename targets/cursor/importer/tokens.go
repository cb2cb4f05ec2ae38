package importer

import (
	"maps"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

const cliSubject = "role " + cliRole

// tokensFile reads the CLI's tokens. Of a project's file only permissions counts.
func (im *importer) tokensFile(d document) {
	v := im.parse(d, object(located.JSON), "Cursor's CLI")
	if v == nil {
		return
	}
	r := im.role(cliRole, diag.Pos{File: d.name, Line: 1, Col: 1})
	for _, m := range v.Members {
		switch {
		case m.Key == "permissions", m.Key == "version", m.Key == "$schema":
		case path.Base(d.name) != format.ConfigFile:
			im.out.Note(contract.Left, m.Pos, cliSubject, m.Key, "of a project's file the CLI takes permissions only")
		case m.Key == "approvalMode":
			im.approvalMode(r, m)
		default:
			im.out.Note(contract.Left, m.Pos, cliSubject, m.Key, "no permission of a role")
		}
	}
	im.readTokens(v, "allow", ir.Allow)
	im.readTokens(v, "deny", ir.Deny)
}

// approvalMode reads the run mode of the user's own configuration.
func (im *importer) approvalMode(r *ir.Role, m located.Member) {
	mode, _ := m.Value.Str()
	what := "approvalMode " + mode
	switch mode {
	case "auto-review":
		im.out.NoteRule(contract.NeedsDecision, m.Pos, cliSubject, what,
			"a classifier approves what no list contains: it is left to the agent")
		return
	case "unrestricted":
		unrestricted(r, m.Pos)
	}
	im.out.NoteRule(contract.Understood, m.Pos, cliSubject, what, "")
}

// cliToken is a token of the CLI's files.
type cliToken struct {
	entry
	format.Token
}

// readTokens reads one of the lists.
func (im *importer) readTokens(v *located.Value, key string, d ir.Decision) {
	for _, item := range v.Get("permissions").Get(key).List() {
		text, ok := item.Str()
		t, read := format.ParseToken(text, item.Pos)
		if !ok || !read {
			im.out.NoteRule(contract.Left, item.Pos, cliSubject, key+" "+text, "Cursor matches nothing by it")
			continue
		}
		im.tokens = append(im.tokens, cliToken{entry{text, d, item, key}, t})
	}
}

// addTokens imports what was read. A token stays as it is written where the source would say more or
// less by it, and beside a deny of its kind: the CLI alone goes by that, and in can it would hold in the
// IDE too, by a hook. The run mode unrestricted is no token: there can says everything.
func (im *importer) addTokens(r *ir.Role) {
	stays := func(t cliToken) bool {
		return slices.ContainsFunc(im.src.Own, func(n ir.NativeRule) bool { return n.Text == t.text })
	}
	if !im.neutral && r.PermissionMode == "" {
		denied := map[format.Keyword]bool{}
		for _, t := range im.tokens {
			denied[t.Keyword] = denied[t.Keyword] || t.decision == ir.Deny
		}
		stays = func(t cliToken) bool { return denied[t.Keyword] || !im.exact(t) }
	}
	for _, t := range im.tokens {
		if !stays(t) {
			im.add(r, t.entry, func(r *ir.Role, _ string, d ir.Decision, at diag.Pos) string {
				return im.token(r, t.Token, d, at)
			})
			continue
		}
		if t.item.Comment != "" {
			im.out.Comments[t.item.Pos] = t.item.Comment
		}
		r.Native = append(r.Native, ir.NativeRule{
			Target: "cursor", Decision: t.decision, Text: t.text, Pos: t.item.Pos, Own: true})
		why := "it stays as it is written, for Cursor alone"
		if t.decision == ir.Deny && nowhere(t.Token) {
			why += "; and it refuses nothing: Cursor compares whole paths, which begin with \"/\": write " +
				string(t.Keyword) + "(**/" + strings.TrimPrefix(t.Inside, "./") + ")"
		}
		im.out.NoteRule(contract.Kept, t.item.Pos, "role "+r.Name, t.list+" "+t.text, why)
	}
}

// nowhere reports whether a token is about paths and matches none: the engine (@cursor/sdk 1.0.32) compares absolute
// paths with it.
func nowhere(t format.Token) bool {
	if t.Keyword != format.Read && t.Keyword != format.Write {
		return false
	}
	return !wholePath().MatchString(t.Inside)
}

var wholePath = lazy.Regexp(`\A(?:[/*]|~(?:/|\z)|[A-Za-z]:|\\\\|file://)`)

// exact reports whether what the source says of an allow becomes this token again, and no more than it.
func (im *importer) exact(t cliToken) bool {
	if t.text != string(t.Keyword)+"("+t.Inside+")" {
		return false
	}
	switch t.Keyword {
	case format.Shell:
		return t.Inside == "*" || prefix().MatchString(t.Inside) && im.runs(t.Inside)
	case format.MCP:
		server, tool, _ := strings.Cut(t.Inside, ":")
		named := func(s *ir.Server) bool { return strings.EqualFold(s.Name, server) && s.Name != server }
		return contract.ServerName(server) && (tool == "*" || contract.ToolName(tool)) &&
			!slices.ContainsFunc(slices.Collect(maps.Values(im.servers)), named)
	case format.WebFetch:
		return t.Inside == "*" || host().MatchString(t.Inside) && policy.CheckHost(t.Inside) == nil
	}
	return false // an allow of a path: the workspace needs none
}

var (
	prefix = lazy.Regexp(`\A[\w][\w./=,-]*( [\w./=,-]+)*\z`) // a command's first words
	host   = lazy.Regexp(`\A[a-z0-9.-]*[a-z0-9]\z`)
)

// runs reports whether the source allows what Cursor does by first words of a command.
func (im *importer) runs(words string) bool {
	role := ir.Role{Name: cliRole, Can: ir.Can{Command: &ir.Table{Rules: []ir.Rule{
		{Decision: ir.Allow, Pattern: ir.Pattern{Text: words + " *"}},
	}}}}
	s, err := policy.New(&ir.Project{Version: ir.Version, Roles: []ir.Role{role}}).Subject(ir.SubjectRef{Role: cliRole})
	probes := []string{"", " modec-probe", " sh", " > /dev/null"}
	return err == nil && !slices.ContainsFunc(probes, func(more string) bool {
		return s.Decide(policy.Action{Group: ir.Command, Arg: words + more}).Decision != ir.Allow
	})
}

// token adds a token of the CLI.
func (im *importer) token(r *ir.Role, t format.Token, d ir.Decision, at diag.Pos) (why string) {
	switch t.Keyword {
	case format.Shell:
		return im.command(r, t.Inside, d, at)
	case format.MCP:
		return im.tool(r, t.Inside, d, at)
	case format.WebFetch:
		return im.hosts(r, t.Inside, d, at)
	}
	if d == ir.Deny { // an allow says nothing: the workspace needs none, and what lies outside stays as it is
		im.files(r, t)
	}
	return ""
}

// hosts adds the inside of a WebFetch token. A host and what lies below it are two
// patterns of the source.
func (im *importer) hosts(r *ir.Role, text string, d ir.Decision, at diag.Pos) (why string) {
	text = format.Host(text)
	list := []string{text}
	if apex, ok := strings.CutPrefix(text, "*."); ok {
		list = []string{apex, text}
	}
	bad := slices.ContainsFunc(list, func(p string) bool { return policy.CheckHost(p) != nil })
	switch {
	case d == ir.Deny && bad: // the engine asks about a denied host
		im.out.Note(contract.NeedsDecision, at, "role "+r.Name, "WebFetch("+text+")",
			"the source cannot write this host: every host is asked about")
		list = []string{"*"}
	case bad:
		return "the source cannot write this host"
	case d == ir.Allow && (strings.HasSuffix(text, ".") || strings.ContainsFunc(text, notASCII)):
		return "Cursor compares hosts in ASCII (xn--…) and without a last dot: it matches nothing"
	}
	if d == ir.Deny {
		d = ir.Ask // the token takes the host out of what is allowed, no more
	}
	for _, p := range list {
		r.Can.Web.Rules = append(r.Can.Web.Rules, ir.Rule{Decision: d, Pattern: ir.Pattern{Text: p}, Pos: at})
	}
	return ""
}

// notASCII reports whether a character is not printable ASCII.
func notASCII(c rune) bool { return c > '~' }

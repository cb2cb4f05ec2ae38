package importer

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
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
	im.allow = append(im.allow, im.tokens(r, v, "allow", ir.Allow)...)
	im.deny = append(im.deny, im.tokens(r, v, "deny", ir.Deny)...)
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

// tokens imports one of the lists and returns its tokens as they are written.
func (im *importer) tokens(r *ir.Role, v *located.Value, key string, d ir.Decision) (texts []string) {
	for _, item := range v.Get("permissions").Get(key).List() {
		text, ok := item.Str()
		t, read := format.ParseToken(text, item.Pos)
		if !ok || !read {
			im.out.NoteRule(contract.Left, item.Pos, cliSubject, key+" "+text, "Cursor matches nothing by it")
			continue
		}
		texts = append(texts, text)
		im.add(r, entry{text, d, item, key}, func(r *ir.Role, _ string, d ir.Decision, at diag.Pos) string {
			return im.token(r, t, d, at)
		})
	}
	return texts
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

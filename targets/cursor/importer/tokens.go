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

// addTokens imports what was read. A token stays as it is written where [importer.stays] says why. The run mode
// unrestricted is no token: there can says everything.
func (im *importer) addTokens(r *ir.Role) {
	for _, t := range im.tokens {
		why := ""
		if r.PermissionMode == "" || im.neutral {
			why = im.stays(t)
		}
		if why == "" {
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
		if t.decision == ir.Deny {
			why += refusesNothing(t.Token)
		}
		im.out.NoteRule(contract.Kept, t.item.Pos, "role "+r.Name, t.list+" "+t.text, why)
	}
	r.Targets = im.out.Keep("cursor", contract.DeniesAny(r.Native), r.Pos, "role "+r.Name)
}

// keptAlone begins what is said of a token that stays as it is written.
const keptAlone = "it stays as it is written, for Cursor alone: "

// stays says why a token stays as it is written, for Cursor alone; "" where it does not. In what modec wrote only
// those do that the source has so, a deny beside another one that does, and an allow of which such a deny takes
// something away.
func (im *importer) stays(t cliToken) string {
	own := func(text string) bool {
		return slices.ContainsFunc(im.src.Own, func(n ir.NativeRule) bool { return n.Text == text })
	}
	if im.neutral && own(t.text) {
		return keptAlone + "the source has it so"
	}
	if t.decision == ir.Deny {
		denies := func(n ir.NativeRule) bool { return n.Decision == ir.Deny }
		if im.neutral && !slices.ContainsFunc(im.src.Own, denies) {
			return ""
		}
		return keptAlone + "its CLI goes by it, and said in can a hook would refuse it in the editor too"
	}
	for _, d := range im.tokens {
		if d.decision == ir.Deny && (!im.neutral || own(d.text)) && d.takesFrom(t) {
			return keptAlone + "so does deny " + d.text + ", which takes something away from it"
		}
	}
	switch {
	case im.neutral || im.exact(t):
		return ""
	case t.Keyword == format.Read || t.Keyword == format.Write:
		return keptAlone + "it asks about no path of the workspace, and no rule of can says what lies outside"
	}
	return keptAlone + "said in can it would allow more or less than it does"
}

// takesFrom reports whether a deny may be about something that an allow is about too.
func (t cliToken) takesFrom(allow cliToken) bool {
	if t.Keyword != allow.Keyword {
		return false
	}
	if t.Keyword == format.WebFetch {
		return true
	}
	start := func(t cliToken) string {
		text, _, _ := strings.Cut(format.Fold(t.Inside), "*")
		if t.Keyword == format.Shell { // in COMMAND:ARGS a command may have arguments that are left out
			text, _, _ = strings.Cut(text, ":")
		}
		return text
	}
	a, b := start(t), start(allow)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// refusesNothing says that a deny refuses nothing of what it seems to be about, and what to write; "" where it does
// (@cursor/sdk 1.0.32).
func refusesNothing(t format.Token) string {
	switch t.Keyword {
	case format.Read, format.Write:
		if !wholePath().MatchString(t.Inside) {
			return "; and it refuses nothing: Cursor compares whole paths, which begin with \"/\": write " +
				string(t.Keyword) + "(**/" + strings.TrimPrefix(t.Inside, "./") + ")"
		}
	case format.Shell:
		command, args, pair := strings.Cut(t.Inside, ":")
		name, more, several := strings.Cut(format.Trim(command), " ")
		if !pair || !several {
			return ""
		}
		is := name + " " + more
		if strings.Trim(args, "*") != "" {
			is = name + ":" + more + " " + args
		}
		return "; and it refuses nothing that has arguments: Cursor compares what stands before \":\" with the first " +
			"word of a command: write Shell(" + is + ")"
	}
	return ""
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

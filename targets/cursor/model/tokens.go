package model

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/targets/cursor/format"
)

// token is a token as the engine's permissions service matches it (@cursor/sdk 1.0.32:
// Nv, matchesShell, matchesPathEntry, matchesMcpPattern, matchesWebFetchEntry).
type token struct {
	format.Token
	whole glob

	pair          bool // there is a `:`
	first, second glob // Shell(command:args), Mcp(server:tool)
	written       glob // the tool of Mcp(server:tool) in its own case
	// anyFirst and anySecond are set where a segment of Mcp is `*`.
	anyFirst, anySecond bool

	host hostEntry
}

// newToken prepares a token to be matched as the engine was observed to.
func newToken(t format.Token) token { return tokenOf(t, newGlob) }

// newAllowToken prepares one that allows, which matches what any reading does.
func newAllowToken(t format.Token) token { return tokenOf(t, newAllowGlob) }

func tokenOf(t format.Token, newGlob func(string) glob) token {
	first, second, pair := strings.Cut(t.Inside, ":")
	out := token{Token: t, pair: pair}
	switch t.Keyword {
	case format.Shell:
		out.whole, out.first, out.second = newGlob(t.Inside), newGlob(first), newGlob(second)
	case format.Read, format.Write:
		out.whole = newGlob(expandTilde(t.Inside))
	case format.MCP:
		first, second = format.Fold(first), format.Fold(second)
		out.first, out.second = newGlob(first), newGlob(second)
		out.anyFirst, out.anySecond = first == "*", second == "*"
		_, tool, _ := strings.Cut(t.Inside, ":")
		out.written = newGlob(tool)
	case format.WebFetch:
		out.host = newHostEntry(t.Inside)
	}
	return out
}

func (t *token) matchesShell(command string) bool {
	return t.matchesPair(command) || t.matchesName(command)
}

// matchesPair matches command:args.
func (t *token) matchesPair(command string) bool {
	command = format.Trim(command)
	base, rest, _ := strings.Cut(command, " ")
	return t.pair && (t.first.match(base) || t.first.match(command)) && t.second.match(format.Trim(rest))
}

// matchesName matches a command by its name, with any arguments, or as it is written.
func (t *token) matchesName(command string) bool {
	command = format.Trim(command)
	base, _, _ := strings.Cut(command, " ")
	return t.whole.match(command) || strings.HasPrefix(command, t.Inside+" ") || t.whole.match(base) || base == t.Inside
}

// means reports whether a token was written for a command: one of command:args for no program that
// has a colon in its name.
func (t *token) means(command string) bool {
	if t.pair {
		return t.matchesPair(command)
	}
	return t.matchesName(command)
}

// misses says why a token refuses nothing of what it seems to be about; "" where it does.
func (t *token) misses() string {
	command, _, pair := strings.Cut(t.Inside, ":")
	switch {
	case t.Keyword == format.Shell && pair && strings.Contains(format.Trim(command), " "):
		return "the engine compares what stands before \":\" with the first word of a command"
	case t.Keyword != format.Read && t.Keyword != format.Write:
	case !strings.ContainsAny(t.Inside[:min(1, len(t.Inside))], "/*~"):
		return "the engine compares whole paths, which begin with \"/\""
	}
	return ""
}

func (t *token) matchesMCP(server, tool string) bool {
	if i := strings.LastIndex(server, "::mcpScope:"); i >= 0 {
		server = server[:i]
	}
	return t.pair && (t.anyFirst || t.first.match(format.Fold(server))) &&
		(t.anySecond || t.second.match(format.Fold(tool)))
}

func expandTilde(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		return home + p[1:]
	}
	return p
}

// absolute returns the path that the engine compares (path-utils: file:// and ~ are
// resolved, the rest starts at the workspace; links are not known here).
func absolute(p string) string {
	p = strings.TrimPrefix(p, "file://")
	if p == "~" || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, `~\`) {
		p = home + p[1:]
	}
	if !path.IsAbs(p) {
		p = root + "/" + p
	}
	return path.Clean(p)
}

func inside(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// tokensFile contains the two lists of a cli.json.
type tokensFile struct {
	file        string
	allow, deny []token

	shellAllow, shellDeny []token           // those of them for commands
	meaning               *policy.Subject   // what a person means by the tokens that deny
	hide                  *strings.Replacer // of the patterns of meaning; nil: nothing is to be hidden
}

// readTokens reads the cli.json of a folder: strict JSON, of which only permissions
// counts.
func (r *reader) readTokens(dir string) *tokensFile {
	name, data, ok := r.file(dir, format.TokensFile)
	if !ok {
		return nil
	}
	v, err := located.JSON(name, data)
	if err != nil {
		r.ignored(diag.Pos{File: name}, "Cursor cannot read this file, and goes by the user's own: %v", err)
		r.diags[len(r.diags)-1].Unloaded = true
		return nil
	}
	t := tokensFile{file: name, allow: r.tokens(v, "allow"), deny: r.tokens(v, "deny")}
	t.shellAllow, t.shellDeny = shellTokens(t.allow), shellTokens(t.deny)
	t.meaning, t.hide = meaning(t.deny), hiding(t.deny)
	return &t
}

// hiding returns what puts a token as it may be shown in the place of the pattern that is made of it: a secret in a
// token is found by the form of the token, and not by that of the pattern. It is nil where no token has a secret.
func hiding(tokens []token) *strings.Replacer {
	var pairs []string
	for i := range tokens {
		shown := secret.Text(tokens[i].Inside)
		if _, pattern, ok := tokens[i].pattern(); ok && shown != tokens[i].Inside {
			pairs = append(pairs, pattern, shown)
		}
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

// meaning returns a policy that denies the commands and the paths that the tokens are written
// for; nil where they are not patterns of a policy.
func meaning(deny []token) *policy.Subject {
	var can ir.Can
	tables := map[format.Keyword]**ir.Table{
		format.Shell: &can.Command, format.Read: &can.Read, format.Write: &can.Edit,
	}
	for i := range deny {
		t := &deny[i]
		g, pattern, ok := t.pattern()
		table := tables[t.Keyword]
		rule := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: pattern}, Pos: t.At}
		if g != ir.Command && !strings.HasPrefix(pattern, "*") && !strings.Contains(pattern, "/") {
			rule.Pattern.Text = "/" + pattern // from the workspace's root
		}
		switch {
		case !ok, table == nil, g == ir.Command && policy.CheckCommand(pattern) != nil,
			g != ir.Command && (strings.HasPrefix(pattern, "/") || policy.CheckGlob(pattern) != nil):
			continue
		case strings.Trim(t.Inside, "*") == "":
			rule.Pattern = ir.Pattern{Kind: ir.All}
		}
		if *table == nil {
			*table = &ir.Table{Default: &ir.Default{Decision: ir.Allow}}
		}
		(*table).Rules = append((*table).Rules, rule)
	}
	p := &ir.Project{Version: ir.Version, Roles: []ir.Role{{Name: "tokens", Can: can}}}
	s, err := policy.New(p).Subject(ir.SubjectRef{Role: "tokens"})
	if err != nil {
		return nil
	}
	return s
}

// tokens reads one of the lists.
func (r *reader) tokens(v *located.Value, key string) []token {
	var out []token
	for _, item := range v.Get("permissions").Get(key).List() {
		text, ok := item.Str()
		t, read := format.ParseToken(text, item.Pos)
		switch {
		case ok && read:
		case key == "allow": // who wrote it is asked, and nothing is permitted that should not be
			r.diags.Notef(codeIgnored, item.Pos, "Cursor matches nothing by this %s token", key).Target("cursor")
			continue
		default:
			r.ignored(item.Pos, "Cursor matches nothing by this %s token", key)
			continue
		}
		if key == "allow" {
			out = append(out, newAllowToken(t))
			continue
		}
		out = append(out, newToken(t))
	}
	return out
}

func shellTokens(list []token) []token {
	return slices.DeleteFunc(slices.Clone(list), func(t token) bool { return t.Keyword != format.Shell })
}

// find returns the first token of a keyword that matches.
func find(list []token, keyword format.Keyword, matches func(*token) bool) *token {
	for i := range list {
		if list[i].Keyword == keyword && matches(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// decide returns what the tokens of a cli.json say of an action, in the run mode
// allowlist. Inside the workspace Cursor reads and writes a path that no token denies. What
// lies outside no token says: Cursor asks about it by itself.
func (t *tokensFile) decide(a policy.Action, id string, o settings) contract.Answer {
	if t == nil {
		return cli.byItself(a)
	}
	out := contract.Answer{At: diag.Pos{File: t.file}}
	switch a.Group {
	case ir.Read, ir.Edit:
		p := absolute(a.Arg)
		tok := t.denyOf(a.Group, func(tok *token) bool { return tok.whole.match(p) })
		if tok == nil && outside(a.Arg) {
			return cli.byItself(a)
		}
		out.Governs, out.Decision, out.Rule = contract.Access, ir.Allow, "no deny token"
		return decidedBy(out, tok, ir.Deny)
	case ir.Command:
		out.Governs = contract.Both
		out.Decision, out.Rule, out.At = shellDecision(t.shellDeny, t.shellAllow, a.Arg, t.file)
		return out
	case ir.Web:
		out.Governs, out.Decision, out.Rule = contract.Approval, ir.Ask, "no allow token"
		host := hostname(a.Arg)
		matches := func(tok *token) bool { return tok.host.match(host) }
		if tok := find(t.deny, format.WebFetch, matches); tok != nil {
			return decidedBy(out, tok, ir.Ask)
		}
		return decidedBy(out, find(t.allow, format.WebFetch, matches), ir.Allow)
	case ir.MCP:
		if a.Kind != policy.Tool { // no token is held against resources
			return contract.Answer{Decision: ir.Allow, Rule: "no token for resources and prompts", At: out.At}
		}
		out.Governs, out.Decision, out.Rule = contract.Both, ir.Ask, "no Mcp token"
		matches := func(tok *token) bool { return tok.matchesMCP(id, a.Arg) }
		if tok := find(t.deny, format.MCP, matches); tok != nil {
			return decidedBy(out, tok, ir.Deny)
		}
		if o.controlled { // the organisation's list takes the place of the allow tokens
			out.Rule = o.silences()
			return out
		}
		names := func(tok *token) bool { return matches(tok) && tok.names(a.Arg) }
		return decidedBy(out, cmp.Or(find(t.allow, format.MCP, names), find(t.allow, format.MCP, matches)), ir.Allow)
	}
	return contract.Answer{Decision: ir.Allow, Rule: "no token for this group", At: out.At}
}

// decidedBy returns the answer of a token; the one without it where there is none.
func decidedBy(without contract.Answer, t *token, d ir.Decision) contract.Answer {
	if t != nil {
		without.Decision, without.Rule, without.At = d, t.Text, t.At
	}
	return without
}

// denyOf returns the first deny token for a group of paths that matches.
func (t *tokensFile) denyOf(g ir.Group, matches func(*token) bool) *token {
	keyword := format.Read
	if g == ir.Edit {
		keyword = format.Write
	}
	return find(t.deny, keyword, matches)
}

// meant returns the refusal that deny tokens were written for, and why the engine may not
// refuse; "" where they were not.
func (t *tokensFile) meant(a policy.Action) (refusal contract.Answer, why string) {
	whys := map[ir.Group]string{
		ir.Read: "tokens are compared with case, as written, and not at all with a path that contains a line break",
		ir.Command: "the engine compares the simple commands of a line as they are written, and asks about a line in " +
			"which it finds none",
	}
	whys[ir.Edit] = whys[ir.Read]
	if t == nil || t.meaning == nil || whys[a.Group] == "" {
		return refusal, ""
	}
	r := t.meaning.Decide(a)
	if r.Decision != ir.Deny || a.Group != ir.Command && r.Pos.File == "" {
		return refusal, ""
	}
	if t.hide != nil {
		r.Rule = t.hide.Replace(r.Rule)
	}
	if i := slices.IndexFunc(t.deny, func(tok token) bool { return tok.At == r.Pos }); i >= 0 {
		whys[a.Group] = cmp.Or(t.deny[i].misses(), whys[a.Group])
	}
	return contract.Answer{Rule: r.Rule, At: diag.Pos{File: t.file, Line: r.Pos.Line, Col: r.Pos.Col}}, whys[a.Group]
}

// hostname returns the host of an address as the engine's URL reads it.
func hostname(arg string) string {
	host := format.Fold(arg)
	if i := lastColon(host); i >= 0 {
		host = host[:i]
	}
	profile := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false),
		idna.CheckHyphens(false))
	if ascii, err := profile.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// lastColon finds the colon before a port; -1 for a bare IPv6 address.
func lastColon(host string) int {
	at := -1
	for i := range len(host) {
		switch {
		case host[i] == ']':
			at = -1
		case host[i] != ':':
		case at >= 0 && host[0] != '[':
			return -1
		default:
			at = i
		}
	}
	return at
}

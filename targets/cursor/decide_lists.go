package cursor

import (
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
)

// permissionsFile is a permissions.json as the IDE takes it from the home
// folder.
type permissionsFile struct {
	file    string
	mode    RunMode
	modeAt  diag.Pos
	mcp     AutoRun
	entries []diag.Pos // of mcp.List
	globs   []token    // the MCP entries as the engine reads them
	shell   []token
	// hasMCP and hasShell are set where the file replaces the settings' list.
	hasMCP, hasShell bool
}

// readPermissions reads a permissions.json: JSON with comments, of which what
// is no text is dropped. A list that is empty without an approvalMode is the
// settings' own list in older builds.
func readPermissions(name string, data []byte) (*permissionsFile, diag.List) {
	v, err := located.JSONC(name, data)
	if err != nil {
		return nil, diag.List{ignored(diag.Pos{File: name}, "Cursor cannot read this file, and goes by its settings: "+err.Error())}
	}
	var diags diag.List
	f := &permissionsFile{file: name, mode: UseAllowlist}
	mode, pinned := v.Get("approvalMode").Str()
	switch m := RunMode(mode); m {
	case AskEveryTime, UseAllowlist, RunEverything:
		f.mode, f.modeAt = m, v.Get("approvalMode").Pos
	default:
		pinned = false
	}
	for _, item := range v.Get("mcpAllowlist").List() {
		text, ok := item.Str()
		if !ok {
			diags = append(diags, ignored(item.Pos, "Cursor drops an entry that is no text"))
			continue
		}
		if t, ok := newToken("Mcp("+text+")", item.Pos); ok {
			t.text = text
			f.globs = append(f.globs, t)
		}
		e, err := ParseEntry(text)
		if err != nil {
			diags = append(diags, ignored(item.Pos, "Cursor's settings match nothing by this entry, though its engine may: "+err.Error()))
			continue
		}
		f.mcp.List, f.entries = append(f.mcp.List, e), append(f.entries, item.Pos)
	}
	for _, item := range v.Get("terminalAllowlist").List() {
		text, ok := item.Str()
		if t, read := newToken("Shell("+text+")", item.Pos); ok && read {
			t.text = text
			f.shell = append(f.shell, t)
		} else {
			diags = append(diags, ignored(item.Pos, "Cursor drops an entry that is no text"))
		}
	}
	f.mcp.Mode = f.mode
	f.hasMCP = v.Get("mcpAllowlist").Is(located.List) && (pinned || len(v.Get("mcpAllowlist").Items) > 0) || f.mode == RunEverything
	f.hasShell = v.Get("terminalAllowlist").Is(located.List) && (pinned || len(v.Get("terminalAllowlist").Items) > 0) || f.mode == RunEverything
	return f, diags
}

func (f *permissionsFile) tool(id, tool string) contract.Answer {
	if f == nil || !f.hasMCP {
		return contract.Answer{Decision: ir.Allow, Rule: "the user's own list"}
	}
	a := contract.Answer{Decision: ir.Ask, Governs: contract.Approval, Rule: "no entry of mcpAllowlist", At: diag.Pos{File: f.file}}
	if ran := f.mcp.Decide(id, tool); ran.Alone && ran.Why == ByMode {
		a.Decision, a.Rule, a.At = ir.Allow, `"approvalMode": "`+string(f.mode)+`"`, f.modeAt
		return a
	}
	if i := f.mcp.List.Find(id, tool); i >= 0 && f.mcp.Decide(id, tool).Alone {
		a.Decision, a.Rule, a.At = ir.Allow, f.mcp.List[i].String(), f.entries[i]
		return a
	}
	// The engine reads the same entries as globs, and in every run mode.
	if t := find(f.globs, "Mcp", func(t *token) bool { return t.matchesMCP(id, tool) }); t != nil {
		a.Decision, a.Rule, a.At = ir.Allow, t.text, t.at
	}
	return a
}

func (f *permissionsFile) command(line string) contract.Answer {
	if f == nil || !f.hasShell {
		return contract.Answer{Decision: ir.Allow, Rule: "the user's own list"}
	}
	a := contract.Answer{Governs: contract.Approval}
	switch f.mode {
	case RunEverything:
		a.Decision, a.Rule, a.At = ir.Allow, `"approvalMode": "`+string(f.mode)+`"`, f.modeAt
		return a
	case AskEveryTime:
		a.Decision, a.Rule, a.At = ir.Ask, `"approvalMode": "`+string(f.mode)+`"`, f.modeAt
		return a
	}
	a.Decision, a.Rule, a.At = shellDecision(nil, f.shell, line, f.file)
	return a
}

// shellDecision is the engine's for a command line in the run mode allowlist
// without a sandbox (shouldBlockShellCommand): without any token everything is
// asked; a line in which nothing is recognised is asked; one denied command
// denies the line; all of them allowed, with harmless redirects, allow it.
func shellDecision(deny, allow []token, line, file string) (ir.Decision, string, diag.Pos) {
	l := splitShell(line)
	if len(l.commands) == 0 || len(deny)+len(allow) == 0 {
		return ir.Ask, "no entry for commands", diag.Pos{File: file}
	}
	var by *token
	all := l.redirects
	for _, c := range l.commands {
		matches := func(t *token) bool { return t.matchesShell(c) }
		if t := find(deny, "Shell", matches); t != nil && !l.doubtful {
			return ir.Deny, t.text, t.at
		}
		t := find(allow, "Shell", matches)
		if t == nil {
			all = false
		} else if by == nil {
			by = t
		}
	}
	if all {
		return ir.Allow, by.text, by.at
	}
	return ir.Ask, "no entry for this command", diag.Pos{File: file}
}

func only(list []token, keyword string) []token {
	var out []token
	for _, t := range list {
		if t.keyword == keyword {
			out = append(out, t)
		}
	}
	return out
}

// decide is what the tokens of a cli.json say of an action, in the run mode
// allowlist. A path is read and written without a question, inside the
// workspace and in temporary folders; where it would be asked is not the
// file's doing.
func (t *cliFile) decide(a policy.Action, id string) contract.Answer {
	if t == nil {
		return contract.Answer{Decision: ir.Allow, Rule: "the user's own tokens"}
	}
	out := contract.Answer{At: diag.Pos{File: t.file}}
	by := func(d ir.Decision, tok *token) {
		out.Decision, out.Rule, out.At = d, tok.text, tok.at
	}
	switch a.Group {
	case ir.Read, ir.Edit:
		out.Governs, out.Decision, out.Rule = contract.Access, ir.Allow, "no deny token"
		keyword := map[ir.Group]string{ir.Read: "Read", ir.Edit: "Write"}[a.Group]
		p := absolute(a.Arg)
		if tok := find(t.deny, keyword, func(tok *token) bool { return tok.whole.match(p) }); tok != nil {
			by(ir.Deny, tok)
		}
	case ir.Command:
		out.Governs = contract.Both
		out.Decision, out.Rule, out.At = shellDecision(t.shellDeny, t.shellAllow, a.Arg, t.file)
	case ir.Web:
		out.Governs, out.Decision, out.Rule = contract.Approval, ir.Ask, "no allow token"
		host := hostname(a.Arg)
		matches := func(tok *token) bool { return tok.host.match(host) }
		if tok := find(t.deny, "WebFetch", matches); tok != nil {
			by(ir.Ask, tok)
		} else if tok := find(t.allow, "WebFetch", matches); tok != nil {
			by(ir.Allow, tok)
		}
	case ir.MCP:
		if a.Kind != policy.Tool { // no token is held against resources
			return contract.Answer{Decision: ir.Allow, Rule: "no token for resources and prompts", At: out.At}
		}
		out.Governs, out.Decision, out.Rule = contract.Both, ir.Ask, "no Mcp token"
		matches := func(tok *token) bool { return tok.matchesMCP(id, a.Arg) }
		if tok := find(t.deny, "Mcp", matches); tok != nil {
			by(ir.Deny, tok)
		} else if tok := find(t.allow, "Mcp", matches); tok != nil {
			by(ir.Allow, tok)
		}
	default:
		return contract.Answer{Decision: ir.Allow, Rule: "no token for this group", At: out.At}
	}
	return out
}

// meant is what the deny tokens of a path or a command line are there for: it
// compares without case, line breaks and kinds of slash, and a line without a
// command as it stands. What the engine then lets pass goes past the token by
// its spelling alone.
func (t *cliFile) meant(a policy.Action) (*token, string) {
	if t == nil {
		return nil, ""
	}
	switch a.Group {
	case ir.Read, ir.Edit:
		keyword := map[ir.Group]string{ir.Read: "Read", ir.Edit: "Write"}[a.Group]
		p := spelling(absolute(strings.ReplaceAll(a.Arg, `\`, "/")))
		return find(t.deny, keyword, func(tok *token) bool { return tok.folded.match(p) }), "tokens are compared with case, as written, and not at all with a path that holds a line break"
	case ir.Command:
		if l := splitShell(a.Arg); len(l.commands) == 0 || l.doubtful {
			return find(t.shellDeny, "Shell", func(tok *token) bool { return tok.matchesShell(strings.Join(strings.Fields(a.Arg), " ")) }), "the engine asks about a line in which it finds no command, instead of comparing it"
		}
	}
	return nil, ""
}

func spelling(s string) string {
	return policy.Fold(strings.NewReplacer("\n", " ", "\r", " ", "\u2028", " ", "\u2029", " ").Replace(norm.NFC.String(s)))
}

// hostname is the host of an address as the engine's URL reads it.
func hostname(arg string) string {
	host := lowered(arg)
	if i := lastColon(host); i >= 0 {
		host = host[:i]
	}
	if ascii, err := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false)).ToASCII(host); err == nil {
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

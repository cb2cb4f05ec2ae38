package cursor

import (
	"path"
	"regexp"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// token is an entry of permissions.allow or permissions.deny, read as the
// engine's permissions service reads it (@cursor/sdk 1.0.32: Nv, matchesShell,
// matchesPathEntry, matchesMcpPattern, matchesWebFetchEntry).
type token struct {
	text    string
	at      diag.Pos
	keyword string // Shell, Read, Write, Mcp or WebFetch

	full       string // Shell: all that stands inside
	whole      glob
	folded     glob // Read, Write: without regard to spelling
	command    glob // Shell(command:args), Mcp(server:tool)
	args       glob
	pair       bool // there is a `:`
	host       hostEntry
	any1, any2 bool // Mcp: the segment is `*`
}

const space = `[\s\v\x{feff}\pZ]*`

var tokenShape = regexp.MustCompile(`\A` + space + `(Shell|Bash|Read|Write|Mcp|WebFetch)` + space + `\(([^\n\r\x{2028}\x{2029}]*)\)` + space + `\z`)

// newToken reads a token; false for a text that no matcher of the engine reads.
func newToken(text string, at diag.Pos) (token, bool) {
	m := tokenShape.FindStringSubmatch(text)
	if m == nil {
		return token{}, false
	}
	t := token{text: text, at: at, keyword: m[1], full: trimmed(m[2])}
	first, second, pair := strings.Cut(t.full, ":")
	t.pair = pair
	switch t.keyword {
	case "Shell", "Bash":
		t.keyword = "Shell"
		t.whole, t.command, t.args = newGlob(t.full), newGlob(first), newGlob(second)
	case "Read", "Write":
		t.whole, t.folded = newGlob(expandTilde(t.full)), newGlob(spelling(expandTilde(t.full)))
	case "Mcp":
		first, second = lowered(first), lowered(second)
		t.command, t.args, t.any1, t.any2 = newGlob(first), newGlob(second), first == "*", second == "*"
	case "WebFetch":
		t.host = newHostEntry(t.full)
	}
	return t, true
}

// home and root are where the decider places the person and the project. The
// artifacts name neither.
const (
	home = "/home/person"
	root = home + "/project"
)

func expandTilde(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		return home + p[1:]
	}
	return p
}

// absolute is the path that the engine compares (path-utils: file:// and ~ are
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

func (t *token) matchesShell(command string) bool {
	command = trimmed(command)
	base, _, _ := strings.Cut(command, " ")
	if t.pair {
		_, rest, _ := strings.Cut(command, " ")
		if (t.command.match(base) || t.command.match(command)) && t.args.match(trimmed(rest)) {
			return true
		}
	}
	return t.whole.match(command) || strings.HasPrefix(command, t.full+" ") || t.whole.match(base) || base == t.full
}

func (t *token) matchesMCP(server, tool string) bool {
	if i := strings.LastIndex(server, "::mcpScope:"); i >= 0 {
		server = server[:i]
	}
	return t.pair && (t.any1 || t.command.match(lowered(server))) && (t.any2 || t.args.match(lowered(tool)))
}

// cliFile holds the two lists of a cli.json.
type cliFile struct {
	file        string
	allow, deny []token

	shellAllow, shellDeny []token // those of them for commands
}

// readTokens reads a project's cli.json: strict JSON, of which only permissions
// counts.
func readTokens(name string, data []byte) (*cliFile, diag.List) {
	var diags diag.List
	v, err := located.JSON(name, data)
	if err != nil {
		diags = append(diags, ignored(diag.Pos{File: name}, "Cursor cannot read this file, and goes by the user's own: "+err.Error()))
		return nil, diags
	}
	t := cliFile{file: name}
	for key, list := range map[string]*[]token{"allow": &t.allow, "deny": &t.deny} {
		for _, item := range v.Get("permissions").Get(key).List() {
			text, ok := item.Str()
			tok, read := newToken(text, item.Pos)
			if !ok || !read {
				diags = append(diags, ignored(item.Pos, "Cursor matches nothing by this "+key+" token"))
				continue
			}
			*list = append(*list, tok)
		}
	}
	t.shellAllow, t.shellDeny = only(t.allow, "Shell"), only(t.deny, "Shell")
	return &t, diags
}

// ignored is a warning about what Cursor does not take from an artifact.
func ignored(at diag.Pos, message string) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Warning, Code: codeIgnored, Pos: at, Message: message, Target: "cursor",
		Hint: "`modec build` writes it anew"}
}

// find returns the first token of a keyword that holds.
func find(list []token, keyword string, holds func(*token) bool) *token {
	for i := range list {
		if list[i].keyword == keyword && holds(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

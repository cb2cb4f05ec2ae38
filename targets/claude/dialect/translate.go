// Package dialect translates Claude Code's rules into the neutral vocabulary.
//
// [Translate] is all of it. The rule lists of a source and the importer share it, so that a
// rule means the same in both.
package dialect

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format/rule"
)

// Translate turns a rule in a list of a decision into neutral ones. It reports false for a
// rule that the neutral vocabulary cannot express. A rule becomes neutral only where that
// means no more for an allow and no less for a deny or an ask. What each tool's content
// means was observed on Claude Code 2.1.329.
func Translate(r rule.Rule, d ir.Decision, inv contract.Inventory) ([]contract.NeutralRule, bool) {
	t := translation{inventory: inv, decision: d}
	ok := t.translate(r)
	return t.out, ok
}

// TranslateAnywhere is Translate for somebody who says beside it what becomes of paths outside the
// project: an allow of every file becomes neutral too.
func TranslateAnywhere(r rule.Rule, d ir.Decision, inv contract.Inventory) ([]contract.NeutralRule, bool) {
	t := translation{inventory: inv, decision: d, anywhere: true}
	ok := t.translate(r)
	return t.out, ok
}

type translation struct {
	inventory contract.Inventory
	decision  ir.Decision
	anywhere  bool // paths outside the project are somebody else's matter
	out       []contract.NeutralRule
}

func (t *translation) add(g ir.Group, p ir.Pattern) {
	t.out = append(t.out, contract.NeutralRule{Group: g, Pattern: p})
}

func (t *translation) addTool(server string, p ir.Pattern) {
	t.out = append(t.out, contract.NeutralRule{Group: ir.MCP, Server: server, Pattern: p})
}

// whole adds a rule for everything in a group. star is the pattern that says so in a list.
func (t *translation) whole(g ir.Group, star string) {
	if t.decision == ir.Deny {
		t.add(g, ir.Pattern{Kind: ir.All})
	} else {
		t.add(g, ir.Pattern{Text: star})
	}
}

func (t *translation) translate(r rule.Rule) bool {
	switch r.Tool {
	case "Bash":
		return t.command(r)
	case "Read", "Glob", "Grep":
		return t.file(ir.Read, r)
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return t.file(ir.Edit, r)
	case "WebFetch":
		return t.host(r)
	case "Agent", "Task":
		if r.HasSpec && t.inventory.Mode(r.Spec) {
			t.add(ir.Modes, ir.Pattern{Text: r.Spec})
			return true
		}
		return false
	}
	if name, ok := strings.CutPrefix(r.Tool, "mcp__"); ok {
		return t.mcp(name)
	}
	return false
}

func (t *translation) command(r rule.Rule) bool {
	if !r.HasSpec {
		t.whole(ir.Command, "*")
		return true
	}
	joined := strings.ContainsAny(r.Spec, "|;&\n")
	check := policy.CheckRestriction
	if t.decision == ir.Allow {
		check = policy.CheckCommand
	}
	switch {
	case joined, check(r.Spec) != nil:
		return false
	case strings.HasPrefix(strings.TrimSpace(r.Spec), "@"): // it begins the name of a list in the source
		return false
	case t.decision == ir.Allow && (!sameLines(r.Spec) || TakesPaths(r.Spec)):
		return false
	}
	t.add(ir.Command, ir.Pattern{Text: r.Spec})
	return true
}

// TakesPaths reports whether a pattern allows a program with paths at which Claude Code looks: outside
// the project it asks about them, whatever a rule allows.
func TakesPaths(spec string) bool {
	words := strings.FieldsFunc(spec, func(c rune) bool { return c == ' ' || c == ':' })
	if len(words) == 0 || words[0] == "*" {
		return false
	}
	leaves := func(word string) bool {
		return strings.ContainsAny(word, "*~") || strings.HasPrefix(word, "/") || strings.Contains(word, "..")
	}
	return slices.Contains(pathPrograms, words[0]) && slices.ContainsFunc(words, leaves)
}

// pathPrograms are those whose paths Claude Code looks at, as observed on 2.1.329.
var pathPrograms = strings.Fields("arch base64 cal cat cd cmp column comm cp cut df diff expand fd file find fmt " +
	"fold free grep groups head hexdump history hostname jq locale ls lsof md5sum mkdir mv netstat nl node nproc " +
	"od paste pgrep pwd python python3 rev rg rm rmdir sed sha1sum sha256sum sort ss stat strings tac tail touch " +
	"tput tsort uname uniq uptime wc whoami")

// AnyCommand reports whether a pattern matches whatever a wrapper runs: "timeout:*".
func AnyCommand(spec string) bool {
	program := strings.TrimRight(spec, " :*")
	return program != spec && policy.IsWrapper(program)
}

// sameLines reports whether the source allows the same lines by a pattern as Claude Code does.
// Claude Code compares a line as it is written, blanks and quotes included, but for the
// wrappers before the program. Beside another star, a last one stands for at least one word.
func sameLines(spec string) bool {
	words := strings.Fields(spec)
	body := strings.TrimSuffix(spec, "*")
	if strings.HasSuffix(body, " ") || strings.HasSuffix(body, ":") { // a wildcard for more words
		body = strings.TrimRight(body, " :")
	} else {
		body = ""
	}
	switch {
	case strings.Join(words, " ") != spec, strings.ContainsAny(spec, "'\"\\`$"):
		return false
	case strings.Trim(spec, "* ") == "" && spec != "*": // any line, and only a bare Bash is that
		return false
	case policy.IsWrapper(strings.TrimSuffix(words[0], ":*")):
		return false
	}
	return !strings.Contains(body, "*")
}

// file translates a rule over paths. Only a bare Read or Edit names its whole group: a bare
// Write leaves Edit alone.
func (t *translation) file(g ir.Group, r rule.Rule) bool {
	if !r.HasSpec {
		if r.Tool != "Read" && r.Tool != "Edit" || t.decision == ir.Allow && !t.anywhere {
			return false // an allow is about its own tool, and outside the project too
		}
		t.whole(g, "**")
		return true
	}
	glob, ok := fileGlob(r.Spec, t.decision)
	if ok {
		t.add(g, ir.Pattern{Text: glob})
	}
	return ok
}

// fileGlob turns a gitignore pattern of a Read or Edit rule into a glob. It reports false
// for a pattern outside the project, a negation, a comment, and what a glob would read in
// another way.
func fileGlob(spec string, d ir.Decision) (string, bool) {
	if strings.HasPrefix(spec, "//") || strings.IndexByte("~!#", spec[0]) >= 0 ||
		strings.ContainsAny(spec, `{}\`) || strings.TrimSpace(spec) != spec {
		return "", false
	}
	glob, here := strings.CutPrefix(spec, "./")
	if strings.HasPrefix(glob, "#") {
		return "", false
	}
	if dir, ok := strings.CutSuffix(glob, "/**"); ok && dir == "" || glob == "*" {
		glob = "**"
	} else if ok && d != ir.Allow { // what is in the folder, and not the folder itself
		if glob = dir + "/*"; !strings.Contains(dir, "/") {
			glob = "**/" + glob // observed: such a deny or ask holds at any depth
		}
	} else if here && d == ir.Allow && !strings.Contains(glob, "/") {
		glob = "/" + glob // ./ does not anchor (2.1.330): this is what its author means
	}
	return glob, policy.CheckGlob(glob) == nil
}

// AllowedFolder returns the content of a rule that allows what a glob matches, "" where
// Claude Code's pattern would mean more: it is a literal folder of the project and all below
// it.
func AllowedFolder(glob string) string {
	if glob == "**" || glob == "/**" {
		return "./**"
	}
	dir, ok := strings.CutSuffix(strings.TrimPrefix(glob, "/"), "/**")
	if !ok || strings.ContainsAny(dir, `*?[]{}\!# `) || strings.HasPrefix(dir, "~") || Above(dir) {
		return ""
	}
	return dir + "/**"
}

// Above reports whether a glob begins above the project. No rule is about that: Claude Code's
// patterns do not leave their folder.
func Above(glob string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(glob, "/"), "/")
	return first == ".."
}

// plainHost matches the hosts that have one spelling: names of ASCII letters, not addresses. Claude
// Code compares a host as it is written.
var plainHost = regexp.MustCompile(`\A(?:\*|(?:\*\.)?(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]*[A-Za-z][A-Za-z0-9-]*\.?)\z`)

// host translates a rule over hosts. A bare allow would cover WebSearch too.
func (t *translation) host(r rule.Rule) bool {
	if !r.HasSpec {
		if t.decision != ir.Deny {
			return false
		}
		t.whole(ir.Web, "*")
		return true
	}
	host, ok := strings.CutPrefix(r.Spec, "domain:")
	if !ok || policy.CheckHost(host) != nil || t.decision == ir.Allow && !plainHost.MatchString(host) {
		return false
	}
	t.add(ir.Web, ir.Pattern{Text: host})
	return true
}

// reading is a way to understand what follows mcp__: a server or a glob over
// servers, and a glob over its tools.
type reading struct{ server, tool string }

// mcp translates SERVER, SERVER__TOOL or a glob over both. Claude Code writes "_" for the
// characters that it does not take, so that two servers may share a name: an allow then
// names neither.
func (t *translation) mcp(name string) bool {
	var readings []reading
	var known []string
	for _, s := range t.inventory.Servers() {
		server := s.Name
		as := rule.Name(server)
		known = append(known, as)
		if name == as {
			readings = append(readings, reading{server, "*"})
		} else if tool, ok := strings.CutPrefix(name, as+"__"); ok {
			readings = append(readings, reading{server, tool})
		}
	}
	if len(readings) == 0 {
		server, _, _ := strings.Cut(name, "__")
		if !strings.Contains(server, "*") {
			return t.inventory.UnknownServer(server, known)
		}
		readings = t.globReadings(name)
	}
	if t.decision == ir.Allow && len(readings) > 1 || strings.Contains(name, "?") {
		return false
	}
	for _, x := range readings {
		if policy.CheckToolGlob(x.tool) != nil {
			return false
		}
	}
	for _, x := range readings {
		t.tools(x)
	}
	return true
}

// globReadings cuts a glob over SERVER__TOOL wherever the two underscores may be: written,
// or inside the text of a "*". Together the readings match what the glob matches.
func (t *translation) globReadings(name string) []reading {
	split := []reading{{name, "*"}}
	for i := range name {
		if name[i] == '*' {
			split = append(split, reading{name[:i+1], name[i:]})
		}
		if server, tool := name[:i], name[i:]; i > 0 && len(tool) > 2 && strings.HasPrefix(tool, "__") {
			split = append(split, reading{server, tool[2:]})
		}
	}
	var out []reading
	for _, x := range split {
		out = append(out, x)
		for _, sv := range t.inventory.Servers() { // whose names Claude Code writes in another way
			if s := sv.Name; policy.Wildcard(x.server, rule.Name(s)) && !policy.Wildcard(x.server, s) {
				out = append(out, reading{s, x.tool})
			}
		}
	}
	slices.SortFunc(out, func(a, b reading) int {
		return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.tool, b.tool))
	})
	return slices.Compact(out)
}

// tools adds a rule for the tools of a server. A tool whose name Claude Code writes in
// another way gets the name that it has in the inventory.
func (t *translation) tools(x reading) {
	if x.tool == "*" && t.decision == ir.Deny {
		t.addTool(x.server, ir.Pattern{Kind: ir.All})
		return
	}
	renamed := false
	for _, s := range t.inventory.Servers() {
		if !policy.Wildcard(x.server, s.Name) {
			continue
		}
		for i := range s.Tools {
			name := s.Tools[i].Name
			if policy.Wildcard(x.tool, rule.Name(name)) && !policy.Wildcard(x.tool, name) {
				t.addTool(s.Name, ir.Pattern{Text: name})
				renamed = true
			}
		}
	}
	if !renamed && !strings.Contains(x.server, "*") {
		t.inventory.Tool(x.server, x.tool)
	}
	if !renamed || strings.Contains(x.tool, "*") {
		t.addTool(x.server, ir.Pattern{Text: x.tool})
	}
}

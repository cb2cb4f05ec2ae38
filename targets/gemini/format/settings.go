package format

import (
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// Setting is what an item of the settings decides, by a text of one line: the setting's name, and the item.
//
//	tools.allowed run_shell_command(git status)   allow
//	tools.core read_file                          allow
//	tools.confirmationRequired web_fetch          ask
//	tools.exclude write_file                      deny
//	mcp.allowed docs, mcp.excluded docs           allow, deny
//	mcpServers.docs.trust                         allow
//	mcpServers.docs.excludeTools drop             deny
//
// What a list takes away beside its items is a deny with the list's name: "tools.core" of all that it does not
// list, "tools.allowed run_shell_command" of other commands, "mcp.allowed" of other servers.
type Setting struct {
	Text     string
	Decision ir.Decision
	At       diag.Pos
}

// The lists of settings, as a Setting names them.
const (
	Allowed  = "tools.allowed"
	Core     = "tools.core"
	Confirm  = "tools.confirmationRequired"
	Exclude  = "tools.exclude"
	Servers  = "mcp.allowed"
	NoServer = "mcp.excluded"

	serversPrefix = "mcpServers."
	trustSuffix   = ".trust"
	withoutInfix  = ".excludeTools "
)

// SettingLists are the lists and what an item of each decides, in the order in which they are written.
var SettingLists = []struct {
	Name     string
	Decision ir.Decision
}{
	{Servers, ir.Allow}, {NoServer, ir.Deny}, {Allowed, ir.Allow}, {Confirm, ir.Ask}, {Core, ir.Allow},
	{Exclude, ir.Deny},
}

// Tier is what the priorities of a tier of policies begin at: a thousand for each.
const (
	UserTier  = 4000
	AdminTier = 5000
)

// settingPriority is where rules from settings stand among policies (policy/config.js).
var settingPriority = map[string]int{NoServer: 4900, Exclude: 4400, Confirm: 4350, Allowed: 4300, Core: 4250,
	Servers: 4100}

const (
	trustPriority = 4200
	narrowed      = 10 // what a list takes away stands so far below it
	// notThere stands for a server, or a tool, that is not there, whatever any policy says.
	notThere = 5999
)

// SplitList returns where a list stands in the settings.
func SplitList(name string) (section, key string) {
	section, key, _ = strings.Cut(name, ".")
	return section, key
}

// ListOf returns the list in a document of settings, nil where it has none.
func ListOf(root *located.Value, name string) *located.Value {
	section, key := SplitList(name)
	return root.Get(section).Get(key)
}

// Limit returns what says that nothing but a list's items is there.
func Limit(text string) string {
	list, _, _ := ListItem(text)
	if list == Allowed {
		return list + " " + Shell
	}
	return list
}

// LimitMeaning says what a list takes away beside its items, as a Setting names it; "" for any other text.
func LimitMeaning(text string, d ir.Decision) string {
	list, item, ok := ListItem(text)
	switch {
	case !ok || d != ir.Deny:
	case list == Allowed && item == Shell:
		return Allowed + " lists a command, and Gemini CLI then refuses every command that it does not list"
	case list == Core && item == "":
		return "Gemini CLI refuses every tool that " + Core + " does not list"
	case list == Servers && item == "":
		return "Gemini CLI starts no server that " + Servers + " does not list"
	}
	return ""
}

// Narrows reports whether an item of tools.allowed takes away all other commands.
func Narrows(item string) bool {
	_, _, with := withLine(item)
	return with
}

// ReadSettings returns what settings decide, in the order in which they stand there.
func ReadSettings(root *located.Value) (out []Setting) {
	for _, l := range SettingLists {
		list := ListOf(root, l.Name)
		if !list.Is(located.List) {
			continue
		}
		shell := false
		for _, item := range list.Items {
			text, ok := item.Str()
			if !ok || text == "" { // no tool and no server has this name
				continue
			}
			out = append(out, Setting{l.Name + " " + text, l.Decision, item.Pos})
			shell = shell || Narrows(text)
		}
		switch {
		case l.Name == Core, l.Name == Servers:
			out = append(out, Setting{l.Name, ir.Deny, list.Pos})
		case l.Name == Allowed && shell:
			out = append(out, Setting{l.Name + " " + Shell, ir.Deny, list.Pos})
		}
	}
	for _, m := range root.Get("mcpServers").Fields() {
		if trust := m.Value.Get("trust"); trust.True() {
			out = append(out, Setting{TrustText(m.Key), ir.Allow, trust.Pos})
		}
		for _, item := range m.Value.Get("excludeTools").List() {
			if tool, ok := item.Str(); ok {
				out = append(out, Setting{WithoutText(m.Key, tool), ir.Deny, item.Pos})
			}
		}
	}
	return out
}

// TrustText is a Setting about a server whose tools need no question.
func TrustText(server string) string { return serversPrefix + server + trustSuffix }

// WithoutText is a Setting about a tool that a server's entry takes out.
func WithoutText(server, tool string) string { return serversPrefix + server + withoutInfix + tool }

// ListItem returns the list of a Setting's text and its item; false for one about a server's entry. What a list takes
// away has no item, or that of a tool.
func ListItem(text string) (list, item string, ok bool) {
	list, item, _ = strings.Cut(text, " ")
	_, ok = settingPriority[list]
	return list, item, ok
}

// Trusts returns the server of a Setting that trusts one.
func Trusts(text string) (server string, ok bool) {
	rest, ok := strings.CutPrefix(text, serversPrefix)
	server, trust := strings.CutSuffix(rest, trustSuffix)
	return server, ok && trust && server != ""
}

// Without returns the server and the tool of a Setting that takes one out.
func Without(text string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(text, serversPrefix)
	server, tool, found := strings.Cut(rest, withoutInfix)
	return server, tool, ok && found && server != "" && tool != ""
}

// ValidSetting reports whether a text decides so in the settings.
func ValidSetting(text string, d ir.Decision) bool {
	if _, ok := Trusts(text); ok {
		return d == ir.Allow
	}
	if _, _, ok := Without(text); ok {
		return d == ir.Deny
	}
	list, item, ok := ListItem(text)
	if !ok {
		return false
	}
	if d == ir.Deny && (item == "" && (list == Core || list == Servers) || list == Allowed && item == Shell) {
		return true
	}
	return item != "" && slices.ContainsFunc(SettingLists, func(l struct {
		Name     string
		Decision ir.Decision
	}) bool {
		return l.Name == list && l.Decision == d
	})
}

// SettingRules returns the rules that settings become. A rule says by which text.
func SettingRules(all []Setting) (out []Rule) {
	var servers []string
	for _, s := range all {
		if list, item, _ := ListItem(s.Text); list == Servers && item != "" {
			servers = append(servers, item)
		}
	}
	for _, s := range all {
		r := Rule{Decision: s.Decision, At: s.At, Text: s.Text}
		if server, ok := Trusts(s.Text); ok {
			r.Tools, r.Server, r.Priority = []string{Every}, server, trustPriority
		} else if server, tool, ok := Without(s.Text); ok {
			r.Tools, r.Server, r.Priority = []string{tool}, server, notThere
		} else {
			r.fromList(servers)
		}
		if r.Tools != nil {
			out = append(out, r)
		}
	}
	return out
}

// fromList fills in a rule from the item of a list by its text.
func (r *Rule) fromList(servers []string) {
	list, item, _ := ListItem(r.Text)
	r.Priority = settingPriority[list]
	switch {
	case list == Servers && item == "" && slices.Contains(servers, "*"):
	case list == Servers && item == "":
		r.Tools, r.Priority, r.But = []string{EveryMCP}, notThere, servers
	case (list == Servers || list == NoServer) && item == "*":
		r.Tools = []string{EveryMCP}
	case list == Servers || list == NoServer:
		r.Tools, r.Server = []string{Every}, item
	case list == Core && item == "":
		r.Tools, r.Priority = []string{Every}, r.Priority-narrowed
	case r.Decision == ir.Deny && list == Allowed:
		r.Tools, r.Priority = []string{Shell}, r.Priority-narrowed
	case list == Allowed || list == Core:
		tool, line, with := withLine(item)
		if with && line == "" {
			return // it allows nothing
		}
		if r.Tools = []string{tool}; with {
			r.Expr, r.Begins = prefixExpression(line), line
			r.Args, _ = ecma.Compile(r.Expr, ecma.Options{})
		}
	case list == Confirm:
		r.Tools = []string{named(item)}
	default:
		r.Tools = []string{item}
	}
}

var withArguments = regexp.MustCompile(`\A([a-zA-Z0-9_-]+)\((.*)\)\z`)

// withLine returns the tool of an item, and what begins its command line.
func withLine(item string) (tool, line string, with bool) {
	m := withArguments.FindStringSubmatch(item)
	if m == nil {
		return named(item), "", false
	}
	return named(m[1]), m[2], named(m[1]) == Shell
}

// named returns the name of a tool of which lists know another one.
func named(tool string) string {
	if tool == "ShellTool" {
		return Shell
	}
	return tool
}

var (
	bareRef    = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	defaultRef = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*):-([^}]*)\}`)
)

// SourceRefs returns a text with Gemini CLI's $VAR written as ${VAR}, as the source does.
func SourceRefs(s string) string { return bareRef.ReplaceAllString(s, "$${$1}") }

// DefaultRef returns a reference with a default in a text, which the source cannot write; "" for none.
func DefaultRef(s string) string { return defaultRef.FindString(s) }

// Package rule parses the permission rules of Claude Code:
//
//	Tool            the whole tool: Bash, Read, mcp__github__list_issues
//	Tool(content)   some of its calls: Bash(git log *), Read(src/**), WebFetch(domain:example.com)
//
// [Parse] reads one rule. The content ends at the closing parenthesis that ends the
// rule; parentheses inside it are literal. [Rule.Skipped] and [Rule.Inert] report what
// Claude Code makes of a rule that it can parse, and [Rule.Names] matches the rule's
// tool.
//
// The package promises that a rule which the agent would ignore never looks as if it
// held. Parse fails where Claude Code 2.1.329 skips a rule with a warning, and its
// errors repeat that warning.
package rule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Rule is a parsed rule.
type Rule struct {
	Tool    string // "Bash", "mcp__github__list_issues"
	Spec    string // the content of the parentheses
	HasSpec bool
}

// String returns the text that was parsed.
func (r Rule) String() string {
	if r.HasSpec {
		return r.Tool + "(" + r.Spec + ")"
	}
	return r.Tool
}

// MCP splits the tool of an MCP rule: mcp__server, mcp__server__tool. It reports
// false for any other tool.
func (r Rule) MCP() (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(r.Tool, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, _ = strings.Cut(rest, "__")
	return server, tool, true
}

var (
	errEmpty     = errors.New("permission rule cannot be empty")
	errMalformed = errors.New("malformed Tool(content) rule: rules take the form Tool or Tool(content) " +
		`and must end at the closing ")"; parentheses inside the content are literal`)
	errURL      = errors.New(`WebFetch permissions use domain format, not URLs, use "domain:hostname" format`)
	errPrefix   = errors.New("prefix cannot be empty before :*")
	errNoPrefix = errors.New(`the ":*" syntax is only for Bash prefix rules`)
	errWildcard = errors.New("a wildcard in a tool's name is not supported in allow rules")
)

// Parse reads one rule.
func Parse(text string) (Rule, error) {
	if strings.TrimSpace(text) == "" {
		return Rule{}, errEmpty
	}
	r := Rule{Tool: text}
	if i := strings.IndexByte(text, '('); i >= 0 {
		if !strings.HasSuffix(text, ")") {
			return Rule{}, errMalformed
		}
		r = Rule{Tool: text[:i], Spec: text[i+1 : len(text)-1], HasSpec: true}
		if r.Spec == "" {
			return Rule{}, fmt.Errorf("empty parentheses, either specify a pattern or use just %q without parentheses",
				r.Tool)
		}
	}
	if err := r.checkTool(); err != nil {
		return Rule{}, err
	}
	if err := r.checkSpec(); err != nil {
		return Rule{}, err
	}
	return r, nil
}

func (r Rule) checkTool() error {
	if r.Tool == "" || strings.ContainsAny(r.Tool, ") \t\r\n") {
		return errMalformed
	}
	if strings.HasPrefix(r.Tool, "mcp__") {
		if r.HasSpec {
			return fmt.Errorf("rules of MCP do not support patterns in parentheses, use %q", r.Tool)
		}
		return nil
	}
	switch c := r.Tool[0]; {
	case 'a' <= c && c <= 'z':
		return fmt.Errorf("tool names must start with uppercase, use %q", strings.ToUpper(r.Tool[:1])+r.Tool[1:])
	case c != '*' && (c < 'A' || 'Z' < c):
		return errMalformed
	}
	return nil
}

func (r Rule) checkSpec() error {
	switch r.Tool {
	case "WebFetch":
		if strings.Contains(r.Spec, "://") {
			return errURL
		}
	case "Bash":
		if r.Spec == ":*" {
			return errPrefix
		}
	case "Read", "Edit":
		if strings.HasSuffix(r.Spec, ":*") {
			return errNoPrefix
		}
	}
	return nil
}

// Skipped returns why Claude Code skips a rule in a list of a decision, nil for a rule
// that it keeps. In an allow rule a tool's name may contain "*" only after
// mcp__SERVER__.
func (r Rule) Skipped(list ir.Decision) error {
	if list != ir.Allow || !strings.Contains(r.Tool, "*") {
		return nil
	}
	if server, tool, mcp := r.MCP(); mcp && tool != "" && !strings.Contains(server, "*") {
		return nil
	}
	return errWildcard
}

// ErrInert is the reason for which a rule that Claude Code keeps has no effect.
var ErrInert = errors.New("it never matches a call")

// Inert reports whether Claude Code keeps a rule in a list of a decision and never
// matches it, as observed on 2.1.330: a path pattern that negates, an allow that is a comment, a
// host without "domain:", and the content of every tool that has no rules of its own.
// Write(x), NotebookEdit(x), MultiEdit(x) and Glob(x) are among these. PowerShell(x) is one of them
// on a system without PowerShell: an allow of it counts, what holds it back does not.
func (r Rule) Inert(list ir.Decision) bool {
	if !r.HasSpec {
		return false
	}
	switch r.Tool {
	case "Bash", "Agent", "Task", "Skill":
		return false
	case "Read", "Edit":
		_, ok := r.Path(list)
		return !ok
	case "WebFetch":
		return !strings.HasPrefix(r.Spec, "domain:")
	case "PowerShell":
		return list != ir.Allow
	}
	return true
}

// Anchor is the folder that a path pattern starts from.
type Anchor int

const (
	WorkDir Anchor = iota // the working directory: x, ./x, and .//x for no folder below it
	Folder                // that of the file in which the rule stands: /x
	Home                  // the user's: ~/x
	System                // the root of the file system: //x
)

// Path is the pattern of a Read or Edit rule.
type Path struct {
	From    Anchor
	Pattern string // in the grammar of .gitignore
}

// Path returns the pattern of a rule in a list of a decision. It reports false where
// the pattern matches nothing: it negates, is a comment, leads out of its folder, or has a class
// without members. A comment is one in allow only. `dir/**` with one segment holds at any depth
// in deny and ask, and only below the working directory in allow. Observed on 2.1.330.
func (r Rule) Path(list ir.Decision) (Path, bool) {
	spec, ok := r.Spec, !emptyClass(r.Spec)
	switch {
	case strings.HasPrefix(spec, "//"):
		return Path{System, spec[1:]}, ok
	case strings.HasPrefix(spec, "~/"):
		return Path{Home, spec[1:]}, ok
	case strings.HasPrefix(spec, "/"):
		return Path{Folder, spec}, ok
	}
	spec = strings.TrimPrefix(spec, "./")
	if slices.ContainsFunc(strings.Split(spec, "/"), leads) {
		return Path{WorkDir, spec}, false
	}
	if dir, ok := strings.CutSuffix(spec, "/**"); ok && list != ir.Allow && dir != "" && !strings.Contains(dir, "/") {
		spec = "**/" + spec
	}
	inert := strings.HasPrefix(spec, "!") || strings.HasPrefix(spec, "#") && list == ir.Allow
	return Path{WorkDir, spec}, ok && !inert && strings.TrimSpace(spec) != ""
}

// leads reports whether a part of a pattern leads elsewhere, which no path in a folder has.
func leads(part string) bool { return part == "." || part == ".." }

// classes finds the classes of a pattern, and what a backslash escapes.
var classes = regexp.MustCompile(`\\.|\[([!^]?)([^\]/]*)\]`)

// emptyClass reports whether a pattern has a class without members: [!], [z-a].
func emptyClass(pattern string) bool {
	return slices.ContainsFunc(classes.FindAllStringSubmatch(pattern, -1), func(m []string) bool {
		if m[1]+m[2] == "" { // escaped, or two brackets
			return false
		}
		_, err := regexp.Compile("[" + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(m[2]) + "]")
		return err != nil
	})
}

// Tools names tools: one by its name, several by a name with "*" for any text, or each
// tool of a server by mcp__SERVER.
type Tools struct {
	pieces []string // the name, cut at each *
	server string   // what the names of the server's tools begin with; "" for another name
}

// NewTools reads a name as it stands in a list of tools.
func NewTools(name string) Tools {
	t := Tools{pieces: strings.Split(name, "*")}
	if server, ok := strings.CutPrefix(name, "mcp__"); ok && len(t.pieces) == 1 && !strings.Contains(server, "__") {
		t.server = name + "__"
	}
	return t
}

// Names returns the tools that a rule without content is about. There mcp__SERVER__
// names the server too.
func (r Rule) Names() Tools {
	t := NewTools(r.Tool)
	if server, tool, mcp := r.MCP(); mcp && tool == "" && len(t.pieces) == 1 {
		t.server = "mcp__" + server + "__"
	}
	return t
}

// Text returns what stands between the "*" of the name, and what the other tools begin with that
// are named; "" where there are none.
func (t Tools) Text() (pieces []string, begin string) { return t.pieces, t.server }

// Has reports whether a tool is among those that are named.
func (t Tools) Has(tool string) bool {
	return Match(t.pieces, tool) || t.server != "" && strings.HasPrefix(tool, t.server)
}

// Match reports whether a text matches a pattern that was cut at its "*", each of which
// stands for any text.
func Match(pieces []string, text string) bool {
	last := len(pieces) - 1
	if last == 0 {
		return text == pieces[0]
	}
	rest, ok := strings.CutPrefix(text, pieces[0])
	if !ok {
		return false
	}
	for _, p := range pieces[1:last] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, pieces[last])
}

// Name returns the name of a server or a tool as it stands in mcp__SERVER__TOOL.
func Name(name string) string { return policy.AgentName(name) }

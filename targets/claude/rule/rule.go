// Package rule parses permission rules in Claude Code's own grammar:
//
//	Tool            the whole tool: Bash, Read, mcp__github__list_issues
//	Tool(content)   some of its calls: Bash(git log *), Read(src/**), WebFetch(domain:example.com)
//
// The content ends at the closing parenthesis that ends the rule; parentheses
// inside it are literal. What is refused here is what Claude Code 2.1.329
// skips with a warning, and the errors say it in its words: a rule that the agent
// would ignore must not look as if it held.
package rule

import (
	"errors"
	"fmt"
	"strings"
)

// Rule is a parsed rule.
type Rule struct {
	Tool    string // "Bash", "mcp__github__list_issues"
	Spec    string // the content of the parentheses
	HasSpec bool
}

// String writes the rule as it was parsed.
func (r Rule) String() string {
	if r.HasSpec {
		return r.Tool + "(" + r.Spec + ")"
	}
	return r.Tool
}

// MCP splits the tool of an MCP rule: mcp__server, mcp__server__tool. ok is
// false for any other tool.
func (r Rule) MCP() (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(r.Tool, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, _ = strings.Cut(rest, "__")
	return server, tool, true
}

const malformed = `malformed Tool(content) rule: rules take the form Tool or Tool(content) and must end at the closing ")"; parentheses inside the content are literal`

// Parse reads one rule.
func Parse(text string) (Rule, error) {
	if strings.TrimSpace(text) == "" {
		return Rule{}, errors.New("permission rule cannot be empty")
	}
	r := Rule{Tool: text}
	if i := strings.IndexByte(text, '('); i >= 0 {
		if !strings.HasSuffix(text, ")") {
			return Rule{}, errors.New(malformed)
		}
		r = Rule{Tool: text[:i], Spec: text[i+1 : len(text)-1], HasSpec: true}
		if r.Spec == "" {
			return Rule{}, fmt.Errorf("empty parentheses, either specify a pattern or use just %q without parentheses", r.Tool)
		}
	}
	mcp := strings.HasPrefix(r.Tool, "mcp__")
	switch {
	case r.Tool == "" || strings.ContainsAny(r.Tool, ") \t\r\n"):
		return Rule{}, errors.New(malformed)
	case mcp && r.HasSpec:
		return Rule{}, fmt.Errorf("rules of MCP do not support patterns in parentheses, use %q", r.Tool)
	case !mcp && r.Tool[0] >= 'a' && r.Tool[0] <= 'z':
		return Rule{}, fmt.Errorf("tool names must start with uppercase, use %q", strings.ToUpper(r.Tool[:1])+r.Tool[1:])
	case !mcp && r.Tool[0] != '*' && !(r.Tool[0] >= 'A' && r.Tool[0] <= 'Z'):
		return Rule{}, errors.New(malformed)
	case r.Tool == "WebFetch" && strings.Contains(r.Spec, "://"):
		return Rule{}, errors.New(`WebFetch permissions use domain format, not URLs, use "domain:hostname" format`)
	case r.Tool == "Bash" && r.Spec == ":*":
		return Rule{}, errors.New("prefix cannot be empty before :*")
	case (r.Tool == "Read" || r.Tool == "Edit") && strings.HasSuffix(r.Spec, ":*"):
		return Rule{}, errors.New(`the ":*" syntax is only for Bash prefix rules`)
	}
	return r, nil
}

// Name is a server's or a tool's name as Claude Code writes it in
// mcp__SERVER__TOOL: what is no letter, digit, "_" or "-" becomes "_".
func Name(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
}

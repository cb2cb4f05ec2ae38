package policy

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// ParseAction reads an action as a person types it: a group and its argument, which is
// SERVER:TOOL for mcp, a host or a URL for web and the tool's name for unknown.
func ParseAction(group, arg string) (Action, error) {
	g := ir.Group(group)
	if group == "browser" {
		g = ir.Web
	}
	if !slices.Contains(ir.Decided, g) {
		var names []string
		for _, g := range ir.Decided {
			names = append(names, string(g))
		}
		return Action{}, fmt.Errorf("got action %q, want one of %s", group, diag.Quote(names))
	}
	if g == ir.Web {
		return webAction(arg)
	}
	if g != ir.MCP {
		return Action{Group: g, Arg: arg}, nil
	}
	server, tool, ok := strings.Cut(arg, ":")
	if !ok || server == "" || tool == "" {
		return Action{}, fmt.Errorf("got %q, want SERVER:TOOL", arg)
	}
	return Action{Group: g, Server: server, Arg: tool}, nil
}

// webAction reads a host, or the host of a URL.
func webAction(arg string) (Action, error) {
	host := arg
	if strings.Contains(arg, "://") {
		u, err := url.Parse(arg)
		if err != nil {
			return Action{}, fmt.Errorf("got %q, want a host or a URL", arg)
		}
		host = u.Host
	}
	if _, ok := Host(host); !ok {
		return Action{}, fmt.Errorf("got %q, want a host or a URL", arg)
	}
	return Action{Group: ir.Web, Arg: host}, nil
}

package gateway

import (
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
)

// byArgs is a source in which the arguments of calls decide.
const byArgs = `{"servers": {"s": {"command": "s", "tools": {"a": {}, "b": {}, "c": {}, "d": {}}}},
	"roles": {"r": {"can": {"mcp": {"default": "deny", "s": {"default": "deny",
		"allow": ["b", {"tool": "a", "args": {"repo": "acme/*"}}],
		"ask": [{"tool": "c", "args": {"repo": "acme/*"}}],
		"deny": [{"tool": "b", "args": {"repo": "acme/secret"}}]}}}}}}`

// A tool that may be called with some arguments is listed, and the arguments of a call decide.
func TestArguments(t *testing.T) {
	f := offering(t, []string{"a", "b", "c", "d"}, nil, nil, nil)
	w := &written{}
	e := engine(t, byArgs)
	g := faked(t, e, Options{Subject: ir.SubjectRef{Role: "r"}, Audit: func(e audit.Event) { w.add(e) }}, map[string]*fake{"s": f})
	c := dial(t, g, eras[0], object{})
	if got, want := c.listed(tools), []string{"s_a", "s_b", "s_c"}; !slices.Equal(got, want) {
		t.Errorf("got the tools %v, want %v", got, want)
	}
	calls := []struct{ tool, repo, want string }{
		{"s_a", "acme/x", "done s a allow: allow \"a\" with repo \"acme/*\" of server \"s\""},
		{"s_a", "other/x", "refused s a deny: default of server \"s\""},
		{"s_b", "acme/x", "done s b allow: allow \"b\" of server \"s\""},
		{"s_b", "Acme/Secret", "refused s b deny: deny \"b\" with repo \"acme/secret\" of server \"s\""},
		{"s_c", "acme/x", "refused s c ask: ask \"c\" with repo \"acme/*\" of server \"s\""},
		{"s_c", "other/x", "refused s c deny: default of server \"s\""},
	}
	for _, x := range calls {
		r := c.result("tools/call", object{"name": x.tool, "arguments": object{"repo": x.repo}})
		got := w.take()
		if !slices.Equal(got, []string{x.want}) || (r["isError"] == true) != strings.HasPrefix(x.want, "refused") {
			t.Errorf("%s %s: got %q (%v), want %q", x.tool, x.repo, got, r, x.want)
		}
		if strings.Contains(x.want, " deny: ") {
			if text, _ := textOf(t, r); !strings.Contains(text, "with these arguments") {
				t.Errorf("%s %s: got %q", x.tool, x.repo, text)
			}
		}
	}
	if text, bad := textOf(t, c.result("tools/call", object{"name": "s_b"})); !bad {
		t.Errorf("got %q for a call without the argument that is denied", text)
	}
	if got, want := f.called(), []string{"tools/call a", "tools/call b"}; !slices.Equal(got, want) {
		t.Errorf("got calls %v, want %v", got, want)
	}
}

// What a reload permits with more arguments is not served, and what it permits with fewer is not either.
func TestArgumentsOfAReload(t *testing.T) {
	f := offering(t, []string{"a", "b", "c", "d"}, nil, nil, nil)
	g := faked(t, engine(t, byArgs), Options{Subject: ir.SubjectRef{Role: "r"}}, map[string]*fake{"s": f})
	c := dial(t, g, eras[0], object{})
	for _, glob := range []string{"*", "acme/x*"} {
		g.Reload(engine(t, strings.ReplaceAll(byArgs, "acme/*", glob)), nil)
	}
	for repo, want := range map[string]bool{"acme/x1": true, "acme/y": false, "other/x": false} {
		r := c.result("tools/call", object{"name": "s_a", "arguments": object{"repo": repo}})
		if got := r["isError"] != true; got != want {
			t.Errorf("got %v for %s, want %v", got, repo, want)
		}
	}
}

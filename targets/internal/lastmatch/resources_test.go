package lastmatch_test

import (
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/kilo"
	"modec.dev/modec/targets/opencode"
)

// What opens the resources of a server opens no file that has the name of one.
func TestResources(t *testing.T) {
	for _, read := range []string{
		`{deny: ["*.pem", "secrets/"], default: allow}`,
		`{allow: ["docs/**"], default: ask}`,
		`{allow: ["docs/**"], default: deny}`,
		"allow", "ask", "deny",
	} {
		for _, mcp := range []string{"{docs: allow}", "{docs: ask}", "{default: ask, docs: deny}", "allow", "ask"} {
			source := fstest.MapFS{
				"modec.toml": {Data: []byte("name = \"x\"\nbaseline = \"dev\"\n[targets.opencode]\n[targets.kilo]\n")},
				"modec/a.yaml": {Data: []byte("servers: {docs: {url: \"https://docs.example.com/mcp\", " +
					"tools: {search: {risk: read}}}}\nroles: {dev: {description: d, can: {default: deny, " +
					"read: " + read + ", mcp: " + mcp + "}}}\n")},
			}
			res, diags := compiler.Compile(t.Context(), compiler.Request{FS: source,
				Targets: []contract.Target{opencode.New(), kilo.New()}})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			for _, target := range res.Outputs {
				judged := target.Target.(contract.Judged)
				deciders, _ := judged.Open(res.FS(), res.Input(judged).Options)
				for _, arg := range []string{"mcp:docs:x.pem", "mcp:docs:secrets/k", "mcp:docs:a://b.pem", "mcp:x:y",
					"mcp:docs:docs/a", "src/main.go", "docs/mcp:docs:x"} {
					holds(t, res, judged, deciders, read+mcp, policy.Action{Group: ir.Read, Arg: arg})
				}
				for _, uri := range []string{"file:///x", "docs://a/b.pem", "urn:x", "x"} {
					holds(t, res, judged, deciders, read+mcp, policy.Action{Group: ir.MCP, Server: "docs", Arg: uri,
						Kind: policy.Resource})
				}
				uri := policy.Action{Group: ir.MCP, Server: "docs", Arg: "docs://a/b", Kind: policy.Resource}
				for _, d := range deciders {
					if got, want := d.Decide(dev, uri).Decision, wanted(t, res, judged, uri); got != want {
						t.Errorf("%s: %s, mcp %s: got %s for a resource, want %s", judged.Name(), read, mcp, got, want)
					}
				}
			}
		}
	}
}

var dev = ir.SubjectRef{Role: "dev"}

// wanted returns what the source decides for a target.
func wanted(t *testing.T, res *compiler.Result, of contract.Judged, a policy.Action) ir.Decision {
	t.Helper()
	s, err := res.Input(of).Policy.Subject(dev)
	if err != nil {
		t.Fatal(err)
	}
	r := s.Decide(a)
	return r.WithoutPermissionMode()
}

// holds reports what a target permits and the source does not.
func holds(
	t *testing.T, res *compiler.Result, of contract.Judged, deciders []contract.Decider, what string, a policy.Action,
) {
	t.Helper()
	want := wanted(t, res, of, a)
	for _, d := range deciders {
		if got := d.Decide(dev, a).Decision; got > want {
			t.Errorf("%s of %s: got %s for %s %q, want %s", of.Name(), what, got, a.Group, a.Arg, want)
		}
	}
}

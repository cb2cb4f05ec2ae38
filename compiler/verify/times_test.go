package verify_test

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/verify"
	"modec.dev/modec/targets"
)

// Artifacts are compared with every time closed and with every time open: a hook that opens more than the source
// does, at times only, is found, and one that opens as much is not.
func TestInTimes(t *testing.T) {
	compile := func(allow string) *compiler.Result {
		res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
			"modec.toml": []byte("hooks = \"enforce\"\n[targets.claude]\n[targets.cursor]\nsubject = \"role:dev\"\n"),
			"modec/a.json": []byte(`{"roles": {"dev": {"can": {"default": "ask",
				"command": {"default": "deny", "allow": ["ls", ` + allow + `]}}}}}`)}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return res
	}
	source := compile(`{"rule": "make release", "until": "2026-12-31"}`)
	for _, c := range []struct {
		allow string
		wider bool
	}{
		{`{"rule": "make release", "until": "2026-12-31"}`, false},
		{`{"rule": "make *", "until": "2026-12-31"}`, true},
		{`{"rule": "make test", "until": "2026-12-31"}`, true},
	} {
		artifacts := compile(c.allow)
		req := verify.Request{Policy: source.Policy, Seed: 1}
		for _, o := range artifacts.Outputs {
			req.Targets = append(req.Targets, verify.Target{Target: o.Target.(contract.Judged), Input: source.Input(o.Target),
				Files: artifacts.FS()})
		}
		report, err := verify.Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if report.InTimes == 0 || (report.Wider() > 0) != c.wider {
			t.Errorf("%s: got %d wider of %d and %d decisions", c.allow, report.Wider(), report.Decisions, report.InTimes)
		}
		for i := range report.Surfaces {
			s := &report.Surfaces[i]
			for _, f := range s.Findings {
				if !strings.HasPrefix(f.Action, "make") && !strings.Contains(f.Action, "make") {
					t.Errorf("%s: got %+v", c.allow, f)
				}
			}
			if s.Access.Wider+s.Approval.Wider < len(s.Findings) {
				t.Errorf("got %+v", s)
			}
		}
	}
	// With what always is allowed alone nothing is compared again.
	req := verify.Request{Policy: compile(`"make"`).Policy, Seed: 1}
	if report, err := verify.Run(t.Context(), req); err != nil || report.InTimes != 0 {
		t.Errorf("got %+v, %v", report, err)
	}
}

// What a gateway opens for one subject it may open for others whose files do not hold it: all subjects are compared.
func TestGatewayInTimes(t *testing.T) {
	const source = `{"servers": {"gh": {"command": "gh", "tools": {"list": {}, "close": {}}}},
		"modes": {"a": {"name": "A", "roleDefinition": "r", "can": {"mcp": {"gh": {"allow": ["list", {"rule": "close", "until": "2027-12-31"}]}}}},
			"b": {"name": "B", "roleDefinition": "r", "can": {"mcp": {"gh": {"allow": ["list"], "deny": ["close"]}}}}},
		"roles": {"c": {"can": {"mcp": {"gh": {"allow": ["list", {"rule": "close", "until": "2027-12-31"}], "default": "deny"}}}},
			"d": {"can": {"mcp": {"gh": {"allow": ["list"], "default": "deny"}}}}}}`
	for _, target := range []string{"claude", "codex", "copilot", "cursor", "gemini", "kilo", "opencode", "roo", "zoo"} {
		neverWider(t, memfs.FS{"modec.toml": []byte("[targets." + target + "]\n[gateway]\nemit = true\n"), "modec/a.json": []byte(source)})
	}
}

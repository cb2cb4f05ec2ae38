package render_test

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"cuelang.org/go/cue/format"
	gocmp "github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/render"
	"modec.dev/modec/targets"
)

// bare returns a model without places and origins, and its rules in one order:
// what is left is what it means.
func bare(p *ir.Project) *ir.Project {
	q := *p
	q.Modes, q.Roles, q.Builtins = slices.Clone(p.Modes), slices.Clone(p.Roles), nil
	for i := range q.Modes {
		q.Modes[i].Can = bareCan(q.Modes[i].Can)
	}
	for i := range q.Roles {
		q.Roles[i].Can = bareCan(q.Roles[i].Can)
		q.Roles[i].Written = nil // the same rules in an agent's words: they are rendered in the source's own
		slices.SortStableFunc(q.Roles[i].Native, func(a, b ir.NativeRule) int { return cmp.Compare(a.Decision, b.Decision) })
	}
	if p.Everyone != nil {
		can := bareCan(*p.Everyone)
		q.Everyone = &can
	}
	q.Enforced = nil // Everyone with a policy of modec's own
	return &q
}

func bareCan(c ir.Can) ir.Can {
	rules := func(in []ir.Rule) []ir.Rule {
		var out []ir.Rule
		for _, r := range in {
			if r.Pattern.Kind == ir.All && r.Decision == ir.Deny {
				return []ir.Rule{{Decision: ir.Deny, Pattern: r.Pattern}} // nothing else matters
			}
			out = append(out, ir.Rule{Decision: r.Decision, Pattern: r.Pattern, Times: r.Times})
		}
		slices.SortFunc(out, func(a, b ir.Rule) int {
			return cmp.Or(cmp.Compare(a.Decision, b.Decision), cmp.Compare(a.Pattern.Kind, b.Pattern.Kind), cmp.Compare(a.Pattern.Text, b.Pattern.Text),
				cmp.Compare(a.Times.String(), b.Times.String()))
		})
		return slices.Compact(out)
	}
	for _, t := range []**ir.Table{&c.Read, &c.Edit, &c.Command, &c.Web, &c.Modes} {
		if *t == nil {
			continue
		}
		x := **t
		x.Rules, x.Timed = rules(x.Rules), rules(x.Timed)
		if len(x.Rules) == 1 && x.Rules[0].Pattern.Kind == ir.All {
			x.Default = nil
		}
		*t = &x
	}
	if c.MCP != nil {
		x := *c.MCP
		x.Rules, x.Entries = rules(x.Rules), nil
		for _, e := range c.MCP.Entries {
			e.Rules, e.Timed, e.From = rules(e.Rules), rules(e.Timed), ""
			x.Entries = append(x.Entries, e)
		}
		c.MCP = &x
	}
	return c
}

// same ignores places and origins.
var same = gocmp.Options{
	gocmp.Transformer("pos", func(diag.Pos) string { return "" }),
	gocmp.FilterPath(func(p gocmp.Path) bool { return p.Last().String() == ".From" }, gocmp.Ignore()),
	gocmp.Comparer(func(a, b []ir.Rule) bool { return len(a) == len(b) && (len(a) == 0 || slices.Equal(a, b)) }),
}

func compile(t *testing.T, files fstest.MapFS) *compiler.Result {
	t.Helper()
	res, diags := compiler.Open(
		t.Context(),
		compiler.Request{FS: files, Targets: targets.All(), Today: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
	)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return res
}

// TestRoundTrip renders the model of every fixture: it compiles to the same
// model, and is formatted as cue fmt would.
func TestRoundTrip(t *testing.T) {
	dirs, err := filepath.Glob("../../fixtures/*/modec.toml")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, config := range dirs {
		dir := filepath.Dir(config)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			files := fstest.MapFS{}
			if err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					b, err := os.ReadFile(filepath.Join(dir, p))
					files[p] = &fstest.MapFile{Data: b}
					return err
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			res := compile(t, files)
			out, err := render.Source(res.Project, res.Config.Source, nil, contract.Dialects(targets.All()))
			if err != nil {
				t.Fatal(err)
			}
			again := fstest.MapFS{"modec.toml": files["modec.toml"]}
			for _, f := range out {
				again[f.Path] = &fstest.MapFile{Data: f.Data}
				if strings.HasSuffix(f.Path, ".cue") {
					formatted, err := format.Source(f.Data)
					if err != nil || !bytes.Equal(formatted, f.Data) {
						t.Errorf("%s is not formatted: %v", f.Path, err)
					}
				}
			}
			got := compile(t, again)
			if d := gocmp.Diff(bare(res.Project), bare(got.Project), same); d != "" {
				t.Errorf("the model (-was +is)\n%s", d)
			}
			if os.Getenv("SHOW") != "" {
				for _, f := range out {
					t.Logf("%s\n%s", f.Path, f.Data)
				}
			}
		})
	}
}

// What is written anew keeps the times of an allow and the arguments of a rule: without them it would hold at any time. What stands for it at
// other times is not written beside it.
func TestTimesRoundTrip(t *testing.T) {
	res := compile(t, fstest.MapFS{"modec.toml": {Data: []byte("[targets.claude]\n")}, "modec/a.cue": {Data: []byte(`package modec

servers: s: {command: "s", tools: {a: {}, b: {}}}
policies: late: can: {
	command: allow: ["make", {rule: "make release", from: "2026-12-01", until: "2026-12-31", daily: "22:00-06:00", zone: "Europe/Berlin"}]
	mcp: s: {
		allow: [{rule: "a", until: "2026-12-31"}, "b", {tool: "a", args: "o.b": "x*", until: "2026-12-31"}]
		ask: [{tool: "@write", args: {"b-c": "1", a: "*"}}]
		deny: [{tool: "*", args: x: "y"}]
	}
}
modes: m: {name: "M", roleDefinition: "r", can: edit: allow: [{regex: "^docs/", until: "2026-12-31"}]}
roles: {
	dev: {extends: ["late"], can: {
		read: {allow: [{rule: "a/**", from: "2026-12-01"}, {rule: "a/**", daily: "09:00-10:00"}], default: "allow"}
		web: {allow: [{rule: "*.example.com", until: "2026-12-31"}], default: "ask"}
		mcp: {"*": {allow: [{rule: "*", until: "2026-12-31"}], default: "ask"}, s: "agent"}
		modes: {allow: [{rule: "m", until: "2026-12-31"}], default: "deny"}
	}}
	alone: can: command: allow: [{rule: "ls", until: "2026-12-31"}]
}
`)}})
	out, err := render.Source(res.Project, "modec", nil, contract.Dialects(targets.All()))
	if err != nil {
		t.Fatal(err)
	}
	again, rules := fstest.MapFS{"modec.toml": {Data: []byte("[targets.claude]\n")}}, 0
	for _, f := range out {
		again[f.Path] = &fstest.MapFile{Data: f.Data}
		rules += strings.Count(string(f.Data), "until") + strings.Count(string(f.Data), "daily: \"09")
	}
	got := compile(t, again)
	if d := gocmp.Diff(bare(res.Project), bare(got.Project), same); d != "" {
		t.Errorf("the model (-was +is)\n%s", d)
	}
	if rules != 9 {
		t.Errorf("got %d times", rules)
		for _, f := range out {
			t.Logf("%s\n%s", f.Path, f.Data)
		}
	}
}

package verify_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/verify"
)

// What the two halves of a pair tell apart finds what all that they are compared on finds: in
// artifacts that somebody spoilt, the same pairs are wider.
func TestPairs(t *testing.T) {
	t.Parallel()
	res := compile(t, "acme")
	files := memfs.FS{}
	for _, f := range slices.Concat(res.Files(), res.Sessions()) {
		files[f.Path] = f.Data
	}
	var pairs []ir.SubjectRef
	whole := &verify.Universes{}
	for _, r := range res.Project.Roles {
		for _, m := range res.Project.Modes {
			if r.Modes != nil && !slices.Contains(*r.Modes, m.Slug) {
				continue
			}
			ref := ir.SubjectRef{Role: r.Name, Mode: m.Slug}
			pairs = append(pairs, ref)
			list, err := verify.Universe(res.Policy, ref, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			whole.Put(ref, list)
		}
	}
	spoilt := 0
	for name, spoil := range map[string]func(file, text string) string{
		"no hook": func(_, text string) string {
			return strings.ReplaceAll(text, "modec hook claude", "true")
		},
		"nothing denied in a mode": func(file, text string) string {
			if path.Base(file) != "policy.json" {
				return text
			}
			modes, roles, _ := strings.Cut(text, `"roles":`)
			return strings.ReplaceAll(modes, `"deny"`, `"allow"`) + `"roles":` + roles
		},
		"nothing denied in a role": func(file, text string) string {
			if path.Base(file) != "policy.json" {
				return text
			}
			modes, roles, _ := strings.Cut(text, `"roles":`)
			return modes + `"roles":` + strings.ReplaceAll(roles, `"deny"`, `"allow"`)
		},
		"no tools of a subagent": func(file, text string) string {
			if !strings.HasPrefix(file, ".claude/agents/") {
				return text
			}
			lines := strings.SplitAfter(text, "\n")
			return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "tools:") }), "")
		},
	} {
		changed := maps.Clone(files)
		for file, data := range changed {
			changed[file] = []byte(spoil(file, string(data)))
		}
		wider := func(universes *verify.Universes) []string {
			var out []string
			for _, j := range judgedTargets(res) {
				if j.Target.Name() != "claude" { // no other has artifacts for a role in a mode
					continue
				}
				j.Files, j.Compiled = changed, files
				report, err := verify.Run(t.Context(), verify.Request{
					Policy: res.Policy, Targets: []verify.Target{j}, Seed: 1, Subjects: pairs, Universes: universes,
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range report.Surfaces {
					for _, f := range s.Findings {
						out = append(out, s.Target+" "+f.Subject+" "+string(f.Group))
					}
				}
			}
			slices.Sort(out)
			return slices.Compact(out)
		}
		got, want := wider(nil), wider(whole)
		spoilt += len(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: wider (-on all, +on what both tell apart):\n%s", name, diff)
		}
	}
	if spoilt == 0 {
		t.Error("nothing that was spoilt is wider")
	}
}

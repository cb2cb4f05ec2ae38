// Package golden compares what every fixture compiles to with the trees beside
// this file: golden/<case>/<target>/ holds a target's artifacts, whole, with what sessions
// are started with in its folder session, and
// golden/<case>/losses.txt what the targets could not say, golden/<case>/verify.txt
// what verify made of it: how much was compared, and what survives of the source's
// allows and asks, so that no target becomes useless to be safe. Missing, extra and
// stale files fail. After a deliberate change, `go test ./golden -update`
// rewrites the trees; read the diff.
package golden

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/verify"
	"modec.dev/modec/targets"
)

var update = flag.Bool("update", false, "rewrite the golden trees")

// today is the day on which the exceptions of the fixtures are judged.
var today = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

const fixtures = "../fixtures"

func TestGolden(t *testing.T) {
	cases := cases(t)
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := compile(t, name)
			if again := compile(t, name); !cmp.Equal(got, again) {
				t.Errorf("compiling twice differs:\n%s", cmp.Diff(got, again))
			}
			report := verified(t, name)
			got["verify.txt"] = figures(report)
			if name == showcase {
				documents(t, report)
			}
			if *update {
				write(t, name, got)
				return
			}
			compare(t, read(t, name), got)
		})
	}
	stale, err := filepath.Glob("*/")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range stale {
		if dir = filepath.Clean(dir); !contains(cases, dir) {
			if *update {
				os.RemoveAll(dir)
				continue
			}
			t.Errorf("golden/%s belongs to no fixture", dir)
		}
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// cases lists the fixtures that are projects.
func cases(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtures, "*", config.File))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names
}

func result(t *testing.T, name string) (*compiler.Result, diag.List) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join(fixtures, name))
	if err != nil {
		t.Fatal(err)
	}
	res, diags := compiler.Compile(t.Context(), compiler.Request{Root: root, Targets: targets.All(), Today: today})
	if diags.HasErrors() {
		t.Fatal(diags.Error())
	}
	return res, diags
}

// verified proves a fixture's artifacts. The wider decisions must be none.
func verified(t *testing.T, name string) *verify.Report {
	t.Helper()
	res, _ := result(t, name)
	report, diags := res.Verify(t.Context(), 1, nil)
	for _, d := range diags {
		t.Error(d)
	}
	return report
}

// figures are those of a report.
func figures(report *verify.Report) string {
	var b strings.Builder
	for i := range report.Surfaces {
		s := &report.Surfaces[i]
		fmt.Fprintf(&b, "%s: %d decisions of %d subjects, keeps %.1f %% of the allows and %.1f %% of the asks\n", strings.TrimSpace(s.Target+" "+s.Surface), s.Compared, s.Subjects, s.Utility.Allow.Percent(), s.Utility.Ask.Percent())
		for _, half := range []struct {
			name string
			*verify.Tally
		}{{"access", &s.Access}, {"approval", &s.Approval}, {"approval without the hook", s.Bare}} {
			if half.Tally != nil && half.Compared > 0 {
				fmt.Fprintf(&b, "\t%s: %d equal, %d narrower, %d wider, %d accepted\n", half.name, half.Equal, half.Narrower, half.Wider, half.Accepted)
			}
		}
		fmt.Fprintf(&b, "\texact: %v\n", s.Exact)
		for _, x := range s.Sampled {
			fmt.Fprintf(&b, "\tsampled: %s %q %q: %s\n", x.Group, x.Part, x.Subjects, x.Why)
		}
		fmt.Fprintf(&b, "\t%d through holes, %d held by the hook only, %d assumed\n", s.Counts.Holes, s.Counts.HookOnly, s.Counts.Assumed)
	}
	return b.String()
}

// compile returns a fixture's artifacts by their golden path, and its losses.
func compile(t *testing.T, name string) map[string]string {
	t.Helper()
	res, diags := result(t, name)
	tree := map[string]string{}
	var losses strings.Builder
	for _, d := range diags {
		fmt.Fprintln(&losses, d)
	}
	for _, o := range res.Outputs {
		for _, f := range o.Files {
			if f.Places != nil {
				if err := covered(f); err != nil {
					t.Errorf("%s: %v", f.Path, err)
				}
			}
			tree[o.Target.Name()+"/"+f.Path] = string(f.Data)
		}
		for _, f := range o.Sessions {
			_, name, _ := strings.Cut(f.Path, "/")
			tree[o.Target.Name()+"/session/"+name] = string(f.Data)
		}
		for _, d := range o.Losses {
			fmt.Fprintf(&losses, "%s\n\t%s %s: %s\n", d, d.Loss, d.Subject, d.Hint)
		}
	}
	if slices.ContainsFunc(res.Outputs, func(o contract.Artifacts) bool { return res.Hooked(o.Target) }) {
		tree["modec/policy.json"] = string(res.PolicyJSON())
	}
	if losses.Len() > 0 {
		tree["losses.txt"] = losses.String()
	}
	return tree
}

func read(t *testing.T, name string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(name, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(name, p)
		tree[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatalf("%v; `go test ./golden -update` writes the trees", err)
	}
	return tree
}

func compare(t *testing.T, want, got map[string]string) {
	t.Helper()
	for p := range want {
		if _, ok := got[p]; !ok {
			t.Errorf("%s: stale, nothing emits it any more", p)
		}
	}
	for p, data := range got {
		w, ok := want[p]
		if !ok {
			t.Errorf("%s: emitted, and missing here", p)
		} else if diff := cmp.Diff(strings.Split(w, "\n"), strings.Split(data, "\n")); diff != "" {
			t.Errorf("%s (-golden +emitted):\n%s", p, diff)
		}
	}
}

func write(t *testing.T, name string, tree map[string]string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	for p, data := range tree {
		file := filepath.Join(name, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// covered reports an error where merging an artifact into an empty file loses a part of
// it: no shared place covers that part.
func covered(f contract.File) error {
	empty, read := "{}", json.Unmarshal
	if path.Ext(f.Path) == ".toml" {
		empty, read = "# nothing\n", toml.Unmarshal
	}
	res, err := jsonedit.Merge([]byte(empty), f.Data, jsonedit.Pattern{Places: f.Places}, nil, false)
	if err != nil {
		return err
	}
	var want, got any
	if err := errors.Join(read(f.Data, &want), read(res.Data, &got)); err != nil {
		return err
	}
	if d := cmp.Diff(want, got); d != "" {
		return fmt.Errorf("merged into an empty file it is another (-want +got)\n%s", d)
	}
	return nil
}

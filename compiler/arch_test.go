package compiler_test

import (
	"os/exec"
	"strings"
	"testing"
)

const module = "modec.dev/modec/"

// layer is what a package may depend on: of modec, a package of that name or
// below a name that ends in "/"; and CUE or not.
type layer struct {
	pkg string
	may []string
	cue bool
}

var layers = []layer{
	{pkg: "compiler/diag"},
	{pkg: "compiler/artifact", may: []string{"compiler/diag"}},
	{pkg: "compiler/merge"},
	{pkg: "compiler/record", may: []string{"compiler/diag"}},
	{pkg: "compiler/textdiff"},
	{pkg: "compiler/gittree"},
	{pkg: "compiler/diff", may: []string{"compiler/diag", "compiler/ir", "compiler/policy", "compiler/target", "compiler/verify"}},
	{pkg: "compiler/ir", may: []string{"compiler/diag"}},
	{pkg: "compiler/policy", may: []string{"compiler/diag", "compiler/ir"}},
	{pkg: "compiler/clauderule", may: []string{"compiler/diag", "compiler/ir", "compiler/policy"}},
	{pkg: "compiler/target", may: []string{"compiler/diag", "compiler/ir", "compiler/policy"}},
	{pkg: "compiler/lint", may: []string{"compiler/diag", "compiler/ir", "compiler/policy", "compiler/target", "compiler/clauderule"}},
	{pkg: "compiler/why", may: []string{"compiler/diag", "compiler/ir", "compiler/policy", "compiler/target", "compiler/textdiff"}},
	{pkg: "compiler/verify", may: []string{"compiler/diag", "compiler/ir", "compiler/policy", "compiler/target"}},
	{pkg: "targets/...", may: []string{"compiler/diag", "compiler/ir", "compiler/policy", "compiler/target", "compiler/artifact", "compiler/clauderule", "targets", "targets/"}},
	{pkg: "compiler/render", may: []string{"compiler/diag", "compiler/ir", "compiler/policy", "compiler/target"}, cue: true},
	{pkg: "compiler", may: []string{"compiler/", "cue"}, cue: true},
	{pkg: "compiler/migrate", may: []string{"compiler", "compiler/", "cue"}, cue: true},
	{pkg: "compiler/suggest", may: []string{"compiler", "compiler/", "cue"}, cue: true},
	{pkg: "cue", cue: true},
}

// TestDependencies holds the direction diag ← ir ← policy ← target ←
// {compiler, targets} ← cmd, and keeps CUE out of the targets.
func TestDependencies(t *testing.T) {
	for _, l := range layers {
		t.Run(strings.ReplaceAll(l.pkg, "/", "_"), func(t *testing.T) {
			for _, dep := range deps(t, "./../"+l.pkg) {
				if strings.HasPrefix(dep, "cuelang.org/go") && !l.cue {
					t.Errorf("%s links %s", l.pkg, dep)
				}
				if own, ok := strings.CutPrefix(dep, module); ok && own != l.pkg && !l.allows(own) {
					t.Errorf("%s depends on %s", l.pkg, own)
				}
			}
		})
	}
}

func (l layer) allows(pkg string) bool {
	for _, m := range l.may {
		if pkg == m || strings.HasSuffix(m, "/") && strings.HasPrefix(pkg, m) {
			return true
		}
	}
	return false
}

func deps(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", pkg).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Fields(string(out))
}

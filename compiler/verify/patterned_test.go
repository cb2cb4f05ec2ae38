package verify_test

import (
	"path/filepath"
	"testing"

	"modec.dev/modec/compiler/contract"
)

// Where a model decides by languages and a group is sampled all the same, what somebody's entry permits is found by its
// patterns: each such model names them.
func TestRegularIsPatterned(t *testing.T) {
	seen := 0
	fixtures, err := filepath.Glob("../../golden/*/verify.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range fixtures {
		name := filepath.Base(filepath.Dir(file))
		res := compile(t, name)
		for _, o := range res.Outputs {
			judged, ok := o.Target.(contract.Judged)
			if !ok || o.Target.Name() == "thurbox" { // its files are modec's alone: whatever is edited there is drift
				continue
			}
			deciders, _ := judged.Open(res.FS(), res.Input(o.Target).Options)
			for _, d := range deciders {
				if _, regular := d.(contract.Regular); !regular {
					continue
				}
				if seen++; !isPatterned(d) {
					t.Errorf("%s %s: %T decides by languages, and returns no patterns", o.Target.Name(), d.Surface(), d)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d models decide by languages", seen)
	}
}

func isPatterned(d contract.Decider) bool {
	_, ok := d.(contract.Patterned)
	return ok
}

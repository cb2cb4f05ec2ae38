package replay

import "testing"

// The digest is that of record.mjs: digest({b: ['<a>', 'x\u2028y'], a: null}).
func TestDigest(t *testing.T) {
	got, err := Digest(map[string]any{"b": []string{"<a>", "x\u2028y"}, "a": nil})
	if want := "a3b7aa3ca8868a45f8c9120c35fa41daf62bd33b1aabb21bbcbc451a21ec5bac"; got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

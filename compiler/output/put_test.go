package output

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestReplace writes, removes and creates files together, and nothing where one of them is another one by now.
func TestReplace(t *testing.T) {
	was := map[string]string{"a": "a", "b": "b", "empty": ""}
	for _, c := range []struct {
		name string
		list []Replacement
		is   map[string]string // nil: it is refused
	}{
		{"all", []Replacement{{"a", []byte("a"), []byte("x")}, {"b", []byte("b"), nil}, {"new/c", nil, []byte("c")}},
			map[string]string{"a": "x", "new/c": "c", "empty": ""}},
		{"one that changed", []Replacement{{"a", []byte("a"), []byte("x")}, {"b", []byte("old"), []byte("y")}}, nil},
		{"one that is gone", []Replacement{{"a", []byte("a"), []byte("x")}, {"c", []byte("c"), []byte("y")}}, nil},
		{"one that came", []Replacement{{"a", []byte("a"), []byte("x")}, {"b", nil, []byte("y")}}, nil},
		{"one that is empty and was not there", []Replacement{{"empty", nil, []byte("y")}}, nil},
		{"one that is empty", []Replacement{{"empty", []byte{}, []byte("y")}}, map[string]string{"a": "a", "b": "b", "empty": "y"}},
		{"one to remove that changed", []Replacement{{"b", []byte("old"), nil}}, nil},
		{"outside", []Replacement{{"../x", nil, []byte("y")}}, nil},
	} {
		dir := t.TempDir()
		for name, text := range was {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		diags := Replace(t.Context(), c.list, PutOptions{Dir: dir})
		if diags.HasErrors() != (c.is == nil) {
			t.Errorf("%s: got %v", c.name, diags)
		}
		want := c.is
		if want == nil {
			want = was
		}
		got := map[string]string{}
		err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(name)
			rel, _ := filepath.Rel(dir, name)
			got[filepath.ToSlash(rel)] = string(data)
			return err
		})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: got the files %v, want %v (%v)", c.name, got, want, err)
		}
	}
}

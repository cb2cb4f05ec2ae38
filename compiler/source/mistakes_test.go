package source

import (
	"testing"

	"modec.dev/modec/compiler/memfs"
)

// Frequent mistakes are told in plain words, at their place.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.yaml", "roles:\n  dev:\n    can:\n      read:\n        deny:\n          - *.pem\n",
			`modec/a.yaml:6:13: error: * is a sign of YAML's own: put the text in quotes, "*.pem" [syntax]`},
		{"a.yaml", "a: 1\nb:\n  - *pem\n",
			`modec/a.yaml:3:5: error: * is a sign of YAML's own: put the text in quotes, "*pem" [syntax]`},
		{"a.yaml", "a:\n  b: [x, @git_read]\n",
			`modec/a.yaml:2:10: error: @ is a sign of YAML's own: put the text in quotes, "@git_read" [syntax]`},
		{"a.yaml", "a:\n  b: [!x, y]\n",
			`modec/a.yaml:2:7: error: ! is a sign of YAML's own: put the text in quotes, "!x" [syntax]`},
		{"a.yaml", "a:\n\tb: 1\n", `modec/a.yaml:2:1: error: YAML takes no tabs before a field: use spaces [syntax]`},
		{"a.yaml", "a:\n  b: You do: much\n",
			`modec/a.yaml:2:6: error: a colon and a space begin a field of YAML: put the text in quotes [syntax]`},
		{"a.yaml", "a:\n  b:\n      c: 1\n     d: 2\n", `modec/a.yaml:4:6: error: the line begins in column 6, ` +
			`and none that it can belong to does: want column 3 or 7 [syntax]`},
		{"a.yaml", "a:\n  b: [x]\n   c: 2\n", `modec/a.yaml:3:4: error: the line begins in column 4, deeper than line 2, ` +
			`which has a value of its own: want column 3 [syntax]`},
		{"a.yaml", "a:\n  t: |\n    x: 1\n      y\n  b: x\n    c:\n      d: 2\n", `modec/a.yaml:6:5: error: the line begins in ` +
			`column 5, deeper than line 5, which has a value of its own: want column 3 [syntax]`},
		{"a.cue", "a: [git status, \"x\"]", `modec/a.cue:1:5: error: a text has quotes: "git status" [syntax]`},
		{"a.yaml", "a: {b: 1}\na: {c: 1}\n",
			`modec/a.yaml:2:1: error: the key "a" is there twice, first in line 1: join the two [syntax]`},
		{"a.json", "{\"a\": {\"b\": 1,\n\"b\": 1}}",
			`modec/a.json:2:1: error: the key "b" is there twice, first in line 1: join the two [syntax]`},
		{"a.json", `{"a": [1,]}`, `modec/a.json:1:10: error: JSON takes no comma before a closing bracket: remove it [syntax]`},
		{"a.cue", "a: deny", `modec/a.cue:1:4: error: deny is not defined; a text has quotes: "deny" [cue]`},
		{"a.cue", "a: 'x'", `modec/a.cue:1:4: error: got 'x', want a text in double quotes [cue]`},
	} {
		_, diags := Load(memfs.FS{"modec/" + c.name: []byte(c.text)}, "modec")
		if len(diags) != 1 || diags[0].String() != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, diags, c.want)
		}
	}
}

// A word without quotes hides nothing else, and a reference stays one.
func TestUnquoted(t *testing.T) {
	tree, diags := Load(memfs.FS{"modec/a.cue": []byte("let x = \"1\"\na: deny\nb: x\nc: d: allow\n")}, "modec")
	if len(diags) != 2 || tree.Root == nil {
		t.Fatalf("got %v", diags)
	}
	for name, want := range map[string]string{"a": "deny", "b": "1"} {
		if got := tree.Root.Get(name); got == nil || got.Text != want {
			t.Errorf("%s: got %v, want %s", name, got, want)
		}
	}
}

// What is no mistake stays: anchors, a field in two files, keys of TOML tables.
func TestNoMistakes(t *testing.T) {
	_, diags := Load(memfs.FS{
		"modec/a.yaml": []byte("a: &x {b: 1}\nc: *x\nd: \"*x: y\"\n"),
		"modec/b.yaml": []byte("a: {b: 1}\n"),
		"modec/c.toml": []byte("[t.a]\nx = 1\n[t.b]\nx = 1\n"),
	}, "modec")
	if len(diags) > 0 {
		t.Error(diags)
	}
}

package located

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"
)

// plainFiles are files that are read in one go.
var plainFiles = []string{
	"{}", "[]", "1", `"a"`, "null", " {\n \"a\" : [ 1 , -2.5e3 , true ],\n\"b\":{\"a\":null,\"a\":\"\"}}\n\n",
	"\uFEFF{\"a\": \"x\\u00e9\\n\\\"é😀\"}", "{\"a\":{\"b\":[[],{},[{}]]}}\r\n",
}

// others are files that are not, or that are no JSON.
var others = []string{
	"", "// c\n1", "{\"a\": 1,}", "[1,]", "{\"a\" 1}", "{} {}", "\"\\ud800\"", "\"\xff\"", "{\"\xff\": 1}", "\uFEFF", "[1 /* c */]", "{1: 2}",
}

func TestPlainJSON(t *testing.T) {
	for _, text := range plainFiles {
		if plainJSON("f", []byte(text)) == nil {
			t.Errorf("%q is not read in one go", text)
		}
		agrees(t, []byte(text))
	}
	for _, text := range others {
		if v := plainJSON("f", []byte(text)); v != nil {
			t.Errorf("%q is read in one go: %v", text, v)
		}
	}
}

// FuzzPlainJSON holds that what is read in one go is what hujson reads.
func FuzzPlainJSON(f *testing.F) {
	for _, text := range append(plainFiles, others...) {
		f.Add([]byte(text))
	}
	f.Fuzz(agrees)
}

func agrees(t *testing.T, data []byte) {
	v := plainJSON("f", data)
	if v == nil {
		return
	}
	x, err := hujson.Parse(bytes.TrimPrefix(data, []byte("\uFEFF")))
	if err == nil && !x.IsStandard() {
		t.Errorf("%q has comments or trailing commas", data)
	}
	want, err := fromJSON("f", data, x, err)
	if err != nil {
		t.Errorf("%q: %v", data, err)
	}
	if d := cmp.Diff(want, v); d != "" {
		t.Errorf("%q (-hujson +in one go):\n%s", data, d)
	}
}

func BenchmarkJSONC(b *testing.B) {
	text := bytes.Repeat([]byte("{\"tool *\": \"allow\",\n\"a/**\": {\"deny\": [\"x\", 1, true]}},\n"), 1000)
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"plain", bytes.Join([][]byte{[]byte("["), bytes.TrimSuffix(text, []byte(",\n")), []byte("]")}, nil)},
		{"commented", bytes.Join([][]byte{[]byte("["), text, []byte("] // c\n")}, nil)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			for b.Loop() {
				if _, err := JSONC("f", c.data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package located

import (
	"bytes"
	"testing"
)

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

package format

import (
	"testing"

	"modec.dev/modec/compiler/diag"
)

func TestTokenShape(t *testing.T) {
	for text, want := range map[string]Keyword{
		"Shell(ls)": "Shell", "Bash(ls)": "Shell", "  Shell  ( ls )  ": "Shell", "Shell()": "Shell",
		"Shell(a)b)": "Shell",
		"Read(x)":    "Read", "Write(x)": "Write", "Mcp(a:b)": "Mcp", "WebFetch(*)": "WebFetch",
		"shell(ls)": "", "Shell": "", "Shell(ls": "", "Shell(ls) x": "", "Delete(x)": "", "Shell(a\nb)": "", "": "",
		"MCP(a:b)": "",
	} {
		got, ok := ParseToken(text, diag.Pos{})
		if got.Keyword != want || ok != (want != "") {
			t.Errorf("%q: got %q, want %q", text, got.Keyword, want)
		}
	}
}

package diag_test

import (
	"encoding/json"
	"testing"

	"modec.dev/modec/compiler/diag"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\r\nc\n":                       "a\tb\r\nc\n",
		"\x1b[1;31mred\x1b[0m":              "\x1b[1;31mred\x1b[0m",
		"\x1b]0;title\x07":                  "\uFFFD]0;title\uFFFD",
		"\x1b[2J":                           "\uFFFD[2J",
		"over\rwritten":                     "over\uFFFDwritten",
		"\u202Ereversed\u0085\u009b2J \x7f": "\uFFFDreversed\uFFFD\uFFFD2J \uFFFD",
	} {
		if got := diag.Printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	text := "a\u202E\u0085\x7f\u2066é"
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	got := diag.EscapeJSON(data)
	if want := `"a\u202e\u0085\u007f\u2066é"`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var back string
	if err := json.Unmarshal(got, &back); err != nil || back != text {
		t.Errorf("got %q, %v", back, err)
	}
}

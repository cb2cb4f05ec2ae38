package roo

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Roo cleans the raw text before it parses; what is written survives it.
func rooClean(s string) string {
	return strings.NewReplacer("\u00A0", " ", "\u200B", "", "\u200C", "", "\u200D", "", "\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
		"\u2018", "'", "\u2019", "'", "\u201C", `"`, "\u201D", `"`).Replace(s)
}

// asMap reads the modes file with its own keys.
func asMap(t *testing.T, out []byte) map[string]any {
	t.Helper()
	var got struct {
		CustomModes []map[string]any `yaml:"customModes"`
	}
	if err := yaml.Unmarshal([]byte(rooClean(string(out))), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return got.CustomModes[0]
}

var hostile = []string{"He said “hi” — it’s\u00A0ok", "a\u200Db", "- x", "# no comment", "---\nfront\n---\n", "a: b", "'\"`", "x\ny\n\n", "\n\nlead", "  indented\nless", "tab\there\nand\t\n", "trailing  \nspace ", "👩‍💻", "\u2028\u2029\uFEFF", "\x1b[31m", "yes", "null", "12", "", "line\r\nend", "日本\n語\n"}

func TestTextSurvives(t *testing.T) {
	for _, text := range hostile {
		for _, write := range []func([]mode) []byte{writeYAML, writeJSON} {
			got := asMap(t, write([]mode{{slug: "m", name: text, role: text}}))
			if got["name"] != text || got["roleDefinition"] != text {
				t.Errorf("%q comes back as %q and %q", text, got["name"], got["roleDefinition"])
			}
		}
	}
}

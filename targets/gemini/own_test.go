package gemini_test

import (
	"fmt"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
)

// What a role says in Gemini CLI's own words becomes settings where it is the role of every session, and else nothing
// that would hold for others: an allow is left out, and what holds back is an error.
func TestOwnSettings(t *testing.T) {
	const core = `"allow": ["tools.core read_file"], "deny": ["tools.core"]`
	for _, c := range []struct{ name, settings, roles, want, code string }{
		{"the only role", `baseline = "r"`, `"r": {"agents": {"gemini": {"native": {` + core + `}}}}`,
			`"tools": {"core": ["read_file"]}`, ""},
		{"by the option", "[targets.gemini]\nsubject = \"r\"", `"r": {"agents": {"gemini": {"native": {` + core + `}}}}`,
			`"tools": {"core": ["read_file"]}`, ""},
		{"an empty list", `baseline = "r"`, `"r": {"agents": {"gemini": {"native": {"deny": ["tools.core"]}}}}`, `"core": []`, ""},
		{"not that of every session", "",
			`"r": {"agents": {"gemini": {"native": {"allow": ["tools.allowed read_file"]}}}}`, "", "gemini-setting"},
		{"beside another role", `baseline = "r"`,
			`"r": {"agents": {"gemini": {"native": {"deny": ["tools.exclude write_file"]}}}}, "s": {}`, "", "gemini-setting"},
		{"a limit that is not said", `baseline = "r"`, `"r": {"agents": {"gemini": {"native": {"allow": ["tools.core read_file"]}}}}`,
			"", "gemini-setting"},
		{"no setting", `baseline = "r"`, `"r": {"agents": {"gemini": {"native": {"allow": ["tools.exclude x"]}}}}`, "", "gemini-bad-setting"},
		{"no role", "[targets.gemini]\nsubject = \"x\"", `"r": {}`, "", "gemini-unknown-subject"},
	} {
		if !strings.Contains(c.settings, "[targets.gemini]") {
			c.settings += "\n[targets.gemini]\n"
		}
		res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
			config.File: []byte(c.settings), "modec/a.json": []byte(`{"roles": {` + c.roles + `}}`),
		}})
		codes := fmt.Sprint(diags)
		text := ""
		if res != nil {
			text = strings.Join(strings.Fields(string(res.FS()[".gemini/settings.json"])), " ")
			for _, o := range res.Outputs {
				codes += fmt.Sprint(o.Losses)
			}
		}
		text = strings.NewReplacer("[ ", "[", " ]", "]", "{ ", "{", " }", "}").Replace(text)
		if c.want != "" && !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "tools") {
			t.Errorf("%s: got %s (%s), want %s", c.name, text, codes, c.want)
		}
		if strings.Contains(codes, "gemini-") != (c.code != "") || !strings.Contains(codes, c.code) {
			t.Errorf("%s: got %s, want %q", c.name, codes, c.code)
		}
	}
}

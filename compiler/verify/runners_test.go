package verify_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

// Whatever form an allow of a program has that runs others, no agent runs more than the source permits: what a shell
// reads is not in its line.
func TestAllowedRunners(t *testing.T) {
	const settings = "[targets.claude]\n[targets.cursor]\n[targets.gemini]\n[targets.roo]\n[targets.thurbox]\n"
	forms := []string{"%s:*", "%s *", "/usr/bin/%s:*", "%s", "%s x:*"}
	rules := map[string][]string{"stars": {"*sh", "b*", "e*:*", "/bin/*", "n* run *", "x*s *"}}
	for _, name := range policy.Runners("*") {
		for _, form := range forms {
			rules[form] = append(rules[form], fmt.Sprintf(form, name))
		}
	}
	for form, allow := range rules {
		for i, more := range []string{``, `, "default": "ask"`, `, "deny": ["git push:*"]`, `, "ask": ["git push:*"]`} {
			if testing.Short() && i != len(form)%4 {
				continue
			}
			list, err := json.Marshal(allow)
			if err != nil {
				t.Fatal(err)
			}
			can := `"can": {"command": {"allow": ` + string(list) + more + `}}`
			neverWider(t, memfs.FS{"modec.toml": []byte(settings), "modec/a.json": []byte(`{"roles": {"r": {` + can + `}},
				"modes": {"m": {"name": "M", "roleDefinition": "x", ` + can + `}}}`)})
		}
	}
}

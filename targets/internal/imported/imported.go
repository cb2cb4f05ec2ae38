// Package imported holds what every import returns, whatever stands in the files: tests of importers call it.
package imported

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// Hold fails for a mode without a name or a prompt, a server of a name that no source takes, and a rule that a build
// does not write as it is read. spelled returns the text of a rule as it is written; nil: there are no rules.
func Hold(t testing.TB, p *ir.Project, spelled func(text string, d ir.Decision) (string, error)) {
	t.Helper()
	if p == nil {
		return
	}
	for _, m := range p.Modes {
		if m.Slug == "" || m.RoleDefinition == "" {
			t.Errorf("got the mode %+v", m)
		}
		for _, n := range m.Native {
			if spelled == nil {
				break
			}
			if text, err := spelled(n.Text, n.Decision); err != nil || text != n.Text {
				t.Errorf("got the rule %q, and read %q: %v", n.Text, text, err)
			}
		}
	}
	for _, s := range p.Servers {
		if !contract.ServerName(s.Name) {
			t.Errorf("got the server %q", s.Name)
		}
	}
}

// Package persona writes what an agent is told of a mode, for agents that take one text.
package persona

import (
	"strings"

	"modec.dev/modec/compiler/ir"
)

// Description returns what a session reads to choose a mode.
func Description(m *ir.Mode) string {
	parts := texts(m.Description, m.WhenToUse)
	if len(parts) == 0 {
		return m.Slug
	}
	return strings.Join(parts, "\n")
}

// Prompt returns what a mode is told, with a final line break. It is never empty.
func Prompt(m *ir.Mode) string {
	parts := texts(m.RoleDefinition, m.CustomInstructions)
	for _, r := range m.Rules {
		parts = append(parts, strings.TrimSpace(r.Text))
	}
	if len(parts) == 0 {
		parts = []string{m.Slug}
	}
	return strings.Join(parts, "\n\n") + "\n"
}

func texts(list ...string) (out []string) {
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

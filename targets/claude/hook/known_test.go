package hook

import (
	"testing"

	"modec.dev/modec/targets/claude/format"
)

// The importer, which does not ask the hook, knows the same tools.
func TestKnownTools(t *testing.T) {
	for _, tool := range append(Tools(), "BrandNewTool", "") {
		if _, known := toolActions[tool]; known != format.KnownTool(tool) {
			t.Errorf("%q: the hook knows it %v, the format %v", tool, known, format.KnownTool(tool))
		}
	}
}

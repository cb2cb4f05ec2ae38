package claude

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/claude/format"
)

var _ contract.LaidOut = claude{}

// Layout describes a subagent's front matter. A list of tools may be a text with commas.
func (claude) Layout(path string) *layout.Style {
	if !strings.HasPrefix(path, format.AgentsFolder+"/") {
		return nil
	}
	return &layout.Style{
		Read: func(data []byte) (*located.Value, string, error) {
			a, err := format.ReadAgent(path, data)
			if err != nil {
				return nil, "", err
			}
			return a.Root, a.Prompt, nil
		},
		Ignored: func(key string) bool { return !slices.Contains(format.AgentKeys, key) },
		Same: func(key string, a, b *located.Value) bool {
			lists := key == "tools" || key == "disallowedTools"
			return lists && slices.Equal(format.ToolNames(a), format.ToolNames(b)) ||
				key == "description" && layout.SameText(a, b)
		},
	}
}

package format

import (
	"slices"
	"strings"
)

// disarming are variables by which another program runs in place of modec's hook, or by which Claude Code
// obeys other settings (2.1.330: CLAUDE_CODE_SIMPLE runs no hooks, CLAUDE_CODE_SHELL_PREFIX what it names in their
// place).
var disarming = strings.Fields("PATH HOME SHELL ENV BASH_ENV NODE_OPTIONS XDG_STATE_HOME XDG_CONFIG_HOME " +
	"CLAUDE_CONFIG_DIR CLAUDE_CODE_SIMPLE CLAUDE_CODE_SAFE_MODE CLAUDE_CODE_SHELL CLAUDE_CODE_SHELL_PREFIX")

// Disarms reports whether a variable of the environment may undo what a session's settings hold.
func Disarms(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(disarming, name) || slices.ContainsFunc([]string{"MODEC_", "LD_", "DYLD_"},
		func(begin string) bool { return strings.HasPrefix(name, begin) })
}

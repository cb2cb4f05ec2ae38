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

// starting are variables that name a program, or a file that one runs: what CLAUDE_ENV_FILE names runs ahead of every
// command (2.1.330), the others run with a command that seems to be none of theirs.
var starting = strings.Fields("CLAUDE_ENV_FILE BROWSER EDITOR JAVA_TOOL_OPTIONS LESSOPEN NODE_PATH PAGER PERL5LIB " +
	"PERL5OPT PROMPT_COMMAND PYTHONHOME PYTHONPATH PYTHONSTARTUP RUBYLIB RUBYOPT SSH_ASKPASS VISUAL GIT_ASKPASS " +
	"GIT_EDITOR GIT_EXEC_PATH GIT_EXTERNAL_DIFF GIT_PAGER GIT_PROXY_COMMAND GIT_SEQUENCE_EDITOR GIT_SSH " +
	"GIT_SSH_COMMAND GIT_TEMPLATE_DIR")

// Starts reports whether a variable of the environment names what runs in a session.
func Starts(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(starting, name) || strings.HasPrefix(name, "GIT_CONFIG") ||
		strings.HasPrefix(name, "NPM_CONFIG_")
}

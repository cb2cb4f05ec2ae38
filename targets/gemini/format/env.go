package format

import (
	"slices"
	"strings"
)

// EnvFiles are the files of a project of which Gemini CLI takes variables that its environment does not have.
var EnvFiles = []string{Dir + "/.env", ".env"}

// moving are the variables by which Gemini CLI takes other settings, trusts a folder, or works outside of its sandbox,
// and those by which a process that it starts, of itself or for a hook, loads other code. What begins with one is meant
// too.
var moving = []string{"BASH_ENV", "DYLD_", "GEMINI_CLI_", "GEMINI_SANDBOX", "LD_", "NODE_OPTIONS", "SHELLOPTS"}

// Moving returns the names of the variables of a file that decide by which settings Gemini CLI goes. It looks at no
// value.
func Moving(data []byte) (names []string) {
	for line := range strings.Lines(string(data)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		name := strings.TrimSpace(line[:max(0, strings.IndexAny(line, "=:"))])
		if slices.ContainsFunc(moving, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			names = append(names, name)
		}
	}
	return names
}

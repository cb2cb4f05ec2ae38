package claude

import (
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/claude/format"
)

// switches are the options of Claude Code 2.1.330 by which a command line takes away what
// modec's arguments hold, with what they do: those of `claude --help` and those that it hides.
// Claude Code takes no shorter form of an option.
var switches = map[string]string{
	"--settings":                              "Claude Code reads only the last one",
	"--setting-sources":                       "other files would allow more",
	"--managed-settings":                      "they hold over every other settings",
	"--managed-settings-in-initialize":        "they hold over every other settings",
	"--permission-mode":                       "the mode approves what the role asks about",
	"--inherit-permission-mode":               "the mode approves what the role asks about",
	"--enable-auto-mode":                      "a classifier approves what the role asks about",
	"--dangerously-skip-permissions":          "nothing is asked about",
	"--allow-dangerously-skip-permissions":    "nothing may be asked about",
	"--bare":                                  "no hook runs",
	"--safe-mode":                             "no hook runs, and there are no servers and subagents",
	"--allowedTools":                          "they need no question",
	"--allowed-tools":                         "they need no question",
	"--permission-prompt-tool":                "a program answers what a person is asked",
	"--agents":                                "it brings other subagents",
	"--mcp-config":                            "it starts other servers",
	"--channels":                              "other servers drive the session",
	"--dangerously-load-development-channels": "other servers drive the session",
	"--plugin-dir":                            "a plugin brings tools, hooks and subagents",
	"--plugin-dir-no-mcp":                     "a plugin brings tools, hooks and subagents",
	"--plugin-url":                            "a plugin brings tools, hooks and subagents",
	"--add-dir":                               "the folder is read like the project's own",
	"--deep-link-cwd-b64":                     "the session is in another folder",
	"--background":                            "the session is started by another process",
	"--bg":                                    "the session is started by another process",
	"--tmux":                                  "the session is started by another process",
	"--teammate-mode":                         "the session is started by another process",
	"--attach-serve":                          "the session is started by another process",
	"--cloud":                                 "the session runs elsewhere",
	"--remote":                                "the session runs elsewhere",
	"--environment":                           "the session runs elsewhere",
	"--pool":                                  "the session runs elsewhere",
	"--teleport":                              "the session comes from elsewhere",
	"--desktop":                               "the session opens in another program",
	"--web":                                   "the session opens in another program",
	"--cowork":                                "the session opens in another program",
}

// repeated are the options of which Claude Code reads only the last one, and that modec gives to
// some subjects.
var repeated = []string{"--agent", "--tools"}

// commands are the words after which Claude Code starts no session, or another one.
var commands = []string{"agents", "attach", "auth", "auto-mode", "doctor", "gateway", "import", "install", "kill",
	"logs", "mcp", "plugin", "plugins", "purge", "respawn", "rm", "setup-token", "stop", "ultrareview", "update",
	"upgrade"}

// variables do what an option does.
var variables = map[string]string{"CLAUDE_CODE_SIMPLE": "--bare", "CLAUDE_CODE_SAFE_MODE": "--safe-mode"}

// Replaces returns what a person's command line or environment would take away.
func (claude) Replaces(line contract.CommandLine) (contract.Replacement, bool) {
	for i, arg := range line.Own {
		if arg == "--" {
			break
		}
		name, value, written := strings.Cut(arg, "=")
		if !written && i+1 < len(line.Own) {
			value = line.Own[i+1]
		}
		does, decisive := switches[name]
		switch {
		case slices.Contains(commands, arg):
			return contract.ByCommand(arg), true
		case slices.Contains(repeated, name) && givenOption(line.Given, name):
			decisive, does = true, "Claude Code reads only the last one"
		case name == "--dangerously-skip-permissions":
			decisive = !slices.Contains(line.Given, "--permission-mode="+format.Bypass)
		}
		if decisive && !slices.Contains(line.Given, name+"="+value) {
			return contract.ByOption(name, does), true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !slices.Contains([]string{"", "0", "false"}, contract.Variable(line.Env, name)) {
			return contract.Replacement{What: name, Does: switches[variables[name]], Instead: "unset it"}, true
		}
	}
	return contract.Replacement{}, false
}

// givenOption reports whether an option is among modec's arguments.
func givenOption(given []string, name string) bool {
	return slices.ContainsFunc(given, func(a string) bool { return strings.HasPrefix(a, name+"=") })
}

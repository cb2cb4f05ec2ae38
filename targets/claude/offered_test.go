package claude

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/hook"
)

// harmlessOptions are the options of Claude Code that take nothing away from a subject: they
// name what it works on, how it prints, or hold back more. Each was read in `claude --help`.
// Of --agent and --tools the last one counts, which matters where modec gives one.
var harmlessOptions = strings.Fields(`--agent --append-system-prompt --autocompact --ax-screen-reader --betas --brief
	--chrome --continue --debug --debug-file --disable-slash-commands --disallowed-tools --disallowedTools --effort
	--exclude-dynamic-system-prompt-sections --fallback-model --file --fork-session --forward-subagent-text --from-pr
	--help --ide --include-hook-events --include-partial-messages --input-format --json-schema --max-budget-usd --model
	--name --no-chrome --no-session-persistence --output-format --permission-prompts --print --prompt-suggestions
	--remote-control --remote-control-session-name-prefix --replay-user-messages --restricted --resume --session-id
	--strict-mcp-config --system-prompt --system-prompt-snapshot --tools --verbose --version --worktree`)

// TestOffered holds modec's tables against what the installed Claude Code offers, as
// e2e/claude.test.mjs recorded it. For a new name, read what it does and add it to a table.
func TestOffered(t *testing.T) {
	var offered struct {
		Agent                            string
		Tools, Agents, Options, Commands []string
	}
	readJSON(t, "e2e/testdata/offered.json", &offered)
	var pinned struct{ Dependencies map[string]string }
	readJSON(t, "e2e/package.json", &pinned)
	const name = "@anthropic-ai/claude-code"
	if want := name + " " + pinned.Dependencies[name]; offered.Agent != want {
		t.Errorf("the record is of %s, and %s is installed: run make agents", offered.Agent, want)
	}
	for _, tool := range offered.Tools {
		if !slices.Contains(hook.Tools(), tool) {
			t.Errorf("the tool %s is new: say in package hook what it does", tool)
		}
	}
	for _, agent := range offered.Agents {
		if !slices.Contains(format.BuiltInAgents, agent) {
			t.Errorf("the subagent %s is new: name it in format.BuiltInAgents", agent)
		}
	}
	launcher := New().(contract.Launcher)
	for _, option := range offered.Options {
		_, refused := launcher.Replaces(contract.CommandLine{Own: []string{option}})
		if refused == slices.Contains(harmlessOptions, option) {
			t.Errorf("the option %s: got refused %v, want it in one list", option, refused)
		}
	}
	for _, command := range offered.Commands {
		if _, refused := launcher.Replaces(contract.CommandLine{Own: []string{command}}); !refused {
			t.Errorf("the command %s is new: `modec run` starts it as a session", command)
		}
	}
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What a flag cannot ask about is denied only where Claude Code would run it unasked.
func TestFlagsDeny(t *testing.T) {
	for pattern, want := range map[string]bool{
		"docker *": true, "docker ps": true, "docker rm *": false, "git *": true, "git status": true, "git:*": true,
		"git commit *": false, "git -C * push": true, "ls *": true, "npm publish *": false, "* --force": true,
	} {
		p := project()
		p.Roles[0].Can.Command = &ir.Table{Default: &ir.Default{Decision: ir.Agent},
			Rules: []ir.Rule{ruleOf(ir.Ask, pattern)}}
		in := inputOf(t, p, nil)
		args, _ := New().(contract.Launcher).Args(in, ir.SubjectRef{Role: "dev"}, contract.ArgsOptions{FlagsOnly: true, Copies: putting})
		if got := slices.Contains(args, "--disallowedTools=Bash("+pattern+")"); got != want {
			t.Errorf("%s: got denied %v, want %v", pattern, got, want)
		}
	}
}

func TestReplaces(t *testing.T) {
	launcher := New().(contract.Launcher)
	given := []string{"--settings=x", "--permission-mode=bypassPermissions", "--agent=code"}
	for line, want := range map[string]string{
		"--settings=y":                        "--settings",
		"--settings y":                        "--settings",
		"--settings=x":                        "",
		"-p hi --add-dir ..":                  "--add-dir",
		"--permission-mode acceptEdits":       "--permission-mode",
		"--permission-mode bypassPermissions": "",
		"--dangerously-skip-permissions":      "",
		"--agent other":                       "--agent",
		"--tools Read":                        "",
		"-- --settings=y":                     "",
		"--model opus -p fix":                 "",
		"respawn 12":                          "respawn",
		"-w x":                                "",
	} {
		got, _ := launcher.Replaces(contract.CommandLine{Given: given, Own: strings.Fields(line)})
		if got.What != want {
			t.Errorf("%s: got %q, want %q", line, got.What, want)
		}
	}
	for env, want := range map[string]bool{"CLAUDE_CODE_SAFE_MODE=1": true, "CLAUDE_CODE_SIMPLE=0": false, "X=1": false} {
		if _, got := launcher.Replaces(contract.CommandLine{Env: []string{env}}); got != want {
			t.Errorf("%s: got refused %v, want %v", env, got, want)
		}
	}
}

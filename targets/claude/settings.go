package claude

import (
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
)

// Settings returns a role's settings file.
func Settings(in contract.Input, r *ir.Role) ([]byte, error) {
	o, err := newEmitter(in).settings(r)
	if err != nil {
		return nil, err
	}
	return contract.JSON(o), nil
}

// settings builds a role's settings file.
func (e *emitter) settings(r *ir.Role) (contract.Object, error) {
	list, mode, err := e.compile(r)
	if err != nil {
		return nil, err
	}
	return e.settingsOf(r, list, mode, projectPolicy), nil
}

// settingsOf writes rules, mode and environment, and a hook on a policy.
func (e *emitter) settingsOf(r *ir.Role, list *rules, mode, policyFile string) contract.Object {
	permissions := contract.Object{
		"allow", orEmpty(list.allow), "ask", orEmpty(list.ask), "deny", orEmpty(list.deny), "defaultMode", mode}
	if mode != format.Bypass {
		permissions = append(permissions, "disableBypassPermissionsMode", "disable")
	}
	if mode != format.Auto {
		permissions = append(permissions, "disableAutoMode", "disable")
	}
	o := contract.Object{"permissions", permissions}
	if len(r.Env) > 0 {
		o = append(o, "env", r.Env)
	}
	if e.hooks {
		o = append(o, "hooks", preToolUse(hookCommand(policyFile, "role:"+r.Name, "--may-allow")))
	}
	return o
}

// preToolUse runs a command before every tool call.
func preToolUse(command string) contract.Object {
	hook := contract.Object{"type", "command", "command", command, "timeout", 10}
	return contract.Object{"PreToolUse", []any{contract.Object{"matcher", "*", "hooks", []any{hook}}}}
}

// projectPolicy is the policy in the project that a session runs in, as a word of the shell.
const projectPolicy = `"${CLAUDE_PROJECT_DIR}/.modec/policy.json"`

// hookCommand returns the command of a hook. The policy file is a word of the shell. A
// missing modec refuses the call.
func hookCommand(policyFile, subject string, flags ...string) string {
	words := []string{"modec hook claude --model", policyFile, "--subject", contract.ShellQuote(subject)}
	return strings.Join(append(words, flags...), " ") + " || exit 2"
}

func orEmpty(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

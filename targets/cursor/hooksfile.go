package cursor

import (
	"bytes"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/cursor/hook"
)

// hookTimeout is how long Cursor waits, in seconds; modec itself refuses after
// two.
const hookTimeout = 10

// hooksJSON runs modec on every event that can refuse. A hook that is missing,
// fails or prints nothing blocks the call: exit code 2 does so in every version,
// failClosed where it is known. The braces are for the engine's hook runner,
// which may append a here-document to the command: without them the payload
// would go to the exit. model is the policy's path from the project's root, where its
// own hooks run, or an absolute one.
func hooksJSON(p *profile, model string) []byte {
	command := "{ modec hook cursor --model " + contract.ShellQuote(model) +
		" --subject " + contract.ShellQuote(p.label) + " || exit 2; }"
	hooks := contract.Object{}
	for _, event := range hook.Events() {
		hooks = append(hooks, event, []contract.Object{
			{"type", "command", "command", command, "timeout", hookTimeout, "failClosed", true},
		})
	}
	return withoutComments(contract.JSON(contract.Object{"version", 1, "hooks", hooks}))
}

// withoutComments escapes what looks like a comment inside a string: the engine
// cuts comments out of hooks.json before it reads the JSON, in strings too, and a
// file that then breaks switches off every hook (@cursor/sdk 1.0.32).
func withoutComments(data []byte) []byte {
	data = bytes.ReplaceAll(data, []byte("//"), []byte(`\u002f\u002f`))
	return bytes.ReplaceAll(data, []byte("/*"), []byte(`\u002f*`))
}

package cursor

import (
	"bytes"
	"fmt"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/cursor/hook"
)

// hookTimeout is how long Cursor waits, in seconds; modec refuses before.
const hookTimeout = 10

// hooksJSON runs modec on every event by which Cursor asks about what the subject says, a
// line an event. Exit code 2 blocks the call in every version, and failClosed what fails
// otherwise, where it is known. The braces are for the engine's hook runner, which
// may append a here-document to the command: without them the payload would go to the last
// command.
func (e *emitter) hooksJSON(p *profile) []byte {
	modec := e.in.ProjectHook("cursor", p.ref)
	if !p.chosen {
		modec = e.in.SessionHook("cursor", p.ref)
	}
	entry := contract.Object{"command", "{ " + modec + e.in.HookEnd(" || exit 2") + "; }", "timeout", hookTimeout}
	if e.in.Hooked() {
		entry = append(entry, "failClosed", true)
	}
	var lines []string
	for _, event := range hook.Events(e.stated(p)) {
		lines = append(lines, fmt.Sprintf("    %q: [%s]", event, contract.JSONLine(entry)))
	}
	return withoutComments([]byte("{\n  \"version\": 1,\n  \"hooks\": {\n" + strings.Join(lines, ",\n") + "\n  }\n}\n"))
}

// withoutComments escapes what looks like a comment inside a string: the engine
// cuts comments out of hooks.json before it reads the JSON, in strings too, and a
// file that then breaks switches off every hook (@cursor/sdk 1.0.32).
func withoutComments(data []byte) []byte {
	data = bytes.ReplaceAll(data, []byte("//"), []byte(`\u002f\u002f`))
	return bytes.ReplaceAll(data, []byte("/*"), []byte(`\u002f*`))
}

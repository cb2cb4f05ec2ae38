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

// install is the command that installs modec.
const install = "go install modec.dev/modec/cmd/modec@latest"

// missing is how a hook's line ends where the event can ask: with what it answers where modec
// is missing, or another program has its name.
type missing string

const refused missing = " || exit 2"

// askedAbout is the end in a file that travels: modec may not be there yet. Whatever modec
// itself refuses stays refused.
var askedAbout = missing(contract.Unless(
	`{"permission":"ask","user_message":"modec is not installed: ` + install + `"}`))

// travelling returns the hooks of a file in the repository.
func (e *emitter) travelling(p *profile) []byte {
	if e.in.Options.Switch("hooks") == contract.Always {
		return e.hooksJSON(p, refused)
	}
	return e.hooksJSON(p, askedAbout)
}

// hooksJSON runs modec on every event by which Cursor asks about what the subject says, a
// line an event. Exit code 2 blocks the call in every version. Where a hook must not be
// missing, failClosed blocks what fails otherwise, where it is known; else an event that
// cannot ask goes on as without the hook. The braces are for the engine's hook runner, which
// may append a here-document to the command: without them the payload would go to the last
// command.
func (e *emitter) hooksJSON(p *profile, without missing) []byte {
	modec := e.in.ProjectHook("cursor", p.ref)
	if !p.chosen {
		modec = e.in.SessionHook("cursor", p.ref)
	}
	var lines []string
	for _, event := range hook.Events(e.stated(p)) {
		command := modec
		if without == refused || hook.CanAsk(event) {
			command = "{ " + modec + string(without) + "; }"
		}
		entry := contract.Object{"command", command, "timeout", hookTimeout}
		if without == refused {
			entry = append(entry, "failClosed", true)
		}
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

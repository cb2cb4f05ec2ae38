package cursor

import (
	"bytes"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/cursor/hook"
)

// hookTimeout is how long Cursor waits, in seconds; modec itself refuses after
// two.
const hookTimeout = 10

// projectPolicy reads the project's own policy: its hooks run in the project's root.
const projectPolicy = "--model " + contract.PolicyFile

// install is the command that installs modec.
const install = "go install modec.dev/modec/cmd/modec@latest"

// missing is what a hook answers where modec is missing, or another program has its name.
type missing string

const (
	refused missing = " || exit 2"
	// askedAbout is the answer of a file that travels, where the event can ask: modec may not
	// be there yet. Whatever modec itself refuses stays refused.
	askedAbout missing = `{"permission":"ask","user_message":"modec is not installed: ` + install + `"}`
)

// travelling returns the hooks of a file in the repository.
func (e *emitter) travelling(p *profile) []byte {
	if e.in.Options.Switch("hooks") == contract.Always {
		return e.hooksJSON(p, projectPolicy, refused)
	}
	return e.hooksJSON(p, projectPolicy, askedAbout)
}

// hooksJSON runs modec on every event by which Cursor asks about what the subject says. A
// hook that fails or prints nothing blocks the call: exit code 2 does so in every version,
// failClosed where it is known. The braces are for the engine's hook runner,
// which may append a here-document to the command: without them the payload
// would go to the last command. policy is the options that name the policy.
func (e *emitter) hooksJSON(p *profile, policy string, without missing) []byte {
	hooks, digest := contract.Object{}, e.in.Policy.Digest(p.ref)
	for _, event := range hook.Events(e.stated(p)) {
		end := string(refused)
		if without == askedAbout && hook.CanAsk(event) {
			end = contract.Unless(string(askedAbout))
		}
		command := "{ modec hook cursor " + policy + " --subject " + contract.ShellQuote(p.label) +
			" --digest " + digest + end + "; }"
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

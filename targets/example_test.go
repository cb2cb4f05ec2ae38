package targets_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets"
)

// What a target can do beyond emitting is asked by interface, never by name.
func ExampleAll() {
	for _, t := range targets.All() {
		_, judged := t.(contract.Judged)
		_, importer := t.(contract.Importer)
		fmt.Printf("%s: judged %t, imported %t\n", t.Name(), judged, importer)
	}
	// Output:
	// roo: judged true, imported true
	// zoo: judged true, imported true
	// cursor: judged true, imported true
	// claude: judged true, imported true
	// gemini: judged true, imported true
	// codex: judged true, imported true
	// copilot: judged true, imported true
	// opencode: judged true, imported true
	// kilo: judged true, imported true
	// vscode: judged true, imported true
	// mcpnest: judged true, imported false
	// thurbox: judged true, imported true
	// model: judged false, imported false
}

// Package targets lists the agents that modec compiles for.
package targets

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/claude"
	"modec.dev/modec/targets/codex"
	"modec.dev/modec/targets/copilot"
	"modec.dev/modec/targets/cursor"
	"modec.dev/modec/targets/gemini"
	"modec.dev/modec/targets/kilo"
	"modec.dev/modec/targets/mcpnest"
	"modec.dev/modec/targets/model"
	"modec.dev/modec/targets/opencode"
	"modec.dev/modec/targets/roo"
	"modec.dev/modec/targets/thurbox"
	"modec.dev/modec/targets/vscode"
)

// All returns every target in the order in which it is printed. Adding a
// target means its package and one line here.
func All() []contract.Target {
	return []contract.Target{
		roo.New(),
		roo.NewZoo(),
		cursor.New(),
		claude.New(),
		gemini.New(),
		codex.New(),
		copilot.New(),
		opencode.New(),
		kilo.New(),
		vscode.New(),
		mcpnest.New(),
		thurbox.New(),
		model.New(),
	}
}

// Package targets lists the agents that modec compiles for.
package targets

import (
	"modec.dev/modec/compiler/target"
	"modec.dev/modec/targets/model"
)

// All returns every target in the order in which it is printed. Adding a
// target means its package and one line here.
func All() []target.Target {
	return []target.Target{
		model.New(),
	}
}

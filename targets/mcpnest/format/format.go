// Package format describes modec's stubs for MCP-Nest: their names, and the part of
// TypeScript that their tables are written in.
//
// The emitter and the model share this package and nothing else. [Constant] reads a table
// into values with their places and decides nothing.
package format

// Dir is the folder of the stubs in a project.
const Dir = "mcp-nest/modec"

// The stubs, by their paths in a project.
const (
	Authentication = Dir + "/authentication.ts" // TokenGuard, where modec verifies tokens
	Decide         = Dir + "/decide.ts"         // what the tables mean
	Guards         = Dir + "/guards.ts"         // the decorator of a tool, and assertPolicy
	Index          = Dir + "/index.ts"          // what an application imports
	Module         = Dir + "/module.ts"         // withPolicy, which enforces the policy in 1.9
	Policy         = Dir + "/policy.ts"         // the tables: what comes from the source
	Strategy       = Dir + "/strategy.ts"       // PolicyMcpStrategy, which enforces it in 2.x
	Tools          = Dir + "/tools.ts"          // the search for tools that the policy does not cover
)

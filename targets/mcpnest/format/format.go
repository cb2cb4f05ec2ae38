// Package format is what modec's stubs for MCP-Nest look like: their names, and the part
// of TypeScript that their tables are written in.
//
// The emitter and the model share this package and nothing else. [Constant] reads a table
// into values with their places and decides nothing.
package format

// Dir is the folder of the stubs in a project.
const Dir = "mcp-nest/modec"

// The stubs, by their paths in a project.
const (
	Guards   = Dir + "/guards.ts"   // the code that decides
	Index    = Dir + "/index.ts"    // what an application imports
	Policy   = Dir + "/policy.ts"   // the tables ROLE_CLAIMS and TOOL_POLICY
	Strategy = Dir + "/strategy.ts" // PolicyMcpStrategy, where the list needs it
)

package thurbox

import "modec.dev/modec/compiler/diag"

// The codes that the emitter reports.
const (
	codeAgentName diag.Code = "thurbox-agent-name"
	codeComma     diag.Code = "thurbox-comma"
	codeName      diag.Code = "thurbox-name"
	codeNoClaude  diag.Code = "thurbox-no-claude"
	codeNoRoles   diag.Code = "thurbox-no-roles"
	codeToken     diag.Code = "thurbox-token"
)

// emitterCodes documents them.
func emitterCodes() []diag.Doc {
	return []diag.Doc{
		{Code: codeAgentName, Text: "Thurbox's hooks extension appends arguments to the agents claude and aider, " +
			"whatever they run. For claude that is a second --settings, which makes Claude Code forget the first " +
			"one with every rule and hook in it. The role is left out of agents.toml. Give it another name."},
		{Code: codeComma, Text: "Thurbox tears a rule apart at every comma when it reads its database. An allow " +
			"with a comma is left out; a deny of paths has a wildcard for the comma, and for any other deny all " +
			"tools of its group are denied. agents.toml names the settings file, which has both."},
		{Code: codeNoClaude, Text: "The agents of agents.toml start Claude Code with the settings file of a role, " +
			"which the target claude writes. Without [targets.claude] there is no such file, and agents.toml is " +
			"not written."},
		{Code: codeNoRoles, Text: "The source has no roles, and this target emits only Thurbox roles. An empty " +
			"set_roles call would delete the roles of the project, so that nothing is written."},
		{Code: codeToken, Text: "Thurbox replaces {id} and {home} in the arguments of an agent, also inside the " +
			"system prompt that agents.toml passes. No permission is concerned. Write the words in another way, " +
			"such as { home }."},
		{Code: codeName, Text: "Thurbox limits a role's name to 64 bytes, not characters. The role is left out of " +
			"set_roles. Shorten the name."},
	}
}

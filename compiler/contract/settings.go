package contract

import (
	"slices"
	"strings"
)

// modeSettings are the keys that agents.NAME.settings of a mode may have, by agent; other.KEY is one of the object
// other. None of them starts a program or switches hooks off, and what tools, disallowedTools and permissionMode
// permit beyond can is left out. Claude Code takes names of servers in mcpServers, and no servers.
var modeSettings = map[string][]string{
	"claude": strings.Fields("autoCompactWindow background cacheTtl color disallowedTools effort file initialPrompt " +
		"isolation maxTurns mcpServers memory model name omitClaudeMd permissionMode prompt skills tools"),
	"codex": strings.Fields("file model name reasoningEffort other.model_reasoning_summary other.model_verbosity " +
		"other.nickname_candidates other.personality other.service_tier"),
	"copilot": strings.Fields("file model name tools other.agents other.argument-hint other.disable-model-invocation " +
		"other.handoffs other.include-custom-instructions other.infer other.metadata other.target " +
		"other.user-invocable other.user-invokable"),
	"gemini":   strings.Fields("file kind maxTurns model name temperature timeoutMins tools"),
	"kilo":     ofOpencode,
	"opencode": ofOpencode,
	"roo":      ofRoo,
	"zoo":      ofRoo,
}

var (
	ofRoo      = []string{"groups", "source"}
	ofOpencode = strings.Fields("color file hidden mode model name order prompt steps temperature top_p variant " +
		"other.include other.maxSteps other.options other.reasoningEffort other.reasoningSummary other.textVerbosity " +
		"other.thinking")
)

// roleSettings are the same of a role.
var roleSettings = map[string][]string{"kilo": {"order"}, "opencode": {"order"}}

// SettingKeys returns the keys that agents.TARGET.settings of a mode, or of a role, may have.
func SettingKeys(target string, role bool) []string {
	if role {
		return roleSettings[target]
	}
	return modeSettings[target]
}

// TakesSetting reports whether a mode may have a key in agents.TARGET.settings.
func TakesSetting(target, key string) bool { return slices.Contains(modeSettings[target], key) }

// refused are the kinds of keys that no settings take, each with what to do instead.
var refused = []struct {
	keys      []string
	why, hint string
}{
	{strings.Fields("hooks apiKeyHelper awsAuthRefresh awsCredentialExport otelHeadersHelper fileSuggestion " +
		"statusLine enabledPlugins extraKnownMarketplaces plugin notify"), "it starts programs", inOwnFile},
	{strings.Fields("mcpServers mcp_servers mcp-servers mcp"), "it starts servers", "write the server in servers"},
	{strings.Fields("env environment shell_environment_policy"), "variables can start programs and undo what the " +
		"source denies", inOwnFile},
	{strings.Fields("disableAllHooks hooksConfig"), "it switches hooks off", inOwnFile},
	{strings.Fields("permissions permission sandbox sandbox_mode sandbox_workspace_write approval_policy " +
		"approvals_reviewer default_permissions features allowedTools additionalDirectories trust"),
		"it is a permission", "write in can what is permitted, or in native in the agent's own words"},
}

const inOwnFile = "write it in the agent's own settings file, where it stays yours"

// RefusedSetting says why agents.TARGET.settings of a mode, or of a role, do not take a key, and what to do instead.
func RefusedSetting(target, key string, role bool) (why, hint string) {
	ofMode := func(k string) bool { return k == key || strings.HasPrefix(k, key+".") }
	if role && slices.ContainsFunc(modeSettings[target], ofMode) {
		return "it is a setting of a mode, and this is a role", "remove it"
	}
	for _, r := range refused {
		if slices.Contains(r.keys, strings.TrimPrefix(key, "other.")) {
			return r.why, r.hint
		}
	}
	hint = "write it in the agent's own file"
	if takes := SettingKeys(target, role); len(takes) > 0 {
		hint += "; settings may have " + strings.Join(takes, ", ")
	}
	return "modec knows no such setting, and it could be a permission or start a program", hint
}

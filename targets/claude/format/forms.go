package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// FormError is about a value of another form than Claude Code wants, for which it loads nothing of the file.
type FormError struct {
	At   diag.Pos
	Key  string
	Want string
}

func (e *FormError) Error() string {
	return fmt.Sprintf("got another form of %q, want %s", e.Key, e.Want)
}

// PlaceOf returns the place in a file that an error of its reader is about.
func PlaceOf(file string, err error) diag.Pos {
	if form := (*FormError)(nil); errors.As(err, &form) {
		return form.At
	}
	return located.PlaceOf(file, err)
}

// form is what values of some keys look like.
type form struct {
	want string
	is   func(*located.Value) bool
	keys string
}

// checkForms returns an error about the first member of another form than its key has.
func checkForms(v *located.Value, forms func() map[string]*form) error {
	for _, m := range v.Fields() {
		if f := forms()[m.Key]; f != nil && !f.is(m.Value) {
			return &FormError{m.Value.Pos, m.Key, f.want}
		}
	}
	return nil
}

func byKey(list ...form) func() map[string]*form {
	return sync.OnceValue(func() map[string]*form {
		of := map[string]*form{}
		for i := range list {
			for _, key := range strings.Fields(list[i].keys) {
				of[key] = &list[i]
			}
		}
		return of
	})
}

func isText(v *located.Value) bool   { return v.Is(located.String) }
func isSwitch(v *located.Value) bool { return v.Is(located.Bool) }
func isList(v *located.Value) bool   { return v.Is(located.List) }
func isObject(v *located.Value) bool { return v.Is(located.Object) }
func isNumber(v *located.Value) bool { return v.Is(located.Number) }

func isAbove(least float64) func(*located.Value) bool {
	return func(v *located.Value) bool { n, ok := number(v); return ok && n > least }
}

func isOneOf(texts ...string) func(*located.Value) bool {
	return func(v *located.Value) bool { return isText(v) && slices.Contains(texts, v.Text) }
}

// settingForms are the keys of a settings file for which, where the value has another form, Claude Code loads
// nothing of it, rules included: each was tried on 2.1.330. Of other keys such a value is left out.
var settingForms = byKey(
	form{"a text", isText, "$schema advisorModel agent apiKeyHelper attributionProject autoMemoryDirectory " +
		"awsAuthRefresh awsCredentialExport claudeMd gcpAuthRefresh language minimumVersion model " +
		"otelHeadersHelper outputStyle plansDirectory pluginTrustMessage prUrlTemplate processWrapper " +
		"proxyAuthHelper requiredMaximumVersion requiredMinimumVersion timeZone"},
	form{"an object", isObject, "attribution breakReminder enabledPlugins env fileSuggestion modelOverrides " +
		"permissions pluginConfigs quietHours remote remoteTools sandbox skillOverrides spinnerVerbs statusLine " +
		"voice worktree"},
	form{"a list", isList, "allowedChannelPlugins allowedHttpHookUrls availableModels claudeMdExcludes " +
		"companyAnnouncements fallbackModel httpHookAllowedEnvVars pluginSuggestionMarketplaces sshConfigs"},
	form{"a number", isNumber, "feedbackSurveyRate"},
	form{"a number above zero", isAbove(0), "cleanupPeriodDays skillListingBudgetFraction " +
		"skillListingMaxDescChars totalTokensReminderBudget"},
	form{"true or false", isSwitch, "agentPushNotifEnabled allowAllClaudeAiMcps allowClaudeInChromeWithManagedMcp " +
		"allowManagedHooksOnly allowManagedMcpServersOnly allowManagedPermissionRulesOnly " +
		"allowNestedModelAccessUnderForceLogin alwaysThinkingEnabled autoCompactEnabled " +
		"autoContinueAtUsageLimit autoDreamEnabled autoMemoryEnabled autoScrollEnabled autoUploadSessions " +
		"awaySummaryEnabled bashEditDiffEnabled channelsEnabled clawdFileProgressEnabled disableAgentView " +
		"disableAllHooks disableArtifact disableBundledSkills disableClaudeAiConnectors " +
		"disableCommandPluginSources disableDirectMcpSkills disableRemoteControl disableReplyCheck " +
		"disableSideloadFlags disableSkillShellExecution disableWindowsBashCommandSplit disableWorkflows " +
		"doneMeansMerged emojiCompletionEnabled enableAllProjectMcpServers enableArtifact enableWorkflows " +
		"enforceAvailableModels fastMode fastModePerSessionOptIn fileCheckpointingEnabled " +
		"forceRemoteSettingsRefresh idleCompaction includeCoAuthoredBy includeGitInstructions " +
		"inputNeededNotifEnabled isolatePeerMachines precomputeCompactionEnabled prefersReducedMotion " +
		"promptSuggestionEnabled remoteControlAtStartup respectGitignore respondToBashCommands " +
		"responseComparisonEnabled showClearContextOnPlanAccept showMessageTimestamps " +
		"showThinkingSummaries showTurnDuration skipDangerousModePermissionPrompt skipWebFetchPreflight " +
		"skipWorkflowUsageWarning spinnerTipsEnabled switchModelsOnFlag syncClaudeAiPlugins " +
		"syncClaudeAiSkills syntaxHighlightingDisabled terminalProgressBarEnabled terminalTitleFromRename " +
		"todoFeatureEnabled totalTokensReminderAfterUserTurn verbose wheelScrollAccelerationEnabled " +
		"workflowKeywordTriggerEnabled wslInheritsWindowsSettings"},
	form{`"latest", "stable" or "rc"`, isOneOf("latest", "stable", "rc"), "autoUpdatesChannel"},
	form{`"bash" or "powershell"`, isOneOf("bash", "powershell"), "defaultShell"},
	form{`"disable"`, isOneOf("disable"), "disableAutoMode"},
	form{`"default" or "fullscreen"`, isOneOf("default", "fullscreen"), "tui"},
)

// permissionForms are the same below permissions.
var permissionForms = byKey(
	form{"a list", isList, "allow ask deny additionalDirectories"},
	form{`"disable"`, isOneOf("disable"), "disableAutoMode disableBypassPermissionsMode"},
	form{"true or false", isSwitch, "blockReadsOutsideWorkingDirectories"},
)

// hookForms are those of the fields of a hook.
var hookForms = byKey(
	form{"a text", isText, "if statusMessage model"},
	form{"a text that is not empty", func(v *located.Value) bool { return isText(v) && v.Text != "" },
		"rewakeMessage rewakeSummary"},
	form{"true or false", isSwitch, "async asyncRewake once holdsTools continueOnBlock"},
	form{"a number above zero", isAbove(0), "timeout"},
	form{`"bash" or "powershell"`, isOneOf("bash", "powershell"), "shell"},
	form{`"continue" or "block"`, isOneOf("continue", "block"), "onFailure"},
	form{"a list of texts",
		func(v *located.Value) bool { return isList(v) && len(v.Strings()) == len(v.Items) }, "args"},
)

// checkSettings returns why Claude Code loads nothing of a settings file.
func checkSettings(v *located.Value) error {
	if err := checkForms(v, settingForms); err != nil {
		return err
	}
	if err := checkForms(v.Get("permissions"), permissionForms); err != nil {
		return err
	}
	for _, m := range v.Fields() {
		if m.Key != "hooks" {
			if err := strayGuard(m); err != nil {
				return err
			}
		}
	}
	return checkHooks(v.Get("hooks"))
}

// Protected are the names of files and folders about which Claude Code asks before edits in every mode but
// bypassPermissions, whatever rule allows them. Observed for these names on 2.1.329, at any depth.
var Protected = []string{".git", ".vscode", ".claude", ".mcp.json"}

// strayGuard returns an error about a hook that decides and stands at another key than hooks.
func strayGuard(m located.Member) error {
	group := func(v *located.Value) bool { return v.Get("hooks") != nil }
	named := func(event string) bool { return strings.EqualFold(event, m.Key) }
	if slices.ContainsFunc(Guards, named) && slices.ContainsFunc(m.Value.List(), group) {
		return &FormError{m.Pos, m.Key, "it among the hooks"}
	}
	for _, below := range m.Value.Fields() {
		if err := strayGuard(below); err != nil {
			return err
		}
	}
	return nil
}

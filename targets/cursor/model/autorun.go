package model

import (
	"slices"

	"modec.dev/modec/targets/cursor/format"
)

// Allowlist contains the tools that run without a question.
type Allowlist []format.Entry

// Find returns the first entry that lets a tool run, -1 where there is none.
func (l Allowlist) Find(server, tool string) int {
	return slices.IndexFunc(l, func(e format.Entry) bool { return e.Matches(server, tool) })
}

// ParseAllowlist reads entries. It fails at the first that Cursor does not read as one.
func ParseAllowlist(texts []string) (Allowlist, error) {
	var list Allowlist
	for _, text := range texts {
		e, err := format.ParseEntry(text)
		if err != nil {
			return list, err
		}
		list = append(list, e)
	}
	return list, nil
}

// AutoRun is everything that decides whether an MCP tool runs without a question.
type AutoRun struct {
	Mode format.RunMode
	List Allowlist // the user's
	// GateOff is set where the release has the allowlist switched off (the feature gate
	// mcp_allowlists): Cursor ignores every list.
	GateOff bool
	// ProtectTools is the setting mcpToolsProtection: Cursor asks about every MCP tool.
	ProtectTools bool
	// ProtectBrowser is the setting that keeps the built-in browser's tools from running
	// by themselves. Without it they always do, whatever the run mode and the lists are.
	ProtectBrowser bool
	Admin          *AdminControls // nil where no organisation controls the run mode
}

// AdminControls are what an organisation sets. With them Cursor ignores the user's list.
type AdminControls struct {
	Disabled bool // MCP tools never run by themselves
	List     Allowlist
}

// BrowserServers are the ids under which Cursor runs its own browser.
var BrowserServers = []string{"cursor-ide-browser", "cursor-browser-extension"}

// Ran says whether a tool runs without a question, and why.
type Ran struct {
	Alone bool
	Why   Reason
	Entry format.Entry // that lets it run, for ByUserList and ByAdminList
}

// Reason names what decided.
type Reason string

const (
	ByMode         Reason = "the run mode"
	ByAdmin        Reason = "the organisation's settings"
	ByProtection   Reason = "the protection of MCP tools"
	ByBrowser      Reason = "the protection of the browser"
	ByNoBrowser    Reason = "the protection of the browser, which is off"
	ByGate         Reason = "an allowlist that is switched off"
	ByUserList     Reason = "the allowlist"
	ByAdminList    Reason = "the organisation's allowlist"
	ByNoUserEntry  Reason = "no entry of the allowlist"
	ByNoAdminEntry Reason = "no entry of the organisation's allowlist"
)

// Decide returns whether a tool runs without a question. The first of these decides: an
// organisation's prohibition, the protection of the browser for its tools and of MCP tools
// for the rest, asking every time, Run Everything where no organisation controls it, a list
// that is switched off, the organisation's list or else the user's.
func (a AutoRun) Decide(server, tool string) Ran {
	switch browser := isBrowser(server); {
	case a.Admin != nil && a.Admin.Disabled:
		return Ran{Why: ByAdmin}
	case browser && a.ProtectBrowser:
		return Ran{Why: ByBrowser}
	case browser:
		return Ran{Alone: true, Why: ByNoBrowser}
	case a.ProtectTools:
		return Ran{Why: ByProtection}
	case a.Mode == format.AskEveryTime:
		return Ran{Why: ByMode}
	case a.Mode == format.RunEverything && a.Admin == nil:
		return Ran{Alone: true, Why: ByMode}
	case a.GateOff: // the older rule: what is not protected runs
		return Ran{Alone: true, Why: ByGate}
	}
	list, found, missed := a.List, ByUserList, ByNoUserEntry
	if a.Admin != nil {
		list, found, missed = a.Admin.List, ByAdminList, ByNoAdminEntry
	}
	if i := list.Find(server, tool); i >= 0 {
		return Ran{Alone: true, Why: found, Entry: list[i]}
	}
	return Ran{Why: missed}
}

func isBrowser(server string) bool { return slices.Contains(BrowserServers, format.Fold(server)) }

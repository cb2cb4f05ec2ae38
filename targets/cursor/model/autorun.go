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

// AutoRun is everything that decides whether an MCP tool runs without a question.
type AutoRun struct {
	Mode format.RunMode
	List Allowlist // the user's
	// GateOff is set where the release has the allowlist switched off: Cursor ignores
	// the list.
	GateOff bool
	// ProtectBrowser is the setting that keeps the built-in browser's tools
	// from running by themselves.
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
	ByBrowser      Reason = "the protection of the browser"
	ByGate         Reason = "an allowlist that is switched off"
	ByUserList     Reason = "the allowlist"
	ByAdminList    Reason = "the organisation's allowlist"
	ByNoUserEntry  Reason = "no entry of the allowlist"
	ByNoAdminEntry Reason = "no entry of the organisation's allowlist"
)

// Decide returns whether a tool runs without a question. The first of these decides:
// asking every time, an organisation's prohibition, the protection of the browser, Run
// Everything, a list that is switched off, the organisation's list or else the user's.
func (a AutoRun) Decide(server, tool string) Ran {
	switch {
	case a.Mode == format.AskEveryTime:
		return Ran{Why: ByMode}
	case a.Admin != nil && a.Admin.Disabled:
		return Ran{Why: ByAdmin}
	case a.ProtectBrowser && isBrowser(server):
		return Ran{Why: ByBrowser}
	case a.Mode == format.RunEverything:
		return Ran{Alone: true, Why: ByMode}
	case a.GateOff:
		return Ran{Why: ByGate}
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

package cursor

// RunMode is how Cursor's IDE decides whether a tool waits for its person. The
// values are those of approvalMode in permissions.json.
type RunMode string

const (
	AskEveryTime  RunMode = "manual"
	UseAllowlist  RunMode = "allowlist"
	RunEverything RunMode = "unrestricted"
)

// AutoRun is everything that decides whether an MCP tool runs without a
// question.
type AutoRun struct {
	Mode RunMode
	List Allowlist // the user's
	// GateOff is set where the release has the allowlist switched off: the
	// list is not looked at.
	GateOff bool
	// ProtectBrowser is the setting that keeps the built-in browser's tools
	// from running by themselves.
	ProtectBrowser bool
	Admin          *AdminControls // nil: no organisation controls the run mode
}

// AdminControls are an organisation's. With them the user's list is not looked
// at, only theirs.
type AdminControls struct {
	Disabled bool // MCP tools never run by themselves
	List     Allowlist
}

// BrowserServers are the ids under which Cursor runs its own browser.
var BrowserServers = []string{"cursor-ide-browser", "cursor-browser-extension"}

// Ran is the answer: whether the tool runs without a question, and why.
type Ran struct {
	Alone bool
	Why   Reason
	Entry Entry // that lets it run, for ByUserList and ByAdminList
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

// Decide tells whether a tool runs without a question. Asking every time and an
// organisation's prohibition hold before everything; then the browser is
// protected; Run Everything looks at no list; what is left is a list's.
func (a AutoRun) Decide(server, tool string) Ran {
	switch {
	case a.Mode == AskEveryTime:
		return Ran{Why: ByMode}
	case a.Admin != nil && a.Admin.Disabled:
		return Ran{Why: ByAdmin}
	case a.ProtectBrowser && isBrowser(server):
		return Ran{Why: ByBrowser}
	case a.Mode == RunEverything:
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

func isBrowser(server string) bool {
	for _, id := range BrowserServers {
		if lowered(server) == id {
			return true
		}
	}
	return false
}

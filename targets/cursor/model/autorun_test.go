package model

import (
	"strings"
	"testing"

	"modec.dev/modec/targets/cursor/format"
)

func listOf(t *testing.T, texts ...string) (list Allowlist) {
	t.Helper()
	for _, text := range texts {
		e, err := format.ParseEntry(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// needsApproval is the decision as the analysis of Cursor's allowlist writes it down
// (m4c, and the simpler check where the feature gate is off), in its own order and words.
func needsApproval(server, tool string, a AutoRun) bool {
	isAdminControlled, isDisabledByAdmin := a.Admin != nil, a.Admin != nil && a.Admin.Disabled
	isPlaywright := server == "cursor-browser-extension" || server == "cursor-ide-browser"
	protectionEnabled := a.ProtectTools
	if isPlaywright {
		protectionEnabled = a.ProtectBrowser
	}
	if isDisabledByAdmin || protectionEnabled {
		return true
	}
	if isPlaywright {
		return false
	}
	useAllowlist, runEverything := a.Mode != format.AskEveryTime, a.Mode == format.RunEverything
	if a.GateOff {
		return !useAllowlist
	}
	if runEverything && !isAdminControlled {
		return false
	}
	if !useAllowlist && !runEverything {
		return true
	}
	allowed := a.List
	if isAdminControlled {
		allowed = a.Admin.List
	}
	for _, e := range allowed {
		if (e.Server == "*" || e.Server == server) && (e.Tool == "*" || e.Tool == tool) {
			return false
		}
	}
	return true
}

// Every state: three run modes, four kinds of organisation, the gate, both protections, the
// user's list with the tool and without, for a server and for Cursor's own browser.
func TestAutoRun(t *testing.T) {
	with, without := listOf(t, "*:x"), listOf(t, "*:y")
	rows, runs := 0, 0
	for _, mode := range []format.RunMode{format.AskEveryTime, format.UseAllowlist, format.RunEverything} {
		for _, admin := range []*AdminControls{nil, {Disabled: true, List: with}, {List: without}, {List: with}} {
			for state := range 32 {
				a := AutoRun{Mode: mode, Admin: admin, List: without, GateOff: state&1 != 0,
					ProtectTools: state&2 != 0, ProtectBrowser: state&4 != 0}
				if state&8 != 0 {
					a.List = with
				}
				server := "docs"
				if state&16 != 0 {
					server = "cursor-ide-browser"
				}
				got := a.Decide(server, "x")
				if want := needsApproval(server, "x", a); got.Alone == want {
					t.Errorf("%s of %s with %+v: got %+v", server, mode, a, got)
				}
				if rows++; got.Alone {
					runs++
				}
			}
		}
	}
	if rows != 384 || runs == 0 || runs == rows {
		t.Errorf("got %d rows, of which %d run", rows, runs)
	}
	for _, server := range BrowserServers {
		if got := (AutoRun{ProtectBrowser: true}).Decide(" "+strings.ToUpper(server), "x"); got.Why != ByBrowser {
			t.Errorf("%s: got %+v", server, got)
		}
	}
}

// The same in plain rows, with the reasons.
func TestAutoRunRows(t *testing.T) {
	mine, theirs := listOf(t, "docs:get"), listOf(t, "shop:*")
	for _, c := range []struct {
		name         string
		a            AutoRun
		server, tool string
		alone        bool
		why          Reason
	}{
		{"asking every time asks about a listed tool", AutoRun{Mode: format.AskEveryTime, List: mine}, "docs", "get",
			false, ByMode},
		{"a listed tool runs", AutoRun{Mode: format.UseAllowlist, List: mine}, "DOCS", "get", true, ByUserList},
		{"an unlisted tool is asked", AutoRun{Mode: format.UseAllowlist, List: mine}, "docs", "set", false,
			ByNoUserEntry},
		{"an empty list lists nothing", AutoRun{Mode: format.UseAllowlist}, "docs", "get", false, ByNoUserEntry},
		{"everything runs", AutoRun{Mode: format.RunEverything}, "docs", "set", true, ByMode},
		{"the organisation forbids even that",
			AutoRun{Mode: format.RunEverything, Admin: &AdminControls{Disabled: true}}, "docs", "get", false, ByAdmin},
		{"the organisation's list stands alone",
			AutoRun{Mode: format.UseAllowlist, List: mine, Admin: &AdminControls{List: theirs}}, "docs", "get", false,
			ByNoAdminEntry},
		{"and lets its own run", AutoRun{Mode: format.UseAllowlist, List: mine, Admin: &AdminControls{List: theirs}},
			"shop", "buy", true, ByAdminList},
		{"the browser is protected in spite of the list",
			AutoRun{Mode: format.UseAllowlist, List: listOf(t, "*:*"), ProtectBrowser: true}, "cursor-ide-browser",
			"click", false, ByBrowser},
		{"and in spite of the run mode", AutoRun{Mode: format.RunEverything, ProtectBrowser: true},
			"cursor-browser-extension", "click", false, ByBrowser},
		{"unprotected it runs, whatever the list says", AutoRun{Mode: format.UseAllowlist}, "cursor-ide-browser",
			"click", true, ByNoBrowser},
		{"protected tools are asked about in spite of the list",
			AutoRun{Mode: format.UseAllowlist, List: mine, ProtectTools: true}, "docs", "get", false, ByProtection},
		{"and in spite of Run Everything", AutoRun{Mode: format.RunEverything, ProtectTools: true}, "docs", "get",
			false, ByProtection},
		{"an organisation takes Run Everything away",
			AutoRun{Mode: format.RunEverything, Admin: &AdminControls{List: theirs}}, "docs", "get", false,
			ByNoAdminEntry},
		{"and runs its own list then",
			AutoRun{Mode: format.RunEverything, Admin: &AdminControls{List: theirs}}, "shop", "buy", true,
			ByAdminList},
		{"a gate that is off silences the list", AutoRun{Mode: format.UseAllowlist, GateOff: true}, "docs", "set", true,
			ByGate},
		{"but not the protection", AutoRun{Mode: format.UseAllowlist, List: mine, GateOff: true, ProtectTools: true},
			"docs", "get", false, ByProtection},
		{"and not the run mode", AutoRun{Mode: format.RunEverything, GateOff: true}, "docs", "get", true, ByMode},
	} {
		if got := c.a.Decide(c.server, c.tool); got.Alone != c.alone || got.Why != c.why {
			t.Errorf("%s: got %+v, want %v by %s", c.name, got, c.alone, c.why)
		}
	}
}

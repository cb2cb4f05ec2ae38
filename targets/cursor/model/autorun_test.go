package model

import (
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

// The whole table. A column is a state: the gate (on, then off), a browser that
// is protected (no, then yes), the user's list (without the tool, then with
// it). R runs without a question.
func TestAutoRun(t *testing.T) {
	lists := map[bool]Allowlist{false: nil, true: listOf(t, "*:x")}
	admins := map[string]*AdminControls{"none": nil, "forbids": {Disabled: true, List: lists[true]},
		"lists another": {List: listOf(t, "*:y")}, "lists it": {List: lists[true]}}
	for _, c := range []struct {
		mode  format.RunMode
		admin string
		want  string
	}{
		{format.AskEveryTime, "none", "........"},
		{format.AskEveryTime, "forbids", "........"},
		{format.AskEveryTime, "lists another", "........"},
		{format.AskEveryTime, "lists it", "........"},
		{format.UseAllowlist, "none", ".R......"},
		{format.UseAllowlist, "forbids", "........"},
		{format.UseAllowlist, "lists another", "........"},
		{format.UseAllowlist, "lists it", "RR......"},
		{format.RunEverything, "none", "RR..RR.."},
		{format.RunEverything, "forbids", "........"},
		{format.RunEverything, "lists another", "RR..RR.."},
		{format.RunEverything, "lists it", "RR..RR.."},
	} {
		for i := range c.want {
			gateOff, protected, listed := i&4 != 0, i&2 != 0, i&1 != 0
			for _, state := range []struct {
				protect bool
				server  string
			}{{true, "cursor-ide-browser"}, {true, " Cursor-Browser-Extension"}, {true, "docs"}, {false,
				"docs"}, {false, "cursor-ide-browser"}} {
				if protected != (state.protect && state.server != "docs") {
					continue
				}
				a := AutoRun{Mode: c.mode, List: lists[listed], GateOff: gateOff, ProtectBrowser: state.protect,
					Admin: admins[c.admin]}
				if got, want := a.Decide(state.server, "x"), c.want[i] == 'R'; got.Alone != want {
					t.Errorf("%s, organisation %s, column %d, %+v: got %+v, want %v", c.mode, c.admin, i, state, got,
						want)
				}
			}
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
		{"unprotected it is a server", AutoRun{Mode: format.UseAllowlist, List: listOf(t, "*:*")}, "cursor-ide-browser",
			"click", true, ByUserList},
		{"a gate that is off silences the list", AutoRun{Mode: format.UseAllowlist, List: mine, GateOff: true}, "docs",
			"get", false, ByGate},
		{"and not the run mode", AutoRun{Mode: format.RunEverything, GateOff: true}, "docs", "get", true, ByMode},
	} {
		if got := c.a.Decide(c.server, c.tool); got.Alone != c.alone || got.Why != c.why {
			t.Errorf("%s: got %+v, want %v by %s", c.name, got, c.alone, c.why)
		}
	}
}

package ir_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler/ir"
)

// Both sides of each limit, on the clocks of the zone.
func TestTimesOpen(t *testing.T) {
	december := ir.Times{From: "2026-12-01", Until: "2026-12-31"}
	berlin := ir.Times{From: "2026-12-01", Until: "2026-12-31", Zone: "Europe/Berlin"}
	office := ir.Times{Daily: "09:00-17:30", Zone: "Europe/Berlin"}
	night := ir.Times{Daily: "22:00-06:00", Zone: "Europe/Berlin"}
	for _, c := range []struct {
		times ir.Times
		at    string
		want  bool
	}{
		{december, "2026-11-30T23:59:59Z", false}, {december, "2026-12-01T00:00:00Z", true},
		{december, "2026-12-31T23:59:59Z", true}, {december, "2027-01-01T00:00:00Z", false},
		{december, "2026-12-01T00:30:00+02:00", false}, // the day begins in UTC
		{berlin, "2026-11-30T22:59:59Z", false}, {berlin, "2026-11-30T23:00:00Z", true},
		{berlin, "2026-12-31T22:59:59Z", true}, {berlin, "2026-12-31T23:00:00Z", false},
		{office, "2026-12-01T07:59:59Z", false}, {office, "2026-12-01T08:00:00Z", true},
		{office, "2026-12-01T16:29:59Z", true}, {office, "2026-12-01T16:30:00Z", false},
		{office, "2026-07-01T06:59:59Z", false}, {office, "2026-07-01T07:00:00Z", true}, // an hour earlier in summer
		{office, "2026-07-01T15:30:00Z", false},
		{night, "2026-12-01T20:59:59Z", false}, {night, "2026-12-01T21:00:00Z", true},
		{night, "2026-12-01T23:30:00Z", true}, {night, "2026-12-02T04:59:59Z", true}, {night, "2026-12-02T05:00:00Z", false},
		// The hour from 2 to 3 is not there on 2027-03-28, and twice on 2026-10-25.
		{ir.Times{Daily: "02:00-03:00", Zone: "Europe/Berlin"}, "2027-03-28T00:59:59Z", false},
		{ir.Times{Daily: "02:00-03:00", Zone: "Europe/Berlin"}, "2027-03-28T01:00:00Z", false},
		{ir.Times{Daily: "02:00-03:00", Zone: "Europe/Berlin"}, "2026-10-25T00:00:00Z", true},
		{ir.Times{Daily: "02:00-03:00", Zone: "Europe/Berlin"}, "2026-10-25T01:59:59Z", true},
		{ir.Times{Daily: "02:00-03:00", Zone: "Europe/Berlin"}, "2026-10-25T02:00:00Z", false},
		// A day of 23 hours ends with its midnight.
		{ir.Times{Until: "2027-03-28", Zone: "Europe/Berlin"}, "2027-03-28T21:59:59Z", true},
		{ir.Times{Until: "2027-03-28", Zone: "Europe/Berlin"}, "2027-03-28T22:00:00Z", false},
		// Days and hours both count: the night that begins on the last day ends with it.
		{ir.Times{Until: "2026-12-31", Daily: "22:00-06:00"}, "2026-12-31T23:59:59Z", true},
		{ir.Times{Until: "2026-12-31", Daily: "22:00-06:00"}, "2027-01-01T00:00:00Z", false},
		{ir.Times{Daily: "18:00-24:00"}, "2026-12-31T23:59:59Z", true},
		{ir.Times{Daily: "18:00-24:00"}, "2027-01-01T00:00:00Z", false},
		// What cannot be read includes no moment.
		{ir.Times{}, "2026-12-01T12:00:00Z", false},
		{ir.Times{From: "soon"}, "2026-12-01T12:00:00Z", false},
		{ir.Times{From: "2026-01-01", Zone: "Mars/Olympus"}, "2026-12-01T12:00:00Z", false},
		{ir.Times{From: "2026-01-01", Zone: "Local"}, "2026-12-01T12:00:00Z", false},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.times.Open(at); got != c.want {
			t.Errorf("%s at %s: got %v, want %v", c.times, c.at, got, c.want)
		}
	}
}

func TestTimesCheck(t *testing.T) {
	for _, c := range []struct {
		times ir.Times
		part  ir.Part
		want  string
	}{
		{ir.Times{Zone: "UTC"}, ir.NoPart, "there is no time in it"},
		{ir.Times{From: "2026-02-30"}, ir.PartFrom, `got "2026-02-30"`},
		{ir.Times{Until: "2026-13-01"}, ir.PartUntil, `got "2026-13-01"`},
		{ir.Times{From: "2026-12-02", Until: "2026-12-01"}, ir.PartUntil, "before the first"},
		{ir.Times{Daily: "9:00-17:00"}, ir.PartDaily, `"09:00-17:30"`},
		{ir.Times{Daily: "09:00"}, ir.PartDaily, `"09:00-17:30"`},
		{ir.Times{Daily: "09:00-24:01"}, ir.PartDaily, `"09:00-17:30"`},
		{ir.Times{Daily: "24:00-09:00"}, ir.PartDaily, `"09:00-17:30"`},
		{ir.Times{Daily: "09:00-09:00"}, ir.PartDaily, "begins when it ends"},
		{ir.Times{Daily: "09:00-17:00", Zone: "Local"}, ir.PartZone, `"Europe/Berlin"`},
		{ir.Times{Daily: "09:00-17:00", Zone: "../etc/localtime"}, ir.PartZone, `"Europe/Berlin"`},
	} {
		part, err := c.times.Check()
		if part != c.part || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v", c.times, part, err)
		}
	}
	good := ir.Times{From: "2026-12-01", Until: "2026-12-01", Daily: "17:00-09:00", Zone: "America/New_York"}
	if _, err := good.Check(); err != nil {
		t.Error(err)
	}
	if got := good.String(); got != "from 2026-12-01 until 2026-12-01 daily 17:00-09:00 (America/New_York)" {
		t.Errorf("got %s", got)
	}
}

func TestTimesOver(t *testing.T) {
	x := ir.Times{Until: "2026-12-31", Zone: "Europe/Berlin"}
	for at, want := range map[string]int{
		"2026-12-24T12:00:00Z": 7, "2026-12-30T22:59:59Z": 1, "2026-12-30T23:00:00Z": 0, "2026-12-31T22:59:59Z": 0,
		"2026-12-31T23:00:00Z": -1,
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		left, ok := x.DaysLeft(now)
		if ok != (want >= 0) || ok && left != want || x.Over(now) == ok {
			t.Errorf("%s: got %d, %v, over: %v", at, left, ok, x.Over(now))
		}
	}
	if _, ok := (ir.Times{Daily: "09:00-17:00"}).DaysLeft(time.Now()); ok {
		t.Error("daily hours have a last day")
	}
}

// A model in which times would not limit is refused, and another reader that knows of none refuses them all.
func TestTimesInModel(t *testing.T) {
	times := ir.Times{Until: "2026-12-31"}
	rule := func(d ir.Decision, x ir.Times) ir.Rule {
		return ir.Rule{Decision: d, Pattern: ir.Pattern{Text: "make"}, Times: x}
	}
	for _, c := range []struct {
		table ir.Table
		want  string
	}{
		{ir.Table{Timed: []ir.Rule{rule(ir.Allow, times)}, Rules: []ir.Rule{rule(ir.Ask, times)}}, ""},
		{ir.Table{Rules: []ir.Rule{rule(ir.Allow, times)}}, "want ask or deny"},
		{ir.Table{Timed: []ir.Rule{rule(ir.Ask, times)}}, "want allow"},
		{ir.Table{Timed: []ir.Rule{rule(ir.Allow, ir.Times{})}}, "no time in it"},
		{ir.Table{Timed: []ir.Rule{rule(ir.Allow, ir.Times{From: "x"})}}, "want a day"},
	} {
		p := ir.Project{Version: ir.Version, Roles: []ir.Role{{Name: "r", Can: ir.Can{Command: &c.table}}}}
		data, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		_, err = ir.Unmarshal(bytes.NewReader(data))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestTimesWithin(t *testing.T) {
	x := ir.Times{From: "2026-12-01", Until: "2026-12-31", Daily: "09:00-17:00", Zone: "Europe/Berlin"}
	for _, c := range []struct {
		other ir.Times
		want  bool
	}{
		{x, true}, {ir.Times{Until: "2026-12-31", Zone: "Europe/Berlin"}, true}, {ir.Times{From: "2026-11-30", Zone: "Europe/Berlin"}, true},
		{ir.Times{From: "2026-12-02", Zone: "Europe/Berlin"}, false}, {ir.Times{Until: "2026-12-30", Zone: "Europe/Berlin"}, false},
		{ir.Times{Daily: "08:00-18:00", Zone: "Europe/Berlin"}, false}, {ir.Times{Until: "2026-12-31"}, false},
	} {
		if got := x.Within(c.other); got != c.want {
			t.Errorf("%s within %s: got %v", x, c.other, got)
		}
	}
	if (ir.Times{From: "2026-12-01"}).Within(ir.Times{Until: "2026-12-31"}) || (ir.Times{Until: "2026-12-31"}).Within(ir.Times{From: "2026-01-01"}) {
		t.Error("times without a limit are within some that have one")
	}
}

// Arguments are an object in the model, for tools of servers alone.
func TestArgsInModel(t *testing.T) {
	args, err := ir.NewArgs(map[string]string{"repo": "acme/*", "a.b": "<1>"})
	if err != nil || args.String() != `a.b "<1>" and repo "acme/*"` {
		t.Fatalf("got %s, %v", args, err)
	}
	rules := []ir.Rule{{Decision: ir.Allow, Pattern: ir.Pattern{Text: "t", Args: args}}}
	p := &ir.Project{Version: ir.Version, Roles: []ir.Role{{Name: "r", Can: ir.Can{MCP: &ir.MCPTable{Entries: []ir.MCPEntry{{Key: "s", Rules: rules}}}}}}}
	data, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ir.Unmarshal(bytes.NewReader(data))
	if err != nil || !got.ByArgs() || got.Roles[0].Can.ByArgs()[0].Pattern.Args != args {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"{}", `{"a": 1}`, `{"a..b": ""}`, `"x"`} {
		if err := new(ir.Args).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	p.Roles[0].Can = ir.Can{Command: &ir.Table{Rules: rules}}
	if data, err = p.Marshal(); err != nil {
		t.Fatal(err)
	}
	if _, err = ir.Unmarshal(bytes.NewReader(data)); err == nil || !strings.Contains(err.Error(), "mcp alone") {
		t.Errorf("got %v", err)
	}
}

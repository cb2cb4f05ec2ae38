package gateway

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/ir"
)

// hand is a clock that a test sets.
type hand struct{ atomic.Pointer[time.Time] }

func (h *hand) set(t testing.TB, at string) {
	t.Helper()
	x, err := time.Parse(time.RFC3339, at)
	if err != nil {
		t.Fatal(err)
	}
	h.Store(&x)
}

func (h *hand) now() time.Time { return *h.Load() }

// december allows a tool in the days of a December, beside one that is always allowed and one that is asked about
// where it has no time.
const december = `{"servers": {"s": {"command": %q, "tools": {"a": {}, "b": {}, "c": {}}}},
	"roles": {"r": {"claims": {"groups": "dev"}, "can": {"mcp": {"s": {"default": "deny", "allow": [%s]}}}}}}`

const timedB = `{"rule": "b", "from": "2026-12-01", "until": "2026-12-31"}`

// What is allowed at times is listed, and can be called, at these times and at no others. Clients are told.
func TestTimes(t *testing.T) {
	for _, era := range eras {
		clock := &hand{}
		clock.set(t, "2026-11-30T23:59:59Z")
		f := offering(t, []string{"a", "b", "c"}, nil, nil, nil)
		g := faked(t, engine(t, fmt.Sprintf(december, "s", `"a", `+timedB)),
			Options{Subject: ir.SubjectRef{Role: "r"}, Now: clock.now}, map[string]*fake{"s": f})
		defer g.Close()
		w := dial(t, g, era, object{})
		for at, want := range map[string]bool{
			"2026-11-30T23:59:59Z": false, "2026-12-01T00:00:00Z": true, "2026-12-31T23:59:59Z": true,
			"2027-01-01T00:00:00Z": false, "2026-12-24T12:00:00Z": true, "2027-06-01T12:00:00Z": false,
		} {
			clock.set(t, at)
			listed := w.listed(tools)
			called := w.call("tools/call", object{"name": "s_b"})["error"] == nil
			if slices.Contains(listed, "s_b") != want || called != want || !slices.Contains(listed, "s_a") {
				t.Errorf("%s: got %v, called %v", at, listed, called)
			}
		}
		clock.set(t, "2027-06-01T12:00:00Z")
		g.tick()
		w.mu.Lock()
		w.told = nil
		w.mu.Unlock()
		clock.set(t, "2026-12-01T00:00:00Z")
		g.tick() // as the gateway does by itself
		if era < stateless {
			w.hears("notifications/tools/list_changed")
		}
	}
}

// A call in the last second of a time is not undone, and the first one after it does not reach the server.
func TestTimeEnds(t *testing.T) {
	clock := &hand{}
	clock.set(t, "2026-12-31T23:59:59Z")
	f := offering(t, []string{"a", "b"}, nil, nil, nil)
	g := faked(t, engine(t, fmt.Sprintf(december, "s", timedB)),
		Options{Subject: ir.SubjectRef{Role: "r"}, Now: clock.now}, map[string]*fake{"s": f})
	defer g.Close()
	w := dial(t, g, eras[0], object{})
	w.result("tools/call", object{"name": "s_b"})
	clock.set(t, "2027-01-01T00:00:00Z")
	if m := w.call("tools/call", object{"name": "s_b"}); m["error"] == nil {
		t.Errorf("got %v", m)
	}
	if got := f.called(); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	if got := g.Servers(); len(got) != 1 {
		t.Errorf("got %v, want the server that is started at another time", got)
	}
}

// A reload never opens what the source did not permit before it, at any time, and a time that it takes away is
// gone at once.
func TestReloadTimes(t *testing.T) {
	clock := &hand{}
	clock.set(t, "2026-12-24T12:00:00Z")
	f := offering(t, []string{"a", "b", "c"}, nil, nil, nil)
	fakes := map[string]*fake{"s": f}
	of := func(allow string) string { return fmt.Sprintf(december, "s", allow) }
	options := Options{Subject: ir.SubjectRef{Role: "r"}, Now: clock.now}
	for _, c := range []struct {
		name         string
		sources      []string
		waiting      []string
		now, january []string // what is listed
	}{
		{"times where there were none", []string{of(`"a"`), of(`"a", ` + timedB)},
			[]string{`tool "b" of server "s" (deny → allow)`}, []string{"s_a"}, []string{"s_a"}},
		{"times in the place of always", []string{of(`"a", "b"`), of(`"a", ` + timedB)},
			nil, []string{"s_a", "s_b"}, []string{"s_a"}},
		{"always in the place of times", []string{of(`"a", ` + timedB), of(`"a", "b"`)},
			[]string{`tool "b" of server "s" (deny → allow)`}, []string{"s_a", "s_b"}, []string{"s_a"}},
		{"no times any more", []string{of(`"a", ` + timedB), of(`"a"`)}, nil, []string{"s_a"}, []string{"s_a"}},
		{"gone and back", []string{of(`"a", ` + timedB), of(`"a"`), of(`"a", ` + timedB)},
			[]string{`tool "b" of server "s" (deny → allow)`}, []string{"s_a"}, []string{"s_a"}},
		{"other times", []string{of(timedB), of(`{"rule": "b", "from": "2026-12-24", "until": "2027-12-31"}`)},
			nil, []string{"s_b"}, nil},
	} {
		clock.set(t, "2026-12-24T12:00:00Z")
		g := faked(t, engine(t, c.sources[0]), options, fakes)
		w := dial(t, g, eras[0], object{})
		var waiting []string
		for _, source := range c.sources[1:] {
			waiting = g.Reload(engine(t, source), nil)
		}
		if d := cmp.Diff(c.waiting, waiting); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		now := w.listed(tools)
		clock.set(t, "2027-01-01T00:00:00Z")
		if january := w.listed(tools); !slices.Equal(now, c.now) || !slices.Equal(january, c.january) {
			t.Errorf("%s: got %v, then %v", c.name, now, january)
		}
		g.Close()
	}
}

// Names of two servers that collide at some time are an error at the start.
func TestNamesAtAnyTime(t *testing.T) {
	source := `{"servers": {"s": {"command": "s", "tools": {"t_a": {}}}, "s_t": {"command": "s", "tools": {"a": {}}}}, "roles": {"r": {"can": {"mcp": {
		"s": "allow", "s_t": {"default": "deny", "allow": [{"rule": "a", "until": "2020-12-31"}]}}}}}}`
	if _, err := newGateway(engine(t, source), Options{Subject: ir.SubjectRef{Role: "r"}}, nil); err == nil {
		t.Error("got no error")
	}
}

// Of many callers, each request is decided at its own time.
func TestSharedTimes(t *testing.T) {
	b := newBackend(t)
	clock := &hand{}
	clock.set(t, "2026-11-30T23:59:59Z")
	source := func(allow string) string {
		return `{"servers": {"s": {"url": "` + b.URL + `", "tools": {"read": {}, "write": {}}}},
		"roles": {"r": {"claims": {"groups": "dev"}, "can": {"mcp": {"s": {"default": "deny", "allow": [` + allow + `]}}}}}}`
	}
	const always = `"read", {"rule": "write", "daily": "09:00-17:30", "zone": "Europe/Berlin"}`
	o := newOffice(t, engine(t, source(always)), func(opt *SharedOptions) { opt.Now = clock.now })
	for _, era := range eras {
		v := o.visit(t, "/mcp", o.tokens.of(t, "ada", time.Hour, "dev"), era)
		for _, c := range []struct {
			at   string
			want bool
		}{
			{"2026-12-01T07:59:59Z", false}, {"2026-12-01T08:00:00Z", true}, {"2026-12-01T16:29:59Z", true},
			{"2026-12-01T16:30:00Z", false}, {"2026-07-01T07:00:00Z", true}, {"2026-07-01T15:30:00Z", false},
		} {
			clock.set(t, c.at)
			_, m, _, err := v.send("tools/call", object{"name": "s_write", "arguments": object{}})
			if err != nil || (m["error"] == nil) != c.want {
				t.Errorf("%s, %s: got %v, %v", era, c.at, m, err)
			}
		}
	}
	clock.set(t, "2026-12-01T08:00:00Z")
	waiting := o.Reload(engine(t, source(`"read", {"rule": "write", "daily": "18:00-19:00"}`)), nil)
	v := o.visit(t, "/mcp", o.tokens.of(t, "ada", time.Hour, "dev"), eras[1])
	if _, m, _, err := v.send("tools/call", object{"name": "s_write"}); err != nil || m["error"] == nil || waiting != nil {
		t.Errorf("a time that was taken away: got %v, %v, waiting %q", m, err, waiting)
	}
	clock.set(t, "2026-12-01T18:30:00Z")
	if _, m, _, err := v.send("tools/call", object{"name": "s_write"}); err != nil || m["error"] == nil {
		t.Errorf("a time that is new: got %v, %v", m, err)
	}
}

// A gateway for several subjects behind an agent opens nothing at times: what holds the others is in files that know no
// times.
func TestUnitedTimes(t *testing.T) {
	clock := &hand{}
	clock.set(t, "2026-12-24T12:00:00Z")
	f := offering(t, []string{"a", "b", "c"}, nil, nil, nil)
	opt := Options{Who: "all", AgentAsks: true, Now: clock.now,
		Unite: func(p *ir.Project) []ir.SubjectRef { return p.Subjects() }}
	g := faked(t, engine(t, fmt.Sprintf(december, "s", `"a", `+timedB)), opt, map[string]*fake{"s": f})
	defer g.Close()
	w := dial(t, g, eras[0], object{})
	if got := w.listed(tools); !slices.Equal(got, []string{"s_a"}) {
		t.Errorf("got %v", got)
	}
	waiting := g.Reload(engine(t, fmt.Sprintf(december, "s", `"a", {"rule": "b", "until": "2027-12-31"}`)), nil)
	if got := w.listed(tools); !slices.Equal(got, []string{"s_a"}) || len(waiting) > 0 {
		t.Errorf("got %v, waiting %q", got, waiting)
	}
}

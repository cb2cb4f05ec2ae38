package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
)

type drawer struct{ *rand.Rand }

func (d drawer) of(words ...string) string { return words[d.IntN(len(words))] }
func (d drawer) one(n int) bool            { return d.IntN(n) == 0 }

// drawn returns a source in JSON: the same one for the same number.
func drawn(t testing.TB, n uint64) string {
	d := drawer{rand.New(rand.NewPCG(n, 19))}
	tools := func(names ...string) object {
		out := object{}
		for _, name := range names {
			out[name] = object{}
			if d.one(2) {
				out[name] = object{"risk": d.of("read", "write", "destructive")}
			}
		}
		return out
	}
	source := object{"servers": object{
		"docs":    object{"command": "d", "tools": tools("get", "put", "get.all")},
		"admin":   object{"url": "https://a.example.com/mcp", "defaultEnabled": false, "tools": tools("drop", "list")},
		"silent":  object{"command": "s"},
		"own_srv": object{"type": "external", "tools": tools("x")},
	}}
	roles, modes := object{}, object{}
	for i := range d.IntN(3) {
		mode := object{"name": "M", "roleDefinition": "M", "can": d.can()}
		if d.one(4) {
			mode["mcpRestrictions"] = object{"disallowedTools": []object{{"serverName": d.of("docs", "*"), "toolName": d.of("g*", "*")}}}
		}
		modes[fmt.Sprintf("m%d", i)] = mode
	}
	for i := range 1 + d.IntN(2) {
		role := object{"can": d.can()}
		if d.one(3) {
			role["permissionMode"] = d.of("default", "plan", "acceptEdits", "dontAsk", "auto", "bypassPermissions")
		}
		if len(modes) > 0 && d.one(4) {
			role["modes"] = []string{"m0"}
		}
		roles[fmt.Sprintf("r%d", i)] = role
	}
	source["roles"], source["modes"] = roles, modes
	data, err := json.MarshalIndent(source, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (d drawer) decision() string { return d.of("deny", "ask", "allow", "agent") }

func (d drawer) can() object {
	can, mcp := object{}, object{}
	for server, patterns := range map[string][]string{"docs": {"get", "put", "g*", "*", "@read", "@write"}, "admin": {"drop", "*", "@destructive"},
		"silent": {"*", "any"}, "*": {"*", "@read", "get"}} {
		switch d.IntN(4) {
		case 0:
			continue
		case 1:
			mcp[server] = d.decision()
			continue
		}
		t := object{}
		d.Shuffle(len(patterns), func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
		for i, l := range []string{"allow", "ask", "deny"} {
			if d.one(2) && i < len(patterns) {
				t[l] = patterns[i : i+1]
			}
		}
		for _, key := range []string{"default", "resources", "prompts"} {
			if d.one(3) {
				t[key] = d.decision()
			}
		}
		mcp[server] = t
	}
	if d.one(4) {
		mcp["default"] = d.decision()
	}
	can["mcp"] = mcp
	if d.one(6) {
		can["mcp"] = d.decision()
	}
	if d.one(4) {
		can["default"] = d.decision()
	}
	return can
}

// subjects returns every mode, every role and every role in each mode that it may enter.
func subjects(t testing.TB, e *policy.Engine) (refs []ir.SubjectRef) {
	p := e.Project()
	refs = p.Subjects()
	for i := range p.Roles {
		s, err := e.Subject(ir.SubjectRef{Role: p.Roles[i].Name})
		if err != nil {
			t.Fatal(err)
		}
		for j := range p.Modes {
			ref := ir.SubjectRef{Mode: p.Modes[j].Slug, Role: p.Roles[i].Name}
			if s.Decide(policy.Action{Group: ir.Modes, Arg: ref.Mode}).Decision == ir.Deny {
				if _, err := NewTable(e, ref, nil, false, nil); err == nil {
					t.Errorf("%s has a table", ref)
				}
				continue
			}
			refs = append(refs, ref)
		}
	}
	return refs
}

// pinned draws pins for servers with what they offer: of some of it another object, or none.
func (d drawer) pinned(t testing.TB, p *ir.Project, fakes map[string]*fake) (*pins.Set, map[string]bool) {
	set, otherwise := &pins.Set{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(fakes)) {
		if d.one(3) {
			continue // nothing of it is pinned
		}
		sv := *p.Server(name)
		if d.one(5) {
			sv.Command += "x"
			otherwise[name] = true
		}
		s := pins.Of(&sv)
		for _, k := range kinds {
			for _, it := range fakes[name].lists[k].items {
				switch p := it.pin; {
				case k.pin == "":
					continue
				case d.one(4): // it is not pinned
				case d.one(4):
					other, err := pins.New([]byte(strings.Replace(string(p.Value), `"x-own":1`, `"x-own":2`, 1)))
					if err != nil || other.Sum == p.Sum {
						t.Fatal(err, string(p.Value))
					}
					s.Items[k.pin][it.key] = other
				default:
					s.Items[k.pin][it.key] = p
					continue
				}
				otherwise[name+" "+it.key] = true
			}
		}
		set.Take(s, pins.Added)
	}
	data := set.Bytes()
	again, diags := pins.Read(fstest.MapFS{pins.File: {Data: data}})
	if len(diags) > 0 || string(again.Bytes()) != string(data) {
		t.Fatalf("%v\n%s", diags, data)
	}
	return again, otherwise
}

// want returns what the policy itself says of an item, in the plainest way.
func want(s *policy.Subject, p *ir.Project, server string, k *kind, key string, agentAsks bool) Access {
	sv := p.Server(server)
	if sv == nil || sv.Type == "external" || k == tools && sv.Tool(key) == nil {
		return Hidden
	}
	switch s.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: key, Kind: k.of}).Decision {
	case ir.Allow:
		return Passed
	case ir.Ask:
		if agentAsks {
			return Passed
		}
		return Asked
	case ir.Agent:
		if agentAsks {
			return Passed
		}
	}
	return Hidden
}

// TestListedIsCallable draws sources and pins: for every subject and every item, what is listed can be called, what is
// not listed has the answer of what does not exist, and both are what the policy and the pins say.
func TestListedIsCallable(t *testing.T) {
	count := uint64(300)
	if testing.Short() {
		count = 20
	}
	for n := range count {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			e := engine(t, drawn(t, n))
			for _, ref := range subjects(t, e) {
				for _, agentAsks := range []bool{false, true} {
					everyItem(t, e, ref, agentAsks, n)
				}
			}
		})
	}
}

// everyItem holds one subject's lists and calls against the policy and the pins.
func everyItem(t *testing.T, e *policy.Engine, ref ir.SubjectRef, agentAsks bool, n uint64) {
	t.Helper()
	era := eras[n%2]
	fakes := map[string]*fake{}
	offered := map[string]map[*kind][]string{}
	for _, sv := range []string{"docs", "admin", "silent", "own_srv"} {
		offered[sv] = map[*kind][]string{tools: {"get", "put", "get.all", "drop", "list", "x", "new"}, prompts: {"p"},
			resources: {"res://" + sv + "/r"}, templates: {"res://" + sv + "/t/{id}"}}
		o := offered[sv]
		fakes[sv] = offering(t, o[tools], o[prompts], o[resources], o[templates])
	}
	set, otherwise := drawer{rand.New(rand.NewPCG(n, 19))}.pinned(t, e.Project(), fakes)
	g := faked(t, e, Options{Subject: ref, AgentAsks: agentAsks, Pins: set}, fakes)
	w := dial(t, g, era, object{"elicitation": object{}})
	w.asked = func(object) object { return object{"action": "accept", "content": object{}} }
	s, err := e.Subject(ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		names := w.listed(k)
		for sv, o := range offered {
			for _, key := range o[k] {
				name := key
				if k == tools || k == prompts {
					name = sv + "_" + key
				}
				access := want(s, e.Project(), sv, k, key, agentAsks)
				if otherwise[sv] || otherwise[sv+" "+key] {
					access = Hidden
				}
				if got := slices.Contains(names, name); got != (access > Hidden) {
					t.Errorf("%s, %t: %s is listed: %t, want %s", ref, agentAsks, name, got, access)
				}
				before := len(fakes[sv].called())
				for method, params := range surfaces(k, name) {
					checkAnswer(t, w, method, params, name, access)
				}
				if calls := fakes[sv].called()[before:]; access == Hidden && len(calls) > 0 {
					t.Errorf("%s: %s is denied, and its server was called: %v", ref, name, calls)
				}
			}
		}
	}
}

// surfaces returns the requests about an item.
func surfaces(k *kind, name string) map[string]object {
	switch k {
	case tools:
		return map[string]object{"tools/call": {"name": name, "arguments": object{"a": 1}}}
	case prompts:
		return map[string]object{"prompts/get": {"name": name}, "completion/complete": {"ref": object{"type": "ref/prompt", "name": name},
			"argument": object{"name": "a", "value": "b"}}}
	case resources:
		return map[string]object{"resources/read": {"uri": name}, "resources/subscribe": {"uri": name}}
	}
	return map[string]object{"resources/read": {"uri": strings.Replace(name, "{id}", "7", 1)},
		"completion/complete": {"ref": object{"type": "ref/resource", "uri": name}, "argument": object{"name": "id", "value": "b"}}}
}

// checkAnswer makes a request, and answers where a person is asked.
func checkAnswer(t *testing.T, w *wire, method string, params object, name string, access Access) {
	t.Helper()
	if method == "resources/subscribe" && w.era >= stateless {
		return
	}
	m := w.call(method, params)
	if r, ok := m["result"].(object); ok && r["resultType"] == "input_required" {
		again := object{"requestState": r["requestState"], "inputResponses": object{approvalKey: object{"action": "accept"}}}
		for k, v := range params {
			again[k] = v
		}
		if access != Asked {
			t.Errorf("%s %s: a person is asked, want %s", method, name, access)
		}
		m = w.call(method, again)
	}
	switch {
	case method == "resources/subscribe" && access == Asked:
		if m["error"] == nil {
			t.Errorf("%s %s: changes are told of what is asked about", method, name)
		}
	case access > Hidden && m["result"] == nil:
		t.Errorf("%s %s: got %v, want a result", method, name, m)
	case access == Hidden:
		// The same request about what nobody offers has the same answer but for the name.
		text, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		const nobody = "nobody-offers-this"
		quoted, _ := json.Marshal(strings.Replace(name, "{id}", "7", 1))
		if strings.Contains(string(text), "ref/resource") {
			quoted, _ = json.Marshal(name)
		}
		var other object
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), string(quoted), `"`+nobody+`"`)), &other); err != nil {
			t.Fatal(err)
		}
		unknown, _ := json.Marshal(w.call(method, other)["error"])
		denied, _ := json.Marshal(m["error"])
		inner := strings.Trim(string(quoted), `"`)
		if got := strings.ReplaceAll(string(denied), inner, nobody); got != string(unknown) || m["error"] == nil {
			t.Errorf("%s %s: got %s, want as for what does not exist %s", method, name, denied, unknown)
		}
	}
}

const two = `{"servers": {"a": {"command": "a", "tools": {"b_c": {}, "d": {}}}, "a_b": {"command": "b", "tools": {"c": {}}},
	"odd name": {"command": "o", "tools": {"x": {}}}},
	"roles": {"r": {"can": {"mcp": {"a": "allow", "a_b": %q, "odd name": %q}}}}}`

// Names that clients cannot tell apart, and names that they do not take, end the start. Another namespace mends both.
func TestNames(t *testing.T) {
	role := ir.SubjectRef{Role: "r"}
	for _, c := range []struct {
		ab, odd string
		naming  Naming
		want    string
	}{
		{"deny", "deny", nil, ""},
		{"allow", "deny", nil, `would both be called "a_b_c"`},
		{"ask", "deny", Naming{"a": "one_"}, ""},
		{"allow", "deny", Naming{"a_b": ""}, ""},
		{"allow", "deny", Naming{"a_b": "A.B_"}, "would both be called"},
		{"deny", "allow", nil, `would be called "odd name_x"`},
		{"deny", "allow", Naming{"odd name": "odd-"}, ""},
		{"deny", "deny", Naming{"none": "x"}, `no server "none"`},
	} {
		tb, err := NewTable(engine(t, fmt.Sprintf(two, c.ab, c.odd)), role, c.naming, false, nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v", c, err)
		}
		if c.naming["a"] == "one_" && tb != nil {
			if d := cmp.Diff(toolName{"a", "b_c"}, tb.names["one_b_c"], cmp.AllowUnexported(toolName{})); d != "" {
				t.Error(d)
			}
		}
	}
}

// Tools of one server that agents cannot tell apart are left out with a warning. Whatever else there is is served, and
// so is the one of them that alone is permitted.
func TestToolsAlike(t *testing.T) {
	source := `{"servers": {"a": {"command": "a", "tools": {"get": {}, "GET": {}, "put": {}}}, "b": {"command": "b", "tools": {"x": {}}}},
		"roles": {"r": {"can": {"mcp": {"a": %s, "b": "allow"}}}}}`
	for can, want := range map[string]string{`"allow"`: "a_put b_x", `{"allow": ["get", "put"], "default": "deny"}`: "a_get a_put b_x"} {
		var log strings.Builder
		opt := reviewer
		opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
		g := faked(t, engine(t, fmt.Sprintf(source, can)), opt, map[string]*fake{
			"a": offering(t, []string{"get", "GET", "put"}, nil, nil, nil), "b": offering(t, []string{"x"}, nil, nil, nil)})
		if got := strings.Join(dial(t, g, eras[0], object{}).listed(tools), " "); got != want {
			t.Errorf("%s: got %s, want %s", can, got, want)
		}
		if warned := strings.Contains(log.String(), "a:GET"); warned != (can == `"allow"`) {
			t.Errorf("%s: got %s", can, &log)
		}
		if waiting := g.Reload(engine(t, fmt.Sprintf(source, can)), nil); len(waiting) > 0 {
			t.Errorf("%s: got %v", can, waiting)
		}
	}
}

// A reload takes what narrows, and says what else there is.
func TestReload(t *testing.T) {
	const source = `{"servers": {"s": {"command": %q, "tools": {"a": {}, "b": {}, "c": {}}}},
		"roles": {"r": {"can": {"mcp": {"s": {"allow": [%s], "ask": [%s], "default": "deny"}}}}}}`
	e := engine(t, fmt.Sprintf(source, "s", `"a"`, `"b"`))
	f := offering(t, []string{"a", "b", "c"}, nil, nil, nil)
	g := faked(t, e, Options{Subject: ir.SubjectRef{Role: "r"}}, map[string]*fake{"s": f})
	w := dial(t, g, eras[0], object{})
	if got := w.listed(tools); !slices.Equal(got, []string{"s_a", "s_b"}) {
		t.Fatalf("got %v", got)
	}
	waiting := g.Reload(engine(t, fmt.Sprintf(source, "s", "", `"a"`)), nil)
	if len(waiting) != 0 {
		t.Errorf("got %q, want that all of it is taken", waiting)
	}
	if got := w.listed(tools); !slices.Equal(got, []string{"s_a"}) {
		t.Errorf("got %v", got)
	}
	waiting = g.Reload(engine(t, fmt.Sprintf(source, "s", `"*"`, "")), nil)
	if d := cmp.Diff([]string{`tool "a" of server "s" (ask → allow)`, `tool "b" of server "s" (deny → allow)`,
		`tool "c" of server "s" (deny → allow)`}, waiting); d != "" {
		t.Error(d)
	}
	if got := w.call("tools/call", object{"name": "s_b"}); got["error"] == nil {
		t.Errorf("got %v of what waits for a person", got)
	}
	if got := w.result("tools/call", object{"name": "s_a"}); got["isError"] != true {
		t.Errorf("got %v, want that a person is still asked", got)
	}
	waiting = g.Reload(engine(t, fmt.Sprintf(source, "other", `"a"`, "")), nil)
	if len(waiting) != 1 || !strings.Contains(waiting[0], "started or reached in another way") {
		t.Errorf("got %q", waiting)
	}
	if got := w.listed(tools); len(got) != 0 {
		t.Errorf("got %v of a server that starts another program now", got)
	}
	g.Reload(engine(t, strings.Replace(fmt.Sprintf(source, "s", `"a"`, `"b"`), `"r"`, `"other"`, 1)), nil)
	if got := w.listed(tools); len(got) != 0 {
		t.Errorf("got %v for a role that is gone", got)
	}
	w.hears("notifications/tools/list_changed")
}

// What several servers list under one address is the first one's, by the order of the source, also while that one does
// not answer: another one neither takes it away nor stands in for it.
func TestNoServerStandsIn(t *testing.T) {
	source := `{"servers": {"hr": {"order": 1, "command": "x", "tools": {"t": {}}},
		"evil": {"order": 2, "command": "y", "tools": {"t": {}}}}, "roles": {"r": {"can": {"mcp": "allow"}}}}`
	fakes := map[string]*fake{
		"hr":   offering(t, nil, nil, []string{"hr://people", "hr://own"}, []string{"hr://p/{id}"}),
		"evil": offering(t, nil, nil, []string{"hr://people"}, []string{"{+any}", "hr://p/{id}"}),
	}
	g := faked(t, engine(t, source), reviewer, fakes)
	w := dial(t, g, eras[1], object{})
	var want []string
	reads := func(uri, server string) {
		t.Helper()
		if e := w.call("resources/read", object{"uri": uri})["error"]; e != nil {
			t.Errorf("%s: got %v", uri, e)
		}
		if server == "hr" {
			want = append(want, "resources/read "+uri)
		}
		if got := fakes["hr"].called(); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", uri, got, want)
		}
	}
	reads("hr://people", "hr")
	reads("hr://own", "hr")
	reads("hr://p/1", "hr")
	reads("evil://x", "evil")
	if got := w.listed(resources); !slices.Equal(got, []string{"hr://people", "hr://own"}) {
		t.Errorf("got %v", got)
	}
	fakes["hr"].mu.Lock()
	fakes["hr"].err = errors.New("it is down")
	fakes["hr"].mu.Unlock()
	if got := w.listed(resources); len(got) > 0 {
		t.Errorf("got %v while the server is down", got)
	}
	reads("hr://people", "hr") // which answers that it is down, where it is a real one
	reads("hr://p/2", "hr")
	if got, want := fakes["evil"].called(), []string{"resources/read evil://x"}; !slices.Equal(got, want) {
		t.Errorf("the other server was asked for %v, want %v", got, want)
	}
}

// hanging lists nothing before it may.
type hanging struct {
	*fake
	asked chan struct{}
	may   chan struct{}
}

func (h *hanging) list(ctx context.Context, k *kind) (*list, error) {
	select {
	case h.asked <- struct{}{}:
	default:
	}
	select {
	case <-h.may:
		return h.fake.list(ctx, k)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A server that hangs delays what others offer once, and the client hears when its list is there.
func TestLateList(t *testing.T) {
	source := `{"servers": {"s": {"command": "x", "tools": {"t": {}}}, "slow": {"command": "y", "tools": {"t": {}}}},
		"roles": {"r": {"can": {"mcp": "allow"}}}}`
	slow := &hanging{offering(t, []string{"t"}, nil, nil, nil), make(chan struct{}, 1), make(chan struct{})}
	g, err := newGateway(engine(t, source), reviewer, func(sv ir.Server) caller {
		if sv.Name == "slow" {
			return slow
		}
		return offering(t, []string{"t"}, nil, nil, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	g.late.most = 2 * lateLimit
	w := dial(t, g, eras[0], object{})
	if got := w.listed(tools); !slices.Equal(got, []string{"s_t"}) {
		t.Fatalf("got %v", got)
	}
	if limit := g.late.limit("slow", tools); limit != lateLimit {
		t.Errorf("it is waited for %s again", limit)
	}
	if limit := g.late.limit("s", tools); limit != 2*lateLimit {
		t.Errorf("the other server is waited for %s", limit)
	}
	close(slow.may)
	w.hears("notifications/tools/list_changed")
	if got := sorted(w.listed(tools)); !slices.Equal(got, []string{"s_t", "slow_t"}) {
		t.Errorf("got %v", got)
	}
	if limit := g.late.limit("slow", tools); limit != 2*lateLimit {
		t.Errorf("it is waited for %s", limit)
	}
}

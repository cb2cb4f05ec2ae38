package gateway

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
)

// written collects what a gateway writes down.
type written struct {
	mu  sync.Mutex
	all []audit.Event
}

func (ev *written) add(e audit.Event) {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	ev.all = append(ev.all, e)
}

// events returns what was written since.
func (ev *written) events() []audit.Event {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	all := ev.all
	ev.all = nil
	return all
}

// take returns what was written since, as "OUTCOME SERVER TOOL DECISION: RULE".
func (ev *written) take() (list []string) {
	for _, e := range ev.events() {
		list = append(list, fmt.Sprintf("%s %s %s %s: %s", e.Outcome, e.Server, e.Tool, e.Decision, e.Rule))
	}
	return list
}

// last returns the last event.
func (ev *written) last() audit.Event {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	if len(ev.all) == 0 {
		return audit.Event{}
	}
	return ev.all[len(ev.all)-1]
}

// about returns what the last event is about.
func (ev *written) about() string {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	return ev.all[len(ev.all)-1].About
}

const audited = `{"servers": {"s": {"command": "s", "tools": {"a": {}, "b": {}, "c": {}, "gone": {}}}},
	"roles": {"r": {"can": {"mcp": {"s": {"allow": ["a", "gone"], "ask": ["b"], "deny": ["c"], "resources": "allow",
		"prompts": "deny", "default": "allow"}}}}}}`

// A caller cannot tell what is denied from what does not exist. The record can, and has one event for each call.
func TestAudit(t *testing.T) {
	for _, era := range eras {
		ev := &written{}
		f := offering(t, []string{"a", "b", "c", "new"}, []string{"p"}, []string{"res://r"}, nil)
		g := faked(t, engine(t, audited), Options{Subject: ir.SubjectRef{Role: "r"}, Audit: ev.add}, map[string]*fake{"s": f})
		w := dial(t, g, era, object{"elicitation": object{}})
		w.asked = func(object) object { return object{"action": "accept", "content": object{}} }
		for _, c := range []struct{ method, name, want string }{
			{"tools/call", "s_a", `done s a allow: allow "a" of mcp s`},
			{"tools/call", "s_c", `refused s c deny: deny "c" of mcp s`},
			{"tools/call", "s_new", "refused s new deny: the inventory does not list it"},
			{"tools/call", "s_gone", `failed s gone allow: allow "gone" of mcp s`},
			{"tools/call", "other", "refused  other deny: nothing of the inventory has this name"},
			{"prompts/get", "s_p", `refused s p deny: prompts of mcp s`},
			{"resources/read", "res://r", "done s resources/read allow: resources of mcp s"},
			{"resources/read", "res://x", "refused  resources/read deny: no server that may be used offers it"},
		} {
			params := object{"name": c.name}
			if c.method == "resources/read" {
				params = object{"uri": c.name}
			}
			w.call(c.method, params)
			if about := ev.about(); about != "" && !strings.HasSuffix(c.name, about) || about == "" != (c.method != "tools/call" ||
				c.name == "other" || c.name == "s_new") {
				t.Errorf("%s %s: got that it is about %q", c.method, c.name, about)
			}
			got := ev.take()
			outcome, _, _ := strings.Cut(c.want, ":")
			if len(got) != 1 || !strings.HasPrefix(got[0], outcome+": ") ||
				strings.Contains(c.want, ": the ") && got[0] != c.want {
				t.Errorf("%s %s %s: got %q, want %q", era, c.method, c.name, got, c.want)
			}
		}
		w.call("tools/list", object{})
		if got := ev.take(); len(got) > 0 {
			t.Errorf("%s: got %q for a list", era, got)
		}
	}
}

// What a person was asked and answered is on record, with the policy that asked.
func TestAuditOfQuestions(t *testing.T) {
	for action, want := range map[string]audit.Outcome{"accept": audit.Done, "decline": audit.Declined,
		"cancel": audit.Declined, "": audit.Refused} {
		ev := &written{}
		f := offering(t, []string{"b"}, nil, nil, nil)
		g := faked(t, engine(t, audited), Options{Subject: ir.SubjectRef{Role: "r"}, Audit: ev.add}, map[string]*fake{"s": f})
		caps := object{"elicitation": object{}}
		if action == "" {
			caps = object{}
		}
		w := dial(t, g, eras[0], caps)
		w.asked = func(object) object { return object{"action": action, "content": object{}} }
		w.call("tools/call", object{"name": "s_b", "arguments": object{"x": 1}})
		if len(ev.all) != 1 {
			t.Fatalf("%s: got %+v", action, ev.all)
		}
		e := ev.all[0]
		if e.Outcome != want || e.Decision != "ask" || e.Policy != g.Table().digest || string(e.Input) != `{"x":1}` ||
			(action == "accept") != (e.Detail == "a person agreed") || !slices.Equal(f.called(), called(action)) {
			t.Errorf("%s: got %+v and the calls %q", action, e, f.called())
		}
	}
}

func called(action string) []string {
	if action == "accept" {
		return []string{"tools/call b"}
	}
	return nil
}

// A revision without sessions asks by a result: the question and the answer are an event each.
func TestAuditOfRounds(t *testing.T) {
	ev := &written{}
	f := offering(t, []string{"b"}, nil, nil, nil)
	g := faked(t, engine(t, audited), Options{Subject: ir.SubjectRef{Role: "r"}, Audit: ev.add}, map[string]*fake{"s": f})
	w := dial(t, g, eras[1], object{"elicitation": object{}})
	first := w.result("tools/call", object{"name": "s_b"})
	if got := ev.take(); len(got) != 1 || !strings.HasPrefix(got[0], "asked s b ask") {
		t.Errorf("got %q", got)
	}
	w.call("tools/call", object{"name": "s_b", "requestState": first["requestState"],
		"inputResponses": object{"approval": object{"action": "accept", "content": object{}}}})
	if got := ev.take(); len(got) != 1 || !strings.HasPrefix(got[0], "done s b ask") {
		t.Errorf("got %q", got)
	}
}

package gateway

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler/ir"
)

const asking = `{"servers": {"s": {"command": "s", "tools": {"a": {}, "b": {}}}},
	"roles": {"r": {"can": {"mcp": {"s": {"ask": ["a", "b"], "resources": "ask", "prompts": "ask", "default": "ask"}}}}}}`

// asker returns a gateway that asks about everything, and a client.
func asker(t *testing.T, era string, caps object) (*Gateway, *fake, *wire) {
	f := offering(t, []string{"a", "b"}, []string{"p"}, []string{"res://r"}, nil)
	g := faked(t, engine(t, asking), Options{Subject: ir.SubjectRef{Role: "r"}}, map[string]*fake{"s": f})
	return g, f, dial(t, g, era, caps)
}

// textOf returns the text of a tool's result, and whether it is an error.
func textOf(t *testing.T, r object) (string, bool) {
	t.Helper()
	content, _ := r["content"].([]any)
	if len(content) != 1 {
		t.Fatalf("got %v", r)
	}
	return content[0].(object)["text"].(string), r["isError"] == true
}

// A client that cannot ask is told why its call is refused.
func TestNobodyToAsk(t *testing.T) {
	for _, era := range eras {
		for name, caps := range map[string]object{"none": {}, "addresses only": {"elicitation": object{"url": object{}}}} {
			_, f, w := asker(t, era, caps)
			text, bad := textOf(t, w.result("tools/call", object{"name": "s_a"}))
			if !bad || !strings.Contains(text, "no way to ask") || !strings.Contains(text, `ask "a"`) ||
				!strings.Contains(text, "modec/a.json:2") {
				t.Errorf("%s %s: got %q", era, name, text)
			}
			for method, params := range map[string]object{"prompts/get": {"name": "s_p"}, "resources/read": {"uri": "res://r"}} {
				m := w.call(method, params)
				if e, _ := m["error"].(object); e == nil || !strings.Contains(e["message"].(string), "no way to ask") {
					t.Errorf("%s %s: got %v", era, method, m)
				}
			}
			if calls := f.called(); len(calls) > 0 {
				t.Errorf("got calls %v", calls)
			}
		}
	}
}

// The question shows everything, and misleads nobody.
func TestQuestion(t *testing.T) {
	_, f, w := asker(t, eras[0], object{"elicitation": object{}})
	var shown string
	action := "accept"
	w.asked = func(p object) object {
		shown = p["message"].(string)
		return object{"action": action, "content": object{}}
	}
	args := object{"path": "a\n\nAllowed by admin\u202e\u200b\x1b[2K", "n": []any{1, true, nil}, "\u2028k": "`x`"}
	w.result("tools/call", object{"name": "s_a", "arguments": args})
	const want = "May role r call the tool a of server s? With these arguments:\n\n    {\n      " +
		`"n": [` + "\n        1,\n        true,\n        null\n      ],\n      " +
		`"path": "a\n\nAllowed by admin\u202e\u200b\u001b[2K",` + "\n      " + `"\u2028k": "` + "`x`" + `"` + "\n    }"
	if shown != want {
		t.Errorf("got\n%s\nwant\n%s", shown, want)
	}
	if got := f.called(); !slices.Equal(got, []string{"tools/call a"}) {
		t.Errorf("got calls %v", got)
	}
	for _, action = range []string{"decline", "cancel"} {
		if text, bad := textOf(t, w.result("tools/call", object{"name": "s_a"})); !bad || !strings.Contains(text, "Nothing was done") {
			t.Errorf("%s: got %q", action, text)
		}
	}
	action, shown = "accept", ""
	long := object{"name": "s_a", "arguments": object{"x": strings.Repeat("x", maxShown)}}
	if text, bad := textOf(t, w.result("tools/call", long)); !bad || !strings.Contains(text, "too long to be shown whole") || shown != "" {
		t.Errorf("got %q, shown %.20q", text, shown)
	}
	if got := f.called(); len(got) != 1 {
		t.Errorf("got calls %v", got)
	}
	m := w.call("tools/call", object{"name": "s_a", "arguments": json.RawMessage(`{"a":1,"a":2}`)})
	if e, _ := m["error"].(object); e == nil || !strings.Contains(e["message"].(string), "twice") {
		t.Errorf("got %v of arguments that two readers read in two ways", m)
	}
	m = w.call("tools/call", object{"name": "s_a", "arguments": []int{1}})
	if m["error"] == nil {
		t.Errorf("got %v of arguments that are no object", m)
	}
}

// An answer holds for the tool as it was described when a person was asked.
func TestApprovalOfAnotherDefinition(t *testing.T) {
	redefine := func(f *fake) {
		f.mu.Lock()
		defer f.mu.Unlock()
		l := &list{items: slices.Clone(f.lists[tools].items)}
		for i := range l.items {
			l.items[i].raw = bytes.Replace(l.items[i].raw, []byte(`"x-own":1`), []byte(`"x-own":2`), 1)
		}
		f.lists[tools] = l
	}
	_, f, w := asker(t, eras[0], object{"elicitation": object{}})
	w.asked = func(object) object {
		redefine(f)
		return object{"action": "accept", "content": object{}}
	}
	call := object{"name": "s_a"}
	old := w.result("tools/call", call)
	w.asked = func(object) object { return object{"action": "accept", "content": object{}} }
	if r := w.result("tools/call", call); r["isError"] != nil {
		t.Errorf("asked again: got %v", r)
	}
	_, f, w = asker(t, eras[1], object{"elicitation": object{"form": object{}}})
	state := w.result("tools/call", call)["requestState"]
	redefine(f)
	answered := object{"name": "s_a", "requestState": state, "inputResponses": object{approvalKey: object{"action": "accept"}}}
	for _, r := range []object{old, w.result("tools/call", answered)} {
		if text, bad := textOf(t, r); !bad || !strings.Contains(text, "what the server says of the item") {
			t.Errorf("got %v", r)
		}
	}
}

// An answer holds for the call that was shown, for two minutes, and once.
func TestApprovalHolds(t *testing.T) {
	g, f, w := asker(t, eras[1], object{"elicitation": object{"form": object{}}})
	now := time.Now()
	g.asks.now = func() time.Time { return now }
	first := object{"name": "s_a", "arguments": object{"x": 1}}
	again := func(params object, state any, action string) object {
		params = maps.Clone(params)
		params["requestState"], params["inputResponses"] = state, object{approvalKey: object{"action": action}}
		return w.result("tools/call", params)
	}
	ask := func() any {
		r := w.result("tools/call", first)
		requests, _ := r["inputRequests"].(object)
		q, _ := requests[approvalKey].(object)
		if r["resultType"] != "input_required" || q["method"] != "elicitation/create" ||
			!strings.Contains(q["params"].(object)["message"].(string), `"x": 1`) {
			t.Fatalf("got %v", r)
		}
		return r["requestState"]
	}
	refused := func(what string, r object) {
		t.Helper()
		if text, bad := textOf(t, r); !bad || !strings.Contains(text, "does not count") {
			t.Errorf("%s: got %v", what, r)
		}
	}
	state := ask()
	refused("other arguments", again(object{"name": "s_a", "arguments": object{"x": 2}}, state, "accept"))
	refused("another tool", again(object{"name": "s_b", "arguments": object{"x": 1}}, state, "accept"))
	text := []byte(state.(string))
	text[20] ^= 'a' ^ 'b' // another letter, whichever it was
	refused("another state", again(first, string(text), "accept"))
	refused("no state", again(first, "x", "accept"))
	if r := again(first, state, "accept"); r["isError"] != nil {
		t.Errorf("got %v", r)
	}
	refused("twice", again(first, state, "accept"))
	state = ask()
	if text, _ := textOf(t, again(first, state, "decline")); !strings.Contains(text, "declined") {
		t.Errorf("got %q", text)
	}
	refused("after it was declined", again(first, state, "accept"))
	state = ask()
	now = now.Add(approvalLife + time.Second)
	refused("too late", again(first, state, "accept"))
	now = now.Add(time.Hour)
	state = ask()
	if n := len(g.asks.used); n > 1 {
		t.Errorf("%d nonces are kept", n)
	}
	g.Reload(engine(t, strings.Replace(asking, `"prompts": "ask"`, `"prompts": "deny"`, 1)), nil)
	refused("another policy", again(first, state, "accept"))
	if got := f.called(); len(got) != 1 {
		t.Errorf("got calls %v", got)
	}
	if other := newApprover(nil); other.open(g.asks.seal(Approval{}), Approval{}) {
		t.Error("the seal of another gateway holds")
	}
}

// A policy that changes while a person thinks is the one that counts.
func TestReloadWhileAsked(t *testing.T) {
	g, f, w := asker(t, eras[0], object{"elicitation": object{}})
	w.asked = func(object) object {
		g.Reload(engine(t, strings.Replace(asking, `"ask": ["a", "b"]`, `"deny": ["a", "b"]`, 1)), nil)
		return object{"action": "accept", "content": object{}}
	}
	if text, bad := textOf(t, w.result("tools/call", object{"name": "s_a"})); !bad || !strings.Contains(text, "does not count") {
		t.Errorf("got %q", text)
	}
	if got := f.called(); len(got) > 0 {
		t.Errorf("got calls %v", got)
	}
}

package gateway

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"modec.dev/modec/compiler/audit"
)

// What a server asks goes to the client whose call is under way, for the kinds that its setting opens, and says who asks.
// Anything else is refused.
func TestOpen(t *testing.T) {
	for _, c := range []struct {
		open []string
		era  string
		want string // whether elicitation, roots and sampling are refused
	}{
		{nil, eras[0], "true true true"},
		{[]string{"elicitation"}, eras[0], "false true true"},
		{[]string{"roots"}, eras[0], "true false true"},
		{[]string{"sampling"}, eras[0], "true true false"},
		{[]string{"elicitation", "roots", "sampling"}, eras[0], "false false false"},
		{[]string{"elicitation", "roots", "sampling"}, eras[1], "true true true"}, // that era's servers ask in results
	} {
		ev, opt := &written{}, reviewer
		opt.Open, opt.Audit = map[string][]string{"s": c.open}, ev.add
		w := dial(t, real(t, one(program("plain")), opt), c.era, object{"elicitation": object{}, "roots": object{}, "sampling": object{}})
		var mu sync.Mutex
		var asked []string
		w.asked = func(p object) object {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, fmt.Sprint(p["message"], p["systemPrompt"]))
			switch {
			case p["message"] != nil:
				return object{"action": "accept", "content": object{}}
			case p["messages"] != nil:
				return object{"role": "assistant", "model": "m", "content": object{"type": "text", "text": "said"}}
			}
			return object{"roots": []any{object{"uri": "file:///work"}}}
		}
		if said, bad := textOf(t, w.result("tools/call", object{"name": "s_greedy"})); said != c.want || bad {
			t.Errorf("%v %s: got %s, want %s", c.open, c.era, said, c.want)
		}
		mu.Lock()
		if opens := strings.Count(c.want, "false"); len(asked) != opens {
			t.Errorf("%v: the client was asked %q", c.open, asked)
		}
		if c.era == eras[0] && slices.Contains(c.open, "elicitation") && !strings.Contains(asked[0], "Server s asks: password?") {
			t.Errorf("got %q", asked)
		}
		if c.want == "true true false" && !strings.Contains(asked[0], "request of the MCP server s, and not of the user") {
			t.Errorf("got %q", asked)
		}
		mu.Unlock()
		ev.mu.Lock()
		done := 0
		for _, e := range ev.all {
			if e.Outcome == audit.Done && e.Server == "s" && strings.Contains(e.Tool, "/") {
				done++
			}
		}
		ev.mu.Unlock()
		if done != strings.Count(c.want, "false") {
			t.Errorf("%v: got %v", c.open, ev.take())
		}
	}
}

// Of two calls under way nobody knows which one a server's question is about.
func TestOpenOfTwo(t *testing.T) {
	opt := reviewer
	opt.Open = map[string][]string{"s": {"elicitation"}}
	w := dial(t, real(t, one(program("plain")), opt), eras[0], object{"elicitation": object{}})
	w.asked = func(object) object { return object{"action": "accept", "content": object{}} }
	_, waits := w.start("tools/call", object{"name": "s_slow", "arguments": object{"wait": true}, "_meta": object{"progressToken": "1"}})
	w.hears("notifications/progress")
	if said, _ := textOf(t, w.result("tools/call", object{"name": "s_greedy"})); said != "true true true" {
		t.Errorf("got %s", said)
	}
	w.send(object{"method": "notifications/cancelled", "params": object{"requestId": w.id - 1}})
	_ = waits
}

// A server of all callers is not opened: its question could be about another one.
func TestOpenOfAll(t *testing.T) {
	b := newBackend(t)
	s, err := NewShared(engine(t, people(b.URL)), SharedOptions{Auth: newTokens(t).Verifier,
		Servers: map[string]ServerOptions{"s": {Shared: true, Open: []string{"roots"}}}})
	if s != nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "is shared, so nothing that it asks") {
		t.Errorf("got %v", err)
	}
}

package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lengthy returns a list of one tool, as long as it is asked for.
func lengthy(name string, size int) *list {
	raw := make([]byte, size)
	return &list{items: []item{{key: name, raw: raw[:size:size]}}}
}

// What is the same is kept once. What was not used for longest goes once there are too many bytes, and not one before.
func TestShelf(t *testing.T) {
	size := lengthy("a", 1000).size()
	s := newShelf(3 * size)
	a, again := s.putList(lengthy("a", 1000)), s.putList(lengthy("a", 1000))
	if a != again || s.size != size || s.order.Len() != 1 {
		t.Fatalf("the same list is kept twice: %d bytes, want %d", s.size, size)
	}
	b, c := s.putList(lengthy("b", 1000)), s.putList(lengthy("c", 1000))
	if s.list(a) == nil || s.list(b) == nil || s.list(c) == nil || s.size != 3*size {
		t.Fatalf("as many bytes as there may be are too many: %d", s.size)
	}
	s.list(a) // so that b is the one that was not used for longest
	s.list(c)
	d := s.putList(lengthy("d", 1000))
	if s.list(b) != nil {
		t.Error("more bytes are kept than there may be")
	}
	if s.list(a) == nil || s.list(c) == nil || s.list(d) == nil || s.size != 3*size {
		t.Errorf("something is gone that was used lately: %d bytes", s.size)
	}
	long := s.putList(lengthy("long", 10_000))
	if s.list(long) == nil || s.order.Len() != 1 {
		t.Errorf("a list that is longer than all may be is not kept alone: there are %d", s.order.Len())
	}
	short := s.putList(lengthy("short", 1))
	if s.list(long) != nil || s.list(short) == nil {
		t.Error("a list that is longer than all may be stays beside another one")
	}
}

// Two lists that differ in anything differ in their sums.
func TestSum(t *testing.T) {
	of := func(key, raw, pinned string) sum {
		it := item{key: key, raw: []byte(raw)}
		it.pin.Sum = pinned
		return (&list{items: []item{it}}).sum()
	}
	seen := map[sum]bool{(&list{}).sum(): true}
	for _, s := range []sum{of("a", "b", "c"), of("ab", "", "c"), of("", "ab", "c"), of("a", "bc", ""), of("a", "b", "d")} {
		if seen[s] {
			t.Error("two lists have one sum")
		}
		seen[s] = true
	}
}

// What callers see depends on their table, the kind and each of the lists, and is made once.
func TestJoinKept(t *testing.T) {
	s := newShelf(mostKept)
	one, other := &Table{}, &Table{}
	made := 0
	get := func(t *Table, k *kind, lists ...*list) *join {
		return s.join(t, k, lists, func() *join { made++; return &join{} })
	}
	a, b := lengthy("a", 10), lengthy("b", 10)
	first := get(one, tools, a, nil)
	if get(one, tools, lengthy("a", 10), nil) != first || made != 1 {
		t.Error("the same is made twice")
	}
	for _, j := range []*join{get(other, tools, a, nil), get(one, prompts, a, nil), get(one, tools, nil, a), get(one, tools, b, nil)} {
		if j == first {
			t.Error("something else is taken for it")
		}
	}
	of := s.putList(a)
	s.dropJoins()
	if s.order.Len() != 1 || s.list(of) == nil {
		t.Error("the lists go with what callers see of them")
	}
}

// Lists of many callers are kept up to a bound of all together, and each caller has its own on either side of it.
func TestListsBounded(t *testing.T) {
	const length, callers = 20_000, 12
	h := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "backend", Version: "1"}, nil)
		s.AddTool(&sdk.Tool{Name: "read", InputSchema: object{"type": "object"},
			Description: "for " + r.Header.Get("X-Tenant") + strings.Repeat(".", length)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("read"), nil })
		return s
	}, nil)
	var mu sync.Mutex
	connected := 0
	b := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
			mu.Lock()
			connected++
			mu.Unlock()
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	e := engine(t, people(b.URL))
	for _, c := range []struct {
		name  string
		most  int
		fewer bool // not all are kept
	}{{"more", mostKept, false}, {"fewer", 6 * length, true}} {
		t.Run(c.name, func(t *testing.T) {
			o := newOffice(t, e, func(o *SharedOptions) { o.Servers = map[string]ServerOptions{"s": {Forward: []string{"X-Tenant"}}} })
			o.shelf.most = c.most
			for range 2 {
				for i := range callers {
					name := fmt.Sprint("caller", i)
					v := o.visit(t, "/mcp", o.tokens.of(t, name, time.Hour, "dev"), eras[1])
					v.headers = map[string]string{"X-Tenant": name}
					_, m, _, err := v.send("tools/list", nil)
					if text := fmt.Sprint(m); err != nil || !strings.Contains(text, "for "+name+"...") {
						t.Fatalf("%s: got %.200s %v", name, text, err)
					}
				}
			}
			o.shelf.mu.Lock()
			defer o.shelf.mu.Unlock()
			lists := 0
			for key := range o.shelf.byKey {
				if _, ok := key.(sum); ok {
					lists++
				}
			}
			if o.shelf.size > c.most || (lists < callers) != c.fewer {
				t.Errorf("got %d lists in %d bytes, with room for %d", lists, o.shelf.size, c.most)
			}
		})
	}
	if connected != 2*callers {
		t.Errorf("got %d sessions with the server, want one for each caller", connected)
	}
}

package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo"
)

// engine compiles a source in JSON.
func engine(t testing.TB, source string) *policy.Engine {
	t.Helper()
	files := fstest.MapFS{"modec.toml": {Data: []byte("[targets.roo]\n")}, "modec/a.json": {Data: []byte(source)}}
	res, diags := compiler.Open(t.Context(), compiler.Request{FS: files, Targets: []contract.Target{roo.New()}})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, source)
	}
	return res.Policy
}

// eras are a revision with sessions and one without.
var eras = []string{"2025-11-25", "2026-07-28"}

type object = map[string]any

// wire is a client that writes and reads messages as they are.
type wire struct {
	t     testing.TB
	era   string
	caps  object
	in    io.WriteCloser
	ended chan error

	// asked answers the requests of the gateway, in its own goroutine.
	asked func(params object) object

	mu      sync.Mutex
	id      int
	waits   map[string]chan object
	told    []object // notifications
	heard   chan struct{}
	writing sync.Mutex
}

// dial serves a gateway to a client.
func dial(t testing.TB, g *Gateway, era string, caps object) *wire {
	t.Helper()
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	w := &wire{t: t, era: era, caps: caps, in: toGateway, ended: make(chan error, 1), waits: map[string]chan object{},
		heard: make(chan struct{}, 1000)}
	go func() {
		w.ended <- g.Run(context.Background(), in, out)
		out.Close()
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.read(fromGateway)
	}()
	t.Cleanup(func() {
		toGateway.Close()
		<-done
		g.Close()
	})
	if era < stateless {
		if w.call("initialize", object{"protocolVersion": era, "capabilities": caps,
			"clientInfo": object{"name": "test", "version": "1"}})["result"] == nil {
			t.Fatal("no answer to initialize")
		}
		w.send(object{"method": "notifications/initialized"})
	}
	return w
}

func (w *wire) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m object
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			w.t.Errorf("got %q: %v", lines.Text(), err)
			continue
		}
		switch {
		case m["method"] != nil && m["id"] != nil:
			params, _ := m["params"].(object) // some requests have none
			go func() { w.send(object{"id": m["id"], "result": w.asked(params)}) }()
		case m["method"] != nil:
			w.mu.Lock()
			w.told = append(w.told, m)
			w.mu.Unlock()
			select {
			case w.heard <- struct{}{}:
			default: // who waits looks through all of them
			}
		default:
			w.mu.Lock()
			c := w.waits[fmt.Sprint(m["id"])]
			w.mu.Unlock()
			c <- m
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.waits {
		select {
		case c <- object{"error": object{"message": "the gateway ended"}}:
		default:
		}
	}
}

func (w *wire) send(m object) {
	m["jsonrpc"] = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		w.t.Error(err)
		return
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	_, _ = w.in.Write(append(data, '\n')) // a gateway that ended answers no call
}

// start sends a request and returns its id and where the answer comes.
func (w *wire) start(method string, params object) (int, chan object) {
	params = maps.Clone(params)
	if params == nil {
		params = object{}
	}
	if w.era >= stateless {
		meta := object{"io.modelcontextprotocol/protocolVersion": w.era, "io.modelcontextprotocol/clientCapabilities": w.caps}
		if own, ok := params["_meta"].(object); ok {
			maps.Copy(meta, own)
		}
		params["_meta"] = meta
	}
	c := make(chan object, 1)
	w.mu.Lock()
	w.id++
	id := w.id
	w.waits[fmt.Sprint(id)] = c
	w.mu.Unlock()
	w.send(object{"id": id, "method": method, "params": params})
	return id, c
}

// call sends a request and returns the answer.
func (w *wire) call(method string, params object) object {
	w.t.Helper()
	_, c := w.start(method, params)
	select {
	case m := <-c:
		return m
	case <-time.After(30 * time.Second):
		w.t.Fatalf("no answer to %s", method)
		return nil
	}
}

// result returns the result of a request.
func (w *wire) result(method string, params object) object {
	w.t.Helper()
	m := w.call(method, params)
	r, ok := m["result"].(object)
	if !ok {
		w.t.Fatalf("%s %v: got %v", method, params, m)
	}
	return r
}

// hears waits for a notification and returns it.
func (w *wire) hears(method string) object {
	w.t.Helper()
	late := time.After(30 * time.Second)
	for {
		w.mu.Lock()
		for i, m := range w.told {
			if m["method"] == method {
				w.told = append(w.told[:i], w.told[i+1:]...)
				w.mu.Unlock()
				return m
			}
		}
		w.mu.Unlock()
		select {
		case <-w.heard:
		case <-late:
			w.t.Fatalf("no %s", method)
		}
	}
}

// listed returns the names in a list.
func (w *wire) listed(k *kind) (names []string) {
	w.t.Helper()
	for _, it := range w.result(k.method, nil)[k.field].([]any) {
		names = append(names, it.(object)[k.key].(string))
	}
	return names
}

// fake is a server that offers the same of each kind, and says what it was called with.
type fake struct {
	mu    sync.Mutex
	lists map[*kind]*list
	err   error
	calls []string
}

// offering returns a fake of the names in lists of each kind.
func offering(t testing.TB, toolNames, promptNames, uris, uriTemplates []string) *fake {
	f := &fake{lists: map[*kind]*list{}}
	for k, names := range map[*kind][]string{tools: toolNames, prompts: promptNames, resources: uris, templates: uriTemplates} {
		l := &list{}
		for _, name := range names {
			raw, err := json.Marshal(object{"name": name, k.key: name, "inputSchema": object{"type": "object"}, "x-own": 1})
			if err != nil {
				t.Fatal(err)
			}
			it, err := define(k, raw)
			if err != nil {
				t.Fatal(err)
			}
			l.items = append(l.items, it)
		}
		f.lists[k] = l
	}
	return f
}

func (f *fake) list(_ context.Context, k *kind) (*list, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lists[k], f.err
}

func (f *fake) call(_ context.Context, method string, p *params) (*answer, error) {
	f.note(method + " " + p.Name + p.URI)
	return &answer{fields: map[string]json.RawMessage{"content": json.RawMessage("[]")}}, nil
}

func (f *fake) subscribe(_ context.Context, uri string, to subscription) error {
	f.note(fmt.Sprint("subscribe ", uri, " ", to))
	return nil
}

func (f *fake) close() {}

func (f *fake) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, what)
}

func (f *fake) called() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// faked returns a gateway in front of fakes, by the names of servers.
func faked(t testing.TB, e *policy.Engine, opt Options, fakes map[string]*fake) *Gateway {
	t.Helper()
	opt.Version = "test"
	g, err := newGateway(e, opt, func(sv ir.Server) caller { return fakes[sv.Name] })
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// real returns a gateway in front of servers that it starts.
func real(t testing.TB, source string, opt Options) *Gateway {
	t.Helper()
	opt.Version, opt.Root = "test", t.TempDir()
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	g, err := New(engine(t, source), opt)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

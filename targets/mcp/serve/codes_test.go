package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// post sends a body as a client of a revision does, and returns the status and the messages of the answer.
func post(t testing.TB, url, session, revision, body string) (int, http.Header, []map[string]any) {
	t.Helper()
	req, err := http.NewRequest("POST", url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, v := range map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": revision} {
		if v != "" {
			req.Header.Set(name, v)
		}
	}
	if revision >= statelessSince {
		var m struct{ Method string }
		_ = json.Unmarshal([]byte(body), &m)
		req.Header.Set("Mcp-Method", m.Method)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "data: "))
		if line == "" || strings.HasPrefix(line, "event:") {
			continue
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var m map[string]any
		if err := d.Decode(&m); err != nil {
			t.Fatalf("%s: got %q, which is no message", body, text)
		}
		out = append(out, m)
	}
	return res.StatusCode, res.Header, out
}

// open begins a session of the protocol over HTTP.
func open(t testing.TB, url string) string {
	t.Helper()
	first, second, _ := strings.Cut(hello, "\n")
	_, h, _ := post(t, url, "", "", first)
	session := h.Get("Mcp-Session-Id")
	post(t, url, session, "", second)
	return session
}

// wrong are requests with the code, the reason and a part of the words of their error.
var wrong = []struct{ request, want string }{
	{`"method":"nope"`, `-32601 METHOD_NOT_FOUND "nope"`},
	{`"method":"resources/read"`, `-32602 VALIDATION_ERROR got no uri`},
	{`"method":"resources/read","params":{"uri":5}`, `-32602 VALIDATION_ERROR a number, want a text`},
	{`"method":"resources/read","params":[]`, `-32602 VALIDATION_ERROR params that are a list`},
	{`"method":"resources/read","params":{"uri":"mode://nope/else"}`, `-32602 MODE_NOT_FOUND mode://nope/else`},
	{`"method":"resources/read","params":{"uri":"role://nope/config"}`, `-32602 ROLE_NOT_FOUND role://nope`},
	{`"method":"resources/read","params":{"uri":"server://nope/x"}`, `-32602 SERVER_NOT_FOUND server://nope`},
	{`"method":"resources/read","params":{"uri":"mode://code/else"}`, `-32602 RESOURCE_NOT_FOUND mode://code/else`},
	{`"method":"resources/subscribe","params":{"uri":{}}`, `-32602 VALIDATION_ERROR an object, want a text`},
	{`"method":"prompts/get","params":{"name":"nope"}`, `-32602 MODE_NOT_FOUND nope`},
	{`"method":"prompts/get","params":{"name":"code","arguments":{"a":1}}`, `-32602 VALIDATION_ERROR a number, want a text`},
	{`"method":"tools/call","params":{"name":7}`, `-32602 VALIDATION_ERROR a number, want a text`},
	{`"method":"tools/call","params":{"name":"nope"}`, `-32602 VALIDATION_ERROR unknown tool`},
	{`"method":"tools/call","params":{"name":"list_modes","arguments":"x"}`, `-32602 VALIDATION_ERROR arguments "x", want an object`},
	{`"method":"tools/call","params":{"name":"get_mode_info","arguments":{}}`, `-32602 VALIDATION_ERROR got no mode_slug`},
	{`"method":"tools/call","params":{"name":"get_mode_info","arguments":{"mode_slug":""}}`, `-32602 VALIDATION_ERROR got an empty mode_slug`},
	{`"method":"tools/call","params":{"name":"get_mode_info","arguments":{"mode_slug":5}}`, `-32602 VALIDATION_ERROR mode_slug 5, want a text`},
	{`"method":"tools/call","params":{"name":"get_mode_info","arguments":{"mode_slug":"x"}}`, `-32602 MODE_NOT_FOUND got mode "x"`},
	{`"method":"tools/call","params":{"name":"list_modes","arguments":{"source":"mine"}}`, `-32602 VALIDATION_ERROR source "mine", want one of`},
	{`"method":"tools/call","params":{"name":"complete_task","arguments":{"session_id":"x","status":"done"}}`, `-32602 VALIDATION_ERROR status "done", want one of`},
	{`"method":"tools/call","params":{"name":"validate_tool_use","arguments":{"mode":"code","calls":[{"tool":"x"}]}}`, `-32602 VALIDATION_ERROR calls[0].tool, want one of`},
	{`"method":"tools/call","params":{"name":"validate_tool_use","arguments":{"mode":"code","calls":[{}]}}`, `-32602 VALIDATION_ERROR got no calls[0].tool_name`},
	{`"method":"tools/call","params":{"name":"validate_tool_use","arguments":{"mode":"code"}}`, `-32602 VALIDATION_ERROR got no tool_name`},
	{`"method":"tools/call","params":{"name":"list_modes","_meta":[]}`, `-32602 VALIDATION_ERROR a list, want an object`},
	{`"method":"tools/list","params":{"cursor":1}`, `-32602 VALIDATION_ERROR a number, want a text`},
	{`"method":"completion/complete","params":{"ref":1}`, `-32602 VALIDATION_ERROR a number, want an object`},
	{`"method":"completion/complete","params":{"ref":{"type":5},"argument":{}}`, `-32602 VALIDATION_ERROR ref.type: got a number`},
	{`"method":"logging/setLevel","params":{"level":"bogus"}`, `-32602 VALIDATION_ERROR got the level "bogus"`},
	{`"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true}}`, `-32601 METHOD_NOT_FOUND method`},
	{`"method":"initialize","params":{"protocolVersion":{}}`, `-32602 VALIDATION_ERROR an object, want a text`},
}

// coding returns what a test compares of an error.
func coding(m map[string]any) (code, words string) {
	e, ok := m["error"].(map[string]any)
	if !ok {
		return "no error", fmt.Sprint(m)
	}
	data, _ := e["data"].(map[string]any)
	return fmt.Sprint(e["code"], " ", data["code"]), fmt.Sprint(e["message"])
}

func holdCode(t *testing.T, where, request, want string, m map[string]any) {
	t.Helper()
	code, words := coding(m)
	parts := strings.SplitN(want, " ", 3)
	if code != parts[0]+" "+parts[1] || !strings.Contains(words, parts[2]) {
		t.Errorf("%s: %s: got %s %q, want %s", where, request, code, words, want)
	}
	for _, of := range []string{"unmarshal", "json:", "struct", "Params"} {
		if strings.Contains(words, of) {
			t.Errorf("%s: %s: %q speaks of Go", where, request, words)
		}
	}
}

// What is refused has the code of the protocol and a reason, the same over either transport, also where the
// SDK refuses it before a handler sees it.
func TestCodes(t *testing.T) {
	s := serve(t, Options{})
	url := listen(t, s, HTTPOptions{})
	session := open(t, url)
	for _, c := range wrong {
		body := `{"jsonrpc":"2.0","id":2,` + c.request + `}`
		if !strings.Contains(c.request, "initialize") {
			for _, m := range exchange(t, s, hello+body+"\n") {
				if m["id"] == 2.0 {
					holdCode(t, "over pipes", c.request, c.want, m)
				}
			}
		}
		if _, _, got := post(t, url, session, "2025-11-25", body); len(got) != 1 {
			t.Errorf("%s: got %v", c.request, got)
		} else {
			holdCode(t, "over HTTP", c.request, c.want, got[0])
		}
	}
	for _, c := range []struct{ session, revision, body, want string }{
		{"", "", `{`, "400 -32700 PARSE_ERROR not JSON"},
		{"", "", ``, "400 -32600 INVALID_REQUEST empty body"},
		{"", "", `[]`, "400 -32600 INVALID_REQUEST want one message"},
		{"", "", `5`, "400 -32600 INVALID_REQUEST not an object"},
		{"", "", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "400 -32600 INVALID_REQUEST id is null"},
		{"", "", `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, "400 -32700 PARSE_ERROR not JSON"},
		{"", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "200 -32600 INVALID_REQUEST initialization"},
		{"nobody", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "404 -32600 INVALID_REQUEST session not found"},
		{"", "1999-01-01", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "400 -32600 INVALID_REQUEST Unsupported protocol version"},
		{"", "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "400 -32602 VALIDATION_ERROR _meta"},
		{"", "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"nope"}`, "404 -32601 METHOD_NOT_FOUND nope"},
	} {
		status, _, got := post(t, url, c.session, c.revision, c.body)
		if want, rest, _ := strings.Cut(c.want, " "); fmt.Sprint(status) != want || len(got) != 1 {
			t.Errorf("%s: got %d %v, want %s", c.body, status, got, c.want)
		} else {
			holdCode(t, "over HTTP", c.body, rest, got[0])
		}
	}
}

// Over HTTP too each id comes back as it was sent.
func TestHTTPIDs(t *testing.T) {
	url := listen(t, serve(t, Options{}), HTTPOptions{})
	session := open(t, url)
	for _, id := range []string{"1.5", "9007199254740993", "12345678901234567890123", `"a"`, "-0"} {
		for _, method := range []string{"ping", "nope", "resources/read"} {
			_, _, got := post(t, url, session, "", `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"}`)
			if len(got) != 1 || fmt.Sprint(got[0]["id"]) != strings.Trim(id, `"`) {
				t.Errorf("%s %s: got %v", method, id, got)
			}
		}
	}
}

// One request of a revision without sessions does not speak for the next, over pipes too.
func TestEachRequestSaysItsRevision(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	input := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + meta + `}}
{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_modes","_meta":{"io.modelcontextprotocol/protocolVersion":5}}}
{"jsonrpc":"2.0","id":5,"method":"ping"}
`
	got := map[any]map[string]any{}
	for _, m := range exchange(t, serve(t, Options{}), input) {
		got[m["id"]] = m
	}
	for id, want := range map[float64]string{1: "-32600 INVALID_REQUEST before initialize", 3: "-32600 INVALID_REQUEST before initialize", 4: "-32600 INVALID_REQUEST before initialize"} {
		holdCode(t, "over pipes", fmt.Sprint(id), want, got[id])
	}
	if got[2.0]["result"] == nil || got[5.0]["result"] == nil {
		t.Errorf("got %v", got)
	}
}

// stuck is a response that nobody reads.
type stuck struct {
	header  http.Header
	release chan struct{}
	stuck   chan struct{}
	once    sync.Once
}

func (s *stuck) Header() http.Header { return s.header }
func (s *stuck) WriteHeader(int)     {}
func (s *stuck) Write([]byte) (int, error) {
	s.once.Do(func() { close(s.stuck) })
	<-s.release
	return 0, io.ErrClosedPipe
}

// Flush is what makes a stream of it.
func (s *stuck) Flush() {}

// A client that does not read its stream delays no other one: a change of many resources is told to those
// who read at once.
func TestSlowSubscribersDelayNobody(t *testing.T) {
	s := serve(t, Options{})
	h, err := s.Handler(HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, s, HTTPOptions{})
	many := strings.Builder{}
	for i := range 40 {
		fmt.Fprintf(&many, "modes: m%d: {name: \"M\", roleDefinition: \"TEXT\"}\n", i)
	}
	s.Reload(compiled(t, source+many.String()))
	subscribe := func(ask func(body string)) {
		for i := range 40 {
			ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"mode://m%d"}}`, i+10, i))
		}
	}
	slow := &stuck{header: http.Header{}, release: make(chan struct{}), stuck: make(chan struct{})}
	request := func(w http.ResponseWriter, method, session, body string) {
		r, _ := http.NewRequestWithContext(t.Context(), method, "http://localhost/mcp", bytes.NewReader([]byte(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		h.ServeHTTP(w, r)
	}
	hold := &kept200{header: http.Header{}}
	first, second, _ := strings.Cut(hello, "\n")
	request(hold, "POST", "", first)
	lazy := hold.header.Get("Mcp-Session-Id")
	request(&kept200{header: http.Header{}}, "POST", lazy, second)
	subscribe(func(body string) { request(&kept200{header: http.Header{}}, "POST", lazy, body) })
	ended := make(chan struct{})
	go func() { defer close(ended); request(slow, "GET", lazy, "") }()

	session := open(t, url)
	subscribe(func(body string) { post(t, url, session, "", body) })
	req, _ := http.NewRequestWithContext(t.Context(), "GET", url+"/mcp", nil)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", session)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s.Reload(compiled(t, source+strings.ReplaceAll(many.String(), "TEXT", "other")))
	<-slow.stuck
	told := make(chan int)
	go func() {
		n, buf, text := 0, make([]byte, 4096), ""
		for n < 40 {
			k, err := res.Body.Read(buf)
			if text += string(buf[:k]); err != nil {
				break
			}
			n = strings.Count(text, "notifications/resources/updated")
		}
		told <- n
	}()
	select {
	case n := <-told:
		if n < 40 {
			t.Errorf("got %d notifications, want 40", n)
		}
	case <-time.After(time.Minute): // each one waited for the client that does not read
		t.Error("a client that does not read delays one that does")
	}
	close(slow.release)
	<-ended
}

// kept200 is a response in memory.
type kept200 struct {
	header http.Header
	body   bytes.Buffer
}

func (k *kept200) Header() http.Header            { return k.header }
func (k *kept200) WriteHeader(int)                {}
func (k *kept200) Write(data []byte) (int, error) { return k.body.Write(data) }
func (k *kept200) Flush()                         {}

// FuzzAnswers sends requests of every method with any id and any text in them, over either transport. Each has one
// answer, with the id as it was sent; an error has a code of the protocol and a reason, and does not speak of Go.
func FuzzAnswers(f *testing.F) {
	s := serve(f, Options{})
	h, err := s.Handler(HTTPOptions{})
	if err != nil {
		f.Fatal(err)
	}
	do := func(session, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	first, second, _ := strings.Cut(hello, "\n")
	session := do("", first).Header().Get("Mcp-Session-Id")
	do(session, second)
	for i, id := range []string{"1.5", "9007199254740993", "12345678901234567890123", "-0", "1e400", `"a"`, "null", "true", "{}"} {
		f.Add(uint8(i), id, "mode://code\x00")
		f.Add(uint8(i+9), id, "code\x1b\u202e")
	}
	f.Add(uint8(0), "1", "y")
	greeting := strings.Replace(hello, `"id":1,`, `"id":"greeting",`, 1) // an id in use is refused without one
	number := regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	f.Fuzz(func(t *testing.T, n uint8, id, text string) {
		if raw := json.RawMessage(id); !json.Valid(raw) || strings.ContainsAny(id, "\r\n") {
			b, _ := json.Marshal(id)
			id = string(b)
		}
		id = strings.TrimSpace(id)
		requests := strange(text)
		request := requests[int(n)%len(requests)]
		_, rest, _ := strings.Cut(request, `,"method"`)
		request = `{"jsonrpc":"2.0","id":` + id + `,"method"` + rest
		hold := func(where string, m map[string]json.RawMessage) {
			want := id
			if !number.MatchString(id) && kindOf(json.RawMessage(id)) != aText {
				want = "null"
			}
			compact := func(id json.RawMessage) string { // however a text is escaped
				if kindOf(id) != aText {
					return string(id)
				}
				var text string
				_ = json.Unmarshal(id, &text)
				return "text " + text
			}
			if compact(m["id"]) != compact(json.RawMessage(want)) {
				t.Errorf("%s: %q was answered with the id %s", where, request, m["id"])
			}
			if m["error"] == nil {
				return
			}
			var e struct {
				Code    int64
				Message string
				Data    struct{ Code string }
			}
			if err := json.Unmarshal(m["error"], &e); err != nil || e.Code == 0 || e.Data.Code == "" {
				t.Errorf("%s: %q has the error %s, %v", where, request, m["error"], err)
			}
			if _, of := aboutGo(e.Message); of && !strings.Contains(text, "unmarshal") && !strings.Contains(text, "handling") {
				t.Errorf("%s: %q has the error %s", where, request, m["error"])
			}
		}
		var out strings.Builder
		if err := s.Run(t.Context(), io.NopCloser(strings.NewReader(greeting+request+"\n")), nopCloser{&out}); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for line := range strings.Lines(out.String()) {
			var m map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatalf("got the line %q, %v", line, err)
			}
			if m["result"] != nil && strings.Contains(string(m["result"]), `"protocolVersion"`) || m["method"] != nil {
				continue
			}
			answers++
			hold("over pipes", m)
		}
		if answers != 1 {
			t.Errorf("%q has %d answers over pipes:\n%s", request, answers, out.String())
		}
		body := do(session, request).Body.String()
		for line := range strings.Lines(body) {
			if line = strings.TrimPrefix(line, "data: "); strings.HasPrefix(line, "{") {
				var m map[string]json.RawMessage
				if err := json.Unmarshal([]byte(line), &m); err != nil {
					t.Fatalf("got the body %q, %v", body, err)
				}
				hold("over HTTP", m)
				answers++
			}
		}
		if answers != 2 {
			t.Errorf("%q has the body %q", request, body)
		}
	})
}

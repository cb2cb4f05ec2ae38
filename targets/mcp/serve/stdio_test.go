package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// exchange serves an input to its end and returns every line of the answer.
func exchange(t testing.TB, s *Server, input string) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background(), io.NopCloser(strings.NewReader(input)), nopCloser{&out}) }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server does not end with its input")
	}
	var answers []map[string]any
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var v map[string]any
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("got %q on standard output: %v", lines.Text(), err)
		}
		answers = append(answers, v)
	}
	return answers
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// TestStdioOutlivesBadInput sends what is no message between messages: each has its
// error, and the calls around it their answers, the last one after the input ended.
func TestStdioOutlivesBadInput(t *testing.T) {
	call := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_modes","arguments":{}}}`+"\n", id)
	}
	for name, c := range map[string]struct {
		input string
		want  float64 // the code of the error
	}{
		"no JSON":               {"garbage\n", -32700},
		"half a message":        {`{"jsonrpc":"2.0","id":7,` + "\n", -32700},
		"bytes":                 {"\xff\xfe\x00\n", -32700},
		"no message":            {"{\"foo\":1}\n", -32600},
		"a number":              {"5\n", -32600},
		"an empty list":         {"[]\n", -32600},
		"a batch":               {`[{"jsonrpc":"2.0","id":7,"method":"ping"}]` + "\n", -32600},
		"another version":       {`{"jsonrpc":"1.0","id":7,"method":"ping"}` + "\n", -32600},
		"an id that is a list":  {`{"jsonrpc":"2.0","id":[7],"method":"ping"}` + "\n", -32600},
		"a giant message":       {`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("x", maxLine) + `"}}` + "\n", -32600},
		"a giant without quote": {strings.Repeat("x", 2*maxLine) + "\n", -32600},
		"deep nesting":          {strings.Repeat("[", 100_000) + "\n", -32700},
	} {
		t.Run(name, func(t *testing.T) {
			answers := exchange(t, serve(t, Options{}), hello+call(2)+c.input+call(3))
			ids, code := map[any]bool{}, 0.0
			for _, a := range answers {
				if a["error"] != nil {
					code = a["error"].(map[string]any)["code"].(float64)
					continue
				}
				ids[a["id"]] = a["result"] != nil
			}
			if !ids[1.0] || !ids[2.0] || !ids[3.0] || code != c.want {
				t.Errorf("got answers %v and the error %v, want answers to 1, 2 and 3 and the error %v", ids, code, c.want)
			}
		})
	}
}

// TestStdioEdges: empty lines are nothing, the last line needs no end, an id twice is
// refused, an unknown method and wrong parameters have their errors.
func TestStdioEdges(t *testing.T) {
	answers := exchange(t, serve(t, Options{}), "\r\n\n"+strings.ReplaceAll(hello, "\n", "\r\n")+`{"jsonrpc":"2.0","id":"a","method":"nope"}
{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":5}}
{"jsonrpc":"2.0","id":"c","method":"tools/call"}
{"jsonrpc":"2.0","id":"d","method":"ping"}`)
	codes := map[any]any{}
	for _, a := range answers {
		codes[a["id"]] = nil
		if e, ok := a["error"].(map[string]any); ok {
			codes[a["id"]] = e["code"]
		}
	}
	if codes["a"] != -32601.0 || codes["b"] == nil || codes["c"] == nil {
		t.Errorf("got %v", codes)
	}
	if c, ok := codes["d"]; !ok || c != nil {
		t.Errorf("got %v for the ping", c)
	}
	if got := exchange(t, serve(t, Options{}), ""); len(got) != 0 {
		t.Errorf("got %v of nothing", got)
	}
}

// Whoever sends what is no message learns why in plain words, under its id where it has one.
func TestWordsOfRefusals(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":[7],"method":"ping"}`:                                      `<nil> -32600 its id is a list, want a text or a number`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                                       `<nil> -32600 its id is an object, want a text or a number`,
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`:                                     `<nil> -32600 its id is a boolean, want a text or a number`,
		`{"jsonrpc":"1.0","id":7,"method":"ping"}`:                                        `7 -32600 it is not of JSON-RPC 2.0`,
		`{"id":7,"method":"ping"}`:                                                        `7 -32600 it is not of JSON-RPC 2.0`,
		`{"jsonrpc":"2.0","id":7}`:                                                        `7 -32600 it has no method`,
		`{"jsonrpc":"2.0","id":7,"METHOD":"ping"}`:                                        `7 -32600 it has no method`,
		`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`:                                      `<nil> -32600 it is a list, want one message`,
		`{"jsonrpc":"2.0","id":7,"method":"server/discover"}`:                             `7 -32600 before initialize`,
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001):                         `<nil> -32700 more than 10000 deep`,
		`{"jsonrpc":"2.0","id":7,"method":"ping",`:                                        `<nil> -32700 that is not JSON`,
		`{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{}}`:             `7 -32602 got no uri`,
		`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"bogus"}}`: `7 -32602 got the level "bogus", want one of`,
	} {
		begins := hello
		if strings.Contains(line, "server/discover") { // of a revision without it
			begins = ""
		}
		answers := exchange(t, serve(t, Options{}), begins+line+"\n")
		var got string
		for _, a := range answers {
			if e, ok := a["error"].(map[string]any); ok {
				got = fmt.Sprint(a["id"], " ", e["code"], " ", e["message"])
				if data, _ := e["data"].(map[string]any); data["code"] == nil {
					t.Errorf("%.100s: got no code: %v", line, e)
				}
			}
		}
		parts := strings.SplitN(want, " ", 3)
		if !strings.HasPrefix(got, parts[0]+" "+parts[1]+" ") || !strings.Contains(got, parts[2]) {
			t.Errorf("%.100s: got %s, want %s", line, got, want)
		}
		for _, word := range []string{"interface", "tag", "unmarshal", "struct {", "ID type"} {
			if strings.Contains(got, word) {
				t.Errorf("%.100s: got %s, which speaks of Go", line, got)
			}
		}
	}
	for theirs, want := range map[string]string{"calling: context canceled": "calling: the call was cancelled", "statat modec: gone": "modec: gone"} {
		if got := fail(internalError, "%s", theirs).Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestStdioEnds although nobody reads its answers.
func TestStdioEnds(t *testing.T) {
	t.Parallel()
	in, w := io.Pipe()
	_, out := io.Pipe() // that nobody reads
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	s := serve(t, Options{})
	go func() { done <- s.Run(ctx, in, out) }()
	if _, err := io.WriteString(w, hello); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(Patience + 10*time.Second):
		t.Fatal("the server does not end")
	}
}

// FuzzStdio throws lines at the server: it ends with its input, and writes nothing but
// messages.
func FuzzStdio(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"validate_tool_use","arguments":{"mode":"code","tool_name":"Bash","command":"ls && rm -rf /"}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"mode://%2e%2e"}}`))
	f.Add([]byte("[{},[]]\n\x00"))
	s := serve(f, Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		exchange(t, s, hello+string(data)+"\n")
	})
}

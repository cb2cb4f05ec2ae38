package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Each id comes back as it was sent. What is no id has an error, and so has a number that readers of JSON would change.
func TestStdioIDs(t *testing.T) {
	ids := []string{
		"0", "-1", "9007199254740991", `"a"`, `"1.5"`, `"\u001b"`, `""`,
	}
	input := hello
	for _, id := range ids {
		input += `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n"
	}
	var out strings.Builder
	if err := serve(t, Options{}).Run(t.Context(), io.NopCloser(strings.NewReader(input)), nopCloser{&out}); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if !strings.Contains(out.String(), `"id":`+id+`,"result":{}`) {
			t.Errorf("no answer to %s in\n%s", id, out.String())
		}
	}
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                                       "1.5 -32600",
		`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`:                                       "1000 -32600",
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`:                          "9.007199254740992e+15 -32600",
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                      "<nil> -32600",
		`{"jsonrpc":"2.0","id":5,"method":null}`:                                           "5 -32600",
		`{"jsonrpc":"2.0","id":5,"method":"ping"}{"jsonrpc":"2.0","id":6,"method":"ping"}`: "5 <nil>, 6 <nil>",
		`{"jsonrpc":"2.0","id":5,"method":"ping"} x`:                                       "5 <nil>, <nil> -32700",
		`{"jsonrpc":"2.0","id":5,"method":"ping"}{"jsonrpc":`:                              "5 <nil>, <nil> -32700",
	} {
		var got []string
		for _, a := range exchange(t, serve(t, Options{}), hello+message+"\n") {
			if a["id"] == 1.0 {
				continue
			}
			e, _ := a["error"].(map[string]any)
			got = append(got, fmt.Sprint(a["id"], " ", e["code"]))
		}
		slices.Sort(got)
		wanted := strings.Split(want, ", ")
		slices.Sort(wanted)
		if !slices.Equal(got, wanted) {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

// strange are requests with a text of a caller's in every place that has one.
func strange(text string) (list []string) {
	x, _ := json.Marshal(text)
	uri, _ := json.Marshal("mode://" + text)
	for i, of := range []string{
		`"resources/read","params":{"uri":%s}`, `"resources/subscribe","params":{"uri":%s}`,
		`"resources/unsubscribe","params":{"uri":%s}`, `"prompts/get","params":{"name":%s}`,
		`"prompts/get","params":{"name":"code","arguments":{"x":%s}}`, `"tools/call","params":{"name":%s}`,
		`"tools/call","params":{"name":"get_mode_info","arguments":{"mode_slug":%s}}`,
		`"tools/call","params":{"name":"validate_tool_use","arguments":{"mode_slug":"code","tool_name":%s,"file_path":%[1]s}}`,
		`"completion/complete","params":{"ref":{"type":"ref/prompt","name":%s},"argument":{"name":%[1]s,"value":%[1]s}}`,
		`"completion/complete","params":{"ref":{"type":"ref/resource","uri":%s},"argument":{"name":"x","value":"y"}}`,
		`"tools/list","params":{"cursor":%s}`, `"resources/list","params":{"cursor":%s}`, `"logging/setLevel","params":{"level":%s}`,
		`%s`,
	} {
		v := x
		if strings.HasPrefix(of, `"resources/read`) {
			v = uri
		}
		list = append(list, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":`, i+2)+fmt.Sprintf(of, v)+"}")
	}
	return list
}

// Control characters in any text have an answer of the protocol, by either transport, and end nothing.
func TestControlCharacters(t *testing.T) {
	var texts []string
	for c := rune(0); c < 0xa0; c++ {
		if c < ' ' || c >= 0x7f {
			texts = append(texts, "code"+string(c))
		}
	}
	texts = append(texts, "code\ue000", "code\U000f0000", "code\u2028", "\"}", "code\u202e", "code\ufeff")
	input, n := hello, 1
	for _, text := range texts {
		for _, r := range strange(text) {
			n++
			input += strings.Replace(r, `"id":`+r[len(`{"jsonrpc":"2.0","id":`):strings.Index(r, `,"method"`)], fmt.Sprint(`"id":`, n), 1) + "\n"
		}
	}
	s := serve(t, Options{})
	answered := map[any]bool{}
	for _, a := range exchange(t, s, input) {
		answered[a["id"]] = true
		if e, ok := a["error"].(map[string]any); ok && e["code"] == 0.0 {
			t.Errorf("got an error without a code: %v", a)
		}
	}
	for id := 1; id <= n; id++ {
		if !answered[float64(id)] {
			t.Errorf("got no answer to %d", id)
		}
	}

	url := listen(t, s, HTTPOptions{})
	session := ""
	ask := func(body string) (int, string) {
		req, err := http.NewRequest("POST", url+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Session-Id", session)
		if session == "" {
			req.Header.Del("Mcp-Session-Id")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	for line := range strings.Lines(hello) {
		ask(line)
	}
	for i, text := range texts {
		if testing.Short() && i%8 != 0 {
			continue
		}
		for _, r := range strange(text) {
			if code, body := ask(r); code >= 500 || code == 404 || body == "" {
				t.Fatalf("%s: got %d %q", r, code, body)
			}
		}
	}
}

// A second initialize has a code, in either transport's words.
func TestSecondInitialize(t *testing.T) {
	again := strings.Replace(strings.SplitAfter(hello, "\n")[0], `"id":1`, `"id":2`, 1)
	for _, a := range exchange(t, serve(t, Options{}), hello+again) {
		if e, ok := a["error"].(map[string]any); ok != (a["id"] == 2.0) || ok && e["code"] != -32600.0 {
			t.Errorf("got %v", a)
		}
	}
}

// A key that is there twice would be one thing to modec and another one to who reads the message in between.
func TestKeysTwice(t *testing.T) {
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","id":2}`:                                                      `got the key "id" twice in an object`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{},"name":"b"}}`:       `got the key "name" twice in an object`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","n\u0061me":"b"}}`:                 `got the key "name" twice in an object`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"a":{"x":1},"b":2}}}`: "",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"a":{"x":1,"x":2}}}}`: `got the key "x" twice in an object`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":[1,1]}`:                                              "",
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                                             "",
	} {
		got := ""
		if _, err := readMessage([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

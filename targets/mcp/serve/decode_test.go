package serve

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestDecode holds that messages are read as the SDK reads them.
func TestDecode(t *testing.T) {
	for _, text := range messages {
		checkDecode(t, text)
	}
}

// FuzzDecode looks for messages that are read otherwise than by the SDK.
func FuzzDecode(f *testing.F) {
	for _, text := range messages {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkDecode(t, text) })
}

var messages = []string{
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"a","method":"x","params":{"b":[1.50, "é"]}}`,
	`{"jsonrpc":"2.0","method":"notifications/x","params":{}}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":{"x":1}}}`, `{"jsonrpc":"2.0","id":null,"method":"x"}`,
	`{"jsonrpc":"2.0","id":1.5,"method":"x"}`, `{"jsonrpc":"2.0","id":12345678901234567890,"method":"x"}`,
	`{"jsonrpc":"2.0","id":[1],"method":"x"}`, `{"jsonrpc":"1.0","id":1,"method":"x"}`, `{"id":1,"method":"x"}`, `[]`, ``, `{`,
	`{"jsonrpc":"2.0","id":1,"method":null}`, `{"jsonrpc":"2.0","id":1,"method":5}`, `{"jsonrpc":"2.0","id":1,"method":""}`,
	`{"jsonrpc":"2.0","id":1,"result":null}`, `{"jsonrpc":"2.0","id":1,"method":"x","params":null}`, `{"jsonrpc":"2.0","id":1}`,
	`{"JSONRPC":"2.0","Id":1,"Method":"x"}`, `{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}`, `{"jsonrpc":"2.0","id":1,"ID":2,"method":"x"}`,
	" {\"jsonrpc\" : \"2.0\" , \"id\" : 1 , \"method\" : \"\\u0070ing\" , \"params\" : { \"a\" : 1 } } ",
	"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"x\"}", `{"jsonrpc":"2.0","id":1,"method":"x"} x`,
	`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `}`,
	`{"jsonrpc":"2.0","id":1,"method":"x","params":"` + "\xed\xa0\x80" + `"}`,
}

func checkDecode(t *testing.T, text string) {
	t.Helper()
	want, bad := jsonrpc.DecodeMessage([]byte(text))
	got, err := Decode([]byte(text))
	if (err == nil) != (bad == nil) {
		t.Errorf("%.200q: got %v, want %v", text, err, bad)
		return
	}
	if err != nil {
		return
	}
	ids := cmp.Transformer("id", func(id jsonrpc.ID) any { return id.Raw() })
	if d := cmp.Diff(want, got, ids); d != "" {
		t.Errorf("%.200q: %s", text, d)
	}
}

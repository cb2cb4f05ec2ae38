package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"modec.dev/modec/compiler/lazy"
)

// kept begins the id by which the SDK knows a request whose own id it would change: it reads every number
// as a float, and keeps whole ones of 64 bits.
const kept = "\x01id "

// keptText is how kept is written in JSON.
const keptText = `"\u0001id `

// whole matches the numbers that a float has exactly.
var whole = lazy.Regexp(`^(?:0|-?[1-9][0-9]{0,14})$`)

// loses reports whether the SDK would answer another id than the one that a request has.
func loses(id json.RawMessage) bool {
	switch {
	case len(id) == 0:
		return false
	case id[0] == '"':
		var text string
		return json.Unmarshal(id, &text) == nil && strings.HasPrefix(text, kept)
	}
	return (id[0] == '-' || '0' <= id[0] && id[0] <= '9') && !whole().Match(id)
}

var (
	errNullMethod = errors.New("its method is null, want a text")
	errNullID     = errors.New("its id is null, want a text or a number")
	errNotObject  = errors.New("it is not an object")
	errNotRPC     = errors.New("it is not of JSON-RPC 2.0")
	errNoMethod   = errors.New("it has no method, and is no answer either")
)

// mostDeep is how deep the values of a message may nest, as encoding/json has it.
const mostDeep = 10_000

// notJSON says why something is not JSON. what it is begins the words.
func notJSON(what string, data []byte) *jsonrpc.Error {
	var v json.RawMessage
	if err := json.Unmarshal(data, &v); err != nil && strings.Contains(err.Error(), "max depth") {
		return fail(parseError, "got %s whose values nest more than %d deep", what, mostDeep)
	}
	return fail(parseError, "got %s that is not JSON", what)
}

// message is one that came: what the SDK reads of it, and what is wrong with its method and parameters.
type message struct {
	data  []byte
	id    json.RawMessage // the client's; nil: none
	asks  bool            // it has a method, as no answer does
	fault *jsonrpc.Error
}

// readMessage reads a message. An id that the SDK would change is one of modec's own until the answer.
func readMessage(data []byte) (message, error) {
	out := message{data: data}
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil || m == nil {
		return out, errNotObject
	}
	if key := repeatedKey(data); key != "" {
		return out, fmt.Errorf("got the key %q twice", key)
	}
	if key := repeatedKey(m["params"]); key != "" {
		return out, fmt.Errorf("got the key %q twice in params", key)
	}
	null := func(key string) bool { return string(m[key]) == "null" }
	id := kindOf(m["id"])
	switch {
	case string(m["jsonrpc"]) != `"2.0"`:
		return out, errNotRPC
	case id == aList || id == aObject || id == "a boolean":
		return out, fmt.Errorf("its id is %s, want a text or a number", id)
	case m["method"] == nil && m["result"] == nil && m["error"] == nil:
		return out, errNoMethod
	case null("method"):
		return out, errNullMethod
	case null("id") && m["method"] != nil:
		return out, errNullID
	}
	out.id, out.asks = m["id"], m["method"] != nil
	var method string
	if json.Unmarshal(m["method"], &method) == nil {
		out.fault = faultOf(method, m["params"])
	}
	own := replaced(m, "id")
	if method == "notifications/cancelled" {
		var params map[string]json.RawMessage
		if json.Unmarshal(m["params"], &params) == nil && replaced(params, "requestId") {
			own = true
			m["params"], _ = json.Marshal(params) // what was read can be written
		}
	}
	if own {
		var err error
		out.data, err = json.Marshal(m)
		return out, err
	}
	return out, nil
}

// repeatedKey returns a key that an object has twice, "" where there is none: of two readers one may take the first
// value, and another one the second.
func repeatedKey(object json.RawMessage) string {
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	seen := map[string]bool{}
	for dec.PeekKind() == '"' {
		t, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		key := t.String()
		if seen[key] {
			return key
		}
		seen[key] = true
		if dec.SkipValue() != nil {
			return ""
		}
	}
	return ""
}

// decodeMessage reads a message as the SDK has it.
func decodeMessage(data []byte) (jsonrpc.Message, *jsonrpc.Error, error) {
	m, err := readMessage(data)
	if err != nil {
		return nil, nil, err
	}
	msg, err := m.decode()
	return msg, m.fault, err
}

// decode returns a message as the SDK has it.
func (m *message) decode() (jsonrpc.Message, error) {
	msg, err := Decode(m.data)
	if err != nil {
		if _, of := aboutGo(err.Error()); of {
			return nil, errNotRPC
		}
	}
	return msg, err
}

// replaced puts an id of modec's own in the place of one that the SDK would change.
func replaced(m map[string]json.RawMessage, key string) bool {
	id := m[key]
	if !loses(id) {
		return false
	}
	m[key], _ = json.Marshal(kept + string(id)) // a text can be written
	return true
}

// coded returns a function that gives the error of an answer a code, and modec's words where the SDK refused
// parameters. fault is what is wrong with the request, nil where nothing shows.
func coded(fault *jsonrpc.Error) func(error) *jsonrpc.Error {
	return func(err error) *jsonrpc.Error {
		var wire *jsonrpc.Error
		known := errors.As(err, &wire)
		absent := known && wire.Code == jsonrpc.CodeMethodNotFound // in the revision of the request, at least
		if fault != nil && (!known || wire.Data == nil && (!absent || fault.Code == wire.Code)) {
			return fault
		}
		return protocolError(err)
	}
}

// encodeMessage writes a message, with the id that its request had and the error that inWords returns of its own.
func encodeMessage(msg jsonrpc.Message, inWords func(error) *jsonrpc.Error) ([]byte, error) {
	res, ok := msg.(*jsonrpc.Response)
	if ok && res.Error != nil {
		res.Error = inWords(res.Error)
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if !ok || err != nil {
		return data, err
	}
	text, ok := res.ID.Raw().(string)
	if !ok || !strings.HasPrefix(text, kept) {
		return data, nil
	}
	own, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	return bytes.Replace(data, own, []byte(strings.TrimPrefix(text, kept)), 1), nil
}

// mended returns a message as it goes to a client that the SDK wrote it for: with the id of the request and
// a coded error. faults are those of the requests, by their ids as text.
func mended(data []byte, faults map[string]*jsonrpc.Error) []byte {
	if !bytes.Contains(data, []byte(`"error"`)) && !bytes.Contains(data, []byte(keptText)) {
		return data
	}
	msg, err := jsonrpc.DecodeMessage(data)
	res, ok := msg.(*jsonrpc.Response)
	if err != nil || !ok {
		return data
	}
	out, err := encodeMessage(res, coded(faults[idKey(res)]))
	if err != nil {
		return data
	}
	return out
}

// idKey is the id of an answer as its request wrote it, compact.
func idKey(res *jsonrpc.Response) string {
	if text, ok := res.ID.Raw().(string); ok && strings.HasPrefix(text, kept) {
		return strings.TrimPrefix(text, kept)
	}
	b, _ := json.Marshal(res.ID.Raw())
	return string(b)
}

// rawKey is an id as idKey has it.
func rawKey(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) == nil {
		b, _ := json.Marshal(text)
		return string(b)
	}
	return string(id)
}

package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// kept begins the id by which the SDK knows a request whose own id it would change: it reads every number
// as a float, and keeps whole ones of 64 bits.
const kept = "\x01id "

// whole matches the numbers that a float has exactly.
var whole = regexp.MustCompile(`^(?:0|-?[1-9][0-9]{0,14})$`)

// loses reports whether the SDK would answer another id than the one that a request has.
func loses(id json.RawMessage) bool {
	switch {
	case len(id) == 0:
		return false
	case id[0] == '"':
		var text string
		return json.Unmarshal(id, &text) == nil && strings.HasPrefix(text, kept)
	}
	return (id[0] == '-' || '0' <= id[0] && id[0] <= '9') && !whole.Match(id)
}

var (
	errNullMethod = errors.New("its method is null, want a text")
	errNullID     = errors.New("its id is null, want a text or a number")
)

// decodeMessage reads a message. An id that the SDK would change is one of modec's own until the answer.
func decodeMessage(data []byte) (jsonrpc.Message, error) {
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil {
		return jsonrpc.DecodeMessage(data)
	}
	null := func(key string) bool { return string(m[key]) == "null" }
	switch {
	case null("method"):
		return nil, errNullMethod
	case null("id") && m["method"] != nil:
		return nil, errNullID
	}
	own := replaced(m, "id")
	if string(m["method"]) == `"notifications/cancelled"` {
		var params map[string]json.RawMessage
		if json.Unmarshal(m["params"], &params) == nil && replaced(params, "requestId") {
			own = true
			m["params"], _ = json.Marshal(params) // what was read can be written
		}
	}
	if own {
		var err error
		if data, err = json.Marshal(m); err != nil {
			return nil, err
		}
	}
	return jsonrpc.DecodeMessage(data)
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

// encodeMessage writes a message, with the id that its request had.
func encodeMessage(msg jsonrpc.Message) ([]byte, error) {
	res, ok := msg.(*jsonrpc.Response)
	if ok && res.Error != nil {
		res.Error = protocolError(res.Error)
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

package serve

import (
	gojson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// wireMessage is a message as it is on the wire.
type wireMessage struct {
	Version string         `json:"jsonrpc"`
	ID      any            `json:"id"`
	Method  *string        `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// sdkDepth is how deep the values of a message nest that the SDK reads.
const sdkDepth = 1000

// deep reports whether the values of a message nest deeper than that. It has been read as JSON.
func deep(data []byte) bool {
	depth, text := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{', c == '[':
			if depth++; depth > sdkDepth {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
}

// Decode reads a request or a result as the SDK's function does, which takes 32 KiB for each of its steps. It leaves
// everything else to it: errors, and what is no message.
func Decode(data []byte) (jsonrpc.Message, error) {
	var m wireMessage
	err := gojson.Unmarshal(data, &m, jsontext.AllowInvalidUTF8(true))
	null := m.Params.Kind() == 'n' || m.Result.Kind() == 'n'
	if err != nil || deep(data) || m.Version != "2.0" || m.Error != nil || null {
		return jsonrpc.DecodeMessage(data)
	}
	id, err := jsonrpc.MakeID(m.ID)
	switch {
	case err != nil:
	case m.Method != nil:
		return &jsonrpc.Request{Method: *m.Method, ID: id, Params: []byte(m.Params)}, nil
	case m.Result != nil && id.IsValid():
		return &jsonrpc.Response{ID: id, Result: []byte(m.Result)}, nil
	}
	return jsonrpc.DecodeMessage(data)
}

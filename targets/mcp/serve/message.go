package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	gojson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// isWhole reports whether an id that is a number comes back from the SDK as it was sent: a whole number that every
// reader of JSON takes for the same one.
func isWhole(id json.RawMessage) bool {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == string(id) && -1<<53 < n && n < 1<<53
}

var (
	errNullMethod = errors.New("its method is null, want a text")
	errNullID     = errors.New("its id is null, want a text or a number")
	errNotObject  = errors.New("it is not an object")
	errNotRPC     = errors.New("it is not of JSON-RPC 2.0")
	errNoMethod   = errors.New("it has no method, and is no answer either")
	errBatch      = errors.New("it is a list, want one message")
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

// message is one that came, and what is wrong with its method and parameters.
type message struct {
	data   []byte
	id     json.RawMessage // nil: none
	params json.RawMessage
	method string
	asks   bool // it has a method, as no answer does
	fault  *jsonrpc.Error
}

// readMessage reads a message.
func readMessage(data []byte) (message, error) {
	out := message{data: data}
	var m map[string]json.RawMessage
	if kindOf(data) == aList {
		return out, errBatch
	}
	err := gojson.Unmarshal(data, &m, jsontext.AllowInvalidUTF8(true))
	// Of two readers one may take the first value of a key that is there twice, and another one the second.
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(bad, jsontext.ErrDuplicateName) {
		return out, fmt.Errorf("got the key %q twice in an object", bad.JSONPointer.LastToken())
	}
	if err != nil || m == nil {
		return out, errNotObject
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
	case id == "a number" && m["method"] != nil && !isWhole(m["id"]):
		return out, fmt.Errorf("its id is %.100s, want a text or a whole number of less than 2^53", m["id"])
	}
	out.id, out.params, out.asks = m["id"], m["params"], m["method"] != nil
	if json.Unmarshal(m["method"], &out.method) == nil {
		out.fault = faultOf(out.method, out.params)
	}
	return out, nil
}

// decode returns a message as the SDK has it.
func (m *message) decode() (jsonrpc.Message, error) {
	msg, err := jsonrpc.DecodeMessage(m.data)
	if err != nil {
		if _, of := aboutGo(err.Error()); of {
			return nil, errNotRPC
		}
	}
	return msg, err
}

// errorCoder returns a function that gives the error of an answer a code, and modec's words where the SDK refused
// parameters. fault is what is wrong with the request, nil where nothing shows.
func errorCoder(fault *jsonrpc.Error) func(error) *jsonrpc.Error {
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

// encodeMessage writes a message, with the error that inWords returns of its own.
func encodeMessage(msg jsonrpc.Message, inWords func(error) *jsonrpc.Error) ([]byte, error) {
	if res, ok := msg.(*jsonrpc.Response); ok && res.Error != nil {
		res.Error = inWords(res.Error)
	}
	return jsonrpc.EncodeMessage(msg)
}

// withCode returns a message of the SDK as it goes to a client: with a code in its error. fault is what is wrong with
// the request; nil: nothing that shows.
func withCode(data []byte, fault *jsonrpc.Error) []byte {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return data
	}
	msg, err := jsonrpc.DecodeMessage(data)
	res, ok := msg.(*jsonrpc.Response)
	if err != nil || !ok {
		return data
	}
	out, err := encodeMessage(res, errorCoder(fault))
	if err != nil {
		return data
	}
	return out
}

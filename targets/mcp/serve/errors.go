package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// code is a reason for which a call fails, by the name that the modes-server
// specification gives it.
type code string

const (
	parseError       code = "PARSE_ERROR"
	invalidRequest   code = "INVALID_REQUEST"
	methodNotFound   code = "METHOD_NOT_FOUND"
	modeNotFound     code = "MODE_NOT_FOUND"
	taskNotFound     code = "TASK_NOT_FOUND"
	sessionExpired   code = "SESSION_EXPIRED"
	validationError  code = "VALIDATION_ERROR"
	toolRestriction  code = "TOOL_RESTRICTION_ERROR"
	fileRestriction  code = "FILE_RESTRICTION_ERROR"
	internalError    code = "INTERNAL_ERROR"
	timedOut         code = "TIMEOUT"
	projectNotFound  code = "PROJECT_NOT_FOUND"
	roleNotFound     code = "ROLE_NOT_FOUND"
	serverNotFound   code = "SERVER_NOT_FOUND"
	limitReached     code = "LIMIT_REACHED"
	resourceNotFound code = "RESOURCE_NOT_FOUND"
	headerMismatch   code = "HEADER_MISMATCH"
	badVersion       code = "UNSUPPORTED_PROTOCOL_VERSION"
)

// specCodes are the numbers of the modes-server specification, which the protocol
// reserves: they travel as data.
var specCodes = map[code]int{
	parseError: jsonrpc.CodeParseError, invalidRequest: jsonrpc.CodeInvalidRequest,
	methodNotFound: jsonrpc.CodeMethodNotFound, internalError: jsonrpc.CodeInternalError,
	modeNotFound: -32001, taskNotFound: -32002, sessionExpired: -32003,
	validationError: -32004, toolRestriction: -32005, fileRestriction: -32006,
}

// fail is an error of the protocol: invalid params, with the reason as data. A tool's
// handler returns it as it is; wrapped, the SDK would make a result of it.
func fail(c code, format string, args ...any) *jsonrpc.Error {
	return failData(c, nil, format, args...)
}

func failData(c code, more map[string]any, format string, args ...any) *jsonrpc.Error {
	n := int64(jsonrpc.CodeInvalidParams)
	switch c {
	case internalError, timedOut:
		n = jsonrpc.CodeInternalError
	case parseError, invalidRequest, methodNotFound:
		n = int64(specCodes[c])
	case headerMismatch:
		n = sdk.CodeHeaderMismatch
	}
	return &jsonrpc.Error{Code: n, Message: inPlainWords(fmt.Sprintf(format, args...)), Data: dataOf(c, more)}
}

// dataOf returns the data of an error.
func dataOf(c code, more map[string]any) json.RawMessage {
	data := map[string]any{"code": string(c)}
	if n, ok := specCodes[c]; ok {
		data["specCode"] = n
	}
	for k, v := range more {
		data[k] = v
	}
	b, _ := json.Marshal(data)
	return b
}

// standard are the reasons for the standard numbers.
var standard = map[int64]code{
	jsonrpc.CodeParseError:     parseError,
	jsonrpc.CodeInvalidRequest: invalidRequest,
	jsonrpc.CodeMethodNotFound: methodNotFound,
	jsonrpc.CodeInvalidParams:  validationError,
	jsonrpc.CodeInternalError:  internalError,

	sdk.CodeHeaderMismatch:             headerMismatch,
	sdk.CodeUnsupportedProtocolVersion: badVersion,
}

// StandardError returns an error as the protocol has it: what the SDK refuses before a handler sees it has no
// code, and the address of a resource in its data is no JSON where it has control characters.
func StandardError(err error) *jsonrpc.Error {
	out := &jsonrpc.Error{Message: err.Error()}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		*out = *wire
	}
	if out.Code == 0 {
		out.Code = jsonrpc.CodeInvalidRequest
	}
	if !json.Valid(out.Data) {
		out.Data = nil
	}
	return out
}

// protocolError does the same in modec's own words, since those of the SDK may be about types of Go, and with
// the reason as data.
func protocolError(err error) *jsonrpc.Error {
	out := StandardError(err)
	if method, of := aboutGo(out.Message); of {
		return unreadable(method)
	}
	out.Message = inPlainWords(out.Message)
	var data map[string]any
	if out.Data != nil && json.Unmarshal(out.Data, &data) != nil || data["code"] != nil {
		return out // of another form, or coded already
	}
	c, ok := standard[out.Code]
	if !ok {
		c = invalidRequest
	}
	out.Data = dataOf(c, data)
	return out
}

// libraryWords are texts of Go's libraries, and what they mean to a client.
var libraryWords = []struct{ theirs, plain string }{
	{context.Canceled.Error(), "the call was cancelled"},
	{context.DeadlineExceeded.Error(), "the call took too long"},
	{"JSON RPC not implemented", "the method is not served"},
	{"not implemented", "the method is not served"},
	{"statat ", ""},
	{"openat ", ""},
}

// inPlainWords replaces texts of Go's libraries.
func inPlainWords(text string) string {
	for _, w := range libraryWords {
		text = strings.ReplaceAll(text, w.theirs, w.plain)
	}
	return text
}

// aboutGo reports whether a text of the SDK speaks of Go's types, and of which method's parameters.
func aboutGo(text string) (method string, ok bool) {
	_, rest, found := strings.Cut(text, "handling '")
	if found {
		method, _, _ = strings.Cut(rest, "'")
	}
	return method, found || strings.Contains(text, "unmarshal") || strings.Contains(text, "interface {}")
}

package serve

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// code is a reason for which a call fails, by the name that the modes-server
// specification gives it.
type code string

const (
	modeNotFound     code = "MODE_NOT_FOUND"
	taskNotFound     code = "TASK_NOT_FOUND"
	sessionExpired   code = "SESSION_EXPIRED"
	validationError  code = "VALIDATION_ERROR"
	toolRestriction  code = "TOOL_RESTRICTION_ERROR"
	fileRestriction  code = "FILE_RESTRICTION_ERROR"
	internalError    code = "INTERNAL_ERROR"
	timedOut         code = "TIMEOUT"
	roleNotFound     code = "ROLE_NOT_FOUND"
	serverNotFound   code = "SERVER_NOT_FOUND"
	limitReached     code = "LIMIT_REACHED"
	resourceNotFound code = "RESOURCE_NOT_FOUND"
)

// specCodes are the numbers of the modes-server specification, which the protocol
// reserves: they travel as data.
var specCodes = map[code]int{
	modeNotFound: -32001, taskNotFound: -32002, sessionExpired: -32003,
	validationError: -32004, toolRestriction: -32005, fileRestriction: -32006,
}

// fail is an error of the protocol: invalid params, with the reason as data. A tool's
// handler returns it as it is; wrapped, the SDK would make a result of it.
func fail(c code, format string, args ...any) *jsonrpc.Error {
	return failData(c, nil, format, args...)
}

func failData(c code, more map[string]any, format string, args ...any) *jsonrpc.Error {
	data := map[string]any{"code": string(c)}
	if n, ok := specCodes[c]; ok {
		data["specCode"] = n
	}
	for k, v := range more {
		data[k] = v
	}
	b, _ := json.Marshal(data)
	n := int64(jsonrpc.CodeInvalidParams)
	if c == internalError || c == timedOut {
		n = jsonrpc.CodeInternalError
	}
	return &jsonrpc.Error{Code: n, Message: fmt.Sprintf(format, args...), Data: b}
}

// protocolError returns an error as the protocol has it: what the SDK refuses before a handler sees it has
// no code, and the address of a resource in its data is no JSON where it has control characters.
func protocolError(err error) *jsonrpc.Error {
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

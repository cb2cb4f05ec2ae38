package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/diag"
)

// kind is what a member of a request's parameters has to be.
type kind string

const (
	aText   kind = "a text"
	aObject kind = "an object"
	aList   kind = "a list"
)

// param is a member of a request's parameters.
type param struct {
	name     string
	kind     kind
	required bool
}

// params are the methods that are served, with what each takes. The SDK reads them; where it cannot, this
// says what is wrong, without the names of its types.
var params = map[string][]param{
	"initialize": {{"protocolVersion", aText, true}, {"capabilities", aObject, true}, {"clientInfo", aObject, true}},
	"ping":       {},

	"server/discover":          {},
	"tools/list":               {{"cursor", aText, false}},
	"tools/call":               {{"name", aText, true}, {"arguments", aObject, false}},
	"resources/list":           {{"cursor", aText, false}},
	"resources/templates/list": {{"cursor", aText, false}},
	"resources/read":           {{"uri", aText, true}},
	"resources/subscribe":      {{"uri", aText, true}},
	"resources/unsubscribe":    {{"uri", aText, true}},
	"prompts/list":             {{"cursor", aText, false}},
	"prompts/get":              {{"name", aText, true}, {"arguments", aObject, false}},
	"completion/complete": {{"ref", aObject, true}, {"ref.type", aText, true}, {"argument", aObject, true},
		{"argument.name", aText, true}, {"argument.value", aText, true}, {"context", aObject, false}},
	"logging/setLevel":        {{"level", aText, true}},
	"skills/list":             {{"cursor", aText, false}},
	"skills/get":              {{"uri", aText, true}},
	"subscriptions/listen":    {{"notifications", aObject, true}},
	"notifications/cancelled": {{"reason", aText, false}},
}

// saysNothing reports parameters that the SDK reads and takes, and that say nothing, and a method that the request's
// revision does not have.
func saysNothing(method string, req sdk.Request) error {
	if r, ok := req.(*sdk.SubscriptionsListenRequest); ok && r.ProtocolVersion() < statelessSince {
		return fail(methodNotFound, "%s is of revision %s", method, statelessSince)
	}
	var uri *string
	switch p := req.GetParams().(type) {
	//lint:ignore SA1019 clients of earlier revisions have it
	case *sdk.SetLoggingLevelParams:
		if !slices.Contains(logLevels, string(p.Level)) {
			return failData(validationError, map[string]any{"field": "level"},
				"got the level %.100q, want %s", p.Level, diag.OneOf(logLevels, "nothing"))
		}
	case *sdk.SubscribeParams:
		uri = &p.URI
	case *sdk.UnsubscribeParams:
		uri = &p.URI
	}
	if uri != nil && *uri == "" {
		return failData(validationError, map[string]any{"field": "uri"}, "got no uri, want a text")
	}
	return nil
}

// logLevels are those of the protocol.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// kindOf returns what a JSON value is.
func kindOf(v json.RawMessage) kind {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return "nothing"
	}
	switch v[0] {
	case '"':
		return aText
	case '{':
		return aObject
	case '[':
		return aList
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// faultOf returns what is wrong with a request by its method and parameters, nil where nothing is that shows.
func faultOf(method string, raw json.RawMessage) *jsonrpc.Error {
	wants, ok := params[method]
	if !ok {
		return fail(methodNotFound, "got the method %.100q, which is not served", method)
	}
	if k := kindOf(raw); k != aObject && len(raw) > 0 {
		return fail(validationError, "got params that are %s, want an object", k)
	}
	var have map[string]json.RawMessage
	_ = json.Unmarshal(raw, &have)
	if slices.Contains([]string{"tools/call", "prompts/get"}, method) && kindOf(have["arguments"]) == "null" {
		delete(have, "arguments") // as if there were none
	}
	for _, w := range append(slices.Clone(wants), param{"_meta", aObject, false}) {
		name, v, there := w.name, have[w.name], have[w.name] != nil
		if of, member, ok := strings.Cut(w.name, "."); ok {
			var inner map[string]json.RawMessage
			_ = json.Unmarshal(have[of], &inner)
			v, there = inner[member], inner[member] != nil
		}
		switch got := kindOf(v); {
		case !there && w.required:
			return failData(validationError, map[string]any{"field": name}, "got no %s, want %s", name, w.kind)
		case there && got != w.kind:
			return failData(validationError, map[string]any{"field": name},
				"%s: got %s, want %s", name, got, w.kind)
		}
	}
	if method == "prompts/get" {
		var args map[string]json.RawMessage
		_ = json.Unmarshal(have["arguments"], &args)
		for name, v := range args {
			if k := kindOf(v); k != aText {
				return failData(validationError, map[string]any{"field": "arguments." + name},
					"got an argument %q that is %s, want a text", name, k)
			}
		}
	}
	return nil
}

// unreadable is the error for parameters that the SDK cannot read and of which nothing more is known.
func unreadable(method string) *jsonrpc.Error {
	return fail(validationError, "got parameters that %s does not take", fmt.Sprintf("%.100q", method))
}

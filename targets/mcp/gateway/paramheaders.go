package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/http/httpguts"
)

// Revision 2026-07-28 has arguments of a tool repeated in headers of the request, so that who stands between can read
// them: a property of the tool's schema says by x-mcp-header in which. What a client repeats has to be what it calls
// with, and what the gateway calls with it repeats.

// paramHeader begins the names of these headers.
const paramHeader = "Mcp-Param-"

// property is what a schema says of a property that matters here.
type property struct {
	Type       any                 `json:"type"`
	Header     json.RawMessage     `json:"x-mcp-header"`
	Properties map[string]property `json:"properties"`
}

// argumentHeaders calls f with each header in which arguments of a tool are repeated, and with the value; has is false
// where the call has none. It reports false where the schema says what no client follows: a name that no header has,
// one twice, or a property that is no text, integer or truth.
func argumentHeaders(tool, args json.RawMessage, f func(name, value string, has bool)) bool {
	var of struct {
		InputSchema struct {
			Properties map[string]property `json:"properties"`
		} `json:"inputSchema"`
	}
	if !bytes.Contains(tool, []byte(`"x-mcp-header"`)) || json.Unmarshal(tool, &of) != nil {
		return true // it has none: keys are written without escapes
	}
	type repeated struct {
		name, value string
		has         bool
	}
	var all []repeated
	seen := map[string]bool{}
	var visit func(properties map[string]property, args json.RawMessage) bool
	visit = func(properties map[string]property, args json.RawMessage) bool {
		var values map[string]json.RawMessage
		_ = json.Unmarshal(args, &values) // of what is no object there is none
		for name, p := range properties {
			if p.Header != nil {
				var header string
				if json.Unmarshal(p.Header, &header) != nil || !httpguts.ValidHeaderFieldName(header) ||
					seen[strings.ToLower(header)] || p.Type != "string" && p.Type != "integer" && p.Type != "boolean" {
					return false
				}
				seen[strings.ToLower(header)] = true
				value, has := primitive(values[name])
				all = append(all, repeated{paramHeader + header, value, has})
			}
			if !visit(p.Properties, values[name]) {
				return false
			}
		}
		return true
	}
	if !visit(of.InputSchema.Properties, args) {
		return false
	}
	for _, r := range all {
		f(r.name, r.value, r.has)
	}
	return true
}

// primitive returns a text, an integer or a truth as a header has it; false for anything else.
func primitive(raw json.RawMessage) (string, bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	const most = 1<<53 - 1 // that every reader of JSON takes for the same number
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= most {
			return strconv.FormatInt(int64(v), 10), true
		}
	}
	return "", false
}

type repeatedKey struct{}

// repeating returns a context in which a call's arguments are repeated in the headers of its request.
func repeating(ctx context.Context, o *offer, args json.RawMessage) context.Context {
	headers := map[string]string{}
	ok := argumentHeaders(o.raw, args, func(name, value string, has bool) {
		if has {
			headers[name] = headerText(value)
			if value == "" { // which is not the same as no header
				headers[name] = "=?base64??="
			}
		}
	})
	if !ok || len(headers) == 0 {
		return ctx
	}
	return context.WithValue(ctx, repeatedKey{}, headers)
}

// repeat puts them into the request.
func repeat(req *http.Request) {
	headers, _ := req.Context().Value(repeatedKey{}).(map[string]string)
	for name, value := range headers {
		req.Header.Set(name, value)
	}
}

// repeats fails where the headers of a client's request say something else than its arguments.
func repeats(r *sdk.CallToolRequest, o *offer, args json.RawMessage) (err error) {
	if r.Extra == nil || r.Extra.Header.Get("Mcp-Method") == "" || r.ProtocolVersion() < stateless {
		return nil // there are no headers, or nothing is repeated in them
	}
	argumentHeaders(o.raw, args, func(name, value string, has bool) {
		given := r.Extra.Header.Values(name)
		text, readable := "", true
		if len(given) == 1 {
			text, readable = fromHeader(given[0])
		}
		switch {
		case len(given) == 0 && !has, len(given) == 1 && has && readable && text == value:
		case len(given) == 0:
			err = mismatch("the header %s is missing", name)
		case len(given) > 1:
			err = mismatch("the header %s is there more than once", name)
		default:
			err = mismatch("the header %s is not what the call has", name)
		}
	})
	return err
}

func mismatch(format, name string) error {
	return &jsonrpc.Error{Code: sdk.CodeHeaderMismatch, Message: "header mismatch: " + fmt.Sprintf(format, name)}
}

// fromHeader returns the text that [headerText] wrote.
func fromHeader(s string) (string, bool) {
	rest, ok := strings.CutPrefix(s, "=?base64?")
	if !ok {
		return s, true
	}
	if rest, ok = strings.CutSuffix(rest, "?="); !ok {
		return s, true
	}
	text, err := base64.StdEncoding.DecodeString(rest)
	return string(text), err == nil
}

package gateway

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestProgressOverHTTP holds that callers over HTTP hear of the progress of their own calls, in both eras, and that the
// answer is the last that they hear.
func TestProgressOverHTTP(t *testing.T) {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "b", Version: "1"}, nil)
		s.AddTool(&sdk.Tool{Name: "steps", InputSchema: object{"type": "object"}},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				for i := range 3 {
					err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
						ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
					if err != nil {
						return nil, err
					}
				}
				return text("done"), nil
			})
		return s
	}, nil)
	b := httptest.NewServer(h)
	t.Cleanup(b.Close)
	o := newOffice(t, engine(t, `{"servers": {"s": {"type": "http", "url": "`+b.URL+`", "tools": {"steps": {}}}},
		"roles": {"dev": {"claims": {"groups": "dev"}, "can": {"mcp": "allow"}}}}`), nil)
	for _, era := range eras {
		v := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), era)
		meta := object{"progressToken": "mine"}
		if era >= stateless {
			meta[reserved+"protocolVersion"], meta[reserved+"clientCapabilities"] = era, object{}
		}
		req, err := v.request(http.MethodPost, object{"jsonrpc": "2.0", "id": 5, "method": "tools/call",
			"params": object{"name": "s_steps", "arguments": object{}, "_meta": meta}})
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", "s_steps")
		lines, err := linesOf(req)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range lines {
			switch {
			case strings.Contains(line, `"progressToken":"mine"`):
				got = append(got, "progress")
			case strings.Contains(line, `"id":5`) && strings.Contains(line, "done"):
				got = append(got, "answer")
			}
		}
		if want := []string{"progress", "progress", "progress", "answer"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q of\n%s", era, got, strings.Join(lines, "\n"))
		}
	}
}

// linesOf returns the data of the events that answer a request.
func linesOf(req *http.Request) (lines []string, err error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); kind != "text/event-stream" {
		return nil, fmt.Errorf("got %d %s, want events", res.StatusCode, kind)
	}
	all := bufio.NewScanner(res.Body)
	for all.Scan() {
		if data, ok := strings.CutPrefix(all.Text(), "data: "); ok {
			lines = append(lines, data)
		}
	}
	return lines, all.Err()
}

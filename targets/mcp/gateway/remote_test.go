package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestNoStream holds that a session goes on whose server has no stream, whatever it says instead.
func TestNoStream(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{
		"405":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusMethodNotAllowed) },
		"404":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) },
		"words": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello\n\nthere") },
	} {
		b := newBackend(t)
		asked := make(chan bool, 10)
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				answer(w, r)
				asked <- true
				return
			}
			b.Config.Handler.ServeHTTP(w, r)
		}))
		t.Cleanup(front.Close)
		o := newOffice(t, engine(t, people(front.URL)), nil)
		v := o.visit(t, "/mcp", o.tokens.of(t, "alice", time.Hour, "dev"), eras[0])
		v.says("s_read", object{})
		select {
		case <-asked:
		case <-time.After(patience):
			t.Fatal("the stream is not asked for")
		}
		for range 3 {
			time.Sleep(20 * time.Millisecond)
			if said := v.says("s_read", object{}); said != "read tenant= cookie= auth= args={}" {
				t.Errorf("%s: got %s", what, said)
			}
		}
		if n := b.sessions.Load(); n != 1 {
			t.Errorf("%s: got %d sessions, want one", what, n)
		}
		o.CloseClientConnections()
	}
}

// TestLongEvents holds that events of every length come whole, and those of progress in order.
func TestLongEvents(t *testing.T) {
	var told []string
	for _, n := range []int{10, firstRead - 20, firstRead, 3 * firstRead, maxProgress - 1, maxProgress, 3 * maxProgress} {
		told = nil
		long := "data: {\"x\":\"" + strings.Repeat("y", n) + "\"}\n\n"
		progress := fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a",`+
			`"message":"%s","progress":1}}`, strings.Repeat("z", min(n, maxProgress/2))) + "\n\n"
		o := eventsOf(long+progress+long, func(m string) { told = append(told, m) })
		got, err := io.ReadAll(o)
		if want := long + "\n" + long; string(got) != want || err != nil || len(told) != 1 || len(told[0]) != min(n, maxProgress/2) {
			t.Errorf("%d: got %d bytes, want %d, %v and %d events of progress", n, len(got), len(want), err, len(told))
		}
	}
}

func eventsOf(stream string, tell func(message string)) *inOrder {
	return &inOrder{lines: bufio.NewReaderSize(strings.NewReader(stream), firstRead),
		flow: newFlow(), ctx: context.Background(),
		tell: func(p *sdk.ProgressNotificationParams) { tell(p.Message) }}
}

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A server that ends does not wait for the streams that clients hold open, and lets calls end.
func TestServeEndsStreams(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	begun := make(chan string, 2)
	answered := make(chan bool, 1)
	srv := httptest.NewServer(endsWith(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- r.Method
		if r.Method == http.MethodPost { // a call under way, which is answered once the server ends
			<-ctx.Done()
			answered <- r.Context().Err() == nil
			return
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if res, err := http.DefaultClient.Do(req); err == nil {
				defer res.Body.Close()
				_, _ = res.Body.Read(make([]byte, 1))
			}
		}()
		<-begun
	}
	end()
	if !<-answered {
		t.Error("the call under way was ended with the server")
	}
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := srv.Config.Shutdown(patience); err != nil {
		t.Errorf("the server waits for its streams: %v", err)
	}
}

package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestKeys holds how often and how long a key is good.
func TestKeys(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	k := &Keys{Now: func() time.Time { return now }}
	key := func() string {
		_, key, _ := strings.Cut(k.Address("http://x"), "/#")
		return key
	}
	first := key()
	if k.take(first+"x") != "" || k.holds(first) || k.holds("") {
		t.Error("a wrong key, or a key for a bearer, is taken")
	}
	bearer := k.take(first)
	if bearer == "" || !k.holds(bearer) || k.holds(bearer+"x") {
		t.Errorf("got the bearer %q", bearer)
	}
	if k.take(first) != "" {
		t.Error("a key is taken twice")
	}
	old := key()
	if fresh := key(); k.take(old) != "" || k.take(fresh) == "" {
		t.Error("another address leaves the last key good, or is not good itself")
	}
	for _, c := range []struct {
		after time.Duration
		good  bool
	}{{keyTime, true}, {keyTime + 1, false}} {
		of := key()
		now = now.Add(c.after)
		if got := k.take(of) != ""; got != c.good {
			t.Errorf("after %s: got %v, want %v", c.after, got, c.good)
		}
	}
	for _, c := range []struct {
		tries int
		good  bool
	}{{mostTries - 1, true}, {mostTries, false}} {
		of := key()
		for range c.tries {
			k.take("guess")
		}
		if got := k.take(of) != ""; got != c.good {
			t.Errorf("after %d wrong keys: got %v, want %v", c.tries, got, c.good)
		}
	}
	held := []string{k.take(key())}
	for range mostBearers - 1 {
		held = append(held, k.take(key()))
	}
	if !k.holds(held[0]) {
		t.Errorf("the first of %d pages is gone", mostBearers)
	}
	if last := k.take(key()); k.holds(held[0]) || !k.holds(held[1]) || !k.holds(last) {
		t.Error("one page more does not end the oldest alone")
	}
}

// TestConsole holds what the handler answers, and that every answer carries the page's policy.
func TestConsole(t *testing.T) {
	keys := &Keys{}
	h, err := New(Options{Title: "<b>shop</b>", Keys: keys, Views: map[string]View{
		"good": func(_ context.Context, q url.Values) (template.HTML, error) {
			return template.HTML("<p>" + q.Get("x")), nil
		},
		"same":  func(context.Context, url.Values) (template.HTML, error) { return "", ErrUnchanged },
		"wrong": func(context.Context, url.Values) (template.HTML, error) { return "", errors.New("<b>wrong</b>") },
	}, Writes: true, Actions: map[string]Action{
		"write": func(_ context.Context, q url.Values) (template.HTML, error) {
			return template.HTML("<p>wrote " + q.Get("x")), nil
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := strings.Cut(keys.Address("http://example.com"), "/#")
	ask := func(method, path, body string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://example.com"+path, strings.NewReader(body))
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	bearer := keys.take(key)
	_, key, _ = strings.Cut(keys.Address("http://example.com"), "/#")
	const own, json = "http://example.com", "application/json"
	good := []string{"Origin", own, "Content-Type", json, "Authorization", "Bearer " + bearer}
	changed := func(name, value string) []string { return append(slices.Clip(good), name, value) }
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		code                     int
		want                     string
	}{
		{"the page", "GET", "/", "", nil, 200, "&lt;b&gt;shop"},
		{"its script", "GET", "/console.js", "", nil, 200, "Bearer"},
		{"its library", "GET", "/htmx.min.js", "", nil, 200, "htmx"},
		{"no other file", "GET", "/page.html", "", nil, 404, ""},
		{"no folder", "GET", "/assets/", "", nil, 404, ""},
		{"a view", "GET", "/view/good?x=1", "", []string{"Authorization", "Bearer " + bearer}, 200, "<p>1"},
		{"what did not change", "GET", "/view/same", "", []string{"Authorization", "Bearer " + bearer}, 204, ""},
		{"an error", "GET", "/view/wrong", "", []string{"Authorization", "Bearer " + bearer}, 200, "&lt;b&gt;wrong"},
		{"no view", "GET", "/view/other", "", []string{"Authorization", "Bearer " + bearer}, 404, ""},
		{"no bearer", "GET", "/view/good", "", nil, 401, "no key"},
		{"the key for a bearer", "GET", "/view/good", "", []string{"Authorization", "Bearer " + key}, 401, ""},
		{"a cookie", "GET", "/view/good", "", []string{"Cookie", "bearer=" + bearer}, 401, ""},
		{"another origin", "POST", "/key", `{"key":"` + key + `"}`, []string{"Origin", "http://evil.example", "Content-Type", json}, 403, ""},
		{"no origin", "POST", "/key", `{"key":"` + key + `"}`, []string{"Content-Type", json}, 403, ""},
		{"the origin null", "POST", "/key", `{"key":"` + key + `"}`, []string{"Origin", "null", "Content-Type", json}, 403, ""},
		{"a form", "POST", "/key", "key=" + key, []string{"Origin", own, "Content-Type", "text/plain"}, 415, ""},
		{"another field", "POST", "/key", `{"k":1}`, []string{"Origin", own, "Content-Type", json}, 400, ""},
		{"a long body", "POST", "/key", `{"key":"` + strings.Repeat("x", maxKey) + `"}`, []string{"Origin", own, "Content-Type", json}, 400, ""},
		{"the longest body", "POST", "/key", `{"key":"` + strings.Repeat("x", maxKey-10) + `"}`,
			[]string{"Origin", own, "Content-Type", json}, 403, ""},
		{"the key", "POST", "/key", `{"key":"` + key + `"}`, []string{"Origin", own, "Content-Type", json}, 200, `"bearer"`},
		{"the key again", "POST", "/key", `{"key":"` + key + `"}`, []string{"Origin", own, "Content-Type", json}, 403, ""},
		{"an action", "POST", "/do/write", `{"x":"1"}`, good, 200, "<p>wrote 1"},
		{"no action", "POST", "/do/other", `{}`, good, 404, ""},
		{"an action by GET", "GET", "/do/write", "", good, 405, ""},
		{"an action without a bearer", "POST", "/do/write", `{"x":"1"}`, []string{"Origin", own, "Content-Type", json}, 401, "no key"},
		{"an action of another origin", "POST", "/do/write", `{"x":"1"}`, changed("Origin", "http://evil.example"), 403, ""},
		{"an action of the origin null", "POST", "/do/write", `{"x":"1"}`, changed("Origin", "null"), 403, ""},
		{"an action without an origin", "POST", "/do/write", `{"x":"1"}`, changed("Origin", ""), 403, ""},
		{"an action of another port", "POST", "/do/write", `{"x":"1"}`, changed("Origin", "http://example.com:81"), 403, ""},
		{"an action of a form", "POST", "/do/write", "x=1", changed("Content-Type", "application/x-www-form-urlencoded"), 415, ""},
		{"an action with another value", "POST", "/do/write", `{"x":1}`, good, 400, ""},
		{"an action with a long body", "POST", "/do/write", `{"x":"` + strings.Repeat("x", maxForm) + `"}`, good, 400, ""},
		{"a view by POST", "POST", "/view/good", "", []string{"Authorization", "Bearer " + bearer}, 405, ""},
	} {
		w := ask(c.method, c.path, c.body, c.headers...)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: got %d %.200s, want %d with %q", c.name, w.Code, w.Body.String(), c.code, c.want)
		}
		head := w.Header()
		if head.Get("Content-Security-Policy") != policy || head.Get("X-Frame-Options") != "DENY" ||
			head.Get("Cache-Control") != "no-store" || len(head.Values("Set-Cookie")) > 0 {
			t.Errorf("%s: got the headers %v", c.name, head)
		}
	}
}

// TestReads holds that a page without actions does nothing, whoever asks.
func TestReads(t *testing.T) {
	keys := &Keys{}
	h, err := New(Options{Keys: keys, Actions: map[string]Action{
		"ask": func(context.Context, url.Values) (template.HTML, error) { return "<p>asked", nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := strings.Cut(keys.Address("http://example.com"), "/#")
	r := httptest.NewRequest("POST", "http://example.com/do/write", strings.NewReader(`{}`))
	for name, value := range map[string]string{"Origin": "http://example.com", "Content-Type": "application/json",
		"Authorization": "Bearer " + keys.take(key)} {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "--write") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	asking := r.Clone(t.Context())
	asking.URL.Path, asking.Body = "/do/ask", io.NopCloser(strings.NewReader(`{}`))
	w = httptest.NewRecorder()
	h.ServeHTTP(w, asking)
	if w.Code != http.StatusOK || w.Body.String() != "<p>asked" {
		t.Errorf("what writes nothing: got %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://example.com/", nil))
	if strings.Contains(w.Body.String(), `data-tab="edit"`) {
		t.Error("a page that only reads has a tab to edit in")
	}
}

// TestScreens holds that the README shows the pictures of the page, and that they are small.
func TestScreens(t *testing.T) {
	readme, err := os.ReadFile("../../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir("../screens")
	if err != nil || len(list) == 0 {
		t.Fatalf("got %d pictures, %v", len(list), err)
	}
	for _, f := range list {
		data, err := os.ReadFile(filepath.Join("../screens", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if size, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || size.Width > 1200 || len(data) > 150_000 {
			t.Errorf("%s: got %v, %v and %d bytes, want a PNG of at most 1200 pixels and 150 kB", f.Name(), size, err, len(data))
		}
		if !bytes.Contains(readme, []byte("(cmd/modec/internal/page/screens/"+f.Name()+")")) {
			t.Errorf("the README does not show %s", f.Name())
		}
	}
}

// TestAssets holds that the page's own files load nothing from elsewhere and evaluate no text.
func TestAssets(t *testing.T) {
	for _, name := range []string{"page.html", "console.js", "console.css"} {
		data, err := embedded.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"http://", "https://", "eval(", "innerHTML =", "insertAdjacentHTML", "onclick=", "style="} {
			if bytes.Contains(data, []byte(bad)) {
				t.Errorf("%s has %s", name, bad)
			}
		}
	}
}

func ExampleKeys() {
	keys := &Keys{}
	h, err := New(Options{Title: "Permissions of shop", Keys: keys, Views: map[string]View{
		"matrix": func(context.Context, url.Values) (template.HTML, error) { return "<table></table>", nil },
	}})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	res, err := http.Get(server.URL + "/view/matrix")
	if err != nil {
		panic(err)
	}
	defer res.Body.Close()
	address := keys.Address(server.URL) // for a person to open; without its key nothing is shown
	fmt.Println(strings.HasPrefix(address, server.URL+"/#"), res.StatusCode)
	// Output: true 401
}

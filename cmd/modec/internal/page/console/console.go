// Package console serves the page of `modec ui`. It knows nothing of permissions: whoever starts it gives it the
// views, each a piece of HTML that the page shows in one of its panes.
//
// The page itself holds nothing. Its address carries a one-time key in the fragment, which no browser sends; the
// page exchanges it for a bearer that lives in its memory, and asks for the views with that one. There are no
// cookies, and nothing is loaded from elsewhere.
package console

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

//go:embed assets
var embedded embed.FS

// View renders a pane for the values of a query. Its error is shown to whoever looks, in place of the pane.
type View func(ctx context.Context, query url.Values) (template.HTML, error)

// ErrUnchanged is a view's answer where what the page shows is still so: the page keeps it.
var ErrUnchanged = errors.New("nothing changed")

// Action does something for the values of a form, and renders the pane that shows what came of it.
type Action = View

// Options are those of a console. Only Actions and Writes have a default: none, and none.
type Options struct {
	Title   string
	Views   map[string]View   // by the last segment of their path: /view/NAME
	Actions map[string]Action // by that of theirs: /do/NAME
	Writes  bool              // there are actions that change the source
	Keys    *Keys
}

// policy is what a browser lets the page do: run and show its own files, and ask its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// New returns a handler of the page. It has to stand behind one that checks Host and Origin.
func New(o Options) (http.Handler, error) {
	assets, err := fs.Sub(embedded, "assets")
	if err != nil {
		return nil, err
	}
	shell, err := template.ParseFS(assets, "page.html")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = shell.Execute(w, map[string]any{"Title": o.Title, "Writes": o.Writes}) // to whoever went away
	})
	for _, name := range []string{"console.js", "console.css", "htmx.min.js"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, assets, name)
		})
	}
	mux.HandleFunc("POST /key", o.Keys.exchange)
	mux.HandleFunc("GET /view/{name}", o.view)
	mux.HandleFunc("POST /do/{name}", o.do)
	return headed(mux), nil
}

// headed sets the headers of every answer.
func headed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range map[string]string{
			"Content-Security-Policy":      policy,
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-store",
		} {
			h.Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

// held reports whether a request has a bearer. Without one it answers.
func (o Options) held(w http.ResponseWriter, r *http.Request) bool {
	bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if ok && o.Keys.holds(bearer) {
		return true
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, "the page has no key: open the address that modec ui prints", http.StatusUnauthorized)
	return false
}

// view answers with a pane.
func (o Options) view(w http.ResponseWriter, r *http.Request) {
	if o.held(w, r) {
		show(w, r, o.Views[r.PathValue("name")], r.URL.Query())
	}
}

// do answers with the pane of an action.
func (o Options) do(w http.ResponseWriter, r *http.Request) {
	var values map[string]string
	action := o.Actions[r.PathValue("name")]
	switch {
	case !ofItself(w, r), !o.held(w, r):
		return
	case action == nil && !o.Writes:
		http.Error(w, "the page only reads: start modec ui with --write", http.StatusForbidden)
		return
	case !decode(w, r, &values, maxForm):
		return
	}
	q := url.Values{}
	for name, value := range values {
		q.Set(name, value)
	}
	show(w, r, action, q)
}

// ofItself reports whether a request comes from the page itself. Where it does not, it answers.
func ofItself(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Origin") == "http://"+r.Host {
		return true
	}
	http.Error(w, "got a request of another origin", http.StatusForbidden)
	return false
}

// show answers with what a view renders; nil: with nothing.
func show(w http.ResponseWriter, r *http.Request, view View, q url.Values) {
	if view == nil {
		http.NotFound(w, r)
		return
	}
	text, err := view(r.Context(), q)
	switch {
	case errors.Is(err, ErrUnchanged):
		w.WriteHeader(http.StatusNoContent)
		return
	case err != nil:
		text = template.HTML(`<p class="error" role="alert">` + template.HTMLEscapeString(err.Error()) + `</p>`)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, string(text)) // to whoever went away
}

// The longest requests that the page sends, in bytes.
const (
	maxKey  = 4 << 10
	maxForm = 256 << 10
)

// decode reads the JSON of a request. It answers, and reports false, where there is none: a form of another
// page cannot send JSON.
func decode(w http.ResponseWriter, r *http.Request, into any, longest int64) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		http.Error(w, "got a request that is not JSON", http.StatusUnsupportedMediaType)
		return false
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, longest))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		http.Error(w, "got a request that the page does not send", http.StatusBadRequest)
		return false
	}
	return true
}

package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yosida95/uritemplate/v3"

	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
)

// kind is a kind of items that servers list.
type kind struct {
	method string
	field  string // of the result
	key    string // of an item, by which it is known
	of     policy.MCPKind
	pin    pins.Kind // "": its items are not pinned
}

var (
	tools     = &kind{"tools/list", "tools", "name", policy.Tool, pins.Tools}
	prompts   = &kind{"prompts/list", "prompts", "name", policy.Prompt, pins.Prompts}
	resources = &kind{"resources/list", "resources", "uri", policy.Resource, ""}
	templates = &kind{"resources/templates/list", "resourceTemplates", "uriTemplate", policy.Resource, pins.Templates}

	kinds = [...]*kind{tools, prompts, resources, templates}
)

// listing is what is known of a list of a server.
type listing struct {
	news *news

	mu    sync.Mutex
	of    *sum // of the list that came last; nil: none did
	err   error
	until time.Time // the list, or the error, counts before it
	turns int       // of the list, as the server tells of them
}

// now returns the list that came last, and the error since then; ok is false where it has to be asked for.
func (l *listing) now() (of *sum, err error, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of, l.err, time.Now().Before(l.until)
}

// turn returns how often the list has turned into another one.
func (l *listing) turn() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turns
}

// set notes a list or an error, and for how long it counts: not at all if the list was another one by then.
func (l *listing) set(of *sum, err error, ttl time.Duration, turn int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err = err; err == nil {
		l.of = of
	}
	if l.until = time.Now().Add(ttl); l.turns != turn {
		l.until = time.Time{}
	}
}

// drop notes that the list is another one now.
func (l *listing) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Time{}
	l.turns++
}

// isList reports whether a method lists what a server has.
func isList(method string) bool {
	return slices.ContainsFunc(kinds[:], func(k *kind) bool { return k.method == method })
}

// noun returns what one item of the kind is called.
func (k *kind) noun() string {
	if k == templates {
		return "template"
	}
	return strings.TrimSuffix(k.field, "s")
}

// Bounds of a server's lists.
const (
	maxPages = 100
	maxItems = 2000
	maxItem  = 128 << 10 // bytes of one definition
	maxList  = 8 << 20   // bytes of all of them
	maxKey   = 2 << 10   // bytes of a name or an address
	maxMatch = 256 << 10 // of the templates of a list, as [weight] counts
)

// item is one thing that a server offers.
type item struct {
	key     string
	raw     json.RawMessage // as the server wrote it, but for what tidy took away
	pin     pins.Pin        // of all that the server wrote
	matches *regexp.Regexp  // of a template
}

// list is what a server offers of a kind. It does not change.
type list struct {
	items []item
	down  bool // the server listed this before, and does not answer now

	once sync.Once
	of   sum
}

// sum is a digest of a list.
type sum [sha256.Size]byte

// sum returns the digest of all that a list says.
func (l *list) sum() sum {
	l.once.Do(func() {
		h := sha256.New()
		for i := range l.items {
			it := &l.items[i]
			fmt.Fprintf(h, "%d %d %d ", len(it.key), len(it.raw), len(it.pin.Sum))
			h.Write([]byte(it.key))
			h.Write(it.raw)
			h.Write([]byte(it.pin.Sum))
		}
		l.of = sum(h.Sum(nil))
	})
	return l.of
}

// ofItem is about how many bytes an item takes in addition to its definition.
const ofItem = 256

// ofStep is about how many bytes a step of a template's expression takes.
const ofStep = 64

// weight returns about how many steps a template's expression has: some for each variable, and one for each character
// beside. Who matches an address may go through all of them at each character.
func (it *item) weight() int {
	if it.matches == nil {
		return 0
	}
	return len(it.key) + 12*(strings.Count(it.key, "{")+strings.Count(it.key, ","))
}

// size returns about how many bytes a list takes.
func (l *list) size() int {
	n := ofItem
	for i := range l.items {
		n += ofItem + cap(l.items[i].raw) + cap(l.items[i].pin.Value) + l.items[i].weight()*ofStep
	}
	return n
}

// list returns what the server offers of a kind; with an error, what it offered last. A list that was removed to make
// room for those of others is fetched again.
func (u *upstream) list(ctx context.Context, k *kind) (*list, error) {
	own := u.listing(k)
	for range mostAgain {
		of, err := u.listed(ctx, k)
		if err != nil {
			if last, _, _ := own.now(); last != nil {
				return u.caches.list(*last), err
			}
			return nil, err
		}
		if l := u.caches.list(*of); l != nil {
			return l, nil
		}
		own.drop()
	}
	return nil, u.failed(ctx, errors.New("its list is too long: the lists of other servers take all the room"))
}

// mostAgain is how often a list is fetched that others drive out before it is read.
const mostAgain = 3

// listed returns the sum of what the server offers of a kind, which is asked for where nothing counts.
func (u *upstream) listed(ctx context.Context, k *kind) (*sum, error) {
	own := u.listing(k)
	if of, err, ok := own.now(); ok {
		return of, err
	}
	return share(ctx, &u.flights, k.method, func() (*sum, error) {
		if of, err, ok := own.now(); ok { // it came meanwhile
			return of, err
		}
		turn := own.turn()
		ctx, cancel := context.WithTimeoutCause(u.life, startLimit+fetchLimit,
			errors.New("its list does not end in time"))
		defer cancel()
		l, ttl, err := u.fetch(ctx, k)
		if err != nil {
			err = u.failed(ctx, err)
			own.set(nil, err, failedTTL, turn)
			return nil, err
		}
		of := u.caches.keep(l)
		own.set(&of, nil, ttl, turn)
		return &of, nil
	})
}

// fetch reads all pages of a list.
func (u *upstream) fetch(ctx context.Context, k *kind) (*list, time.Duration, error) {
	start, cancel := u.limited(ctx)
	defer cancel()
	has := false
	if err := u.inSession(start, true, func(_ context.Context, s *session) error {
		has = offers(s, k)
		return nil
	}); err != nil {
		return nil, 0, err
	}
	l, ttl, p, size := &list{}, listTTL, &params{}, 0
	if !has {
		return l, ttl, nil
	}
	known, n, heavy := map[string]bool{}, 0, 0
	for range maxPages {
		a, err := u.call(ctx, k.method, p)
		if err != nil {
			return nil, 0, err
		}
		var page []json.RawMessage
		if err := json.Unmarshal(a.fields[k.field], &page); err != nil {
			return nil, 0, fmt.Errorf("its answer to %s has no list %q", k.method, k.field)
		}
		for _, raw := range page {
			n, size = n+1, size+len(raw)
			if size > maxList || n > maxItems {
				return nil, 0, fmt.Errorf("its list of %s is longer than %d items or %d bytes", k.field,
					maxItems, maxList)
			}
			it, err := define(k, raw)
			if heavy += it.weight(); heavy > maxMatch {
				return nil, 0, errors.New("its templates are too many, or have too many variables")
			}
			if err == nil && known[it.key] {
				err = errors.New("its name is in the list twice")
			}
			if err != nil {
				if name := shorten(it.key); u.logged.first(k.field + " " + name + " " + err.Error()) {
					u.log().Warn("something that the server offers is left out", "of", k.field, "name", name,
						"error", err)
				}
				continue
			}
			known[it.key] = true
			l.items = append(l.items, it)
		}
		p = &params{}
		if next := a.fields["nextCursor"]; next == nil || json.Unmarshal(next, &p.Cursor) != nil || p.Cursor == "" {
			return l, lifetime(a), nil
		}
	}
	return nil, 0, fmt.Errorf("its list of %s has more than %d pages", k.field, maxPages)
}

// offers reports whether a server says that it has items of a kind.
func offers(s *session, k *kind) bool {
	r := s.InitializeResult()
	if r == nil || r.Capabilities == nil {
		return false
	}
	switch k {
	case tools:
		return r.Capabilities.Tools != nil
	case prompts:
		return r.Capabilities.Prompts != nil
	}
	return r.Capabilities.Resources != nil
}

// lifetime returns how long a list counts.
func lifetime(a *answer) time.Duration {
	var ms float64
	if raw := a.fields["ttlMs"]; raw == nil || json.Unmarshal(raw, &ms) != nil || ms < 0 {
		return listTTL
	}
	return min(max(time.Duration(min(ms, 1e9))*time.Millisecond, time.Second), time.Hour)
}

// define reads a definition, and refuses one that is not what it seems.
func define(k *kind, raw json.RawMessage) (it item, err error) {
	if len(raw) > maxItem {
		return it, fmt.Errorf("its definition is longer than %d bytes", maxItem)
	}
	if it.raw, err = tidy(raw, definitionText); err != nil {
		return it, err
	}
	if it.pin, err = pins.New(raw); err != nil {
		return it, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(it.raw, &fields); err != nil || fields == nil {
		return it, errors.New("its definition is no object")
	}
	if err := json.Unmarshal(fields[k.key], &it.key); err != nil || it.key == "" || len(it.key) > maxKey {
		return it, fmt.Errorf("its %s is no text of 1 to %d bytes", k.key, maxKey)
	}
	if err := checkForm(k, it.raw); err != nil {
		return it, err
	}
	switch k {
	case tools:
		if err = checkTool(fields); err == nil && fields["outputSchema"] != nil && !readable(fields["outputSchema"]) {
			delete(fields, "outputSchema")
			it.raw, err = json.Marshal(fields)
		}
	case resources:
		if u, bad := url.Parse(it.key); bad != nil || u.Scheme == "" {
			err = errors.New("its address has no scheme")
		}
	case templates:
		it.matches, err = matcher(it.key)
	}
	return it, err
}

// matcher returns an expression for the addresses of a template.
func matcher(template string) (re *regexp.Regexp, err error) {
	defer func() {
		if r := recover(); r != nil { // of regexp.MustCompile, in the library
			re, err = nil, errors.New("its template cannot be matched")
		}
	}()
	t, err := uritemplate.New(template)
	if err != nil {
		return nil, err
	}
	return t.Regexp(), nil
}

// checkTool checks the schemas of a tool.
func checkTool(fields map[string]json.RawMessage) error {
	var input map[string]json.RawMessage
	if json.Unmarshal(fields["inputSchema"], &input) != nil || string(input["type"]) != `"object"` {
		return errors.New("its inputSchema is not one of an object")
	}
	for _, key := range []string{"inputSchema", "outputSchema"} {
		if fields[key] == nil {
			continue
		}
		if err := checkSchema(fields[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// renamed returns a definition with another name.
func renamed(raw json.RawMessage, name string) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return raw // does not happen: tidy wrote it
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return raw
		}
		if key == "name" {
			quoted, _ := json.Marshal(name) // a text can be written
			end := int(d.InputOffset())
			return bytes.Join([][]byte{raw[:end-len(value)], quoted, raw[end:]}, nil)
		}
	}
	return raw
}

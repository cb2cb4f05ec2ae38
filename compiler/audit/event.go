package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/secret"
)

// Via is what wrote an event.
type Via string

const (
	ViaHook    Via = "hook"
	ViaGateway Via = "gateway"
	ViaServe   Via = "serve"
	ViaCommand Via = "command" // a command that a person gave, such as `modec off`
	ViaLog     Via = "log"     // the log itself
)

// Outcome is what became of a call.
type Outcome string

const (
	Allowed  Outcome = "allowed"  // it was let through
	Asked    Outcome = "asked"    // a person was to be asked
	Refused  Outcome = "refused"  // it was refused
	Left     Outcome = "left"     // it was left to the agent
	Observed Outcome = "observed" // hooks only observe: it was left to the agent, whatever the source says
	Done     Outcome = "done"     // it was done
	Failed   Outcome = "failed"   // it was let through, and failed
	Declined Outcome = "declined" // a person was asked, and did not agree
	Lost     Outcome = "lost"     // events before this one could not be written
)

// Since returns how long something took that began at a time, as [Event.MS] has it: with three digits after the point.
func Since(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }

// Event is one line of a log. Which fields it has depends on what wrote it.
type Event struct {
	Time      time.Time `json:"time" jsonschema:"RFC 3339 with milliseconds, in UTC"`
	ID        string    `json:"id"`
	Via       Via       `json:"via"`
	Agent     string    `json:"agent,omitempty" jsonschema:"the agent whose hook it was"`
	Principal string    `json:"principal,omitempty" jsonschema:"who called"`
	Role      string    `json:"role,omitempty"`
	Mode      string    `json:"mode,omitempty"`
	Server    string    `json:"server,omitempty" jsonschema:"the MCP server"`
	Tool      string    `json:"tool" jsonschema:"the tool or the action"`
	Group     string    `json:"group,omitempty" jsonschema:"the tool group"`
	About     string    `json:"about,omitempty" jsonschema:"what a rule would name: a server's tool, a command, a path"`
	Decision  string    `json:"decision,omitempty" jsonschema:"the policy's: deny, ask, allow or agent"`
	Rule      string    `json:"rule,omitempty" jsonschema:"what decided"`
	Place     string    `json:"place,omitempty" jsonschema:"where the rule is written"`
	Policy    string    `json:"policy,omitempty" jsonschema:"the digest of the subject's policy"`
	Outcome   Outcome   `json:"outcome"`
	Detail    string    `json:"detail,omitempty"`
	MS        float64   `json:"ms" jsonschema:"how long it took, in milliseconds"`
	Digest    string    `json:"digest,omitempty" jsonschema:"a keyed digest of the arguments"`
	// Arguments are the call's arguments. They are written where the settings say so, with their secrets masked.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	N         uint64          `json:"n" jsonschema:"the number of the event in its log"`

	// Input are the call's arguments as JSON. Append makes Digest and Arguments of them.
	Input []byte `json:"-"`
	// Token is the caller's, which is masked wherever it stands.
	Token string `json:"-"`
}

// Denied reports whether the event is about something that was refused.
func (e *Event) Denied() bool {
	return e.Decision == "deny" || e.Outcome == Refused || e.Outcome == Declined
}

// Filter selects events; an empty field selects all.
type Filter struct {
	Denied     bool // only what was refused
	Role, Mode string
	Tool       string // a tool's name, or SERVER:TOOL
}

// Wants reports whether an event passes the filter.
func (f Filter) Wants(e *Event) bool {
	server, tool, both := strings.Cut(f.Tool, ":")
	named := f.Tool == "" || e.Tool == f.Tool || both && e.Server == server && e.Tool == tool
	return named && (!f.Denied || e.Denied()) && (f.Role == "" || e.Role == f.Role) &&
		(f.Mode == "" || e.Mode == f.Mode)
}

const (
	mostText      = 300      // bytes of a text in an event
	mostArguments = 16 << 10 // bytes of arguments that are written
	stamp         = "2006-01-02T15:04:05.000Z07:00"
	digestBytes   = 16
)

// link is what chains a line to the one before.
type link struct {
	N   uint64 `json:"n"`
	MAC string `json:"mac"`
}

const macField = `,"mac":"`

// tidy returns the event as it is written: texts masked and short, and arguments by their digest, or masked.
func (e Event) tidy(key []byte, s ir.Audit) Event {
	if e.ID == "" {
		e.ID = strings.ToLower(rand.Text()[:16])
	}
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	if !s.Arguments && e.Group != string(ir.MCP) { // a server's tool has a name, anything else is an argument
		e.About = ""
	}
	for _, text := range []*string{&e.Agent, &e.Principal, &e.Role, &e.Mode, &e.Server, &e.Tool, &e.About, &e.Rule,
		&e.Detail} {
		*text = masked(e.withoutToken(*text))
	}
	e.Digest, e.Arguments = "", nil
	if len(e.Input) == 0 {
		return e
	}
	e.Digest = "hmac-sha256:" + mac(key, "arguments", e.Input)
	if s.Arguments {
		e.Arguments = maskedJSON(e.Input, e.withoutToken)
	}
	return e
}

// shortestToken is how long a token is at least that is looked for: a shorter one is in ordinary words.
const shortestToken = 8

// withoutToken returns a text without the caller's token.
func (e *Event) withoutToken(text string) string {
	if len(e.Token) < shortestToken {
		return text
	}
	return strings.ReplaceAll(text, e.Token, "***")
}

// masked returns a text in one line without secrets, cut where it is long.
func masked(text string) string {
	if plain(text) {
		return text
	}
	text = strings.ToValidUTF8(diag.Clean(secret.Text(text)), "\ufffd")
	if len(text) <= mostText {
		return text
	}
	cut := mostText
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// plain reports whether a text is too short and too simple to have a secret in it, as most names and rules are: the
// expressions that find secrets take longer to compile than an event to write.
func plain(text string) bool {
	run, simple := 0, true
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z':
			run++
		case c == '_', c == '.', c == '/', c == '"', c == '*', c == ' ':
			run = 0
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			simple = false
		default:
			return false
		}
		if run > 16 {
			return false
		}
	}
	return len(text) < 10 || simple && len(text) < 100
}

// maskedJSON returns a JSON text with its secrets masked; nil where it is none, or too long.
func maskedJSON(text []byte, masked func(string) string) json.RawMessage {
	if len(text) > mostArguments {
		return nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // as it was written
	if d.Decode(&v) != nil {
		return nil
	}
	out, err := json.Marshal(maskedValue("", v, masked))
	if err != nil {
		return nil
	}
	return out
}

func maskedValue(name string, v any, masked func(string) string) any {
	switch v := v.(type) {
	case string:
		return secret.Text(secret.Value(name, masked(v)))
	case []any:
		for i := range v {
			v[i] = maskedValue(name, v[i], masked)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[secret.Text(masked(k))] = maskedValue(k, v[k], masked)
		}
		return out
	}
	return v
}

// line returns an event as a line of the log, chained to the one before, and what chains the next one to it.
func (e Event) line(key []byte, before link) ([]byte, link, error) {
	e.N = before.N + 1
	type fields Event
	body, err := json.Marshal(struct {
		Time string `json:"time"`
		fields
		Prev string `json:"prev"`
	}{e.Time.Format(stamp), fields(e), before.MAC})
	if err != nil {
		return nil, link{}, err
	}
	body = body[:len(body)-1]
	sum := mac(key, "line", body)
	return append(body, macField+sum+"\"}\n"...), link{e.N, sum}, nil
}

// mac returns the keyed hash of a text that is used for something.
func mac(key []byte, use string, text []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(use + "\x00"))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil)[:digestBytes])
}

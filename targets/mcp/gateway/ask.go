package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/targets/mcp/seal"
)

const (
	approvalLife = 2 * time.Minute
	maxShown     = 8 << 10 // bytes of arguments that a person is shown
)

// Approval is what a person was asked, and what the answer holds for: nothing else.
type Approval struct {
	Principal string `json:"principal"`
	Subject   string `json:"subject"`
	Policy    string `json:"policy"` // its digest
	Server    string `json:"server"`
	Kind      string `json:"kind"` // the method of its list
	Item      string `json:"item"`
	Says      string `json:"says"`              // the digest of its definition
	Arguments string `json:"arguments"`         // their digest
	Headers   string `json:"headers,omitempty"` // the digest of those of the caller that the server gets
}

// approver seals approvals with a key of its own, and takes each of them once.
type approver struct {
	keys *seal.Keys
	now  func() time.Time
	mu   sync.Mutex
	used map[string]time.Time // nonces, with the time until which they would count
}

// newApprover returns one; its keys are its own where there are none.
func newApprover(keys *seal.Keys) *approver {
	if keys == nil {
		keys = seal.New()
	}
	return &approver{keys: keys, now: time.Now, used: map[string]time.Time{}}
}

// purpose is what an approval is sealed for: itself.
func (ap Approval) purpose() string {
	data, _ := json.Marshal(ap) // texts
	return string(data)
}

// seal returns an approval as a text that only open takes.
func (a *approver) seal(ap Approval) string {
	return a.keys.Seal(ap.purpose(), []byte(rand.Text()), a.now().Add(approvalLife))
}

// open reports whether a text is the seal of an approval. It is so once.
func (a *approver) open(text string, want Approval) bool {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.used, func(_ string, until time.Time) bool { return !now.Before(until) })
	nonce, until, err := a.keys.Open(want.purpose(), text, now)
	if _, twice := a.used[string(nonce)]; twice || err != nil {
		return false
	}
	a.used[string(nonce)] = until
	return true
}

// question is a call that a person is asked about.
type question struct {
	request
	session   *sdk.ServerSession
	what      string // "call the tool"
	offer     *offer
	again     func(context.Context) (*offer, error) // finds the offer as it is by then
	kind      *kind
	args      json.RawMessage // tidy
	state     string          // of the second round of a revision without sessions
	responses sdk.InputResponseMap
}

// approvalKey is the name of the question among a result's requests for input.
const approvalKey = "approval"

// ask asks a person. It returns nothing where the person agrees, a result where the client has to ask, and a refusal
// else.
func (g *Gateway) ask(ctx context.Context, q question) (sdk.Result, error) {
	res, err := g.askPerson(ctx, q)
	noteAsked(ctx, res, err)
	return res, err
}

func (g *Gateway) askPerson(ctx context.Context, q question) (sdk.Result, error) {
	t := g.Table()
	ap := Approval{Principal: cmp.Or(g.opt.principal, "local"), Subject: t.who, Policy: t.digest,
		Server: q.offer.server,
		Kind:   q.kind.method, Item: q.offer.key, Says: digest(q.offer.raw), Arguments: digest(q.args),
		Headers: g.opt.headers}
	if !canAsk(q.ClientCapabilities()) {
		return nil, refusal(fmt.Sprintf("The policy asks a person before %s may %s %q%s, and this client has no way "+
			"to ask (it does not support elicitation). Nothing was done.", t.who, q.what,
			q.offer.name, ruleOf(q.offer)))
	}
	message, err := q.message(t.who)
	if err != nil {
		return nil, err
	}
	params := &sdk.ElicitParams{Mode: "form", Message: message,
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}}
	if q.ProtocolVersion() >= stateless {
		return g.askAgain(q, ap, params)
	}
	ctx, cancel := context.WithTimeout(ctx, approvalLife)
	defer cancel()
	res, err := q.session.Elicit(ctx, params)
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return nil, refusal("Nobody answered within two minutes. Nothing was done.")
	case err != nil:
		return nil, refusal("The client could not ask: " + shorten(err.Error()) + ". Nothing was done.")
	case res.Action != "accept":
		return nil, declined(res.Action)
	}
	if now, err := q.again(ctx); err != nil || digest(now.raw) != ap.Says || g.Table().digest != ap.Policy {
		return nil, answerStale
	}
	return nil, nil
}

const answerStale = refusal("The answer does not count for this call: it is too old, was used before, was given for " +
	"other arguments, or the policy, or what the server says of the item, is another one now. Nothing was done.")

// askAgain asks by a result, and takes the answer from the call that follows.
func (g *Gateway) askAgain(q question, ap Approval, params *sdk.ElicitParams) (sdk.Result, error) {
	answered, ok := q.responses[approvalKey].(*sdk.ElicitResult)
	if !ok || q.state == "" {
		requests, err := json.Marshal(sdk.InputRequestMap{approvalKey: params})
		if err != nil {
			return nil, err
		}
		state, _ := json.Marshal(g.asks.seal(ap)) // a text can be written
		return &answer{fields: map[string]json.RawMessage{"resultType": json.RawMessage(`"input_required"`),
			"inputRequests": requests, "requestState": state}}, nil
	}
	if !g.asks.open(q.state, ap) {
		return nil, answerStale
	}
	if answered.Action != "accept" {
		return nil, declined(answered.Action)
	}
	return nil, nil
}

// canAsk reports whether a client shows a form. One that says nothing of forms or addresses has forms.
func canAsk(c *sdk.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// message returns the question, with the arguments whole.
func (q *question) message(who string) (string, error) {
	var text bytes.Buffer
	if len(q.args) > 0 {
		if err := json.Indent(&text, q.args, "    ", "  "); err != nil {
			return "", err
		}
	}
	shown := escaped(text.String())
	if len(shown) > maxShown {
		return "", refusal(fmt.Sprintf("The policy asks a person before %s may %s %q%s, and its arguments are too "+
			"long to be shown whole: %d bytes, at most %d are. Nothing was done.", who, q.what, q.offer.name,
			ruleOf(q.offer), len(shown), maxShown))
	}
	out := fmt.Sprintf("May %s %s %s of server %s?", who, q.what, escaped(q.offer.key), escaped(q.offer.server))
	if shown != "" {
		out += " With these arguments:\n\n    " + shown
	}
	return out, nil
}

// ruleOf says which rule asks.
func ruleOf(o *offer) string {
	r := o.grant.Result
	text := " (" + r.Explanation()
	if r.Pos.File != "" {
		text += ", " + r.Pos.String()
	}
	return text + ")"
}

// escaped writes every character of a text that a person could not see, or take for another line, as JSON writes it.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n', r == ' ', unicode.IsPrint(r) && !pins.Invisible(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// digest returns a digest of arguments.
func digest(args []byte) string {
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:])
}

// refusal is why a call that the policy asks about is not made.
type refusal string

func (r refusal) Error() string { return diag.Clean(string(r)) }

// Is makes a refusal an error of the protocol, for what has no result with an error in it.
func (r refusal) As(target any) bool {
	if e, ok := target.(**jsonrpc.Error); ok {
		*e = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: r.Error()}
		return true
	}
	return false
}

// result returns a refusal as the result of a tool, so that the model sees it.
func (r refusal) result(of request) *answer {
	text, _ := json.Marshal([]map[string]string{{"type": "text", "text": r.Error()}}) // texts can be written
	fields := map[string]json.RawMessage{"content": text, "isError": json.RawMessage("true")}
	return passed(&answer{fields: fields}, of)
}

func declined(action string) refusal {
	if action == "decline" {
		return "The person declined. Nothing was done. Do not try it in another way."
	}
	return "The person dismissed the question without an answer. Nothing was done."
}

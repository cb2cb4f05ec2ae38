package suggest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/source"
)

// Wish is what was refused or asked about again and again, with a rule of the source that permits it and nothing else,
// or the reason why there is none.
type Wish struct {
	ID       string    `json:"id" jsonschema:"names the wish as long as the source decides as it does"`
	Subject  string    `json:"subject"`
	Group    ir.Group  `json:"group"`
	Server   string    `json:"server,omitempty"`
	What     string    `json:"what" jsonschema:"what a rule would name"`
	Refused  int       `json:"refused" jsonschema:"how often it was refused"`
	Asked    int       `json:"asked" jsonschema:"how often a person was asked"`
	Declined int       `json:"declined" jsonschema:"how often a person did not agree"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	// Decision is what the source decides now, by Rule.
	Decision ir.Decision `json:"decision"`
	Rule     string      `json:"rule,omitempty"`
	Place    string      `json:"place,omitempty"`
	// To is what it would decide with the patch: one step more.
	To      ir.Decision   `json:"to" jsonschema:"what the source would decide with the patch"`
	Permits []diff.Change `json:"permits,omitempty" jsonschema:"what the patch changes: modec diff says the same"`
	Why     string        `json:"why,omitempty" jsonschema:"why there is no patch"`

	// Files are the files of the source as the patch leaves them.
	Files []contract.File `json:"-"`

	ref    ir.SubjectRef
	action policy.Action
	asks   int // how often the source asked about it
}

// String says what a wish is about: "role dev: mcp github:list_issues".
func (w *Wish) String() string {
	name := w.What
	if w.Server != "" {
		name = w.Server + ":" + name
	}
	return fmt.Sprintf("%s: %s %s", w.Subject, w.Group, name)
}

// Count returns how often somebody wished it.
func (w *Wish) Count() int { return w.Refused + w.Asked + w.Declined }

// grounds returns how often it was met by what the source decides now. What was refused while the source denied it is
// no ground to allow what it asks about by now: nobody was asked yet.
func (w *Wish) grounds() int {
	if w.Decision == ir.Ask {
		return w.asks
	}
	return w.Count() - w.asks
}

// Unnamed are refusals and questions of which the log does not say what they were about.
type Unnamed struct {
	Subject string   `json:"subject"`
	Group   ir.Group `json:"group"`
	Count   int      `json:"count"`
}

// Wishes is what a log asks of a source.
type Wishes struct {
	List    []Wish    // those with a patch first, the most frequent first
	Unnamed []Unnamed // the most frequent first
	Rare    int       // how many things were refused or asked about less often
	Already int       // how many the source permits by now
	More    int       // how many beside List were as frequent, and are left out
}

// mostWishes is for how many wishes a patch is looked for.
const mostWishes = 100

// Tally counts what was refused and asked about. Its zero value has counted nothing.
type Tally struct {
	wishes  map[wishKey]*Wish
	unnamed map[Unnamed]int
}

type wishKey struct {
	ref    ir.SubjectRef
	action policy.Action
}

// Add counts an event, where it is about a refusal or a question.
func (t *Tally) Add(ev *audit.Event) {
	var w Wish
	gateway := ev.Via == audit.ViaGateway
	switch ask := ev.Decision == ir.Ask.String(); {
	case ev.Group == "":
		return
	case ev.Outcome == audit.Declined:
		w.Declined = 1
	case ev.Outcome == audit.Refused, ev.Outcome == audit.Observed && ev.Decision == ir.Deny.String():
		w.Refused = 1
	case ask && (ev.Outcome == audit.Observed || ev.Outcome == audit.Asked && !gateway ||
		ev.Outcome == audit.Done && gateway):
		w.Asked = 1 // a gateway writes down the answer to a question too
	default:
		return
	}
	if t.wishes == nil {
		t.wishes, t.unnamed = map[wishKey]*Wish{}, map[Unnamed]int{}
	}
	key := wishKey{ir.SubjectRef{Role: ev.Role, Mode: ev.Mode}, policy.Action{Group: ir.Group(ev.Group), Arg: ev.About}}
	if key.ref == (ir.SubjectRef{}) || ev.About == "" {
		who := "nobody whom the log names"
		if key.ref != (ir.SubjectRef{}) {
			who = key.ref.String()
		}
		t.unnamed[Unnamed{Subject: who, Group: key.action.Group}]++
		return
	}
	if key.action.Group == ir.MCP {
		key.action.Server = ev.Server
	}
	had := t.wishes[key]
	if had == nil {
		had = &Wish{ref: key.ref, action: key.action, First: ev.Time, Last: ev.Time}
		t.wishes[key] = had
	}
	had.Refused, had.Asked, had.Declined = had.Refused+w.Refused, had.Asked+w.Asked, had.Declined+w.Declined
	if ev.Decision == ir.Ask.String() {
		had.asks++
	}
	if ev.Time.Before(had.First) {
		had.First = ev.Time
	}
	if ev.Time.After(had.Last) {
		had.Last = ev.Time
	}
}

// Looking says in which project rules are looked for, and for which wishes.
type Looking struct {
	FS      fs.FS // the files of the project
	Request compiler.Request
	Result  *compiler.Result // of the request
	Seed    uint64           // of the comparison
	Least   int              // how often something has to have been wished
	ID      string           // the only wish to look for; "": all
}

// Wishes returns what was counted often enough, and the source does not permit. Each patch is one of the source as it
// is, compiled and compared: it changes what it is about by one step (deny to ask, ask to allow), and nothing else.
func (t *Tally) Wishes(ctx context.Context, in Looking) (*Wishes, error) {
	out := &Wishes{}
	rare := map[wishKey]*Wish{} // by the beginning of their commands
	for _, w := range t.wishes {
		switch {
		case in.ID != "" && w.id() != in.ID:
			continue
		case w.Count() >= in.Least:
			out.List = append(out.List, *w)
			continue
		}
		out.Rare++
		if beginning := firstWords(w.action); beginning != "" {
			key := wishKey{w.ref, policy.Action{Group: ir.Command, Arg: beginning}}
			if rare[key] == nil {
				rare[key] = &Wish{ref: key.ref, action: key.action, First: w.First, Last: w.Last}
			}
			rare[key].merge(w)
		}
	}
	for _, w := range rare {
		if w.Count() >= in.Least {
			w.Why = "each of these lines came fewer than " + times(in.Least) + ", and a rule for their beginning " +
				"would permit others too: write it yourself where that is right"
			out.List = append(out.List, *w)
		}
	}
	slices.SortFunc(out.List, moreOften)
	out.More = max(0, len(out.List)-mostWishes)
	list := out.List[:len(out.List)-out.More]
	out.List = nil
	g := grower{ctx: ctx, Looking: in}
	for i := range list {
		w := &list[i]
		already, err := g.fulfil(w)
		switch {
		case err != nil:
			return nil, err
		case already:
			out.Already++
		case w.Why == "" && w.grounds() < in.Least:
			out.Rare++
		default:
			out.List = append(out.List, *w)
		}
	}
	slices.SortStableFunc(out.List, func(a, b Wish) int { return cmp.Compare(min(len(a.Why), 1), min(len(b.Why), 1)) })
	for _, u := range slices.Collect(maps.Keys(t.unnamed)) {
		u.Count = t.unnamed[u]
		out.Unnamed = append(out.Unnamed, u)
	}
	slices.SortFunc(out.Unnamed, func(a, b Unnamed) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Group, b.Group))
	})
	return out, nil
}

// id names the wish.
func (w *Wish) id() string {
	a := w.action
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s", w.ref, a.Group, a.Server, a.Arg))
	return hex.EncodeToString(sum[:4])
}

// WishID returns the ID of the wish that an event is one of, "" where it is none or the log does not name it.
func WishID(ev *audit.Event) string {
	var t Tally
	t.Add(ev)
	for _, w := range t.wishes {
		return w.id()
	}
	return ""
}

func (w *Wish) merge(o *Wish) {
	w.Refused, w.Asked, w.Declined = w.Refused+o.Refused, w.Asked+o.Asked, w.Declined+o.Declined
	w.asks += o.asks
	if o.First.Before(w.First) {
		w.First = o.First
	}
	if o.Last.After(w.Last) {
		w.Last = o.Last
	}
}

func moreOften(a, b Wish) int {
	return cmp.Or(cmp.Compare(b.Count(), a.Count()), cmp.Compare(a.ref.String(), b.ref.String()),
		cmp.Compare(a.action.Group, b.action.Group), cmp.Compare(a.action.Server, b.action.Server),
		cmp.Compare(a.action.Arg, b.action.Arg))
}

// firstWords returns the program of a command and the word behind it; "" for what is no command of two words.
func firstWords(a policy.Action) string {
	words := strings.Fields(a.Arg)
	if a.Group != ir.Command || len(words) < 3 || strings.HasPrefix(words[1], "-") {
		return ""
	}
	return words[0] + " " + words[1] + " …"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// grower looks for rules that permit more.
type grower struct {
	ctx context.Context
	Looking
}

// fulfil looks for the rule that permits a wish. It reports whether the source does so already.
func (g *grower) fulfil(w *Wish) (already bool, err error) {
	a := w.action
	w.Subject, w.Group, w.Server, w.What = w.ref.String(), a.Group, a.Server, secret.Text(a.Arg)
	w.ID = w.id()
	p := g.Result.Project
	if w.ref.Role != "" && p.Role(w.ref.Role) == nil || w.ref.Mode != "" && p.Mode(w.ref.Mode) == nil {
		w.Why = "the source has no such subject"
		if strings.Contains(w.ref.Role, ",") {
			w.Why = "the caller has several roles: say in one of them what it may do"
		}
		return false, nil
	}
	s, err := g.Result.Policy.Subject(w.ref)
	if err != nil {
		return false, err
	}
	if w.Why != "" {
		return false, nil
	}
	now := s.Decide(a)
	w.Decision, w.To, w.Rule, w.Place = now.Decision, now.Decision, secret.Text(now.Rule), now.Pos.String()
	switch {
	case now.Decision == ir.Allow:
		return true, nil
	case now.Decision == ir.Agent:
		w.Why = "the source leaves it to the agent, and a gateway denies what is left: say ask or allow"
		return false, nil
	}
	if w.Why = g.never(w, &now); w.Why == "" {
		w.Why, err = g.atTimes(w, &now)
	}
	if w.Why != "" || err != nil {
		return false, err
	}
	w.To++
	err = g.patch(w, &now)
	if w.Why != "" {
		w.To, w.Files, w.Permits = w.Decision, nil, nil
	}
	return false, err
}

// atTimes returns why no rule is suggested for what the source permits at some times; "" where it permits no more then.
func (g *grower) atTimes(w *Wish, now *policy.Result) (string, error) {
	if !g.Result.Policy.Timed() {
		return "", nil
	}
	s, err := g.Result.Policy.Opened().Subject(w.ref)
	if err != nil || s.Decide(w.action).Decision <= now.Decision {
		return "", err
	}
	open := s.Decide(w.action)
	return fmt.Sprintf("it is permitted at some times (%s, %s), and a rule would permit it at any: "+
		"write other times where that is right", secret.Text(open.Rule), open.Pos), nil
}

// never returns why no rule is suggested, whatever the source could say; "" where nothing is against it.
func (g *grower) never(w *Wish, now *policy.Result) string {
	a := w.action
	var tool *ir.Tool
	if sv := g.Result.Project.Server(a.Server); sv != nil {
		tool = sv.Tool(a.Arg)
	}
	switch {
	case strings.HasPrefix(now.Rule, ir.Deny.String()+" "): // a rule, and no default
		return held(now)
	case strings.Contains(a.Arg, secret.Mask):
		return "the log masks a secret in it"
	case strings.HasSuffix(a.Arg, "…"), strings.ContainsAny(a.Arg, "*?[]{}!\\\n\t"):
		return "no rule names this and nothing else"
	case a.Group == ir.MCP && tool == nil:
		return "the inventory does not list it: `modec inventory --update` asks the server for its tools"
	case tool != nil && tool.Risk == "destructive":
		return "the inventory says that it is destructive"
	case now.Decision == ir.Ask && w.Declined > 0:
		return "a person was asked and did not agree " + times(w.Declined)
	case now.Decision == ir.Ask && tool != nil && tool.Risk == "":
		return "the inventory does not say its risk: write it there first (" + tool.Pos.String() + ")"
	case now.Decision == ir.Ask && a.Group == ir.Command && destroys(a.Arg):
		return "it may destroy something, or runs what its arguments say: a person is to be asked"
	}
	return ""
}

// destroyers are programs that delete, and words of others that do.
var destroyers = []string{
	"rm", "rmdir", "unlink", "shred", "dd", "truncate", "mkfs", "kill", "pkill", "killall", "shutdown", "reboot",
	"delete", "destroy", "drop", "purge", "remove", "uninstall", "push", "publish", "deploy", "--force", "-f", "--hard",
}

func destroys(line string) bool {
	return slices.ContainsFunc(strings.Fields(line), func(word string) bool {
		return slices.Contains(destroyers, word) || policy.Runs(word)
	})
}

// patch looks for the patch of the source by which a wish is decided as it is to be.
func (g *grower) patch(w *Wish, now *policy.Result) error {
	permissions, err := g.permissions(w)
	if err != nil {
		return err
	}
	files, err := migrate.Permit(g.FS, g.Result.Config.Source, permissions...)
	if err != nil {
		w.Why = held(now) + ", and no patch can change it: " + err.Error()
		return nil
	}
	req := g.Request
	if req.FS, err = source.Overlay(g.FS, g.Result.Config.Source, contract.InMemory(files)); err != nil {
		return err
	}
	after, diags := compiler.Open(g.ctx, req)
	if diags.HasErrors() {
		w.Why = "the source would have an error: " + diags.Err().Error()
		return nil
	}
	s, err := after.Policy.Subject(w.ref)
	if err != nil {
		return err
	}
	if is := s.Decide(w.action); is.Decision != w.To {
		w.Why = held(&is)
		return nil
	}
	report, err := diff.Projects(g.Result.Policy, after.Policy, g.Seed)
	if err != nil {
		return err
	}
	if more := beyond(report, w.action, permissions); more != "" {
		w.Why = "a rule for it alone would change more: " + more
		return nil
	}
	w.Permits, w.Files = report.Changes, files
	return nil
}

// held says what holds something back.
func held(r *policy.Result) string {
	text := secret.Text(r.Rule)
	if at := r.Pos.String(); at != "" {
		text += " (" + at + ")"
	}
	return text + " holds it"
}

// permissions returns the rules by which a wish is decided as it is to be: one in each of the role and the mode that
// decide less by themselves.
func (g *grower) permissions(w *Wish) (list []migrate.Permission, err error) {
	a := w.action
	text := a.Arg
	if (a.Group == ir.Read || a.Group == ir.Edit) && !strings.Contains(text, "/") {
		text = "/" + text // in the root alone
	}
	for _, ref := range []ir.SubjectRef{{Role: w.ref.Role}, {Mode: w.ref.Mode}} {
		if ref == (ir.SubjectRef{}) {
			continue
		}
		s, err := g.Result.Policy.Subject(ref)
		if err != nil {
			return nil, err
		}
		if s.Decide(a).Decision < w.To {
			list = append(list, migrate.Permission{Subject: ref, Group: a.Group, Server: a.Server, Decision: w.To,
				Text: text})
		}
	}
	return list, nil
}

// beyond returns what a comparison shows that is not about an action; "" where there is nothing.
func beyond(r *diff.Report, a policy.Action, permissions []migrate.Permission) string {
	for _, o := range r.Others {
		return o.What + " " + o.Text
	}
	for i := range r.Changes {
		c := &r.Changes[i]
		own := c.What == a.Server+":"+a.Arg || slices.ContainsFunc(permissions, func(p migrate.Permission) bool {
			return c.What == p.Text
		})
		if a.Group == ir.Command && c.Group == ir.Command { // its redirects are judged by what may be read and edited
			others := func(line string) bool { return !strings.Contains(line, a.Arg) }
			own = own || !slices.ContainsFunc(c.Examples, others)
		}
		if c.Kind != diff.Widened || c.Only != "" || !own {
			return fmt.Sprintf("%s: %s %s %s → %s", c.Subject, c.Group, c.What, c.Before.Decision, c.After.Decision)
		}
	}
	return ""
}

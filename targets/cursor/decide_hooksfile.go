package cursor

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// hooksFile is a hooks.json that Cursor accepts.
type hooksFile struct {
	file   string
	events map[string][]hookEntry
}

// hookEntry is one hook of an event.
type hookEntry struct {
	at      diag.Pos
	text    string // the command as written
	matcher *regexp2.Regexp
	role    hookRole
	subject ir.SubjectRef
	allows  bool // --may-allow
}

// hookRole is what is known of what a hook answers.
type hookRole uint8

const (
	stranger hookRole = iota // may answer anything
	absent                   // may fail without a refusal: as if it were not there
	refuser                  // refuses every call
	modec                    // runs Hook for its subject
)

// hookEvents are all that hooks.json may name: with any other the engine
// refuses the file (@cursor/sdk 1.0.32, Qe; Cursor's documentation of hooks).
var hookEvents = []string{"sessionStart", "sessionEnd", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "subagentStop",
	"beforeShellExecution", "afterShellExecution", "beforeMCPExecution", "afterMCPExecution", "beforeReadFile", "afterFileEdit",
	"beforeSubmitPrompt", "preCompact", "stop", "afterAgentResponse", "afterAgentThought", "beforeTabFileRead", "afterTabFileEdit", "workspaceOpen"}

// slowest is the longest that modec takes to answer: a shorter time-out may end
// it before.
const slowest = 2 * time.Second

var (
	lineComment  = regexp.MustCompile(`//[^\n\r\x{2028}\x{2029}]*`)
	blockComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
)

// readHooks reads a hooks.json as the engine does: comments are cut out by two
// expressions that also cut inside strings, the rest is strict JSON, and one
// mistake makes it ignore the whole file.
func readHooks(name string, data []byte, o *opened) (*hooksFile, diag.List) {
	if lineComment.Match(data) || blockComment.Match(data) {
		data = blockComment.ReplaceAll(lineComment.ReplaceAll(data, nil), nil)
	}
	v, err := located.JSON(name, data)
	if err == nil {
		err = checkHooks(v)
	}
	if err != nil {
		return nil, diag.List{ignored(diag.Pos{File: name}, "Cursor runs none of these hooks: "+err.Error())}
	}
	var diags diag.List
	f := &hooksFile{file: name, events: map[string][]hookEntry{}}
	for _, m := range v.Get("hooks").Members {
		if v.Get("hooks").Get(m.Key) != m.Value {
			continue // an equal key further on holds
		}
		for _, item := range m.Value.List() {
			e, why := readEntry(item, o)
			if why != "" {
				diags = append(diags, ignored(e.at, why))
			}
			f.events[m.Key] = append(f.events[m.Key], e)
		}
	}
	return f, diags
}

// checkHooks reports the first thing for which the engine refuses the file.
func checkHooks(v *located.Value) error {
	if n, err := strconv.ParseFloat(number(v.Get("version")), 64); err != nil || n < 1 || n != float64(int64(n)) {
		return fmt.Errorf("got no version, want a positive integer")
	}
	if !v.Get("hooks").Is(located.Object) {
		return fmt.Errorf("got no hooks, want an object")
	}
	for _, m := range v.Get("hooks").Members {
		if !slices.Contains(hookEvents, m.Key) {
			return fmt.Errorf("got the event %q, which Cursor does not know", m.Key)
		}
		if !m.Value.Is(located.List) {
			return fmt.Errorf("%s: got %s, want a list", m.Key, m.Value.Kind)
		}
		for _, item := range m.Value.List() {
			if err := checkEntry(item); err != nil {
				return fmt.Errorf("%s: %w", m.Key, err)
			}
		}
	}
	return nil
}

func number(v *located.Value) string {
	if !v.Is(located.Number) {
		return ""
	}
	return v.Text
}

func checkEntry(v *located.Value) error {
	kind, _ := v.Get("type").Str()
	text := "command"
	switch {
	case !v.Is(located.Object):
		return fmt.Errorf("got a hook that is no object")
	case v.Get("type") == nil || kind == "command":
	case kind == "prompt":
		text = "prompt"
	default:
		return fmt.Errorf("got a hook of an unknown type")
	}
	if s, ok := v.Get(text).Str(); !ok || text == "prompt" && trimmed(s) == "" {
		return fmt.Errorf("got a hook without a %s", text)
	}
	if m := v.Get("matcher"); m != nil {
		s, ok := m.Str()
		if _, err := compileMatcher(s); !ok || err != nil {
			return fmt.Errorf("got a matcher that is no expression")
		}
	}
	if t := v.Get("timeout"); t != nil {
		if n, err := strconv.ParseFloat(number(t), 64); err != nil || n <= 0 {
			return fmt.Errorf("got a timeout that is no positive number")
		}
	}
	if l := v.Get("loop_limit"); l != nil && !l.Is(located.Null) {
		if n, err := strconv.ParseFloat(number(l), 64); err != nil || n < 1 || n != float64(int64(n)) {
			return fmt.Errorf("got a loop_limit that is no positive integer")
		}
	}
	if c := v.Get("failClosed"); c != nil && !c.Is(located.Bool) {
		return fmt.Errorf("got a failClosed that is no bool")
	}
	return nil
}

// compileMatcher returns nil for a matcher that every call matches.
func compileMatcher(text string) (*regexp2.Regexp, error) {
	if text == "" || text == "*" {
		return nil, nil
	}
	re, err := regexp2.Compile(text, regexp2.ECMAScript)
	if err == nil {
		re.MatchTimeout = 50 * time.Millisecond
	}
	return re, err
}

// readEntry says what is known of a hook, and why where that is less than a
// refusal of everything it does not know.
func readEntry(v *located.Value, o *opened) (hookEntry, string) {
	e := hookEntry{at: v.Pos}
	matcher, _ := v.Get("matcher").Str()
	e.matcher, _ = compileMatcher(matcher)
	command, ok := v.Get("command").Str()
	if kind, _ := v.Get("type").Str(); kind == "prompt" || !ok {
		e.text, _ = v.Get("prompt").Str()
		return e, "got a hook that asks a model: what it answers is not known"
	}
	e.text, e.at = command, v.Get("command").Pos
	line, err := contract.ParseHookLine(command)
	if err != nil {
		return e, "what this hook answers is not known: " + err.Error()
	}
	if line.Agent != "cursor" {
		e.role = refuser // modec refuses a payload that is not of its agent
		return e, fmt.Sprintf("got a hook for %q: it refuses whatever Cursor asks", line.Agent)
	}
	closed := v.Get("failClosed").True()
	timeout := 60.0
	if n, err := strconv.ParseFloat(number(v.Get("timeout")), 64); err == nil {
		timeout = n
	}
	switch {
	case !closed && !line.FailClosed:
		e.role = absent
		return e, "got a hook that lets every call pass where modec is missing, want failClosed or || exit 2"
	case !closed && timeout <= slowest.Seconds():
		e.role = absent
		return e, "got a hook whose time may end before modec answers, which lets the call pass"
	}
	model, here := modelPath(line.Model)
	if !here {
		return e, fmt.Sprintf("got the policy %q, which is not this project's: what this hook answers is not known", line.Model)
	}
	e.role, e.allows = refuser, line.MayAllow
	if model != policyFile || o.engine == nil {
		return e, fmt.Sprintf("the policy %q cannot be used: this hook refuses every call", line.Model)
	}
	e.subject, err = o.engine.Project().ParseSubject(line.Subject, "")
	if err == nil {
		_, err = o.engine.Subject(e.subject)
	}
	if err != nil {
		return e, "this hook refuses every call: " + err.Error()
	}
	e.role = modec
	return e, ""
}

const policyFile = ".modec/policy.json"

// modelPath returns a model's path from the root, at which project hooks run;
// false for one that may lie anywhere.
func modelPath(model string) (string, bool) {
	for _, variable := range []string{"${CURSOR_PROJECT_DIR}/", "${CLAUDE_PROJECT_DIR}/"} {
		model = strings.TrimPrefix(model, variable)
	}
	if strings.Contains(model, "$") || model == "" {
		return "", false
	}
	return strings.CutPrefix(absolute(model), root+"/")
}

// opinion is what a hook, or all hooks of an event, say of a call.
type opinion string

const (
	none    opinion = ""
	allowed opinion = "allow"
	asked   opinion = "ask"
	denied  opinion = "deny"
)

// call is one call of a hook.
type call struct {
	event   string
	match   string // what a matcher is held against
	payload any
}

// ask runs every hook of the event whose matcher matches, as the engine does:
// deny before ask before allow. The entry is the one that decided.
func (f *hooksFile) ask(c call, o *opened) (opinion, *hookEntry) {
	if f == nil {
		return none, nil
	}
	var payload []byte
	said, by := none, (*hookEntry)(nil)
	for i := range f.events[c.event] {
		e := &f.events[c.event][i]
		if e.matcher != nil && c.match != "" {
			if hit, err := e.matcher.MatchString(c.match); err != nil || !hit {
				continue // one that takes too long may be one that misses
			}
		}
		if payload == nil && e.role == modec {
			payload, _ = json.Marshal(c.payload)
		}
		if p := e.answer(payload, o); rank[p] > rank[said] {
			said, by = p, e
		}
	}
	return said, by
}

var rank = map[opinion]int{allowed: 1, asked: 2, denied: 3}

func (e *hookEntry) answer(payload []byte, o *opened) opinion {
	switch e.role {
	case stranger:
		return allowed
	case refuser:
		return denied
	case modec:
		return o.hook(e, payload)
	}
	return none
}

// hookCall is what a hook's answer depends on.
type hookCall struct {
	subject ir.SubjectRef
	allows  bool
	payload string
}

// hook asks the entry point, once for both surfaces and all files that call it.
func (o *opened) hook(e *hookEntry, payload []byte) opinion {
	key := hookCall{e.subject, e.allows, string(payload)}
	if said, ok := o.answers.Load(key); ok {
		return said.(opinion)
	}
	said := o.run(e, payload)
	o.answers.Store(key, said)
	return said
}

// run runs the real entry point. `modec hook` refuses where it panics.
func (o *opened) run(e *hookEntry, payload []byte) (said opinion) {
	defer func() {
		if recover() != nil {
			said = denied
		}
	}()
	a := cursor{}.Hook(contract.HookRequest{Payload: payload, Policy: o.engine, Subject: e.subject, Root: o.root, MayAllow: e.allows, Resolve: o.resolve})
	if a.Exit != 0 {
		return denied
	}
	var answer struct{ Permission *opinion }
	if json.Unmarshal(a.Stdout, &answer) != nil {
		return denied // output that is no JSON blocks the call
	}
	if answer.Permission == nil {
		return none
	}
	if rank[*answer.Permission] == 0 {
		return denied // so does an answer that is none
	}
	return *answer.Permission
}

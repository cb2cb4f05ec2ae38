package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// hooksFile is a hooks.json that Cursor accepts.
type hooksFile struct {
	events map[string][]hookEntry
	lack   *contract.Lack // the first of modec's hooks that does not hold
}

// hookEntry is one hook of an event.
type hookEntry struct {
	format.Hook
	contract.JudgedHook
	lack *contract.Lack // why it holds nothing
}

// text returns the command or the prompt as written.
func (e *hookEntry) text() string { return cmp.Or(e.Command, e.Prompt) }

// ours reports whether a hook of the file is modec's, or was.
func (f *hooksFile) ours() bool {
	if f == nil {
		return false
	}
	for _, list := range f.events {
		known := func(e hookEntry) bool { return e.Role != contract.HookStranger || e.lack != nil }
		if slices.ContainsFunc(list, known) {
			return true
		}
	}
	return false
}

// readHooks reads the hooks.json of a folder; nil where Cursor runs no hook of it.
func (r *reader) readHooks(dir string) (*hooksFile, *contract.Lack) {
	name, data, ok := r.file(dir, format.HooksFile)
	if !ok {
		return nil, nil
	}
	hooks, err := format.ReadHooks(name, data)
	if err != nil {
		return nil, r.lacks(located.PlaceOf(name, err), "Cursor runs none of these hooks: %v", err)
	}
	f := &hooksFile{events: map[string][]hookEntry{}}
	for _, event := range format.HookEvents {
		for _, h := range hooks[event] {
			if contract.Observes(h.Command) {
				continue
			}
			e := r.hookEntry(h)
			f.events[event] = append(f.events[event], e)
			f.lack = cmp.Or(f.lack, e.lack)
		}
	}
	if len(f.events) == 0 {
		return nil, nil
	}
	return f, f.lack
}

// lacks warns of what does not hold.
func (r *reader) lacks(at diag.Pos, message string, args ...any) *contract.Lack {
	r.ignored(at, message, args...)
	return &contract.Lack{Why: fmt.Sprintf(message, args...), At: at}
}

// hookEntry reads what is known of the answers of a hook. It warns of every hook but
// modec's own that refuses where modec fails.
func (r *reader) hookEntry(h format.Hook) hookEntry {
	e := hookEntry{Hook: h}
	if h.Prompt != "" {
		r.diags.Notef(codeIgnored, h.At, "the hook asks a model: what it answers is not known").Target("cursor")
		return e
	}
	line, err := contract.ParseHookLine(h.Command)
	if err != nil && !strings.Contains(h.Command, "modec") {
		r.diags.Notef(codeIgnored, h.At, "what this hook answers is not known: it is a person's own program").
			Target("cursor")
		return e
	}
	if err != nil {
		e.lack = r.lacks(h.At, "what this hook answers is not known: %v", err)
		return e
	}
	switch {
	case line.Agent != "cursor":
		e.Role = contract.HookRefuses // modec refuses a payload that is not of its agent
		r.ignored(h.At, "the hook is for %q: it refuses whatever Cursor asks", line.Agent)
	case h.Other != nil:
		e.Role = contract.HookAbsent
		e.lack = r.lacks(h.Other.Pos, "what Cursor makes of %q in the hook is not known", h.Other.Key)
	case !h.FailClosed && h.Timeout <= contract.HookSeconds:
		e.Role = contract.HookAbsent
		e.lack = r.lacks(h.TimeoutAt, "the time of the hook may end before modec answers, which lets the call pass")
	case !h.FailClosed && !line.FailClosed:
		e.Role = contract.HookAbsent
		e.lack = r.lacks(h.At, "the hook lets every call pass where modec is missing: write `|| exit 2` after it")
	case line.Elsewhere(h.At.File):
		e.lack = r.lacks(h.At, "the hook is about another folder: what it answers is not known")
	default:
		if err = e.Follow(&line, h.At.File, r.policy); err != nil {
			r.ignored(h.At, "%v", err)
		}
	}
	return e
}

// opinion is what a hook, or all hooks of an event, say of a call.
type opinion string

const (
	none    opinion = ""
	allowed opinion = "allow"
	asked   opinion = "ask"
	denied  opinion = "deny"
)

// rank orders opinions: of several hooks the one of the highest rank counts.
var rank = map[opinion]int{allowed: 1, asked: 2, denied: 3}

// call is one call of a hook.
type call struct {
	event   string
	match   string // what a matcher is held against
	payload event
}

// ask runs every hook of the event whose matcher matches, as the engine does:
// deny before ask before allow. The entry is the one that decided, or the one of modec that
// has no opinion.
func (o *opened) ask(f *hooksFile, c call) (opinion, *hookEntry) {
	if f == nil {
		return none, nil
	}
	var payload []byte
	said, by := none, (*hookEntry)(nil)
	for i := range f.events[c.event] {
		e := &f.events[c.event][i]
		if e.Matcher != nil && c.match != "" {
			if hit, err := e.Matcher.Match(c.match); err != nil || !hit {
				continue // one that takes too long may be one that misses
			}
		}
		if payload == nil && e.Role == contract.HookModec {
			payload = c.payload.json()
		}
		if p := o.answer(e, payload); rank[p] > rank[said] || by == nil && e.Role == contract.HookModec {
			said, by = p, e
		}
	}
	return said, by
}

func (o *opened) answer(e *hookEntry, payload []byte) opinion {
	switch e.Role {
	case contract.HookStranger:
		return allowed
	case contract.HookRefuses:
		return denied
	case contract.HookModec:
		return o.remembered(e, payload)
	}
	return none
}

// hookCall is what an answer of modec's hook depends on, at one disk.
type hookCall struct {
	policy  *policy.Engine
	subject ir.SubjectRef
	allows  bool
	payload string
}

const keptAnswers = 4096

// remembered asks modec's hook, once for both surfaces and all files that call it at about the
// same time.
func (o *opened) remembered(e *hookEntry, payload []byte) opinion {
	key := hookCall{e.Policy, e.Subject, e.Allows, string(payload)}
	said, ok := o.answers.Get(key)
	if !ok {
		said = o.run(e, payload)
		o.answers.Put(key, said)
	}
	return said
}

// run runs modec's hook. `modec hook` refuses where it panics.
func (o *opened) run(e *hookEntry, payload []byte) (said opinion) {
	defer func() {
		if recover() != nil {
			said = denied
		}
	}()
	req := contract.HookRequest{Payload: payload, Policy: e.Policy, Subject: e.Subject, MayAllow: e.Allows}
	a := o.hook(req.At(o.disk))
	if a.Exit != 0 {
		return denied
	}
	return read(a.Stdout)
}

// read returns what Cursor takes from the output of a hook that succeeds.
func read(stdout []byte) opinion {
	var answer struct {
		Permission *opinion `json:"permission"`
	}
	if json.Unmarshal(stdout, &answer) != nil {
		return denied // output that is not JSON blocks the call
	}
	if answer.Permission == nil {
		return none
	}
	if rank[*answer.Permission] == 0 {
		return denied // so does a permission that Cursor does not know
	}
	return *answer.Permission
}

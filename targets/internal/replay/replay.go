// Package replay holds a target against what its real agent did. Only tests import it.
//
// `make agents` runs the real agents, and record.mjs writes what they did to
// e2e/testdata/record.json beside the target: the payloads that the agent sent to modec's
// hook, the answers that it got, and what became of each call. [Run] fails where today's
// build, actions or agent are not those of the record, where today's hook answers a payload
// in another way, and where the model says something else than what became of a call.
package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/policy"
)

// Record is what the real agent did.
type Record struct {
	Key      Key
	Commands map[string][]string // the hook's arguments, after the program
	Payloads map[string]json.RawMessage
	Answers  map[string]Answer
	Sessions []Session
}

// Key is what the record is valid for. The texts are digests but for the agent.
type Key struct {
	Agent     string // its packages and their versions
	Actions   string // what the agent was asked to do, and in which sessions
	Scenario  string // the other files of the project, and what a person trusted
	Artifacts map[string]string
}

// Session is one run of the agent.
type Session struct {
	Name   string
	Hooks  []Asked
	Became []string // of each action, what became of it
}

// Asked is a call of the hook: the names of a command, a payload and an answer.
type Asked [3]string

// Answer is what the hook's process wrote.
type Answer struct {
	Exit   int
	Stdout string
	Stderr string
}

// Expected is what the model says of the actions of a session, in the words of the record.
type Expected struct {
	Session  string
	Actions  []string
	Verdicts []string
}

// Add adds an action with what the model says of it.
func (e *Expected) Add(action string, verdict any) {
	e.Actions = append(e.Actions, action)
	e.Verdicts = append(e.Verdicts, fmt.Sprint(verdict))
}

// Read reads a record.
func Read(file string) (*Record, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// Digest returns the digest of a value as JSON with sorted keys, as record.mjs computes it.
func Digest(value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	var sorted any
	if err := json.Unmarshal(data, &sorted); err != nil {
		return "", err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(sorted); err != nil {
		return "", err
	}
	return digest(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Artifacts returns the files of a build, and of what sessions are started with, whose paths begin with one of the
// prefixes.
func Artifacts(outputs []contract.Artifacts, prefixes ...string) map[string][]byte {
	var files []contract.File
	for _, o := range outputs {
		files = slices.Concat(files, o.Files, o.Sessions)
	}
	read := map[string][]byte{}
	for _, f := range files {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.Path, p) }) {
			read[f.Path] = f.Data
		}
	}
	return read
}

// stale returns what differs between the key of a record and today's.
func (k Key) stale(today Key) []string {
	var changed []string
	if k.Agent != today.Agent {
		changed = append(changed, fmt.Sprintf("the agent changed: it was %s and is %s", k.Agent, today.Agent))
	}
	if k.Actions != today.Actions {
		changed = append(changed, "the actions changed")
	}
	if k.Scenario != today.Scenario {
		changed = append(changed, "the scenario's files or trust changed")
	}
	all := maps.Clone(k.Artifacts)
	maps.Copy(all, today.Artifacts)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if k.Artifacts[p] != today.Artifacts[p] {
			changed = append(changed, "the artifacts changed: "+p)
		}
	}
	return changed
}

// hook answers recorded calls as `modec hook` does today.
type hook struct {
	contract.Hooker
	root   string // the scenario's project
	policy *policy.Engine
}

// differ returns where today's hook answers otherwise than the record.
func (r *Record) differ(h hook) ([]string, error) {
	var differences []string
	for _, s := range r.Sessions {
		for _, asked := range s.Hooks {
			payload, want := r.Payloads[asked[1]], r.Answers[asked[2]]
			got, err := h.answer(r.Commands[asked[0]], payload)
			if err != nil {
				return nil, fmt.Errorf("%s, payload %s: %w", s.Name, asked[1], err)
			}
			if got != want {
				differences = append(differences, fmt.Sprintf(
					"%s: the hook answers\n%+v\nand answered\n%+v\nto %s", s.Name, got, want, payload))
			}
		}
	}
	return differences, nil
}

// answer runs a command line of the hook.
func (h hook) answer(command []string, payload []byte) (Answer, error) {
	if len(command) < 2 || command[0] != "hook" || command[1] != h.Name() {
		return Answer{}, fmt.Errorf("got the command %q, want hook %s", command, h.Name())
	}
	flags := flag.NewFlagSet("hook", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	line := contract.HookLine{}
	flags.StringVar(&line.Subject, "subject", "", "")
	flags.String("root", "", "") // the scenario's project too
	flags.BoolVar(&line.MayAllow, "may-allow", false, "")
	if err := flags.Parse(command[2:]); err != nil {
		return Answer{}, err
	}
	ref, err := line.Ref(h.policy)
	if err != nil {
		return Answer{}, err
	}
	a := h.Hook(contract.HookRequest{
		Payload:  []byte(h.folders().Replace(string(payload))),
		Policy:   h.policy,
		Subject:  ref,
		Root:     h.root,
		MayAllow: line.MayAllow,
		Resolve:  contract.ResolveLinks,
	})
	said := Answer{Exit: a.Exit}
	if a.Exit == 0 {
		said.Stdout = h.names().Replace(string(a.Stdout))
	}
	if a.Stderr != "" {
		said.Stderr = "modec: " + h.names().Replace(a.Stderr) + "\n"
	}
	return said, nil
}

// folders puts folders in the place of their names in the record, names does the reverse.
func (h hook) folders() *strings.Replacer {
	return strings.NewReplacer("ROOT", h.root, "PARENT", h.parent(), "ABOVE", filepath.Dir(h.parent()))
}

func (h hook) names() *strings.Replacer {
	return strings.NewReplacer(h.root, "ROOT", h.parent(), "PARENT", filepath.Dir(h.parent()), "ABOVE")
}

func (h hook) parent() string { return filepath.Dir(h.root) }

// disagree returns where the model says something else than what became of a call.
func (r *Record) disagree(want []Expected) []string {
	var list []string
	sessions := map[string]Session{}
	for _, s := range r.Sessions {
		sessions[s.Name] = s
	}
	for _, e := range want {
		s, ok := sessions[e.Session]
		delete(sessions, e.Session)
		switch {
		case !ok:
			list = append(list, e.Session+": the record has no such session")
			continue
		case len(s.Became) != len(e.Verdicts) || len(e.Actions) != len(e.Verdicts):
			list = append(list, fmt.Sprintf("%s: got %d outcomes and %d verdicts of %d actions",
				e.Session, len(s.Became), len(e.Verdicts), len(e.Actions)))
			continue
		}
		for i, verdict := range e.Verdicts {
			if s.Became[i] != verdict {
				list = append(list, fmt.Sprintf("%s, %s: the agent says %s, the model %s",
					e.Session, e.Actions[i], s.Became[i], verdict))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sessions)) {
		list = append(list, name+": the model has no such session")
	}
	return list
}

package verify_test

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
)

// ledger is what is decided about each subject on each surface, and under which key.
type ledger struct {
	res      *compiler.Result
	files    memfs.FS // the artifacts
	actions  map[ir.SubjectRef][]policy.Action
	original map[string]entry
	only     string // the target that is compiled; "" for all
	change   change // of the deciders; nil for none
}

type entry struct {
	verify.Keyed
	said []any // by the action: verdicts, and the source's decision
}

// newLedger reads the artifacts of a project that one target has, or all. Of each subject it tries so many actions, and no fewer than
// one of each class.
func newLedger(t *testing.T, res *compiler.Result, files memfs.FS, only string, most int, change change) *ledger {
	t.Helper()
	l := &ledger{res: res, files: files, only: only, change: change,
		actions: map[ir.SubjectRef][]policy.Action{}, original: map[string]entry{}}
	for _, k := range verify.Keys(l.request(files, res.Policy), change) {
		if !k.OK {
			t.Errorf("%s on %s has no key", k.Ref, k.Surface)
		}
		if l.actions[k.Ref] == nil {
			list, err := verify.Universe(res.Policy, k.Ref, foreignPatterns, 100)
			if err != nil {
				t.Fatal(err)
			}
			classes := map[string]bool{}
			for i, w := range list {
				class := string(w.Group) + w.Class
				if i%(len(list)/most+1) == 0 || !classes[class] {
					classes[class] = true
					l.actions[k.Ref] = append(l.actions[k.Ref], w.Action)
				}
			}
		}
		l.original[k.Ref.String()+" on "+k.Surface] = entry{k, l.said(&k, res.Policy)}
	}
	return l
}

func (l *ledger) request(files memfs.FS, e *policy.Engine) verify.Request {
	req := verify.Request{Policy: e, Seed: 1}
	for _, t := range judgedTargets(l.res) {
		if l.only != "" && t.Target.Name() != l.only {
			continue
		}
		t.Files, t.Compiled = files, l.files
		t.Input.Policy, t.Input.Project = e, e.Project()
		req.Targets = append(req.Targets, t)
	}
	return req
}

// said returns all that a job asks about its actions, with places as they are kept.
func (l *ledger) said(k *verify.Keyed, e *policy.Engine) (said []any) {
	var people []map[string][]string
	for i := range l.res.Project.Roles {
		people = append(people, l.res.Project.Roles[i].Claims)
	}
	subject, err := e.Subject(k.Ref)
	if err != nil {
		return []any{err.Error()}
	}
	for _, a := range l.actions[k.Ref] {
		r := subject.Decide(a)
		r.Pos = k.Place(r.Pos)
		said = append(said, r)
		for _, d := range []contract.Decider{k.Decider, k.Alone} {
			if d == nil {
				continue
			}
			said = append(said, placed(k, d.Decide(k.Ref, a)))
			if p, ok := d.(contract.PersonDecider); ok && a.Group == ir.MCP && k.Ref.Mode == "" {
				for _, person := range people {
					r, _, err := e.Person(person, a)
					r.Pos = k.Place(r.Pos)
					said = append(said, placed(k, p.DecidePerson(person, a)), r, err)
				}
			}
		}
	}
	if p, ok := k.Decider.(contract.Patterned); ok {
		said = append(said, p.Patterns(k.Ref))
	}
	return said
}

func placed(k *verify.Keyed, v contract.Verdict) contract.Verdict {
	v.At = k.Place(v.At)
	if v.Bare != nil {
		bare := *v.Bare
		bare.At = k.Place(bare.At)
		v.Bare = &bare
	}
	return v
}

// same returns the jobs that have the keys of the original and decide otherwise, and how many
// have another key.
func (l *ledger) same(files memfs.FS, e *policy.Engine) (wrong []string, changed int) {
	for _, k := range verify.Keys(l.request(files, e), l.change) {
		name := k.Ref.String() + " on " + k.Surface
		was, ok := l.original[name]
		switch {
		case !ok || !k.OK || k.Sum != was.Sum:
			changed++
		default:
			said := l.said(&k, e)
			for i := range said {
				if !reflect.DeepEqual(said[i], was.said[i]) {
					wrong = append(wrong, fmt.Sprintf("%s: got %+v, had %+v", name, said[i], was.said[i]))
					break
				}
			}
		}
	}
	return wrong, changed
}

// Whatever changes in an artifact: a subject about which something is decided otherwise has
// another key.
func TestKeysOfArtifacts(t *testing.T) {
	t.Parallel()
	most, each := 100, 1
	if testing.Short() {
		most, each = 20, 4*inShort
	}
	for _, name := range []string{"promise", "mcp-restrictions", "gateway"} {
		res := compile(t, name)
		for _, j := range judgedTargets(res) {
			l := newLedger(t, res, res.FS(), j.Target.Name(), most, nil)
			l.mutated(t, each, func(file string) bool { return reads(j.Target, file) })
			if reads(j.Target, contract.PolicyFile) {
				l = newLedger(t, res, trusting(res.FS()), j.Target.Name(), most, nil)
				l.mutated(t, each, func(file string) bool { return file == contract.PolicyFile })
			}
		}
	}
}

// mutated compares the keys, and what is decided, of artifacts with one change each.
func (l *ledger) mutated(t *testing.T, each int, of func(file string) bool) {
	t.Helper()
	seen, tried, changes := map[string]int{}, 0, 0
	for _, file := range slices.Sorted(maps.Keys(l.files)) {
		if !of(file) {
			continue
		}
		for _, m := range mutants(t, file, l.files[file]) {
			op := kind(m.file) + m.op
			if seen[op]++; (seen[op]-1)%each != 0 {
				continue
			}
			tried++
			files := maps.Clone(l.files)
			files[m.file] = m.data
			wrong, changed := l.same(files, l.res.Policy)
			if len(wrong) > 0 {
				t.Errorf("%s: %d keys stay and decide otherwise, one of them %s", m, len(wrong), wrong[0])
			}
			if changed > 0 {
				changes++
			}
		}
	}
	t.Logf("%s: %d mutants, %d of which change a key", l.only, tried, changes)
}

// trusting returns artifacts whose hooks take any policy.
func trusting(files memfs.FS) memfs.FS {
	out := memfs.FS{}
	for name, data := range files {
		out[name] = hookDigest.ReplaceAll(data, nil)
	}
	return out
}

var hookDigest = regexp.MustCompile(` --digest [0-9a-f]+`)

// Whatever changes in the source does so too.
func TestKeysOfSources(t *testing.T) {
	t.Parallel()
	most, each := 100, 1
	if testing.Short() {
		most, each = 20, 4*inShort
	}
	for _, name := range []string{"promise", "mcp-restrictions", "gateway"} {
		res := compile(t, name)
		l := newLedger(t, res, res.FS(), "", most, nil)
		data, err := res.Project.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		seen, tried := map[string]int{}, 0
		for _, m := range mutants(t, contract.ModelFile, data) {
			p, err := ir.Unmarshal(bytes.NewReader(m.data))
			if seen[m.op]++; err != nil || (seen[m.op]-1)%each != 0 {
				continue
			}
			tried++
			if wrong, _ := l.same(res.FS(), policy.New(p)); len(wrong) > 0 {
				t.Errorf("%s: %d keys stay and decide otherwise, one of them %s", m, len(wrong), wrong[0])
			}
		}
		t.Logf("%s: %d mutants", name, tried)
	}
}

// change replaces a decider of a target.
type change func(target string, d contract.Decider) contract.Decider

// forgetful has one key for all that it decides.
type forgetful struct{ contract.Decider }

func (forgetful) Key(ir.SubjectRef) (key digest.Key, ok bool) { return key, true }

// forgetfulOfPeople does so for principals.
type forgetfulOfPeople struct{ contract.PersonDecider }

func (forgetfulOfPeople) Key(ir.SubjectRef) (key digest.Key, ok bool) { return key, true }

// What a decider leaves out of its keys is noticed.
func TestForgottenKeys(t *testing.T) {
	t.Parallel()
	res := compile(t, "promise")
	for _, j := range judgedTargets(res) {
		name := j.Target.Name()
		l := newLedger(t, res, res.FS(), name, 120, func(target string, d contract.Decider) contract.Decider {
			p, ok := d.(contract.PersonDecider)
			switch {
			case target != name:
				return d
			case ok:
				return forgetfulOfPeople{p}
			}
			return forgetful{d}
		})
		seen, noticed := map[string]int{}, 0
		for _, f := range res.Files() {
			if !reads(j.Target, f.Path) {
				continue
			}
			for _, m := range mutants(t, f.Path, f.Data) {
				if seen[m.op]++; seen[m.op] > 2 || noticed > 0 {
					continue
				}
				files := maps.Clone(res.FS())
				files[m.file] = m.data
				if wrong, _ := l.same(files, res.Policy); len(wrong) > 0 {
					noticed++
				}
			}
		}
		if noticed == 0 {
			t.Errorf("%s: nothing that is left out of its keys is noticed", name)
		}
	}
}

// Each of what a job depends on beside rules and artifacts changes its key.
func TestKeysOfTheRest(t *testing.T) {
	t.Parallel()
	res := compile(t, "promise")
	keys := func(change func(*verify.Request)) map[string]digest.Sum {
		req := request(res, nil)
		change(&req)
		out := map[string]digest.Sum{}
		for _, k := range verify.Keys(req, nil) {
			out[k.Ref.String()+" on "+k.Surface] = k.Sum
		}
		return out
	}
	was := keys(func(*verify.Request) {})
	input := func(change func(*contract.Input)) func(*verify.Request) {
		return func(req *verify.Request) {
			for i := range req.Targets {
				change(&req.Targets[i].Input)
			}
		}
	}
	exception := contract.Exception{Subject: ir.SubjectRef{Mode: "writer"}, Group: ir.Edit, Reason: "r"}
	for name, change := range map[string]func(*verify.Request){
		"the seed":      func(req *verify.Request) { req.Seed++ },
		"what is built": func(req *verify.Request) { req.Targets[0].Compiled, req.Targets[1].Compiled = res.FS(), res.FS() },
		"an exception": input(func(in *contract.Input) {
			in.Exceptions = append(slices.Clone(in.Exceptions), exception)
		}),
		"the end of an exception": input(func(in *contract.Input) {
			in.Exceptions = append(slices.Clone(in.Exceptions), exception)
			in.Exceptions[len(in.Exceptions)-1].Until = time.Unix(0, 0)
		}),
		"an option": input(func(in *contract.Input) {
			in.Options = contract.NewOptions(nil, map[string]any{"x": "y"}, map[string]diag.Pos{})
		}),
	} {
		changed := 0
		for job, sum := range keys(change) {
			if sum != was[job] {
				changed++
			}
		}
		if changed == 0 || name != "what is built" && changed < len(was) {
			t.Errorf("%s: %d of %d keys change", name, changed, len(was))
		}
	}
}

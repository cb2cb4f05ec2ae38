package verify_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
)

// fate is what became of a mutant.
type fate string

const (
	killed     fate = "killed"     // verify tells that it is wider, or that it cannot be read
	celled     fate = "by cells"   // so it does, and only by the cells: no sample did
	equivalent fate = "equivalent" // decides as the artifact did
	narrower   fate = "narrower"   // permits less somewhere and more nowhere
	within     fate = "within"     // permits more than the artifact did, nowhere more than the source
	missed     fate = "missed"     // wider, and verify did not tell
)

// inShort is which share of the mutants a short run looks at: the first of each operation
// on each kind of file, and then one of this many.
const inShort = 16

// Every change of an artifact that widens is caught. What survives is looked at
// with other witnesses: it must be equivalent, narrower, or within the source.
func TestMutants(t *testing.T) {
	counts := map[string]map[fate]int{}
	for _, name := range []string{"promise", "mcp-restrictions"} {
		res := compile(t, name)
		baseline := newCourt(t, res)
		jobs := make(chan mutant)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for m := range jobs {
					f := baseline.judge(t, m)
					key := fmt.Sprintf("%s %s, %s", name, kind(m.file), m.op)
					mu.Lock()
					if counts[key] == nil {
						counts[key] = map[fate]int{}
					}
					counts[key][f]++
					mu.Unlock()
					if f == missed {
						t.Errorf("verify misses %s", m)
					}
				}
			})
		}
		seen := map[string]int{}
		for _, f := range slices.Concat(res.Files(), res.Sessions()[1:]) { // the policy is one of the first
			for _, m := range mutants(t, f.Path, f.Data) {
				key := kind(m.file) + m.op
				if seen[key]%inShort == 0 || !testing.Short() {
					jobs <- m
				}
				seen[key]++
			}
		}
		close(jobs)
		wg.Wait()
	}
	if testing.Short() {
		return // the table is of all mutants
	}
	var b strings.Builder
	total := map[fate]int{}
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s:", key)
		for _, f := range []fate{killed, celled, equivalent, narrower, within} {
			if n := counts[key][f]; n > 0 {
				fmt.Fprintf(&b, " %d %s", n, f)
				total[f] += n
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "total: %d killed, %d by cells alone, %d equivalent, %d narrower, %d within the source\n",
		total[killed], total[celled], total[equivalent], total[narrower], total[within])
	golden(t, "testdata/mutants.txt", b.String())
}

// kind names an artifact without its subject.
func kind(file string) string {
	if target, name, ok := sessionOf(file); ok {
		return "session " + target + name[strings.IndexAny(name, "./"):]
	}
	if strings.HasPrefix(file, ".claude/agents/") {
		return "subagent"
	}
	return file
}

// sessionOf returns the target of a file that sessions are started with, and its name, which begins with the role's.
func sessionOf(file string) (target, name string, ok bool) {
	file, ok = strings.CutPrefix(file, "session:")
	target, name, _ = strings.Cut(file, "/")
	return target, name, ok
}

// place is where the original decides about a subject.
type place struct {
	ref             ir.SubjectRef
	target, surface string
}

// court decides what a mutant permits: the deciders of the artifacts as they
// are, and witnesses that verify does not use.
type court struct {
	res      *compiler.Result
	files    memfs.FS
	original map[string][]contract.Decider
	dense    map[ir.SubjectRef][]verify.Witness
	before   map[place][]contract.Verdict // of the original, in the order of dense
	people   []map[string][]string
	whole    verify.Universes
	sampled  verify.Universes // without cells
	part     verify.Universes // what catches most, first
}

func newCourt(t *testing.T, res *compiler.Result) *court {
	c := &court{
		res: res, files: memfs.FS{}, original: map[string][]contract.Decider{},
		dense: map[ir.SubjectRef][]verify.Witness{}, before: map[place][]contract.Verdict{},
	}
	for _, f := range slices.Concat(res.Files(), res.Sessions()) {
		c.files[f.Path] = f.Data
	}
	for _, j := range judgedTargets(res) {
		c.original[j.Target.Name()], _ = j.Target.Open(c.files, j.Input.Options)
	}
	for i := range res.Project.Roles {
		c.people = append(c.people, res.Project.Roles[i].Claims)
	}
	// A role in a mode is looked at in both of its parts.
	for _, ref := range res.Project.Subjects() {
		known, err := verify.Universe(res.Policy, ref, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[policy.Action]bool{}
		var part []verify.Witness
		for i, w := range known {
			seen[w.Action] = true
			if !w.Assumed && (slices.Contains(telling, w.Class) || w.Class == "daily" && i%4 == 0) {
				part = append(part, w)
				if w.Class != "crossing" && i%2 == 0 {
					c.dense[ref] = append(c.dense[ref], w)
				}
			}
		}
		c.part.Put(ref, part)
		c.sampled.Put(ref, known)
		for seed := range uint64(2) {
			list, err := verify.Universe(res.Policy, ref, foreignPatterns, 100+seed)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range list {
				if !w.Assumed && !seen[w.Action] {
					seen[w.Action] = true
					c.dense[ref] = append(c.dense[ref], w)
				}
			}
		}
		for target, list := range c.original {
			for _, d := range list {
				at := place{ref, target, d.Surface()}
				for _, w := range c.dense[ref] {
					c.before[at] = append(c.before[at], d.Decide(ref, w.Action))
				}
			}
		}
	}
	return c
}

// telling are the classes of witnesses that a mutant is shown first.
var telling = []string{"match", "match of an artifact", "near: longer", "near: subdomain", "args", "below", "path: parent", "case: upper", "crossing",
	"tool", "resource", "mode", "unknown mode", "unknown tool"}

// foreignPatterns are patterns of no rule, so that the witnesses differ from
// those of verify.
var foreignPatterns = map[ir.Group][]ir.Pattern{
	ir.Read:    {{Text: "secrets/**/x"}, {Text: "docs/legal/*.md"}, {Text: "src/ci/*"}, {Text: "src/gen/*"}},
	ir.Edit:    {{Text: "secrets/**/x"}, {Text: "docs/legal/*.md"}, {Text: "src/ci/*"}, {Text: "src/gen/*"}, {Text: "go.lock"}},
	ir.Command: {{Text: "go *"}, {Text: "git *"}, {Text: "make *"}, {Text: "go test ./... *"}},
	ir.Web:     {{Text: "*.docs.example.com"}, {Text: "a.evil.example"}},
}

func judgedTargets(res *compiler.Result) []verify.Target {
	var out []verify.Target
	for _, o := range res.Outputs {
		if j, ok := o.Target.(contract.Judged); ok {
			out = append(out, verify.Target{Target: j, Input: res.Input(o.Target)})
		}
	}
	return out
}

func (c *court) judge(t *testing.T, m mutant) fate {
	files := maps.Clone(c.files)
	files[m.file] = m.data
	out := equivalent
	refs := c.affected(m)
	for _, j := range judgedTargets(c.res) {
		if !reads(j.Target, m.file) {
			continue
		}
		j.Files, j.Compiled = files, c.files
		kills := func(universes *verify.Universes) bool {
			report, err := verify.Run(t.Context(), verify.Request{
				Policy:     c.res.Policy,
				Targets:    []verify.Target{j},
				Seed:       1,
				Universes:  universes,
				Subjects:   refs,
				UntilWider: true,
			})
			if err != nil {
				t.Error(err)
				return false
			}
			return report.Wider() > 0 || report.Diagnostics.HasErrors()
		}
		if kills(&c.part) {
			return killed
		}
		f := c.compare(j, files, refs)
		switch {
		case f == missed && kills(&c.sampled):
			return killed
		case kills(&c.whole): // what no sample shows may still be wider
			return celled
		}
		out = worse(out, f)
	}
	return out
}

// affected returns the subjects that a mutant may concern: those of its file, or
// of the part of the policy that it changes.
func (c *court) affected(m mutant) []ir.SubjectRef {
	p := c.res.Project
	concerns := func(ir.SubjectRef) bool { return true }
	base := path.Base(m.file)
	switch i := 0; {
	case contract.IsSession(m.file):
		_, role, _ := sessionOf(m.file)
		role = role[:strings.IndexAny(role, "./")]
		concerns = func(ref ir.SubjectRef) bool { return ref.Role == role }
	case strings.HasPrefix(m.file, ".claude/agents/"):
		concerns = func(ref ir.SubjectRef) bool { return ref.Mode == strings.TrimSuffix(base, ".md") }
	case scan(m.site, ".modes[%d]", &i):
		concerns = func(ref ir.SubjectRef) bool { return ref.Mode == p.Modes[i].Slug }
	case scan(m.site, ".roles[%d]", &i):
		concerns = func(ref ir.SubjectRef) bool { return ref.Role == p.Roles[i].Name }
	}
	var refs []ir.SubjectRef
	for ref := range c.dense {
		if concerns(ref) {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b ir.SubjectRef) int { return cmp.Compare(a.String(), b.String()) })
	return refs
}

func scan(site, format string, i *int) bool {
	n, err := fmt.Sscanf(site, format, i)
	return n == 1 && err == nil
}

// reads reports whether a target's agent reads a file.
func reads(t contract.Judged, file string) bool {
	if target, _, ok := sessionOf(file); ok && target != t.Name() {
		return false
	}
	return t.Governs(file, ir.MCP) != contract.Neither || t.Governs(file, ir.Edit) != contract.Neither
}

func worse(a, b fate) fate {
	order := []fate{equivalent, narrower, within, missed}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// compare looks at a survivor with the court's own witnesses.
func (c *court) compare(j verify.Target, files memfs.FS, refs []ir.SubjectRef) fate {
	mutated, _ := j.Target.Open(files, j.Input.Options)
	original := c.original[j.Target.Name()]
	bySurface := func(list []contract.Decider, name string) contract.Decider {
		if i := slices.IndexFunc(list, func(d contract.Decider) bool { return d.Surface() == name }); i >= 0 {
			return list[i]
		}
		return nil
	}
	out := equivalent
	for _, was := range original {
		is := bySurface(mutated, was.Surface())
		if is == nil { // the agent reads nothing of it: what then holds is not known
			return missed
		}
		for _, ref := range refs {
			list := c.dense[ref]
			text, err := c.res.Policy.OnText().Subject(ref)
			if err != nil {
				return missed
			}
			for i := range list {
				w := &list[i]
				if p, ok := is.(contract.PersonDecider); ok {
					for _, person := range c.people {
						source, _, err := c.res.Policy.Person(person, w.Action)
						if err != nil {
							return missed
						}
						x := verify.Witness{Action: w.Action, Source: source}
						out = worse(out, versus(&x, was.(contract.PersonDecider).DecidePerson(person, w.Action), p.DecidePerson(person, w.Action), j, ref))
					}
					continue
				}
				before, now := c.before[place{ref, j.Target.Name(), was.Surface()}][i], is.Decide(ref, w.Action)
				if _, asks := j.Target.(contract.Hooker); !asks { // files alone hold what is usual
					switch usual := policy.Usual(w.Action); {
					case usual:
						w = &verify.Witness{Action: w.Action, Source: text.Decide(w.Action)}
					case now.Decision <= before.Decision:
						continue
					}
				}
				out = worse(out, versus(w, before, now, j, ref))
			}
		}
	}
	return out
}

// versus compares two verdicts on a witness, with the hook and without.
func versus(w *verify.Witness, was, is contract.Verdict, j verify.Target, ref ir.SubjectRef) fate {
	out := equivalent
	for _, pair := range [][2]*contract.Answer{{&was.Answer, &is.Answer}, {was.Bare, is.Bare}} {
		a, b := pair[0], pair[1]
		if a == nil && b == nil {
			continue
		}
		none := contract.Answer{Decision: ir.Allow}
		a, b = cmp.Or(a, &none), cmp.Or(b, &none)
		bare := pair[0] == was.Bare
		if !bare && b.Governs&contract.Access != 0 && b.Decision > ir.Deny && w.Source.Decision == ir.Deny ||
			b.Governs&contract.Approval != 0 && b.Decision == ir.Allow && w.Source.Decision < ir.Allow {
			if !excepted(w.Action, j, ref) {
				return missed
			}
		}
		switch {
		case b.Governs != a.Governs && a.Governs&^b.Governs != 0:
			out = worse(out, within) // holds less; what the source says is still held
		case b.Decision > a.Decision:
			out = worse(out, within)
		case b.Decision < a.Decision:
			out = worse(out, narrower)
		}
	}
	return out
}

func excepted(a policy.Action, j verify.Target, ref ir.SubjectRef) bool {
	return slices.ContainsFunc(j.Input.Exceptions, func(x contract.Exception) bool { return x.Group == a.Group && x.Subject == ref })
}

// golden compares text with a file, and rewrites it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got); `go test ./compiler/verify -update` rewrites it:\n%s", file, d)
	}
}

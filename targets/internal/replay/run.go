package replay

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/policy"
)

// Case is a target with today's state of what its record was made of.
type Case struct {
	Folder    string            // of the agent's tests, with testdata/record.json
	Packages  []string          // the npm packages that are the agent
	Artifacts map[string][]byte // by path; those of the home folder begin with HOME/
	Actions   any               // of testdata/decide.json, without the verdicts
	Want      []Expected
	Hooker    contract.Hooker // nil for an agent without hooks
	Policy    *policy.Engine  // by which it decides
}

// Run holds the target against its record, and shows that each comparison can fail.
func Run(t *testing.T, c Case) {
	// The payloads hold the POSIX paths that the agents sent, and today's hook reads paths as
	// its own system does: on Windows it cannot give the recorded answers.
	if c.Hooker != nil && runtime.GOOS == "windows" {
		t.Skip("the recorded sessions ran where a path begins with a slash")
	}
	r, err := Read(filepath.Join(c.Folder, "testdata", "record.json"))
	if err != nil {
		t.Fatalf("%v: run make agents", err)
	}
	if !t.Run("key", func(t *testing.T) { c.key(t, r) }) {
		return // what follows compares what cannot be the same
	}
	t.Run("hook", func(t *testing.T) { c.hook(t, r) })
	t.Run("model", func(t *testing.T) { c.model(t, r) })
}

func (c Case) key(t *testing.T, r *Record) {
	today := Key{Agent: c.agent(t), Artifacts: map[string]string{}}
	for p, data := range c.Artifacts {
		today.Artifacts[p] = digest(data)
	}
	var err error
	if today.Actions, err = Digest(c.Actions); err != nil {
		t.Fatal(err)
	}
	if s := c.scenario(t); s != nil {
		if today.Scenario, err = Digest(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, changed := range r.Key.stale(today) {
		t.Errorf("%s: run make agents", changed)
	}

	for p := range today.Artifacts {
		other := today
		other.Artifacts = maps.Clone(today.Artifacts)
		delete(other.Artifacts, p)
		if n := len(today.stale(other)); n != 1 {
			t.Errorf("got %d changes without the artifact %s, want 1", n, p)
		}
	}
	other := Key{Agent: "another", Actions: "other", Scenario: "other", Artifacts: today.Artifacts}
	if n := len(today.stale(other)); n != 3 {
		t.Errorf("got %d changes with another agent, other actions and another scenario, want 3", n)
	}
}

// Hooks returns by what hooks decide: a compiled source.
func Hooks(t *testing.T, compiled []byte) *policy.Engine {
	e, err := policy.Read(compiled)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (c Case) hook(t *testing.T, r *Record) {
	if c.Hooker == nil {
		if len(r.Payloads) > 0 {
			t.Error("an agent without hooks sent payloads")
		}
		return
	}
	h := hook{c.Hooker, c.project(t), c.Policy.For(c.Hooker.Name())}
	differ := func() []string {
		list, err := r.differ(h)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	asked := 0
	for _, s := range r.Sessions {
		asked += len(s.Hooks)
	}
	if asked < 100 {
		t.Errorf("the agent asked the hook %d times only", asked)
	}
	if list := differ(); len(list) > 0 {
		t.Fatalf("%d answers of the hook differ: where that is meant, run make agents. The first:\n%s",
			len(list), list[0])
	}
	for id, a := range maps.Clone(r.Answers) {
		r.Answers[id] = Answer{Exit: a.Exit, Stdout: a.Stdout + " ", Stderr: a.Stderr}
		if len(differ()) == 0 {
			t.Errorf("nobody notices another answer than %s", id)
		}
		r.Answers[id] = a
		break
	}
}

func (c Case) model(t *testing.T, r *Record) {
	for _, d := range r.disagree(c.Want) {
		t.Error(d)
	}
	if t.Failed() {
		return
	}
	for i := range r.Sessions {
		s := &r.Sessions[i]
		was := s.Became
		s.Became = slices.Clone(was)
		s.Became[len(was)-1] += " not"
		if n := len(r.disagree(c.Want)); n != 1 {
			t.Errorf("%s: got %d disagreements about another outcome, want 1", s.Name, n)
		}
		s.Became = was
	}
}

// project lays out what the sessions found.
func (c Case) project(t *testing.T) string {
	parent, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(parent, "above", "parent", "project")
	files := maps.Clone(c.Artifacts)
	maps.DeleteFunc(files, func(p string, _ []byte) bool { return strings.HasPrefix(p, "HOME/") })
	if s := c.scenario(t); s != nil {
		for p, text := range s["files"].(map[string]any) {
			files[p] = []byte(text.(string))
		}
	}
	for p, data := range files {
		name := filepath.Join(root, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// scenario returns what a session finds beside the artifacts, nil where that is nothing.
func (c Case) scenario(t *testing.T) map[string]any {
	data, err := os.ReadFile(filepath.Join(c.Folder, "testdata", "scenario.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var s map[string]any
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// agent names the packages with the versions that are pinned.
func (c Case) agent(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join(c.Folder, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Dependencies map[string]string }
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range c.Packages {
		names = append(names, name+" "+manifest.Dependencies[name])
	}
	return strings.Join(names, ", ")
}

package asked_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/internal/asked"
	"modec.dev/modec/targets/internal/replay"
)

// question is what a source says, and calls; an agent's form of it may have more calls.
type question struct {
	Name, Group, Form string
	Can, Config       json.RawMessage
	Mode              bool
	Calls             []any
}

// pairs returns calls as groups and arguments, which is how forms.mjs counts them into the digest.
func pairs(group string, calls []any) [][]any {
	out := make([][]any, len(calls))
	for i, c := range calls {
		if pair, ok := c.([]any); ok {
			out[i] = pair
		} else {
			out[i] = []any{group, c}
		}
	}
	return out
}

// answers are what an agent did with the calls of a form.
type answers struct {
	Name, Form                string
	Allow, Ask, Deny, Unknown []string
}

// of returns the answer about a call, which fails where there is none, or more than one. An unknown one is ir.Agent.
func (a answers) of(call string) (d ir.Decision, ok bool) {
	for said, list := range map[ir.Decision][]string{ir.Allow: a.Allow, ir.Ask: a.Ask, ir.Deny: a.Deny,
		ir.Agent: a.Unknown} {
		if slices.Contains(list, call) {
			if ok {
				return d, false
			}
			d, ok = said, true
		}
	}
	return d, ok
}

// exception is where a model of an agent says something else than the agent did with some calls, and why.
type exception struct {
	Name, Form, Model, Why string
	Calls                  []string
}

type record struct {
	Agent, How, Cases string
	Answers           []answers
	Exceptions        []exception
	excepted          int // calls
}

func read(t *testing.T, file string, to any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestForms holds each agent's table of plain forms against its cases and its pins: a table that is of other ones fails.
// With -v it prints where an agent permits more or less than what the source says.
func TestForms(t *testing.T) {
	var questions []question
	read(t, "forms.json", &questions)
	source := source(t, questions)
	files, err := filepath.Glob("../../*/e2e/testdata/forms.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no agent has forms")
	}
	for _, file := range files {
		agent := path.Base(path.Dir(path.Dir(path.Dir(filepath.ToSlash(file)))))
		t.Run(agent, func(t *testing.T) {
			var cases []question
			var r record
			read(t, file, &cases)
			read(t, strings.TrimSuffix(file, ".json")+"-record.json", &r)
			pinned(t, filepath.Join(filepath.Dir(file), "..", "package.json"), r.Agent)
			if !slices.Contains([]string{"program", "engine", "source"}, r.How) {
				t.Errorf("the table does not say how it was made: %q", r.How)
			}
			var key []any
			n := 0
			for i := range cases {
				c := &cases[i]
				at := slices.IndexFunc(questions, func(q question) bool { return q.Name == c.Name })
				if at < 0 || i >= len(r.Answers) || r.Answers[i].Name != c.Name || r.Answers[i].Form != c.Form {
					t.Fatalf("%s is not in the questions or not in the table: run make agents", c.Name)
				}
				q := questions[at]
				c.Group, c.Mode = q.Group, q.Mode
				calls := pairs(q.Group, slices.Concat(q.Calls, c.Calls))
				key = append(key, map[string]any{"name": c.Name, "form": c.Form, "config": c.Config, "calls": calls})
				n += r.compare(t, agent, *c, calls, r.Answers[i], source[at])
			}
			if sum, err := replay.Digest(key); err != nil || sum != r.Cases || len(r.Answers) != len(cases) {
				t.Errorf("the cases changed (%v): run make agents", err)
			}
			for _, e := range r.Exceptions {
				r.excepted -= len(e.Calls)
			}
			if r.excepted != 0 {
				t.Errorf("an exception is about a call that nobody compares")
			}
			if n < 60 {
				t.Errorf("the agent was asked about %d calls only", n)
			}
		})
	}
}

// pinned checks that a table is of the versions that are installed.
func pinned(t *testing.T, manifest, agent string) {
	var m struct{ Dependencies map[string]string }
	if data, err := os.ReadFile(manifest); errors.Is(err, fs.ErrNotExist) {
		return
	} else if err = errors.Join(err, json.Unmarshal(data, &m)); err != nil {
		t.Fatal(err)
	}
	for _, of := range strings.Split(agent, ", ") {
		if name, version, _ := strings.Cut(of, " "); m.Dependencies[name] != version {
			t.Errorf("the table is of %s, and installed is %s: run make agents", of, m.Dependencies[name])
		}
	}
}

// source returns what the source says about the calls of each question.
func source(t *testing.T, questions []question) (subjects []*policy.Subject) {
	roles, modes := map[string]any{}, map[string]any{}
	mode := func(slug string, can any) {
		modes[slug] = map[string]any{"name": slug, "roleDefinition": slug, "can": can}
	}
	var refs []ir.SubjectRef
	for i, q := range questions {
		name := fmt.Sprintf("q%d", i)
		if q.Mode {
			mode(name, q.Can)
			refs = append(refs, ir.SubjectRef{Mode: name})
		} else {
			roles[name] = map[string]any{"can": q.Can}
			refs = append(refs, ir.SubjectRef{Role: name})
		}
	}
	for _, slug := range []string{"scout", "scouts", "builder"} {
		mode(slug, map[string]any{})
	}
	server := map[string]string{"command": "x"}
	servers := map[string]any{"github": server, "github_x": server, "git": server}
	data, err := json.Marshal(map[string]any{"roles": roles, "modes": modes, "servers": servers})
	if err != nil {
		t.Fatal(err)
	}
	res, diags := compiler.Open(t.Context(), compiler.Request{SourceAlone: true, Targets: targets.All(),
		FS: memfs.FS{"modec.toml": nil, "modec/forms.json": data}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, ref := range refs {
		s, err := res.Policy.Subject(ref)
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, s)
	}
	return subjects
}

// project is where a case of an agent is, by the model of it that reads files there: none is asked about a case without
// files.
var project = map[string]func(c question) memfs.FS{
	"opencode": func(c question) memfs.FS { return memfs.FS{"opencode.json": c.Config} },
	"kilo":     func(c question) memfs.FS { return memfs.FS{"kilo.json": c.Config} },
	"claude": func(c question) memfs.FS {
		files := c.files()
		fsys := memfs.FS{".claude/settings.json": files["settings.json"]}
		if c.Mode {
			fsys[".claude/agents/docs-writer.md"] = c.lines("docs-writer.md")
		}
		return fsys
	},
	"vscode": func(c question) memfs.FS {
		return memfs.FS{".vscode/settings.json": c.Config, ".vscode/mcp.json": []byte("{}")}
	},
	"roo": func(c question) memfs.FS {
		files := c.files()
		if files[".roomodes"] == nil {
			return nil // Zoo's
		}
		fsys := memfs.FS{".roomodes": files[".roomodes"]}
		if list := files[".roo/mcp.json"]; list != nil {
			fsys[".roo/mcp.json"] = list
		}
		if files[".rooignore"] != nil {
			fsys[".rooignore"] = c.lines(".rooignore")
		}
		return fsys
	},
	// Rules and profiles are not what modec writes, and its model does not know them.
	"codex": func(c question) memfs.FS {
		config := c.lines("config.toml")
		if c.Mode || bytes.Contains(c.Config, []byte("default.rules")) || bytes.Contains(config, []byte("default_permissions")) {
			return nil
		}
		return memfs.FS{"session:codex/session.config.toml": bytes.ReplaceAll(config, []byte("$URL"), []byte("http://x"))}
	},
	"cursor": func(c question) memfs.FS {
		return memfs.FS{".cursor/cli.json": c.files()["cli.json"]}
	},
	"gemini": func(c question) memfs.FS {
		if c.Mode {
			return nil
		}
		return memfs.FS{"session:gemini/session.toml": c.lines("policy.toml")}
	},
}

// files returns the files of a case that has several.
func (c question) files() (files map[string]json.RawMessage) {
	if err := json.Unmarshal(c.Config, &files); err != nil {
		panic(err)
	}
	return files
}

// lines returns a file that is a list of lines in a case.
func (c question) lines(name string) []byte {
	var lines []string
	if err := json.Unmarshal(c.files()[name], &lines); err != nil {
		panic(err)
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// compare compares what an agent did with what its model says, and prints where it differs from the source. It returns how
// many answers there are.
func (r *record) compare(t *testing.T, agent string, c question, calls [][]any, said answers, source *policy.Subject) (n int) {
	var model contract.Decider
	ref := ir.SubjectRef{Role: "session"}
	if c.Mode || agent == "roo" {
		ref = ir.SubjectRef{Mode: "docs-writer"}
	}
	var files memfs.FS
	if of := project[agent]; of != nil {
		files = of(c)
	}
	if files != nil {
		target := replay.Target(t, targets.All(), agent)
		o := contract.NewOptions(target.Options(), nil, nil).WithBaseline("developer").
			WithModes([]ir.Mode{{Slug: "docs-writer"}})
		if agent != "gemini" {
			o = o.WithBaseline(ref.Role)
		}
		if agent == "cursor" {
			deciders, _ := target.Open(files, o)
			model = contract.OnSurface(deciders, "cli")
		} else {
			model = replay.Decider(t, target, files, o)
		}
	}
	var wider, narrower []string
	for _, pair := range calls {
		group, arg := pair[0].(string), pair[1].(string)
		call := group + " " + arg
		got, ok := said.of(call)
		if !ok {
			t.Errorf("%s, %s: %s is not in the table once", c.Name, c.Form, call)
		}
		if got == ir.Agent {
			continue
		}
		n++
		a, err := policy.ParseAction(group, strings.TrimPrefix(arg, "$ROOT/"))
		if err != nil {
			t.Fatal(err)
		}
		switch want := source.Decide(a).Decision; {
		case want == ir.Agent:
		case got > want:
			wider = append(wider, fmt.Sprintf("%s (%s)", arg, got))
		case got < want:
			narrower = append(narrower, fmt.Sprintf("%s (%s)", arg, got))
		}
		if model != nil && (group != "read" && group != "edit" || fs.ValidPath(arg) && arg[0] != '$') {
			r.agrees(t, c, call, got, does(model, ref, a))
		}
	}
	t.Logf("%s %s\n wider: %q\n narrower: %q", c.Name, c.Form, wider, narrower)
	return n
}

// does returns what a model says that its agent does: with what the agent approves whatever its files say, it has two
// answers, for the model judges several tools as one.
func does(d contract.Decider, ref ir.SubjectRef, a policy.Action) []ir.Decision {
	if d, ok := d.(asked.Does); ok {
		return []ir.Decision{d.Does(ref, a)}
	}
	v := d.Decide(ref, a)
	return []ir.Decision{v.Decision, v.Hole.Past(v.BareHole.Past(v.Decision))}
}

// agrees checks that a model says what an agent did, or that the table says why not.
func (r *record) agrees(t *testing.T, c question, call string, got ir.Decision, model []ir.Decision) {
	why := slices.IndexFunc(r.Exceptions, func(e exception) bool {
		return e.Name == c.Name && e.Form == c.Form && slices.Contains(e.Calls, call)
	})
	if why >= 0 {
		r.excepted++
	}
	switch {
	case why < 0 && !slices.Contains(model, got):
		t.Errorf("%s %s, %s: the agent says %s, the model %s", c.Name, c.Form, call, got, model[0])
	case why >= 0 && (slices.Contains(model, got) || r.Exceptions[why].Model != model[0].String() || r.Exceptions[why].Why == ""):
		t.Errorf("%s %s, %s: the exception is not true: the agent says %s, the model %s", c.Name, c.Form, call, got, model[0])
	}
}

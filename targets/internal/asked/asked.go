// Package asked writes what a program whose last matching rule decides is asked, and reads what it did: opencode, and
// what is made of it. Only tests import it.
package asked

import (
	"bytes"
	"fmt"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/internal/replay"
	"modec.dev/modec/targets/opencode/format"
)

// Program is what is asked.
type Program struct {
	Name, Package string
	// Files are those of a project that every session reads.
	Files []string
	// Here are the files that a session finds beside what all do.
	Here []string
	// Every is of how many actions a subject is asked about one, each about other ones.
	Every int
	// Readable, Paths and Lines are what it is asked about beside what all are.
	Readable, Paths, Lines []string
}

// Asked is e2e/testdata/decide.json: what a program is asked, by the project and the agent, and what its model says.
type Asked struct {
	*Program
	// Tools are those of the servers of each project.
	Tools    map[string]map[string][]string
	sessions []session

	artifacts map[string][]byte
}

type session struct {
	Project, File, Agent string
	Calls                []Call
	Verdicts             []ir.Decision
}

// New returns what a program is asked about no project yet.
func New(p *Program) *Asked {
	return &Asked{Program: p, Tools: map[string]map[string][]string{}, artifacts: map[string][]byte{}}
}

// Does is a model that says what a program does with a call, holes included.
type Does interface {
	contract.Container
	Does(ir.SubjectRef, policy.Action) ir.Decision
}

// Add adds the subjects of a project, and what the model of their target says.
func (a *Asked) Add(t *testing.T, name string, p *ir.Project, built []contract.Artifacts, target contract.Judged,
	o contract.Options) {
	t.Helper()
	prefixes := append([]string{contract.SessionPath(a.Name, "")}, a.Files...)
	for file, data := range replay.Artifacts(built, prefixes...) {
		a.artifacts[name+"/"+file] = data
	}
	a.Tools[name] = map[string][]string{}
	for i := range p.Servers {
		sv := &p.Servers[i]
		tools := []string{contract.UnknownTool}
		for _, tool := range sv.Tools {
			tools = append(tools, tool.Name)
		}
		a.Tools[name][sv.Name] = tools
	}
	// The files of sessions are asked about alone: what every session reads has the same agents.
	fsys := memfs.FS{}
	for file, data := range replay.Artifacts(built, contract.SessionPath(a.Name, "")) {
		fsys[file] = data
	}
	d, ok := replay.Decider(t, target, fsys, o).(Does)
	if !ok {
		t.Fatalf("the model of %s does not say what its program does", a.Name)
	}
	refs := p.Subjects()
	for i := range p.Roles {
		for j := range p.Modes {
			refs = append(refs, ir.SubjectRef{Role: p.Roles[i].Name, Mode: p.Modes[j].Slug})
		}
	}
	n := 0
	for _, ref := range refs {
		if !d.Contains(ref) {
			continue
		}
		of := ref
		if ref.Role != "" {
			of.Mode = ""
		}
		s := session{Project: name, File: format.SessionOf(a.Name, of), Agent: ref.Mode}
		if s.Agent == "" {
			s.Agent = ref.Role
		}
		for i, action := range a.about(p) {
			if every := a.Every; ref.Role != "" && ref.Mode != "" && i%(2*every) != n%(2*every) || i%every != n%every {
				continue
			}
			s.Calls = append(s.Calls, callOf(action))
			s.Verdicts = append(s.Verdicts, d.Does(ref, action))
		}
		a.sessions = append(a.sessions, s)
		n++
	}
}

// Replay writes with update what the program is asked, and holds the model against what it did (`make agents`).
func (a *Asked) Replay(t *testing.T, update bool) {
	t.Helper()
	data, n := a.text(t)
	if replay.Questions(t, update, a.Name, data, n, 300) {
		return
	}
	replay.Run(t, replay.Case{
		Folder:    "../e2e",
		Packages:  []string{a.Package},
		Artifacts: a.artifacts,
		Actions:   a.actions(),
		Want:      a.expected(t),
	})
}

// text returns the file, and how many calls it has.
func (a *Asked) text(t *testing.T) ([]byte, int) {
	t.Helper()
	var b bytes.Buffer
	line := func(v any) string { return replay.JSON(t, v) }
	files := append([]string{"README.md", "docs/a.md"}, a.Here...)
	fmt.Fprintf(&b, "{\"Tools\": %s,\n \"Files\": %s,\n \"Sessions\": [", line(a.Tools), line(files))
	n := 0
	for i, s := range a.sessions {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n {\"Project\": %q, \"File\": %q, \"Agent\": %q, \"Calls\": [", s.Project, s.File, s.Agent)
		for j, c := range s.Calls {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n  %s", line([]any{c.Tool, c.Input, s.Verdicts[j]}))
			n++
		}
		b.WriteString("]}")
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), n
}

// actions returns what is asked, as e2e/decide.test.mjs puts it into the key.
func (a *Asked) actions() any {
	var out []any
	for _, s := range a.sessions {
		out = append(out, map[string]any{"project": s.Project, "file": s.File, "agent": s.Agent, "calls": s.Calls})
	}
	return out
}

// expected returns what the model says.
func (a *Asked) expected(t *testing.T) (out []replay.Expected) {
	for _, s := range a.sessions {
		e := replay.Expected{Session: s.Project + " " + s.File + " " + s.Agent}
		for i, c := range s.Calls {
			e.Add(replay.JSON(t, c), s.Verdicts[i])
		}
		out = append(out, e)
	}
	return out
}

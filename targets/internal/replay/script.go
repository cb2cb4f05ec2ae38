package replay

import (
	"bytes"
	"fmt"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// Script is e2e/testdata/decide.json of an agent that is started as each subject: what it is asked in a session of
// each, with what the model says, and the tools of the servers.
type Script struct {
	servers  map[string][]string
	sessions []*ScriptSession
}

// ScriptSession is what an agent is asked as one subject.
type ScriptSession struct {
	subject string
	calls   [][2]any // a tool, and what it is called with
	said    []ir.Decision
}

// NewScript returns what an agent is asked about a project: nothing yet.
func NewScript(p *ir.Project) *Script {
	a := &Script{servers: map[string][]string{}}
	for _, sv := range p.Servers {
		for _, tool := range sv.Tools {
			a.servers[sv.Name] = append(a.servers[sv.Name], tool.Name)
		}
	}
	return a
}

// Session adds one of a role, or of a mode.
func (a *Script) Session(ref ir.SubjectRef) *ScriptSession {
	s := &ScriptSession{subject: "mode:" + ref.Mode}
	if ref.Role != "" {
		s.subject = "role:" + ref.Role
	}
	a.sessions = append(a.sessions, s)
	return s
}

// Ask adds a call, with what the model says of it.
func (s *ScriptSession) Ask(tool string, input any, said ir.Decision) {
	s.calls, s.said = append(s.calls, [2]any{tool, input}), append(s.said, said)
}

// Replay writes with update what the agent is asked, and holds the model against what it did (`make agents`). The case
// has the agent's packages and its artifacts.
func (a *Script) Replay(t *testing.T, update bool, agent string, c Case) {
	t.Helper()
	text, n := a.text(t)
	if Questions(t, update, agent, text, n, 300) {
		return
	}
	var actions []any
	for _, s := range a.sessions {
		actions = append(actions, map[string]any{"subject": s.subject, "calls": s.calls})
		e := Expected{Session: s.subject}
		for i, call := range s.calls {
			e.Add(JSON(t, call), s.said[i])
		}
		c.Want = append(c.Want, e)
	}
	c.Folder, c.Actions = "../e2e", actions
	Run(t, c)
}

// text returns the file, and how many calls are in it.
func (a *Script) text(t *testing.T) (text []byte, n int) {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"Servers\": %s, \"Sessions\": [", JSON(t, a.servers))
	for i, s := range a.sessions {
		fmt.Fprintf(&b, "%s\n {\"Subject\": %q, \"Calls\": [", []string{"", ","}[min(i, 1)], s.subject)
		for j, call := range s.calls {
			fmt.Fprintf(&b, "%s\n  %s", []string{"", ","}[min(j, 1)], JSON(t, []any{call[0], call[1], s.said[j]}))
			n++
		}
		b.WriteString("]}")
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), n
}

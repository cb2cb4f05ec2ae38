package claude_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/claude"
	"modec.dev/modec/targets/internal/replay"
)

// asked is e2e/testdata/decide.json: the calls about which the real agent was asked in each
// session, and what the models say of each as a letter: a allow, k ask, d deny.
type asked struct {
	Calls    []call
	Subjects []struct {
		session
		Source, WithHooks, WithoutHooks, ByFlags string
	}
}

type call struct {
	Name   string         `json:"name"`
	Input  map[string]any `json:"input"`
	Action string         `json:"action"`
}

type session struct {
	Role    string   `json:"role,omitempty"`
	Agent   string   `json:"agent,omitempty"`
	Servers []string `json:"servers"`
	Flags   []string `json:"flags,omitempty"`
}

// TestReplay holds the target against what the real Claude Code did in e2e/decide.test.mjs.
func TestReplay(t *testing.T) {
	root, err := filepath.Abs("../../fixtures/acme")
	if err != nil {
		t.Fatal(err)
	}
	today := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	res, diags := compiler.Compile(t.Context(), compiler.Request{Root: root, Targets: targets.All(), Today: today})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	data, err := os.ReadFile("e2e/testdata/decide.json")
	if err != nil {
		t.Fatal(err)
	}
	var a asked
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	artifacts := replay.Artifacts(res.Outputs, ".claude/", ".mcp.json", "session:claude/")
	replay.Run(t, replay.Case{
		Folder:    "e2e",
		Packages:  []string{"@anthropic-ai/claude-code"},
		Artifacts: artifacts,
		Actions:   a.actions(),
		Want:      a.expected(),
		Hooker:    claude.New().(contract.Hooker),
		Policy:    replay.Hooks(t, res.PolicyJSON()),
	})
}

// actions returns what the agent was asked, as e2e/decide.test.mjs puts it into the key.
func (a asked) actions() any {
	var sessions []session
	for _, s := range a.Subjects {
		sessions = append(sessions, s.session)
	}
	return map[string]any{"calls": a.Calls, "subjects": sessions}
}

// expected returns what the models say, in the words of the record.
func (a asked) expected() []replay.Expected {
	became := map[rune]string{'a': "ran", 'k': "asked", 'd': "refused"}
	var all []replay.Expected
	for _, s := range a.Subjects {
		sessions := map[string]string{
			"with its hooks": s.WithHooks, "without hooks": s.WithoutHooks, "by flags only": s.ByFlags,
		}
		for kind, letters := range sessions {
			e := replay.Expected{Session: s.Role + s.Agent + " " + kind}
			for i, l := range letters {
				e.Add(a.Calls[i].Action, became[l])
			}
			if letters != "" {
				all = append(all, e)
			}
		}
	}
	return all
}

package ir

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
)

func sample() *Project {
	pos := diag.Pos{File: "modec/a.cue", Line: 3, Col: 7}
	none := []string{}
	return &Project{
		Version: Version, Name: "p", ClosedInventory: true, Baseline: "dev",
		Servers: []Server{{Name: "s", Pos: pos, Type: "stdio", Command: "s-mcp", Args: []string{"<a>"}, Env: map[string]string{"K": "${V}"}, DefaultEnabled: true,
			Tools: []Tool{{Name: "t", Pos: pos, Description: "d", Risk: "read"}}}},
		Modes: []Mode{{Slug: "code", Pos: pos, Name: "Code", RoleDefinition: "r", Rules: []RuleFile{{Name: "1.md", Text: "x", Pos: pos}},
			Can: Can{Edit: &Table{Default: &Default{Decision: Ask, Pos: pos}, Rules: []Rule{{Decision: Deny, Pattern: Pattern{Kind: Regex, Text: "x$"}, Pos: pos, From: "policy p"}}},
				MCP: &MCPTable{Entries: []MCPEntry{{Key: "s", Literal: true, Default: &Default{Decision: Allow, Pos: pos}, Pos: pos}}}}}},
		Roles: []Role{{Name: "dev", Pos: pos, Modes: &none, Tools: &none, Claims: map[string][]string{"roles": {"dev"}}, AppendSystemPrompt: "a", Env: map[string]string{"A": "b"}}},
	}
}

func TestModelRoundTrip(t *testing.T) {
	p := sample()
	b, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Error(diff)
	}
	if !bytes.Contains(b, []byte("<a>")) {
		t.Error("the model escapes HTML")
	}
}

// The hooks' part of the model decides alike and carries no text.
func TestDecisionsLeavesTextOut(t *testing.T) {
	b, err := sample().Decisions().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	p := sample()
	if diff := cmp.Diff(p.Modes[0].Can, got.Modes[0].Can); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(p.Roles[0].Claims, got.Roles[0].Claims); diff != "" || got.Roles[0].Modes == nil {
		t.Error("what decides of a role is lost", diff)
	}
	for _, text := range []string{"roleDefinition", `"rules":[{"name"`, "appendSystemPrompt", `"env"`, `"description"`} {
		if strings.Contains(string(b), text) {
			t.Errorf("%s is still there", text)
		}
	}
}

// A model that is not understood whole must not decide.
func TestUnmarshalRefuses(t *testing.T) {
	b, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for name, bad := range map[string]string{
		"empty":    "",
		"torn":     text[:len(text)/2],
		"two":      text + text,
		"older":    strings.Replace(text, `"version":2`, `"version":1`, 1),
		"unknown":  strings.Replace(text, `"version":2`, `"version":2,"novel":1`, 1),
		"decision": strings.Replace(text, `"decision":"ask"`, `"decision":"maybe"`, 1),
	} {
		if bad == text {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := Unmarshal(strings.NewReader(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestParseSubject(t *testing.T) {
	p := &Project{Modes: []Mode{{Slug: "both"}, {Slug: "code"}}, Roles: []Role{{Name: "a:b"}, {Name: "both"}, {Name: "dev"}}}
	for _, c := range []struct {
		subject, role string
		want          SubjectRef
		err           string
	}{
		{"code", "", SubjectRef{Mode: "code"}, ""},
		{"dev", "", SubjectRef{Role: "dev"}, ""},
		{"code", "dev", SubjectRef{Mode: "code", Role: "dev"}, ""},
		{"mode:both", "", SubjectRef{Mode: "both"}, ""},
		{"role:both", "", SubjectRef{Role: "both"}, ""},
		{"both", "dev", SubjectRef{Mode: "both", Role: "dev"}, ""},
		{"a:b", "", SubjectRef{Role: "a:b"}, ""},
		{"both", "", SubjectRef{}, `got "both", which is a mode and a role: want "mode:both" or "role:both"`},
		{"none", "", SubjectRef{}, `got subject "none", want one of "both", "code", "a:b", "both", "dev"`},
		{"code", "none", SubjectRef{}, `got role "none", want one of "a:b", "both", "dev"`},
		{"Code", "", SubjectRef{}, `got subject "Code", want one of "both", "code", "a:b", "both", "dev"; did you mean "code"?`},
		{"dev", "dev", SubjectRef{}, `got the role "dev" beside the role "dev", want a mode that it works in: one of "both", "code"`},
		{"role:dev", "dev", SubjectRef{}, `got the role "dev" beside the role "dev", want a mode that it works in: one of "both", "code"`},
		{"nobody", "dev", SubjectRef{}, `got subject "nobody", want one of "both", "code"`},
	} {
		got, err := p.ParseSubject(c.subject, c.role)
		msg := ""
		if err != nil {
			msg = err.Error()
		}
		if got != c.want || msg != c.err {
			t.Errorf("%q %q: got %v, %q, want %v, %q", c.subject, c.role, got, msg, c.want, c.err)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	b, err := json.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Unmarshal(bytes.NewReader(b))
		if err != nil {
			return
		}
		if _, err := p.Decisions().Marshal(); err != nil {
			t.Errorf("a model that was read cannot be written: %v", err)
		}
	})
}

// The digest is that of what decides about a subject, and the same for a model that was
// written and read.
func TestDigest(t *testing.T) {
	p := sample()
	role, mode := SubjectRef{Role: p.Roles[0].Name}, SubjectRef{Mode: p.Modes[0].Slug}
	b, err := json.Marshal(p.Decisions())
	if err != nil {
		t.Fatal(err)
	}
	read, err := Unmarshal(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []SubjectRef{role, mode} {
		if p.Digest(ref) != read.Digest(ref) || len(p.Digest(ref)) != 16 {
			t.Errorf("%s: got %s and %s", ref, p.Digest(ref), read.Digest(ref))
		}
	}
	same := func(change func(*Project)) (ofRole, ofMode bool) {
		q, err := Unmarshal(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		change(q)
		return q.Digest(role) == p.Digest(role), q.Digest(mode) == p.Digest(mode)
	}
	for name, c := range map[string]struct {
		change     func(*Project)
		role, mode bool
	}{
		"a place":      {func(p *Project) { p.Roles[0].Pos.Line++; p.Modes[0].Pos.Line++ }, true, true},
		"another role": {func(p *Project) { p.Roles = append(p.Roles, Role{Name: "zz"}) }, true, true},
		"another mode": {func(p *Project) { p.Modes = append(p.Modes, Mode{Slug: "zz"}) }, false, true},
		"the role":     {func(p *Project) { p.Roles[0].PermissionMode += "x" }, false, true},
		"unsaid":       {func(p *Project) { p.Unsaid = &Default{Decision: Allow} }, false, false},
	} {
		if r, m := same(c.change); r != c.role || m != c.mode {
			t.Errorf("%s: got the same for the role %v and for the mode %v", name, r, m)
		}
	}
}

// TestDigestOfNothing: what nothing is in is not there in JSON, and no digest tells it from what is not there.
func TestDigestOfNothing(t *testing.T) {
	bare := Project{Roles: []Role{{Name: "r"}}}
	empty := Project{Roles: []Role{{Name: "r", Claims: map[string][]string{}}}, Gateways: map[string][]Gateway{}}
	ref := SubjectRef{Role: "r"}
	if got, want := empty.Digest(ref), bare.Digest(ref); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	none := Project{Roles: []Role{{Name: "r", Modes: &[]string{}}}} // it may enter none, where nothing said is all
	if none.Digest(ref) == bare.Digest(ref) {
		t.Error("an empty list of modes is none")
	}
}

package resolve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Rules are united: a child adds and never undoes a deny. A default is its own
// where written, else the lowest that its parents wrote.
func TestInheritance(t *testing.T) {
	p := model(t, map[string]string{"a.cue": `package modec
policies: {
	base: can: {command: {deny: ["git push *"], default: "allow"}, read: "allow"}
	calm: {extends: ["base"], can: {command: default: "ask", edit: {allow: ["docs/**"]}}}
}
modes: {
	parent: {name: "P", description: "d", whenToUse: "w", model: "opus", roleDefinition: "You are the parent."}
	parent: {extends: ["calm"], can: web: allow: ["example.com"]}
	child: {name: "C", extends: ["parent", "base"], can: {command: allow: ["git push *", "make"], web: deny: ["*"]}}
	own: {name: "O", roleDefinition: "r", extends: ["base", "calm"], can: command: default: "deny"}
	reads: {name: "R", roleDefinition: "r", extends: ["base2", "git_read"]}
}
policies: base2: extends: ["git_read"]
`})
	for ask, want := range map[string]ir.Decision{
		"parent command ls":       ir.Ask,
		"child command git push":  ir.Deny,
		"child command make":      ir.Allow,
		"child command ls":        ir.Ask, // the lowest of parent's ask and base's allow
		"child edit docs/a.md":    ir.Allow,
		"child web example.com":   ir.Deny,
		"own command ls":          ir.Deny,
		"own command git push -f": ir.Deny,
		"own read a.go":           ir.Allow,
	} {
		if got := decide(t, p, ask); got != want {
			t.Errorf("%s: got %s, want %s", ask, got, want)
		}
	}
	if r := p.Mode("reads").Can.Command.Rules; len(r) != 1 || r[0].From != "policy git_read" ||
		r[0].Pos != (diag.Pos{File: "modec/a.cue", Line: 13, Col: 28}) {
		t.Errorf("got %+v, want the built-in rule where it is extended", r)
	}
	c := p.Mode("child")
	texts := []string{c.Name, c.Description, c.WhenToUse, c.Model, c.RoleDefinition}
	if want := []string{"C", "d", "w", "opus", "You are the parent."}; !cmp.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
	type origin struct{ pattern, from string }
	var got []origin
	for _, r := range c.Can.Command.Rules {
		got = append(got, origin{r.Pattern.Text, r.From})
	}
	want := []origin{{"git push *", ""}, {"make", ""}, {"git push *", "policy base"}} // once, by two ways
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(origin{})); diff != "" {
		t.Error(diff)
	}
	if d := c.Can.Command.Default; d.From != "policy calm" || d.Pos.Line != 4 {
		t.Errorf("got a default from %q at %s, want policy calm's", d.From, d.Pos)
	}
}

// Names mean what the source defines before what is built in, and never the
// subject itself while anything else fits.
func TestParents(t *testing.T) {
	p := model(t, map[string]string{"a.cue": `package modec
modes: {
	readonly: {name: "R", roleDefinition: "The source's own.", can: web: "allow"}
	a: {name: "A", extends: ["readonly"]}
	code: {name: "Code", extends: ["code"], can: web: "ask"}
	b: {name: "B", extends: ["git_read"], roleDefinition: "r"}
}
roles: readonly: {extends: ["readonly"]}
`})
	if got := p.Mode("a").RoleDefinition; got != "The source's own." {
		t.Errorf("got %q, want that of the source's mode readonly", got)
	}
	for ask, want := range map[string]ir.Decision{
		"a web x.com":          ir.Allow,
		"code edit a.go":       ir.Allow, // from the built-in mode
		"code web x.com":       ir.Ask,
		"b command git status": ir.Allow,
	} {
		if got := decide(t, p, ask); got != want {
			t.Errorf("%s: got %s, want %s", ask, got, want)
		}
	}
	if r := p.Role("readonly").Can.Edit; r == nil || r.Rules[0].From != "policy readonly" {
		t.Errorf("got %+v, want the built-in policy's deny", r)
	}
	if len(p.Builtins) != 0 {
		t.Errorf("got built-in modes %v, want none: extending one does not make it reachable", p.Builtins)
	}
}

// Built-in modes that are only referred to decide and are not the user's.
func TestBuiltinsAreReferredTo(t *testing.T) {
	p := model(t, map[string]string{"a.cue": `package modec
roles: r: modes: ["debug", "ask"]
modes: m: {name: "M", roleDefinition: "r", can: modes: allow: ["orchestrator"]}
`})
	var got []string
	for _, m := range p.Builtins {
		got = append(got, m.Slug)
		if !m.Builtin || m.Pos.IsZero() {
			t.Errorf("%s: got builtin %v at %s", m.Slug, m.Builtin, m.Pos)
		}
	}
	if want := []string{"ask", "debug", "orchestrator"}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(p.Modes) != 1 {
		t.Errorf("got %d modes, want the one of the source", len(p.Modes))
	}
}

// Parents that share their parents do not multiply the work, nor the rules.
func TestDiamondsAreLinear(t *testing.T) {
	var b strings.Builder
	b.WriteString(`package modec
modes: "a-0": {name: "A", roleDefinition: "r", can: read: allow: ["x"]}
modes: "b-0": {name: "B", roleDefinition: "r"}
`)
	const levels = 60
	for i := 1; i <= levels; i++ {
		for _, l := range []string{"a", "b"} {
			fmt.Fprintf(&b, "modes: \"%s-%d\": {name: \"N\", extends: [\"a-%d\", \"b-%d\"]}\n", l, i, i-1, i-1)
		}
	}
	p := model(t, map[string]string{"a.cue": b.String()})
	if rules := p.Mode(fmt.Sprintf("a-%d", levels)).Can.Read.Rules; len(rules) != 1 {
		t.Errorf("got %d rules, want 1", len(rules))
	}
}

// Allows with times are inherited as the others, each pattern once for each of its times, and settle for what a
// subject's own group says: the same policy asks outside of them in one role and denies in another.
func TestInheritedTimes(t *testing.T) {
	p := model(t, map[string]string{"a.cue": `package modec
policies: release: can: command: allow: [
	{rule: "make release", until: "2026-12-31"},
	{rule: "make release", daily: "09:00-17:00", zone: "Europe/Berlin"},
]
policies: more: extends: ["release"]
roles: {
	quiet: {extends: ["release", "more"], can: command: allow: ["make"]}
	closed: {extends: ["release"], can: command: default: "deny"}
	open: {extends: ["release"], can: command: default: "allow"}
}
modes: m: {name: "M", roleDefinition: "r", extends: ["release"]}
`})
	for role, want := range map[string]string{"quiet": "allow ask ask", "closed": "", "open": "ask ask"} {
		table := p.Role(role).Can.Command
		var got []string
		for _, r := range table.Rules {
			got = append(got, r.Decision.String())
		}
		if strings.Join(got, " ") != want || len(table.Timed) != 2 || table.Timed[1].From != "policy release" ||
			table.Timed[1].Times != (ir.Times{Daily: "09:00-17:00", Zone: "Europe/Berlin"}) ||
			table.Timed[0].Pos != (diag.Pos{File: "modec/a.cue", Line: 3, Col: 2}) {
			t.Errorf("%s: got %+v", role, table)
		}
	}
	if m := p.Mode("m").Can.Command; len(m.Rules) != 0 || len(m.Timed) != 2 {
		t.Errorf("got %+v", m)
	}
}

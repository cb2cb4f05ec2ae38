package verify_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
	"modec.dev/modec/targets"
)

var update = flag.Bool("update", false, "rewrite testdata")

// today is the day on which the fixtures are compiled.
var today = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// compile compiles the showcase project.
func compile(t testing.TB, name string) *compiler.Result {
	t.Helper()
	res, diags := compiler.Compile(
		t.Context(),
		compiler.Request{
			Root:    "../../fixtures/" + name,
			Targets: targets.All(),
			Today:   today,
		},
	)
	if diags.HasErrors() {
		t.Fatalf("%v", diags)
	}
	return res
}

// A universe holds each action once, the same ones for the same seed, and
// others in its random part for another.
func TestUniverse(t *testing.T) {
	e := compile(t, "acme").Policy
	ref := ir.SubjectRef{Role: "developer"}
	make := func(seed uint64) map[policy.Action]verify.Witness {
		list, err := verify.Universe(e, ref, nil, seed)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[policy.Action]verify.Witness{}
		for _, w := range list {
			if _, twice := seen[w.Action]; twice {
				t.Errorf("%+v is there twice", w.Action)
			}
			seen[w.Action] = w
		}
		return seen
	}
	one, again, other := make(1), make(1), make(2)
	fixed := 0
	for a, w := range one {
		if again[a] != w {
			t.Errorf("%+v: got %+v and %+v by one seed", a, w, again[a])
		}
		if _, ok := other[a]; ok {
			fixed++
		} else if w.Class != "random" {
			t.Errorf("%+v (%s) depends on the seed", a, w.Class)
		}
	}
	if fixed == len(one) {
		t.Error("the seed changes nothing")
	}
	t.Logf("%d witnesses, %d of them fixed", len(one), fixed)
}

// Each rule of a source has a witness whose decision changes when the rule is
// taken out. Those that have none are redundant: other rules or the default say
// the same. They are listed, so that a universe that grows blind is noticed.
func TestEveryRuleHasAWitness(t *testing.T) {
	res := compile(t, "acme")
	var redundant strings.Builder
	for _, ref := range res.Project.Subjects() {
		universe, err := verify.Universe(res.Policy, ref, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.Modes} {
			table := tableOf(res.Project, ref, g)
			if table == nil {
				continue
			}
			whole := table.Rules
			for i, r := range whole {
				table.Rules = slices.Delete(slices.Clone(whole), i, i+1)
				if !flips(t, res.Project, ref, g, universe) {
					fmt.Fprintf(&redundant, "%s, %s: %s %s\n", ref, g, r.Decision, r.Pattern)
				}
			}
			table.Rules = whole
		}
	}
	golden(t, "testdata/redundant.txt", redundant.String())
}

func tableOf(p *ir.Project, ref ir.SubjectRef, g ir.Group) *ir.Table {
	if ref.Mode != "" {
		return p.Mode(ref.Mode).Can.Table(g)
	}
	return p.Role(ref.Role).Can.Table(g)
}

func flips(t *testing.T, p *ir.Project, ref ir.SubjectRef, g ir.Group, universe []verify.Witness) bool {
	t.Helper()
	s, err := policy.New(p).Subject(ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range universe {
		if w.Group == g && s.Decide(w.Action).Decision != w.Source.Decision {
			return true
		}
	}
	return false
}

// BenchmarkVerify compares all of the showcase project: 35 subjects, ten agents.
func BenchmarkVerify(b *testing.B) {
	res := compile(b, "acme")
	for b.Loop() {
		report, diags := res.Verify(b.Context(), 1, nil)
		if diags.HasErrors() {
			b.Fatal(diags)
		}
		b.ReportMetric(float64(report.Decisions), "decisions/op")
	}
}

// The promise on the showcase project: what is compared, and what survives.
func TestPromise(t *testing.T) {
	res := compile(t, "acme")
	report, diags := res.Verify(t.Context(), 1, nil)
	for _, d := range diags {
		t.Error(d)
	}
	const least = 20_000
	if report.Decisions < least {
		t.Errorf("got %d distinct decisions, want %d at least", report.Decisions, least)
	}
	for _, s := range report.Surfaces {
		if s.Subjects == 0 || s.Compared == 0 {
			t.Errorf("%s %s: nothing is compared", s.Target, s.Surface)
		}
		for _, x := range s.Sampled {
			some := slices.ContainsFunc(x.Subjects, func(of string) bool { return !strings.Contains(of, " in mode ") })
			if x.Group != ir.Command && (some || x.Why != verify.ErrManyCells.Error()) { // a role in a mode may have too many
				t.Errorf("%s %s: %s is sampled: %s", s.Target, s.Surface, x.Group, x.Why)
			}
		}
	}
}

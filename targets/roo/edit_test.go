package roo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

var editRules = []ir.Rule{
	{Decision: ir.Allow, Pattern: ir.Pattern{Text: "docs/**"}},
	{Decision: ir.Allow, Pattern: ir.Pattern{Text: "*.md"}},
	{Decision: ir.Allow, Pattern: ir.Pattern{Kind: ir.Regex, Text: `^src/[a-z]+\.(ts|js)$`}},
	{Decision: ir.Ask, Pattern: ir.Pattern{Text: "infra/"}},
	{Decision: ir.Deny, Pattern: ir.Pattern{Text: "**/Secret?/*.{key,pem}"}},
	{Decision: ir.Deny, Pattern: ir.Pattern{Text: "Straße"}},
	{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.Regex, Text: `_gen\.`}},
}

var agentFolder = ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: ".claude/"}}

// editor is a project of one mode with the edit rules that mask picks.
// It denies an agent's folder.
func editor(mask uint8, def ir.Decision) *ir.Project {
	t := &ir.Table{Default: &ir.Default{Decision: def}, Rules: []ir.Rule{agentFolder}}
	for i, r := range editRules {
		if mask&(1<<i) != 0 {
			t.Rules = append(t.Rules, r)
		}
	}
	m := ir.Mode{Slug: "m", Name: "M", RoleDefinition: "r", Can: ir.Can{Edit: t}}
	return &ir.Project{Version: ir.Version, ClosedInventory: true, Modes: []ir.Mode{m}}
}

func emitter1(t *testing.T, p *ir.Project) (*emitter, *policy.Subject) {
	t.Helper()
	e := policy.New(p)
	s, err := e.Subject(ir.SubjectRef{Mode: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return &emitter{
		in:      contract.Input{Project: p, Policy: e, Options: contract.NewOptions(New().Options(), nil, nil)},
		name:    "roo",
		dialect: format.Stock,
	}, s
}

// neverWider holds an emitted fileRegex to the source: Roo may edit only what the source does
// not deny, and every clean path that it does not.
func neverWider(t *testing.T, mask uint8, def ir.Decision, paths ...string) {
	t.Helper()
	projectNeverWider(t, editor(mask, def), paths...)
}

func projectNeverWider(t *testing.T, p *ir.Project, paths ...string) {
	t.Helper()
	e, s := emitter1(t, p)
	g, ok := e.edit(&p.Modes[0], s)
	_, err := ecma.Compile(g.regex, ecma.Options{})
	if err != nil {
		t.Fatalf("%q: %v", g.regex, err)
	}
	files, diags := New().Emit(e.in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	deciders, _ := New().(contract.Judged).Open(contract.InMemory(files), e.in.Options)
	if s, err = e.in.Policy.OnText().Subject(ir.SubjectRef{Mode: "m"}); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		action := policy.Action{Group: ir.Edit, Arg: path}
		if !policy.Usual(action) {
			continue
		}
		d, v := s.Decide(action).Decision, deciders[0].Decide(ir.SubjectRef{Mode: "m"}, action)
		roo := v.Decision > ir.Deny
		if roo && d == ir.Deny {
			t.Errorf("Roo may edit %q, and the source denies it \n%+v\n%s", path, *p.Modes[0].Can.Edit, g.regex)
		}
		if !roo && d > ir.Deny && plain(path) && ok {
			t.Errorf("the source lets %q be edited, and Roo does not\n%+v\n%s", path, *p.Modes[0].Can.Edit, g.regex)
		}
	}
}

// plain reports whether a path is one of those that cost nothing: clean, of
// ASCII, and of a length that occurs.
func plain(path string) bool {
	return path != "" && len(path) < 1366 && clean(path) && strings.IndexFunc(path, func(r rune) bool { return r > 0x7e || r < 0x20 || strings.ContainsRune(`\:~`, r) }) < 0
}

func clean(p string) bool {
	for _, s := range strings.Split(p, "/") {
		if s == "" || s == "." || s == ".." {
			return false
		}
	}
	return true
}

// editPaths returns paths that are clean and unclean, inside and outside, and have the
// characters over which engines and file systems differ.
var editPaths = sync.OnceValue(func() []string {
	data, err := os.ReadFile(filepath.Join("e2e", "testdata", "paths.json"))
	var paths []string
	if err == nil {
		err = json.Unmarshal(data, &paths)
	}
	if err != nil {
		panic(err)
	}
	return paths
})

func TestEditIsNeverWider(t *testing.T) {
	for mask := range uint8(1 << len(editRules)) {
		for _, def := range []ir.Decision{ir.Deny, ir.Allow} {
			neverWider(t, mask, def, editPaths()...)
		}
	}
}

// Expressions that Roo's engine reads otherwise than modec's, or not at all.
var oddRules = []struct {
	name  string
	def   ir.Decision
	rules []ir.Rule
}{
	{"a deny over a line separator", ir.Allow, []ir.Rule{regexRule(ir.Deny, `docs/.\.md`)}},
	{"an allow over a character of two halves", ir.Deny, []ir.Rule{regexRule(ir.Allow, `^docs/.{2}$`), regexRule(ir.Ask, `^[^a]{3}$`)}},
	{"a word boundary beside a letter", ir.Deny, []ir.Rule{regexRule(ir.Allow, `\bkey`)}},
	{"a deny with a word boundary", ir.Allow, []ir.Rule{regexRule(ir.Deny, `key\B`), regexRule(ir.Deny, `\Skey`)}},
	{"an end that is no end", ir.Deny, []ir.Rule{regexRule(ir.Allow, `^docs/|^$|/$`)}},
	{"several expressions", ir.Deny, []ir.Rule{regexRule(ir.Allow, `^(docs|src)/`), regexRule(ir.Deny, `(a|b)\.md$|\.ts$`), {Decision: ir.Allow, Pattern: ir.Pattern{Text: "*.md"}}}},
	{"a lookbehind", ir.Deny, []ir.Rule{regexRule(ir.Allow, `(?<!\.d)\.(?=ts$)`), regexRule(ir.Deny, `(?!x)x`)}},
}

func regexRule(d ir.Decision, text string) ir.Rule {
	return ir.Rule{Decision: d, Pattern: ir.Pattern{Kind: ir.Regex, Text: text}}
}

// odd is the project of one of the oddRules.
func odd(i int) *ir.Project {
	p := editor(0, oddRules[i].def)
	p.Modes[0].Can.Edit.Rules = oddRules[i].rules
	return p
}

func TestOddExpressionsAreNeverWider(t *testing.T) {
	for i, c := range oddRules {
		t.Run(c.name, func(t *testing.T) {
			projectNeverWider(t, odd(i), editPaths()...)
		})
	}
}

// What refers to its groups or names them means the same beside other expressions. What Roo's engine would
// refuse does not come so far, since one bad expression makes Roo drop every mode of the file.
func TestExpressionsStandAlone(t *testing.T) {
	const refused = "the source refuses it"
	for _, c := range []struct{ re, want string }{
		{`^a\.md$`, `^a\.md$`},
		{`(?:^|/)x(?=y)*`, `(?:^|/)x(?=y)*`},
		{`^{a`, `^{a`},
		{`[$^\b*+]+(a|b)?`, `[$^\b*+]+(a|b)?`},
		{`(?:^)*a\$*`, `(?:^)*a\$*`},
		{`a{2}{b}`, `a{2}{b}`},
		{`(a)\1`, `(?<g3>a)\k<g3>`},
		{`(x)(?:(a)(b)\2)+\2`, `(x)(?:(?<g3>a)(b)\k<g3>)+\k<g3>`},
		{`(?<n>a)`, `(?<g3>a)`},
		{`(?<n>a(?<m>b))\k<n>(?=\k<m>)`, `(?<g3>a(?<g4>b))\k<g3>(?=\k<g4>)`},
		{`^*a`, refused},
		{`a$?`, refused},
		{`\b{2,}`, refused},
		{`(?<=a(b))+`, refused},
		{`[😀-😎]`, refused},
		{`[😀😎]`, `[😀😎]`},
		{`é(a)\1😎`, `é(?<g3>a)\k<g3>😎`},
		{`a\😀`, `a\😀`},
		{`\ud83d`, `\ud83d`},
	} {
		if err := policy.CheckRegex(c.re); err != nil {
			if c.want != refused {
				t.Errorf("%s: got %v", c.re, err)
			}
			continue
		}
		p, err := ecma.Parse(c.re)
		if err != nil {
			t.Fatal(err)
		}
		w := editWriter{groups: 2}
		if got := w.standalone(p).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.re, got, c.want)
		}
	}
}

// What an author wrote stays where it reaches nothing that is refused, and is written no longer than
// it must be where it does.
func TestWrittenExpressionsStay(t *testing.T) {
	for re, want := range map[string]string{
		`^src/[a-z]+\.(ts|js)$`: `^src/[a-z]+\.(ts|js)$`,
		`\.md$`:                 `^(?!(.*/)?\.claude(/|$)).*\.md$`,
		`^[A-Z]+\.md$`:          `^[A-Z]+\.md$`,
		`a\.ts$|b\.js$`:         `^(?!(.*/)?\.claude(/|$)).*(a\.ts$|b\.js$)`,
		`docs/`:                 `^(?!(.*/)?\.claude(/|$)).*docs/.*$`,
		`(a)\1\.md$`:            `^(?!(.*/)?\.claude(/|$)).*(?<g1>a)\k<g1>\.md$`,
		`^(a)\1\.md$`:           `^(a)\1\.md$`,
	} {
		p := editor(0, ir.Deny)
		p.Modes[0].Can.Edit.Rules = []ir.Rule{regexRule(ir.Ask, re), agentFolder}
		e, s := emitter1(t, p)
		if g, _ := e.edit(&p.Modes[0], s); g.regex != want || g.description != "" {
			t.Errorf("%s: got %s (%q), want %s", re, g.regex, g.description, want)
		}
		projectNeverWider(t, p, editPaths()...)
	}
}

func FuzzEditIsNeverWider(f *testing.F) {
	for i, p := range editPaths() {
		f.Add(uint8(i*37), i%2 == 0, p)
	}
	f.Fuzz(func(t *testing.T, mask uint8, allow bool, path string) {
		def := ir.Deny
		if allow {
			def = ir.Allow
		}
		if len(path) < 200 && path != "" && strings.ToValidUTF8(path, "") == path {
			neverWider(t, mask&0x7f, def, path)
		}
	})
}

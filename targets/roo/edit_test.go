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
	if _, err := ecma.Compile(g.regex, ecma.Options{}); err != nil {
		t.Fatalf("%q: %v", g.regex, err)
	}
	files, diags := New().Emit(e.in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	deciders, _ := New().(contract.Judged).Open(contract.InMemory(files), e.in.Options)
	letters := exactLetters(t, p)
	for _, path := range paths {
		action := policy.Action{Group: ir.Edit, Arg: path}
		d, v := s.Decide(action).Decision, deciders[0].Decide(ir.SubjectRef{Mode: "m"}, action)
		roo := v.Decision > ir.Deny
		if roo && d == ir.Deny {
			t.Errorf("Roo may edit %q, and the source denies it \n%+v\n%s", path, *p.Modes[0].Can.Edit, g.regex)
		}
		if v.Hole != nil && strings.HasPrefix(v.Hole.Why, "letters are compared") && letters(path) {
			t.Errorf("Roo may edit %q, which the source denies as it is written\n%s", path, g.regex)
		}
		anyCase := d == ir.Ask && policy.Fold(path) != path
		if !roo && d > ir.Deny && plain(path) && ok && !anyCase {
			t.Errorf("the source lets %q be edited, and Roo does not\n%+v\n%s", path, *p.Modes[0].Can.Edit, g.regex)
		}
	}
}

// exactLetters returns whether a path, with its letters as they are, is one that the globs of a
// mode's denies match, or lies below one.
func exactLetters(t *testing.T, p *ir.Project) func(path string) bool {
	t.Helper()
	table := &ir.Table{Default: &ir.Default{Decision: ir.Deny}}
	for _, r := range p.Modes[0].Can.Edit.Rules {
		if r.Decision != ir.Deny || r.Pattern.Kind != ir.Plain {
			continue
		}
		for _, glob := range []string{r.Pattern.Text, "**/" + strings.TrimSuffix(r.Pattern.Text, "/") + "/**"} {
			if strings.Contains(r.Pattern.Text, "/") {
				glob = strings.TrimPrefix(glob, "**/")
			}
			table.Rules = append(table.Rules, ir.Rule{Decision: ir.Allow, Pattern: ir.Pattern{Text: glob}})
		}
	}
	s, err := policy.New(&ir.Project{Modes: []ir.Mode{{Slug: "m", Can: ir.Can{Edit: table}}}}).Subject(ir.SubjectRef{Mode: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return func(path string) bool {
		return s.Decide(policy.Action{Group: ir.Edit, Arg: path}).Decision == ir.Allow
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
	const outside = `^(?!~|.:|.*\\|(.*/)?\.{0,2}(/|$))`
	for re, want := range map[string]string{
		`^src/[a-z]+\.(ts|js)$`: `^src/[a-z]+\.(ts|js)$`,
		`\.md$`:                 outside + `.*\.md$`,
		`.*\.(py|md)$`:          outside + `.*\.(py|md)$`,
		`^docs/.*`:              `^(?!.*\\|(.*/)?\.{0,2}(/|$))docs/.*$`,
		`a\.ts$|b\.js$`:         outside + `.*(a\.ts$|b\.js$)`,
		`docs/`:                 outside + `.*docs/.*$`,
		`^é/[^/]+$`:             `^(?!.*\\|(.*/)?\.{0,2}(/|$))(?=.*$)é/[^/]+$`,
		`(a)\1\.md$`:            outside + `.*(?<g1>a)\k<g1>\.md$`,
		`^(a)\1\.md$`:           `^(a)\1\.md$`,
	} {
		p := editor(0, ir.Deny)
		p.Modes[0].Can.Edit.Rules = []ir.Rule{regexRule(ir.Ask, re)}
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

// A mode that may edit outside the project does so in any spelling of a path, where its expressions are
// about the name of a file alone. Any other one stays inside: another spelling could be another file.
func TestEditsOutside(t *testing.T) {
	const refusing = `^(?!(.*[/\\])?\.claude([/\\]|$))`
	const refused = `(?!~|.:|.*\\|(.*/)?(\.{0,2}|\.claude)(/|$))`
	const inside, here = "^" + refused, `^(\./)?` + refused // ./x is a usual spelling
	for _, c := range []struct {
		re, want string
		outside  ir.Decision
	}{
		{`\.md$`, refusing + `.*\.md$`, ir.Ask},
		{`\.md$`, refusing + `.*\.md$`, ir.Agent},
		{`\.md$`, inside + `.*\.md$`, ir.Deny},
		{`.*\.(py|md)$`, refusing + `.*\.(py|md)$`, ir.Ask},
		{`a\.ts$|b\.js$`, refusing + `.*(a\.ts$|b\.js$)`, ir.Ask},
		{`[^/\\]+\.md$`, refusing + `(?=.*$).*[^/\\]+\.md$`, ir.Ask},
		{`(^|/)a\.md$`, refusing + `.*(^|/)a\.md$`, ir.Ask},
		{`[^/]+\.md$`, here + `(?=.*$).*[^/]+\.md$`, ir.Ask}, // a\.md on Windows
		{`^[A-Z]+\.md$`, `^[A-Z]+\.md$`, ir.Ask},
		{`\\\.\.$`, here + `.*\\\.\.$`, ir.Ask},           // a\.. on Windows
		{`docs/.*\.md$`, here + `.*docs/.*\.md$`, ir.Ask}, // docs/../../x.md
		{`^[^é].*\.md$`, here + `(?=.*$)[^é].*\.md$`, ir.Ask},
		{`\.$`, here + `.*\.$`, ir.Ask}, // the folder above
		{`(a|b)\1\.md$`, refusing + `.*(?<g1>a|b)\k<g1>\.md$`, ir.Ask},
		{`(a|/)\1\.md$`, here + `.*(?<g1>a|/)\k<g1>\.md$`, ir.Ask},
		{`\b(a)\1\.md$`, here + `.*\b(?<g1>a)\k<g1>\.md$`, ir.Ask},
		{`^(a)\1\.md$`, `^(a)\1\.md$`, ir.Ask},
	} {
		p := editor(0, ir.Deny)
		p.Modes[0].Can.Edit.Rules = []ir.Rule{regexRule(ir.Ask, c.re), agentFolder}
		p.Modes[0].Can.OutsideEdit = &ir.Default{Decision: c.outside}
		e, s := emitter1(t, p)
		if g, _ := e.edit(&p.Modes[0], s); g.regex != c.want {
			t.Errorf("%s: got %s, want %s", c.re, g.regex, c.want)
		}
		if closed := strings.HasPrefix(c.want, here); closed != (len(e.diags) > 0) {
			t.Errorf("%s: got %v", c.re, e.diags)
		}
		projectNeverWider(t, p, spellings()...)
	}
}

// The ignore file says nothing of paths outside the project, so that the expression repeats what it refuses:
// as long as a person can read it.
func TestIgnoredOutside(t *testing.T) {
	var long []string
	for i := range 8 {
		long = append(long, strings.Repeat(string('a'+rune(i)), 12))
	}
	var paths []string
	for _, path := range spellings() {
		paths = append(paths, path, "secrets/"+path, path+"/secrets/x.md", `secrets\`+path, path+`/aaaaaaaaaaaa\x.md`, "/build/"+path)
	}
	for _, c := range []struct {
		ignored []string
		want    string
	}{
		{[]string{".env", "*.pem"}, `^(?!(.*[/\\])?(.*\.pem|\.(claude|env))([/\\]|$)).*\.md$`},
		{[]string{"/build"}, `^(?!(.*[/\\])?\.claude([/\\]|$)).*\.md$`}, // it is inside, and refused there
		{[]string{"**/secrets/*"}, `^(?!(.*[/\\])?(\.claude|secrets)([/\\]|$)).*\.md$`},
		{[]string{"**/x.md/*"}, `^(\./)?(?!~|.:|.*\\|(.*/)?(\.{0,2}|\.claude)(/|$)).*\.md$`}, // a file of that name is none of it
		{[]string{"a", "b", "c", "d"}, `^(?!(.*[/\\])?(\.claude|a|b|c|d)([/\\]|$)).*\.md$`},
		{long, `^(\./)?(?!~|.:|.*\\|(.*/)?(\.{0,2}|\.claude)(/|$)).*\.md$`},
	} {
		p := editor(0, ir.Deny)
		can := &p.Modes[0].Can
		can.Edit.Rules = []ir.Rule{regexRule(ir.Ask, `\.md$`), agentFolder}
		can.OutsideEdit = &ir.Default{Decision: ir.Ask}
		can.Read = &ir.Table{Default: &ir.Default{Decision: ir.Ask}}
		for _, glob := range c.ignored {
			r := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: glob}}
			can.Edit.Rules, can.Read.Rules = append(can.Edit.Rules, r), append(can.Read.Rules, r)
		}
		e, s := emitter1(t, p)
		e.hoistReads()
		if g, _ := e.edit(&p.Modes[0], s); g.regex != c.want {
			t.Errorf("%v: got %s, want %s", c.ignored, g.regex, c.want)
		}
		projectNeverWider(t, p, paths...)
	}
}

// spellings are paths of up to three names, as two systems separate them: those that lead elsewhere,
// and one that is refused, are among the names.
func spellings() []string {
	paths := editPaths()
	last := []string{""}
	for n := range 3 {
		var longer []string
		for _, begin := range last {
			for _, name := range []string{"a.md", "b.md", ".claude", ".CLAUDE", "docs", "..", ".", "", "~", "C:", "...", "a.ts"} {
				if n == 0 {
					longer = append(longer, name)
				} else {
					longer = append(longer, begin+"/"+name, begin+`\`+name)
				}
			}
		}
		paths, last = append(paths, longer...), longer
	}
	return paths
}

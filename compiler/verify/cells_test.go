package verify_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
	"modec.dev/modec/targets"
)

// inCells is how many arguments are drawn, and inCellsShort how many in a short run, in the fixtures
// and in some sources that are drawn by chance. More than half are plain, and are held against one of
// their cell.
const (
	inCells      = 2_000_000
	inCellsShort = 100_000
	drawnSources = 100
)

// Nobody tells two plain arguments of one cell apart: not the source, and not the model of an
// agent, by its artifacts or by itself.
func TestInCells(t *testing.T) {
	t.Parallel()
	left := inCells
	if testing.Short() {
		left = inCellsShort
	}
	projects := map[string]*compiler.Result{}
	for _, name := range []string{"acme", "gemini", "globs", "kilo", "opencode", "promise", "regex", "unsaid", "unicode", "zoo"} {
		projects[name] = compile(t, name)
	}
	for n := range uint64(drawnSources) {
		res, diags := compiler.Compile(t.Context(), compiler.Request{FS: drawn(n), Targets: targets.All()})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		projects[fmt.Sprint("source ", n)] = res
	}
	var groups []verify.Celled
	sampled := 0
	for _, name := range slices.Sorted(maps.Keys(projects)) {
		err := verify.EachCelled(requestOf(projects[name]), func(c verify.Celled) {
			c.Name = name + " on " + c.Name
			if c.Err != nil {
				sampled++
				return
			}
			groups = append(groups, c)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	each := left/len(groups) + 1
	tried, failed := map[ir.Group]int{}, 0
	for _, c := range groups {
		for range each {
			arg := mixed(r, c.Cells)
			cell, plain := c.CellOf(arg)
			if !plain {
				continue
			}
			tried[c.Group]++
			if cell == "" {
				t.Errorf("%s of %s on %s: no cell is as %q", c.Group, c.Ref, c.Name, arg)
				continue
			}
			if names(&c, arg) || names(&c, cell) {
				continue // a hook decides about the file as the source does
			}
			if got, want := told(&c, arg), told(&c, cell); got != want {
				t.Errorf("%s of %s on %s: %q is in the cell of %q\n%s\n%s", c.Group, c.Ref, c.Name, arg, cell, got, want)
				if failed++; failed > 20 {
					t.FailNow()
				}
			}
		}
	}
	t.Logf("arguments in %d groups: %v; %d groups are sampled", len(groups), tried, sampled)
	total := 0
	for _, g := range ir.Groups {
		total += tried[g]
		if tried[g] < left/30 {
			t.Errorf("%d plain arguments of %s are too few", tried[g], g)
		}
	}
	if total < left/4 {
		t.Errorf("%d plain arguments are too few", total)
	}
}

// mixed draws an argument near those of the cells.
func mixed(r *rand.Rand, cells []string) string {
	pick := func() string { return cells[r.IntN(len(cells))] }
	arg := pick()
	for range r.IntN(3) {
		sep := []string{"/", "", ".", "-", " "}[r.IntN(5)]
		if r.IntN(2) == 0 {
			arg += sep + pick()
		} else {
			arg = pick() + sep + arg
		}
	}
	for range r.IntN(4) {
		at := r.IntN(len(arg) + 1)
		const letters = "xaZ0._-/ "
		c := string(letters[r.IntN(len(letters))])
		switch r.IntN(4) {
		case 0:
			arg = arg[:at] + c + arg[at:]
		case 1:
			arg = arg[:at] + arg[min(at+1, len(arg)):]
		case 2:
			arg = arg[:at] + strings.ToUpper(arg[at:min(at+1, len(arg))]) + arg[min(at+1, len(arg)):]
		case 3:
			arg = arg[:at] + c + arg[min(at+1, len(arg)):]
		}
	}
	return arg
}

// told is what a source and an agent say of an argument.
// names reports whether the source decides a command by a file that it names.
func names(c *verify.Celled, arg string) bool {
	r := c.Source.Decide(policy.Action{Group: c.Group, Server: c.Server, Arg: arg})
	return r.Named()
}

func told(c *verify.Celled, arg string) string {
	a := policy.Action{Group: c.Group, Server: c.Server, Arg: arg}
	source := c.Source.Decide(a)
	v := c.Decider.Decide(c.Ref, a)
	return fmt.Sprint(source.Decision, source.Odd, " ", answer(&v.Answer), answer(v.Bare), hole(v.Hole), hole(v.BareHole))
}

func answer(a *contract.Answer) string {
	if a == nil {
		return "-"
	}
	return fmt.Sprint(a.Decision, a.Governs, " ")
}

func hole(h *contract.Hole) string {
	if h == nil {
		return "-"
	}
	return fmt.Sprint("hole ", h.Decision, " ")
}

func requestOf(res *compiler.Result) verify.Request {
	req := verify.Request{Policy: res.Policy}
	for _, o := range res.Outputs {
		if j, ok := o.Target.(contract.Judged); ok {
			req.Targets = append(req.Targets, verify.Target{Target: j, Input: res.Input(o.Target), Files: res.FS()})
		}
	}
	return req
}

func report(t *testing.T, req verify.Request) string {
	t.Helper()
	r, err := verify.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A group whose patterns have too many combinations, or are not regular, is sampled, and the report
// says whose and why. What is wider is found there too.
func TestSampled(t *testing.T) {
	for _, c := range []struct{ regex, why string }{
		{`docs/[a-z]{1,16}\.md$`, ""},
		{`a[^/]{16}$`, verify.ErrManyCells.Error()},
		{`(docs|src)/\1`, "the expression is not regular: it refers back to what it matched"},
	} {
		source := fmt.Sprintf(`{"modes": {"a": {"name": "A", "roleDefinition": "r",
			"can": {"read": "allow", "edit": {"allow": [{"regex": %q}]}}}}}`, c.regex)
		report, _ := compileSource(t, "[targets.roo]\n", source).Verify(t.Context(), 1, nil)
		if report.Wider() > 0 {
			t.Errorf("%s: %d wider", c.regex, report.Wider())
		}
		why := ""
		for _, x := range report.Surfaces[0].Sampled {
			if x.Group == ir.Edit && slices.Equal(x.Subjects, []string{"mode a"}) {
				why = x.Why
			}
		}
		if why != c.why {
			t.Errorf("%s: got %q, want %q", c.regex, why, c.why)
		}
		if exact := slices.Contains(report.Surfaces[0].Exact, ir.Edit); exact != (c.why == "") {
			t.Errorf("%s: exact is %t", c.regex, exact)
		}
	}
}

// Of patterns that look for many parts anywhere in a line, more than a few are not looked at.
func TestScattered(t *testing.T) {
	const why = "its rules look for many letters anywhere in a line"
	for n := 12; n <= 13; n++ {
		var deny []string
		for i := range n {
			deny = append(deny, fmt.Sprintf(`"%c * b * c * d * e * f"`, 'a'+i))
		}
		source := fmt.Sprintf(`{"roles": {"a": {"can": {"command": {"allow": ["ls *"], "deny": [%s]}}}}}`,
			strings.Join(deny, ","))
		report, _ := compileSource(t, "baseline = \"a\"\n[targets.opencode]\n", source).Verify(t.Context(), 1, nil)
		sampled := slices.ContainsFunc(report.Surfaces[0].Sampled, func(x verify.Sampled) bool { return x.Why == why })
		if sampled != (n > 12) || report.Wider() > 0 {
			t.Errorf("%d patterns: %v, %d wider", n, report.Surfaces[0].Sampled, report.Wider())
		}
	}
}

// An exception for one argument accepts that one, and not all that are decided like it.
func TestExceptionForOne(t *testing.T) {
	files := memfs.FS{
		"modec.toml": []byte("baseline = \"dev\"\n[targets.claude]\n[[exceptions]]\ntarget = \"claude\"\nsubject = \"dev\"\n" +
			"what = \"web x.corp.com\"\nuntil = 2099-12-31\nreason = \"one host\"\n"),
		"modec/a.json": []byte(`{"roles": {"dev": {"description": "Does", "can": {"read": "allow",
			"edit": {"default": "ask", "deny": ["src/gen/**"]}, "command": "deny", "web": {"default": "ask"}}}}}`),
	}
	res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	disk := memfs.FS{}
	maps.Copy(disk, res.FS())
	const name, at = ".claude/settings.json", `"permissions": {`
	own := strings.Replace(string(disk[name]), at, at+`"allow": ["WebFetch(domain:*.corp.com)"],`, 1)
	if strings.Count(own, `"allow"`) != 1 {
		t.Fatalf("the settings have another form: %s", own)
	}
	disk[name] = []byte(own)
	report, _ := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
	for _, f := range report.Surfaces[0].Findings {
		if f.Group == ir.Web && strings.HasSuffix(f.Action, ".corp.com") {
			return
		}
	}
	t.Errorf("nothing is wider: %+v", report.Surfaces[0].Accepted)
}

// What is found does not depend on what spaces know already, and they keep no more than they may.
func TestForgetful(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"globs", "opencode", "unicode"} {
		run := func(u *verify.Universes) string {
			req := requestOf(compile(t, name))
			req.Policy, req.Universes = req.Policy.OnText(), u
			return report(t, req)
		}
		keeping, forgetful := &verify.Universes{}, verify.Forgetful()
		if d := cmp.Diff(run(keeping), run(forgetful)); d != "" {
			t.Errorf("%s (-keeping +forgetting):\n%s", name, d)
		}
		if all, most := keeping.SpaceSize(), forgetful.SpaceSize(); most >= all {
			t.Errorf("%s: got %d bytes where all is forgotten, want less than %d", name, most, all)
		}
	}
}

package verify_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
)

// inCells is how many arguments of one cell are held against each other, and inCellsShort in a
// short run.
const (
	inCells      = 1_000_000
	inCellsShort = 100_000
)

// Nobody tells two plain arguments of one cell apart: not the source, and not the model of an
// agent, by its artifacts or by itself.
func TestInCells(t *testing.T) {
	left := inCells
	if testing.Short() {
		left = inCellsShort
	}
	var groups []verify.Celled
	for _, name := range []string{"acme", "globs", "promise", "regex", "silence", "unicode", "zoo"} {
		err := verify.EachCelled(requestOf(compile(t, name)), func(c verify.Celled) {
			if c.Err != nil {
				t.Logf("%s: %s of %s on %s is sampled: %v", name, c.Group, c.Ref, c.Name, c.Err)
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
	tried, failed := 0, 0
	for _, c := range groups {
		for range each {
			arg := mixed(r, c.Cells)
			cell, plain := c.CellOf(arg)
			if !plain {
				continue
			}
			tried++
			if cell == "" {
				t.Errorf("%s of %s on %s: no cell is as %q", c.Group, c.Ref, c.Name, arg)
				continue
			}
			if got, want := told(&c, arg), told(&c, cell); got != want {
				t.Errorf("%s of %s on %s: %q is in the cell of %q\n%s\n%s", c.Group, c.Ref, c.Name, arg, cell, got, want)
				if failed++; failed > 20 {
					t.FailNow()
				}
			}
		}
	}
	t.Logf("%d arguments in %d groups", tried, len(groups))
	if tried < left/4 {
		t.Errorf("%d plain arguments are too few", tried)
	}
}

// mixed draws an argument near those of the cells.
func mixed(r *rand.Rand, cells []string) string {
	pick := func() string { return cells[r.IntN(len(cells))] }
	arg := pick()
	for range r.IntN(3) {
		sep := []string{"/", "", ".", "-"}[r.IntN(4)]
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
func told(c *verify.Celled, arg string) string {
	a := policy.Action{Group: c.Group, Arg: arg}
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

package migrate

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
)

// Proof compares what an imported file decides with what the new project does:
// with its source, and with what is built from it for the same agent. A half of a
// decision counts where the file governs it.
type Proof struct {
	Target  string `json:"target"`
	Surface string `json:"surface,omitempty"`
	File    string `json:"file"`
	Source  Tally  `json:"source"` // the new source
	Built   Tally  `json:"built"`  // what is built from it
}

// Tally counts compared halves of decisions.
type Tally struct {
	Compared int `json:"compared"`
	Equal    int `json:"equal"`
	Narrower int `json:"narrower"`
	Wider    int `json:"wider"`
	// Kept counts what the original denies, what is built for its agent denies too,
	// and the source asks about: a rule that is kept for one agent, a file's rule that
	// the agent holds against commands as well.
	Kept int `json:"kept"`
	// Parts counts command lines that the original asks about or refuses because it
	// does not look through them (a subshell, a variable), and each part of which it
	// allows.
	Parts int `json:"parts"`
}

// Total sums the proofs.
func (r *Report) Total() (source, built Tally) {
	for _, p := range r.Proof {
		source.sum(p.Source)
		built.sum(p.Built)
	}
	return source, built
}

func (t *Tally) sum(o Tally) {
	t.Compared, t.Equal, t.Narrower, t.Wider = t.Compared+o.Compared, t.Equal+o.Equal, t.Narrower+o.Narrower, t.Wider+o.Wider
	t.Kept, t.Parts = t.Kept+o.Kept, t.Parts+o.Parts
}

// add compares one half and reports whether the new one permits more.
func (t *Tally) add(was, is bool) bool {
	t.Compared++
	switch {
	case was == is:
		t.Equal++
	case was:
		t.Narrower++
	default:
		t.Wider++
		return true
	}
	return false
}

// mostWider is how many wider decisions of a file become diagnostics.
const mostWider = 5

type original struct {
	target contract.Judged
	contract.Original
}

// prove compares every original with the compiled project.
func prove(ctx context.Context, c *compiler.Result, originals []original, seed uint64, progress func(done, total int)) ([]Proof, diag.List) {
	proofs, diags := []Proof{}, diag.List{}
	for i, o := range originals {
		if err := context.Cause(ctx); err != nil {
			diags.Errorf(diag.Interrupted, diag.Pos{}, "stopped before the end: %v", err)
			break
		}
		was := o.Opened
		if was == nil {
			was, _ = o.target.Open(o.Files, contract.NewOptions(o.target.Options(), o.Options, nil))
		}
		is, _ := o.target.Open(c.FS(), c.Input(o.target).Options)
		for _, d := range was {
			if o.Surface != "" && d.Surface() != o.Surface {
				continue
			}
			p := prover{policy: c.Policy, original: o, was: d, seed: seed, Proof: Proof{Target: o.target.Name(), Surface: d.Surface(), File: o.File}}
			for _, x := range is {
				if x.Surface() == d.Surface() {
					p.is = x
				}
			}
			for _, ref := range o.Subjects {
				p.subject(ref)
			}
			proofs = append(proofs, p.Proof)
			diags = append(diags, p.diags...)
		}
		if progress != nil {
			progress(i+1, len(originals))
		}
	}
	return proofs, diags
}

type prover struct {
	Proof
	original
	policy *policy.Engine
	was    contract.Decider
	is     contract.Decider // nil where nothing is built for the surface
	seed   uint64
	diags  diag.List
}

func (p *prover) subject(ref ir.SubjectRef) {
	var more map[ir.Group][]ir.Pattern
	if patterned, ok := p.was.(contract.Patterned); ok {
		more = patterned.Patterns(ref)
	}
	universe, err := verify.Universe(p.policy, ref, more, p.seed)
	if err != nil {
		p.diags.Errorf(diag.BadPattern, diag.Pos{File: p.original.File}, "%v", err)
		return
	}
	for i := range universe {
		w := &universe[i]
		if w.Group == ir.Command && strings.TrimSpace(w.Arg) == "" || strings.ContainsRune(w.Arg, 0) {
			continue // nothing is run, and no system opens such a path
		}
		if (w.Group == ir.Read || w.Group == ir.Edit) && path.Clean(w.Arg) == "." {
			continue // the project's folder is no file
		}
		was := p.original.decide(p.was, ref, w.Action)
		source := contract.Answer{Decision: w.Source.Decision, Governs: contract.Both, Rule: w.Source.Rule, At: w.Source.Pos}
		var built *contract.Answer
		if p.is != nil {
			if is := p.is.Decide(ref, w.Action); is.Governs != contract.Neither {
				built = &is.Answer
			}
		}
		p.compare(ref, w.Action, was, source, &p.Source, built)
		if built != nil {
			p.compare(ref, w.Action, was, *built, &p.Built, nil)
		}
	}
}

// compare holds an answer of the new project against that of the original. For the
// source, built is what is built from it for the same agent.
func (p *prover) compare(ref ir.SubjectRef, a policy.Action, was contract.Verdict, is contract.Answer, t *Tally, built *contract.Answer) {
	half := ""
	governed := was.Governs & is.Governs
	if a.Group == ir.Command && is.Decision > was.Decision && !p.keeps(ref, was.Rule) && p.allParts(ref, a.Arg) {
		t.Compared++
		t.Parts++
		return
	}
	if governed&contract.Access != 0 && t.add(was.Decision > ir.Deny, is.Decision > ir.Deny) {
		half = "access"
		if is.Decision == ir.Ask && (built != nil && built.Decision == ir.Deny || t == &p.Source && p.keeps(ref, was.Rule)) {
			t.Wider--
			t.Kept++
			half = ""
		}
	}
	if governed&contract.Approval != 0 && t.add(was.Decision == ir.Allow, is.Decision == ir.Allow) {
		half = "approval"
	}
	if half == "" || t.Wider > mostWider {
		return
	}
	arg := a.Arg
	if a.Group == ir.MCP {
		arg = a.Server + ":" + a.Arg
	}
	d := diag.Diagnostic{Code: diag.ImportWidens, Pos: cmp.Or(was.At, diag.Pos{File: p.original.File}), Target: p.original.target.Name(), Subject: ref.String(), Group: string(a.Group), Loss: diag.Widening,
		Message: fmt.Sprintf("got %s for %s %q (%s), want %s as %s has it: %s", is.Decision, a.Group, arg, half, was.Decision, p.original.File, was.Rule), Hint: "this is a defect of modec; please report it"}
	if !is.At.IsZero() {
		d.Related = []diag.Related{{Pos: is.At, Message: "permitted by " + is.Rule}}
	}
	p.diags = append(p.diags, d)
}

// keeps reports whether a role keeps a rule for its own agent.
func (p *prover) keeps(ref ir.SubjectRef, rule string) bool {
	r := p.policy.Project().Role(ref.Role)
	return r != nil && slices.ContainsFunc(r.Native, func(c ir.NativeRule) bool { return c.Text == rule && c.Decision == ir.Deny })
}

// allParts reports whether the original allows every part of a command line.
func (p *prover) allParts(ref ir.SubjectRef, line string) bool {
	list, ok := parts(line)
	return ok && !slices.ContainsFunc(list, func(a policy.Action) bool {
		return p.original.decide(p.was, ref, a).Decision < ir.Allow
	})
}

// decide asks the original: what its agent does, by its own gaps too. Some agents
// compare a path or a host as it is written, and the source as it is cleaned: a
// file is what may be done to it by either name, and a folder what may be done to
// what lies in it.
func (o original) decide(d contract.Decider, ref ir.SubjectRef, a policy.Action) contract.Verdict {
	v := permitted(d.Decide(ref, a))
	if a.Group == ir.Web {
		a.Arg = strings.TrimSuffix(strings.ToLower(a.Arg), ".")
		if w := permitted(d.Decide(ref, a)); w.Decision > v.Decision {
			return w
		}
		return v
	}
	if a.Group != ir.Read && a.Group != ir.Edit {
		return v
	}
	for _, name := range []string{path.Clean(a.Arg), path.Clean(strings.ReplaceAll(a.Arg, `\`, "/")), path.Join(a.Arg, "modec-unlisted")} {
		if name == a.Arg || a.Arg == "" {
			continue
		}
		other := a
		other.Arg = name
		if w := permitted(d.Decide(ref, other)); w.Decision > v.Decision {
			v = w
		}
	}
	return v
}

func permitted(v contract.Verdict) contract.Verdict {
	if v.Hole != nil && v.Hole.Decision > v.Decision {
		v.Decision = v.Hole.Decision
	}
	return v
}

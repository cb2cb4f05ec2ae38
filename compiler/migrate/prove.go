package migrate

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/verify"
)

// Proof compares what an imported file decides with what the new project decides: its
// source, and its artifacts for the same agent. It compares the halves of a decision that
// the file governs.
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
	// Kept counts what the original and the new artifacts deny, and the source asks
	// about: rules that are kept for one agent, and rules about a file that the agent
	// applies to commands as well.
	Kept int `json:"kept"`
	// Parts counts combined command lines (a subshell, a variable) that the original
	// asks about or refuses as a whole, although it allows each part.
	Parts int `json:"parts"`
	// Part is one of them.
	Part string `json:"part,omitempty"`
}

// Total returns the sums of the proofs.
func (r *Report) Total() (source, built Tally) {
	for _, p := range r.Proof {
		source.sum(p.Source)
		built.sum(p.Built)
	}
	return source, built
}

func (t *Tally) sum(o Tally) {
	t.Compared += o.Compared
	t.Equal += o.Equal
	t.Narrower += o.Narrower
	t.Wider += o.Wider
	t.Kept += o.Kept
	t.Parts += o.Parts
	t.shortest(o.Part)
}

// shortest keeps the shortest combined command as the example, of those that begin with a word if there are
// any.
func (t *Tally) shortest(line string) {
	odd := func(s string) int {
		if s[0] >= 'a' && s[0] <= 'z' {
			return len(s)
		}
		return len(s) + 1<<20
	}
	if line != "" && (t.Part == "" || odd(line) < odd(t.Part)) {
		t.Part = line
	}
}

// outcome is how one half of a decision compares with the original.
type outcome int

const (
	same outcome = iota
	narrower
	wider
)

// add compares one half. said is what the original says, was what the agent makes of it, with the
// gaps that it has; is is what the new files say. A gap that is closed is no narrower than what was
// said, one that stays no wider than what was. A gap past the new files is no reason to call a refusal
// equal: what they refuse, the agent refuses in daily work.
func (t *Tally) add(said, was, is bool) outcome {
	t.Compared++
	switch {
	case is && !was:
		t.Wider++
		return wider
	case said && !is:
		t.Narrower++
		return narrower
	}
	t.Equal++
	return same
}

// mostWider is how many wider decisions of a file are reported.
const mostWider = 5

// original is an imported file and the target that judges it.
type original struct {
	target contract.Judged
	contract.Original
}

// prove compares every original with the compiled project, and with the files as a build leaves them.
func prove(
	ctx context.Context, c *compiler.Result, root fs.FS, built memfs.FS, originals []original, seed uint64,
	progress func(done, total int),
) (proofs []Proof, less []Narrowing, found []difference, diags diag.List) {
	proofs = []Proof{}
	var all narrowings
	for i, o := range originals {
		if stopped := compiler.Stopped(ctx); stopped != nil {
			diags = append(diags, stopped...)
			break
		}
		was, in := o.Opened, c.Input(o.target)
		if was == nil {
			o.Files = withRead(o, built, root)
			opt := contract.NewOptions(o.target.Options(), o.Options, nil).WithModes(in.Source.Modes)
			was, _ = o.target.Open(o.Files, opt)
		}
		is, _ := o.target.Open(built, in.Options)
		view := contract.View(o.target, c.Policy)
		for _, d := range was {
			if o.Surface != "" && d.Surface() != o.Surface {
				continue
			}
			p := prover{
				Proof:    Proof{Target: o.target.Name(), Surface: d.Surface(), File: o.File},
				original: o, policy: view, was: d, seed: seed, narrower: &all,
			}
			p.is = contract.OnSurface(is, d.Surface())
			p.alone = contract.AloneOn(o.target.Alone(view.Project()), d.Surface())
			for _, ref := range o.Subjects {
				p.subject(ref)
			}
			proofs = append(proofs, p.Proof)
			diags, found = append(diags, p.diags...), append(found, p.found...)
		}
		if progress != nil {
			progress(i+1, len(originals))
		}
	}
	return proofs, all.sorted(), found, diags
}

// withRead returns the files of an original with those of another agent that its own reads beside them, where a build
// leaves any: what they decide is decided before as it is after.
func withRead(o original, built memfs.FS, root fs.FS) fs.FS {
	reads, ok := o.target.(contract.Reading)
	if !ok {
		return o.Files
	}
	tree := memfs.FS{}
	for file := range built {
		if !reads.Reads(file) {
			continue
		}
		if data, err := contract.ReadImport(root, file); err == nil {
			tree[file] = data
		}
	}
	_ = fs.WalkDir(o.Files, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			tree[file], err = fs.ReadFile(o.Files, file)
		}
		return err
	})
	return tree
}

// prover makes the proof of one original on one surface.
type prover struct {
	Proof
	original
	policy   *policy.Engine
	was      contract.Decider
	is       contract.Decider // nil where there are no artifacts for the surface
	alone    contract.Decider // the agent by itself; nil where there is none
	seed     uint64
	found    []difference // every decision that is wider
	narrower *narrowings  // of all originals
	diags    diag.List    // some of them
}

// subject compares every action that the subject may try.
func (p *prover) subject(ref ir.SubjectRef) {
	var more map[ir.Group][]ir.Pattern
	if patterned, ok := p.was.(contract.Patterned); ok {
		more = patterned.Patterns(ref)
	}
	of := p.begun(ref)
	universe, err := verify.Universe(p.policy, of, more, p.seed)
	if err != nil {
		p.diags.Errorf(diag.BadPattern, diag.Pos{File: p.original.File}, "%v", err)
		return
	}
	text, err := p.policy.OnText().Subject(of)
	if err != nil {
		p.diags.Errorf(diag.BadPattern, diag.Pos{File: p.original.File}, "%v", err)
		return
	}
	for i := range universe {
		w := &universe[i]
		if w.Source.Named() {
			w.Source = text.Decide(w.Action)
		}
		if w.Group == ir.Command && runsNothing(w.Arg) || strings.ContainsRune(w.Arg, 0) {
			continue // no system opens such a path
		}
		if (w.Group == ir.Read || w.Group == ir.Edit) && path.Clean(w.Arg) == "." {
			continue // the project's folder is not a file
		}
		a := attempt{
			ref: ref, Action: w.Action, said: p.was.Decide(ref, w.Action).Decision,
			was: p.original.decide(p.was, ref, w.Action), by: w.Source.Pos,
			unlisted: w.Unlisted(),
		}
		source := contract.Answer{
			Decision: contract.Decision(p.original.target, &w.Source), Governs: contract.Both,
			Rule: w.Source.Rule, At: w.Source.Pos,
		}
		var built *contract.Answer
		if is := p.decided(of, w.Action); is != nil && is.Governs != contract.Neither {
			built = &is.Answer
		}
		switch {
		case source.Decision != ir.Agent:
		case built != nil:
			source = *built // the agent decides, with the rest of what is built
		default:
			source = p.byItself(of, w.Action)
		}
		p.compare(a, source, &p.Source, built)
		if built != nil {
			p.compare(a, *built, &p.Built, nil)
		}
	}
	p.tools(ref)
}

// begun returns the subject of the new project that a session of a role is: one that names no agent begins as the
// agent's own, which may be a mode now. What holds that one back held the session back.
func (p *prover) begun(ref ir.SubjectRef) ir.SubjectRef {
	s, ok := p.original.target.(contract.Starter)
	if !ok || ref.Role == "" || ref.Mode != "" {
		return ref
	}
	project := p.policy.Project()
	r, m := project.Role(ref.Role), project.Mode(s.Starts())
	if r == nil || m == nil || !r.Enters(m.Slug) {
		return ref
	}
	return ir.SubjectRef{Role: ref.Role, Mode: m.Slug}
}

// tools looks for the agent's own tools that are lost. No action stands for them, and the source
// distinguishes none of a group.
func (p *prover) tools(ref ir.SubjectRef) {
	was, ok := p.was.(contract.Tooled)
	is, builds := p.is.(contract.Tooled)
	if !ok || !builds {
		return
	}
	for _, tool := range was.OwnTools() {
		before, now := was.DecideTool(ref, tool.Name), is.DecideTool(ref, tool.Name)
		if now.Decision >= before.Decision {
			p.Built.Compared++
			p.Built.Equal++
			continue
		}
		p.compare(attempt{
			ref: ref, Action: policy.Action{Group: tool.Group, Arg: tool.Name}, said: before.Decision, was: before,
		}, now.Answer, &p.Built, nil)
	}
}

// decided returns what the agent does with what is built, nil where nothing is built for it.
func (p *prover) decided(ref ir.SubjectRef, a policy.Action) *contract.Verdict {
	if p.is == nil {
		return nil
	}
	is := p.is.Decide(ref, a)
	return &is
}

// byItself returns what the agent does by itself with what the source leaves to it. It
// governs nothing where there is no agent.
func (p *prover) byItself(ref ir.SubjectRef, a policy.Action) contract.Answer {
	if p.alone == nil {
		return contract.Answer{}
	}
	return p.alone.Decide(ref, a).Answer
}

// attempt is an action of a subject and what the original decides.
type attempt struct {
	ref ir.SubjectRef
	policy.Action
	said ir.Decision      // by the original
	was  contract.Verdict // the most that the agent makes of it
	by   diag.Pos         // the rule of the source

	unlisted bool // it stands for the tools that no rule names
}

// compare compares an answer of the new project with that of the original and counts it in
// t. For an answer of the source, built is that of the artifacts.
func (p *prover) compare(a attempt, is contract.Answer, t *Tally, built *contract.Answer) {
	if p.allowedInParts(a, is) {
		t.Compared++
		t.Parts++
		t.shortest(secret.Text(a.Arg))
		return
	}
	half, of := "", contract.Neither
	governed := a.was.Governs & is.Governs
	access, approval := same, same
	was := a.was.Decision
	if t == &p.Built && a.Group != ir.Command && !p.Another {
		was = a.said // both are files of one agent, which has its gaps with either
	}
	refused := t == &p.Built && is.Governs&contract.Access != 0 && is.Decision == ir.Deny
	if governed&contract.Access != 0 || refused && a.was.Governs != contract.Neither {
		access = t.add(a.said > ir.Deny, was > ir.Deny, is.Decision > ir.Deny)
	}
	if governed&contract.Approval != 0 {
		approval = t.add(a.said == ir.Allow, was == ir.Allow, is.Decision == ir.Allow)
	}
	if access == narrower || approval == narrower {
		p.less(a, is, t)
	}
	if access == wider {
		half, of = "access", contract.Access
		kept := built != nil && built.Decision == ir.Deny || t == &p.Source && p.keeps(a.ref, a.was.Rule)
		if is.Decision == ir.Ask && kept {
			t.Wider--
			t.Kept++
			half, of = "", contract.Neither
		}
	}
	if approval == wider {
		half, of = "approval", cmp.Or(of, contract.Approval)
	}
	if half == "" {
		return
	}
	d := difference{attempt: a, agent: p.Target, file: p.original.File, half: of}
	d.dialect, _ = p.original.target.(contract.Dialect)
	if t == &p.Built {
		d.built = is.Rule
	}
	p.found = append(p.found, d)
	if t.Wider <= mostWider {
		p.wider(a, is, half)
	}
}

// wider reports a decision that permits more than the original.
func (p *prover) wider(a attempt, is contract.Answer, half string) {
	arg := a.Arg
	if a.Group == ir.MCP {
		arg = a.Server + ":" + a.Arg
	}
	at := cmp.Or(a.was.At, diag.Pos{File: p.original.File})
	d := p.diags.Errorf(diag.ImportWidens, at, "%s %q would become %s (%s), but %s says %s: %s",
		a.Group, arg, is.Decision, half, p.original.File, a.was.Decision, a.was.Rule).
		Target(p.original.target.Name()).
		Subject(a.ref.String()).
		Loses(diag.Widening, string(a.Group)).
		Hint("take what decides it out of the file to migrate the rest, and report it: this is a defect of modec")
	if !is.At.IsZero() {
		d.Related(is.At, "permitted by "+is.Rule)
	}
}

// keeps reports whether a subject keeps a rule for its own agent.
func (p *prover) keeps(ref ir.SubjectRef, rule string) bool {
	return slices.ContainsFunc(p.policy.Project().Native(ref), func(c ir.NativeRule) bool {
		return c.Text == rule && c.Decision == ir.Deny
	})
}

// allowedInParts reports whether the new project permits more of a command line only since the original allows each
// part of it.
func (p *prover) allowedInParts(a attempt, is contract.Answer) bool {
	return a.Group == ir.Command && is.Decision > a.was.Decision &&
		!p.keeps(a.ref, a.was.Rule) && p.allParts(a.ref, a.Arg)
}

// allParts reports whether the original allows every part of a command line.
func (p *prover) allParts(ref ir.SubjectRef, line string) bool {
	list, ok := parts(line)
	return ok && !slices.ContainsFunc(list, func(a policy.Action) bool {
		return p.original.decide(p.was, ref, a).Decision < ir.Allow
	})
}

// decide returns what the agent does by the original, its known gaps included. Some agents
// compare a path or a host as it is written, the source compares it cleaned. So a file may
// be used if either name may, and a folder if a file in it may.
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
	for _, name := range []string{
		path.Clean(a.Arg), path.Clean(strings.ReplaceAll(a.Arg, `\`, "/")), path.Join(a.Arg, "modec-unlisted"),
	} {
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

// permitted returns a verdict with what the agent permits past its own files.
func permitted(v contract.Verdict) contract.Verdict {
	if v.Hole != nil && v.Hole.Decision > v.Decision {
		v.Decision = v.Hole.Decision
	}
	return v
}

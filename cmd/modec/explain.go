package main

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/suggest"
)

type explainCmd struct {
	Subject string `arg:"" optional:"" help:"A mode's slug or a role's name (\"mode:x\" or \"role:x\" where both exist)."`
	Action  string `arg:"" optional:"" help:"read, edit, command, web, mcp or modes."`
	Arg     string `arg:"" optional:"" help:"The path, command line, host, server:tool or slug."`
	Role    string `placeholder:"NAME" help:"The role that works in the mode."`
	Code    string `placeholder:"CODE" help:"Explain a diagnostic's code instead."`
}

func (explainCmd) Help() string {
	return `Prints the decision, the rule that decided and the place where it is written; then what each target's agent would do with what modec emits for it, by which line of which artifact. Exits 1 when the decision is deny.

Examples:
  modec explain architect edit docs/plan.md
  modec explain code command 'git push origin main' --role reviewer
  modec explain reviewer mcp github:create_issue --json
  modec explain --code bad-choice`
}

// explanation is the JSON of an explained decision.
type explanation struct {
	Subject  string                 `json:"subject"`
	Action   string                 `json:"action"`
	Arg      string                 `json:"arg"`
	Decision ir.Decision            `json:"decision"`
	Rule     string                 `json:"rule"`
	From     string                 `json:"from,omitempty"`
	Pos      string                 `json:"pos"`
	Targets  map[string]ir.Decision `json:"targets"` // the most that any surface of a target does
	Verdicts []verdict              `json:"verdicts"`
}

// verdict is what one agent would do with its artifacts.
type verdict struct {
	Target      string       `json:"target"`
	Surface     string       `json:"surface,omitempty"`
	Decision    ir.Decision  `json:"decision"`
	Governs     string       `json:"governs"` // both, access or approval: the half of the decision that the artifacts hold
	Rule        string       `json:"rule"`    // of the artifact
	At          string       `json:"at"`
	WithoutHook *ir.Decision `json:"withoutHook,omitempty"`
	Hole        string       `json:"hole,omitempty"`
}

func (c *explainCmd) Run(e *env) error {
	if c.Code != "" {
		return c.code(e)
	}
	if c.Arg == "" {
		return fmt.Errorf("got %s, want SUBJECT ACTION ARG, or --code CODE", count(len(slices.DeleteFunc([]string{c.Subject, c.Action, c.Arg}, func(s string) bool { return s == "" })), "argument"))
	}
	action, err := policy.ParseAction(c.Action, c.Arg)
	if err != nil {
		return err
	}
	res, diags := compiler.Compile(e.ctx, e.request())
	if diags.HasErrors() { // the source may still decide where a target cannot be emitted
		if res, diags = compiler.Open(e.ctx, e.request()); diags.HasErrors() {
			return e.ui.fail("explain", diags)
		}
	}
	ref, err := res.Project.ParseSubject(c.Subject, c.Role)
	if err != nil {
		return err
	}
	s, err := res.Policy.Subject(ref)
	if err != nil {
		return err
	}
	r := s.Decide(action)
	x := explanation{ref.String(), c.Action, c.Arg, r.Decision, r.Rule, r.From, r.Pos.String(), map[string]ir.Decision{}, []verdict{}}
	for _, v := range verdicts(res, ref, action) {
		x.Targets[v.Target] = max(x.Targets[v.Target], v.Decision)
		x.Verdicts = append(x.Verdicts, v)
	}
	if e.ui.json {
		err = e.ui.emit(x)
	} else {
		e.ui.explain(x)
	}
	if err == nil && r.Decision == ir.Deny {
		return exitCode(1)
	}
	return err
}

func (u *ui) explain(x explanation) {
	u.printf("%s: %s, %s %s\n", x.Decision, diag.Clean(x.Subject), x.Action, diag.Clean(x.Arg))
	where := x.Pos
	if strings.HasPrefix(where, ir.GuardsFile+":") {
		where = "built in; can.edit.guarded opens one"
	}
	if x.From != "" {
		where = strings.TrimPrefix(where+", inherited from "+diag.Clean(x.From), ", ")
	}
	if where != "" {
		where = "  (" + where + ")"
	}
	u.printf("  by %s%s\n", diag.Clean(x.Rule), where)
	for _, v := range x.Verdicts {
		note := ""
		switch {
		case v.Governs == "access" && v.Decision > ir.Deny:
			note = ", whether it asks is not said there"
		case v.Governs == "approval" && v.Decision < ir.Allow:
			note = ", nothing there forbids it"
		}
		if v.WithoutHook != nil && *v.WithoutHook != v.Decision {
			note += fmt.Sprintf(", %s without the hook", *v.WithoutHook)
		}
		if v.Hole != "" {
			note += ", and a hole: " + v.Hole
		}
		u.printf("%s: %s%s\n", strings.TrimSpace(v.Target+" "+v.Surface), v.Decision, diag.Clean(note))
		if u.verbose && v.Rule != "" {
			u.printf("  by %s  (%s)\n", diag.Clean(v.Rule), diag.Clean(v.At))
		}
	}
}

// verdicts asks each target's model of its agent. A surface that does not hold
// the subject says nothing.
func verdicts(res *compiler.Result, ref ir.SubjectRef, a policy.Action) []verdict {
	var out []verdict
	files := res.FS()
	for _, o := range res.Outputs {
		j, ok := o.Target.(contract.Judged)
		if !ok {
			continue
		}
		deciders, _ := j.Open(files, res.Input(o.Target).Options)
		for _, d := range deciders {
			v := d.Decide(ref, a)
			if p, ok := d.(contract.PersonDecider); ok && ref.Mode == "" {
				v = p.DecidePerson(res.Project.Role(ref.Role).Claims, a)
			}
			if v.Governs == contract.Neither {
				continue
			}
			x := verdict{Target: o.Target.Name(), Surface: d.Surface(), Decision: v.Decision, Governs: halves[v.Governs], Rule: v.Rule, At: v.At.String()}
			if v.Bare != nil && v.Bare.Governs != contract.Neither {
				x.WithoutHook = &v.Bare.Decision
			}
			if v.Hole != nil && v.Hole.Decision > v.Decision {
				x.Hole = v.Hole.Why
			}
			out = append(out, x)
		}
	}
	return out
}

var halves = map[contract.Halves]string{contract.Both: "both", contract.Access: "access", contract.Approval: "approval"}

// allCodes documents everything that modec reports.
func (e *env) allCodes() []diag.Doc {
	docs := append(compiler.Codes(), suggest.Codes()...)
	for _, t := range e.targets {
		docs = append(docs, t.Codes()...)
	}
	for _, r := range lint.All(e.targets) {
		docs = append(docs, diag.Doc{Code: r.ID, Text: r.Doc})
	}
	return docs
}

func (c *explainCmd) code(e *env) error {
	docs := e.allCodes()
	var names []string
	for _, d := range docs {
		if string(d.Code) == c.Code {
			if e.ui.json {
				return e.ui.emit(map[string]string{"code": c.Code, "text": d.Text})
			}
			e.ui.printf("%s\n\n%s\n", d.Code, wrap(d.Text, 80))
			return nil
		}
		names = append(names, string(d.Code))
	}
	slices.Sort(names)
	hint := diag.DidYouMean(c.Code, names)
	if hint == "" {
		hint = "the codes are " + strings.Join(slices.Compact(names), ", ")
	}
	return fmt.Errorf("got unknown code %q: %s", c.Code, hint)
}

// wrap breaks a paragraph at spaces so that no line is longer than width,
// unless a word is.
func wrap(text string, width int) string {
	var b strings.Builder
	col := 0
	for _, word := range strings.Fields(text) {
		switch {
		case col == 0:
		case col+1+len(word) > width:
			b.WriteByte('\n')
			col = 0
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += len(word)
	}
	return b.String()
}

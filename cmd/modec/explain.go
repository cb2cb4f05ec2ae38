package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/explain"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/suggest"
)

type explainCmd struct {
	textOrJSON
	Subject string   `arg:"" optional:"" help:"A mode's slug or a role's name, or alone FILE:LINE or FILE of an agent."`
	Action  string   `arg:"" optional:"" help:"read, edit, command, web, mcp, modes or unknown."`
	Arg     []string `arg:"" optional:"" help:"The path, command line in quotes, host, server:tool, slug or tool."`
	Args    string   `placeholder:"JSON" help:"The arguments of a call of mcp: {\"repo\": \"acme/x\"}."`
	Role    string   `placeholder:"NAME" help:"The role that works in the mode."`
	Code    string   `placeholder:"CODE" help:"Explain a diagnostic's code instead; list: list the codes."`
}

func (explainCmd) reports() []any {
	return []any{report.ExplainReport{}, lineReport{}, report.CodeReport{}, report.Outcome{}}
}

func (c *explainCmd) Run(e *env) error {
	if c.Code != "" {
		return c.code(e)
	}
	switch {
	case c.Subject != "" && c.Action == "":
		return c.line(e)
	case len(c.Arg) == 0 || c.Arg[0] == "":
		return errors.New("an explanation needs a subject, an action and its argument: " +
			"`modec explain SUBJECT ACTION ARG`, `modec explain FILE:LINE`, or `modec explain --code CODE`")
	case len(c.Arg) > 1:
		return fmt.Errorf("got %d arguments of the action %s, want one: put it in quotes", len(c.Arg), c.Action)
	}
	arg := c.Arg[0]
	if g := ir.Group(c.Action); g == ir.Read || g == ir.Edit {
		arg = e.inProject(arg)
	}
	action, err := policy.ParseAction(c.Action, arg)
	if err != nil {
		return err
	}
	if action.Args = c.Args; c.Args != "" {
		var object map[string]any
		if err := json.Unmarshal([]byte(c.Args), &object); err != nil || object == nil || action.Group != ir.MCP {
			return fmt.Errorf("got --args %q, want a JSON object, for a call of mcp", c.Args)
		}
	}
	res, diags := compiler.Compile(e.ctx, e.request())
	if diags.HasErrors() { // the source may still decide where a target cannot be emitted
		if res, diags = compiler.Open(e.ctx, e.request()); diags.HasErrors() {
			return e.ui.Fail(diags)
		}
	}
	ref, err := res.Project.ParseSubject(c.Subject, c.Role)
	if err != nil {
		return err
	}
	x, diags, err := explain.Action(e.ctx, res, e.disk(), ref,
		explain.Question{Name: c.Action, Arg: arg, Action: action})
	if err != nil {
		return err
	}
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	if e.ui.JSON {
		err = e.ui.Emit(report.ExplainReport{Envelope: e.ui.Envelope(), Explanation: x})
	} else {
		e.ui.Explain(x)
	}
	if err == nil && x.Decision == ir.Deny {
		return report.ExitFindings
	}
	return err
}

// disk returns the disk that the project is on.
func (e *env) disk() *contract.Disk {
	home, _ := os.UserHomeDir()
	return &contract.Disk{Root: e.dir, Home: home, Resolve: contract.ResolveLinks, Same: contract.SameFolder,
		Folds: true}
}

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

// listCodes is what --code takes in place of a code.
const listCodes = "list"

// codes lists the codes.
func (c *explainCmd) codes(e *env, names []string) error {
	if e.ui.JSON {
		return e.ui.Emit(report.CodeReport{Envelope: e.ui.Envelope(), Code: c.Code, Text: strings.Join(names, "\n")})
	}
	for _, name := range names {
		e.ui.Printf("%s\n", name)
	}
	return nil
}

// code explains a code.
func (c *explainCmd) code(e *env) error {
	var names []string
	for _, d := range e.allCodes() {
		if string(d.Code) == c.Code {
			if e.ui.JSON {
				return e.ui.Emit(report.CodeReport{Envelope: e.ui.Envelope(), Code: c.Code, Text: d.Text})
			}
			e.ui.Printf("%s\n\n%s\n", d.Code, report.Wrap(d.Text, 80))
			return nil
		}
		names = append(names, string(d.Code))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if c.Code == listCodes {
		return c.codes(e, names)
	}
	hint := diag.DidYouMean(c.Code, names)
	return fmt.Errorf("unknown code %q: `modec explain --code list` lists the codes%s", c.Code, report.HintOf(hint))
}

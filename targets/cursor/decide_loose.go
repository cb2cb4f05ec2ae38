package cursor

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// looseLine says what of a line the engine does not hold against its lists; ""
// where it holds all of it. An entry names a command, so that this is a hole of
// the agent: no token closes it, the hook does (@cursor/sdk 1.0.32).
func looseLine(line string) string {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return "the engine finds commands in a line that no shell runs"
	}
	why := ""
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Assigns) > 0 {
				why = "the engine takes assignments for no part of a command"
			} else if len(n.Args) > 0 && notCommands[slice(line, n.Args[0])] {
				why = "the engine takes declarations and tests for no commands"
			}
		case *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd:
			why = "the engine takes declarations and tests for no commands"
		case *syntax.Redirect:
			switch to, static := "", false; n.Op {
			case syntax.DplOut, syntax.DplIn:
			default:
				if n.Word != nil {
					to, static = literalWord(n.Word)
				}
				if !static || to != "/dev/null" {
					why = "the engine takes redirects inside the workspace for harmless"
				}
			}
		}
		return why == ""
	})
	return why
}

// strictly returns what the lists say of a command line, and the hole by which
// the engine runs it all the same.
func strictly(a contract.Answer, line string) (contract.Answer, *contract.Hole) {
	if a.Decision != ir.Allow || a.Governs&contract.Approval == 0 {
		return a, nil
	}
	why := looseLine(line)
	if why == "" {
		return a, nil
	}
	a.Decision = ir.Ask
	return a, &contract.Hole{Decision: ir.Allow, Why: why}
}

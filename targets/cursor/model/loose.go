package model

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// looseLine returns what of a line the engine does not compare with its lists; "" where it
// compares all of it. An entry names a command, so that this is a hole of the agent: no
// token closes it, the hook does (@cursor/sdk 1.0.32).
func looseLine(line string) string {
	f, err := policy.ParseLine(line)
	if err != nil {
		return "the engine finds commands in a line that no shell runs"
	}
	if strings.Contains(line, "\\\n") {
		return "the engine joins a command that goes on behind a line break"
	}
	why := ""
	syntax.Walk(f, func(n syntax.Node) bool {
		if why == "" {
			why = looseNode(line, n)
		}
		return why == ""
	})
	return why
}

func looseNode(line string, n syntax.Node) string {
	const declares = "the engine takes declarations and tests for no commands"
	switch n := n.(type) {
	case *syntax.Stmt:
		if call, ok := n.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 1 {
			at, redirected := policy.RedirectBehind(call.Args[0], n.Redirs)
			if redirected && call.Args[len(call.Args)-1].Pos().After(at) {
				return "the engine compares no word behind a redirect"
			}
		}
	case *syntax.CallExpr:
		if len(n.Assigns) > 0 || len(n.Args) > 0 && looksAssigned.MatchString(slice(line, n.Args[0])) {
			return "the engine takes assignments for no part of a command"
		}
		if len(n.Args) > 0 && notCommands[slice(line, n.Args[0])] {
			return declares
		}
		redirects := func(w *syntax.Word) bool { return strings.ContainsAny(slice(line, w), "<>") }
		if len(n.Args) > 1 && slices.ContainsFunc(n.Args[1:], redirects) {
			return "the engine does not look for redirects in a text that another shell may run"
		}
	case *syntax.CmdSubst, *syntax.ProcSubst:
		return "the engine compares the commands of a substitution, and not what it makes of the command around it"
	case *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd:
		return declares
	case *syntax.Redirect:
		if n.Op == syntax.DplOut || n.Op == syntax.DplIn {
			return ""
		}
		if n.Word != nil {
			if to, static := literalWord(n.Word); static && to == "/dev/null" {
				return ""
			}
		}
		return "the engine takes redirects inside the workspace for harmless"
	}
	return ""
}

// looseName is why the engine runs a command for which no token was written.
const looseName = "the engine takes an entry COMMAND:ARGS for a program of that name too"

// looseTool is why the engine runs a tool that no entry names as it is written.
const looseTool = "Cursor compares the names of tools without case"

// otherwiseWritten reports whether entries let a tool run that they have in another case only.
func (d *decider) otherwiseWritten(s setup, id, tool string) bool {
	matched, written := false, false
	switch {
	case d.surface == cli && s.tokens != nil:
		matched, written = anyNames(s.tokens.allow, id, tool)
	case d.surface == ide && s.permissions != nil:
		matched, written = anyNames(s.permissions.globs, id, tool)
		for _, e := range s.permissions.mcp {
			matches := e.Matches(id, tool)
			matched, written = matched || matches, written || matches && (e.Tool == "*" || format.Trim(e.Tool) == tool)
		}
	}
	return matched && !written
}

// anyNames reports whether a token matches a tool, and whether one does with the case of its name.
func anyNames(tokens []token, id, tool string) (matched, written bool) {
	for i := range tokens {
		if t := &tokens[i]; t.Keyword == format.MCP && t.matchesMCP(id, tool) {
			matched, written = true, written || t.names(tool)
		}
	}
	return matched, written
}

// strictly returns what the lists say of a command line, and the hole by which
// the engine runs it all the same.
func strictly(a contract.Answer, line string, allow []token) (contract.Answer, *contract.Hole) {
	if a.Decision != ir.Allow || a.Governs&contract.Approval == 0 {
		return a, nil
	}
	why := looseLine(line)
	unmeant := func(command string) bool {
		return !slices.ContainsFunc(allow, func(t token) bool { return t.means(command) })
	}
	if why == "" && len(allow) > 0 && slices.ContainsFunc(splitShell(line).commands, unmeant) {
		why = looseName
	}
	if why == "" {
		return a, nil
	}
	a.Decision = ir.Ask
	return a, &contract.Hole{Decision: ir.Allow, Why: why}
}

// names reports whether a token that matches a tool does so with the case of its name.
func (t *token) names(tool string) bool { return t.anySecond || t.written.match(tool) }

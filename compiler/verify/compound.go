package verify

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// eachAllowed reports whether a line is a list of commands each of which the source allows, or leaves to
// an agent that allows it by itself or by a rule of its own.
func (j *job) eachAllowed(ref ir.SubjectRef, line string) bool {
	f, err := policy.ParseLine(line)
	if err != nil {
		return false
	}
	commands, plain := simpleCommands(line, f.Stmts)
	subject, err := j.target.Input.Policy.Subject(ref)
	if !plain || len(commands) < 2 || err != nil {
		return false
	}
	return !slices.ContainsFunc(commands, func(command string) bool {
		a := policy.Action{Group: ir.Command, Arg: command}
		switch subject.Decide(a).Decision {
		case ir.Allow:
			return false
		case ir.Agent:
			itself := j.alone != nil && whole(j.alone.Decide(ref, a)).Decision == ir.Allow
			return !itself && !j.allowsNatively(ref, a)
		}
		return true
	})
}

// allowsNatively reports whether a subject's rule in the agent's own words allows an action.
func (j *job) allowsNatively(ref ir.SubjectRef, a policy.Action) bool {
	v := j.decider.Decide(ref, a)
	if v.Bare != nil && v.Bare.Decision == ir.Allow && j.ownRuleOf(ref, ir.Allow, v.Bare.Rule) != nil {
		return true
	}
	return j.ownRuleOf(ref, ir.Allow, v.Rule) != nil
}

// simpleCommands returns the commands of statements that are joined by signs alone, and those of which a command takes
// what they print, in whose place there stands a word. It reports false for any other statement.
func simpleCommands(line string, stmts []*syntax.Stmt) (commands []string, ok bool) {
	for _, s := range stmts {
		if len(s.Redirs) > 0 || s.Negated || s.Coprocess {
			return nil, false
		}
		switch c := s.Cmd.(type) {
		case *syntax.CallExpr:
			if len(c.Assigns) > 0 {
				return nil, false
			}
			inner, text, ok := taken(line, c)
			if !ok {
				return nil, false
			}
			commands = append(append(commands, text), inner...)
		case *syntax.BinaryCmd:
			both, ok := simpleCommands(line, []*syntax.Stmt{c.X, c.Y})
			if !ok {
				return nil, false
			}
			commands = append(commands, both...)
		default:
			return nil, false
		}
	}
	return commands, true
}

// taken returns the commands whose output a command takes, and the command with a word in the place of each.
func taken(line string, c *syntax.CallExpr) (commands []string, text string, ok bool) {
	from, ok := c.Pos().Offset(), true
	syntax.Walk(c, func(n syntax.Node) bool {
		var of []*syntax.Stmt
		switch n := n.(type) {
		case *syntax.CmdSubst:
			of = n.Stmts
		case *syntax.ProcSubst:
			of = n.Stmts
		default:
			return true
		}
		inner, plain := simpleCommands(line, of)
		commands, ok = append(commands, inner...), ok && plain
		text += line[from:n.Pos().Offset()] + "x"
		from = n.End().Offset()
		return false
	})
	return commands, text + line[from:c.End().Offset()], ok
}

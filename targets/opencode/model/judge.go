package model

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// outcome is what opencode decides.
type outcome struct {
	decision ir.Decision
	rule     string
	at       diag.Pos
}

// least returns the lower of two outcomes.
func least(a, b outcome) outcome {
	if b.decision < a.decision {
		return b
	}
	return a
}

// judge decides an action.
func (s *session) judge(a policy.Action) contract.Verdict {
	var o outcome
	var hole *contract.Hole
	switch a.Group {
	case ir.Read:
		o, hole = s.file(format.Read, a.Arg)
		if hole == nil && o.decision < ir.Allow {
			hole = s.searches(o.decision)
		}
	case ir.Edit:
		o, hole = s.file(format.Edit, a.Arg)
	case ir.Command:
		o, hole = s.line(a.Arg)
	case ir.Web:
		o = s.web(a.Arg)
	case ir.Modes:
		o = s.agent(a.Arg)
	case ir.MCP:
		switch a.Kind {
		case policy.Tool:
			o = s.ask(format.ToolKey(a.Server, a.Arg), format.Every)
		case policy.Resource:
			o = s.ask(format.Read, format.ResourcePattern(a.Server, a.Arg))
		default: // a person invokes it
			return contract.Verdict{Answer: contract.Answer{Decision: ir.Allow, Rule: "a person invokes prompts"}}
		}
	default:
		if o = s.ask(a.Arg, format.Every); o.decision == ir.Ask {
			o.decision, o.rule = ir.Allow, "opencode asks about no tool of a plugin"
		}
	}
	return contract.Verdict{Hole: hole, Answer: contract.Answer{Decision: o.decision, Governs: contract.Both,
		Rule: o.rule, At: o.at}}
}

// ask decides as opencode asks its rules. A tool that is denied whole is not there.
func (s *session) ask(key, text string) outcome {
	for i := len(s.rules) - 1; i >= 0; i-- {
		if r := &s.rules[i]; format.Match(r.Key, key) {
			if r.Pattern == format.Every && r.Decision == ir.Deny {
				return outcome{ir.Deny, r.Text(), r.At}
			}
			break
		}
	}
	if r := format.Last(s.rules, key, text); r != nil {
		return outcome{r.Decision, r.Text(), r.At}
	}
	return outcome{decision: ir.Ask, rule: "opencode asks where no rule decides"}
}

// elsewhere matches names that a shell, or Windows, takes for a path outside.
var elsewhere = regexp.MustCompile(`^(?:~|[A-Za-z]:)`)

// file decides a call of a tool for files.
func (s *session) file(key, name string) (outcome, *contract.Hole) {
	if strings.ContainsRune(name, 0) {
		return outcome{decision: ir.Deny, rule: "no file has such a name"}, nil
	}
	clean := path.Clean(name)
	about := func(decide func(key, text string) outcome) outcome { return decide(key, clean) }
	switch {
	case path.IsAbs(clean), clean == "..", strings.HasPrefix(clean, "../"):
		inner := clean
		if path.IsAbs(clean) {
			inner = "../.." + clean
		}
		about = func(decide func(key, text string) outcome) outcome {
			return least(decide(format.Outside, clean+"/*"), decide(key, inner))
		}
	case clean == "." && key == format.Edit:
		return outcome{decision: ir.Deny, rule: "no tool edits a folder"}, nil
	case clean == ".":
		clean = ""
	}
	o := about(s.ask)
	switch alike := about(s.inAnyCase); {
	case strings.Contains(name, `\`):
		return outcome{ir.Deny, o.rule, o.at}, &contract.Hole{Decision: o.decision,
			Why: "opencode compares a backslash in a name as a slash"}
	case elsewhere.MatchString(name):
		return outcome{ir.Deny, o.rule, o.at}, &contract.Hole{Decision: o.decision,
			Why: "opencode takes such a name for a file of the project"}
	case alike.decision < o.decision:
		return alike, &contract.Hole{Decision: o.decision,
			Why: "opencode compares letters as they are written, and a file system may take them for others"}
	}
	return o, nil
}

// inAnyCase decides as if what holds back were compared in any case.
func (s *session) inAnyCase(key, text string) outcome {
	if o := s.ask(key, text); o.decision == ir.Deny {
		return o
	}
	fold := policy.Fold(text)
	for i := len(s.rules) - 1; i >= 0; i-- {
		r := &s.rules[i]
		if !format.Match(r.Key, key) {
			continue
		}
		if format.Match(r.Pattern, text) || r.Decision < ir.Allow && format.Match(policy.Fold(r.Pattern), fold) {
			return outcome{r.Decision, r.Text(), r.At}
		}
	}
	return outcome{decision: ir.Ask}
}

// searches returns the hole through which searching shows what may not be read.
func (s *session) searches(least ir.Decision) *contract.Hole {
	most := least
	for _, key := range format.Searches {
		most = max(most, s.ask(key, "x").decision)
	}
	if most == least {
		return nil
	}
	return &contract.Hole{Decision: most, Why: "grep and glob show the files below a folder that may not be read"}
}

// web decides fetching a page of a host, in the most permissive of ways to ask for it, or searching.
func (s *session) web(host string) outcome {
	if host == "" {
		return s.ask(format.WebSearch, "x")
	}
	best := s.ask(format.WebFetch, addresses[0].before+host+addresses[0].after)
	for _, a := range addresses[1:] {
		if o := s.ask(format.WebFetch, a.before+host+a.after); o.decision > best.decision {
			best = o
		}
	}
	return best
}

// addresses are ways to ask for a host's page.
var addresses = []struct{ before, after string }{
	{"https://", ""}, {"https://", "/"}, {"https://", "/a/b"}, {"http://", "/"}, {"https://", "?a"},
}

// agent decides handing work to an agent.
func (s *session) agent(name string) outcome {
	if on, known := s.agents[name]; known && !on {
		return outcome{decision: ir.Deny, rule: "the agent is off"}
	}
	return s.ask(format.Task, name)
}

// line decides a line of the shell.
func (s *session) line(line string) (outcome, *contract.Hole) {
	if hidden(s, format.Bash) {
		return s.ask(format.Bash, line), nil
	}
	commands, unseen, ok := split(line)
	if !ok {
		o := s.ask(format.Bash, strings.TrimSpace(line))
		return outcome{ir.Deny, o.rule, o.at}, &contract.Hole{Decision: o.decision,
			Why: "opencode takes a line that no shell reads for a command"}
	}
	o := outcome{decision: ir.Allow, rule: "opencode asks about commands, and the line has none"}
	lower := o
	why := "opencode asks about commands: a redirect, an assignment, a test or cd by itself runs unasked"
	if len(commands) == 0 {
		unseen = append(unseen, line)
	}
	for _, c := range commands {
		o = least(o, s.ask(format.Bash, c))
	}
	lower = o
	for _, part := range unseen {
		lower = least(lower, s.ask(format.Bash, part))
	}
	for _, c := range commands {
		if of := s.expanded(c); of.decision < lower.decision {
			lower, why = of, "no pattern of opencode tells that a shell puts names of files in the place of a *"
		}
	}
	if lower.decision == o.decision {
		return o, nil
	}
	return lower, &contract.Hole{Decision: o.decision, Why: why}
}

// expanded returns the least that is decided about what a command may become where a shell puts names of files into it.
func (s *session) expanded(command string) outcome {
	o := s.ask(format.Bash, command)
	if !strings.ContainsAny(command, "*?[") {
		return o
	}
	text := []rune(anyName.ReplaceAllString(command, "*"))
	for i := range s.rules {
		r := &s.rules[i]
		if r.Decision < o.decision && r.Pattern != format.Every && format.Match(r.Key, format.Bash) &&
			format.Meet([]rune(r.Pattern), text) {
			o = outcome{r.Decision, r.Text(), r.At}
		}
	}
	return o
}

var anyName = regexp.MustCompile(`\[[^\]]*\]|\?`)

// hidden reports whether a tool is not there.
func hidden(s *session, key string) bool {
	for i := len(s.rules) - 1; i >= 0; i-- {
		if r := &s.rules[i]; format.Match(r.Key, key) {
			return r.Pattern == format.Every && r.Decision == ir.Deny
		}
	}
	return false
}

// split returns the commands of a line, and its parts that opencode does not see; false where it does not parse.
func split(line string) (commands, unseen []string, ok bool) {
	f, err := policy.ParseLine(line)
	if err != nil {
		return nil, nil, false
	}
	text := func(from, to syntax.Pos) string {
		a, b := int(from.Offset()), int(to.Offset())
		return strings.TrimSpace(line[min(a, len(line)):min(b, len(line))])
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		stmt, is := n.(*syntax.Stmt)
		if !is {
			return true
		}
		whole := text(stmt.Pos(), stmt.End())
		call, is := stmt.Cmd.(*syntax.CallExpr)
		switch {
		case is && len(call.Args) > 0 && !slices.Contains(unchecked, call.Args[0].Lit()):
			own := text(call.Pos(), call.End())
			if len(stmt.Redirs) > 0 {
				own = strings.TrimSuffix(whole, ";")
			}
			commands = append(commands, own)
		case is, stmt.Cmd == nil, stmt.Redirs != nil:
			unseen = append(unseen, whole)
		default:
			switch stmt.Cmd.(type) {
			case *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
				unseen = append(unseen, whole)
			}
		}
		return true
	})
	return commands, unseen, true
}

// unchecked are commands about which opencode asks no rule.
var unchecked = []string{"cd", "[", "unset"}

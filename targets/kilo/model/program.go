package model

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/kilo/format"
	opencode "modec.dev/modec/targets/opencode/format"
	"modec.dev/modec/targets/opencode/model"
)

// program is how Kilo decides by rules.
var program = &model.Program{
	Title: "Kilo", Searches: format.Searches, Last: last, Edit: protected, Split: split, Command: command,
	Known: model.Known,
	Asks:  asks, Apart: opencode.Outside,
	Tools: strings.Fields("agent_manager background_process board_post board_read browser_open cancel_wakeup " +
		"cron_create cron_delete cron_list goal kilo_local_recall kilo_memory_recall kilo_memory_save link_pr " +
		"notebook_edit notebook_execute notebook_read recall repo_clone repo_overview schedule_wakeup"),
}

// last decides by the last rule that matches. One that allows every file says nothing of the secret ones.
func last(rules []opencode.Rule, key, text string) model.Outcome {
	r := opencode.Last(rules, key, text)
	switch {
	case r == nil:
		return model.Unsaid(ir.Ask, "Kilo asks where no rule decides")
	case key == opencode.Read && r.Decision == ir.Allow && format.IsSecret(text) &&
		(r.Key == opencode.Every || r.Pattern == opencode.Every):
		return model.Unsaid(ir.Ask, "Kilo asks about .env where no rule of its own allows it")
	}
	return model.Outcome{Decision: r.Decision, Rule: r.Text(), At: r.At}
}

// asks returns the files about which Kilo asks, though a rule allows them.
func asks(sp *regexlang.Space, g ir.Group, r *opencode.Rule) regexlang.Language {
	switch {
	case g == ir.Edit:
		return format.ProtectedFiles(sp)
	case g == ir.Read && (r.Key == opencode.Every || r.Pattern == opencode.Every):
		return format.SecretFiles(sp)
	}
	return regexlang.None
}

// protected asks about Kilo's own settings, whatever is allowed.
func protected(name string, o model.Outcome) model.Outcome {
	if o.Decision == ir.Allow && format.Protected(name) {
		return model.Unsaid(ir.Ask, "Kilo asks before it writes its own settings, and AGENTS.md")
	}
	return o
}

// unchecked are commands about which Kilo asks no rule.
var unchecked = []string{"cd", "chdir", "popd", "pushd", "push-location", "set-location"}

// noCommands are none to its parser.
var noCommands = []string{"[", "unset"}

// split returns the commands of a line, and its parts that Kilo does not see; false where it does not parse. A line
// without a command is compared as a whole.
func split(line string) (commands, unseen []string, ok bool) {
	f, err := policy.ParseLine(line)
	if err != nil {
		return nil, nil, false
	}
	masked := mask(line, f)
	text := func(in []byte, from, to syntax.Pos) string {
		a, b := int(from.Offset()), int(to.Offset())
		return strings.TrimSpace(string(in[min(a, len(in)):min(b, len(in))]))
	}
	some, compared := false, model.Compared(f)
	syntax.Walk(f, func(n syntax.Node) bool {
		stmt, is := n.(*syntax.Stmt)
		if !is {
			return true
		}
		part := compared(stmt)
		whole := text([]byte(line), part.Begin, part.End)
		call, is := stmt.Cmd.(*syntax.CallExpr)
		switch {
		case is && len(call.Args) > 0 && !part.Timed && slices.Contains(unchecked, call.Args[0].Lit()):
			some, unseen = true, append(unseen, whole)
		case is && len(call.Args) > 0 && !slices.Contains(noCommands, call.Args[0].Lit()):
			some = true
			commands = append(commands, text(masked, part.From, part.To))
			if part.Apart {
				unseen = append(unseen, text(masked, part.Begin, part.End))
			}
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
	if !some {
		return []string{strings.TrimSpace(line)}, unseen, true
	}
	return commands, unseen, true
}

// signs are the characters that Kilo replaces in words and quotes before it compares them.
const signs = "<>|&;$`\n"

// mask replaces the signs of words and quotes, and redirects to nothing, as Kilo does.
func mask(line string, f *syntax.File) []byte {
	out := []byte(line)
	hide := func(from, to syntax.Pos) {
		for i := int(from.Offset()); i < min(int(to.Offset()), len(out)); i++ {
			if strings.IndexByte(signs, out[i]) >= 0 {
				out[i] = '_'
			}
		}
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			hide(n.Pos(), n.End())
		case *syntax.SglQuoted:
			hide(n.Pos(), n.End())
		case *syntax.Redirect:
			if harmless(n) {
				hide(n.OpPos, n.End())
			}
			if n.Hdoc != nil { // with the line break before it
				if at := int(n.Hdoc.Pos().Offset()) - 1; at >= 0 && at < len(out) && out[at] == '\n' {
					out[at] = '_'
				}
			}
		}
		return true
	})
	return out
}

// harmless reports whether a redirect goes nowhere.
func harmless(r *syntax.Redirect) bool {
	if r.Word == nil {
		return false
	}
	to := r.Word.Lit()
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		return to == "/dev/null"
	case syntax.DplOut, syntax.DplIn:
		return to == "-" || to != "" && strings.Trim(to, "0123456789") == ""
	}
	return false
}

// command returns the texts of plain commands that a pattern matches: their signs stand in quotes, where they are
// replaced, but for a variable in double quotes.
func command(sp *regexlang.Space, pattern string) (regexlang.Language, error) {
	replaced := func(r rune) rune {
		if strings.ContainsRune(signs, r) {
			return '_'
		}
		return r
	}
	switch {
	case strings.Trim(pattern, "*") == "$":
		return sp.Go(`(?s)\A(?:[^'"]|'[^']*'|"[^"$]*")*"[^"$]*\$.*\z`)
	case strings.ContainsAny(pattern, signs):
		return regexlang.None, nil
	case strings.Contains(pattern, "_"):
		return opencode.Language(sp, pattern, replaced)
	}
	return opencode.Language(sp, pattern, opencode.AsWritten)
}

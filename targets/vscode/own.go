package vscode

import (
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/vscode/format"
)

var _ contract.Restating = vscode{}

// RuleLists returns the lists of what the settings say. A role has them in agents.vscode.native alone: can says
// the same for every agent.
func (vscode) RuleLists() []contract.RuleList {
	return []contract.RuleList{{Decision: ir.Ask}, {Decision: ir.Allow}}
}

// BadRule returns the code of a text that no setting says.
func (vscode) BadRule() diag.Code { return codeBadSetting }

// TranslateRule keeps every text as it is: what the source can say stands in can.
func (vscode) TranslateRule(
	text string, d ir.Decision, _ contract.Inventory,
) ([]contract.NeutralRule, bool, error) {
	_, _, err := format.ParseEntry(text, d)
	return nil, false, err
}

// Restate says in can what an entry of plain words, or one that a build made of such, says of commands, and what one
// says of files.
func (vscode) Restate(text string, d ir.Decision) (rule contract.NeutralRule, ok bool) {
	command, file, err := format.ParseEntry(text, d)
	switch {
	case err != nil:
		return rule, false
	case command != nil && command.Line:
		return contract.NeutralRule{Group: ir.Command}, false
	case file != nil:
		return contract.NeutralRule{Group: ir.Edit, Pattern: ir.Pattern{Text: file.Glob}}, true
	}
	begin, more := command.Key, " *"
	if m := beginning().FindStringSubmatch(begin); m != nil {
		begin = strings.ReplaceAll(m[1], `\`, "")
		if m[2] == "$" {
			more = ""
		}
	}
	rule = contract.NeutralRule{Group: ir.Command, Pattern: ir.Pattern{Text: begin + more}}
	return rule, literal().MatchString(begin)
}

var (
	// beginning matches an expression of how a command begins, or of all of it.
	beginning = lazy.Regexp(`\A/\^((?:[\w /:@%=,-]|\\\W)+)(\( \|\$\)|\$|\\b)/\z`)
	// literal matches words of a command that mean themselves.
	literal = lazy.Regexp(`\A[\w./:@%+-]+( [\w./:@%+=,-]+)*\z`)
)

// ownEntries are the entries that the baseline has in the words of VS Code.
type ownEntries struct {
	terminal, edits []ir.NativeRule
}

// own returns them, and reports what is in such words of another role.
func (e *emitter) own() *ownEntries {
	var own ownEntries
	for i := range e.in.Project.Roles {
		r := &e.in.Project.Roles[i]
		if r.Name == e.everybody {
			contract.LeaveOut(&e.diags, codeNativeRule, name, "role "+r.Name, r.Native...)
		}
		for _, n := range r.Native {
			command, _, err := format.ParseEntry(n.Text, n.Decision)
			switch {
			case n.Target != name || err != nil:
			case r.Name != e.everybody:
				e.diags.Warnf(codeSetting, n.Pos, "settings hold for every session, and %q is for role %s: it is left "+
					"out", n.Text, r.Name).
					Hint("say it in can, or make the role the baseline (targets.vscode.subject)").
					Target(name).
					Subject("role "+r.Name).
					Loses(diag.Narrowing, string(ir.Unknown))
			case command != nil:
				own.terminal = append(own.terminal, n)
			default:
				own.edits = append(own.edits, n)
			}
		}
	}
	return &own
}

// commands returns the entries about commands.
func (o *ownEntries) commands() (list entries) {
	for _, n := range o.terminal {
		r, _, err := format.ParseEntry(n.Text, n.Decision)
		switch {
		case err != nil:
		case r.Line:
			list.add(r.Key, contract.Object{"approve", r.Approve, "matchCommandLine", on})
		default:
			list.add(r.Key, r.Approve)
		}
	}
	return list
}

// files returns the entries about files.
func (o *ownEntries) files() (list entries) {
	var rules []format.EditRule
	for _, n := range o.edits {
		if _, r, err := format.ParseEntry(n.Text, n.Decision); err == nil {
			rules = append(rules, *r)
		}
	}
	for _, r := range format.InOrder(rules) {
		list.add(r.Glob, r.Approve)
	}
	return list
}

// beaten reports entries in VS Code's own words of a group that the source decides.
func (e *emitter) beaten(g ir.Group, own []ir.NativeRule) {
	for _, n := range own {
		e.loss(g, codeSetting, n.Pos, "can says what role %s may do of %s, and %q is VS Code's own: it is left out",
			e.everybody, g, n.Text).
			Hint("say it in can")
	}
}

// alike reports whether an entry of a file says what the emitted one does: an entry about commands has two forms, and
// of those about files the order decides.
func alike(place string, have, emitted []byte) bool {
	is, err := located.JSONC("", have)
	want, wrong := located.JSONC("", emitted)
	if err != nil || wrong != nil {
		return false
	}
	switch {
	case strings.HasPrefix(place, "/"+format.TerminalKey+"/"):
		approve, line, ok := format.Says(is)
		approves, lines, says := format.Says(want)
		return ok && says && approve == approves && line == lines
	case place == "/"+format.EditsKey:
		return slices.EqualFunc(is.Fields(), want.Fields(), func(a, b located.Member) bool {
			return a.Key == b.Key && reflect.DeepEqual(a.Value.Any(), b.Value.Any())
		})
	}
	return reflect.DeepEqual(is.Any(), want.Any())
}

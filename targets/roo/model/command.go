package model

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
)

// command decides by the group, and by the ignore file for the arguments of what reads
// files (src/core/tools/ExecuteCommandTool.ts, RooIgnoreController.validateCommand).
//
// A file that a redirect opens is one that the mode edits or reads. What the
// artifacts say of it execute_command does not ask, which is its hole.
func (d *decider) command(m *mode, line string) contract.Verdict {
	g, ok := m.groups["command"]
	if !ok {
		return verdict(ir.Deny, contract.Access, "no group command", m.at)
	}
	if r := d.ignore.command(line); r != nil {
		return verdict(ir.Deny, contract.Access, r.text, d.ignore.pos(r))
	}
	v := verdict(ir.Ask, contract.Access, g.text, g.at)
	for _, f := range opens(line) {
		part, does := d.edit(m, f.path), writesAny
		if f.group == ir.Read {
			part, does = d.read(m, f.path), readsAny
		}
		if _, ok := m.groups[string(f.group)]; f.path == "" && ok {
			continue // a file that the mode may open, for all that is known
		}
		switch {
		case part.Decision == ir.Deny:
			v = verdict(ir.Deny, contract.Access, part.Rule, part.At)
			v.Hole = m.terminal(does)
			return v
		case part.Governs == contract.Neither:
			v.Governs, v.Hole = contract.Neither, part.Hole
		}
	}
	return v
}

// openedFile is a file that a redirect of a line opens.
type openedFile struct {
	group ir.Group
	path  string // "" where the line does not say it
}

// opens returns the files that the redirects of a line open.
func opens(line string) []openedFile {
	r := redirectReader{}
	r.script(line, ".")
	return r.files
}

// redirectReader reads a line's redirects. A folder is relative to the root, ""
// where it is not known.
type redirectReader struct {
	files   []openedFile
	scripts int
}

// Limits of what is read: beyond them no redirect is seen.
const (
	maxScripts   = 32
	maxLineBytes = 64 << 10
	maxOpened    = 200 // brackets, which cost the parser most
)

func (r *redirectReader) script(text, dir string) {
	r.scripts++
	opened := strings.Count(text, "(") + strings.Count(text, "{")
	if r.scripts > maxScripts || len(text) > maxLineBytes || opened > maxOpened {
		return
	}
	if f, err := policy.ParseLine(text); err == nil {
		r.list(f.Stmts, dir)
	}
}

// list reads statements and returns the folder after them.
func (r *redirectReader) list(stmts []*syntax.Stmt, dir string) string {
	for _, s := range stmts {
		dir = r.stmt(s, dir)
	}
	return dir
}

func (r *redirectReader) stmt(s *syntax.Stmt, dir string) string {
	for _, to := range s.Redirs {
		r.redirect(to, dir)
	}
	switch x := s.Cmd.(type) {
	case *syntax.CallExpr:
		return r.call(x, s.Redirs, dir)
	case *syntax.BinaryCmd:
		after := r.stmt(x.X, dir)
		if x.Op == syntax.AndStmt || x.Op == syntax.OrStmt {
			dir = after
		}
		return r.stmt(x.Y, dir)
	case *syntax.Block:
		return r.list(x.Stmts, dir)
	case nil:
		return dir
	}
	r.inside(s.Cmd, dir)
	return dir
}

// inside reads the statements within a node.
func (r *redirectReader) inside(n syntax.Node, dir string) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.Stmt); ok {
			dir = r.stmt(s, dir)
			return false
		}
		return true
	})
}

// call reads what a simple command runs within: substitutions, and the script
// of a shell, of eval and of trap, whatever stands before it. It returns the folder after it.
func (r *redirectReader) call(x *syntax.CallExpr, redirs []*syntax.Redirect, dir string) string {
	r.inside(x, dir)
	var words []string
	for _, w := range x.Args {
		text, _ := literalWord(w)
		words = append(words, text)
	}
	for i, w := range words {
		switch name := path.Base(w); {
		case name == "eval":
			r.script(strings.Join(words[i+1:], " "), dir)
		case name == "trap" && i+1 < len(words):
			r.script(words[i+1], dir)
		case shells().MatchString(name):
			r.shell(words[i+1:], redirs, dir)
		case policy.ShellGets(words[i:]):
			for _, text := range append(words[i+1:len(words):len(words)], strings.Join(words[i+1:], " ")) {
				r.script(text, "") // some add arguments of their own
			}
		}
	}
	return folderAfter(words, dir)
}

var shells = lazy.Regexp(`^(?:(?:ba|da|k|z|a|mk|rba|rz|ya|po)?sh|ksh93)$`)

// shell reads the scripts that a shell runs: behind -c, and from a here-document or a here-string.
func (r *redirectReader) shell(args []string, redirs []*syntax.Redirect, dir string) {
	for i, option := range args {
		if strings.HasPrefix(option, "-") && strings.Contains(option, "c") && i+1 < len(args) {
			r.script(args[i+1], dir)
		}
	}
	for _, to := range redirs {
		input := to.Hdoc
		if to.Op == syntax.WordHdoc {
			input = to.Word
		}
		if text, ok := literalWord(input); ok {
			r.script(text, dir)
		}
	}
}

// folderAfter returns the folder after a command, "" where it is not known.
func folderAfter(words []string, dir string) string {
	if len(words) == 0 || words[0] != "cd" && words[0] != "pushd" && words[0] != "popd" {
		return dir
	}
	if words[0] != "cd" || len(words) != 2 || dir == "" {
		return ""
	}
	to := words[1]
	if to == "" || to == "-" || leaves(to) || leaves(path.Join(dir, to)) {
		return ""
	}
	return path.Join(dir, to)
}

func (r *redirectReader) redirect(to *syntax.Redirect, dir string) {
	name, ok := literalWord(to.Word)
	if to.Word != nil {
		r.inside(to.Word, dir)
	}
	if to.Hdoc != nil {
		r.inside(to.Hdoc, dir)
	}
	switch to.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if ok && strings.Trim(name, "0123456789-") == "" {
			return // a descriptor
		}
	}
	switch {
	case name == "/dev/null":
		return
	case !ok || outsideStart().MatchString(name):
	case dir == "":
		name = ""
	case dir != ".":
		name = dir + "/" + name
	}
	if to.Op == syntax.RdrIn || to.Op == syntax.RdrInOut || to.Op == syntax.DplIn {
		r.files = append(r.files, openedFile{ir.Read, name})
	}
	if to.Op != syntax.RdrIn && to.Op != syntax.DplIn {
		r.files = append(r.files, openedFile{ir.Edit, name})
	}
}

// literalWord returns a word without its quotes, and whether it says all.
func literalWord(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", false
	}
	var b strings.Builder
	for _, part := range w.Parts {
		switch x := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(x.Value, "*?[{") {
				return "", false
			}
			b.WriteString(strings.ReplaceAll(x.Value, `\`, ""))
		case *syntax.SglQuoted:
			if x.Dollar {
				return "", false
			}
			b.WriteString(x.Value)
		case *syntax.DblQuoted:
			for _, inner := range x.Parts {
				l, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(l.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

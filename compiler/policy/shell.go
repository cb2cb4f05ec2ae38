package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/ir"
)

// Limits of what is analysed. A line beyond them counts as one that does not
// parse.
const (
	maxLine    = 64 << 10
	maxDepth   = 16 // shells in shells
	maxScripts = 64 // shells in one line
	maxNesting = 256
	maxDirs    = 8 // folders that a relative path may be taken from
)

// analysis is what a command line may do, whoever runs it: the simple commands
// and the files that its redirects touch.
type analysis struct {
	place    *Place
	placed   bool // the place was asked
	commands []command
	touches  []touch
	opaque   bool   // some of it could not be read
	odd      bool   // some of it is not plain: shells may read it in different ways
	oddity   string // what is not plain, the first time
	unread   string // what could not be read, the first time
	moved    string // what may have changed the folder unseen, the first time
	scripts  int
	depth    int
	source   string // the script that is being read
	moves    bool   // some command may have changed the folder unseen

	compounds bool // what is read is in a compound command
}

// command is a simple command.
type command struct {
	words  []word // without assignments
	dirs   dirs
	strict bool
	hidden string // what is not literal where strict is set
	// neutral commands are judged by deny and ask only: a cd inside the root,
	// and what a wrapper is only guessed to run.
	neutral bool
	plain   bool // no assignments, every word literal: a built-in set may match

	raw   string   // as it is written
	allow []string // texts that an allow compares: any may match
	// more is set where a shell may put names of files in the place of a word: the texts of
	// allow end before it, and whatever follows has to be allowed.
	more bool
	hold []string // texts that deny and ask compare: any may match
	skip []int    // how many words each text of allow leaves out in front
}

// touch is a file that a line opens.
type touch struct {
	group ir.Group
	known bool     // its path is literal
	text  string   // as it is written
	names []string // what it may be called; none where the disk does not say
	ofGit bool     // a word of git names it
}

// dirs are the folders, relative to the root, in which a command may run.
type dirs struct {
	set     []string
	unknown bool
}

func (d dirs) union(e dirs) dirs {
	if d.unknown || e.unknown {
		return dirs{unknown: true}
	}
	set := d.set
	for _, s := range e.set {
		if !slices.Contains(set, s) {
			set = append(set[:len(set):len(set)], s)
		}
	}
	if len(set) > maxDirs {
		return dirs{unknown: true}
	}
	return dirs{set: set}
}

func (d dirs) atRoot() bool { return !d.unknown && len(d.set) == 1 && d.set[0] == "." }

// into returns where cd to a literal folder leads. It fails where that is not
// inside the root, or not known.
func (a *analysis) into(in dirs, dir string) (dirs, bool) {
	a.placed = true
	if in.unknown || dir == "" || dir[0] == '-' || dir[0] == '+' ||
		a.place.Folds && (!plainPath(dir) || strings.Contains(dir, ":")) {
		return dirs{unknown: true}, false
	}
	var out dirs
	for _, from := range in.set {
		names := a.place.names(from, dir)
		if len(names) == 0 || slices.ContainsFunc(names, LeavesRoot) {
			return dirs{unknown: true}, false
		}
		for _, name := range names {
			if name = path.Clean(name); !slices.Contains(out.set, name) {
				out.set = append(out.set, name)
			}
		}
	}
	return out, len(out.set) <= maxDirs
}

// leavesRootAbsolutely reports whether a path means the same place wherever it
// is taken from.
func leavesRootAbsolutely(p string) bool { return outsidePrefix(p, windows) }

// analyse reads a command line that runs at a place. Nobody may change what it returns.
func analyse(p *Place, line string) *analysis {
	in := dirs{set: p.dirs()}
	if p.Names == nil && slices.ContainsFunc(in.set, LeavesRoot) {
		in = dirs{unknown: true}
	}
	if len(in.set) > 1 || len(line) > maxKept {
		return analyseIn(in, p, line)
	}
	key := placedLine{line: line, unknown: in.unknown}
	if !in.unknown {
		key.dir = in.set[0]
	}
	if a, ok := analysedLines.Get(key); ok {
		a.place = p
		return &a
	}
	a := analyseIn(in, p, line)
	if !a.placed {
		kept := *a
		kept.place = nil
		analysedLines.Put(key, kept)
	}
	return a
}

// placedLine is what an analysis depends on that does not ask its place.
type placedLine struct {
	line    string
	dir     string // in which it runs; "" where that is unknown
	unknown bool
}

// analysedLines are the last analyses. A decision needs that of its line several times, and only
// a line with a redirect or a cd depends on what is on the disk.
var analysedLines = cache.New[placedLine, analysis](keptLines)

func analyseIn(in dirs, p *Place, line string) *analysis {
	a := &analysis{place: p}
	a.script(line, in)
	judged := slices.ContainsFunc(a.commands, func(c command) bool { return !c.neutral })
	if !judged && !a.opaque {
		// Nothing but neutral parts: the line is judged by its text.
		text := strings.TrimSpace(line)
		a.commands = append(a.commands,
			command{dirs: in, raw: text, allow: []string{text}, hold: []string{text}, skip: []int{0}})
	}
	return a
}

// script parses a script and judges its statements.
func (a *analysis) script(text string, in dirs) {
	if a.scripts++; a.scripts > maxScripts || a.depth >= maxDepth {
		a.unreadable("it runs too many shells")
		return
	}
	if !readable(text) {
		a.unreadable("it is too long, or has characters that nobody sees")
		return
	}
	if why := notPlain(text); why != "" {
		a.odd, a.oddity = true, cmp.Or(a.oddity, why)
	}
	file, err := ParseLine(text)
	if err != nil {
		a.unreadable("it does not parse")
		return
	}
	outer := a.source
	a.source = text
	a.depth++
	a.list(file.Stmts, in)
	a.depth--
	a.source = outer
}

// unreadable records what could not be read.
func (a *analysis) unreadable(what string) {
	a.opaque, a.unread = true, cmp.Or(a.unread, what)
}

// readable reports whether a line holds nothing that shells read differently
// (control characters, text that is not UTF-8) and nothing that is made to be
// slow.
func readable(s string) bool {
	if len(s) > maxLine {
		return false
	}
	open := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < 0x20 && c != '\t' && c != '\n' || c == 0x7f:
			return false
		case c == '(' || c == '{':
			if open++; open > maxNesting {
				return false
			}
		case c == ')' || c == '}':
			open--
		}
	}
	return utf8.ValidString(s)
}

// list judges statements in order and returns where the next may run.
func (a *analysis) list(stmts []*syntax.Stmt, in dirs) dirs {
	for _, s := range stmts {
		ok, fail := a.stmt(s, in)
		in = ok.union(fail)
	}
	return in
}

// subshell judges statements that cannot move the shell around them.
func (a *analysis) subshell(stmts []*syntax.Stmt, in dirs) { a.list(stmts, in) }

// stmt judges a statement and returns where a next one may run after it
// succeeded and after it failed.
func (a *analysis) stmt(s *syntax.Stmt, in dirs) (ok, fail dirs) {
	if a.moves {
		in = dirs{unknown: true}
	}
	for _, r := range s.Redirs {
		a.redirect(r, in)
	}
	if s.Cmd != nil {
		ok, fail = a.command(s, in)
	} else {
		ok, fail = in, in
	}
	switch {
	case s.Background || s.Coprocess || s.Disown:
		return in, in
	case s.Negated:
		return fail, ok
	}
	return ok, fail
}

func (a *analysis) command(s *syntax.Stmt, in dirs) (ok, fail dirs) {
	both := func(d dirs) (dirs, dirs) { return d, d }
	switch x := s.Cmd.(type) {
	case *syntax.CallExpr:
		return a.call(x, s.Redirs, in)
	case *syntax.BinaryCmd:
		switch x.Op {
		case syntax.AndStmt:
			xok, xfail := a.stmt(x.X, in)
			yok, yfail := a.stmt(x.Y, xok)
			return yok, xfail.union(yfail)
		case syntax.OrStmt:
			xok, xfail := a.stmt(x.X, in)
			yok, yfail := a.stmt(x.Y, xfail)
			return xok.union(yok), yfail
		}
		a.stmt(x.X, in)
		// The last command of a pipeline may run in the shell itself (zsh).
		yok, yfail := a.stmt(x.Y, in)
		return both(in.union(yok).union(yfail))
	case *syntax.Subshell:
		a.subshell(x.Stmts, in)
		return both(in)
	case *syntax.Block:
		return both(a.list(x.Stmts, in))
	case *syntax.IfClause:
		var parts [][]*syntax.Stmt
		for ; x != nil; x = x.Else {
			parts = append(parts, x.Cond, x.Then)
		}
		a.compound(in, parts...)
	case *syntax.WhileClause:
		a.compound(in, x.Cond, x.Do)
	case *syntax.ForClause:
		a.loopVariable(x.Loop, in)
		a.compound(in, x.Do)
	case *syntax.CaseClause:
		a.nested(x.Word, in)
		var parts [][]*syntax.Stmt
		for _, item := range x.Items {
			for _, p := range item.Patterns {
				a.nested(p, in)
			}
			parts = append(parts, item.Stmts)
		}
		a.compound(in, parts...)
	case *syntax.FuncDecl:
		start := len(a.commands)
		a.stmt(x.Body, dirs{unknown: true})
		moves := func(c command) bool { return mayMove(c.words) }
		a.moves = a.moves || slices.ContainsFunc(a.commands[start:], moves) ||
			x.Name == nil || movers[x.Name.Value] // a function called cd is no cd
		return both(in)
	case *syntax.TimeClause:
		if x.Stmt == nil {
			return both(in)
		}
		return a.stmt(x.Stmt, in)
	case *syntax.CoprocClause:
		if x.Name != nil {
			a.setVariable(a.word(x.Name, in), in)
		}
		a.stmt(x.Stmt, in)
		return both(in)
	case *syntax.DeclClause:
		a.declare(x, in)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		a.test(s.Cmd, in)
	default:
		a.unreadable(quote(a.rawText(s)) + " is not read")
		a.nested(s.Cmd, in)
	}
	return both(in)
}

// compound judges the lists of a compound command, of which any may run after any other. Where one of
// them may change the folder, it is not known where anything in the outermost one runs, or behind it.
func (a *analysis) compound(in dirs, lists ...[]*syntax.Stmt) {
	start, outermost, moved := len(a.commands), !a.compounds, a.moves
	a.compounds = true
	for {
		for _, list := range lists {
			a.list(list, in)
		}
		moves := a.moves || slices.ContainsFunc(a.commands[start:], func(c command) bool { return mayMove(c.words) })
		if moved || !moves || !outermost {
			break
		}
		moved, a.moves = true, true
	}
	a.compounds = !outermost
}

// loopVariable judges the head of a for loop.
func (a *analysis) loopVariable(l syntax.Loop, in dirs) {
	w, ok := l.(*syntax.WordIter)
	if !ok {
		a.test(l, in) // arithmetic
		return
	}
	a.nested(w, in)
	a.setVariable(word{text: w.Name.Value}, in)
}

// setVariable judges a variable that gets a value without an assignment, as an
// assignment. Names in lower case are left alone, but for those that zsh ties
// to PATH and its like: "for PATH in ./x; do git log; done" runs another git.
func (a *analysis) setVariable(name word, in dirs) {
	if name.text == lowerASCII(name.text) && !name.holes && !tied[name.text] {
		return
	}
	assigned := word{text: name.text + "=" + string(rune(hole)), holes: true, strict: true}
	a.add(command{dirs: in, raw: name.text}, []word{assigned}, nil)
}

var tied = set("path cdpath fpath manpath mailpath module_path fignore psvar watch status argv")

// nested judges the substitutions inside a node that is not a command itself.
func (a *analysis) nested(n syntax.Node, in dirs) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CmdSubst:
			a.subshell(x.Stmts, in)
			return false
		case *syntax.ProcSubst:
			a.subshell(x.Stmts, in)
			return false
		case *syntax.ExtGlob:
			a.unreadable("the pattern " + quote(a.rawText(x)) + " is not read within")
		}
		return true
	})
}

// redirect records the file that a redirect opens.
func (a *analysis) redirect(r *syntax.Redirect, in dirs) {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		a.setVariable(word{text: strings.Trim(r.N.Value, "{}")}, in) // {name}>file
	}
	var groups []ir.Group
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			a.nested(r.Hdoc, in)
		}
		return
	case syntax.WordHdoc:
		a.word(r.Word, in)
		return
	case syntax.RdrIn:
		groups = []ir.Group{ir.Read}
	case syntax.RdrInOut:
		groups = []ir.Group{ir.Read, ir.Edit}
	case syntax.DplIn:
		groups = []ir.Group{ir.Read}
	default:
		groups = []ir.Group{ir.Edit}
	}
	w := a.word(r.Word, in)
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		if t := strings.TrimSuffix(w.text, "-"); !w.holes && strings.Trim(t, "0123456789") == "" && w.text != "" {
			return // another name for a descriptor that is open
		}
	}
	if w.text == "/dev/null" {
		return
	}
	for _, g := range groups {
		a.touch(g, w, in)
	}
}

// touch records a file that the line opens.
func (a *analysis) touch(g ir.Group, w word, in dirs) {
	a.placed = true
	a.touches = append(a.touches, a.place.touched(g, w, in)...)
}

// touched returns the files that a word may name in the folders in which a command may run.
func (p *Place) touched(g ir.Group, w word, in dirs) []touch {
	name := w.script()
	text := cmp.Or(w.raw, name)
	if w.holes || w.strict || name == "" || name[0] == '!' { // zsh: ">! file"
		return []touch{{group: g, text: text}}
	}
	if in.unknown {
		if !OfProcess(name) && !leavesRootAbsolutely(name) {
			return []touch{{group: g, text: text}}
		}
		in.set = []string{"."} // which does not matter
	}
	var list []touch
	for _, dir := range in.set {
		list = append(list, touch{g, true, text, p.names(dir, name), w.said})
	}
	return list
}

// rawText returns what is written of a node.
func (a *analysis) rawText(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(a.source) {
		return ""
	}
	return a.source[from:to]
}

// test records [[ … ]], (( … )) and let, judged by their text like commands.
func (a *analysis) test(n syntax.Node, in dirs) {
	raw := strings.Join(strings.Fields(a.rawText(n)), " ")
	c := command{dirs: in, raw: raw, allow: []string{raw}, hold: []string{raw}, skip: []int{0}}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ExtGlob:
			c.strict, c.hidden = true, raw
		case *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ArithmCmd, *syntax.LetClause:
			c.strict, c.hidden = true, raw
		}
		return true
	})
	a.nested(n, in)
	a.commands = append(a.commands, c)
}

// declare records export, declare, local and their like.
func (a *analysis) declare(x *syntax.DeclClause, in dirs) {
	c := command{dirs: in, raw: a.rawText(x)}
	c.words = append(c.words, word{text: x.Variant.Value})
	for _, as := range x.Args {
		c.words = append(c.words, a.assign(as, in))
	}
	a.add(c, nil, nil)
}

// assign reads an assignment as one word.
func (a *analysis) assign(as *syntax.Assign, in dirs) word {
	var w word
	if as.Value != nil {
		w = a.word(as.Value, in)
	}
	if as.Naked && as.Name == nil {
		return w
	}
	if as.Index != nil || as.Array != nil {
		a.nested(as, in)
		w = word{text: string(rune(hole)), holes: true, strict: true}
	}
	if as.Name != nil {
		name := as.Name.Value
		switch {
		case as.Naked:
		case as.Append:
			name += "+="
		default:
			name += "="
		}
		w.text = name + w.text
	}
	w.bare = false
	return w
}

package policy

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call judges a simple command, what it hands to other shells, and returns
// where the next command may run.
func (a *analysis) call(x *syntax.CallExpr, redirs []*syntax.Redirect, in dirs) (ok, fail dirs) {
	c := command{dirs: in, raw: a.rawText(x)}
	var assigns []word
	for _, as := range x.Assigns {
		assigns = append(assigns, a.assign(as, in))
	}
	c.words = make([]word, 0, len(x.Args))
	for _, w := range x.Args {
		c.words = append(c.words, a.word(w, in))
	}
	ok, fail = in, in
	if len(c.words) > 0 {
		if to, inside := a.cdTarget(c.words, assigns, in); inside {
			c.neutral = true
			ok = to
		} else if mayMove(c.words) {
			ok, fail = dirs{unknown: true}, dirs{unknown: true}
			a.moved = cmp.Or(a.moved, whereTo(c, in))
		}
	}
	a.add(c, assigns, redirs)
	return ok, fail
}

// cdTarget returns where a cd to a literal folder inside the root leads.
func (a *analysis) cdTarget(words, assigns []word, in dirs) (dirs, bool) {
	if words[0].text != "cd" || len(assigns) > 0 {
		return dirs{}, false
	}
	args := words[1:]
	if len(args) == 2 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) != 1 || args[0].holes || args[0].strict || args[0].names {
		return dirs{}, false
	}
	return a.into(in, args[0].script())
}

// whereTo returns what is known of a command that may have changed the folder.
func whereTo(c command, in dirs) string {
	literal := !slices.ContainsFunc(c.words, func(w word) bool { return w.holes || w.strict || w.names })
	if to := c.words[len(c.words)-1].text; literal && !in.unknown && c.words[0].text == "cd" && len(c.words) > 1 &&
		to != "" && to[0] != '-' {
		return quote(c.raw) + " leaves the project"
	}
	return "it is not known where " + quote(c.raw) + " leads"
}

// movers are the commands that may change the shell's folder.
var movers = map[string]bool{
	"cd": true, "chdir": true, "pushd": true, "popd": true,
	".": true, "source": true, "eval": true, "trap": true, "z": true, "j": true,
}

func mayMove(words []word) bool {
	for i, w := range words {
		b := base(w.text)
		if i == 0 && w.holes || movers[b] {
			return true
		}
		if !wrappers[b] {
			return false
		}
	}
	return false
}

// add completes a command with its texts and judges the scripts in it.
func (a *analysis) add(c command, assigns []word, redirs []*syntax.Redirect) {
	c.plain = len(assigns) == 0
	strict := func(is bool, what string) {
		if is && !c.strict {
			c.strict, c.hidden = true, what
		}
	}
	for _, w := range assigns {
		strict(w.strict, cmp.Or(w.raw, w.text))
	}
	for _, w := range c.words {
		strict(w.strict, cmp.Or(w.raw, w.text))
		c.plain = c.plain && !w.holes
	}
	if len(c.words) > 0 {
		program := &c.words[0]
		// zsh replaces "=name" by the program's path.
		name := cmp.Or(program.raw, program.text)
		strict(program.holes || strings.HasPrefix(program.text, "=") || program.text == "", name)
		if c.dirs.unknown || !c.dirs.atRoot() {
			// "./tool" is another program after a cd.
			strict(strings.Contains(program.text, "/") && !strings.HasPrefix(program.text, "/"), name)
		}
	}
	known := c.words
	if first := slices.IndexFunc(c.words, func(w word) bool { return w.names }); first >= 0 {
		known, c.more = c.words[:first], true
	}
	if len(known) > 0 || !c.more {
		c.allow, c.skip = allowTexts(assigns, known)
	}
	for _, words := range expansions(c.words) {
		a.holdTexts(&c, assigns, words)
	}
	a.commands = append(a.commands, c)
	a.handOver(c.words, c.dirs, redirs)
}

// allowTexts returns the texts that an allow compares: the command as it is,
// and, without assignments, what timeout, time, nice, nohup and stdbuf run.
func allowTexts(assigns, words []word) ([]string, []int) {
	var b strings.Builder
	for _, w := range assigns {
		writeWord(&b, w.text)
	}
	starts := make([]int, len(words))
	for i, w := range words {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		starts[i] = b.Len()
		b.WriteString(w.text)
	}
	text := b.String()
	texts, skip := []string{text}, []int{0}
	if len(assigns) > 0 {
		return texts, skip
	}
	for i := 0; ; {
		n := transparent(words[i:])
		if n == 0 {
			return texts, skip
		}
		i += n
		texts, skip = append(texts, text[starts[i]:]), append(skip, i)
	}
}

func writeWord(b *strings.Builder, text string) {
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(text)
}

// maxExpanded bounds the words that name files of which every choice is tried.
const maxExpanded = 3

// expansions returns what a shell may make of the words of a command: one that names files may
// be as it is written, any of their names, or, where no file has such a name, no word at all. One
// that has a sign may be one name or two that begin alike.
func expansions(words []word) [][]word {
	all := [][]word{words}
	var at []int
	for i, w := range words {
		if w.names {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return all
	}
	anything := word{text: string(rune(hole)), holes: true, bare: true}
	if len(at) > maxExpanded {
		other := slices.Clone(words)
		for _, i := range at {
			other[i] = anything
		}
		return append(all, other)
	}
	for gone := range 1 << len(at) {
		one, two := []word(nil), []word(nil)
		for i, w := range words {
			if n := slices.Index(at, i); n >= 0 && gone&(1<<n) != 0 {
				continue
			}
			if w.signs() {
				w.text, w.holes = w.stem+string(rune(within)), true
				two = append(two, w)
			}
			one, two = append(one, w), append(two, w)
		}
		all = append(all, one)
		if len(two) > len(one) {
			all = append(all, two)
		}
	}
	return all
}

// holdTexts computes the texts that deny and ask compare: the command as it is,
// and everything that it is seen to run.
func (a *analysis) holdTexts(c *command, assigns, words []word) {
	feeds := len(words) > 0 && feedsArguments(words)
	if feeds && len(words) > maxFed {
		a.unreadable(quote(c.raw) + " is too long")
		feeds = false
	}
	if feeds {
		words = withHoles(words)
	}
	var b strings.Builder
	for _, w := range assigns {
		writeLoose(&b, w)
	}
	starts := make([]int, len(words))
	for i, w := range words {
		starts[i] = writeLoose(&b, w)
	}
	text := b.String()
	c.hold = append(c.hold, text)
	if len(words) == 0 {
		return
	}
	starting := programs(words)
	if len(starting) > maxTails {
		starting = starting[:maxTails]
		a.unreadable(quote(c.raw) + " is too long")
	}
	for _, i := range starting {
		tail := text[starts[i]:]
		if i > 0 {
			tail = text[starts[i]:runEnd(words, starts, i, len(text))]
		}
		if i > 0 || starts[0] > 0 {
			c.hold = append(c.hold, tail)
		}
		if name := base(words[i].text); name != words[i].text {
			tail = name + tail[len(words[i].text):]
			c.hold = append(c.hold, tail)
		}
		if feeds && i > 0 {
			c.hold = append(c.hold, tail+" "+string(rune(hole))) // arguments come from elsewhere
		}
		if base(words[i].text) == "git" {
			if n := i + 1 + gitGlobals(words[i+1:]); n > i+1 && n < len(words) {
				c.hold = append(c.hold, "git "+text[starts[n]:])
			}
		}
	}
}

// maxTails bounds how many tails of a wrapper's words are tried, and maxFed how
// many words are searched for where arguments go. A command beyond them is not
// readable.
const (
	maxTails = 64
	maxFed   = 256
)

// runEnd returns where the text of the command that starts at word i ends:
// before the ";" or "+" of find -exec.
func runEnd(words []word, starts []int, i, end int) int {
	for j := i + 1; j < len(words); j++ {
		if t := words[j].text; t == ";" || t == "+" {
			return starts[j] - 1
		}
	}
	return end
}

// writeLoose writes a word as deny and ask compare it: a space inside a word
// is a space, and a word that may be none has no space of its own before it.
// It returns where the word starts.
func writeLoose(b *strings.Builder, w word) int {
	if b.Len() > 0 && !w.bare {
		b.WriteByte(' ')
	}
	at := b.Len()
	b.WriteString(w.script())
	return at
}

// handOver judges what a command hands to a shell: the script of sh -c,
// eval and trap, a here-document, and the words of a wrapper that look like
// scripts.
func (a *analysis) handOver(words []word, in dirs, redirs []*syntax.Redirect) {
	if len(words) == 0 {
		return
	}
	for _, i := range programs(words) {
		if words[i].holes || i >= maxTails {
			continue
		}
		known := true
		switch name := base(words[i].script()); {
		case shells[name]:
			input := redirs
			if i > 0 {
				input = nil // the wrapper reads it
			}
			known = a.shell(words[i+1:], in, input)
		case foreignShells[name]:
			known = i > 0 && len(words) == i+1
		case name == "eval":
			known = a.evaluate(words[i+1:], in)
		case name == "trap" && len(words) > i+1 && words[i+1].text != "-":
			known = a.evaluate(words[i+1:i+2], in)
		}
		if !known {
			a.unreadable("it is not known what " + quote(words[i].script()) + " runs") // it may be anything
		}
	}
	switch first := base(words[0].text); {
	case first == "alias":
		for _, w := range words[1:] {
			_, w.text, _ = strings.Cut(w.text, "=")
			a.guess(w, byProgram)
		}
	case wrappers[first]:
		by, texts := byProgram, make([]string, len(words))
		for i := range words {
			texts[i] = words[i].script()
		}
		for _, i := range programs(words) {
			if !words[i].holes && ShellGets(texts[i:]) {
				by = byShell
				if text, signs := asOne(words[i+1:]); signs {
					a.probe(text, by)
				}
				break
			}
		}
		for _, w := range words[1:] {
			a.guess(w, by)
		}
	}
}

// asOne returns words as a shell gets them from a wrapper that puts a space between them, and whether they have a sign
// of the shell. What is known at run time only is a variable to that one, too.
func asOne(words []word) (text string, signs bool) {
	var b strings.Builder
	for i := range words {
		w := &words[i]
		if w.holes {
			writeWord(&b, "$x")
			continue
		}
		signs = signs || strings.ContainsAny(w.text, "<>|&;$`()\n")
		writeWord(&b, w.script())
	}
	return b.String(), signs
}

// reader is what a wrapper hands a word to, where that is a script.
type reader bool

const (
	byProgram reader = false
	byShell   reader = true
)

// guess judges by deny and ask what a wrapper may take for a script: any word
// with a space in it ("env -S 'git push'", "watch 'git push'"). What the script redirects counts
// where a shell reads it.
func (a *analysis) guess(w word, by reader) {
	if !w.holes && strings.Contains(w.text, string(rune(inner))) {
		a.probe(w.script(), by)
	}
}

// unredirected hides what redirects in a shell alone: to a program it is a word.
var unredirected = strings.NewReplacer("<", `\<`, ">", `\>`)

// probe judges by deny and ask what may be a script, or an option with one.
func (a *analysis) probe(text string, by reader) {
	if strings.HasPrefix(text, "-") {
		if _, value, ok := strings.Cut(text, "="); ok {
			text = value
		} else if len(text) > 2 {
			text = text[2:]
		}
	}
	if by == byProgram {
		text = unredirected.Replace(text)
	}
	within := analysis{place: a.place, scripts: a.scripts, depth: a.depth}
	within.script(text, dirs{unknown: true})
	a.scripts, a.placed = within.scripts, a.placed || within.placed
	if a.scripts > maxScripts || a.depth >= maxDepth {
		a.unreadable("it runs too many shells")
	}
	if by == byShell {
		a.touches = append(a.touches, within.touches...)
	}
	for _, c := range within.commands {
		c.neutral = true
		a.commands = append(a.commands, c)
	}
}

// shell judges the arguments of sh, bash and their like. It reports whether
// what the shell runs is known, or a file judged by its name.
func (a *analysis) shell(args []word, in dirs, input []*syntax.Redirect) bool {
	script := false // -c
	i := 0
options:
	for ; i < len(args); i++ {
		t := args[i].text
		switch {
		case args[i].holes:
			return false
		case t == "--" || t == "-":
			i++
			break options
		case t == "" || t[0] != '-' && t[0] != '+':
			break options
		case t == "--version" || t == "--help":
			return true
		case t == "--rcfile" || t == "--init-file":
			i++
		case strings.HasPrefix(t, "--"):
		default:
			script = script || strings.Contains(t, "c")
			if strings.ContainsAny(t, "oO") {
				i++
			}
		}
	}
	switch {
	case script:
		return i < len(args) && a.evaluate(args[i:i+1], in)
	case i < len(args):
		return !args[i].holes
	}
	// What comes in by standard input is known in a here-document only.
	return a.hereDocument(input, in)
}

// evaluate judges words that a shell joins and runs. It reports whether they
// are known.
func (a *analysis) evaluate(words []word, in dirs) bool {
	var b strings.Builder
	for _, w := range words {
		if w.holes || w.strict {
			return false
		}
		writeWord(&b, w.script())
	}
	a.script(b.String(), in)
	return true
}

// hereDocument judges the script that a here-document or a here-string feeds to
// a shell, and reports whether there is one whose text is known.
func (a *analysis) hereDocument(redirs []*syntax.Redirect, in dirs) bool {
	known := false
	for _, r := range redirs {
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		var doc *syntax.Word
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			doc = r.Hdoc
		case syntax.WordHdoc:
			doc = r.Word
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			return false
		}
		if doc == nil {
			continue
		}
		text, ok := a.document(r, doc, in)
		if !ok {
			return false
		}
		a.script(text, in)
		known = true
	}
	return known
}

// document returns the text of a here-document without expansions.
func (a *analysis) document(r *syntax.Redirect, doc *syntax.Word, in dirs) (string, bool) {
	if r.Op == syntax.WordHdoc {
		w := a.word(doc, in)
		return w.script(), !w.holes && !w.strict
	}
	var b strings.Builder
	for _, p := range doc.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			return "", false
		}
		b.WriteString(l.Value)
	}
	// Whether a backslash is itself depends on the delimiter's quotes.
	return b.String(), !strings.Contains(b.String(), `\`)
}

package policy

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
)

// A deny or an ask of reading or editing reaches commands: a word, or the value of an option, that names such a path is
// decided as that path. A default names none, and neither does a rule for everything.
//
//	node -r ./secrets/key       reads secrets/key, as any program may
//	tar c secrets               a name without "/" and "." is a file to programs for files, not in "kubectl get secrets"
//	--env-file=.env, -d@.env     the value of an option
//	cat secrets/*               what a shell may put there
//	rm build, git rm build      edit build, as programs do that change the files they name; "npm run build" does not
//	git commit -m .env          names nothing: it is a text
//	ls .env, test -f .env       show nothing of what is in it

// mention is a file that a command names.
type mention struct {
	path string
	glob bool   // a shell may put names of files in its place
	word string // of the command
}

// mentioned returns the lowest deny or ask of a file that a command of a line names; nil for none. A disk is asked
// about each name, whatever the rules: it knows folders that nobody may open.
func (s *Subject) mentioned(a *analysis) (all *Result) {
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		holdsNone := func(side *side) bool { return side.table(g).rules.ends == 0 }
		sides := slices.DeleteFunc(slices.Clone(s.stating(g)), holdsNone)
		if len(sides) == 0 && a.place.Names == nil {
			continue
		}
		for i := range a.commands {
			c := &a.commands[i]
			for _, f := range c.mentions(g) {
				if r := s.mention(sides, a.place, g, f, c.dirs); r != nil && (all == nil || r.Decision < all.Decision) {
					named := r.since("the command names " + quote(f.word))
					named.named, all = true, &named
				}
			}
		}
	}
	return all
}

// mention returns the lowest deny or ask of some sides that holds for a file of a command.
func (s *Subject) mention(sides []*side, place *Place, g ir.Group, f mention, in dirs) (all *Result) {
	if in.unknown {
		in.set = rootDirs
	}
	judge := needs(&all)
	for _, dir := range in.set {
		if f.glob {
			for _, side := range sides {
				judge(s.becomes(side, g, under(dir, f.path)))
			}
			continue
		}
		for _, name := range place.names(dir, f.path) {
			judge(s.naming(sides, g, name, posix))
			if strings.Contains(name, `\`) {
				judge(s.naming(sides, g, name, windows))
			}
		}
	}
	return all
}

// naming returns the lowest deny or ask of some sides that names a path, as a system reads it.
func (s *Subject) naming(sides []*side, g ir.Group, name string, on system) (all *Result) {
	if len(name) > maxPath {
		return nil
	}
	p := s.engine.paths.Get().(*filePath)
	defer s.engine.paths.Put(p)
	p.read(name, on)
	for _, side := range sides {
		rules := side.table(g).rules
		if rank := rules.naming(p, rules.ends); rank < rules.ends {
			needs(&all)(&rules.results[rank])
		}
	}
	return all
}

// becomes returns the lowest deny or ask of a side that holds for a name which a shell may put in the place of a word
// with wildcards: none of these stands for the dot that a name begins with.
func (s *Subject) becomes(side *side, g ir.Group, text string) (lowest *Result) {
	judge := needs(&lowest)
	text = wildcards().ReplaceAllString(globSigns().ReplaceAllString(strings.TrimPrefix(text, "./"), `\$0`), "*")
	path := ir.Pattern{Text: "/" + strings.TrimPrefix(text, "/")}
	words, err := s.engine.patterns.glob(path.Text, folded)
	if err != nil {
		return nil
	}
	for _, r := range side.rules(g) {
		if r.Decision > ir.Ask || r.Pattern.Everything() {
			continue
		}
		var met bool
		if r.Pattern.Kind != ir.Regex {
			glob, err := s.engine.patterns.glob(r.Pattern.Text, folded)
			becomes := func(a alternative) bool { return a.to(andBelow).written(words[0]) }
			met = err == nil && slices.ContainsFunc(glob, becomes)
		} else if !strings.HasSuffix(path.Text, "/*") { // which names none
			met, err = s.engine.meet(r.Pattern, andBelow, path, itself)
			met = met || err != nil
		}
		if met {
			result := ruleResult(r)
			judge(&result)
		}
	}
	return lowest
}

// written is [alternative.meets] of what a shell makes of a word. A name that begins with a wildcard may become one of
// which a rule says the end alone ("*.pem"), and "*" may be any: it names none.
func (a alternative) written(word alternative) bool {
	return a.meetsBy(word, func(s, name segment) bool {
		return s.meets(name) && (!name.open() || s.open() && name.kind != segAny)
	})
}

// open reports whether a segment begins with a wildcard.
func (s segment) open() bool {
	letters := s.letters()
	return len(letters) > 0 && letters[0].kind != elemLiteral
}

// wildcards are what a word has where a shell puts any text, and globSigns what a pattern has to quote.
var (
	wildcards = lazy.Regexp(`[\x00\x02]+`)
	globSigns = lazy.Regexp(`[*?\[\]{}\\]`)
)

// mentions returns the files that a command may read, or edit.
func (c *command) mentions(g ir.Group) []mention {
	var m mentions
	if len(c.words) == 0 {
		return nil
	}
	at := programs(c.words)
	if g == ir.Edit {
		for _, i := range at {
			if !c.words[i].holes {
				m.names(base(c.words[i].text), append(changed(c.words[i:]), output(c.words[i:])...), true)
			}
		}
		return m.all
	}
	words := c.words
	if n := len(c.skip); n > 0 {
		words = words[c.skip[n-1]:]
	}
	program, args := base(words[0].text), words[1:]
	switch files, only := readBy(program, args); {
	case c.neutral && program == "cd", namesOnly[program], program == "git" && showsNothing[gitCommand(args)]:
	case only:
		for _, f := range files {
			if !f.begins {
				m.add(&f, f.script())
			}
		}
	default:
		bare := slices.ContainsFunc(at, func(i int) bool {
			name := base(c.words[i].text)
			return forFiles[name] || changing[name] || copiers[name] ||
				name == "git" && gitSub[gitCommand(c.words[i+1:])]
		})
		m.names(program, args, bare)
	}
	return m.all
}

// mentions collects the files that a command names.
type mentions struct{ all []mention }

// names adds the files that the words behind a program name; bare is set where a name without "/" and "." may be one.
func (m *mentions) names(program string, args []word, bare bool) {
	text, pattern := false, matchers[program] && !slices.ContainsFunc(args, givesPattern)
	acts := program == "find" && hasOption(args, inPlace[program])
	for i := range args {
		w := &args[i]
		t := w.script()
		option, value, valued := strings.Cut(t, "=")
		switch {
		case text:
			text = false
		case pattern && !strings.HasPrefix(t, "-") && !(i > 0 && globOptions[args[i-1].text]):
			pattern = false
			if scripts[program] { // sed "r FILE", awk '{ print > "FILE" }'
				for n, part := range strings.FieldsFunc(t, splitsScript) {
					if n > 0 {
						m.part(w, part, false)
					}
				}
			}
		case !strings.HasPrefix(t, "-"):
			m.parts(program, w, t, bare || i > 0 && folderOptions[args[i-1].text])
		case t == "--" && program == "git":
			bare = true
		case takesText(program, option) && !acts:
			text = !valued
		case strings.HasPrefix(t, "--"):
			m.parts(program, w, value, bare || folderOptions[option])
		default:
			for at := 1; at < min(len(t), maxCluster); at++ { // -xzfFILE
				m.parts(program, w, t[at:], bare && at == 2)
			}
		}
	}
}

// maxCluster bounds the letters of options behind one dash that are tried.
const maxCluster = 8

// parts adds what in a text may name a file: all of it, and what is between the signs of lists, addresses and scripts
// ("a=FILE", "HOST:FILE", "name=@FILE", "cat FILE").
func (m *mentions) parts(program string, w *word, text string, bare bool) {
	if scheme, file, ok := strings.Cut(text, "://"); ok {
		if strings.HasPrefix(strings.ToLower(scheme), "file") {
			m.part(w, strings.TrimPrefix(file, "localhost"), bare)
		}
		return
	}
	if program == "git" {
		if text == "HEAD" || strings.HasPrefix(text, ":!") || strings.HasPrefix(text, ":^") {
			return // a revision, and what is left out
		}
		if isPathspec(text) && !w.holes {
			of := *w
			of.wide = true
			m.add(&of, text)
			return
		}
	}
	m.part(w, text, bare)
	for _, part := range strings.FieldsFunc(text, splits) {
		if part != text && (program != "git" || part != "HEAD") {
			m.part(w, part, bare)
		}
	}
}

func splits(r rune) bool { return strings.ContainsRune(" \n\t\"'(){}=,:;@<>", r) }

func splitsScript(r rune) bool { return strings.ContainsRune(" \n\t\"'()<>", r) }

// part adds a text that names a file where it has a "/" or a ".", or any may.
func (m *mentions) part(w *word, text string, bare bool) {
	if bare || strings.ContainsAny(text, "/.") {
		m.add(w, text)
	}
}

func (m *mentions) add(w *word, text string) {
	if f, ok := w.mention(text); ok {
		m.all = append(m.all, f)
	}
}

// mention returns what a part of a word names; false where that is known at run time only. Of "$DIR/.env" the name
// behind the variable is known.
func (w *word) mention(path string) (mention, bool) {
	m := mention{path: path, glob: w.holes && w.names || w.wide, word: cmp.Or(w.raw, w.script())}
	switch {
	case w.wide: // ":(top)x*", "x*"
		m.path = strings.TrimLeft(path[strings.LastIndexAny(path, ":)")+1:], "/")
		m.path = strings.NewReplacer("*", "\x00", "?", "\x00").Replace(m.path) // as hole
	case w.holes && !w.names:
		var known bool
		m.path, known = strings.CutPrefix(path[strings.LastIndexByte(path, hole)+1:], "/")
		if !known && strings.IndexByte(path, hole) >= 0 {
			return m, false
		}
	}
	return m, m.path != "" && m.path != "." && !w.strict && (!w.bare || w.names)
}

// readBy returns the files that a command of a built-in set reads; false for any other.
func readBy(program string, args []word) ([]word, bool) {
	words := append([]word{{text: program}}, args...)
	for i := range words {
		words[i].names = false // whatever files it may be
	}
	for _, set := range Builtins() {
		s := builtinSet{name: set}
		files, ok := s.program(words, dirs{set: rootDirs}, permit)
		if !ok {
			continue
		}
		for i := range files {
			files[i].names = slices.ContainsFunc(args, func(w word) bool {
				return w.names && strings.HasSuffix(w.text, files[i].text)
			})
		}
		return files, true
	}
	return nil, false
}

// changing are programs that change the files that they name, copiers the last one; to those forFiles any word may be a
// file, and those namesOnly show nothing of what is in one.
var (
	changing = set("rm rmdir unlink mv touch mkdir truncate tee dd chmod chown chgrp patch unzip shred sponge black " +
		"isort rustfmt")
	copiers  = set("cp ln install rsync scp")
	forFiles = set("cd pushd tar zip 7z find fd rg grep egrep fgrep ag ack diff cmp less more bat xxd od base64 gpg " +
		"age jq yq sed awk")
	namesOnly    = set("ls test [ stat echo printf")
	showsNothing = set("check-ignore rm")   // the same of git's
	gitSub       = set("add archive stash") // commands of git whose words are files
)

// inPlace are options by which programs change the files that they name.
var inPlace = map[string][]string{
	"": {"--write", "--fix", "--in-place"}, "sed": {"-i"}, "gsed": {"-i"}, "perl": {"-i", "-pi"}, "yq": {"-i"},
	"clang-format": {"-i"}, "gofmt": {"-w"}, "goimports": {"-w"}, "find": {"-delete", "-exec", "-ok"},
	"fd": {"-x", "-X", "--exec"},
}

// changed returns the words of a command that may name what it changes: those of cp and its like are the last one and
// the options.
func changed(words []word) (names []word) {
	program, args := base(words[0].text), words[1:]
	switch {
	case changing[program], hasOption(args, inPlace[""]), hasOption(args, inPlace[program]):
		return slices.Clone(args)
	case copiers[program]:
		for i, w := range args {
			if i == len(args)-1 || strings.HasPrefix(w.text, "-") || targetOptions[args[max(0, i-1)].text] {
				names = append(names, w)
			}
		}
	case program == "git":
		args = args[min(len(args), gitGlobals(args)+1):]
		switch sub := gitCommand(words[1:]); {
		case sub == "rm" && hasOption(args, []string{"--cached"}):
		case sub == "rm", sub == "mv", sub == "restore", sub == "clean":
			return slices.Clone(args)
		case sub == "checkout", sub == "reset":
			if at := slices.IndexFunc(args, func(w word) bool { return w.text == "--" }); at >= 0 {
				return slices.Clone(args[at+1:])
			}
		}
	}
	return names
}

// output returns the words of a command behind options that say what it writes: "-o FILE", "--out-dir FOLDER". To what
// finds text, "-o" is another option.
func output(words []word) (names []word) {
	program := base(words[0].text)
	if _, only := readBy(program, words[1:]); only || matchers[program] || finders[program] || program == "ps" {
		return nil
	}
	for i, w := range words[1:] {
		option, value, valued := strings.Cut(w.text, "=")
		switch writes := option == "-o" || option == "-O" || strings.HasPrefix(option, "--out"); {
		case writes && valued:
			w.text, w.raw = value, w.text
			names = append(names, w)
		case writes && i+2 < len(words):
			names = append(names, words[i+2])
		}
	}
	return names
}

// hasOption reports whether arguments have an option that begins in one of some ways.
func hasOption(args []word, starts []string) bool {
	return slices.ContainsFunc(args, func(w word) bool {
		return slices.ContainsFunc(starts, func(s string) bool { return strings.HasPrefix(w.text, s) })
	})
}

// gitCommand returns the command of git that its arguments name, "" for none.
func gitCommand(args []word) string {
	if args = args[gitGlobals(args):]; len(args) > 0 {
		return args[0].text
	}
	return ""
}

// matchers are the programs whose first operand is a pattern, or a script, where no option gives one.
var (
	matchers      = set("grep egrep fgrep rg ag ack sed gsed awk gawk")
	scripts       = set("sed gsed awk gawk")
	folderOptions = set("-C --chdir --directory")
	targetOptions = set("-t --target-directory")
	globOptions   = set("-g --glob --iglob --include")
)

func givesPattern(w word) bool {
	t := w.script()
	long := strings.HasPrefix(t, "--re") || strings.HasPrefix(t, "--f")
	return long || strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "--") && strings.ContainsAny(t, "ef")
}

// textOptions are the options whose value is a text and no file, of some programs.
var textOptions = map[string]map[string]bool{
	"git":  set("--message --grep"),
	"gh":   set("--title --body --notes --message --subject -t -b -m"),
	"find": set("-name -iname -path -ipath -wholename -iwholename -regex -iregex"),
}

// takesText reports whether the value of a program's option is a text, or says what to leave out.
func takesText(program, option string) bool {
	namesFile := strings.HasSuffix(option, "-from") || strings.HasSuffix(option, "file")
	for _, leaves := range []string{"ignore", "exclude", "skip", "omit"} {
		if !namesFile && strings.Contains(strings.ToLower(option), leaves) {
			return true
		}
	}
	return textOptions[program][option] ||
		program == "git" && !strings.HasPrefix(option, "--") && strings.HasSuffix(option, "m")
}

package cursor

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// special are the characters that mean something to picomatch beside "*", and
// nothing to the engine, which takes them as they stand.
const special = `?[]{}()!+@|\`

// plainEntry is an entry that the engine, picomatch and a shell read alike: words
// of such characters, with "*".
var plainEntry = regexp.MustCompile(`\A[\w./*][\w./:*%+,=@-]*(?: [\w./:*%+,=@-]+)*\z`)

// allowedCommand writes an entry as patterns of the source that match no more than
// it does. A line that they match beside it is held back by ask.
func allowedCommand(text string) (allow []string, ask, why string) {
	command, args, pair := strings.Cut(text, ":")
	first, _, _ := strings.Cut(text, " ")
	first, _, _ = strings.Cut(first, ":")
	switch {
	case text == "":
		return nil, "", "it is empty"
	case strings.Trim(text, "*") == "":
		return []string{"*"}, "", ""
	case !plainEntry.MatchString(text):
		return nil, "", "a pattern that Cursor's engine, its documentation or a shell reads in two ways: it is asked about"
	case first == "" || strings.Contains(first, "="):
		return nil, "", "Cursor finds no program in it"
	}
	p := text
	if words := strings.Contains(command, " "); pair && !words {
		// COMMAND:ARGS: this program with these arguments.
		switch {
		case strings.Contains(command, "*"):
			return nil, "", "a pattern over programs with arguments: it is asked about"
		case args == "":
			return []string{command}, "", ""
		case strings.Trim(args, "*") == "":
			return []string{command + " *"}, "", ""
		}
		p = command + " " + args
	} else if stars := strings.Count(collapsed(text), "*"); stars == 0 {
		return []string{text + " *"}, "", "" // a prefix up to a word's end
	} else if !strings.Contains(text, " ") && (stars > 1 || !strings.HasSuffix(text, "*")) {
		return nil, "", "a pattern over programs: it is asked about"
	} else if pair && strings.Trim(args, "*") == "" {
		allow = []string{command} // `npm run lint:*` is the text alone too, and no argument
	}
	p = collapsed(p)
	if bare, ok := strings.CutSuffix(p, " *"); ok {
		ask = bare // "git *" of the source is git alone too
	}
	return append(allow, literalColon(p)), ask, ""
}

// deniedCommand writes an entry as patterns of the source that match whatever it
// may.
func deniedCommand(text string) []string {
	text = collapsed(strings.Map(func(c rune) rune {
		switch {
		case strings.ContainsRune(special+`'"`, c):
			return '*'
		case c < ' ' || c == 0x7f:
			return ' '
		}
		return c
	}, text))
	prefix := func(p string) string {
		if strings.HasSuffix(p, "*") {
			return p
		}
		return p + " *"
	}
	command, args, pair := strings.Cut(text, ":")
	var out []string
	if pair && command != "" {
		if out = []string{command}; args != "" {
			out[0] += " " + prefix(args)
		}
	}
	if !pair || command == "" || strings.Contains(command, " ") || strings.ContainsAny(args, `:/`) { // a colon of the text itself
		out = append(out, prefix(text))
	}
	for i, p := range out {
		if strings.HasPrefix(p, "@") {
			p = "*" + p[1:] // a set of the source
		}
		if out[i] = literalColon(p); policy.CheckCommand(out[i]) != nil {
			return []string{"*"}
		}
		// What runs another program is compared by the program's bare name.
		program, rest, _ := strings.Cut(out[i], " ")
		if base := path.Base(program); strings.Contains(program, "/") && strings.Trim(base, "*./") != "" {
			out = append(out, strings.TrimSpace(base+" "+rest))
		}
	}
	return out
}

// collapsed writes runs of stars and of spaces as one.
func collapsed(s string) string {
	for strings.Contains(s, "**") {
		s = strings.ReplaceAll(s, "**", "*")
	}
	return strings.Join(strings.Fields(s), " ")
}

// literalColon keeps a colon before a last star, which would be " *" in the source.
func literalColon(p string) string {
	if strings.HasSuffix(p, ":*") {
		return p + "*"
	}
	return p
}

// command adds an entry of terminalAllowlist, or the inside of a Shell token. It
// returns why an entry is not imported.
func (im *importer) command(r *ir.Role, text string, d ir.Decision, at diag.Pos) string {
	text = trimmed(text)
	add := func(d ir.Decision, p string) {
		rule := ir.Rule{Decision: d, Pattern: ir.Pattern{Text: p}, Pos: at}
		if p == "*" && d == ir.Deny {
			rule.Pattern = ir.Pattern{Kind: ir.All}
		}
		r.Can.Command.Rules = append(r.Can.Command.Rules, rule)
	}
	if d == ir.Deny {
		if text == "" {
			return "it is empty: Cursor matches nothing by it"
		}
		for _, p := range deniedCommand(text) {
			add(ir.Deny, p)
		}
		return ""
	}
	patterns, ask, why := allowedCommand(text)
	if why != "" {
		return why
	}
	for _, p := range patterns {
		if policy.CheckCommand(p) != nil {
			return "the source does not take it for a command"
		}
	}
	for _, p := range patterns {
		add(d, p)
	}
	if ask != "" {
		add(ir.Ask, ask)
	}
	return ""
}

// heldBack takes out the asks for a line that an entry of its own allows.
func heldBack(t *ir.Table) {
	rules := slices.Clone(t.Rules)
	t.Rules = slices.DeleteFunc(t.Rules, func(r ir.Rule) bool {
		return r.Decision == ir.Ask && slices.ContainsFunc(rules, func(o ir.Rule) bool {
			if o.Decision != ir.Allow {
				return false
			}
			words, open := strings.CutSuffix(o.Pattern.Text, " *")
			return o.Pattern.Text == r.Pattern.Text || o.Pattern.Text == "*" || open && !strings.Contains(words, "*") && o.Pos != r.Pos &&
				(words == r.Pattern.Text || strings.HasPrefix(r.Pattern.Text, words+" "))
		})
	})
}

// hosts adds the inside of a WebFetch token. A host and what lies below it are two
// patterns of the source.
func (im *importer) hosts(r *ir.Role, text string, d ir.Decision, at diag.Pos) string {
	text = bareHost(text)
	add := func(d ir.Decision, p string) {
		r.Can.Web.Rules = append(r.Can.Web.Rules, ir.Rule{Decision: d, Pattern: ir.Pattern{Text: p}, Pos: at})
	}
	list := []string{text}
	if apex, ok := strings.CutPrefix(text, "*."); ok {
		list = []string{apex, text}
	}
	bad := slices.ContainsFunc(list, func(p string) bool { return policy.CheckHost(p) != nil })
	switch {
	case d == ir.Deny && bad: // the engine asks about a denied host
		im.out.Note(contract.NeedsDecision, at, "role "+r.Name, "WebFetch("+text+")", "no host of the source: every host is asked about")
		list = []string{"*"}
	case bad:
		return "the source does not take it for a host"
	case d == ir.Allow && (strings.HasSuffix(text, ".") || strings.ContainsFunc(text, func(c rune) bool { return c > '~' })):
		return "Cursor compares hosts in ASCII (xn--…) and without a last dot: it matches nothing"
	}
	if d == ir.Deny {
		d = ir.Ask // it takes the host out of what is allowed, no more
	}
	for _, p := range list {
		add(d, p)
	}
	return ""
}

// files adds the inside of a Read or Write token. The engine compares the absolute
// path, and a star is any text; the documentation starts at the workspace. A deny
// of the source is both.
func (im *importer) files(r *ir.Role, keyword, text string, at diag.Pos) {
	table, outside := r.Can.Read, &r.Can.OutsideRead
	if keyword == "Write" {
		table, outside = r.Can.Edit, &r.Can.OutsideEdit
	}
	texts := []string{text}
	if absolutePath.MatchString(text) {
		*outside = &ir.Default{Decision: ir.Deny, Pos: at}
		if texts = below(text); len(texts) == 0 {
			im.out.Note(contract.NeedsDecision, at, "role "+r.Name, keyword+"("+text+")", "it is denied outside the project: where the project lies in it, deny it there too")
		}
	}
	for _, text := range texts {
		globs := engineGlobs(text)
		if strings.ContainsAny(text, special) {
			globs = append(globs, documentedGlob(text))
		}
		for _, g := range globs {
			if policy.CheckGlob(g) != nil {
				g = "**"
			}
			table.Rules = append(table.Rules, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: g}, Pos: at})
		}
	}
}

var (
	absolutePath = regexp.MustCompile(`\A(?:/|~|file:|[A-Za-z]:|\\\\)`)
	// noProject are folders in which nobody keeps a project.
	noProject = regexp.MustCompile(`\A(?:/(?:etc|usr|bin|sbin|lib|lib64|proc|sys|dev|boot|System|Library|Applications)|~/\.[^/*]+)(?:/|\z)`)
	// manyProjects are folders in which projects lie, whatever their names.
	manyProjects = regexp.MustCompile(`\A(?:~?|/home(?:/[^/*]+)?|/Users(?:/[^/*]+)?|/root|/workspaces?|/mnt|/data)\z`)
)

// below returns what an absolute pattern may be as seen from the project: it may
// lie anywhere but where nobody keeps a project.
func below(text string) []string {
	text = strings.TrimPrefix(text, "file://")
	if noProject.MatchString(text) {
		return nil
	}
	dir, rest := text, ""
	if i := strings.IndexByte(text, '*'); i >= 0 {
		i = strings.LastIndexByte(text[:i], '/') + 1
		dir, rest = text[:i], text[i:]
	}
	if dir = strings.TrimSuffix(dir, "/"); manyProjects.MatchString(dir) {
		if strings.HasPrefix(rest, "*") {
			return []string{rest}
		}
		if rest == "" {
			return []string{"**"} // the folder itself
		}
		return []string{"/" + rest, "**/" + rest}
	}
	// /a/b/c is a/b/c, b/c or c.
	var out []string
	names := strings.Split(strings.Trim(dir, "/"), "/")
	for i := 1; i < len(names); i++ {
		out = append(out, "/"+strings.Join(append(slices.Clone(names[i:]), rest), "/"))
	}
	return out
}

// engineGlobs writes a pattern of which only "*" is a wildcard, for any text, as
// globs of the source. One that does not start with a star starts at the root.
func engineGlobs(text string) []string {
	const most = 8 // globs of one pattern
	outs := []string{""}
	every := func(s string) {
		for i := range outs {
			outs[i] += s
		}
	}
	if text = strings.TrimPrefix(text, "./"); !strings.HasPrefix(text, "*") && !strings.HasPrefix(text, "/") {
		every("/")
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '*' {
			if c := text[i : i+1]; strings.Contains(`?[]{}\`, c) {
				every("?") // glob syntax has no escape that every agent knows
			} else {
				every(c)
			}
			continue
		}
		for i+1 < len(text) && text[i+1] == '*' {
			i++
		}
		atStart := outs[0] == "" || strings.HasSuffix(outs[0], "/")
		last, slash := i+1 == len(text), i+1 < len(text) && text[i+1] == '/'
		switch {
		case atStart && (last || slash):
			every("**")
		case atStart:
			every("**/*")
		case last:
			every("*")
		case slash:
			every("*/**")
		case len(outs) >= most:
			every("*") // and everything that starts so
			return outs
		default:
			n := len(outs)
			outs = append(outs, outs...)
			for j := range outs {
				if outs[j] += "*"; j >= n {
					outs[j] += "/**/*"
				}
			}
		}
	}
	for i, g := range outs {
		for strings.Contains(g, "**/**/") {
			g = strings.ReplaceAll(g, "**/**/", "**/")
		}
		if g == "/**" || g == "**/*" || g == "/" {
			g = "**"
		}
		outs[i] = g
	}
	slices.Sort(outs)
	return slices.Compact(outs)
}

// documentedGlob is a pattern as picomatch reads it, what the source has no word
// for being any text.
func documentedGlob(text string) string {
	text = strings.Map(func(c rune) rune {
		if strings.ContainsRune(`!()+@|\`, c) {
			return '*'
		}
		return c
	}, strings.TrimPrefix(text, "./"))
	if !strings.Contains(text, "/") && !strings.HasPrefix(text, "*") {
		text = "/" + text // from the workspace's root
	}
	return text
}

package lint

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// reaching is a family of commands that do more than their name says where anything may follow.
type reaching struct {
	starts []string // the first words of such a command
	acts   []act
	hint   string
}

// act is what a command does with these arguments behind it. Whether a subject may do it, its
// policy says.
type act struct{ args, does string }

// What a set decides, the lists of some agents cannot say: their exact commands can.
const (
	readsOnly = `"@git_read" allows what only reads; beside it, exact commands ("git status") run ` +
		`without a question on agents whose own lists cannot say that`
	filtersOnly = `"@readonly_filters" allows what only reads` + filesBeside
	filesBeside = `; beside it, exact commands ("cat README.md") run without a question on agents ` +
		`whose own lists cannot say that`
	exactOnly = "allow exact commands, or ask about it"
)

// farReaching lists the families. The first one that fits is reported.
var farReaching = []reaching{
	{[]string{"git log", "git diff", "git show", "git shortlog"},
		[]act{{"--output=FILE", "writes a file"}}, readsOnly},
	{[]string{"git branch"}, []act{{"-D NAME", "removes branches"}}, readsOnly},
	{[]string{"git"},
		[]act{{"push", "pushes"}, {"-c core.pager=PROGRAM log", "runs what its configuration names"}},
		readsOnly + "; list the rest"},
	{[]string{"go test", "go build", "go run", "go vet", "go generate"},
		[]act{{"-toolexec PROGRAM", "runs any program"}},
		"allow the arguments that are used, such as \"go test ./...\""},
	{[]string{"cargo", "mvn", "gradle"}, []act{{"TASK", "runs any program that the project's build names"}},
		"allow the arguments that are used, such as \"cargo test\""},
	{[]string{"npm run", "pnpm run", "yarn run", "pnpm", "yarn", "make", "just", "task", "rake"},
		[]act{{"NAME", "runs every script of the project, those too that are added later"}},
		"list the scripts that it needs"},
	{strings.Fields("python python3 node deno bun ruby perl php lua sh bash dash zsh fish pwsh osascript " +
		"npx bunx pnpx uvx eval"),
		[]act{{"FILE", "runs any code that it is given"}}, "name the script that it needs"},
	{[]string{"find"}, []act{
		{". -delete", "removes files"},
		{". -fprint FILE", "writes a file"},
		{". -exec PROGRAM ';'", "runs any program"},
	}, exactOnly},
	{strings.Fields("env sudo doas xargs fd parallel nice nohup timeout command exec watch time ssh docker"),
		[]act{{"-- PROGRAM", "runs any program that its arguments name"}}, "allow the program itself"},
	{[]string{"sed"}, []act{
		{"-i SCRIPT FILE", "changes files"},
		{"'w FILE'", "writes a file"},
		{"'1e PROGRAM'", "runs any program"},
	}, exactOnly},
	{[]string{"awk", "gawk"}, []act{
		{`'BEGIN { print > "FILE" }'`, "writes a file"},
		{`'BEGIN { system("PROGRAM") }'`, "runs any program"},
	}, exactOnly},
	{[]string{"sort"}, []act{
		{"-o FILE", "writes a file"}, {"--compress-program=PROGRAM", "runs any program"},
	}, filtersOnly},
	{[]string{"uniq"}, []act{{"FILE FILE", "writes its second file"}}, filtersOnly},
	{strings.Fields("cp mv tee dd rsync ln install tar unzip curl wget"),
		[]act{{"FILE FILE", "writes any file that its arguments name, past what can.edit says"}},
		exactOnly},
	{strings.Fields("printf test read export declare typeset"),
		[]act{{`'x[$(PROGRAM)]'`, "runs in some shells what its arguments contain"}}, exactOnly},
}

// openAllows calls f with each rule of a subject that a person wrote and that allows commands
// behind which anything may follow. words are what stands before.
func (p *pass) openAllows(s subject, f func(r ir.Rule, words string)) {
	if s.can.Command == nil {
		return
	}
	for _, r := range s.can.Command.Rules {
		plain := r.Decision == ir.Allow && written(r) && r.Pattern.Kind == ir.Plain
		if !plain || matchesEverything(ir.Command, r) {
			continue
		}
		if words, open := openEnd(r.Pattern.Text); open {
			f(r, words)
		}
	}
}

// runs reports whether a subject may run a line without a question.
func (p *pass) runs(s subject, line string) bool {
	return p.decide(s.ref, policy.Action{Group: ir.Command, Arg: line}).Decision == ir.Allow
}

// reaches finds allowed commands that reach further than they look.
func (p *pass) reaches() {
	for _, s := range p.subjects() {
		p.openAllows(s, func(r ir.Rule, words string) {
			why, hint := reach(words, func(line string) bool { return p.runs(s, line) })
			if why != "" {
				p.find(r.Pos, "%q allows more than it seems to: %s", r.Pattern.Text, why).Subject(s.name).Hint(hint)
			}
		})
	}
}

// reach says why commands that begin with some words reach far where anything may follow, and
// what to write in place of that; "" where they do not.
func reach(words string, runs func(line string) bool) (why, hint string) {
	if words == "" || strings.HasPrefix(words, "*") {
		return "anything may stand before what it names", "begin with the program"
	}
	for _, f := range farReaching {
		if !slices.ContainsFunc(f.starts, func(start string) bool { return begins(words, start) }) {
			continue
		}
		var does []string
		for _, a := range f.acts {
			if line := words + " " + a.args; runs(line) {
				does = append(does, "it "+a.does+" ("+line+")")
			}
		}
		if len(does) == 0 {
			return "", ""
		}
		return strings.Join(does, ", "), f.hint
	}
	return "", ""
}

// begins reports whether words are those of a family and options of it. Other words name the
// script, or the program that is run.
func begins(words, start string) bool {
	rest, ok := strings.CutPrefix(words, start)
	if !ok || rest != "" && rest[0] != ' ' {
		return false
	}
	return !slices.ContainsFunc(strings.Fields(rest), func(w string) bool { return !strings.HasPrefix(w, "-") })
}

// openEnd returns the words of a pattern behind which anything may follow.
func openEnd(pattern string) (words string, open bool) {
	words = strings.Join(strings.Fields(pattern), " ")
	if strings.HasPrefix(words, "*") {
		return words, true
	}
	for _, end := range []string{":*", " *", "*"} {
		if w, ok := strings.CutSuffix(words, end); ok {
			return strings.TrimSpace(w), true
		}
	}
	return words, false
}

// readers print the files that their arguments name.
var readers = strings.Fields("cat tac head tail less more grep egrep fgrep rg ag sed awk gawk sort uniq cut wc nl " +
	"od xxd hexdump strings diff cmp comm paste jq yq base64 bat")

// deniedReads finds allowed commands that read what their subject may not read.
func (p *pass) deniedReads() {
	if p.Project.Enforced != nil {
		return // hooks decide about the files that a command names
	}
	for _, s := range p.subjects() {
		denied := p.deniedPath(s)
		if denied == "" {
			continue
		}
		text, err := p.Policy.OnText().Subject(s.ref)
		if err != nil {
			continue
		}
		var patterns []string
		var first diag.Pos
		p.openAllows(s, func(r ir.Rule, words string) {
			reads := slices.ContainsFunc(readers, func(start string) bool {
				return words == start || strings.HasPrefix(words, start+" ")
			})
			line := policy.Action{Group: ir.Command, Arg: words + " " + denied}
			if reads && text.Decide(line).Decision == ir.Allow {
				if patterns = append(patterns, r.Pattern.Text); first.IsZero() {
					first = r.Pos
				}
			}
		})
		if len(patterns) > 0 {
			p.find(first, "what may not be read, such as %s, is read by commands that are allowed: %s",
				denied, diag.Quote(patterns)).
				Subject(s.name).
				Hint(`"@readonly_filters" in their place decides about the files that a line names` + filesBeside)
		}
	}
}

// deniedPath returns a path that a subject may not read by a rule that a person wrote, as a
// command may name it; "" for none.
func (p *pass) deniedPath(s subject) string {
	if s.can.Read == nil {
		return ""
	}
	for _, r := range s.can.Read.Rules {
		if r.Decision != ir.Deny || !written(r) {
			continue
		}
		candidates := []string{".env", "secrets/key", "key.pem", "id_rsa"} // of an expression
		if globs, err := policy.ExpandBraces(r.Pattern.Text); r.Pattern.Kind == ir.Plain && err == nil {
			candidates = nil
			for _, g := range globs {
				candidates = append(candidates, strings.TrimSuffix(instance.Replace(strings.TrimPrefix(g, "/")), "/"))
			}
		}
		for _, name := range candidates {
			if name != "" && p.decide(s.ref, policy.Action{Group: ir.Read, Arg: name}).Decision == ir.Deny {
				return name
			}
		}
	}
	return ""
}

// instance makes a path of a glob that matches it.
var instance = strings.NewReplacer("**/", "", "**", "x", "*", "x", "?", "x")

package lint

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// reaching is a family of commands that do more than their name says where anything may follow.
type reaching struct {
	starts []string // the first words of such a command
	why    string
	hint   string
}

// farReaching lists the families. The first one that fits is reported.
var farReaching = []reaching{
	{[]string{"git log", "git diff", "git show", "git shortlog", "git rev-list", "git blame", "git status",
		"git branch"},
		"options such as --output write files", `"@git_read" allows what only reads`},
	{[]string{"git"}, "it also pushes, fetches and runs what the repository's configuration names",
		`"@git_read" allows what only reads; list the rest`},
	{[]string{"go test", "go build", "go run", "go vet", "go generate", "cargo", "mvn", "gradle"},
		"an option or the code itself runs any program (go test -exec)",
		"allow the arguments that are used, such as \"go test ./...\""},
	{[]string{"npm run", "pnpm run", "yarn run", "pnpm", "yarn", "make", "just", "task", "rake"},
		"it runs every script of the project, those too that are added later", "list the scripts that it needs"},
	{strings.Fields("python python3 node deno bun ruby perl php lua sh bash dash zsh fish pwsh osascript " +
		"npx bunx pnpx uvx eval"),
		"it runs any code that it is given", "name the script that it needs"},
	{strings.Fields("env sudo doas xargs find fd parallel nice nohup timeout command exec watch time ssh docker"),
		"it runs any program that its arguments name", "allow the program itself"},
	{strings.Fields("cp mv tee dd rsync ln install tar unzip curl wget sed awk gawk"),
		"it writes any file that its arguments name, past what can.edit says", "ask about it, or allow exact commands"},
	{strings.Fields("printf test read export declare typeset"), "some shells evaluate what its arguments contain",
		"allow exact commands"},
}

// readers print the files that their arguments name.
var readers = strings.Fields("cat head tail less more grep egrep rg sort uniq cut wc nl od xxd strings diff")

// reaches finds allowed commands that reach further than they look.
func (p *pass) reaches() {
	for _, s := range p.subjects() {
		t := s.can.Command
		if t == nil {
			continue
		}
		for _, r := range t.Rules {
			plain := r.Decision == ir.Allow && written(r) && r.Pattern.Kind == ir.Plain
			if !plain || matchesEverything(ir.Command, r) {
				continue
			}
			if why, hint := reach(r.Pattern.Text, deniesReads(s.can)); why != "" {
				p.find(r.Pos, "%q allows more than it seems to: %s", r.Pattern.Text, why).Subject(s.name).Hint(hint)
			}
		}
	}
}

// reach says why an allowed pattern reaches far, and what to write in its place; "" where it
// does not. denied is set where reading some files is denied.
func reach(pattern string, denied bool) (why, hint string) {
	words, open := openEnd(pattern)
	if !open {
		return "", ""
	}
	if words == "" || strings.HasPrefix(words, "*") {
		return "anything may stand before what it names", "begin with the program"
	}
	for _, f := range farReaching {
		// More words than the family's own name the script, or the program that is run.
		if slices.Contains(f.starts, words) {
			return f.why, f.hint
		}
	}
	starts := func(start string) bool { return words == start || strings.HasPrefix(words, start+" ") }
	if denied && slices.ContainsFunc(readers, starts) {
		return "it reads any file, past what can.read denies",
			`"@readonly_filters" decides about the files that it names`
	}
	return "", ""
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

// deniesReads reports whether a subject may not read some files.
func deniesReads(can *ir.Can) bool {
	return can.Read != nil && slices.ContainsFunc(can.Read.Rules, func(r ir.Rule) bool { return r.Decision == ir.Deny })
}

// reachRule documents [pass.reaches].
func reachRule() Rule {
	return Rule{
		ID: "far-reaching-allow", Severity: diag.Note, check: (*pass).reaches,
		Doc: "A command is allowed with anything behind it, and may then do more than its name says: " +
			"\"git log *\" writes a file by --output, \"go test *\" runs a program by -exec, " +
			"\"npm run *\" runs every script, an interpreter or a wrapper (python, env, xargs, find) runs what it " +
			"is given, cp and tee write any file, and \"cat *\" reads what can.read denies. Allow what is needed, " +
			"or one of the sets \"@git_read\" and \"@readonly_filters\".",
		Bad:  role(`command: {allow: ["git log *"], default: "ask"}`),
		Good: role(`command: {allow: ["@git_read"], default: "ask"}`),
	}
}

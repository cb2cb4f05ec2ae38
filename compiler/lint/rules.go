package lint

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/pins"
)

// All returns the rules, those of the targets included, sorted by name.
func All(targets []contract.Target) []Rule {
	rules := general()
	for _, t := range targets {
		if l, ok := t.(contract.Linter); ok {
			for _, r := range l.LintRules() {
				rules = append(rules, ofTarget(t.Name(), r))
			}
		}
	}
	for _, t := range targets {
		if r, ok := t.(contract.Reviewer); ok {
			for _, rule := range r.ReviewRules() {
				rules = append(rules, ofReview(t.Name(), rule))
			}
		}
	}
	slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return rules
}

// ofTarget returns a rule that looks at the rules in a target's own grammar.
func ofTarget(target string, r contract.LintRule) Rule {
	check := func(p *pass) {
		for i := range p.Project.Roles {
			role := &p.Project.Roles[i]
			for _, n := range role.Native {
				if n.Target != target || !ofSource(n.Pos) || !own(n.From) {
					continue
				}
				if problem, hint := r.Native(n); problem != "" {
					p.find(n.Pos, "%s", problem).Subject("role " + role.Name).Hint(hint)
				}
			}
		}
	}
	return Rule{ID: r.ID, Severity: r.Severity, Doc: r.Doc, Bad: r.Bad, Good: r.Good, check: check}
}

// ofReview returns a rule that a target looks for in code of the project.
func ofReview(target string, r contract.LintRule) Rule {
	check := func(p *pass) {
		for _, d := range p.Reviewed {
			if d.Code == r.ID {
				d.Severity = p.severity
				p.found = append(p.found, Finding{Diagnostic: d})
			}
		}
	}
	return Rule{ID: r.ID, Severity: r.Severity, Doc: r.Doc, Bad: r.Bad, Good: r.Good, Review: target, check: check}
}

// general returns the rules that look at the neutral vocabulary.
func general() []Rule {
	rules := []Rule{
		// Permissions that are broader, or narrower, than they look.
		{ID: "bypass-permissions", Severity: diag.Warning, check: (*pass).bypass},
		{ID: "command-defeats-edit", Severity: diag.Warning, check: (*pass).commandDefeatsEdit},
		{ID: "destructive-allowed", Severity: diag.Warning, check: (*pass).destructive},
		{ID: "dont-ask-nothing", Severity: diag.Warning, check: (*pass).dontAsk},
		{ID: "git-shows-history", Severity: diag.Note, check: (*pass).gitShowsHistory},
		{ID: "over-broad-allow", Severity: diag.Warning, check: (*pass).overBroad},
		{ID: "silent-writer", Severity: diag.Note, check: (*pass).silentWriters},
		{ID: "writes-instructions", Severity: diag.Note, check: (*pass).writesInstructions},
		{ID: "far-reaching-allow", Severity: diag.Note, check: (*pass).reaches},
		{ID: "denied-read-by-command", Severity: diag.Warning, check: (*pass).deniedReads},

		// Rules that decide nothing.
		{ID: "duplicate-rule", Severity: diag.Warning, Fixable: true, check: (*pass).duplicates},
		{ID: "shadowed-rule", Severity: diag.Note, Fixable: true, check: (*pass).shadowed},
		{ID: "void-rule", Severity: diag.Warning, Fixable: true, check: (*pass).void},

		// Allows with times that permit nothing any more, or at any time.
		{ID: "allow-ends-soon", Severity: diag.Warning, check: (*pass).endsSoon},
		{ID: "exception-ends-soon", Severity: diag.Warning, Beside: settings, check: (*pass).exceptionEndsSoon},
		{ID: "expired-allow", Severity: diag.Error, check: (*pass).expired},
		{ID: "times-limit-nothing", Severity: diag.Warning, check: (*pass).idleTimes},

		// Patterns that do not mean what they look like.
		{ID: "absolute-path", Severity: diag.Warning, check: (*pass).absolutePaths},
		{ID: "bare-command", Severity: diag.Warning, check: (*pass).bareCommands},
		{ID: "bare-folder", Severity: diag.Note, check: (*pass).bareFolders},
		{ID: "never-allowed", Severity: diag.Warning, check: (*pass).neverAllowed},
		{ID: "regex-outside-edit", Severity: diag.Warning, check: (*pass).regexOutsideEdit},
		{ID: "slow-regex", Severity: diag.Warning, check: (*pass).slowRegex},

		// Servers, tools, policies and texts that are unused, unsafe or too long.
		{ID: "long-prompt", Severity: diag.Warning, check: (*pass).longPrompts},
		{ID: "missing-when-to-use", Severity: diag.Note, check: (*pass).whenToUse},
		{ID: "same-name", Severity: diag.Note, check: (*pass).sameName},
		{ID: "secret-literal", Severity: diag.Error, check: (*pass).secrets},
		{ID: "server-stays-off", Severity: diag.Warning, unused: true, check: (*pass).staysOff},
		{ID: "unused-policy", Severity: diag.Warning, check: (*pass).unusedPolicies},
		{ID: "unused-server", Severity: diag.Note, unused: true, check: (*pass).unusedServers},
		{ID: "unused-tool", Severity: diag.Note, unused: true, check: (*pass).unusedTools},

		// Pins that hold nothing, and what is pinned that steers a model.
		{ID: "edited-pin", Severity: diag.Warning, Beside: pins.File, check: (*pass).editedPins},
		{ID: "hidden-characters", Severity: diag.Warning, Beside: pins.File, check: (*pass).hiddenCharacters},
		{ID: "names-foreign-tool", Severity: diag.Warning, Beside: pins.File, check: (*pass).foreignTools},
		{ID: "stale-pin", Severity: diag.Warning, Beside: pins.File, check: (*pass).stalePins},
		{ID: "steering-description", Severity: diag.Warning, Beside: pins.File, check: (*pass).steeringDescriptions},
		{ID: "unpinned-server", Severity: diag.Note, Beside: pins.File, check: (*pass).unpinnedServers},

		// Comments that silence nothing.
		{ID: reasonlessIgnore, Severity: diag.Warning},
		{ID: unknownIgnore, Severity: diag.Warning},
		{ID: unusedIgnore, Severity: diag.Warning},
	}
	for i := range rules {
		document(&rules[i])
	}
	return rules
}

// settings is the file that has the exceptions.
const settings = "modec.toml"

// rulesText has a section for each rule: its paragraph, and its examples in blocks of code.
//
//go:embed rules.md
var rulesText string

// document gives a rule its documentation and its examples.
func document(r *Rule) {
	_, section, _ := strings.Cut(rulesText, "\n## "+string(r.ID)+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	text, _, _ := strings.Cut(section, "```")
	r.Doc = strings.Join(strings.Fields(text), " ")
	language := "cue"
	switch r.Beside {
	case pins.File:
		language = "json"
	case settings:
		language = "toml"
	}
	r.Bad, r.Good = block(section, language+" bad"), block(section, language+" good")
}

// block returns the code that Markdown has in its first block of a kind.
func block(markdown, kind string) string {
	_, code, _ := strings.Cut(markdown, "```"+kind+"\n")
	code, _, _ = strings.Cut(code, "\n```")
	return code
}

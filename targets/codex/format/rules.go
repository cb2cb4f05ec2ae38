package format

import (
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
)

// What a rule consists of: texts on one line, lists of them, and lists of these.
const (
	ruleText  = `(?:"[^"\\\n]*"|'[^'\\\n]*')`
	ruleTexts = `\[\s*(?:` + ruleText + `\s*(?:,\s*` + ruleText + `\s*)*,?\s*)?\]`
	ruleItem  = `(?:` + ruleText + `|` + ruleTexts + `)`
	ruleWords = `\[\s*(?:` + ruleItem + `\s*(?:,\s*` + ruleItem + `\s*)*,?\s*)?\]`
)

// restraining matches rules of commands and hosts that only ask or forbid, and comments.
var restraining = lazy.Regexp(`\A(?:\s+|#[^\n]*|(?:prefix_rule\(\s*pattern\s*=\s*` + ruleWords +
	`|network_rule\(\s*host\s*=\s*` + ruleText + `\s*,\s*protocol\s*=\s*` + ruleText + `)\s*,\s*` +
	`decision\s*=\s*["'](?:prompt|forbidden)["']\s*` +
	`(?:,\s*(?:justification\s*=\s*` + ruleText + `|(?:not_)?match\s*=\s*` + ruleWords + `)\s*)*,?\s*\))*\z`)

// OnlyRestrains reports whether a file of rules allows no command, which Codex would then run outside its sandbox. A
// file that does not say so plainly may: rules are a program.
func OnlyRestrains(data []byte) bool { return restraining().Match(data) }

// Answering returns a hook among those of a configuration, or of hooks.json, that Codex asks in the place of a person;
// nil for none.
func Answering(root *located.Value) *located.Value {
	hooks := root.Get("hooks").Get("PermissionRequest").List()
	if len(hooks) == 0 {
		return nil
	}
	return hooks[0]
}

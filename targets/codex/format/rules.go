package format

import "modec.dev/modec/compiler/lazy"

// restraining matches rules of commands that only ask or forbid, and comments.
var restraining = lazy.Regexp(`\A(?:\s+|#[^\n]*|prefix_rule\(\s*pattern\s*=\s*\[[^()=#]*\],\s*` +
	`decision\s*=\s*"(?:prompt|forbidden)",?\s*(?:justification\s*=\s*"[^"\\\n]*",?\s*)?\))*\z`)

// OnlyRestrains reports whether a file of rules allows no command, which Codex would then run outside its sandbox. A
// file that does not say so plainly may.
func OnlyRestrains(data []byte) bool { return restraining().Match(data) }

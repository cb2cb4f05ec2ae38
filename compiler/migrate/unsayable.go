package migrate

import (
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

const withNUL = "it has a NUL character, which the source cannot say: "

// leaveNULs takes out of an import what has a NUL character, so that it costs no more than itself: a rule, which stays
// in its file where it denies or asks, a text of a mode that shares its file with others, and what one agent alone
// has. A mode with a file of its own stays there as a whole, as [imports.refuse] says.
func leaveNULs(im *contract.Imported) {
	p := im.Project
	if p == nil {
		return
	}
	for i := range p.Roles {
		r := &p.Roles[i]
		of := "role " + r.Name
		leaveRules(im, &r.Can, of)
		r.Native = leaveNative(im, r.Native, of)
		leaveTexts(im, r.Pos, of, r.Extra, []modeText{
			{"description", &r.Description}, {"appendSystemPrompt", &r.AppendSystemPrompt},
		})
	}
	for i := range p.Modes {
		m := &p.Modes[i]
		of := "mode " + m.Slug
		if !slices.ContainsFunc(p.Modes, func(x ir.Mode) bool { return x.Slug != m.Slug && x.Pos.File == m.Pos.File }) {
			continue
		}
		leaveRules(im, &m.Can, of)
		m.Native = leaveNative(im, m.Native, of)
		leaveTexts(im, m.Pos, of, m.Extra, modeTexts(m))
	}
	for at, text := range im.Comments {
		im.Comments[at] = strings.ReplaceAll(text, "\x00", "")
	}
}

func hasNUL(text string) bool { return strings.ContainsRune(text, 0) }

func leaveRules(im *contract.Imported, can *ir.Can, of string) {
	for _, g := range ir.Groups {
		for _, list := range listsOf(can, g) {
			*list = slices.DeleteFunc(slices.Clone(*list), func(r ir.Rule) bool {
				return leaveRule(im, r.Pos, of, r.Decision, r.Pattern.Text)
			})
		}
	}
}

func leaveNative(im *contract.Imported, rules []ir.NativeRule, of string) []ir.NativeRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r ir.NativeRule) bool {
		return leaveRule(im, r.Pos, of, r.Decision, r.Text)
	})
}

// leaveRule reports whether a rule is not imported, and notes it in place of what the importer said of it.
func leaveRule(im *contract.Imported, at diag.Pos, of string, d ir.Decision, text string) bool {
	if !hasNUL(text) {
		return false
	}
	const why = withNUL + "it is left out"
	for i := range im.Notes {
		if n := &im.Notes[i]; n.Rule && n.Pos == at && hasNUL(n.What) {
			n.Kind, n.Why = contract.Refused, why
			return true
		}
	}
	im.NoteRule(contract.Refused, at, of, d.String()+" "+text, why)
	return true
}

// leaveTexts takes the characters out of texts, and the fields that have any out of what one agent alone has.
func leaveTexts(im *contract.Imported, at diag.Pos, of string, extra map[string]ir.Extra, texts []modeText) {
	for _, t := range texts {
		if hasNUL(*t.text) {
			*t.text = strings.ReplaceAll(*t.text, "\x00", "")
			im.Note(contract.Refused, at, of, t.name, withNUL+"a build writes the text without it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		fields := extra[name].Fields
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if list, ok := fields[key].([]any); ok { // the order of rules, of which some are left out
				fields[key] = slices.DeleteFunc(slices.Clone(list), anyNUL)
			} else if anyNUL(fields[key]) {
				delete(fields, key)
				im.Note(contract.Refused, at, of, key, withNUL+"it is left out")
			}
		}
	}
}

// anyNUL reports whether a value has the character somewhere.
func anyNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return hasNUL(v)
	case []any:
		return slices.ContainsFunc(v, anyNUL)
	case map[string]any:
		for key, x := range v {
			if hasNUL(key) || anyNUL(x) {
				return true
			}
		}
	}
	return false
}

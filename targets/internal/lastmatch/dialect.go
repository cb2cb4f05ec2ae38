package lastmatch

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/opencode/format"
)

// RuleLists returns the lists of rules in the words of such an agent. They decide what can leaves to it.
func RuleLists() []contract.RuleList {
	return []contract.RuleList{
		{Decision: ir.Deny, Modes: ofModes},
		{Decision: ir.Ask, Modes: ofModes},
		{Decision: ir.Allow, Modes: ofModes},
	}
}

// ofModes says that modes have such lists too.
const ofModes = true

// TranslateRule keeps every text as it is: what the source can say stands in can.
func (a *Agent) TranslateRule(text string, d ir.Decision) ([]contract.NeutralRule, bool, error) {
	if _, err := format.ParseRule(text, d); err != nil {
		return nil, false, fmt.Errorf("no permission of %s says so: %w", a.Title, err)
	}
	return nil, false, nil
}

// Restate says in can what a rule about a command or a path says, where that is no more than its pattern.
func (a *Agent) Restate(text string, d ir.Decision) (rule contract.NeutralRule, ok bool) {
	r, err := format.ParseRule(text, d)
	if err != nil || r.Form == format.Listed {
		return rule, false
	}
	rule.Pattern.Text, ok = r.Pattern, true
	switch r.Key {
	case format.Bash:
		rule.Group = ir.Command
	case format.Read, format.Edit:
		rule.Group = ir.Group(r.Key)
		rule.Pattern.Text, ok = neutralGlob(r.Pattern)
	}
	return rule, ok && r.Pattern != format.Every
}

// neutralGlob returns the glob of a pattern in which a star at one end at most stands for more than a name.
func neutralGlob(pattern string) (string, bool) {
	name, below := strings.CutSuffix(pattern, "/*")
	if below && !strings.ContainsAny(name, "*?") {
		return name + "/**", true
	}
	if rest, any := strings.CutPrefix(pattern, "*"); any && !strings.ContainsAny(rest, "*?/") {
		return "**/*" + rest, true
	}
	return pattern, !strings.ContainsAny(pattern, "*?")
}

// Entries describes what a file that every session reads has of modec's beside what people have there.
func (e *Emitter) Entries(f contract.File) contract.File {
	f.Keys, f.Alike = e.Keys(), e.agent.alike
	f.Whole, f.Once = []string{"/permission", "/tools"}, []string{"/$schema"}
	return f
}

// alike reports whether an entry of a file that every session reads says what the emitted one does.
func (a *Agent) alike(place string, have, emitted []byte) bool {
	is, err := located.JSON("", have)
	want, wrong := located.JSON("", emitted)
	if err != nil || wrong != nil {
		return false
	}
	if place == "/permission" {
		return a.samePermission(is, want)
	}
	for _, m := range append(slices.Clone(is.Fields()), want.Fields()...) {
		x, y := is.Get(m.Key), want.Get(m.Key)
		switch {
		case m.Key == "permission" && strings.HasPrefix(place, "/agent/"):
			if !a.samePermission(x, y) {
				return false
			}
		case !reflect.DeepEqual(x.Any(), y.Any()):
			return false
		}
	}
	return len(is.Fields()) > 0 || reflect.DeepEqual(is.Any(), want.Any())
}

// samePermission reports whether two permissions have the same rules, in orders that decide alike. What takes back
// another file's is the same only in the same places.
func (a *Agent) samePermission(x, y *located.Value) bool {
	is, _, problem := format.ReadPermission(x, a.Own.Nulls)
	want, _, wrong := format.ReadPermission(y, a.Own.Nulls)
	if problem != "" || wrong != "" {
		return false
	}
	null := func(r format.Rule) bool { return r.Null }
	if slices.ContainsFunc(is, null) || slices.ContainsFunc(want, null) {
		return slices.EqualFunc(is, want, func(r, o format.Rule) bool {
			return r.Text() == o.Text() && r.Decision == o.Decision && r.Null == o.Null
		})
	}
	return format.Alike(is, want)
}

// Layout describes an agent's front matter, nil for any other file.
func (a *Agent) Layout(file string) *layout.Style {
	if a.Own.AgentAt(file) == "" {
		return nil
	}
	return &layout.Style{Read: func(data []byte) (*located.Value, string, error) {
		return format.FrontMatter(file, data)
	}, Ignored: func(key string) bool {
		_, known := extraFields[key]
		return !known && !slices.Contains(sourceKeys, key) && !contract.TakesSetting(a.Name, "other."+key)
	}, Same: func(key string, x, y *located.Value) bool {
		return key == "permission" && a.samePermission(x, y) || key == "description" && layout.SameText(x, y)
	}}
}

// OwnsPlaced returns where the settings may lie, by the option file, and where a mode's own extra may place an agent
// below some folders.
func (a *Agent) OwnsPlaced(dirs ...string) (owned []string) {
	for _, f := range a.Own.Files {
		if f != a.File {
			owned = append(owned, f)
		}
	}
	for _, dir := range dirs {
		for _, d := range format.AgentFolders {
			owned = append(owned, dir+"/"+d.Name+"/**/*.md")
		}
	}
	return owned
}

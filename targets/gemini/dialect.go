package gemini

import (
	"errors"
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/gemini/format"
)

var _ contract.Worded = gemini{}

// Means says what a list of the settings takes away, where a rule is about that.
func (gemini) Means(text string, d ir.Decision) string { return format.LimitMeaning(text, d) }

// RuleLists returns the lists of what the settings decide. A role has them in agents.gemini.native alone:
// can says the same for every agent.
func (gemini) RuleLists() []contract.RuleList {
	return []contract.RuleList{{Decision: ir.Deny}, {Decision: ir.Ask},
		{Decision: ir.Allow}}
}

// BadRule returns the code of a text that no settings say.
func (gemini) BadRule() diag.Code { return codeBadSetting }

// TranslateRule keeps every text as it is: what the source can say stands in can.
func (gemini) TranslateRule(
	text string, d ir.Decision, _ contract.Inventory,
) ([]contract.NeutralRule, bool, error) {
	if !format.ValidSetting(text, d) {
		return nil, false, errors.New("no setting of Gemini CLI decides so: want LIST ITEM, with the list " +
			"tools.allowed, tools.core or mcp.allowed (allow), tools.confirmationRequired (ask), tools.exclude or " +
			"mcp.excluded (deny)")
	}
	return nil, false, nil
}

// own writes what a role says for Gemini CLI alone into the settings of the project, where the role is that of every
// session: settings hold for all of them.
func (e *emitter) own() (out []ir.NativeRule) {
	everybody := e.everybody()
	for i := range e.in.Project.Roles {
		r := &e.in.Project.Roles[i]
		for _, n := range r.Native {
			switch {
			case n.Target != name:
				contract.LeaveOut(&e.diags, codeNativeRule, name, "role "+r.Name, n)
			case r.Name == everybody && len(e.in.Project.Roles) == 1:
				out = append(out, n)
			case n.Decision < ir.Allow:
				e.diags.Errorf(codeSetting, n.Pos,
					"settings hold for every session, and %q is for role %s", n.Text, r.Name).
					Hint(e.apart(everybody)).
					Target(name)
			default:
				e.diags.Warnf(codeSetting, n.Pos,
					"settings hold for every session, and %q is for role %s: it is left out", n.Text, r.Name).
					Hint(e.apart(everybody)).
					Target(name).
					Subject("role "+r.Name).
					Loses(diag.Narrowing, string(ir.Unknown))
			}
		}
	}
	return out
}

// everybody returns the role of every session of the project, "" for none.
func (e *emitter) everybody() string {
	return e.in.Everybody(&e.diags, name, codeUnknownSubject)
}

// settingLists returns the lists of tools and of servers that a role's own rules are.
func settingLists(own []ir.NativeRule) (sections contract.Object, places []string, problem *ir.NativeRule) {
	lists := map[string][]string{}
	limits := map[string]bool{}
	for i := range own {
		list, item, ok := format.ListItem(own[i].Text)
		switch {
		case !ok:
		case item == "" || own[i].Decision == ir.Deny && list == format.Allowed:
			limits[list] = true
		default:
			lists[list] = append(lists[list], item)
		}
	}
	of := map[string]contract.Object{}
	for _, l := range format.SettingLists {
		items := lists[l.Name]
		if items == nil && !(limits[l.Name] && l.Name != format.Allowed) {
			continue
		}
		section, key := format.SplitList(l.Name)
		of[section] = append(of[section], key, append([]string{}, items...))
		places = append(places, "/"+section+"/"+key+"/-")
	}
	for _, section := range []string{"mcp", "tools"} {
		if o := of[section]; o != nil {
			sections = append(sections, section, o)
		}
	}
	for i := range own {
		list, item, ok := format.ListItem(own[i].Text)
		if ok && own[i].Decision == ir.Allow && !limits[list] &&
			(list == format.Core || list == format.Servers || list == format.Allowed && format.Narrows(item)) {
			return sections, places, &own[i]
		}
	}
	return sections, places, nil
}

// apart returns how settings that one role has stay written: where no other role is one of Gemini CLI's.
func (e *emitter) apart(everybody string) string {
	const can = "say it in can"
	if everybody == "" {
		return can + ", or make the role the baseline (targets.gemini.subject)"
	}
	for i := range e.in.Project.Roles {
		if r := &e.in.Project.Roles[i]; r.Name != everybody {
			return fmt.Sprintf("role %s is one of Gemini CLI's too: give it `targets` without %q "+
				"(targets: [\"claude\"]), or %s", r.Name, name, can)
		}
	}
	return can
}

package opencode

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/opencode/format"
)

var _ contract.Dialect = opencode{}

// RuleLists returns the lists of rules in opencode's own words. They decide what can leaves to opencode.
func (opencode) RuleLists() []contract.RuleList {
	return []contract.RuleList{
		{Field: "deny", Decision: ir.Deny, Modes: ofModes},
		{Field: "ask", Decision: ir.Ask, Modes: ofModes},
		{Field: "allow", Decision: ir.Allow, Modes: ofModes},
	}
}

// ofModes says that modes have such lists too.
const ofModes = true

// BadRule returns the code of a text that is no rule of a permission.
func (opencode) BadRule() diag.Code { return codeBadRule }

// TranslateRule keeps every text as it is: what the source can say stands in can.
func (opencode) TranslateRule(
	text string, d ir.Decision, _ contract.Inventory,
) ([]contract.NeutralRule, bool, error) {
	if _, err := format.ParseRule(text, d); err != nil {
		return nil, false, fmt.Errorf("no permission of opencode says so: %w", err)
	}
	return nil, false, nil
}

// orderField is the member of extra.opencode that has rules in the order in which opencode reads them.
const orderField = "order"

// ownRules returns the rules in opencode's own words, in their order.
func (e *emitter) ownRules(rules []ir.NativeRule, extra map[string]ir.Extra) (out []format.Rule) {
	for _, n := range rules {
		if n.Target != name {
			continue
		}
		if r, err := format.ParseRule(n.Text, n.Decision); err == nil { // resolving reported it
			r.At = n.Pos
			out = append(out, r)
		}
	}
	order, err := texts(extra[name].Fields[orderField])
	if err != nil {
		e.diags.Errorf(codeUnknownExtra, extra[name].Pos, "extra.opencode.%s: %v", orderField, err).Target(name)
	}
	return format.Arrange(out, order)
}

// texts returns a list of texts.
func texts(v any) (out []string, err error) {
	list, ok := v.([]any)
	if v != nil && !ok {
		return nil, errors.New("want a list of rules")
	}
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, errors.New("want a list of rules")
		}
		out = append(out, text)
	}
	return out, nil
}

// ownOf returns the rules in opencode's own words that hold in the sessions of a role, of a mode, or of a role in a
// mode. A mode by itself works in a session of everybody's role.
func (e *emitter) ownOf(ref ir.SubjectRef) []format.Rule {
	p := e.in.Project
	var out []format.Rule
	role := ref.Role
	if role == "" {
		role = e.quiet().everybody()
	}
	if r := p.Role(role); r != nil {
		out = e.ownRules(r.Native, r.Extra)
	}
	if m := p.Mode(ref.Mode); m != nil {
		if of := e.ownRules(m.Native, m.Extra); len(out) > 0 {
			out = format.Joined(append(out, of...))
		} else {
			out = of
		}
	}
	return out
}

// listedTools returns the list of tools that own rules are, nil for none.
func listedTools(own []format.Rule) (o contract.Object) {
	for _, r := range own {
		if r.Form == format.Listed {
			o = append(o, r.Tool, r.Decision == ir.Allow)
		}
	}
	return o
}

// withOwn returns the permission of a subject with its rules in opencode's own words: what can says stands behind them.
func (w *writer) withOwn() contract.Object {
	own := slices.DeleteFunc(slices.Clone(w.own), func(r format.Rule) bool {
		return r.Form == format.Listed || w.floor != ir.Agent && r.Key == format.Every ||
			slices.ContainsFunc(w.keys, func(k keyed) bool { return k.key == r.Key })
	})
	said := w.object()
	o := contract.Object{}
	if w.floor != ir.Agent {
		o, said = append(o, said[:2]...), said[2:]
	}
	var keys []string
	by := map[string][]format.Rule{}
	for _, r := range own {
		if by[r.Key] == nil {
			keys = append(keys, r.Key)
		}
		by[r.Key] = append(by[r.Key], r)
	}
	for _, key := range keys {
		if rules := by[key]; len(rules) == 1 && rules[0].Pattern == format.Every {
			o = append(o, key, format.Word(rules[0].Decision))
			continue
		}
		list := contract.Object{}
		for _, r := range by[key] {
			list = append(list, r.Pattern, format.Word(r.Decision))
		}
		o = append(o, key, list)
	}
	return append(o, said...)
}

// serverKeys are the members of a server's entry that the source decides.
var serverKeys = []string{"type", "command", "cwd", "environment", "headers", "timeout", "url"}

// others returns the further members that some agent has.
func (e *emitter) others() (keys []string) {
	for i := range e.in.Project.Modes {
		other, _ := e.in.Project.Modes[i].Extra[name].Fields["other"].(map[string]any)
		keys = slices.AppendSeq(keys, maps.Keys(other))
	}
	return keys
}

// configFile returns the file that every session reads.
func (e *emitter) configFile() string {
	if file := e.in.Options.String("file"); slices.Contains(format.ProjectFiles, file) {
		return file
	}
	return format.ConfigFile
}

// alike reports whether an entry of the file that every session reads says what the emitted one does.
func alike(place string, have, emitted []byte) bool {
	is, err := located.JSON("", have)
	want, wrong := located.JSON("", emitted)
	if err != nil || wrong != nil {
		return false
	}
	if place == "/permission" {
		return samePermission(is, want)
	}
	for _, m := range append(slices.Clone(is.Fields()), want.Fields()...) {
		a, b := is.Get(m.Key), want.Get(m.Key)
		switch {
		case m.Key == "permission" && strings.HasPrefix(place, "/agent/"):
			if !samePermission(a, b) {
				return false
			}
		case !reflect.DeepEqual(a.Any(), b.Any()):
			return false
		}
	}
	return len(is.Fields()) > 0 || reflect.DeepEqual(is.Any(), want.Any())
}

// samePermission reports whether two permissions have the same rules, in orders that decide alike.
func samePermission(a, b *located.Value) bool {
	x, _, problem := format.ReadPermission(a)
	y, _, wrong := format.ReadPermission(b)
	return problem == "" && wrong == "" && format.Alike(x, y)
}

// referring writes a text of opencode's own with the references that it has.
func referring(s string) string {
	return anyReference().ReplaceAllString(s, reference+"$1:$2}")
}

// elsewhere writes references to files for a file of another folder than theirs.
func elsewhere(s, dir string) string {
	return anyReference().ReplaceAllStringFunc(s, func(ref string) string {
		m := anyReference().FindStringSubmatch(ref)
		if file := m[2]; m[1] == "file" && !path.IsAbs(file) && !strings.HasPrefix(file, "~") {
			return "{file:" + path.Join(dir, file) + "}"
		}
		return ref
	})
}

var anyReference = lazy.Regexp(`\{(env|file):([^{}]*)\}`)

// markdown writes an agent as Markdown.
func markdown(m *ir.Mode, agent contract.Object) []byte {
	var b bytes.Buffer
	b.WriteString("---\n")
	body := ""
	for i := 0; i < len(agent); i += 2 {
		switch key := agent[i].(string); key {
		case "prompt":
			body, _ = agent[i+1].(string)
		default:
			b.WriteString(contract.QuoteYAML(key, nil) + ": " + string(contract.JSONLine(agent[i+1])) + "\n")
		}
	}
	if file, _ := m.Extra[name].Fields["file"].(string); agentName(m) != format.AgentAt(file) {
		b.WriteString("name: " + contract.QuoteYAML(agentName(m), nil) + "\n")
	}
	b.WriteString("---\n" + body + "\n")
	return b.Bytes()
}

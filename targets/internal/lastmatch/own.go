package lastmatch

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/targets/opencode/format"
)

// orderField is the member of an extra that has rules in the order in which the agent reads them.
const orderField = "order"

// ownRules returns the rules in the agent's own words, in their order.
func (e *Emitter) ownRules(rules []ir.NativeRule, extra map[string]ir.Extra) (out []format.Rule) {
	for _, n := range rules {
		if n.Target != e.agent.Name {
			continue
		}
		if r, err := format.ParseRule(n.Text, n.Decision); err == nil { // resolving reported it
			r.At = n.Pos
			out = append(out, r)
		}
	}
	x := extra[e.agent.Name]
	order, err := texts(x.Fields[orderField])
	if err != nil {
		e.Diags.Errorf(e.agent.Codes.UnknownSetting, x.At(orderField), "agents.%s.settings.%s: %v", e.agent.Name,
			orderField, err).
			Target(e.agent.Name)
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

// ownOf returns the rules in the agent's own words that hold in the sessions of a role, of a mode, or of a role in a
// mode. A mode by itself works in a session of everybody's role.
func (e *Emitter) ownOf(ref ir.SubjectRef) []format.Rule {
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

// overOthers returns the rules in the agent's own words that permit more than what another half of a subject says of
// whatever has no key: those of a role in a mode, and of a mode in a role.
func (w *writer) overOthers() (out []format.Rule) {
	add := func(own []format.Rule, other ir.SubjectRef) {
		if len(own) == 0 {
			return
		}
		s, err := w.in.Policy.Subject(other)
		if err != nil {
			return
		}
		most := (&writer{Emitter: w.quiet(), ref: other, subject: s}).least()
		for _, r := range own {
			if r.Decision > most {
				out = append(out, r)
			}
		}
	}
	p := w.in.Project
	if m := p.Mode(w.ref.Mode); m != nil {
		role := w.ref.Role
		if role == "" {
			role = w.quiet().everybody()
		} else {
			add(w.ownRules(m.Native, m.Extra), ir.SubjectRef{Role: role})
		}
		if r := p.Role(role); r != nil {
			add(w.ownRules(r.Native, r.Extra), ir.SubjectRef{Mode: m.Slug})
		}
	}
	return out
}

// permissions returns the members of an agent, or of a file, that say what a subject may do.
func (w *writer) permissions() (o contract.Object) {
	if list := listedTools(w.own); len(list) > 0 {
		o = append(o, "tools", list)
	}
	if !w.says() {
		return nil
	}
	if p := w.withOwn(); len(p) > 0 {
		o = append(o, "permission", p)
	}
	return o
}

// says reports whether a subject says anything.
func (w *writer) says() bool { return len(w.said) > 0 || len(w.own) > 0 }

// listedTools returns the list of tools that own rules are, nil for none.
func listedTools(own []format.Rule) (o contract.Object) {
	for _, r := range own {
		if r.Form == format.Listed {
			o = append(o, r.Tool, r.Decision == ir.Allow)
		}
	}
	return o
}

// withOwn returns the permission of a subject with its rules in the agent's own words: what can says stands behind
// them.
func (w *writer) withOwn() contract.Object {
	over := w.overOthers()
	own := slices.DeleteFunc(slices.Clone(w.own), func(r format.Rule) bool {
		more := func(o format.Rule) bool {
			return o.Key == r.Key && o.Pattern == r.Pattern && o.Decision == r.Decision
		}
		return r.Form == format.Listed || w.floor != ir.Agent && r.Key == format.Every ||
			slices.Contains(w.floored, r.Key) ||
			!slices.Contains(w.decided, r.Key) && slices.ContainsFunc(over, more) ||
			slices.ContainsFunc(w.keys, func(k keyed) bool { return k.key == r.Key })
	})
	said := w.said
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
	for _, key := range w.floored { // which one of a wider key would open
		if slices.ContainsFunc(keys, func(wide string) bool { return format.Match(wide, key) }) {
			o = append(o, key, format.Word(w.floor))
		}
	}
	return append(o, said...)
}

// word returns a text that a mode has for the agent alone; false for none.
func (e *Emitter) word(m *ir.Mode, key string) (string, bool) {
	text, ok := m.Extra[e.agent.Name].Fields[key].(string)
	return text, ok
}

// File returns the file that every session reads.
func (e *Emitter) File() string {
	if own := e.agent.Own; own != nil {
		if file := e.in.Options.String("file"); slices.Contains(own.Files, file) {
			return file
		}
	}
	return e.agent.File
}

// extraFields are the members of a mode's extra for the agent; member is set for those that its agent has by the same
// name, the others are what an agent has that a source describes in the agent's own words.
var extraFields = map[string]struct {
	is     func(any) bool
	member bool
}{
	"color": {isText, ofAgent}, "hidden": {isFlag, ofAgent}, "mode": {isText, ofAgent}, "model": {isText, ofAgent},
	"steps": {isNumber, ofAgent}, "temperature": {isNumber, ofAgent}, "top_p": {isNumber, ofAgent},
	"variant": {isText, ofAgent}, fileField: {isText, ofModec}, "name": {isText, ofModec},
	orderField: {isList, ofModec}, "other": {isObject, ofModec}, "prompt": {isText, ofModec},
}

const (
	ofAgent = true
	ofModec = false
)

// fileField is the member that places an agent in a file of its own.
const fileField = "file"

func isText(v any) bool { _, ok := v.(string); return ok }
func isFlag(v any) bool { _, ok := v.(bool); return ok }
func isList(v any) bool { _, err := texts(v); return err == nil }
func isNumber(v any) bool {
	switch v.(type) {
	case float64, int, int64:
		return true
	}
	return false
}

func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

// isAgentFile reports whether a file is one in which the agent looks for one of its agents.
func (e *Emitter) isAgentFile(v any) bool {
	file, ok := v.(string)
	return ok && fs.ValidPath(file) && e.agent.Own.AgentAt(file) != ""
}

// sourceKeys are the members of an agent that the source says.
var sourceKeys = []string{"description", "disable", "permission", "prompt", "tools"}

// serverKeys are the members of a server's entry that the source decides.
var serverKeys = []string{"type", "command", "cwd", "environment", "headers", "timeout", "url"}

// Keys returns the members of an agent, and of a server's entry, that the source decides, and those that some agent
// has beside.
func (e *Emitter) Keys() []string {
	keys := slices.Concat(serverKeys, sourceKeys, slices.Sorted(maps.Keys(extraFields)))
	for i := range e.in.Project.Modes {
		other, _ := e.in.Project.Modes[i].Extra[e.agent.Name].Fields["other"].(map[string]any)
		keys = slices.AppendSeq(keys, maps.Keys(other))
	}
	return keys
}

// settings returns what the agent of a mode has that no other agent does. An empty mode is the one that an agent of
// its own has by itself.
func (e *Emitter) settings(m *ir.Mode) (o contract.Object) {
	x := m.Extra[e.agent.Name].Fields
	for _, key := range slices.Sorted(maps.Keys(x)) {
		if extraFields[key].member && (key != modeField || x[key] != "") {
			o = append(o, key, x[key])
		}
	}
	other, _ := x["other"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(other)) {
		if !has(o, key) {
			o = append(o, key, other[key])
		}
	}
	if x[modeField] == nil && !has(o, modeField) && slices.Contains(e.agent.BuiltIn, e.agentName(m)) {
		o = append(o, modeField, "all") // its own one cannot be both
	}
	return o
}

// modeField is the member of an agent that says whether a person turns to it, or another agent does.
const modeField = "mode"

// extras checks the values of what a subject says for the agent alone.
func (e *Emitter) extras(x ir.Extra) {
	for _, key := range slices.Sorted(maps.Keys(x.Fields)) {
		value := x.Fields[key]
		if is := extraFields[key].is; is != nil && is(value) && (key != fileField || e.isAgentFile(value)) {
			continue
		}
		e.Diags.Errorf(e.agent.Codes.UnknownSetting, x.At(key),
			"agents.%s.settings.%s: %s takes no such value", e.agent.Name, key, e.agent.Title).
			Target(e.agent.Name)
	}
}

// referring writes a text in the agent's own words with the references that it has.
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
func (e *Emitter) markdown(m *ir.Mode, agent contract.Object) []byte {
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
	if file, _ := e.word(m, fileField); e.agentName(m) != e.agent.Own.AgentAt(file) {
		b.WriteString("name: " + contract.QuoteYAML(e.agentName(m), nil) + "\n")
	}
	b.WriteString("---\n" + body + "\n")
	return b.Bytes()
}

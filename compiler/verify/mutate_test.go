package verify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/located"
)

// mutant is one change of one artifact.
type mutant struct {
	file, op, site string
	data           []byte
}

func (m mutant) String() string { return fmt.Sprintf("%s: %s at %s", m.file, m.op, m.site) }

// mutants changes an artifact by every operator at every site of its syntax
// tree, one change each.
func mutants(t *testing.T, file string, data []byte) []mutant {
	t.Helper()
	var out []mutant
	add := func(tree *located.Value, err error, write func(*located.Value) []byte) {
		if err != nil {
			t.Fatal(err)
		}
		m := mutator{items: map[string][]*located.Value{}}
		m.collect(tree, "")
		for _, v := range m.variants(tree, "", "") {
			out = append(out, mutant{file, v.op, v.site, write(v.tree)})
		}
	}
	switch base := path.Base(file); {
	case strings.HasSuffix(base, "ignore"):
		lines := strings.SplitAfter(string(data), "\n")
		for i, line := range lines {
			if line != "" && line[0] != '#' {
				out = append(out, mutant{file, "drop a line", strings.TrimSpace(line), []byte(strings.Join(slices.Delete(slices.Clone(lines), i, i+1), ""))})
			}
		}
	case strings.HasSuffix(base, "modes"):
		tree, err := located.YAML(file, data)
		add(tree, err, asJSON) // which is YAML too
	case path.Ext(base) == ".json":
		tree, err := located.JSONC(file, data)
		add(tree, err, asJSON)
	case path.Ext(base) == ".md":
		head, body, ok := strings.Cut(strings.TrimPrefix(string(data), "---\n"), "\n---\n")
		if !ok {
			t.Fatalf("%s has no front matter", file)
		}
		tree, err := located.YAML(file, []byte(head))
		add(tree, err, func(v *located.Value) []byte { return []byte("---\n" + string(asJSON(v)) + "---\n" + body) })
	case path.Ext(base) == ".toml":
		var doc any
		if err := toml.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := located.JSON(file, text)
		add(tree, err, func(v *located.Value) []byte {
			var doc any
			if err := json.Unmarshal(asJSON(v), &doc); err != nil {
				t.Fatal(err)
			}
			b, err := toml.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			return b
		})
	case path.Ext(base) == ".ts":
		for _, m := range constants.FindAllSubmatchIndex(data, -1) {
			start, end := m[2], m[3]
			text := keys.ReplaceAllString(string(data[start:end]), `$1"$2":`)
			tree, err := located.JSONC(file, []byte(text))
			add(tree, err, func(v *located.Value) []byte {
				return slices.Concat(data[:start], bytes.TrimSpace(asJSON(v)), data[end:])
			})
		}
	}
	return out
}

// The tables of policy.ts, and the keys in them that are no strings.
var (
	constants = regexp.MustCompile(`(?s)\nexport const \w+ = (\{.*?\n\}) as const`)
	keys      = regexp.MustCompile(`([{,]\s*)(\w+):`)
)

// asJSON writes a tree, members in their order.
func asJSON(v *located.Value) []byte {
	var b bytes.Buffer
	writeJSON(&b, v)
	b.WriteByte('\n')
	return b.Bytes()
}

func writeJSON(b *bytes.Buffer, v *located.Value) {
	quote := func(s string) {
		q, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		b.Write(q)
	}
	switch v.Kind {
	case located.Object:
		b.WriteByte('{')
		for i, m := range v.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('\n') // so that a place is one line
			quote(m.Key)
			b.WriteByte(':')
			writeJSON(b, m.Value)
		}
		b.WriteByte('}')
	case located.List:
		b.WriteByte('[')
		for i, e := range v.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
			writeJSON(b, e)
		}
		b.WriteByte(']')
	case located.String:
		quote(v.Text)
	case located.Null:
		b.WriteString("null")
	default:
		b.WriteString(v.Text)
	}
}

// variant is a tree with one change.
type variant struct {
	op, site string
	tree     *located.Value
}

// mutator knows the items of all lists that belong to members of one name.
type mutator struct {
	items map[string][]*located.Value
}

func (m *mutator) collect(v *located.Value, key string) {
	for _, x := range v.Members {
		m.collect(x.Value, x.Key)
	}
	for _, x := range v.Items {
		m.collect(x, key)
		if x.Kind == located.String && !slices.ContainsFunc(m.items[key], func(y *located.Value) bool { return x.Text == y.Text }) {
			m.items[key] = append(m.items[key], x)
		}
	}
}

// variants applies the operator table: drop a member or an item, empty a list,
// add what a list of the same name elsewhere has, move a rule to the more
// permissive list beside it, turn a bool, and what widen makes of a string. key
// is the member that the value belongs to.
func (m *mutator) variants(v *located.Value, site, key string) []variant {
	var out []variant
	with := func(op, at string, change func(*located.Value)) {
		c := *v
		c.Members, c.Items = slices.Clone(v.Members), slices.Clone(v.Items)
		change(&c)
		out = append(out, variant{op, at, &c})
	}
	switch v.Kind {
	case located.Object:
		for i, x := range v.Members {
			if slices.Contains(places, x.Key) {
				continue
			}
			at := site + "." + x.Key
			with("drop a member", at, func(c *located.Value) { c.Members = slices.Delete(c.Members, i, i+1) })
			for _, sub := range m.variants(x.Value, at, x.Key) {
				with(sub.op, sub.site, func(c *located.Value) { c.Members[i].Value = sub.tree })
			}
		}
		for _, move := range moves {
			from, to := index(v, move[0]), index(v, move[1])
			if from < 0 || to < 0 || !v.Members[from].Value.Is(located.List) || !v.Members[to].Value.Is(located.List) {
				continue
			}
			for i, item := range v.Members[from].Value.Items {
				with("move "+move[0]+" to "+move[1], fmt.Sprintf("%s.%s[%d]", site, move[0], i), func(c *located.Value) {
					a, b := *c.Members[from].Value, *c.Members[to].Value
					a.Items, b.Items = slices.Delete(slices.Clone(a.Items), i, i+1), append(slices.Clone(b.Items), item)
					c.Members[from].Value, c.Members[to].Value = &a, &b
				})
			}
			with("swap "+move[0]+" and "+move[1], site, func(c *located.Value) {
				c.Members[from].Value, c.Members[to].Value = c.Members[to].Value, c.Members[from].Value
			})
		}
	case located.List:
		for i, item := range v.Items {
			at := fmt.Sprintf("%s[%d]", site, i)
			with("drop an item", at, func(c *located.Value) { c.Items = slices.Delete(c.Items, i, i+1) })
			for _, sub := range m.variants(item, at, key) {
				with(sub.op, sub.site, func(c *located.Value) { c.Items[i] = sub.tree })
			}
		}
		for _, item := range m.items[key] {
			if !slices.ContainsFunc(v.Items, func(x *located.Value) bool { return x.Kind != located.String || x.Text == item.Text }) {
				with("add an item", site+" + "+item.Text, func(c *located.Value) { c.Items = append(c.Items, item) })
			}
		}
		if len(v.Items) > 1 {
			with("empty a list", site, func(c *located.Value) { c.Items = nil })
		}
	case located.Bool:
		with("turn a bool", site, func(c *located.Value) { c.Text = map[string]string{"true": "false", "false": "true"}[c.Text] })
	case located.String:
		for _, w := range widen(key, v.Text) {
			with(w[0], site, func(c *located.Value) { c.Text = w[1] })
		}
	}
	return out
}

// places are the members of the policy that say where something is written.
var places = []string{"pos", "from", "modesPos", "permissionModePos"}

// moves lead from a list to a more permissive one, in every vocabulary.
var moves = [][2]string{
	{"deny", "ask"}, {"deny", "allow"}, {"ask", "allow"},
	{"disallowed_tools", "allowed_tools"}, {"disabledTools", "alwaysAllow"}, {"disallowedTools", "allowedTools"},
}

func index(v *located.Value, key string) int {
	return slices.IndexFunc(v.Members, func(m located.Member) bool { return m.Key == key })
}

var rule = regexp.MustCompile(`^(\w+)\((.*)\)$`)

// widen returns what a string becomes: a decision the more permissive ones, a
// rule its tool and everything, a pattern everything, a hook's command another
// subject, no refusal, no program.
func widen(key, s string) [][2]string {
	var out [][2]string
	add := func(op string, to ...string) {
		for _, x := range to {
			if x != s {
				out = append(out, [2]string{op, x})
			}
		}
	}
	m := rule.FindStringSubmatch(s)
	switch {
	case s == "deny":
		add("raise a decision", "ask", "allow")
	case s == "ask":
		add("raise a decision", "allow")
	case strings.Contains(s, "modec hook "):
		add("hook: refuse nothing", strings.Replace(s, "|| exit 2", "|| true", 1), strings.Replace(s, " || exit 2", "", 1),
			strings.Replace(s, "[ $? = 2 ] && exit 2; ", "", 1))
		if !strings.Contains(s, "||") {
			add("hook: refuse nothing", s+" || true", s+" || echo '{}'")
		}
		add("hook: no program", "true")
		asks := func(flag string) string { return hookAgent.ReplaceAllString(s, "$0 "+flag) }
		add("hook: may allow", asks("--may-allow"))
		for _, subject := range []string{"role:worker", "role:clerk", "mode:writer", "mode:helper", "mode:none"} {
			if named := hookSubject.ReplaceAllString(s, "--subject "+subject); named != s {
				add("hook: another subject", named)
			} else {
				add("hook: another subject", asks("--subject "+subject))
			}
		}
		if elsewhere := strings.Replace(s, "--root .", "--root /elsewhere", 1); elsewhere != s {
			add("hook: another folder", elsewhere)
		} else {
			add("hook: another folder", asks("--root /elsewhere"))
		}
	case key == "matcher":
		add("narrow a matcher", "Bash", "Read", "none")
	case key == "permissionMode" || key == "defaultMode" || key == "permission_mode" || strings.HasPrefix(s, "--permission-mode="):
		name, _, flag := strings.Cut(s, "=")
		for _, mode := range []string{"default", "acceptEdits", "bypassPermissions", "dontAsk", "plan", "auto"} {
			if flag {
				mode = name + "=" + mode
			}
			add("another permission mode", mode)
		}
	case key == "fileRegex":
		add("widen a pattern", "", ".", strings.TrimPrefix(s, "^"), strings.TrimSuffix(s, "$"))
	case m != nil:
		add("widen a rule", m[1], m[1]+"(*)")
		if m[1] != "Bash" && m[1] != "Shell" {
			add("widen a rule", m[1]+"(**)")
		}
		if i := strings.LastIndexAny(m[2], " :/"); i > 0 {
			add("widen a rule", m[1]+"("+m[2][:i+1]+"*)")
		}
	case strings.HasPrefix(s, "mcp__"):
		parts := strings.SplitN(s, "__", 3)
		add("widen a rule", "mcp__"+parts[1])
	case key == "mcpAllowlist":
		server, _, _ := strings.Cut(s, ":")
		add("widen a rule", server+":*", "*:*")
	case key == "text":
		add("widen a pattern", "**", "*")
	case key == "kind":
		add("widen a pattern", "all", "")
	}
	return out
}

var (
	hookAgent   = regexp.MustCompile(`modec hook \w+`)
	hookSubject = regexp.MustCompile(`--subject \S+`)
)

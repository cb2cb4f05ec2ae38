package compiler

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"modec.dev/modec/compiler/diag"
)

// everything is a source that writes every field of the schema.
var everything = map[string]string{
	"prompt.md": "You are.",
	"rules.md":  "Be kind.",
	"a.cue": `package modec

servers: {
	local: {
		command: "local-mcp", args: ["x"], cwd: ".", env: A: "${A}", type: "stdio", timeout: 60, defaultEnabled: true
		tools: t: {description: "T", risk: "read"}
	}
	remote: {url: "https://example.com/mcp", headers: H: "${H}"}
}
policies: p: {
	description: "P", extends: ["readonly"]
	can: {
		default: "deny", unknown: "ask", outside: {read: "ask", edit: "deny"}
		read: {allow: ["a"], ask: ["b"], deny: [{regex: "c"}], default: "ask"}
		edit: {allow: ["a"], ask: ["b"], deny: ["c"], default: "ask", guarded: ["CLAUDE.md"]}
		command: {allow: ["@git_read"], ask: ["b"], deny: ["c"], default: "ask"}
		web: {allow: ["a"], ask: ["b"], deny: ["c"], default: "ask"}
		modes: {allow: ["m"], ask: ["*"], deny: ["code"], default: "ask"}
		mcp: {
			default: "ask"
			local: {allow: ["t"], ask: ["@write"], deny: ["@destructive"], default: "ask", resources: "deny", prompts: "deny"}
			remote: "allow"
		}
	}
}
policies: nobody: can: edit: "deny"
policies: q: can: {browser: {allow: ["a"], ask: ["b"], deny: ["c"], default: "ask"}, mcp: "deny"}
modes: m: {
	name: "M", description: "D", whenToUse: "W", roleDefinition: "R", customInstructions: "C", model: "opus"
	extends: ["p", "q"], rules: ["rules.md"], extra: roo: x: 1
	mcpRestrictions: {
		allowedServers: ["local"], disallowedServers: ["remote"]
		allowedTools: [{serverName: "local", toolName: "t"}], disallowedTools: [{serverName: "remote", toolName: "*"}]
	}
}
modes: n: {name: "N", roleDefinitionFile: "prompt.md", customInstructionsFile: "prompt.md", can: read: "allow"}
roles: r: {
	description: "D", permissionMode: "plan", can: read: "allow", extends: ["p"], tools: ["Read"], env: A: "b", modes: ["m"]
	claims: roles: "dev", appendSystemPrompt: "A", extra: claude: x: 1
	allowedTools: ["Bash(ls)"], askTools: ["WebSearch"], disallowedTools: ["Bash(rm *)"]
}
roles: s: {appendSystemPromptFile: "prompt.md", extends: ["r"]}
`,
}

// Every field of the schema reaches the model, and nothing of the model is left
// without a field that fills it.
func TestEveryFieldArrives(t *testing.T) {
	dir := t.TempDir()
	for name, text := range everything {
		put(t, dir, "modec/"+name, text)
	}
	src := Source{Root: dir, Dir: "modec"}
	l, err := newLoader(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	data := l.data()
	if data == nil {
		t.Fatal(l.diags)
	}
	sh, err := loadShapes()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]map[string]bool{}
	for _, sec := range topLevel {
		for _, f := range data.get(sec).fields {
			visit(sh.of[sec], f.node, seen)
		}
	}
	for shape, names := range seen {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !names[name] {
				t.Errorf("the sample writes no %s in a struct of %s", name, shape)
			}
		}
	}

	p, diags := Load(src, Settings{Name: "N", ClosedInventory: true, Baseline: "r"})
	if p == nil {
		t.Fatal(diags)
	}
	filled := map[string]bool{}
	fill(reflect.ValueOf(p), filled)
	for _, name := range slices.Sorted(maps.Keys(filled)) {
		if !filled[name] {
			t.Errorf("nothing fills %s", name)
		}
	}
}

// visit notes which fields of each shape a node writes; structs of the same
// fields are one.
func visit(s *shape, n *node, seen map[string]map[string]bool) {
	if s == nil {
		return
	}
	for _, a := range s.alts {
		if a.kinds&n.kind != 0 {
			visit(a, n, seen)
		}
	}
	if s.kinds&n.kind == 0 {
		return
	}
	for _, e := range n.elems {
		visit(s.elem, e, seen)
	}
	if n.kind != structKind || s.alts != nil {
		return
	}
	key := fmt.Sprint(s.names())
	if seen[key] == nil {
		seen[key] = map[string]bool{}
		for _, f := range s.fields {
			seen[key][f.name] = false
		}
	}
	for _, f := range n.fields {
		seen[key][f.name] = true
		if i, ok := s.index[f.name]; ok {
			visit(s.fields[i].shape, f.node, seen)
		} else {
			visit(s.pattern, f.node, seen)
		}
	}
}

// fill notes for every field of the model whether any value of it is set.
func fill(v reflect.Value, filled map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), filled)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), filled)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			fill(v.MapIndex(k), filled)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[diag.Pos]() {
			return
		}
		for i := range v.NumField() {
			name := fmt.Sprintf("%s.%s", v.Type().Name(), v.Type().Field(i).Name)
			filled[name] = filled[name] || !v.Field(i).IsZero()
			fill(v.Field(i), filled)
		}
	}
}

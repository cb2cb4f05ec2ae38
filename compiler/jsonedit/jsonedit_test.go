package jsonedit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"
)

var (
	servers     = []string{"/mcpServers/*"}
	permissions = []string{"/permissions/allow/-", "/permissions/deny/-", "/version"}
)

func merged(t *testing.T, have, want string, patterns []string, owned ...Entries) Result {
	t.Helper()
	var w []byte
	if want != "" {
		w = []byte(want)
	}
	r, err := Merge([]byte(have), w, Pattern{Places: patterns}, owned, false)
	if err != nil || len(r.Conflicts) > 0 {
		t.Fatalf("%s: got %v, %v", have, err, r.Conflicts)
	}
	return r
}

func TestEverythingElseKeepsItsBytes(t *testing.T) {
	const one = `{"mcpServers": {"docs": {"command": "d"}}}`
	const rules = `{"version": 1, "permissions": {"allow": ["a", "b"], "deny": []}}`
	for _, c := range []struct {
		name, have, want string
		patterns         []string
		then             string
	}{
		{"a server",
			"{\n  // mine\n  \"mcpServers\": {\n    \"my\": {\"command\": \"m\"} // keep\n  },\n" +
				"  \"other\": [1,2]\n}\n", one, servers,
			"{\n  // mine\n  \"mcpServers\": {\n    \"my\": {\"command\": \"m\"}, // keep\n    \"docs\": {\n      " +
				"\"command\": \"d\"\n    }\n  },\n  \"other\": [1,2]\n}\n"},
		{"a trailing comma", "{\n\t\"mcpServers\": {\n\t\t\"my\": {},\n\t},\n}", one, servers,
			"{\n\t\"mcpServers\": {\n\t\t\"my\": {},\n\t\t\"docs\": {\n\t\t\t\"command\": \"d\"\n\t\t},\n\t},\n}"},
		{"no servers yet", "{\"x\": 1}\n", one, servers,
			"{\"x\": 1, \"mcpServers\": {\n    \"docs\": {\n      \"command\": \"d\"\n    }\n  }}\n"},
		{"CR LF", "{\r\n    \"x\": 1\r\n}\r\n", one, servers,
			"{\r\n    \"x\": 1,\r\n    \"mcpServers\": {\r\n        \"docs\": {\r\n            \"command\": " +
				"\"d\"\r\n        }\r\n    }\r\n}\r\n"},
		{"lists",
			"{\n  \"permissions\": {\n    \"deny\": [\"x\"], // no\n    \"allow\": [\n      \"b\", /* why */\n      " +
				"\"mine\"\n    ]\n  }\n}\n", rules, permissions,
			"{\n  \"permissions\": {\n    \"deny\": [\"x\"], // no\n    \"allow\": [\n      \"b\", /* why */\n      " +
				"\"mine\",\n      \"a\"\n    ]\n  },\n  \"version\": 1\n}\n"},
		{"an empty object", "{}", rules, permissions,
			"{\n  \"permissions\": {\n    \"allow\": [\n      \"a\",\n      \"b\"\n    ],\n    \"deny\": []\n  },\n  " +
				"\"version\": 1\n}"},
		{"a byte order mark", "\uFEFF{\n  \"mcpServers\": {\"a\": 1}\n}", one, servers,
			"\uFEFF{\n  \"mcpServers\": {\"a\": 1, \"docs\": {\n      \"command\": \"d\"\n    }}\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := merged(t, c.have, c.want, c.patterns)
			if d := cmp.Diff(c.then, string(r.Data)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if again := merged(t, string(r.Data), c.want, c.patterns, r.Entries); !bytes.Equal(again.Data, r.Data) ||
				!cmp.Equal(again.Entries, r.Entries) {
				t.Errorf("a second build: got %s, %v", again.Data, again.Entries)
			}
			if back := merged(t, string(r.Data), "", nil, r.Entries); string(back.Data) != c.have {
				t.Errorf("taken out: got %q, want %q", back.Data, c.have)
			}
		})
	}
}

func TestAFileOfModecsOwnGoesWithItsEntries(t *testing.T) {
	const want = `{"permissions": {"allow": ["a"], "deny": ["d"]}}`
	r := merged(t, "", want, permissions)
	if string(r.Data) != want {
		t.Fatalf("got %s, want it as it is emitted", r.Data)
	}
	if gone := merged(t, want, "", nil, r.Entries); gone.Data != nil {
		t.Errorf("got %s, want nothing", gone.Data)
	}
	mine := merged(t, `{"permissions": {"allow": ["a", "mine"], "deny": ["d"]}}`, "", nil, r.Entries)
	if got := canonicalText(t, mine.Data); got != `{"permissions":{"allow":["mine"]}}` {
		t.Errorf("got %s, want the person's rule alone", got)
	}
}

func canonicalText(t *testing.T, data []byte) string {
	t.Helper()
	v, err := hujson.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return canonical(v)
}

// A file in which everything is modec's is laid out as it is emitted when an entry changes,
// and keeps its bytes when none does.
func TestAFileOfModecsOwnKeepsItsLayout(t *testing.T) {
	const before, after = "{\n  \"permissions\": {\n    \"allow\": [\"a\"], \"deny\": []\n  }\n}\n",
		"{\n  \"permissions\": {\n    \"allow\": [\"b\"], \"deny\": []\n  }\n}\n"
	own := merged(t, "", before, permissions).Entries
	loose := strings.ReplaceAll(before, "[\"a\"]", "[\n      \"a\"\n    ]")
	for _, c := range []struct{ name, have, want, then string }{
		{"as emitted", before, after, after},
		{"laid out otherwise", loose, after, after},
		{"laid out otherwise, and nothing changes", loose, before, loose},
		{"CR LF", strings.ReplaceAll(before, "\n", "\r\n"), after, strings.ReplaceAll(after, "\n", "\r\n")},
		{"a byte order mark", "\uFEFF" + before, after, "\uFEFF" + after},
		{"a person's item", strings.Replace(loose, "\"a\"", "\"a\",\n      \"mine\"", 1), after,
			strings.Replace(loose, "\"a\"", "\"mine\",\n      \"b\"", 1)},
		{"a person's comment", "// mine\n" + loose, after, "// mine\n" + strings.Replace(loose, "\"a\"", "\"b\"", 1)},
		{"a person's comment at the end", loose + "// mine\n", after,
			strings.Replace(loose, "\"a\"", "\"b\"", 1) + "// mine\n"},
		{"a person's comment inside", strings.Replace(loose, "\"deny\"", "/* mine */ \"deny\"", 1), after,
			strings.NewReplacer("\"a\"", "\"b\"", "\"deny\"", "/* mine */ \"deny\"").Replace(loose)},
		{"a person's comment in a value", strings.Replace(loose, "[\n", "/* mine */ [\n", 1), after,
			strings.NewReplacer("[\n", "/* mine */ [\n", "\"a\"", "\"b\"").Replace(loose)},
		{"a comment without a line break", loose + "// mine", after, strings.Replace(loose, "\"a\"", "\"b\"", 1) + "// mine\n"},
	} {
		r := merged(t, c.have, c.want, permissions, own)
		if string(r.Data) != c.then {
			t.Errorf("%s: got %q, want %q", c.name, r.Data, c.then)
		}
		if back := merged(t, string(r.Data), "", nil, r.Entries); back.Data != nil && !strings.Contains(c.have, "mine") {
			t.Errorf("%s: taken out: got %q", c.name, back.Data)
		}
	}
}

func TestAPersonsEntriesStay(t *testing.T) {
	// "mine" is in both: it was there before, and stays when the source drops it.
	r := merged(t, `{"permissions": {"allow": ["mine"]}}`, `{"permissions": {"allow": ["mine", "ours"], "deny": []}}`,
		permissions)
	next := merged(t, string(r.Data), `{"permissions": {"allow": [], "deny": []}}`, permissions, r.Entries)
	if got := canonicalText(t, next.Data); got != `{"permissions":{"allow":["mine"],"deny":[]}}` {
		t.Errorf("got %s", got)
	}
	// A deny that a person added stays, and so does a key that no place covers.
	next = merged(t, `{"permissions": {"allow": ["mine", "ours"], "deny": ["no"]}, "model": "x"}`,
		`{"permissions": {"allow": [], "deny": []}}`, permissions, r.Entries)
	if got := canonicalText(t, next.Data); got != `{"model":"x","permissions":{"allow":["mine"],"deny":["no"]}}` {
		t.Errorf("got %s", got)
	}
}

func TestConflicts(t *testing.T) {
	const want = `{"mcpServers": {"docs": {"command": "ours"}}}`
	owned := merged(t, "{}", `{"mcpServers": {"docs": {"command": "before"}}}`, servers).Entries
	for _, c := range []struct {
		name, have string
		owned      []Entries
		want       []Conflict
		forced     string
	}{
		{"a person's server of that name", "{\"mcpServers\": {\n\"docs\": {\"command\": \"theirs\"}}}", nil,
			[]Conflict{{Place: "/mcpServers/docs", Line: 2}}, `{"mcpServers":{"docs":{"command":"ours"}}}`},
		{"one that was edited", "{\"mcpServers\": {\"docs\": {\"command\": \"theirs\"}}}", []Entries{owned},
			[]Conflict{{Place: "/mcpServers/docs", Line: 1, Edited: true}},
			`{"mcpServers":{"docs":{"command":"ours"}}}`},
		{"one as modec wrote it", "{\"mcpServers\": {\"docs\": {\"command\": \"before\"}}}", []Entries{owned}, nil,
			`{"mcpServers":{"docs":{"command":"ours"}}}`},
		{"as an interrupted build wrote it", "{\"mcpServers\": {\"docs\": {\"command\": \"before\"}}}",
			[]Entries{{"/mcpServers/docs": "0"}, owned}, nil, `{"mcpServers":{"docs":{"command":"ours"}}}`},
		{"a list of servers", "{\n\n\"mcpServers\": []}", nil,
			[]Conflict{{Place: "/mcpServers", Line: 3, Got: "a list"}}, ""},
		{"no object", "[1]", nil, []Conflict{{Line: 1, Got: "a list"}}, ""},
	} {
		r, err := Merge([]byte(c.have), []byte(want), Pattern{Places: servers}, c.owned, false)
		if err != nil || !cmp.Equal(r.Conflicts, c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.name, r.Conflicts, err, c.want)
		}
		if len(c.want) > 0 && r.Data != nil {
			t.Errorf("%s: got %s beside a conflict", c.name, r.Data)
		}
		forced, err := Merge([]byte(c.have), []byte(want), Pattern{Places: servers}, c.owned, true)
		if err != nil {
			t.Fatal(err)
		}
		if c.forced == "" && forced.Data != nil {
			t.Errorf("%s: got %s when forced, want the conflict", c.name, forced.Data)
		}
		if c.forced != "" {
			if got := canonicalText(t, forced.Data); got != c.forced {
				t.Errorf("%s: got %s when forced, want %s", c.name, got, c.forced)
			}
		}
	}
	if _, err := Merge([]byte("{ no"), []byte(want), Pattern{Places: servers}, nil, true); err == nil {
		t.Error("no JSON: got no error")
	}
	// Taken out of the source after somebody edited it.
	r, err := Merge([]byte(`{"mcpServers": {"docs": {"command": "theirs"}}}`), nil, Pattern{}, []Entries{owned}, false)
	if err != nil || !cmp.Equal(r.Conflicts, []Conflict{{Place: "/mcpServers/docs", Line: 1, Edited: true}}) {
		t.Errorf("got %v, %v", r.Conflicts, err)
	}
}

// made writes a file as a person might.
type person struct{ *rand.Rand }

func (p person) space(newline bool) string {
	all := []string{"", " ", "\n  ", "\n\t", " /* c */ ", " // c\n  ", "\n\n  // d\n  "}
	if !newline {
		all = all[:2]
	}
	return all[p.IntN(len(all))]
}

func (p person) list(open, close string, items []string) string {
	var b strings.Builder
	b.WriteString(open)
	for i, item := range items {
		b.WriteString(p.space(true) + item)
		if i < len(items)-1 || p.IntN(5) == 0 {
			b.WriteString(",")
		}
	}
	if len(items) > 0 {
		b.WriteString(p.space(true))
	}
	return b.String() + close
}

func (p person) file() string {
	var members []string
	if p.IntN(2) == 0 {
		members = append(members, `"x": `+p.list("[", "]", []string{"1", `"//"`}))
	}
	if p.IntN(3) > 0 {
		var rules []string
		for _, r := range []string{`"a"`, `"b"`, `"c"`, `"mine"`} {
			if p.IntN(2) == 0 {
				rules = append(rules, r)
			}
		}
		inner := []string{`"allow": ` + p.list("[", "]", rules)}
		if p.IntN(2) == 0 {
			inner = append(inner, `"ask": []`)
		}
		members = append(members, `"permissions":`+p.space(false)+p.list("{", "}", inner))
	}
	if p.IntN(2) == 0 {
		members = append(members, `"version": 1`)
	}
	return p.list("{", "}", members) + p.space(true)
}

func (p person) want() []byte {
	rules := []string{}
	for _, r := range []string{"a", "b", "c", "ours"} {
		if p.IntN(2) == 0 {
			rules = append(rules, r)
		}
	}
	b, _ := json.MarshalIndent(map[string]any{"version": 1,
		"permissions": map[string]any{"allow": rules, "deny": []string{"z"}}}, "", "  ")
	return b
}

// TestMergeAndBack: whatever a person wrote, what is merged in can be taken out to
// the byte, a second merge changes nothing, and a build after another leaves the same
// as one alone.
func TestMergeAndBack(t *testing.T) {
	for seed := range uint64(3000) {
		p := person{rand.New(rand.NewPCG(seed, 1))}
		have, first, second := p.file(), p.want(), p.want()
		r := merged(t, have, string(first), permissions)
		if _, err := hujson.Parse(r.Data); err != nil {
			t.Fatalf("seed %d: %q became %q: %v", seed, have, r.Data, err)
		}
		if back := merged(t, string(r.Data), "", nil, r.Entries); hollow(back.Data) != hollow([]byte(have)) {
			t.Fatalf("seed %d: %q became %q, and then %q", seed, have, r.Data, back.Data)
		}
		if again := merged(t, string(r.Data), string(first), permissions, r.Entries); !bytes.Equal(again.Data, r.Data) {
			t.Fatalf("seed %d: a second time %q became %q", seed, r.Data, again.Data)
		}
		both := merged(t, string(r.Data), string(second), permissions, r.Entries)
		alone := merged(t, have, string(second), permissions)
		if a, b := sortedLists(t, both.Data), sortedLists(t, alone.Data); a != b {
			t.Fatalf("seed %d: %s after %s, %s alone", seed, a, first, b)
		}
		if !slices.Equal(both.Entries.Places(), alone.Entries.Places()) {
			t.Fatalf("seed %d: %v and %v", seed, both.Entries, alone.Entries)
		}
		if back := merged(t, string(both.Data), "", nil, both.Entries); hollow(back.Data) != hollow([]byte(have)) {
			t.Fatalf("seed %d: after two builds %q became %q", seed, have, back.Data)
		}
	}
}

// hollow leaves out what stands in brackets with nothing in them: whether they stood
// on one line is not remembered.
func hollow(data []byte) string { return string(inBrackets.ReplaceAll(data, []byte("$1$2"))) }

var inBrackets = regexp.MustCompile(`([\[{])\s+([\]}])`)

func sortedLists(t *testing.T, data []byte) string {
	var v map[string]any
	if err := json.Unmarshal([]byte(canonicalText(t, data)), &v); err != nil {
		t.Fatal(err)
	}
	if p, ok := v["permissions"].(map[string]any); ok {
		for _, list := range p {
			slices.SortFunc(list.([]any), func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	return fmt.Sprint(v)
}

// FuzzMerge: no file makes a merge panic, lose what it does not own or write what
// does not parse.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"permissions": {"allow": ["a"], /* c */ "allow": []}}`))
	f.Add([]byte("{\r\n// x\r\n}"))
	f.Fuzz(func(t *testing.T, have []byte) {
		want := []byte(`{"version": 1, "permissions": {"allow": ["a", "b"], "deny": ["z"]}}`)
		r, err := Merge(have, want, Pattern{Places: permissions}, nil, false)
		if err != nil || len(r.Conflicts) > 0 {
			return
		}
		if _, err := hujson.Parse(bytes.TrimPrefix(r.Data, []byte("\uFEFF"))); err != nil {
			t.Fatalf("%q became %q: %v", have, r.Data, err)
		}
		again, err := Merge(r.Data, want, Pattern{Places: permissions}, []Entries{r.Entries}, false)
		if err != nil || !bytes.Equal(again.Data, r.Data) {
			t.Fatalf("a second time %q became %q: %v", r.Data, again.Data, err)
		}
		if _, err := Merge(r.Data, nil, Pattern{}, []Entries{r.Entries}, false); err != nil {
			t.Fatal(err)
		}
	})
}

// TestACommentBehindAnEntryStays: a person explains modec's entry, and the comment
// outlives it.
func TestACommentBehindAnEntryStays(t *testing.T) {
	r := merged(t, `{"permissions": {"allow": ["a"]}}`, `{"permissions": {"allow": ["b", "c"]}}`, permissions)
	for have, want := range map[string]string{
		`{"permissions": {"allow": ["a", "b" /* why */, "c"]}}`: `{"permissions": {"allow": ["a" /* why */]}}`,
		`{"permissions": {"allow": ["b", "a" /* why */, "c"]}}`: `{"permissions": {"allow": ["a" /* why */]}}`,
	} {
		if back := merged(t, have, "", nil, r.Entries); string(back.Data) != want {
			t.Errorf("%s: got %s, want %s", have, back.Data, want)
		}
	}
}

// TestCommentsAndEntriesSurvive: somebody writes comments and entries anywhere among
// modec's, and takes line breaks away; when modec's entries go, the file parses and
// holds what is a person's.
func TestCommentsAndEntriesSurvive(t *testing.T) {
	for seed := range uint64(4000) {
		p := person{rand.New(rand.NewPCG(seed, 9))}
		have := p.file()
		r, err := Merge([]byte(have), p.want(), Pattern{Places: permissions}, nil, false)
		if err != nil || len(r.Conflicts) > 0 {
			continue
		}
		root, err := hujson.Parse(r.Data)
		if err != nil {
			t.Fatal(err)
		}
		extras := extrasOf(&root)
		var lists []*hujson.Array
		for v := range root.All() {
			if list, ok := v.Value.(*hujson.Array); ok {
				lists = append(lists, list)
			}
		}
		for range 1 + p.IntN(3) {
			e := extras[p.IntN(len(extras))]
			*e = append(hujson.Extra([]string{"// mine\n", " // mine\n  ", "/* mine */", "\n"}[p.IntN(4)]), *e...)
		}
		if len(lists) > 0 && p.IntN(2) == 0 {
			l := lists[p.IntN(len(lists))]
			i := p.IntN(len(l.Elements) + 1)
			l.Elements = slices.Insert(l.Elements, i, hujson.Value{Value: hujson.String("late")})
		}
		edited := root.Pack()
		want, err := hujson.Parse(edited)
		if err != nil {
			t.Fatalf("the test breaks %q", edited)
		}
		for place, sum := range r.Entries { // what is modec's
			tokens := split(place)
			if list := find(&want, tokens[:max(0, len(tokens)-1)]); sum == "" && list != nil {
				a := list.Value.(*hujson.Array)
				i := slices.IndexFunc(a.Elements,
					func(v hujson.Value) bool { return itemText(v) == tokens[len(tokens)-1] })
				a.Elements = slices.Delete(a.Elements, i, i+1)
			}
		}
		back, err := Merge(edited, nil, Pattern{}, []Entries{r.Entries}, false)
		if err != nil || len(back.Conflicts) > 0 {
			t.Fatalf("%q: %v %v", edited, err, back.Conflicts)
		}
		for _, list := range []string{"/permissions/allow", "/permissions/deny"} {
			if got, want := itemsAt(t, back.Data, list), itemsAt(t, want.Pack(), list); !slices.Equal(got, want) {
				t.Fatalf("%q became %q: got %v in %s, want %v", edited, back.Data, got, list, want)
			}
		}
	}
}

func itemsAt(t *testing.T, data []byte, place string) (items []string) {
	t.Helper()
	if data == nil {
		return nil
	}
	root, err := hujson.Parse(data)
	if err != nil {
		t.Fatalf("%q does not parse: %v", data, err)
	}
	if list := find(&root, split(place)); list != nil {
		for _, v := range list.Value.(*hujson.Array).Elements {
			items = append(items, itemText(v))
		}
	}
	return items
}

// TestPersonsMembers: the members of an entry that no target knows stay where modec changes the rest.
func TestPersonsMembers(t *testing.T) {
	p := Pattern{Places: []string{"/mcpServers/*"}, Keys: []string{"command", "args", "alwaysAllow"}}
	have := []byte(`{"mcpServers": {
  "docs": {"description": "The \u0041 docs", "command": "old", "alwaysAllow": ["rm"], "note": {"by": ["me"]}},
  "mine": {"command": "x", "description": "y"}
}}`)
	want := []byte(`{"mcpServers": {"docs": {"command": "new", "args": ["a"]}}}`)
	if r, err := Merge(have, want, p, nil, false); err != nil || len(r.Conflicts) != 1 {
		t.Fatalf("a person's entry: %v, %v", r.Conflicts, err)
	}
	r, err := Merge(have, want, p, []Entries{Adopt(have, p, []string{"docs"})}, false)
	if err != nil || len(r.Conflicts) > 0 {
		t.Fatal(err, r.Conflicts)
	}
	for text, stays := range map[string]bool{`"The \u0041 docs"`: true, `{"by": ["me"]}`: true, `"new"`: true, "alwaysAllow": false,
		`"mine": {"command": "x", "description": "y"}`: true} {
		if strings.Contains(string(r.Data), text) != stays {
			t.Errorf("%s: %v, want %v in\n%s", text, !stays, stays, r.Data)
		}
	}
	same := func(have []byte, entries Entries) (Result, bool) {
		t.Helper()
		again, err := Merge(have, want, p, []Entries{entries}, false)
		if err != nil {
			t.Fatal(err)
		}
		return again, len(again.Conflicts) == 0 && bytes.Equal(again.Data, have)
	}
	if again, ok := same(r.Data, r.Entries); !ok {
		t.Errorf("not the same again:\n%s\n%v", again.Data, again.Conflicts)
	}
	if r.Entries.Edited(r.Data) {
		t.Error("got an edit, want none")
	}

	// Such members may be edited, added and removed; those of the target may not.
	edited := bytes.Replace(r.Data, []byte(`"me"`), []byte(`"you"`), 1)
	if again, ok := same(edited, r.Entries); !ok {
		t.Errorf("an edit of a person's member: %v", again.Conflicts)
	}
	added := bytes.Replace(r.Data, []byte(`"note"`), []byte(`"alwaysAllow": ["rm"], "note"`), 1)
	if again, ok := same(added, r.Entries); ok || len(again.Conflicts) != 1 || !again.Conflicts[0].Edited {
		t.Errorf("a member of the target's that a person added: %v\n%s", again.Conflicts, again.Data)
	}

	// They leave the file with the entry.
	gone, err := Merge(r.Data, nil, Pattern{}, []Entries{r.Entries}, false)
	if err != nil || len(gone.Conflicts) > 0 || strings.Contains(string(gone.Data), "docs") ||
		!strings.Contains(string(gone.Data), "mine") {
		t.Errorf("after removal: %v %v\n%s", err, gone.Conflicts, gone.Data)
	}
}

// An entry that lacks what is the default anyway keeps its bytes, and is no edit.
func TestDefaults(t *testing.T) {
	p := Pattern{Places: []string{"/s/*"}, Defaults: map[string][]string{"type": {`"stdio"`}, "env": {"{}"}}}
	have := `{"s": {"a": {"command": "x",  "args": [ "1" ]}, "mine": {}}}`
	want := `{"s": {"a": {"type": "stdio", "command": "x", "args": ["1"]}}}`
	owned := Adopt([]byte(have), p, []string{"a"})
	first, err := Merge([]byte(have), []byte(want), p, []Entries{owned}, false)
	if err != nil || string(first.Data) != have {
		t.Fatalf("got %s, %v", first.Data, err)
	}
	again, err := Merge(first.Data, []byte(want), p, []Entries{first.Entries}, false)
	if err != nil || string(again.Data) != have || len(again.Conflicts) > 0 {
		t.Errorf("got %s, %v, %v", again.Data, again.Conflicts, err)
	}
	written := Entries{"/s/a": p.sumOf("/s/a", member(member(must(want), "s"), "a"))}
	dropped, err := Merge([]byte(have), []byte(want), p, []Entries{written}, false)
	if err != nil || string(dropped.Data) != have || len(dropped.Conflicts) > 0 {
		t.Errorf("a default that somebody took out: got %s, %v, %v", dropped.Data, dropped.Conflicts, err)
	}
	off := Pattern{Places: p.Places, Defaults: map[string][]string{"type": {`"stdio"`}, "disabled": {"false"}}}
	told := `{"s": {"a": {"command": "x",  "disabled":false, "args": [ "1" ]}}}`
	same, err := Merge([]byte(told), []byte(want), off, []Entries{Adopt([]byte(told), off, []string{"a"})}, false)
	if err != nil || string(same.Data) != told {
		t.Errorf("a default that is there: got %s, %v", same.Data, err)
	}
	later, err := Merge([]byte(told), []byte(strings.Replace(want, `"x"`, `"y"`, 1)), off, []Entries{written}, false)
	if err != nil || string(later.Data) != strings.Replace(told, `"x"`, `"y"`, 1) {
		t.Errorf("a default added before a change: got %s, %v, %v", later.Data, later.Conflicts, err)
	}
	other := strings.Replace(want, `"x"`, `"y"`, 1)
	both, err := Merge([]byte(have), []byte(other), p, []Entries{written}, false)
	if err != nil || !strings.Contains(string(both.Data), `"y"`) || len(both.Conflicts) > 0 {
		t.Errorf("a default taken out before a change: got %s, %v, %v", both.Data, both.Conflicts, err)
	}
	changed, err := Merge([]byte(have), []byte(other), p, []Entries{first.Entries}, false)
	if err != nil || strings.Contains(string(changed.Data), "stdio") || !strings.Contains(string(changed.Data), `"y"`) {
		t.Errorf("got %s, %v", changed.Data, err)
	}
}

func must(text string) hujson.Value {
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// What says nothing while an entry is disabled, and the order of a list that is a set, are a person's.
func TestRestingAndSets(t *testing.T) {
	p := Pattern{Places: []string{"/s/*"}, Keys: []string{"cmd", "disabled", "ok"}, Resting: []string{"ok"},
		Sets: []string{"ok"}, Defaults: map[string][]string{"ok": {"[]"}},
		Spelled: func(place, text string) string {
			return map[string]string{"/s/off/cmd Long": "l"}[place+" "+text]
		}}
	have := `{"s": {"off": {"cmd": "Long", "disabled": true, "ok": ["z", "a"]}, "on": {"cmd": "x", "ok": ["z",  "a"]}}}`
	want := `{"s": {"off": {"cmd": "l", "disabled": true}, "on": {"cmd": "x", "ok": ["a", "z"]}}}`
	merge := func(have, want string, owned Entries) Result {
		t.Helper()
		r, err := Merge([]byte(have), []byte(want), p, []Entries{owned}, false)
		if err != nil || len(r.Conflicts) > 0 {
			t.Fatalf("%v %v", err, r.Conflicts)
		}
		return r
	}
	first := merge(have, want, Adopt([]byte(have), p, []string{"off", "on"}))
	if string(first.Data) != have {
		t.Fatalf("got %s", first.Data)
	}
	more := merge(have, strings.Replace(want, `["a", "z"]`, `["a", "b", "z"]`, 1), first.Entries)
	if !strings.Contains(string(more.Data), `["z",  "a",  "b"]`) {
		t.Errorf("an item more: got %s", more.Data)
	}
	if on := merge(have, strings.Replace(want, `, "disabled": true`, ``, 1), first.Entries); strings.Contains(
		string(on.Data), `"off": {"cmd": "l", "ok"`) || strings.Contains(string(on.Data), "disabled") {
		t.Errorf("an entry that is switched on has what a person wrote while it was off: %s", on.Data)
	}
	edited := strings.Replace(have, `"disabled": true, `, ``, 1)
	if r, err := Merge([]byte(edited), []byte(want), p, []Entries{first.Entries}, false); err != nil || len(r.Conflicts) == 0 {
		t.Errorf("an entry that somebody switched on: %v %s", err, r.Data)
	}
}

// An item in a person's words stays in the place of the one that it stands for, as long as that is emitted.
func TestSpelled(t *testing.T) {
	of := Pattern{Places: []string{"/list/-"}, Spelled: func(place, item string) string {
		if place != "/list" {
			t.Errorf("got the place %q", place)
		}
		return strings.TrimPrefix(item, "./")
	}}
	for _, c := range []struct{ name, have, want, merged string }{
		{"one for one", `{"list": ["./a", "b"]}`, `{"list": ["a", "c"]}`, `{"list": ["./a", "c"]}`},
		{"both ways", `{"list": ["./a", "a"]}`, `{"list": ["a"]}`, `{"list": ["./a", "a"]}`},
		{"no longer emitted", `{"list": ["./a", "./b"]}`, `{"list": ["b"]}`, `{"list": ["./b"]}`},
		{"emitted as it stands", `{"list": ["./a"]}`, `{"list": ["./a", "a"]}`, `{"list": ["./a", "a"]}`},
	} {
		have := []byte(c.have)
		owned := []Entries{{"/list/.~1a": "", "/list/.~1b": "", "/list/a": "", "/list/b": ""}}
		for range 2 { // what is merged stays
			res, err := Merge(have, []byte(c.want), of, owned, false)
			if err != nil || string(res.Data) != c.merged {
				t.Fatalf("%s: got %s, %v, want %s", c.name, res.Data, err, c.merged)
			}
			have, owned = res.Data, []Entries{res.Entries}
		}
	}
}

// A text inside an entry in a person's words, and a member by another name, stay as long as they say the same.
func TestSpelledInside(t *testing.T) {
	p := Pattern{Places: []string{"/s/*"}, Keys: []string{"env", "args", "url", "httpUrl"},
		Renamed: map[string]string{"url": "httpUrl"},
		Spelled: func(place, text string) string {
			return map[string]string{"/s/a/env/T $T": "${T}", "/s/a/args/1 $X": "${X}"}[place+" "+text]
		}}
	const have = `{"s": {"a": {"env": {"T": "$T",  "U": "u"}, "args": ["x", "$X"]}, "b": {"httpUrl":  "h"}}}`
	const want = `{"s": {"a": {"env": {"T": "${T}", "U": "u"}, "args": ["x", "${X}"]}, "b": {"url": "h"}}}`
	owned := []Entries{Adopt([]byte(have), p, []string{"a", "b"})}
	res, err := Merge([]byte(have), []byte(want), p, owned, false)
	if err != nil || string(res.Data) != have {
		t.Fatalf("got %s, %v", res.Data, err)
	}
	other := strings.NewReplacer("${T}", "${V}", `"h"`, `"i"`).Replace(want)
	res, err = Merge([]byte(have), []byte(other), p, []Entries{res.Entries}, false)
	if err != nil || len(res.Conflicts) > 0 || !strings.Contains(string(res.Data), "${V}") ||
		!strings.Contains(string(res.Data), `"i"`) || strings.Contains(string(res.Data), `"h"`) {
		t.Errorf("what says something else: got %s, %v %v", res.Data, res.Conflicts, err)
	}
}

// What modec wrote and no longer emits goes in a time that grows with the list, and not with its square.
func BenchmarkRemoveItems(b *testing.B) {
	var items []string
	for i := range 10_000 {
		items = append(items, fmt.Sprintf("%q", fmt.Sprint("Bash(prog", i, " x *)")))
	}
	want := `{"permissions": {"deny": [` + strings.Join(items, ",\n") + "]}}"
	p := Pattern{Places: []string{"/permissions/deny/-"}}
	before, err := Merge(nil, []byte(want), p, nil, false)
	if err != nil {
		b.Fatal(err)
	}
	have := []byte(`{"model": "opus",` + want[1:])
	for b.Loop() {
		after, err := Merge(have, []byte(`{}`), p, []Entries{before.Entries}, false)
		if err != nil || len(after.Taken) != 10_000 {
			b.Fatal(err, len(after.Taken))
		}
	}
}

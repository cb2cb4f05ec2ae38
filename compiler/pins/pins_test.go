package pins_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
)

func pin(t testing.TB, raw string) pins.Pin {
	t.Helper()
	p, err := pins.New([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// server returns a server with tools, each a name and an object.
func server(t testing.TB, tools ...string) *pins.Server {
	t.Helper()
	s := pins.Of(&ir.Server{Name: "shop", Type: "stdio", Command: "shop-mcp"})
	for i := 0; i < len(tools); i += 2 {
		s.Items[pins.Tools][tools[i]] = pin(t, tools[i+1])
	}
	return s
}

func set(t testing.TB, s *pins.Server) *pins.Set {
	t.Helper()
	out := &pins.Set{}
	if _, left := out.Take(s, pins.Added); len(left) > 0 {
		t.Fatal(left)
	}
	return read(t, string(out.Bytes()))
}

func read(t testing.TB, text string) *pins.Set {
	t.Helper()
	s, diags := pins.Read(fstest.MapFS{pins.File: {Data: []byte(text)}})
	if len(diags) > 0 {
		t.Fatalf("%v\n%s", diags, text)
	}
	return s
}

// The order of keys, spaces and escapes do not change a pin; anything else does, at any depth and in any key.
func TestPin(t *testing.T) {
	const tool = `{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"default":1}}},"x-own":[1,2]}`
	same := pin(t, tool)
	for _, text := range []string{
		`{"x-own" : [1, 2.0], "inputSchema":{"properties":{"x":{"default":1e0}},"type":"object"},"name":"\u0061","description":"d"}`,
	} {
		if pin(t, text).Sum != same.Sum {
			t.Errorf("another pin: %s", text)
		}
	}
	for _, change := range []string{`"d"|"d\u200b"`, `"d"|"D"`, `"default":1|"default":2`, `[1,2]|[2,1]`, `"x-own"|"_meta"`,
		`"name":"a"|"name":"a","title":"t"`, `"name":"a"|"name":"a","annotations":{"readOnlyHint":true}`} {
		from, to, _ := strings.Cut(change, "|")
		if pin(t, strings.Replace(tool, from, to, 1)).Sum == same.Sum {
			t.Errorf("the same pin with %s", to)
		}
	}
	for _, bad := range []string{`{"a":1,"a":2}`, `{"a":1} {}`, `{"a":`, "{\"a\":\"\xff\"}", ""} {
		if p, err := pins.New([]byte(bad)); err == nil {
			t.Errorf("%q has the pin %s", bad, p.Sum)
		}
	}
	// The example of RFC 8785, section 3.2.
	const example = `{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`
	const want = `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`
	if got := string(pin(t, example).Value); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Both versions of what changed are shown, with what nobody sees escaped.
func TestVersions(t *testing.T) {
	was := server(t, "a", `{"name":"a"}`, "b", `{"name":"b"}`)
	is := server(t, "a", "{\"name\":\"a\",\"title\":\"x\u200b\"}", "c", `{"name":"c"}`)
	var got []string
	for _, c := range was.Compare(is) {
		before, after := c.Versions()
		got = append(got, c.ID+": "+before+" | "+after)
	}
	want := []string{"shop:a: {\n  \"name\": \"a\"\n} | {\n  \"name\": \"a\",\n  \"title\": \"x\\u200b\"\n}",
		"shop:b: {\n  \"name\": \"b\"\n} | ", "shop:c:  | {\n  \"name\": \"c\"\n}"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The file has a line for each tool, in which everything is seen, and reads as it was written.
func TestFile(t *testing.T) {
	s := server(t, "b", `{"description":"hidden \u202e\udb40\udc41 \u3164\u200b text <&>","name":"b"}`, "a", `{"name":"a"}`)
	s.Introduce("Use <b>.")
	text := string(set(t, s).Bytes())
	for _, want := range []string{
		"\n        \"a\": {\"sha256\": \"" + s.Items[pins.Tools]["a"].Sum + "\", \"value\": {\"name\":\"a\"}},\n        \"b\"",
		`"value": {"description":"hidden \u202e\udb40\udc41 \u3164\u200b text <&>","name":"b"}`,
		`"value": "Use <b>."`, `"prompts": {},`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s\nwant %s", text, want)
		}
	}
	again := read(t, text)
	if got := string(again.Bytes()); got != text {
		t.Error(cmp.Diff(text, got))
	}
	if all := again.Server("shop").Compare(s); len(all) > 0 {
		t.Errorf("got %v", all)
	}
	b := again.Server("shop").Items[pins.Tools]["b"]
	if b.Edited() || b.Pos.Line != 11 || b.Pos.File != pins.File {
		t.Errorf("got %v", b.Pos)
	}
	if b = read(t, strings.Replace(text, "hidden", "shown", 1)).Server("shop").Items[pins.Tools]["b"]; !b.Edited() {
		t.Error("an edited pin is not found")
	}
	edited := read(t, strings.Replace(text, "hidden", "shown", 1))
	if all := edited.Server("shop").Compare(s); len(all) != 1 || all[0].ID != "shop:b" || all[0].Status != pins.Changed {
		t.Errorf("got %v of an edited pin", all)
	}
	edited.Take(s, func(pins.Change) bool { return true })
	if got := string(edited.Bytes()); got != text {
		t.Error(cmp.Diff(text, got))
	}
}

// What cannot be read as pins is an error at its place, never a file without pins.
func TestBroken(t *testing.T) {
	const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	entry := `"entry": {"sha256": "` + sum + `", "value": {}}`
	file := func(server string) string {
		return fmt.Sprintf("{\n\"version\": 1,\n\"servers\": {\n\"s\": %s}}", server)
	}
	for _, c := range []struct{ text, want string }{
		{"{", "modec.pins.json:1:"},
		{"", "modec.pins.json"},
		{"[]", "modec.pins.json:1:1: error: got a list for the pins, want an object"},
		{"{}", "got no version 1"},
		{`{"version": 2, "servers": {}}`, "modec.pins.json:1:13: error: got no version 1"},
		{`{"version": 1, "server": {}}`, `1:16: error: got the key "server" in the pins`},
		{`{"version": 1, "servers": []}`, "got a list for servers"},
		{"{\"version\": 1, // one\n\"servers\": {}}", "got comments"},
		{file("{}"), `4:1: error: server "s" has no entry`},
		{file(`{"entry": {}}`), "has no sha256"},
		{file(`{"entry": {"sha256": "` + sum + `"}}`), "has no value"},
		{file(`{"entry": {"sha256": "0a", "value": {}}}`), "has no sha256"},
		{file(`{"entry": {"sha256": "` + sum + `", "value": {"a": 1, "a": 2}}}`), `got the key "a" twice`},
		{file(`{` + entry + `, "tools": {"x": 1}}`), `got a number for the pin of "x", want an object`},
		{file(`{` + entry + `, "tools": {"x": {"sha256": "` + sum + `", "value": {}}, "x": {"sha256": "` + sum + `", "value": {}}}}`), `got the key "x" twice`},
		{file(`{` + entry + `, "tool": {}}`), `got the key "tool"`},
	} {
		s, diags := pins.Read(fstest.MapFS{pins.File: {Data: []byte(c.text)}})
		if s != nil || !diags.HasErrors() || !strings.Contains(diags.Error(), c.want) {
			t.Errorf("%s\ngot %v, want %s", c.text, diags, c.want)
		}
	}
	if s, diags := pins.Read(fstest.MapFS{}); s != nil || diags != nil {
		t.Errorf("got %v, %v where there is no file", s, diags)
	}
}

// Pins are added; what changed or is gone stays as it was until it is accepted by name.
func TestTake(t *testing.T) {
	have := set(t, server(t, "a", `{"name":"a","description":"A."}`, "b", `{"name":"b"}`, "c", `{"name":"c"}`))
	now := server(t, "a", `{"name":"a","description":"B."}`, "c", `{"name":"c"}`, "d", `{"name":"d"}`)
	now.Introduce("Hello.")
	taken, left := have.Take(now, pins.Added)
	if got, want := fmt.Sprint(taken), `[the instructions of server "shop" are not pinned the tool "d" of server "shop" is not pinned]`; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := fmt.Sprint(left), `[the tool "a" of server "shop" is not as pinned the tool "b" of server "shop" is pinned, and the server does not offer it]`; got != want {
		t.Errorf("got %s", got)
	}
	if got := left[0].Parts; len(got) != 1 || got[0].String() != `description: "A." → "B."` {
		t.Errorf("got %v", got)
	}
	taken, left = have.Take(now, func(c pins.Change) bool { return c.ID == "shop:a" || c.ID == "shop:b" })
	if len(taken) != 2 || len(left) != 0 || len(have.Server("shop").Compare(now)) != 0 {
		t.Errorf("got %v, %v", taken, left)
	}
	moved := pins.Of(&ir.Server{Name: "shop", Type: "stdio", Command: "shop-mcp", Args: []string{"--evil"}})
	moved.Instructions, moved.Items = now.Instructions, now.Items
	all := have.Server("shop").Compare(moved)
	if len(all) != 1 || all[0].ID != "shop:entry" || all[0].Parts[0].Path != "args" {
		t.Errorf("got %v", all)
	}
}

// A server chooses the names that stand in a command.
func TestCommand(t *testing.T) {
	for name, want := range map[string]string{
		"list":                "modec inventory --pin shop:list",
		"prompts/x; rm -rf ~": "modec inventory --pin 'shop:prompts/x; rm -rf ~'",
		"a'$(id)\u202e":       `modec inventory --pin 'shop:a'\''$(id)\u202e'`,
	} {
		if got := pins.Command(pins.ID("shop", pins.Tools, name)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestDifference(t *testing.T) {
	long := strings.Repeat("é", 400)
	for _, c := range []struct{ before, after, want string }{
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":3}}`, "a.c: 2 → 3"},
		{`{"a":1}`, `{"b":[1]}`, "a: removed 1; b: added [1]"},
		{`"x"`, `"y\u200b"`, `"x" → "y\u200b"`},
		{`{"a":[1,2]}`, `{"a":[1,3]}`, "a: [1,2] → [1,3]"},
		{`{"a":1}`, `{"a":1}`, ""},
		{`{"a":"` + long + `"}`, `{"a":"` + long + `!` + long + `"}`, ""},
	} {
		var all []string
		for _, p := range pins.Difference([]byte(c.before), []byte(c.after)) {
			all = append(all, p.String())
			if short := p.Short(); len(short) > 700 || !utf8.ValidString(short) || len(long) < len(c.after) && !strings.Contains(short, "!") {
				t.Errorf("got %q", short)
			}
		}
		if got := strings.Join(all, "; "); c.want != "" && got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// Whatever lies in the file and whatever a server sends, what is read is written and read again as it was.
func FuzzPins(f *testing.F) {
	s := &pins.Set{}
	s.Take(pins.Of(&ir.Server{Name: "shop", Command: "shop-mcp"}), pins.Added)
	file := string(s.Bytes())
	for _, value := range []string{`{"name":"a"}`, `{"a":[1e400,1,"\u200b\ud800"],"b":{}}`, `"x"`, `[[[]]]`, "", "\xff"} {
		f.Add(file, "a\u202e", value)
		f.Add(value, "b", value)
	}
	f.Fuzz(func(t *testing.T, file, name, value string) {
		set, _ := pins.Read(fstest.MapFS{pins.File: {Data: []byte(file)}})
		if set == nil {
			set = &pins.Set{}
		}
		now := pins.Of(&ir.Server{Name: "shop", Command: "shop-mcp"})
		if p, err := pins.New([]byte(value)); err == nil && utf8.ValidString(name) {
			now.Items[pins.Tools][name] = p
			now.Introduce(name)
		}
		set.Take(now, func(pins.Change) bool { return true })
		data := set.Bytes()
		again, diags := pins.Read(fstest.MapFS{pins.File: {Data: data}})
		if len(diags) > 0 {
			t.Fatalf("%v\n%s", diags, data)
		}
		if got := string(again.Bytes()); got != string(data) {
			t.Error(cmp.Diff(string(data), got))
		}
		if all := again.Server("shop").Compare(now); len(all) > 0 {
			t.Errorf("got %v\n%s", all, data)
		}
	})
}

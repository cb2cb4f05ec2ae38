package migrate

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestPatch changes one source after the other. A text stays as it is but for the change.
func TestPatch(t *testing.T) {
	allow := func(item string) func(*patcher) error {
		return func(p *patcher) error {
			return p.add([]string{"roles", "a", "can", "command", "allow"}, text(item))
		}
	}
	drop := func(item string) func(*patcher) error {
		return func(p *patcher) error {
			return p.drop([]string{"roles", "a", "can", "command", "allow"}, text(item))
		}
	}
	prose := func(is string) func(*patcher) error {
		return func(p *patcher) error { return p.prose([]string{"roles", "a", "description"}, is) }
	}
	unset := func(at ...string) func(*patcher) error {
		return func(p *patcher) error { return p.unset(at) }
	}
	set := func(at ...string) func(*patcher) error {
		return func(p *patcher) error { return p.set(at, list(text("new"))) }
	}
	const role = "roles: a: can: command: "
	for _, c := range []struct {
		name, file, was string
		do              func(*patcher) error
		is, why         string
	}{
		{"cue", "a.cue", role + "allow: [\"x\"]\n", allow("y"), role + "allow: [\"x\", \"y\"]\n", ""},
		{"cue, empty", "a.cue", role + "allow: []\n", allow("y"), role + "allow: [\"y\"]\n", ""},
		{"cue, not formatted", "a.cue", "roles:a:can:command:{allow:[\"x\",],}", allow("y"),
			"roles:a:can:command:{allow:[\"x\", \"y\",],}", ""},
		{"cue, lines", "a.cue", role + "allow: [\n\t\"x\", // why\n]\n", allow("y"),
			role + "allow: [\n\t\"x\", // why\n\t\"y\",\n]\n", ""},
		{"cue, a word", "a.cue", role + "\"ask\"\n", allow("y"), role + "{allow: [\"y\"], default: \"ask\"}\n", ""},
		{"cue, no list", "a.cue", role + "{ask: [\"x\"]}\n", allow("y"), role + "{ask: [\"x\"], allow: [\"y\"]}\n", ""},
		{"cue, no braces", "a.cue", role + "ask: [\"x\"]\n", allow("y"),
			role + "{ask: [\"x\"], allow: [\"y\"]}\n", ""},
		{"cue, no braces, a comment", "a.cue", role + "ask: [\"x\"] // why\n", allow("y"),
			role + "{ask: [\"x\"], allow: [\"y\"]} // why\n", ""},
		{"cue, no braces, lines", "a.cue", role + "ask: [\n\t\"x\", // why\n]\n", allow("y"),
			role + "{\n\task: [\n\t\t\"x\", // why\n\t]\n\tallow: [\"y\"]\n}\n", ""},
		{"cue, said", "a.cue", role + "allow: [\"x\"]\n", allow("x"), "", "says it already"},
		{"cue, shared", "a.cue", "roles: a: can: command: allow: _x\nroles: b: can: command: allow: _x\n_x: [\"x\"]\n",
			allow("y"), "", "not a plain value"},
		{"cue, of all", "a.cue", "roles: [string]: can: command: allow: [\"x\"]\nroles: {a: {}, b: {}}\n", allow("y"),
			"", "roles.b would change too"},
		{"cue, out", "a.cue", role + "allow: [\"x\", \"y\", \"z\"]\n", drop("y"), role + "allow: [\"x\", \"z\"]\n", ""},
		{"cue, last out", "a.cue", role + "allow: [\"x\", \"y\"]\n", drop("y"), role + "allow: [\"x\"]\n", ""},
		{"cue, only one out", "a.cue", role + "allow: [\"x\"]\n", drop("x"), "roles: a: can: {}\n", ""},
		{"cue, line out", "a.cue", role + "allow: [\n\t\"x\",\n\t\"y\", // why\n]\n", drop("y"), role + "allow: [\n\t\"x\",\n]\n", ""},
		{"cue, none out", "a.cue", role + "allow: [\"x\"]\n", drop("y"), "", "does not say it alone"},
		{"cue, mark", "a.cue", "\uFEFF" + role + "allow: [\"x\"]\n", allow("y"), "", `add "y" there`},
		{"cue, chain out", "a.cue", "roles: a: {\n\tx: y: z: [\"x\"]\n\tb: {}\n}\n", unset("roles", "a", "x", "y", "z"),
			"roles: a: {\n\tb: {}\n}\n", ""},
		{"json", "a.json", `{"roles": {"a": {"can": {"command": {"allow": ["x"]}}}}}`, allow(`"y"`),
			`{"roles": {"a": {"can": {"command": {"allow": ["x", "\"y\""]}}}}}`, ""},
		{"json, lines", "a.json", "{\"roles\": {\"a\": {\"can\": {\"command\": {\"allow\": [\n  \"x\"\n]}}}}}", allow("y"),
			"{\"roles\": {\"a\": {\"can\": {\"command\": {\"allow\": [\n  \"x\",\n  \"y\"\n]}}}}}", ""},
		{"toml", "a.toml", "[roles.a.can.command]\nallow = [\"x\"]\n", allow("y"), "", "change it there"},
		{"yaml", "a.yaml", "roles:\n  a:\n    can:\n      command:\n        allow:\n        - x # why\n        ask: [z]\n", allow("y"),
			"roles:\n  a:\n    can:\n      command:\n        allow:\n        - x # why\n        - \"y\"\n        ask: [z]\n", ""},
		{"yaml, brackets", "a.yaml", "roles: {a: {can: {command: {allow: ['x, ]' ], ask: [z]}}}}\n", allow("y"),
			"roles: {a: {can: {command: {allow: ['x, ]', \"y\" ], ask: [z]}}}}\n", ""},
		{"yaml, many lines", "a.yaml", "roles: {a: {can: {command: {allow: [x\n]}}}}\n", allow("y"), "", "not a plain value"},
		{"yaml, out", "a.yaml", "roles:\n  a:\n    can:\n      command:\n        allow:\n        - x\n        - y\n", drop("x"),
			"roles:\n  a:\n    can:\n      command:\n        allow:\n        - y\n", ""},
		{"yaml, a word", "a.yaml", "roles:\n  a:\n    can:\n      command: ask # why\n", allow("y"),
			"roles:\n  a:\n    can:\n      command: {\"allow\": [\"y\"], \"default\": \"ask\"} # why\n", ""},
		{"yaml, a block", "a.yaml", "roles:\n  a:\n    description: |\n      One.\n\n      Two.\n\n    modes: []\n", prose("Three.\n\n Four.\n"),
			"roles:\n  a:\n    description: |\n      Three.\n\n       Four.\n\n    modes: []\n", ""},
		{"yaml, a block at the end", "a.yaml", "roles:\n  a:\n    description: >-\n      One.\n", prose("Two."),
			"roles:\n  a:\n    description: \"Two.\"\n", ""},
		{"yaml, a field out", "a.yaml", "servers:\n  x:\n    command: x\n    env:\n      A: b\n\n  # z\n  z: {url: z}\n",
			unset("servers", "x", "env"), "servers:\n  x:\n    command: x\n\n  # z\n  z: {url: z}\n", ""},
		{"yaml, the only field out", "a.yaml", "servers:\n  x:\n    args:\n    - x\n    - y\n  z: {}\n",
			unset("servers", "x", "args"), "servers:\n  x:\n    {}\n  z: {}\n", ""},
		{"yaml, a field with a comment out", "a.yaml", "servers:\n  x:\n    env:\n      # why\n      A: b\n",
			unset("servers", "x", "env"), "", "change it there"},
		{"yaml, a field in braces out", "a.yaml", "servers:\n  x: {command: x, args: [x]}\n",
			unset("servers", "x", "args"), "servers:\n  x: {command: x}\n", ""},
		{"yaml, the first field in braces out", "a.yaml", "servers: {'a': {command: \"},'\", env: {A: 'it''s, }'}}, b: {url: u}} # c\n",
			unset("servers", "a"), "servers: {b: {url: u}} # c\n", ""},
		{"yaml, the only field in braces out", "a.yaml", "servers: {a: {env: {A: it's}, url: x}}\n",
			unset("servers", "a", "env", "A"), "servers: {a: {env: {}, url: x}}\n", ""},
		{"yaml, a field in braces of several lines out", "a.yaml", "servers: {\n  a: {url: x},\n  b: {url: y}\n}\n",
			unset("servers", "b"), "servers: {\n  a: {url: x}\n}\n", ""},
		{"yaml, a field in braces with a comment out", "a.yaml", "servers: {a: {url: x}, # why\n  b: {url: y}}\n",
			unset("servers", "b"), "servers: {a: {url: x}, # why\n  }\n", ""},
		{"yaml, a field in braces with an anchor out", "a.yaml", "servers: {a: &x {url: x}, b: *x}\n",
			unset("servers", "a"), "", "change it there"},
		{"yaml, a field in braces", "a.yaml", "servers: {a: {args: [x], url: x}}\n", set("servers", "a", "args"),
			"servers: {a: {args: [\"new\"], url: x}}\n", ""},
		{"yaml, a text in braces", "a.yaml", "roles: {a: {description: 'x, y', modes: []}}\n", prose("z"),
			"roles: {a: {description: \"z\", modes: []}}\n", ""},
		{"yaml, out of brackets", "a.yaml", "roles: {a: {can: {command: {allow: [x, 'y, z']}}}}\n", drop("x"),
			"roles: {a: {can: {command: {allow: ['y, z']}}}}\n", ""},
		{"yaml, the last out of brackets", "a.yaml", "roles: {a: {can: {command: {allow: [x, 'y, z']}}}}\n", drop("y, z"),
			"roles: {a: {can: {command: {allow: [x]}}}}\n", ""},
		{"yaml, a list", "a.yaml", "servers:\n  x:\n    \"args\":\n    - x\n    - y\n    command: x\n", set("servers", "x", "args"),
			"servers:\n  x:\n    \"args\": [\"new\"]\n    command: x\n", ""},
		{"cue, a struct without braces", "a.cue", "servers: {x: args: y: z: 1, w: {}}\n", set("servers", "x", "args"),
			"servers: {x: args: [\"new\"], w: {}}\n", ""},
		{"cue, a text", "a.cue", "roles: a: {description: \"x\", modes: []}\n", prose("one\n\"two\""),
			"roles: a: {description: \"\"\"\n\tone\n\t\"two\"\n\t\"\"\", modes: []}\n", ""},
		{"cue, no text", "a.cue", "roles: a: {\n\tdescription: \"x\"\n\tmodes: []\n}\n", prose(""), "roles: a: {\n\tmodes: []\n}\n", ""},
		{"cue, a field", "a.cue", "servers: {x: {command: \"x\"}, y: command: \"y\", z: command: \"z\"}\n", unset("servers", "y"),
			"servers: {x: {command: \"x\"}, z: command: \"z\"}\n", ""},
		{"cue, the last field", "a.cue", "servers: {x: {command: \"x\"}, y: command: \"y\"}\n", unset("servers", "y"),
			"servers: {x: {command: \"x\"}}\n", ""},
		{"cue, the only field", "a.cue", "roles: a: {}\nservers: y: command: \"y\"\n", unset("servers", "y"),
			"roles: a: {}\n", ""},
		{"cue, a file", "a.cue", "roles: a: {descriptionFile: \"a.md\"}\n", prose("new"), "roles: a: {descriptionFile: \"a.md\"}\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &patcher{dir: "modec", files: map[string][]byte{}, fsys: fstest.MapFS{
				"modec/" + c.file: {Data: []byte(c.was)}, "modec/a.md": {Data: []byte("old\n")}}}
			err := p.do(c.do)
			switch {
			case c.why != "":
				if err == nil || !strings.Contains(err.Error(), c.why) || len(p.files) > 0 {
					t.Errorf("got error %v and %d files, want an error with %q and none", err, len(p.files), c.why)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			is, err := p.read("modec/" + c.file)
			if d := cmp.Diff(c.is, string(is)); d != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, d)
			}
		})
	}
}

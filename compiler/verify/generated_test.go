package verify_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
	"modec.dev/modec/targets"
)

var (
	more = flag.Uint64("more", 0, "TestDrawn draws this many sources more, each in every form")
	from = flag.Uint64("from", 700000, "the number of the first of -more")
)

// TestDrawn compiles sources that are drawn over the whole schema, for one or two targets each, a quarter of them behind
// the gateway, a quarter with times and an eighth with groups that are kept: nothing may be wider, with hooks and
// without. A number stands for a source, and says nothing of its neighbours: what guides a fuzzer finds here nothing
// more than the next numbers do. `make drawn` takes others.
func TestDrawn(t *testing.T) {
	count := uint64(2000)
	if testing.Short() {
		count = 100
	}
	var compared atomic.Int64
	t.Cleanup(func() { t.Logf("%d decisions compared", compared.Load()) })
	draw := func(n uint64, each bool) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			if each || n%8 == 6 {
				compared.Add(int64(neverWider(t, inLetters(t, drawn(n), n))))
			}
			if each || n%8 == 4 {
				files := drawn(n)
				if n%3 == 0 {
					files = inTimes(t, files, n)
				}
				files = forAgents(t, files, n)
				if n%5 < 2 {
					files["modec.toml"] = append(files["modec.toml"], "[gateway]\nemit = true\n"...)
				}
				compared.Add(int64(neverWider(t, files)))
			}
			if each || n%8 == 0 {
				compared.Add(int64(neverWider(t, drawn(n))))
			}
			if each || n%8 == 2 {
				files := drawn(n)
				files["modec.toml"] = append([]byte("partial = \"keep\"\n"), files["modec.toml"]...)
				compared.Add(int64(neverWider(t, files)))
			}
			if each || n%4 == 1 {
				files := drawn(n)
				files["modec.toml"] = append(files["modec.toml"], "[gateway]\nemit = true\n"...)
				compared.Add(int64(neverWider(t, files)))
			}
			if each || n%4 == 3 {
				compared.Add(int64(neverWider(t, inTimes(t, drawn(n), n))))
			}
		})
	}
	for n := range count {
		draw(n, false)
	}
	for _, n := range []uint64{
		700470, // a built-in set where the project's unsaid denies the rest
		701694, // everything below the root is denied, and not the root itself
		701579, // a tool that is asked about where unsaid asks about its server
		703953, // a mode that leaves lines to the agent where unsaid denies them
	} {
		draw(n, true)
	}
	for n := range *more {
		draw(*from+n, true)
	}
}

// inTimes returns a source of which some of the allows have times.
func inTimes(t *testing.T, files memfs.FS, n uint64) memfs.FS {
	source := decoded(t, files)
	d := drawer{rand.New(rand.NewPCG(n, 15))}
	var visit func(v any)
	visit = func(v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			list, ok := m[key].([]any)
			if key != "allow" || !ok {
				visit(m[key])
				continue
			}
			for i, item := range list {
				x, regex := item.(map[string]any)
				if d.IntN(2) == 0 {
					continue
				}
				if !regex {
					x = map[string]any{"rule": item}
				}
				x[d.of("from", "until")] = "2026-12-31"
				list[i] = x
			}
		}
	}
	visit(source)
	return encoded(t, files, source)
}

// forAgents returns a source with rules for some of its targets alone.
func forAgents(t *testing.T, files memfs.FS, n uint64) memfs.FS {
	source := decoded(t, files)
	var names []string
	for line := range strings.Lines(string(files["modec.toml"])) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "[targets."); ok {
			names = append(names, strings.TrimSuffix(name, "]"))
		}
	}
	d := drawer{rand.New(rand.NewPCG(n, 31))}
	for _, kind := range []string{"roles", "modes"} {
		subjects, _ := source[kind].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(subjects)) {
			agents := map[string]any{}
			for _, target := range append(names, "model") {
				if own := map[string]any{"can": d.can()}; d.one(2) && target != "thurbox" { // which starts claude
					agents[target] = own
				}
			}
			delete(agents, "kilo")
			if own, ok := agents["opencode"]; ok { // whose file Kilo reads too
				agents["kilo"] = own
			}
			subjects[name].(map[string]any)["agents"] = agents
		}
	}
	return encoded(t, files, source)
}

// TestForAgentsAsWritten holds that a rule for a target alone decides there as it would in can, and nowhere else.
func TestForAgentsAsWritten(t *testing.T) {
	engine := func(files memfs.FS) *policy.Engine {
		res, diags := compiler.Open(t.Context(), compiler.Request{FS: files, Targets: targets.All()})
		if diags.HasErrors() {
			t.Fatalf("%v\n%s", diags, files["modec/a.json"])
		}
		return res.Policy
	}
	count := uint64(200)
	if testing.Short() {
		count = 20
	}
	for n := range count {
		files := forAgents(t, drawn(n), n)
		if n%3 == 0 {
			files = inTimes(t, files, n)
		}
		e := engine(files)
		for _, target := range append(e.Project().Agents(), "") {
			source := decoded(t, files)
			for _, kind := range []string{"roles", "modes"} {
				subjects, _ := source[kind].(map[string]any)
				for _, of := range subjects {
					s := of.(map[string]any)
					agents, _ := s["agents"].(map[string]any)
					if own, ok := agents[target].(map[string]any); ok {
						can, _ := s["can"].(map[string]any)
						s["can"] = asWritten(can, own["can"].(map[string]any))
					}
					delete(s, "agents")
				}
			}
			plain := encoded(t, files, source)
			sameDecisions(t, e.On(target), engine(plain), fmt.Sprintf("%d on %s\n%s", n, target, files["modec/a.json"]))
		}
	}
}

// sameDecisions fails where two engines decide something otherwise.
func sameDecisions(t *testing.T, e, want *policy.Engine, what string) {
	t.Helper()
	for _, ref := range e.Project().Subjects() {
		a, err := e.Subject(ref)
		if err != nil {
			t.Fatal(err)
		}
		b, err := want.Subject(ref)
		if err != nil {
			t.Fatal(err)
		}
		list, err := verify.Universe(want, ref, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range list {
			got, want := a.Decide(w.Action), b.Decide(w.Action)
			named := got.Named() || want.Named() // asWritten puts a bare deny, which names no file, in a table's place
			if got.Decision != want.Decision && !named {
				t.Fatalf("%s: %v is %s by %s, want %s by %s: %s", ref, w.Action, got.Decision, got.Rule, want.Decision,
					want.Rule, what)
			}
		}
	}
}

// asWritten returns what somebody would write in can who means it for one agent alone.
func asWritten(can, own map[string]any) map[string]any {
	out := maps.Clone(can)
	if out == nil {
		out = map[string]any{}
	}
	if web, ok := out["browser"]; ok {
		delete(out, "browser")
		out["web"] = web
	}
	for key, v := range own {
		if key == "browser" {
			key = "web"
		}
		switch was := out[key]; key {
		case "default", "unknown":
			out[key] = v
		case "outside":
			both := map[string]any{}
			for _, x := range []any{was, v} {
				if word, ok := x.(string); ok {
					x = map[string]any{"read": word, "edit": word}
				}
				if m, ok := x.(map[string]any); ok {
					maps.Copy(both, m)
				}
			}
			out[key] = both
		default:
			out[key] = inTable(was, v)
		}
	}
	return out
}

// inTable adds to a group or a server: a word that denies is a rule, any other the decision for the rest.
func inTable(was, is any) any {
	a, table := was.(map[string]any)
	b, added := is.(map[string]any)
	switch {
	case was == nil, is == "deny":
		return is
	case was == "deny":
		return was
	case !table && !added:
		return is
	case !table:
		a = map[string]any{"default": was}
	case !added:
		b = map[string]any{"default": is}
	}
	out := maps.Clone(a)
	for key, v := range b {
		switch list, ok := v.([]any); {
		case ok:
			have, _ := out[key].([]any)
			out[key] = append(append([]any{}, have...), list...)
		case key == "default", key == "resources", key == "prompts":
			out[key] = v
		default: // a server
			out[key] = inTable(out[key], v)
		}
	}
	return out
}

// decoded returns the data of a source.
func decoded(t *testing.T, files memfs.FS) (source map[string]any) {
	t.Helper()
	if err := json.Unmarshal(files["modec/a.json"], &source); err != nil {
		t.Fatal(err)
	}
	return source
}

// encoded returns files with other data.
func encoded(t *testing.T, files memfs.FS, source map[string]any) memfs.FS {
	t.Helper()
	data, err := json.MarshalIndent(source, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return memfs.FS{"modec.toml": slices.Clone(files["modec.toml"]), "modec/a.json": data}
}

// inLetters returns a source with lists that permit in other letters what they, or the guards, hold back, for one more
// target of which patterns tell small letters from capital ones.
func inLetters(t *testing.T, files memfs.FS, n uint64) memfs.FS {
	var source map[string]any
	if err := json.Unmarshal(files["modec/a.json"], &source); err != nil {
		t.Fatal(err)
	}
	d := drawer{rand.New(rand.NewPCG(n, 16))}
	for _, kind := range []string{"roles", "modes"} {
		subjects, _ := source[kind].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(subjects)) {
			can, _ := subjects[name].(map[string]any)["can"].(map[string]any)
			for _, g := range []string{"read", "edit"} {
				list, is := can[g].(map[string]any)
				if !is {
					list = map[string]any{"default": d.of("deny", "ask", "agent")}
					can[g] = list
				}
				add := func(decision string, patterns ...string) {
					have, _ := list[decision].([]any)
					for _, p := range patterns {
						have = append(have, p)
					}
					if len(have) > 0 {
						list[decision] = have
					}
				}
				held := d.some("secret.txt", "keys/**", "k", "*.pem", "src/**/id")
				add(d.of("deny", "deny", "ask"), held...)
				for _, p := range held {
					at := d.IntN(len(p))
					for strings.ContainsAny(p[at:at+1], "*/.") {
						at = d.IntN(len(p))
					}
					end := "?"
					if strings.HasSuffix(p, "*") {
						end = ""
					}
					add("allow", d.of(p[:at]+strings.ToUpper(p[at:at+1])+d.of("*", p[at+1:]), "*"+strings.ToUpper(p[at:]),
						p[:at]+"?"+p[at+1:]+end))
				}
				add("allow", d.some("M*", "*.JSON", "{K,x}*", ".G*", "??")...)
			}
		}
	}
	data, err := json.MarshalIndent(source, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	config := string(files["modec.toml"])
	if target := "[targets." + d.of("opencode", "kilo") + "]\n"; !strings.Contains(config, target) {
		config += target
	}
	for _, name := range []string{"opencode", "kilo"} { // both have one role for every session
		table := "[targets." + name + "]\n"
		config = strings.Replace(config, table+"subject = \"role:r0\"\n", table, 1)
	}
	d = drawer{rand.New(rand.NewPCG(n, 29))}
	if d.one(3) {
		everyone := map[string]any{"can": d.everyone()}
		if d.one(3) {
			everyone["extends"] = []string{"protect"}
		}
		source["everyone"] = everyone
		data, _ = json.MarshalIndent(source, "", " ")
	}
	return memfs.FS{"modec.toml": []byte(config), "modec/a.json": data}
}

// everyone draws a ceiling, which has no allow.
func (d drawer) everyone() map[string]any {
	can := d.can()
	delete(can, "unknown")
	delete(can, "outside")
	withoutAllows(can)
	return can
}

// withoutAllows takes lists of allows out of tables, and every word that allows.
func withoutAllows(of map[string]any) {
	delete(of, "allow")
	for key, v := range of {
		if t, ok := v.(map[string]any); ok {
			withoutAllows(t)
		} else if v == "allow" {
			delete(of, key)
		}
	}
}

// neverWider fails where a project does not build, or an artifact is wider than its source. It
// returns how many decisions were compared.
func neverWider(t *testing.T, files memfs.FS) int {
	t.Helper()
	res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All()})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, files["modec/a.json"])
	}
	report, diags := res.Verify(t.Context(), 1, nil)
	var wider []string
	for _, d := range diags {
		if strings.Contains(d.Message, "not the one of the build") {
			t.Errorf("a hook refuses everything: %v\n%s%s", d, files["modec.toml"], files["modec/a.json"])
		}
		if d.Code == "wider" && d.Pos.File != "" {
			wider = append(wider, d.String())
		}
	}
	if report.Wider() == 0 {
		return report.Decisions
	}
	t.Errorf("%d wider\n%s\n%s%s", report.Wider(), strings.Join(wider[:min(len(wider), 6)], "\n"),
		files["modec.toml"], files["modec/a.json"])
	return report.Decisions
}

// Sources that somebody wrote, and that were wider on some agent.
func TestOrdinarySources(t *testing.T) {
	const mode = `"name": "A", "roleDefinition": "r"`
	for name, source := range map[string]string{
		"a path above the project": `"roles": {"a": {"can": {"edit": {"default": "allow", "deny": ["../infra/**"]},
			"outside": {"edit": "allow", "read": "allow"}, "command": {"allow": ["npm test *"], "default": "deny"}}}}`,
		"reads above the project":      `"roles": {"a": {"can": {"read": {"deny": ["../up/**", "../*.key"]}}}}`,
		"an allow above the project":   `"roles": {"a": {"can": {"edit": {"allow": ["../other/**"]}, "outside": {"edit": "ask"}}}}`,
		"a path below the home folder": `"roles": {"a": {"permissionMode": "bypassPermissions", "can": {"edit": {"deny": ["~/x"]}}}}`,
		"a look-ahead of one's own": `"modes": {"a": {` + mode +
			`, "can": {"edit": {"allow": ["**/x/**"], "deny": ["docs/A*", {"regex": "^(?!Docs).*S$"}]}}}}`,
		"a wrapper with a shell":     `"roles": {"a": {"can": {"edit": "ask", "command": {"default": "ask", "allow": ["watch *"]}}}}`,
		"names that do not begin so": `"modes": {"a": {` + mode + `, "can": {"edit": {"ask": ["[!a]*.txt"]}}}}`,
		"a folder of another spelling": `"roles": {"a": {"can": {"read": {"deny": ["straße/**"]},
			"edit": {"default": "allow", "deny": ["straße/**"]}}}}`,
		"filters beside ask": `"modes": {"a": {` + mode + `, "extends": ["readonly", "readonly_filters"]}}`,
		"filters beside the agent": `"modes": {"a": {` + mode +
			`, "can": {"read": "deny", "command": {"allow": ["@readonly_filters"]}, "default": "agent"}}}`,
		"a mode that asks outside": `"modes": {"a": {` + mode +
			`, "can": {"read": "allow", "outside": {"read": "ask"}}}}, "roles": {"a": {"permissionMode": "plan"}}`,
		"no server":           `"roles": {"a": {"can": {"mcp": "deny"}}}`,
		"no server of a mode": `"modes": {"a": {` + mode + `, "mcpRestrictions": {"allowedServers": []}}}`,
		"one server of a mode": `"servers": {"g": {"command": "g"}}, "modes": {"a": {` + mode +
			`, "can": {"read": "allow", "mcp": {"g": "allow"}, "unknown": "agent"}}}`,
		"a mode that asks beside auto": `"modes": {"a": {` + mode +
			`, "can": {"command": {}, "default": "ask", "unknown": "agent"}}}, "roles": {"a": {"permissionMode": "auto"}}`,
		"a tool whole":             `"roles": {"a": {"allowedTools": ["WebFetch", "Read(//etc/**)"]}}`,
		"a name that is not ASCII": `"roles": {"a": {"can": {"read": {"deny": ["über.md"], "ask": ["Größe/**"]}}}}`,
		"a class of letters":       `"roles": {"a": {"can": {"read": {"deny": ["[a-c]*.txt"]}}}}`,
		"hosts with dashes": `"roles": {"a": {"can": {"web": {"allow": ["-x.com", "X-.com", "*.r3---sn.example.com", "-ü.de"],
			"deny": ["10.0.0.0", "localhost"], "default": "ask"}}}}, "modes": {"a": {` + mode + `, "can": {"web":
			{"default": "allow", "deny": ["-x.com", "10.0.0.0", "-Ü.de"], "ask": ["x-.com"]}}}}`,
		"hosts in other forms": `"roles": {"a": {"can": {"web": {"default": "allow",
			"deny": ["bücher.de", "*.Bücher.de", "127.1", "0x7f.2", "[::1]", "a.example.com."], "ask": ["[0:0::2]"]}}}}`,
		"names that look outside": `"roles": {"a": {"can": {"edit": {"default": "allow", "deny": ["~x", "a:b", "~y/**", "s?c/**"]},
			"read": {"deny": ["~x", "~z/", "[~]v/**"], "ask": ["~u/a"]}}}}`,
		"allows that look outside": `"roles": {"a": {"can": {"edit": {"allow": ["~x", "a:b", "~root/**"], "default": "ask"}}}}`,
		"words at the end": `"roles": {"a": {"can": {"command":
			{"allow": ["git *", "rg *"], "deny": ["* --force *", "* main *"], "default": "ask"}}}}`,
		"above beside a mode that approves": `"roles": {"a": {"permissionMode": "bypassPermissions",
			"can": {"read": {"deny": ["../secret/**"]}}}}`,
		"above beside auto": `"roles": {"a": {"permissionMode": "auto",
			"can": {"read": {"deny": ["../secret/**"], "default": "allow"}, "outside": {"read": "allow"}}}}`,
		"composed letters": `"roles": {"a": {"can": {"read":
			{"deny": ["cafe\u0301/**", "na\u00efve/**", "straße/**"]}}}}`,
		"escapes in a folder": `"roles": {"a": {"can": {"read": {"deny": ["a\\[b/**"], "default": "allow"},
			"edit": {"deny": ["a\\*b/**"], "default": "allow"}}}}`,
		"scripts": `"roles": {"a": {"can": {"command":
			{"allow": ["sh -c *", "eval *", "bash *", "cd docs", "echo $HOME"],
			"default": "ask"}}}}`,
		"odd beginnings": `"roles": {"a": {"can": {"read": {"deny": ["~x", "#h", "p)q", "par(en)/**"]},
			"edit": {"deny": ["#h/**", "~x/**"]}}}}`,
		"asks beside programs that run others": `"roles": {"a": {"can": {"command": {"default": "ask",
			"allow": ["sudo *", "npx *", "doas *", "parallel *", "xargs *"], "ask": ["git push *"]}}}},
			"modes": {"a": {` + mode + `, "can": {"command": {"default": "ask", "allow": ["parallel *"]}}}}`,
		"an ask with a wildcard before an allow's end": `"roles": {"a": {"can": {"command":
			{"allow": ["git push *"], "ask": ["git * main *"], "default": "agent"}}}}`,
		"a home folder that nobody knows": `"roles": {"a": {"can": {"command":
			{"allow": ["timeout 5 *", "echo $HOME"], "deny": ["* x:y*"]}}}}`,
		"edits outside without the hook": `"roles": {"a": {"can": {"default": "deny", "edit": "allow", "outside": "allow"}}}`,
		"two folders above":              `"roles": {"a": {"can": {"outside": "allow", "read": {"deny": ["../../secrets/**"]}}}}`,
		"a shell behind a wrapper": `"roles": {"a": {"permissionMode": "bypassPermissions", "can": {"command":
			{"allow": ["*", "bash *"], "deny": ["ls *"]}}}}`,
		"a sign behind a backslash": `"roles": {"a": {"can": {"read": "allow", "edit": {"deny": [".env"]}, "command":
			{"allow": ["watch *", "su *", "script *", "parallel *", "npx *", "nix-shell *", "mise *", "eval *"],
			"default": "allow"}}}}`,
		"two wildcards at the end": `"roles": {"a": {"can": {"command":
			{"allow": ["git -c * *", "make * *", "npm *  *"], "deny": ["curl * *"], "default": "agent"}}}}`,
		"a mode of somebody else's": `"roles": {"a": {"can": {"modes": {"default": "ask", "deny": ["architect", "code"]}}}}`,
		"half a program":            `"roles": {"a": {"can": {"command": {"allow": ["push*"], "ask": ["make"], "default": "ask"}}}}`,
		"everything below in a mode": `"modes": {"a": {` + mode +
			`, "can": {"read": {"default": "allow", "deny": ["/**"]}}}}`,
		"everything below": `"roles": {"a": {"can": {"read": {"deny": ["/**"]}}}}`,
		"an address":       `"roles": {"a": {"can": {"web": {"ask": ["10.0.0.1"], "default": "allow"}}}}`,
		"an ask of a tool that an allow's wildcard names": `"servers": {"d": {"command": "d", "tools": {"get": {}}}},
			"roles": {"a": {"can": {"mcp": {"d": {"allow": ["g*"], "ask": ["get"], "default": "agent"}}}}}`,
		"all tools of a server but one without the hook": `"servers": {"d": {"type": "external", "tools": {"x": {}}}},
			"modes": {"a": {` + mode + `, "can": {"mcp": {"d": {"default": "allow", "deny": ["x"]}}}}}`,
		"a tool whole beside unsaid": `"servers": {"d": {"command": "d", "tools": {"get": {}}}}, "roles": {"a":
			{"permissionMode": "acceptEdits", "allowedTools": ["WebFetch"], "can": {"mcp": {"d": "ask"}}}}`,
		"capitals": `"roles": {"a": {"can": {"edit": {"allow": ["S*", "K?*"], "deny": ["secret.txt"], "default": "deny"},
			"read": {"allow": ["M*", "??"], "deny": ["k"], "ask": ["main.go"], "default": "deny"}}}},
			"modes": {"a": {` + mode + `, "can": {"edit": {"allow": ["*.JSON"], "ask": ["a.json"], "default": "ask"}}}}`,
		"a character that nobody sees": `"modes": {"a": {` + mode + `, "can": {"read": {"ask": ["??"], "default": "deny"}}}},
			"roles": {"a": {"can": {"read": {"ask": ["s?"], "allow": ["??", "a*"], "deny": ["k", "é*"], "default": "deny"}}}}`,
		"no mode": `"roles": {"a": {"can": {"modes": "deny"}}}`,
		"forms of a host": `"roles": {"a": {"can": {"web":
			{"deny": ["bücher.de", "127.1", "[::1]"], "default": "allow"}}}}`,
		"a wrapper": `"roles": {"a": {"can": {"command":
			{"allow": ["true"], "ask": ["timeout *"], "default": "ask"}}}}`,
		"a tool more beside auto": `"servers": {"d": {"command": "d", "tools": {"get": {"risk": "read"}}}}, "roles": {"a":
			{"permissionMode": "auto", "can": {"mcp": {"*": {"allow": ["@read"]}, "d": "ask"}}}}`,
		"a ceiling of a mode beside auto": `"modes": {"a": {` + mode + `, "can": {"read": "agent",
			"outside": {"read": "deny"}}}}, "roles": {"a": {"permissionMode": "auto"}}`,
		"an end like one of commands": `"roles": {"a": {"can": {"read": {"deny": ["*:*", "x:*"]},
			"edit": {"default": "allow", "deny": ["docs/a:*"]}}}}`,
		"an allow above where the rest is the agent's": `"roles": {"a": {"can":
			{"edit": {"allow": ["../a/b", "*.md"]}, "outside": "agent"}}}`,
		"drives": `"roles": {"a": {"can": {"read": {"deny": ["C:/x/**", "/a:/"], "ask": ["\\[a"]},
			"edit": {"allow": ["*:*"], "deny": ["/a:/"]}}}}`,
		"lines that the shell expands": `"roles": {"a": {"permissionMode": "bypassPermissions",
			"can": {"command": {"deny": ["echo \"$HOME\"", "ls $X"]}}}}`,
		"folders below a folder": `"roles": {"a": {"permissionMode": "bypassPermissions",
			"can": {"default": "allow", "read": {"ask": ["a b/**/", "$HOME/**/", "x/**/**"]}}}}`,
		"words that zsh may replace": `"roles": {"a": {"permissionMode": "auto",
			"can": {"command": {"default": "agent", "deny": ["a*b sudo HEAD^ push", "* --force *"]}}}}`,
		"allows beside an allow": `"modes": {"m": {"name": "M", "roleDefinition": "x", "can": {"command":
			{"default": "allow", "allow": ["git *"]}}}}, "roles": {"a": {"permissionMode": "bypassPermissions",
			"modes": ["m"], "can": {"command": "allow"}}}`,
		"a program with a space in its name": `"roles": {"a": {"permissionMode": "dontAsk",
			"can": {"command": {"allow": ["*push*"], "deny": ["git push *"]}}}}`,
		"parentheses": `"roles": {"a": {"can": {"read": {"ask": ["par(en)/**", "p)q"]}}}}`,
		"drives without the hook": `"roles": {"a": {"permissionMode": "bypassPermissions",
			"can": {"edit": {"deny": ["/a:/b/*"]}}}}`,
		"commas in a flag": `"roles": {"a": {"can": {"read": {"deny": ["x/x,y/", "[a,b]c"]},
			"command": {"deny": ["git log a,b"]}}}}`,
		"a wrapper behind its folder": `"roles": {"a": {"permissionMode": "bypassPermissions",
			"can": {"command": {"deny": ["timeout 5 *", "sudo *"]}}}}`,
		"a filter in a mode that Cursor lacks": `"roles": {"a": {"permissionMode": "dontAsk",
			"can": {"command": {"allow": ["@readonly_filters"], "default": "ask"}}}}`,
		"a program that adds arguments": `"roles": {"a": {"can": {"command":
			{"allow": ["xargs *"], "ask": ["* --force"]}}}}`,
		"a folder called as home": `"roles": {"a": {"permissionMode": "bypassPermissions",
			"can": {"read": {"deny": ["**/~/x/**"]}}}}`,
		"a folder of the home folder": `"roles": {"a": {"permissionMode": "bypassPermissions", "can": {"read":
			{"ask": ["~/\\\\*x/", "~/.y/"]}}}}`,
		"folders that end like a command": `"roles": {"a": {"permissionMode": "acceptEdits", "can": {
			"edit": {"default": "allow", "ask": ["a:*/**"]}, "read": {"deny": ["~/y:*/", "q?:*/"]}}}}`,
		"a list of hosts beside an allow": `"roles": {"a": {"can": {"default": "allow", "web": {"allow": ["a.example.com"]}}}},
			"modes": {"a": {` + mode + `, "can": {"default": "allow", "web": {"allow": ["*.de"]}}}}`,
		"most names held back": `"roles": {"a": {"can": {"edit": {"default": "agent", "allow": ["m*/**"],
			"deny": ["**/[!a]*"]}}}}`,
		"a server without a list of tools": `"servers": {"l": {"command": "l", "tools": {"get": {}}}, "n": {"command": "n"}},
			"roles": {"a": {"can": {"mcp": {"*": {"default": "deny", "ask": ["*tool"]}, "l": {"ask": ["??*"]}}}}}`,
		"tools denied of a server without a list": `"servers": {"n": {"command": "n"}},
			"roles": {"a": {"can": {"mcp": {"n": {"default": "agent", "deny": ["*d", "m?"]}}}}}`,
		"every name allowed, and no resource": `"servers": {"s": {"command": "s", "tools": {"get": {}}}},
			"modes": {"a": {` + mode + `, "can": {"mcp": {"s": {"default": "deny", "allow": ["?", "??*"]}}}}}`,
		"tools denied by a sign that an agent replaces": `"servers": {"n": {"command": "n"}},
			"roles": {"a": {"can": {"mcp": {"n": {"default": "ask", "deny": ["get.a*", "*.*"]}}}}}`,
		"one server that is asked about": `"servers": {"n": {"command": "n", "tools": {"get": {}}}},
			"roles": {"a": {"can": {"mcp": {"n": "ask"}}}}`,
		"tools of a server without a list by their names": `"servers": {"n": {"command": "n"}}, "roles": {"a": {"can": {"mcp":
			{"n": {"default": "deny", "allow": ["get", "l_*", "*u*"], "ask": ["put", "a_*", "get_x", "l_.."],
			"deny": ["l_x*", "*d"]}}}}},
			"modes": {"a": {` + mode + `, "can": {"mcp":
			{"n": {"allow": ["get", "l_*"], "ask": ["put"], "deny": ["l_x"]}}}}}`,
		"alternatives without a slash": `"roles": {"a": {"can": {"read": {"allow": ["pkg/{,x}", "p{/,x}z"],
			"deny": ["dd/{,x}", "a{,/b}"], "default": "ask"}, "edit": {"allow": ["q{,/*.md}", "../{,x}"], "default": "deny"}}}},
			"modes": {"a": {` + mode + `, "can": {"read": {"allow": ["pkg/{,x}"], "ask": ["p{/,x}z", "~/{,x}"]}}}}`,
		"modes of other names": `"modes": {"1": {` + mode + `}, "B": {` + mode + `}, "m": {` + mode + `, "can": {"modes":
			{"default": "deny", "allow": ["1", "B"]}}}}, "roles": {"a": {"can": {"modes": {"ask": ["1"], "deny": ["B"]}}},
			"b": {"can": {"modes": {"ask": ["B"], "deny": ["1"], "default": "allow"}}}}`,
		"dots of expressions": `"modes": {"a": {` + mode + `, "can": {"read": {"ask": [{"regex": "^.*\\.md$"}],
			"allow": [{"regex": "^docs/.*$"}]}, "edit": {"allow": [{"regex": "^.+\\.md$"}], "ask": [{"regex": "^a.b$"}]}}}},
			"roles": {"a": {"can": {"read": {"allow": [{"regex": "^(src|lib)/.*\\.ts$"}],
			"deny": [{"regex": "^x.*y$"}], "default": "ask"}, "edit": {"ask": [{"regex": "^.*$"}], "default": "deny"}}}}`,
		"names that a folder outside may have": `"roles": {"a": {"can": {"outside": "allow", "read": {"ask": ["?", "**/??"],
			"default": "allow"}, "edit": {"deny": ["~*", ".*", "[~.]x/**"], "default": "allow"}}}},
			"modes": {"a": {` + mode + `, "can": {"outside": "allow", "read": {"deny": ["**/?/x"], "default": "allow"}}}}`,
		"resources alone": `"servers": {"n": {"command": "n", "tools": {"get": {}}}},
			"roles": {"a": {"can": {"mcp": {"n": {"default": "agent", "resources": "deny"}}}}}`,
		"prompts alone": `"servers": {"n": {"command": "n", "tools": {"get": {}}}},
			"roles": {"a": {"can": {"mcp": {"n": {"default": "agent", "prompts": "deny"}}}}}`,
		"letters that names of nothing have": `"servers": {"s": {"command": "s", "tools": {"get": {}}}, "m": {"command": "m"}},
			"roles": {"a": {"can": {"mcp": {"*": {"default": "deny", "allow": ["*e*", "m*"]}, "m": {"default": "ask",
			"allow": ["*-*"]}}, "read": {"default": "deny", "ask": ["**/*e*"]}, "default": "ask"}}}`,
		"letters that no path outside has": `"roles": {"a": {"can": {"read": {"allow": ["[!a]*", "*e*"], "default": "deny"},
			"outside": {"edit": "allow"}}}}`,
		"an ask that names paths outside": `"roles": {"a": {"can": {"edit": {"default": "allow", "ask": ["**/*e*"]},
			"read": {"default": "allow", "deny": ["**/x*"]}, "outside": "allow"}}}`,
		"tools of one letter": `"servers": {"m": {"command": "m"}}, "roles": {"a": {"can": {"mcp":
			{"m": {"default": "agent", "allow": ["x*"], "deny": ["??*", "*o"]}}}}}`,
		"letters of commands that nothing names": `"roles": {"a": {"modes": ["a"], "can": {"edit": {"deny": ["*d"]}}}},
			"modes": {"a": {` + mode + `, "can": {"command": {"default": "agent", "allow": ["*e*"]}}}}`,
		"a subagent without some tools of a server": `"servers": {"s": {"command": "s", "tools": {"get": {}, "a-b": {}}}},
			"roles": {"a": {"permissionMode": "bypassPermissions", "modes": ["a"], "can": {"mcp": "allow"}}},
			"modes": {"a": {` + mode + `, "can": {"mcp": {"s": {"default": "agent", "deny": ["*-*"]}}}}}`,
		"the folder above all others": `"roles": {"a": {"can": {"read": {"default": "allow", "ask": ["/**"]},
			"outside": {"read": "allow"}}}}`,
		"the folder above all others beside a mode that approves": `"roles": {"a": {"permissionMode": "auto", "can":
			{"read": {"default": "allow", "deny": ["/**"]}, "outside": {"read": "agent"}}}, "b": {"permissionMode":
			"bypassPermissions", "can": {"read": {"default": "allow", "ask": ["/**"]}, "outside": {"read": "allow"}}}}`,
		"one below the home folder, with all in it": `"roles": {"a": {"can": {"edit": {"default": "allow", "deny": ["~/.ssh/**"]},
			"outside": {"edit": "allow"}}}}`,
		"wildcards that begin outside": `"roles": {"a": {"can": {"edit": {"default": "allow", "deny": ["/*/x"]},
			"read": {"default": "allow", "ask": ["*/e*"]}, "outside": "allow"}}}`,
		"a filter beside every command": `"roles": {"a": {"can": {"command": {"allow": ["@readonly_filters", "*"]}}}}`,
	} {
		for _, hooks := range []string{"enforce", "off"} {
			for _, inventory := range []string{"open", "closed"} {
				if testing.Short() && (inventory == "open") != (hooks == "off") {
					continue // two of the four
				}
				t.Run(name+" "+inventory+" "+hooks, func(t *testing.T) {
					t.Parallel()
					subject := "role:a"
					if !strings.Contains(source, `"roles"`) {
						subject = "mode:a"
					}
					config := fmt.Sprintf("inventory = %q\nhooks = %q\n", inventory, hooks)
					for _, name := range []string{"gemini", "kilo", "roo", "zoo", "thurbox"} {
						config += fmt.Sprintf("[targets.%s]\n", name)
					}
					for _, name := range []string{"claude", "codex", "copilot", "opencode", "cursor"} {
						config += fmt.Sprintf("[targets.%s]\n", name)
					}
					config += fmt.Sprintf("subject = %q\n", subject) // of Cursor
					if subject == "role:a" {
						config += "[targets.vscode]\nsubject = \"role:a\"\n"
					}
					neverWider(t, memfs.FS{"modec/a.json": []byte("{" + source + "}"), "modec.toml": []byte(config)})
				})
			}
		}
	}
}

// TestToolsOfEveryServer denies tools of servers that nobody lists, for targets that name no server there.
func TestToolsOfEveryServer(t *testing.T) {
	const server = `{"servers": {"n": {"command": "n", "tools": {"get": {}}}}, `
	for _, can := range []string{
		`{"mcp": {"*": {"default": "agent", "deny": ["x*", "?o"]}}}`,
		`{"mcp": {"*": {"default": "ask", "deny": ["x*"]}}}`,
		`{"mcp": {"**": {"default": "deny", "ask": ["*"], "deny": ["x.?"]}}}`,
		`{"mcp": {"*": {"default": "deny", "allow": ["Get*"], "deny": ["*-all", "s-*"]}}}`,
		`{"mcp": {"m*": "agent", "*-*": "ask"}, "default": "deny"}`,
	} {
		for _, hooks := range []string{"enforce", "off"} {
			config := "inventory = \"open\"\n[targets.roo]\ndialect = \"mcp-restrictions\"\n[targets.zoo]\n" +
				"[targets.gemini]\n[targets.opencode]\n[targets.kilo]\n"
			modes := server + `"modes": {"a": {"name": "A", "roleDefinition": "r", "can": ` + can + `}}}`
			neverWider(t, memfs.FS{"modec/a.json": []byte(modes), "modec.toml": []byte(config)})
			config = fmt.Sprintf("hooks = %q\n", hooks) +
				"inventory = \"open\"\nbaseline = \"a\"\n[targets.gemini]\n[targets.opencode]\n[targets.kilo]\n"
			for _, name := range []string{"claude", "codex", "copilot", "cursor"} {
				config += fmt.Sprintf("[targets.%s]\n", name)
			}
			config += "[targets.thurbox]\n"
			roles := server + `"roles": {"a": {"can": ` + can + `}}}`
			neverWider(t, memfs.FS{"modec/a.json": []byte(roles), "modec.toml": []byte(config)})
		}
	}
}

// Agents have names of tools in fewer letters: an allow of one tool stays, one of a pattern does not.
func TestToolsOfOneName(t *testing.T) {
	for _, c := range []struct {
		mode, role string
		listed     bool // tools are, put.x too
	}{
		{`{"default": "ask"}`, `{"default": "ask", "allow": ["put.x", "put.y", "*.z"]}`, false},
		{`{"default": "agent"}`, `{"default": "agent", "allow": ["put.x", "*.z"], "ask": ["get", "?o*"]}`, false},
		{`{"default": "agent"}`, `{"default": "deny", "allow": ["put.x"]}`, false},
		{`{"default": "ask", "deny": ["*_*"]}`, `{"default": "ask", "allow": ["put.x"], "deny": ["get*"]}`, false},
		{`{"default": "deny", "allow": ["put.x"]}`, `{"default": "allow", "deny": ["*_x"]}`, false},
		{`{"default": "ask", "allow": ["put.x"]}`, `{"default": "allow", "ask": ["put_x"]}`, false},
		{`{"default": "ask"}`, `{"default": "deny", "allow": ["put-x.y", "get-all"], "ask": ["put.z"]}`, false},
		{`{"default": "ask"}`, `{"default": "ask", "allow": ["put-x"], "deny": ["put.*"]}`, false},
		{`{"default": "ask"}`, `{"default": "ask", "allow": ["put.x"]}`, true},
		{`{"default": "ask", "deny": ["*-x"]}`, `{"default": "deny", "allow": ["put.x"], "ask": ["get"]}`, true},
	} {
		for _, key := range []string{"m", "*"} {
			tools := ""
			if c.listed {
				tools = `, "tools": {"put.x": {}, "get": {}}`
			}
			source := fmt.Sprintf(`{"servers": {"m": {"command": "m"%s}},
				"modes": {"a": {"name": "A", "roleDefinition": "r", "can": {"mcp": {%q: %s}}}},
				"roles": {"a": {"can": {"mcp": {%[2]q: %[4]s}}, "modes": ["a"]}}}`, tools, key, c.mode, c.role)
			for _, hooks := range []string{"enforce", "off"} {
				for _, inventory := range []string{"open", "closed"} {
					config := fmt.Sprintf("hooks = %q\ninventory = %q\nbaseline = \"a\"\n[targets.thurbox]\n", hooks, inventory)
					for _, name := range []string{"claude", "codex", "copilot"} {
						config += fmt.Sprintf("[targets.%s]\n", name)
					}
					neverWider(t, memfs.FS{"modec/a.json": []byte(source), "modec.toml": []byte(config)})
				}
			}
		}
	}
}

// Kilo reads what is written for opencode, too: both have one role for every session.
func TestSubjectOfKilo(t *testing.T) {
	const source = `{"servers": {"s": {"command": "s"}}, "modes": {"a": {"name": "A", "roleDefinition": "r",
		"can": {"default": "agent"}}}, "roles": {"r": {"can": {"mcp": {"default": "ask"}, "web": {"default": "deny"}}},
		"q": {"can": {"default": "allow"}}}}`
	table := func(target, subject string) string {
		if subject != "" {
			subject = "subject = \"" + subject + "\"\n"
		}
		return "[targets." + target + "]\n" + subject
	}
	roles := []string{"", "r", "q"}
	for _, baseline := range roles {
		for _, kilo := range roles {
			for _, opencode := range roles {
				config := table("kilo", kilo) + table("opencode", opencode)
				if baseline != "" {
					config = "baseline = \"" + baseline + "\"\n" + config
				}
				files := memfs.FS{"modec/a.json": []byte(source), "modec.toml": []byte(config)}
				if cmp.Or(kilo, baseline) == cmp.Or(opencode, baseline) {
					neverWider(t, files)
					continue
				}
				besideOpencode(t, files, config)
			}
		}
	}
}

// besideOpencode fails where a source is compiled that Kilo would decide by what is written for opencode.
func besideOpencode(t *testing.T, files memfs.FS, name string) {
	t.Helper()
	_, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All()})
	if !strings.Contains(fmt.Sprint(diags), "[kilo-beside-opencode]") {
		t.Errorf("%s: got %v", name, diags)
	}
}

// What opencode has by the name of an agent of Kilo's own would be that agent.
func TestNamesOfKilo(t *testing.T) {
	for _, slug := range []string{"build", "code", "explore", "general", "plan", "summary"} {
		for _, as := range []string{"", `"as": "other", `} {
			files := memfs.FS{"modec.toml": []byte("[targets.kilo]\n[targets.opencode]\n"), "modec/a.json": fmt.Appendf(nil,
				`{"modes": {%q: {%s"name": "A", "roleDefinition": "r", "can": {"mcp": "ask", "default": "agent"}}}}`, slug, as)}
			if as != "" || slug != "plan" && slug != "explore" {
				neverWider(t, files)
				continue
			}
			besideOpencode(t, files, slug)
		}
	}
}

// The file of Kilo is read behind that of opencode, or there is none of opencode.
func TestFileOfKilo(t *testing.T) {
	const source = `{"modes": {"a": {"name": "A", "roleDefinition": "r", "can": {"mcp": "ask", "default": "agent"}}}}`
	for _, file := range []string{"kilo.json", "kilo.jsonc", ".kilo/kilo.jsonc", ".kilocode/kilo.json"} {
		for _, beside := range []string{"", "[targets.opencode]\n"} {
			files := memfs.FS{"modec/a.json": []byte(source),
				"modec.toml": fmt.Appendf(nil, "[targets.kilo]\nfile = %q\n%s", file, beside)}
			if beside == "" || strings.Contains(file, "/") {
				neverWider(t, files)
				continue
			}
			besideOpencode(t, files, file)
		}
	}
}

// drawn returns a small project: the same one for the same number.
func drawn(n uint64) memfs.FS {
	d := drawer{rand.New(rand.NewPCG(n, 14))}
	source := map[string]any{"servers": map[string]any{
		"docs": d.either(
			map[string]any{"command": "d", "args": []string{"--port", "1"}, "tools": d.tools("get", "put", "get.all")},
			map[string]any{"url": "https://d.example.com/mcp", "tools": d.tools("get", "put")}),
		"admin": map[string]any{"url": "https://a.example.com/mcp", "type": d.of("http", "sse"),
			"defaultEnabled": false, "tools": map[string]any{"drop": map[string]any{"risk": "destructive"}}},
		"own_srv": map[string]any{"type": "external", "tools": map[string]any{"x": map[string]any{}}},
	}}
	roles, modes, policies := map[string]any{}, map[string]any{}, map[string]any{}
	for i := range d.IntN(3) {
		modes[fmt.Sprintf("m%d", i)] = d.mode()
	}
	for i := range d.IntN(3) {
		roles[fmt.Sprintf("r%d", i)] = d.role(len(modes))
	}
	if len(roles)+len(modes) == 0 {
		roles["r0"] = d.role(0)
	}
	policies["p"] = map[string]any{"can": d.can()}
	source["roles"], source["modes"], source["policies"] = roles, modes, policies
	data, err := json.MarshalIndent(source, "", " ")
	if err != nil {
		panic(err)
	}
	config := d.config(roles, modes)
	d = drawer{rand.New(rand.NewPCG(n, 19))} // what is drawn before stays the same
	both := strings.Contains(config, "[targets.opencode]") && strings.Contains(config, "[targets.kilo]")
	for _, target := range []string{"gemini", "kilo", "opencode"} {
		table := "[targets." + target + "]\n"
		if len(roles) > 0 && d.one(2) && (target == "gemini" || !both) {
			config = strings.Replace(config, table, table+"subject = \"role:r0\"\n", 1)
		}
	}
	d = drawer{rand.New(rand.NewPCG(n, 23))}
	if d.one(2) && strings.Contains(config, "[targets.opencode]") && !strings.HasPrefix(config, "hooks") {
		config = "hooks = \"enforce\"\n" + config
	}
	return memfs.FS{"modec.toml": []byte(config), "modec/a.json": data}
}

// config draws modec.toml: one or two targets with their options.
func (d drawer) config(roles, modes map[string]any) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if len(roles) > 0 && d.one(2) {
		line("baseline = %q", "r0")
	}
	if d.one(6) {
		line("unsaid = %q", d.of("ask", "deny"))
	}
	if d.one(3) {
		line("inventory = \"open\"")
	}
	state := ""
	hooks := func() { state = fmt.Sprintf("hooks = %q\n", d.of("enforce", "off", "enforce", "enforce", "off")) }
	targets := []string{"claude", "cursor", "roo", "zoo", "mcpnest", "thurbox", "gemini", "codex", "copilot", "opencode",
		"kilo"}
	d.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	for _, target := range targets[:1+d.IntN(2)] {
		line("[targets.%s]", target)
		switch target {
		case "claude", "codex", "copilot":
			hooks()
		case "cursor":
			hooks()
			switch {
			case len(modes) > 0 && d.one(3):
				line(`subject = "mode:m0"`)
			case len(roles) > 0 && d.one(2):
				line(`subject = "role:r0"`)
			}
			line("aliases = %t", d.one(3))
			line("mcpToolsProtection = %t", d.one(6))
			if d.one(8) {
				line(`mcpToolAllowlist = ["docs:get", "*:drop"]`)
			}
		case "roo":
			line("dialect = %q", d.of("stock", "mcp-restrictions"))
			line("builtins = %q", d.of("keep", "shadow"))
		case "mcpnest":
			line("version = %s", d.of("1", "2"))
			if d.one(3) {
				line("unheld_ask = %q", d.of("permit", "deny"))
			}
		}
	}
	if len(roles) > 0 && d.one(4) { // last: what is drawn before stays the same
		line("[targets.vscode]\nsubject = %q", "r0")
	}
	return state + b.String()
}

type drawer struct{ *rand.Rand }

// one reports true once in n times.
func (d drawer) one(n int) bool { return d.IntN(n) == 0 }

func (d drawer) of(words ...string) string { return words[d.IntN(len(words))] }

func (d drawer) either(values ...any) any { return values[d.IntN(len(values))] }

func (d drawer) decision() string { return d.of("deny", "ask", "allow", "agent") }

// some draws a part of a list, in any order.
func (d drawer) some(list ...string) []string {
	out := slices.Clone(list)
	d.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:d.IntN(len(out)+1)]
}

// tools draws the risks of a server's tools.
func (d drawer) tools(names ...string) map[string]any {
	tools := map[string]any{}
	for _, name := range names {
		tools[name] = d.either(map[string]any{}, map[string]any{"risk": "read"}, map[string]any{"risk": "write"},
			map[string]any{"risk": "destructive"})
	}
	return tools
}

func (d drawer) role(modes int) map[string]any {
	role := map[string]any{"can": d.can()}
	if d.one(3) {
		role["permissionMode"] = d.of("default", "plan", "acceptEdits", "dontAsk", "auto", "bypassPermissions")
	}
	if modes > 0 && d.one(4) {
		role["modes"] = d.either([]string{"m0"}, []string{})
	}
	if d.one(5) {
		role["extends"] = d.some("readonly", "git_read", "readonly_filters", "p")
	}
	if d.one(6) {
		role["claims"] = map[string]any{"roles": d.either("dev", []string{"dev", "ops"})}
	}
	if d.one(6) {
		role["allowedTools"] = d.some("Read", "Grep", "WebFetch", "Bash(git:*)", "Bash(npm run *)", "Edit(src/**)",
			"Read(//etc/**)", "WebFetch(domain:a.example.com)", "mcp__docs__get", "WebSearch")
	}
	if d.one(6) {
		role["disallowedTools"] = d.some("Write", "NotebookEdit", "Bash(rm:*)", "Read(.env*)", "Agent(Explore)",
			"Edit(docs/**)", "mcp__admin", "WebSearch", "Skill")
	}
	if d.one(8) {
		role["tools"] = d.some("Read", "Edit", "Bash", "WebFetch")
	}
	return role
}

func (d drawer) mode() map[string]any {
	mode := map[string]any{"name": "M", "roleDefinition": "x", "can": d.can()}
	if d.one(6) {
		mode["extends"] = d.some("readonly", "git_read", "p")
	}
	if !d.one(4) {
		return mode
	}
	limits := map[string]any{}
	servers := []string{"docs", "admin", "own_srv", "do*"}
	d.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	if d.one(2) {
		limits["allowedServers"] = servers[:2]
	}
	if d.one(3) {
		limits["disallowedServers"] = servers[2:3]
	}
	if d.one(3) {
		limits["allowedTools"] = []any{map[string]any{"serverName": d.of("docs", "*"), "toolName": d.of("get", "*")}}
	}
	if d.one(3) {
		limits["disallowedTools"] = []any{map[string]any{"serverName": d.of("docs", "d*"), "toolName": d.of("put", "p*")}}
	}
	if len(limits) > 0 {
		mode["mcpRestrictions"] = limits
	}
	return mode
}

// table draws a group: nothing, a word, or lists of patterns.
func (d drawer) table(set func(any), patterns ...any) {
	switch d.IntN(5) {
	case 0, 1:
		return
	case 2:
		set(d.decision())
		return
	}
	t := map[string]any{}
	left := slices.Clone(patterns)
	d.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	for _, list := range []string{"allow", "ask", "deny"} {
		if n := d.IntN(3); n > 0 && len(left) >= n && d.one(2) {
			drawn := slices.Clone(left[:n])
			if left = left[n:]; list != "allow" { // a source that holds what no command is does not load
				drawn = slices.DeleteFunc(drawn, func(p any) bool {
					text, ok := p.(string)
					return ok && slices.Contains(oddCommands, any(text)) && policy.CheckRestriction(text) != nil
				})
			}
			t[list] = drawn
		}
	}
	if d.one(2) {
		t["default"] = d.decision()
	}
	if len(t) > 0 {
		set(t)
	}
}

// Patterns that agents read in another way than the source means them, in lists where one may
// stand beside another.
var (
	oddPaths = []any{"../secret/**", "../*.key", "cafe\u0301/**", "naïve/**", "straße/**", "STRASSE.md", "ſecret.md",
		"ﬁle.txt", "\u212aey/**", "ｅnv", "a\\[b/**", "a\\*b/**", "a\\?b",
		"~x", "~x/**", "#h", "#h/**", "docs/#h/**", "/**",
		"p)q", "par(en)/**", "a:b", "a b/**", "x,y", "[!a]*.txt", "*/", "~/y", "docs/**/k"}
	oddCommands = []any{"* --force *", "* main *", "* push *", "*push*", "* x *", "rg *", "git -C * log",
		"git * main *",
		"sh -c *", "bash *", "eval *", "cd docs", "cd *", "echo $HOME", "echo \"$HOME\"", "timeout *", "timeout 5 *",
		"time *", "nice *", "nohup *", "stdbuf *", "command *", "builtin *", "env *", "sudo *", "xargs *", "exec *",
		"FOO=1 *", "! *", "true", "test *", "[ *", "source *", ". *", "if *", "ls > x", "ls && make", "echo {a,b}",
		"echo a\\*b", "ls ~", "git commit -m *", "find * -exec *", "/bin/ls *", "./run *", "make  *", "echo 'a  b'",
		"p(q) *", "git push, *"}
	oddHosts = []any{"bücher.de", "*.bücher.de", "xn--bcher-kva.de", "127.1", "0x7f.1", "[::1]", "a.example.com.",
		"-x.com", "*.x-.com", "R3---sn.example.com", "10.0.0.0", "localhost", "*.com", "evil.com", "A.Example.COM", "169.254.169.254"}
)

// Parts of a glob. Any of them may follow any other.
var (
	globNames = []string{"a", "src", ".env", "x.md", "é", "A", "~", "#", "!", "a b", "a:", "a,b", "(p)", ".", "..",
		"\\[", "\\*", "C:", "@a", "$HOME", "%41", "'q'", "-"}
	globMarks = []string{"*", "**", "?", "[ab]", "[!a]", "[^a-c]", "[:]", "{a,b}", "{x,y*}", "a{,b}", "a/{,b}"}
)

// globs returns patterns made of any parts. A pattern that a source may not have is left out.
func (d drawer) globs(n int) []any {
	var out []any
	for len(out) < n {
		names := make([]string, 1+d.IntN(3))
		for i := range names {
			for range 1 + d.IntN(2) {
				if d.one(3) {
					names[i] += d.of(globMarks...)
				} else {
					names[i] += d.of(globNames...)
				}
			}
		}
		glob := d.of("", "", "", "/", "**/", "~/", "./", "../") + strings.Join(names, "/") +
			d.of("", "", "", "/", "/*", "/**", "*", ":*")
		if !slices.Contains(out, any(glob)) && policy.CheckGlob(glob) == nil {
			out = append(out, glob)
		}
	}
	return out
}

// Words of a command. Any of them may follow any other.
var commandWords = []string{"git", "npm", "sudo", "npx", "xargs", "parallel", "ls", "rm", "cat", "sh", "make", "find", "docker", "push", "run", "log", "x",
	"-rf", "--force", "-C", "-c", "--output=x", "a=b", "FOO=1", "./x", "/bin/ls", "../x", "~/x", ".env", "src/x.go",
	"'a b'", "\"a b\"", "'*'", "\"$X\"", "$X", "\\*", "\\$", "a\\ b", "{a,b}", "[ab]", "?", "a?", "!", "#x", "@f", "%", "+x",
	"é", "*", "x*", "*x", "a*b", "**", "-*", "--*=x", "HEAD~1", "HEAD^", ":x", "x:y", "a,b", "--", "-", "=", "1"}

// commands returns patterns made of any words, of which a source may have each in every list.
func (d drawer) commands(n int) []any {
	var out []any
	for len(out) < n {
		words := make([]string, 1+d.IntN(4))
		for i := range words {
			words[i] = d.of(commandWords...)
		}
		text := strings.Join(words, " ") + d.of("", "", " *", ":*", "*")
		if !slices.Contains(out, any(text)) && policy.CheckRestriction(text) == nil {
			out = append(out, text)
		}
	}
	return out
}

// words returns common patterns with some odd ones among them.
func (d drawer) words(n int, common, odd []any) []any {
	out := slices.Clone(common)
	for range n {
		if w := odd[d.IntN(len(odd))]; !slices.Contains(out[len(common):], w) {
			out = append(out, w)
		}
	}
	return out
}

func (d drawer) can() map[string]any {
	can := map[string]any{}
	to := func(key string) func(any) { return func(v any) { can[key] = v } }
	regex := map[string]string{"regex": d.of(`\.test\.ts$`, `^src/.*\.go$`, `secret|key`)}
	d.table(to("read"), d.words(8, []any{"docs/**", ".env", ".env*", "src/", "*.pem", "secret", "**", "a/*/b",
		"{x,y}.md", "/top.txt", regex}, slices.Concat(oddPaths, d.globs(16)))...)
	d.table(to("edit"), d.words(8, []any{"docs/**", ".env", "src/", "*.md", "**/*.go", "/README.md", "**",
		"[a-c]*.txt", "modec/x", regex}, slices.Concat(oddPaths, d.globs(16)))...)
	d.table(to("command"), d.words(10, []any{"npm test *", "git push *", "ls", "ls *", "ls:*", "find:*", "echo *",
		"git *", "* --force", "docker *", "make", "@git_read", "@readonly_filters", "rm -rf *", "*"},
		slices.Concat(oddCommands, d.commands(30)))...)
	d.table(to(d.of("web", "web", "web", "browser")), d.words(4, []any{"a.example.com", "*.example.com", "*",
		"10.0.0.1"}, oddHosts)...)
	d.table(to("modes"), "*")
	mcp := map[string]any{}
	entry := func(server string, tools ...any) { d.table(func(v any) { mcp[server] = v }, tools...) }
	entry("docs", "get", "put", "*", "@read", "g*", "@write")
	entry("admin", "drop", "*", "@destructive")
	entry("own_srv", "*", "x")
	entry("*", "*", "@read", "@destructive")
	for _, v := range mcp {
		if t, ok := v.(map[string]any); ok && d.one(6) {
			t[d.of("resources", "prompts")] = d.decision()
		}
	}
	if d.one(4) {
		mcp["default"] = d.decision()
	}
	if len(mcp) > 0 {
		can["mcp"] = mcp
	}
	if d.one(8) {
		can["mcp"] = d.decision()
	}
	if d.one(4) {
		can["default"] = d.decision()
	}
	if d.one(8) {
		can["unknown"] = d.decision()
	}
	if d.one(8) {
		can["outside"] = d.either(map[string]any{d.of("read", "edit"): d.of("deny", "ask", "allow")}, d.decision())
	}
	return can
}

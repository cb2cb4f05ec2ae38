package edit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/edit"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/targets"
)

func shop() memfs.FS {
	return memfs.FS{
		"modec.toml": []byte("[targets.roo]\n[targets.claude]\n"),
		"modec/shop.cue": []byte(`package modec

servers: {
	shop: {command: "shop", tools: {list: risk: "read", drop: risk: "destructive", odd: {}}}
	admin: {command: "admin", defaultEnabled: false, tools: wipe: risk: "destructive"}
}
modes: docs: {
	name:           "Docs"
	roleDefinition: "You write."
	extends: ["git_read"]
	can: {
		edit: allow: ["docs/**", {regex: "^a$"}]
		mcp: {default: "ask", shop: {allow: ["list"], default: "deny"}}
	}
	mcpRestrictions: disallowedTools: [{serverName: "shop", toolName: "odd"}]
}
roles: dev: {permissionMode: "plan", can: command: allow: ["npm test", "git log *"], modes: ["docs"]}
policies: house: can: web: {allow: ["*.example.com", "docs.example.org"], default: "ask"}
`),
	}
}

func read(t *testing.T, files memfs.FS) *edit.Base {
	t.Helper()
	b, diags := edit.Read(t.Context(), files, compiler.Request{Targets: targets.All()}, 1, nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return b
}

// TestSaid lists what each owner says, and takes every item out by the change that stands beside it.
func TestSaid(t *testing.T) {
	b := read(t, shop())
	root, err := b.Tree(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range edit.Owners(root) {
		if back, err := edit.ParseOwner(o.String()); err != nil || back != o {
			t.Errorf("%s: got %v, %v", o, back, err)
		}
		for _, p := range edit.Said(root, o) {
			for _, i := range p.Items {
				got = append(got, fmt.Sprintf("%s %s %s", o, p.Name(), i.Value))
				if err := edit.Check(i.Out); err != nil {
					t.Error(err)
				}
				made, err := b.Change(t.Context(), i.Out)
				if err != nil {
					t.Errorf("%s %s %s: %v", o, p.Name(), i.Value, err)
					continue
				}
				after, err := b.Tree(made)
				if err != nil {
					t.Fatal(err)
				}
				for _, q := range edit.Said(after, o) {
					if slices.Equal(q.At, p.At) && slices.ContainsFunc(q.Items, func(x edit.Item) bool { return x.Value == i.Value }) {
						t.Errorf("%s %s %s is there still", o, p.Name(), i.Value)
					}
				}
			}
		}
	}
	want := []string{
		"mode docs extends git_read", "mode docs can.edit.allow docs/**", "mode docs can.edit.allow ^a$",
		"mode docs can.mcp.default ask", "mode docs can.mcp.shop.allow list", "mode docs can.mcp.shop.default deny",
		"mode docs mcpRestrictions.disallowedTools shop:odd", "role dev permissionMode plan", "role dev modes docs",
		"role dev can.command.allow npm test", "role dev can.command.allow git log *",
		"policy house can.web.allow *.example.com", "policy house can.web.allow docs.example.org", "policy house can.web.default ask",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	parents := []string{"house", "readonly_filters", "readonly", "protect"}
	if got := edit.Parents(root, edit.Owner{Kind: "mode", Name: "docs"}); !slices.Equal(got, parents) {
		t.Errorf("got the parents %v", got)
	}
	for _, at := range [][]string{{"servers", "shop", "command"}, {"roles", "dev", "env"}, {"roles", "dev"}, {"modes", "docs", "can", ""}} {
		if edit.Check(migrate.Change{At: at, Do: migrate.Add}) == nil {
			t.Errorf("a change of %v is taken", at)
		}
	}
	if _, err := edit.ParseOwner("server shop"); err == nil {
		t.Error("a server is an owner")
	}
}

// TestChange proposes changes: one that widens, one that lint has something against, one that would not compile.
func TestChange(t *testing.T) {
	b := read(t, shop())
	add := func(at, value string) migrate.Change {
		return migrate.Change{At: strings.Split(at, "."), Do: migrate.Add, Value: value}
	}
	p, err := b.Change(t.Context(), add("roles.dev.can.command.allow", "make"))
	if err != nil || p.Wrong != nil || p.Report.Widened != 1 || p.Report.Narrowed != 0 || len(p.Files) != 1 ||
		!strings.Contains(string(p.Files[0].Is), `["npm test", "git log *", "make"]`) ||
		string(p.Files[0].Was) != string(shop()["modec/shop.cue"]) {
		t.Errorf("a rule: got %+v, %v", p, err)
	}
	again, err := b.Change(t.Context(), add("roles.dev.can.command.allow", "make"))
	if err != nil || again.Digest != p.Digest {
		t.Errorf("the same proposal has another digest: %v", err)
	}
	other := shop()
	other["modec.toml"] = append(other["modec.toml"], '\n')
	if again, err = read(t, other).Change(t.Context(), add("roles.dev.can.command.allow", "make")); err != nil || again.Digest == p.Digest {
		t.Errorf("the same change of another source has the same digest: %v", err)
	}
	p, err = b.Change(t.Context(), add("modes.docs.can.mcp.shop.deny", "l*"))
	if err != nil || len(p.Findings) != 1 || p.Findings[0].Code != "void-rule" {
		t.Errorf("a rule that another one makes void: got %v, %v", p.Findings, err)
	}
	p, err = b.Change(t.Context(), add("modes.docs.extends", "nobody"))
	if err != nil || len(p.Wrong) != 1 || p.After != nil || p.Wrong[0].Pos.File != "modec/shop.cue" {
		t.Errorf("a parent that is not there: got %+v, %v", p, err)
	}
	if _, err = b.Change(t.Context(), add("roles.dev.can.command.allow", "npm test")); err == nil {
		t.Error("a rule that is there is added")
	}

	// A file that is written and taken away again.
	p, err = b.Write(t.Context(), []contract.File{{Path: "modec/more.cue", Data: []byte("package modec\n\nroles: two: {}\n")}})
	if err != nil || p.Wrong != nil || p.Files[0].Was != nil || p.After.Project.Role("two") == nil {
		t.Errorf("a new file: got %+v, %v", p, err)
	}
	with := shop()
	with["modec/more.cue"] = p.Files[0].Is
	p, err = read(t, with).Propose(t.Context(), []output.Replacement{{Path: "modec/more.cue"}})
	if err != nil || p.Wrong != nil || p.After.Project.Role("two") != nil || p.Files[0].Is != nil || p.Files[0].Was == nil {
		t.Errorf("a file less: got %+v, %v", p, err)
	}
	broken := shop()
	broken["modec/b.cue"] = []byte("package modec\n\nmodes: {")
	if _, diags := edit.Read(t.Context(), broken, compiler.Request{Targets: targets.All()}, 1, nil); !diags.HasErrors() {
		t.Error("a broken source is read")
	}
}

func TestMatches(t *testing.T) {
	p := read(t, shop()).Result.Project
	files := []string{"docs/a.md", "src/b.go", "README.md"}
	mcp := func(list, server, value string) edit.Pattern {
		return edit.Pattern{List: list, Group: ir.MCP, Server: server, Value: value}
	}
	for _, c := range []struct {
		x    edit.Pattern
		want string
		why  string
	}{
		{mcp("allow", "shop", "*"), "shop:drop shop:list shop:odd", ""},
		{mcp("allow", "*", "*"), "shop:drop shop:list shop:odd", ""}, // admin is off by default
		{mcp("allow", "admin", "*"), "admin:wipe", ""},
		{mcp("deny", "*", "*"), "shop:drop shop:list shop:odd", ""},
		{mcp("allow", "shop", "@read"), "shop:list", ""},
		{mcp("deny", "shop", "@destructive"), "shop:drop shop:odd", ""},
		{mcp("allow", "shop", "[x"), "", "x"},
		{mcp("allow", "nobody", "*"), "", `nobody`},
		{mcp("disallowedServers", "", "sh*"), "shop:drop shop:list shop:odd", ""},
		{mcp("allowedServers", "", "admin"), "admin:wipe", ""},
		{edit.Pattern{List: "disallowedTools", Group: ir.MCP, Value: "shop:*d*", Form: migrate.ToolItem}, "shop:drop shop:odd", ""},
		{edit.Pattern{List: "allowedTools", Group: ir.MCP, Value: "*:list", Form: migrate.ToolItem}, "shop:list", ""},
		{edit.Pattern{List: "allow", Group: ir.Edit, Value: "*.md"}, "docs/a.md README.md", ""},
		{edit.Pattern{List: "deny", Group: ir.Read, Value: "docs"}, "docs/a.md", ""},
		{edit.Pattern{List: "allow", Group: ir.Read, Value: `\.go$`, Form: migrate.RegexItem}, "src/b.go", ""},
		{edit.Pattern{List: "allow", Group: ir.Read, Value: `(`, Form: migrate.RegexItem}, "", "("},
		{edit.Pattern{List: "ask", Group: ir.Command, Value: "git *"}, "git log", ""},
		{edit.Pattern{List: "allow", Group: ir.Web, Value: "*.example.com"}, "", ""}, // only a policy names hosts
		{edit.Pattern{List: "allow", Group: ir.Modes, Value: "docs"}, "docs", ""},
		{edit.Pattern{List: "allow", Group: ir.Unknown, Value: "x"}, "", "has no patterns"},
	} {
		list, _, err := edit.Matches(t.Context(), p, c.x, files)
		var names []string
		for _, m := range list {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != c.want || (err != nil) != (c.why != "") ||
			err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%+v: got %q, %v, want %q %s", c.x, got, err, c.want, c.why)
		}
	}
}

func ExampleBase_Change() {
	files := memfs.FS{
		"modec.toml": []byte("[targets.roo]\n"),
		"modec/docs.cue": []byte(`package modec

modes: docs: {
	name:           "Docs"
	roleDefinition: "You write." // and nothing else
	can: edit: allow: ["docs/**"]
}
`),
	}
	ctx := context.Background()
	base, diags := edit.Read(ctx, files, compiler.Request{Targets: targets.All()}, 1, nil)
	if diags.HasErrors() {
		panic(diags)
	}
	p, err := base.Change(ctx, migrate.Change{At: []string{"modes", "docs", "can", "edit", "allow"}, Do: migrate.Add, Value: "/GUIDE.md"})
	if err != nil {
		panic(err)
	}
	for _, c := range p.Report.Changes {
		fmt.Printf("%s: %s %s %s, %s → %s\n", c.Kind, c.Subject, c.Group, c.What, c.Before.Decision, c.After.Decision)
	}
	// Output: widened: mode docs edit /GUIDE.md, deny → allow
}

// An item with times is one of its own: it is listed with them, taken out whole, and a rule of the same words beside it
// is another one. A change that adds it widens at times only.
func TestTimes(t *testing.T) {
	times := ir.Times{From: "2026-12-01", Until: "2026-12-31", Daily: "09:00-17:30", Zone: "Europe/Berlin"}
	files := shop()
	files["modec/late.cue"] = []byte(`package modec

roles: late: can: {
	command: {allow: ["make", {rule: "make", until: "2026-12-31"}], default: "deny"}
	edit: {allow: [{regex: "^a$", daily: "09:00-10:00"}, "b"], default: "deny"}
}
`)
	b := read(t, files)
	root, err := b.Tree(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range edit.Said(root, edit.Owner{Kind: "role", Name: "late"}) {
		for _, i := range p.Items {
			got = append(got, fmt.Sprintf("%s %s %s", p.Name(), i.Value, i.Out.Times))
			made, err := b.Change(t.Context(), i.Out)
			if err != nil || made.Wrong != nil {
				t.Fatalf("%s: %v %v", i.Out, err, made)
			}
			text := string(made.Files[0].Is)
			if left := strings.Count(text, "{rule: \"make\", until: \"2026-12-31\"}") + strings.Count(text, "{regex: \"^a$\", daily: \"09:00-10:00\"}"); !i.Out.Times.Timed() && left != 2 ||
				i.Out.Times.Timed() && left != 1 {
				t.Errorf("%s: %s", i.Out, text)
			}
		}
	}
	want := []string{"can.edit.allow ^a$ daily 09:00-10:00", "can.edit.allow b ", "can.edit.default deny ",
		"can.command.allow make ", "can.command.allow make until 2026-12-31", "can.command.default deny "}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	p, err := b.Change(t.Context(), migrate.Change{At: []string{"roles", "late", "can", "command", "allow"}, Do: migrate.Add,
		Value: "make release", Times: times})
	if err != nil || p.Wrong != nil || p.Report.Widened != 1 || !p.Report.Changes[0].InTimes ||
		!strings.Contains(string(p.Files[0].Is), `{rule: "make release", from: "2026-12-01", until: "2026-12-31", daily: "09:00-17:30", zone: "Europe/Berlin"}`) {
		t.Errorf("got %+v, %v", p, err)
	}
}

// So is an item with arguments.
func TestArguments(t *testing.T) {
	files := shop()
	files["modec/late.cue"] = []byte(`package modec

servers: s: {command: "s", tools: {t: {}, u: {}}}
roles: late: can: mcp: s: {allow: ["u", {tool: "t", args: {repo: "acme/*"}}, {tool: "t", args: {repo: "x"}, until: "2126-12-31"}], default: "deny"}
`)
	b := read(t, files)
	root, err := b.Tree(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range edit.Said(root, edit.Owner{Kind: "role", Name: "late"}) {
		for _, i := range p.Items {
			if i.Out.Args == "" {
				continue
			}
			made, err := b.Change(t.Context(), i.Out)
			if err != nil || made.Wrong != nil || strings.Count(string(made.Files[0].Is), "args") != 1 || i.Value == "t" {
				t.Fatalf("%s (%s): %v %v", i.Out, i.Value, err, made)
			}
		}
	}
	p, err := b.Change(t.Context(), migrate.Change{At: []string{"roles", "late", "can", "mcp", "s", "deny"}, Do: migrate.Add,
		Value: "u", Args: `{"repo":"acme/x"}`})
	if err != nil || p.Wrong != nil || !strings.Contains(string(p.Files[0].Is), `deny: [{tool: "u", args: {repo: "acme/x"}}]`) {
		t.Errorf("got %+v, %v", p, err)
	}
}

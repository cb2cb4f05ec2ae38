package roo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/ir"
)

func TestIgnoreLine(t *testing.T) {
	for _, c := range []struct{ glob, want string }{
		{".env", ".env"},
		{"*.pem", "*.pem"},
		{"/.env", "/.env"},
		{"a/b.md", "a/b.md"},
		{"dir/", "dir"}, // a file of that name too
		{"dir/**", "/dir"},
		{"a/dir/**", "a/dir"},
		{"**/dir/**", "**/dir"},
		{"**", "**"},
		{"a/*/b", "a/*/b"},
		{"a/**/", "/a"},
		{"Key", "Key"},
		{"secrets", "secrets"},
		{"/**", "/**"},
		{"../x", ""},
		{"a/../b", ""},
		{"a?.md", ""},
		{"[ab]", "[ab]"}, {"[!a]", ""}, {"[a-c]", ""},
		{"{a,b}", ""},
		{"é", "é"}, {"É", "É"}, {"ｅnv", "ｅnv"}, {"ſecret", ""}, {"ß", ""},
		{"#a", `\#a`}, // else a comment
		{"a#", "a#"},
		{"a b", "a b"}, {" a", " a"}, {"a ", ""},
		{`a\*`, ""},
	} {
		got, ok := ignoreLine(ir.Pattern{Text: c.glob})
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %q %v, want %q", c.glob, got, ok, c.want)
		}
	}
	if _, ok := ignoreLine(ir.Pattern{Kind: ir.Regex, Text: "a"}); ok {
		t.Error("an expression is no line")
	}
}

// What every reading mode denies goes into the ignore file and costs none its
// group; what only some deny costs those the group.
func TestHoistReads(t *testing.T) {
	reads := func(rules ...ir.Rule) ir.Can {
		return ir.Can{Read: &ir.Table{Default: def(ir.Allow), Rules: rules}}
	}
	env, pem, braces := rule(ir.Deny, ".env", 20), rule(ir.Deny, "*.pem", 21), rule(ir.Deny, "{a,b}", 22)
	edits := reads(env)
	edits.Edit = &ir.Table{Default: def(ir.Ask)}
	careful := reads(env)
	careful.Edit = &ir.Table{Default: def(ir.Ask), Rules: []ir.Rule{rule(ir.Deny, ".env", 30)}}
	for _, c := range []struct {
		name   string
		modes  []ir.Can
		ignore string
		m0     string
		said   []string
	}{
		{"all agree", []ir.Can{reads(env, pem), reads(pem, env)}, "*.pem\n.env\n", "read", nil},
		{"a mode that reads nothing agrees", []ir.Can{reads(env), {}, {Read: &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}}}}}}, ".env\n", "read", nil},
		{"one more denies more", []ir.Can{reads(env, pem), reads(env)}, ".env\n", "", []string{"21 mode m0 roo-read narrowing"}},
		{"one reads by can.default", []ir.Can{reads(env), {Default: def(ir.Allow)}}, "", "", []string{"20 mode m0 roo-read narrowing"}},
		{"no line says it", []ir.Can{reads(env, braces)}, ".env\n", "", []string{"22 mode m0 roo-read narrowing"}},
		{"a mode that may edit it cannot", []ir.Can{edits}, ".env\n", "read edit", []string{"20 mode m0 roo-ignore narrowing"}},
		{"a mode that denies the edit too", []ir.Can{careful}, ".env\n", "read edit", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := project(c.modes...)
			p.Servers = nil
			files, diags := build(t, New(), p, set{"format": "json"})
			want := c.ignore
			if want != "" {
				want = "# Written by modec: what no mode may read.\n" + want
			}
			if diff := cmp.Diff(want, files[".rooignore"]); diff != "" {
				t.Error(diff)
			}
			if got := groups(t, files[".roomodes"])["m0"]; got != c.m0 {
				t.Errorf("got %q, want %q", got, c.m0)
			}
			if diff := cmp.Diff(c.said, said(diags)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is denied anyway, or nothing permits, no mode loses to the ignore file.
func TestIgnoredEdits(t *testing.T) {
	for def, want := range map[ir.Decision]int{ir.Deny: 0, ir.Ask: 1, ir.Agent: 1} {
		p := editor(0, def)
		can := &p.Modes[0].Can
		can.Edit.Rules = []ir.Rule{regexRule(ir.Ask, `^docs/`), rule(ir.Deny, ".rooignore", 2)}
		can.Read = &ir.Table{Default: &ir.Default{Decision: ir.Ask}, Rules: []ir.Rule{rule(ir.Deny, ".rooignore", 3), rule(ir.Deny, "/x", 4)}}
		e, s := emitter1(t, p)
		e.hoistReads()
		e.ignoredEdits(&p.Modes[0], s)
		if len(e.diags) != want {
			t.Errorf("%s: got %v, want %d losses", def, e.diags, want)
		}
	}
}

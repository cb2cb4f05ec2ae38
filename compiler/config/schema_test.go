package config

import (
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/encoding/toml"
)

// The schema of modec.toml is CUE in its own form, and agrees with Load.
func TestConfigSchema(t *testing.T) {
	text := Schema(fakes)
	formatted, err := format.Source([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if string(formatted) != text {
		t.Errorf("cue fmt would change it to\n%s", formatted)
	}
	if _, err := parser.ParseFile("config.cue", text); err != nil {
		t.Fatal(err)
	}
	ctx := cuecontext.New()
	def := ctx.CompileString(text).LookupPath(cue.ParsePath("#Config"))
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"name = \"x\"\nbaseline = \"r\"\n[targets.roo]\ndialect = \"zoo\"\nversion = 1\n" +
			"[targets.claude]\nservers = [\"a\"]\n", true},
		{"[targets.roo]\non_loss = {mcp = \"error\"}\n", true},
		{"[[exceptions]]\ntarget = \"roo\"\nsubject = \"a\"\nwhat = \"mcp\"\n" +
			"reason = \"r\"\nuntil = \"2099-01-01\"\n", true},
		{"[audit]\nfile = \"a.jsonl\"\nkeep = 2\n", true},
		{"[audit]\nfile = \"a.txt\"\n", false},
		{"[audit]\nkeep = 2\n", false},
		{"inventory = \"ajar\"\n", false},
		{"nmae = \"x\"\n", false},
		{"[targets.rooo]\n", false},
		{"[targets.roo]\nversion = 3\n", false},
		{"[targets.roo]\non_loss = {shell = \"error\"}\n", false},
		{"[[exceptions]]\ntarget = \"roo\"\n", false},
	} {
		_, diags := load(c.text)
		expr, err := toml.NewDecoder("modec.toml", strings.NewReader(c.text)).Decode()
		if err != nil {
			t.Fatal(err)
		}
		verdict := def.Unify(ctx.BuildExpr(expr)).Validate(cue.Concrete(true))
		if got := !diags.HasErrors(); got != c.ok || (verdict == nil) != c.ok {
			t.Errorf("%q: Load says %v, CUE says %v, want %v", c.text, diags, verdict, c.ok)
		}
	}
}

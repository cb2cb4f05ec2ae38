package model

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/cursor/format"
)

func TestStrictly(t *testing.T) {
	allowed := contract.Answer{Decision: ir.Allow, Governs: contract.Both}
	for line, hole := range map[string]bool{
		"npm ci":                      false,
		"npm ci && npm test":          false,
		"npm ci > /dev/null 2>&1":     false,
		"npm ci 'x > y'":              true, // npm might be a shell
		"FOO=1 npm ci":                true,
		"npm ci > out.txt":            true,
		"npm ci >> .env":              true,
		"npm ci < .env":               true,
		"npm ci > $X":                 true,
		"rm > x -rf /":                true,
		"npm ci '":                    true,
		"export PATH=x && npm ci":     true,
		"[ -f x ] && npm ci":          true,
		"[[ -f x ]] && npm ci":        true,
		"((x++)); npm ci":             true,
		"if true; then X=1 npm ci;fi": true,
		"npm ci $(npm ci)":            true,
		"npm ci \"`npm ci`\"":         true,
		"npm ci <(npm ci)":            true,
		"npm ci '$(npm ci)'":          false,
	} {
		a, h := strictly(allowed, line, nil)
		if (h != nil) != hole || hole == (a.Decision == ir.Allow) {
			t.Errorf("%s: got %s and hole %v, want a hole: %v", line, a.Decision, h, hole)
		}
	}
	for _, a := range []contract.Answer{{Decision: ir.Ask, Governs: contract.Both},
		{Decision: ir.Deny, Governs: contract.Both}, {Decision: ir.Allow}} {
		if got, h := strictly(a, "X=1 y", nil); h != nil || got != a {
			t.Errorf("%+v: got %+v, %v", a, got, h)
		}
	}
}

// An entry for a program and its arguments is to the engine also the name of a program.
func TestStrictlyByName(t *testing.T) {
	allowed := contract.Answer{Decision: ir.Allow, Governs: contract.Both}
	var allow []token
	for _, text := range []string{"npm:ci", "make"} {
		entry, ok := entryToken(format.Shell, text, diag.Pos{})
		if !ok {
			t.Fatal(text)
		}
		allow = append(allow, entry)
	}
	for line, hole := range map[string]bool{
		"npm ci": false, "make x": false, "npm ci && make": false, "npm:ci": true, "npm:ci x": true, "make && npm:ci": true,
	} {
		if _, h := strictly(allowed, line, allow); (h != nil) != hole {
			t.Errorf("%s: got hole %v, want a hole: %v", line, h, hole)
		}
	}
}

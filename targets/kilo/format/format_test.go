package format_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/kilo/format"
)

// The languages of files that Kilo treats in a way of its own have those files, and no others.
func TestLanguagesOfFiles(t *testing.T) {
	letters, _ := policy.Plain(ir.Edit)
	sp := regexlang.New(letters)
	protected, secret := format.ProtectedFiles(sp), format.SecretFiles(sp)
	parts := []string{".kilo", ".kilocode", "plans", "kilo.json", "opencode.jsonc", "AGENTS.md", "a", ".env", "a.env",
		".env.example", ".env.local", "a.env.example.b", ".kilo2"}
	random := rand.New(rand.NewPCG(1, 2))
	met := map[[2]bool]int{}
	for range 20_000 {
		names := make([]string, 1+random.IntN(5))
		for i := range names {
			names[i] = parts[random.IntN(len(parts))]
		}
		file := strings.Join(names, "/")
		met[[2]bool{format.Protected(file), format.IsSecret(file)}]++
		if got, want := sp.Has(protected, file), format.Protected(file); got != want {
			t.Fatalf("the language of protected files has %s: %v, want %v", file, got, want)
		}
		if got, want := sp.Has(secret, file), format.IsSecret(file); got != want {
			t.Fatalf("the language of secret files has %s: %v, want %v", file, got, want)
		}
	}
	if len(met) != 4 {
		t.Errorf("of the four kinds of files only %v were met", met)
	}
}

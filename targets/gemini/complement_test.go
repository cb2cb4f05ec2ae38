package gemini

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/targets/gemini/format"
)

// TestComplements: the expressions of what is not in a list match every call but those whose value is in it, however
// long the list is.
func TestComplements(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "ab", "abc", "src", "srd", `\.x`, `\x28`, "[+]", "é"}
	folders := func(n int) (list []string) {
		for i := range n {
			var b strings.Builder
			for range 1 + r.IntN(4) {
				b.WriteString(names[r.IntN(len(names))])
			}
			list = append(list, fmt.Sprintf("%s%d/%s", b.String(), i, anyText))
		}
		return list
	}
	hosts := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(`%sh%d\.example%s`, beforeHost, i, afterHost))
		}
		return list
	}
	read := map[string]*ecma.Regexp{}
	matches := func(expr, text string) bool {
		if read[expr] == nil {
			m, err := ecma.Compile(expr, ecma.Options{})
			if err != nil {
				t.Fatal(err)
			}
			read[expr] = m
		}
		is, err := read[expr].Match(text)
		return is && err == nil
	}
	path, prompt := format.Key(format.FilePath), format.Key(format.PromptArg)
	for _, c := range []struct {
		name, key string
		list      []string
		most      int // expressions
	}{
		{"short", path, folders(5), 1},
		{"long", path, folders(400), 40},
		{"long, of one folder", path, append(folders(20), under("packages/web-", 300)...), 40},
		{"anywhere beside", path, append(folders(300), anyFolder+`[^/"\x00]*\.md`), 40},
		{"hosts", prompt, hosts(300), 40},
	} {
		exprs, left := complements(c.key, c.list)
		if left > 0 || len(exprs) > c.most {
			t.Errorf("%s: %d expressions, and %d patterns are left out", c.name, len(exprs), left)
		}
		for _, expr := range exprs {
			if !format.Safe(expr) {
				t.Fatalf("%s: Gemini CLI does not take %s", c.name, expr)
			}
		}
		for _, v := range valuesOf(r, c.list) {
			argument := strings.Trim(strings.TrimPrefix(c.key, `\x00`), `":`)
			text := format.Arguments("content", "x", argument, v)
			permitted, any := false, false
			for _, a := range c.list {
				permitted = permitted || matches(c.key+a+format.End, text)
			}
			for _, expr := range exprs {
				any = any || matches(expr, text)
			}
			if permitted == any {
				t.Fatalf("%s: %q is in the list: %t, and is matched: %t", c.name, v, permitted, any)
			}
		}
		if !matches(exprs[0], format.Arguments("content", "x")) {
			t.Errorf("%s: a call without the argument is not matched", c.name)
		}
	}
	long := make([]string, 300)
	for i := range long {
		long[i] = fmt.Sprintf(`%s[^/"\x00]*-%d\.md`, anyFolder, i)
	}
	exprs, left := complements(path, long)
	if len(exprs) != 1 || left == 0 || len(exprs[0]) > format.MostExpression {
		t.Errorf("names anywhere: %d expressions, and %d patterns are left out", len(exprs), left)
	}
}

func under(folder string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%s%d/%s", folder, i, anyText))
	}
	return list
}

// valuesOf returns values that are in a list, or nearly.
func valuesOf(r *rand.Rand, list []string) (out []string) {
	plain := strings.NewReplacer(beforeHost, "read https://", afterHost, "/x now", anyText, "f", anyFolder, "d/",
		`\.`, ".", `\x28`, "(", "[+]", "+", `[^/"\x00]*`, "n")
	for range 40 {
		v := plain.Replace(list[r.IntN(len(list))])
		at := r.IntN(len(v))
		out = append(out, v, v[:at], strings.ToValidUTF8(v[:at]+"0"+v[at:], ""), strings.ToValidUTF8(v[at:], ""), "x"+v)
	}
	return append(out, "", "src", "README.md", "https://h1.example", "no address")
}

package model

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/roo/format"
)

// What a redirect opens is judged as the edit or read that it is; the hole is
// that execute_command does not.
func TestRedirects(t *testing.T) {
	d, _ := opened(t, format.Stock, tree(map[string]string{
		".roomodes":  oneMode(`[read, [edit, {fileRegex: "^docs/[^.]*$"}], command]`, "  - {slug: b, name: n, roleDefinition: r, groups: [command]}\n"),
		".rooignore": "*.pem\n",
	}))
	const free, held, away = "ask access", "deny access + ask", "ask - + ask"
	for _, c := range []struct{ line, a, b string }{
		{"ls", free, free},
		{"ls 2>&1 >/dev/null", free, free},
		{"ls > docs/x", free, held},
		{"ls > x", held, held},
		{"ls >> x", held, held},
		{"ls >| x", held, held},
		{"ls &> x", held, held},
		{"ls 2> x", held, held},
		{"> x", held, held},
		{"ls > 'docs/x'", free, held},
		{`ls > "docs/"x`, free, held},
		{`ls > docs/\x`, free, held},
		{"ls > docs/../x", held, held},
		{"ls > ../x", held, held},
		{"ls > /etc/passwd", held, held},
		{"ls > ~/x", held, held},
		{"ls > $X", free, held},
		{"ls > docs/*", free, held},
		{"ls < x", free, held},
		{"ls < k.pem", held, held},
		{"ls < ../x", away, held},
		{"ls < $X", free, held},
		{"ls <> docs/x", free, held},
		{"ls <> docs/k.pem", held, held},
		{"cat <<E\nx > y\nE", free, free},
		{"cat <<E\n$(ls > x)\nE", held, held},
		{"cat <<< x", free, free},
		{"ls && ls > x", held, held},
		{"ls | tee y > x", held, held},
		{"(ls > x)", held, held},
		{"{ ls; } > x", held, held},
		{"! ls > x", held, held},
		{"if ls; then ls > x; fi", held, held},
		{"for i in a; do ls; done > x", held, held},
		{"f() { ls > x; }", held, held},
		{"time ls > x", held, held},
		{"echo $(ls > x)", held, held},
		{"echo `ls > x`", held, held},
		{"echo \"$(ls > x)\"", held, held},
		{"ls <(ls > x)", held, held},
		{"X=$(ls > x)", held, held},
		{"sh -c 'ls > x'", held, held},
		{"parallel 'ls > x'", free, held},
		{`parallel ls \> x`, free, held},
		{"su 'ls > x'", free, free},
		{"su -c 'ls > x'", free, held},
		{"npx -c 'ls > x'", free, held},
		{"npx vitest -t 'ls > x'", free, free},
		{"sudo /bin/bash -lc 'ls > x'", held, held},
		{"eval 'ls > x'", held, held},
		{"eval ls '>' x", held, held},
		{"sh <<E\nls > x\nE", held, held},
		{"sh -c \"sh -c 'ls > x'\"", held, held},
		{"cd docs && ls > x", free, held},
		{"cd docs; ls > ../x", held, held},
		{"(cd docs; ls > x); ls > x", held, held},
		{"cd docs & ls > docs/x", free, held},
		{"cd .. && ls > x", free, held},
		{"cd $X && ls > x", free, held},
		{"cd .. && ls > /x", held, held},
		{"popd; ls > x", free, held},
		{"ls > ", free, free}, // no shell takes it
		{"ls '", free, free},
		{"# > x", free, free},
		{"", free, free},
	} {
		for mode, want := range map[string]string{"a": c.a, "b": c.b} {
			if got := inShort(d.Decide(ir.SubjectRef{Mode: mode}, on(ir.Command, c.line))); got != want {
				t.Errorf("%s: %q: got %s, want %s", mode, c.line, got, want)
			}
		}
	}
}

// No line takes a time that grows with more than its length: such a one would not end
// before the test does.
func TestSlowLines(t *testing.T) {
	d, _ := opened(t, format.Stock, tree(nil))
	for _, s := range []string{"(", "((", "$((", "{", "`", "$(", "eval ", "sh -c '", "cat <<E\n", "[[ ", "${", "\"$("} {
		d.Decide(ir.SubjectRef{Mode: "code"}, on(ir.Command, strings.Repeat(s, 1000)))
		d.Decide(ir.SubjectRef{Mode: "code"}, on(ir.Command, strings.Repeat(s, 60)+" > x"))
	}
}

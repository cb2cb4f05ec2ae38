package verify_test

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
)

// A universe is what a subject and its artifacts are compared on. It begins at the subject's own rules:
// what they match, and what they narrowly miss.
func ExampleUniverse() {
	table := &ir.Table{Default: &ir.Default{Decision: ir.Deny},
		Rules: []ir.Rule{{Decision: ir.Allow, Pattern: ir.Pattern{Text: "docs/*.md"}}}}
	e := policy.New(&ir.Project{Version: ir.Version,
		Modes: []ir.Mode{{Slug: "writer", Can: ir.Can{Edit: table}}}})
	all, err := verify.Universe(e, ir.SubjectRef{Mode: "writer"}, nil, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	seen := map[string]bool{}
	for _, w := range all {
		if w.Group == ir.Edit && strings.Contains(w.Arg, "docs/x") && !seen[w.Class] && len(seen) < 4 {
			seen[w.Class] = true
			fmt.Printf("%s %q: %s\n", w.Class, w.Arg, w.Source.Decision)
		}
	}
	// Output:
	// match "docs/x.md": allow
	// below "docs/x.md/inner.txt": deny
	// deeper "zz/docs/x.md": deny
	// near: longer "docs/x.mdx": deny
}

package why_test

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/why"
)

// The cause of a line is the part of the source without which it would be another.
func ExampleLine() {
	at := func(line int) diag.Pos { return diag.Pos{File: "modec/code.cue", Line: line, Col: 1} }
	project := &ir.Project{
		Version: ir.Version,
		Modes: []ir.Mode{{Slug: "code", Pos: at(1), Can: ir.Can{Command: &ir.Table{Rules: []ir.Rule{
			{Decision: ir.Allow, Pattern: ir.Pattern{Text: "make"}, Pos: at(2)},
			{Decision: ir.Deny, Pattern: ir.Pattern{Text: "git push *"}, Pos: at(3)},
		}}}}},
	}
	emit := func(p *ir.Project) ([]byte, bool) {
		var b strings.Builder
		for i := range p.Modes {
			for _, r := range p.Modes[i].Can.Command.Rules {
				fmt.Fprintln(&b, r.Decision, r.Pattern)
			}
		}
		return []byte(b.String()), true
	}
	causes, err := why.Line(project, emit, 2, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range causes {
		fmt.Println(c.What, "of", c.Of, "at", c.Pos)
	}
	// Output:
	// deny "git push *" in can.command of mode code at modec/code.cue:3:1
}

package ir_test

import (
	"bytes"
	"fmt"

	"modec.dev/modec/compiler/ir"
)

// Decisions are ordered by permissiveness.
func ExampleDecision() {
	fmt.Println(ir.Deny < ir.Ask && ir.Ask < ir.Allow, min(ir.Allow, ir.Ask))
	// Output:
	// true ask
}

// A name means a mode or a role, and says which where both exist.
func ExampleProject_ParseSubject() {
	p := &ir.Project{
		Modes: []ir.Mode{{Slug: "code"}, {Slug: "reviewer"}},
		Roles: []ir.Role{{Name: "developer"}, {Name: "reviewer"}},
	}
	for _, text := range []string{"code", "developer", "role:reviewer", "reviewer"} {
		ref, err := p.ParseSubject(text, "")
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(ref)
	}
	// Output:
	// mode code
	// role developer
	// role reviewer
	// got "reviewer", which is a mode and a role: want "mode:reviewer" or "role:reviewer"
}

// A model that is written and read again is the same, and one that is not understood
// whole is refused.
func ExampleUnmarshal() {
	data, err := (&ir.Project{Version: ir.Version, Name: "acme"}).Marshal()
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := ir.Unmarshal(bytes.NewReader(data))
	fmt.Println(p.Name, err)
	more := bytes.Replace(data, []byte("acme"), []byte(`acme","permits":"everything`), 1)
	_, err = ir.Unmarshal(bytes.NewReader(more))
	fmt.Println(err != nil)
	// Output:
	// acme <nil>
	// true
}

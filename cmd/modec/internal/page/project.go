package page

import (
	"context"
	"io"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
)

// Project is what the page needs of the project that it shows and may change.
type Project struct {
	Dir     string
	Disk    *contract.Disk
	Request func() compiler.Request
	// Line returns the line of the source at a place.
	Line func(diag.Pos) string
	// Revision returns what decides at a revision of git.
	Revision func(rev string) (*policy.Engine, error)
	// Runs returns what agents run and take over from their files beside what a source allows.
	Runs func(*compiler.Result) []contract.Run
	// Proves verifies what a changed source compiles to.
	Proves func(context.Context, *compiler.Result) (*verify.Report, diag.List)
	// Audit opens the record, or fails with NoAudit where the project keeps none.
	Audit   func() (*audit.Log, error)
	NoAudit error
	// Pins returns the pins of the project; nil where it has none.
	Pins func() (*pins.Set, diag.List)
	// Ask asks the servers that the user accepted.
	Ask func(context.Context, *ir.Project, *pins.Set) ([]Server, error)

	Progress output.Progress
	// Terminal is where a person is asked, where Asked says that there is one: Number returns what they type.
	Terminal io.Writer
	Asked    bool
	Number   func() (string, error)
}

// Server is a server of the inventory that was to be asked.
type Server struct {
	Name     string
	Accepted bool   // the user accepted what it starts
	Error    string // why it did not answer
	Tools    int
	Pinned   bool
	Pins     []pins.Change // what is not as pinned
}

package migrate

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
)

// Do is what a [Change] does.
type Do string

// What a change does.
const (
	Add    Do = "add"    // an item to a list
	Drop   Do = "drop"   // an item out of a list
	Decide Do = "decide" // the word of a table for whatever its lists do not name; "" takes it out
	Say    Do = "say"    // a text; "" takes it out
	Unset  Do = "unset"  // a field, with all that is in it
)

// ItemForm is how the source writes an item of a list.
type ItemForm string

// The forms of items.
const (
	TextItem  ItemForm = ""
	RegexItem ItemForm = "regex" // {regex: "…"}
	ToolItem  ItemForm = "tool"  // SERVER:TOOL as {serverName: "…", toolName: "…"}
)

// Change is a change of a source at one place.
type Change struct {
	At    []string `json:"at"` // roles, dev, can, command, allow
	Do    Do       `json:"do"`
	Value string   `json:"value,omitempty"`
	Form  ItemForm `json:"form,omitempty"`
	// Times are those of an item of what can allows, and Args the arguments of one about a tool.
	Times ir.Times `json:"times,omitzero"`
	Args  ir.Args  `json:"args,omitzero"`
}

// String says the change in one line: "add \"npm test\" to roles.dev.can.command.allow".
func (c Change) String() string {
	at := ""
	for _, name := range c.At {
		at = diag.Join(at, diag.Label(name))
	}
	item := ir.Pattern{Text: c.Value, Args: c.Args}.String()
	if c.Times.Timed() {
		item += " (" + c.Times.String() + ")"
	}
	switch {
	case c.Do == Add:
		return fmt.Sprintf("add %s to %s", item, at)
	case c.Do == Drop:
		return fmt.Sprintf("take %s out of %s", item, at)
	case c.Do == Unset, c.Value == "":
		return "take out " + at
	}
	return fmt.Sprintf("%s: %q", at, c.Value)
}

// Apply returns the files of a source in a folder that some changes leave otherwise, and what they leave there. All
// else keeps its bytes: comments, order and layout. The last item that is taken out of what can allows, asks or denies
// takes its list along.
func Apply(root fs.FS, dir string, changes ...Change) ([]contract.File, error) {
	p := &patcher{fsys: root, dir: dir, files: memfs.FS{}}
	for _, c := range changes {
		if err := p.do(c.make); err != nil {
			return nil, fmt.Errorf("cannot %s: %w", c, err)
		}
	}
	return p.changed(), nil
}

func (c *Change) make(p *patcher) error {
	switch c.Do {
	case Add:
		return p.add(c.At, c.item())
	case Drop:
		if n := p.get(c.At); n != nil && len(n.Elems) == 1 && c.item().same(n.Elems[0]) && decides(c.At) {
			return p.unset(c.At)
		}
		return p.drop(c.At, c.item())
	case Decide:
		return p.decide(c.At, c.Value)
	case Say:
		return p.prose(c.At, c.Value)
	case Unset:
		return p.unset(c.At)
	}
	return fmt.Errorf("got %q, want add, drop, decide, say or unset", string(c.Do))
}

// decides reports whether a place is that of a list of rules: it means the same when it is empty and when it is not
// there.
func decides(at []string) bool {
	switch at[len(at)-1] {
	case ir.Allow.String(), ir.Ask.String(), ir.Deny.String():
		return slices.Contains(at, "can")
	case "allowedTools", "askTools", "disallowedTools":
		return at[0] == "roles"
	}
	return false
}

// item returns the item of a list.
func (c *Change) item() *value {
	switch c.Form {
	case RegexItem:
		return inTimes(object("regex", text(c.Value)), c.Times)
	case ToolItem:
		server, tool, _ := strings.Cut(c.Value, ":")
		return &value{fields: []field{{"serverName", text(server)}, {"toolName", text(tool)}}}
	}
	if c.Args != "" {
		return inTimes(patternValue(ir.Pattern{Text: c.Value, Args: c.Args}, ""), c.Times)
	}
	if c.Times.Timed() {
		return inTimes(object("rule", text(c.Value)), c.Times)
	}
	return text(c.Value)
}

// inTimes adds times to a pattern.
func inTimes(v *value, t ir.Times) *value {
	for _, f := range t.Fields() {
		v.fields = append(v.fields, field{f.Name, text(f.Value)})
	}
	return v
}

// Package model answers which MCP servers VS Code starts in a project, from the list that a build wrote. It stands
// apart from the emitter, and answers nothing else: what VS Code asks about, settings of the person decide.
package model

import (
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regular"
	"modec.dev/modec/targets/vscode/format"
)

const codeIgnored diag.Code = "vscode-ignored"

// Governs returns the halves of a decision that a file governs: the list, whether there is a server.
func Governs(file string, g ir.Group) contract.Halves {
	if file == format.ServersFile && g == ir.MCP {
		return contract.Access
	}
	return contract.Neither
}

// decider decides for the baseline: everybody who works in the project has the list.
type decider struct {
	baseline string
	root     *located.Value
}

// Open reads the list.
func Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	var diags diag.List
	data, err := fs.ReadFile(fsys, format.ServersFile)
	if err != nil || o.Baseline() == "" {
		return nil, nil
	}
	ignored := func(at diag.Pos, message string, args ...any) {
		diags.Warnf(codeIgnored, at, message, args...).
			Hint("`modec build` rewrites what it wrote").
			Target("vscode")
	}
	root, err := format.ReadServers(format.ServersFile, data)
	if err != nil {
		ignored(located.PlaceOf(format.ServersFile, err), "VS Code starts no server of this list: %s",
			located.Reason(err))
	}
	for _, m := range root.Get(format.ServersKey).Fields() {
		if !format.Starts(m.Value) {
			ignored(m.Pos, "VS Code does not start %q: there is no command and no url", m.Key)
		}
	}
	return []contract.Decider{&decider{o.Baseline(), root}}, diags
}

func (d *decider) Surface() string { return "" }

func (d *decider) Assumes() []string { return assumes }

var assumes = []string{
	"no server of the person's own has the name of one in the source",
	"what VS Code asks about, and which tools an agent has, is said by settings and agents that this target does not " +
		"write",
}

// Decide returns what VS Code does with an action.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	if ref != (ir.SubjectRef{Role: d.baseline}) {
		return contract.Verdict{}
	}
	if a.Group != ir.MCP || a.Server == contract.UnknownServer {
		return contract.Verdict{Answer: itself(a)}
	}
	entry := d.root.Get(format.ServersKey).Get(a.Server)
	if entry == nil || !format.Starts(entry) {
		return contract.Verdict{Answer: contract.Answer{Governs: contract.Access,
			At: diag.Pos{File: format.ServersFile}, Rule: "VS Code does not start the server"}}
	}
	return contract.Verdict{Answer: contract.Answer{Decision: ir.Allow, Governs: contract.Access, At: entry.Line(),
		Rule: "VS Code starts the server"}}
}

// itself returns what VS Code does by itself.
func itself(a policy.Action) contract.Answer {
	out := contract.Answer{Decision: ir.Allow, Rule: "settings of the person decide"}
	if a.Group == ir.MCP && a.Server != contract.UnknownServer {
		out.Governs = contract.Access
	}
	return out
}

// Key returns the key of the list.
func (d *decider) Key(ref ir.SubjectRef) (digest.Key, bool) {
	key, err := digest.Of([]any{ref, d.baseline, d.root}, nil)
	return key, err == nil
}

// Languages returns nothing: no argument is told from another.
func (d *decider) Languages(ir.SubjectRef, policy.Field, *regular.Space) ([]regular.Language, error) {
	return nil, nil
}

// Patterns returns nothing: the list has names of servers, and no patterns.
func (d *decider) Patterns(ir.SubjectRef) map[ir.Group][]ir.Pattern { return nil }

// Languages returns nothing either.
func (alone) Languages(ir.SubjectRef, policy.Field, *regular.Space) ([]regular.Language, error) {
	return nil, nil
}

// Alone returns a decider for VS Code without a list of modec's.
func Alone() []contract.Decider { return []contract.Decider{alone{}} }

type alone struct{}

func (alone) Surface() string { return "" }

func (alone) Assumes() []string { return assumes }

func (alone) Decide(_ ir.SubjectRef, a policy.Action) contract.Verdict {
	return contract.Verdict{Answer: itself(a)}
}

// Key returns the key of what no file decides.
func (alone) Key(ir.SubjectRef) (digest.Key, bool) {
	return digest.Key{Sum: digest.Text("alone")}, true
}

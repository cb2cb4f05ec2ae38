// Package model answers how VS Code decides in a project by the files that a build wrote: which MCP servers it starts,
// and which commands and edits it asks about. It stands apart from the emitter. Where VS Code's own defaults or the
// settings of a person decide, it takes them for such that permit.
package model

import (
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/vscode/format"
)

const codeIgnored diag.Code = "vscode-ignored"

// Governs returns the halves of a decision that a file governs: the list, whether there is a server, and the settings,
// whether a person is asked.
func Governs(file string, g ir.Group) contract.Halves {
	switch {
	case file == format.ServersFile && g == ir.MCP:
		return contract.Access
	case file == format.SettingsFile && (g == ir.Command || g == ir.Edit):
		return contract.Approval
	}
	return contract.Neither
}

// decider decides for the baseline: everybody who works in the project has the files.
type decider struct {
	baseline string
	servers  *located.Value // nil: there is no list
	settings *settings
}

// Open reads the list and the settings.
func Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	var diags diag.List
	d := &decider{baseline: o.Everybody().Role}
	if d.baseline == "" {
		return nil, nil
	}
	ignored := func(at diag.Pos, message string, args ...any) {
		diags.Warnf(codeIgnored, at, message, args...).
			Hint("`modec build` rewrites what it wrote").
			Target("vscode")
	}
	found := false
	if data, err := fs.ReadFile(fsys, format.ServersFile); err == nil {
		found = true
		root, err := format.ReadServers(format.ServersFile, data)
		if err != nil {
			ignored(located.PlaceOf(format.ServersFile, err), "VS Code starts no server of this list: %s",
				located.Reason(err))
			root = &located.Value{Kind: located.Object}
		}
		for _, m := range root.Get(format.ServersKey).Fields() {
			if !format.Starts(m.Value) {
				ignored(m.Pos, "VS Code does not start %q: there is no command and no url", m.Key)
			}
		}
		d.servers = root
	}
	if data, err := fs.ReadFile(fsys, format.SettingsFile); err == nil {
		root, err := format.ReadSettings(format.SettingsFile, data)
		if err != nil {
			ignored(located.PlaceOf(format.SettingsFile, err), "VS Code reads none of these settings: %s",
				located.Reason(err))
		}
		d.settings = readSettings(format.Effective(root))
		found = found || d.settings != nil
	}
	if !found {
		return nil, diags
	}
	return []contract.Decider{d}, diags
}

func (d *decider) Surface() string { return "" }

func (d *decider) Assumes() []string { return assumes }

var assumes = []string{
	"no server of the person's own has the name of one in the source",
	"no settings of the person's own, and no answer of theirs, run more unasked: neither entries about commands and " +
		"edits, nor the levels Bypass Approvals and Autopilot",
	"the shell of the terminal is bash, zsh or another that reads plain words alike, and the person trusts the folder",
	"VS Code is of version 1.128, or the person's own settings have what .vscode/settings.json says of edits",
	"which tools an agent has is said by agents that this target does not write",
}

// Decide returns what VS Code does with an action.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	switch {
	case ref != (ir.SubjectRef{Role: d.baseline}):
		return contract.Verdict{}
	case a.Group == ir.Command && d.settings.about(ir.Command):
		return d.settings.command(a.Arg)
	case a.Group == ir.Edit && d.settings.about(ir.Edit):
		return d.settings.edit(a.Arg)
	case a.Group != ir.MCP || a.Server == contract.UnknownServer:
		return contract.Verdict{Answer: itself(a)}
	case d.servers == nil: // no file says anything of servers
		return contract.Verdict{Answer: contract.Answer{Decision: ir.Allow, Rule: "there is no list of servers"}}
	}
	entry := d.servers.Get(format.ServersKey).Get(a.Server)
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

// Alone returns a decider for VS Code without a file of modec's.
func Alone() []contract.Decider { return []contract.Decider{alone{}} }

type alone struct{}

func (alone) Surface() string { return "" }

func (alone) Assumes() []string { return assumes }

func (alone) Decide(_ ir.SubjectRef, a policy.Action) contract.Verdict {
	return contract.Verdict{Answer: itself(a)}
}

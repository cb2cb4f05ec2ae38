package model

import (
	"errors"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// permissionsFile is a permissions.json as the IDE takes it from the home
// folder.
type permissionsFile struct {
	file    string
	mode    format.RunMode
	modeAt  diag.Pos // zero where the file names no run mode
	mcp     Allowlist
	entries []diag.Pos // of mcp
	globs   []token    // the MCP entries as the engine reads them
	shell   []token
	// hasMCP and hasShell are set where the file replaces the settings' list.
	hasMCP, hasShell bool
}

// readPermissions reads a permissions.json: JSON with comments, of which Cursor drops
// every entry that is not a text. A list that is empty without an approvalMode is the
// settings' own list in older builds.
func readPermissions(name string, data []byte) (*permissionsFile, diag.List) {
	var diags diag.List
	v, err := located.JSONC(name, data)
	if err != nil {
		ignored(&diags, diag.Pos{File: name}, "Cursor cannot read this file, and goes by its settings: %v", err)
		return nil, diags
	}
	f := &permissionsFile{file: name, mode: format.UseAllowlist}
	text, _ := v.Get("approvalMode").Str()
	mode, pinned := format.ParseRunMode(text)
	if pinned {
		f.mode, f.modeAt = mode, v.Get("approvalMode").Pos
	}
	f.readServers(v.Get("mcpAllowlist"), &diags)
	f.readCommands(v.Get("terminalAllowlist"), &diags)
	replaces := func(list *located.Value) bool {
		return list.Is(located.List) && (pinned || len(list.Items) > 0) || f.mode == format.RunEverything
	}
	f.hasMCP, f.hasShell = replaces(v.Get("mcpAllowlist")), replaces(v.Get("terminalAllowlist"))
	return f, diags
}

func (f *permissionsFile) readServers(list *located.Value, diags *diag.List) {
	for _, item := range list.List() {
		text, ok := item.Str()
		if !ok {
			ignored(diags, item.Pos, "Cursor drops an entry that is not a text")
			continue
		}
		if t, ok := entryToken(format.MCP, text, item.Pos); ok {
			f.globs = append(f.globs, t)
		}
		e, err := format.ParseEntry(text)
		if err != nil {
			ignored(diags, item.Pos, "Cursor's settings match nothing by this entry, though its engine may: %v", err)
			continue
		}
		f.mcp, f.entries = append(f.mcp, e), append(f.entries, item.Pos)
	}
}

func (f *permissionsFile) readCommands(list *located.Value, diags *diag.List) {
	for _, item := range list.List() {
		text, ok := item.Str()
		t, read := entryToken(format.Shell, text, item.Pos)
		if !ok || !read {
			ignored(diags, item.Pos, "Cursor drops an entry that is not a text")
			continue
		}
		f.shell = append(f.shell, t)
	}
}

// entryToken reads an entry as the engine does: as the inside of a token.
func entryToken(keyword format.Keyword, text string, at diag.Pos) (token, bool) {
	t, ok := format.ParseToken(string(keyword)+"("+text+")", at)
	if !ok {
		return token{}, false
	}
	t.Text = text
	return newToken(t), true
}

// autoRun returns what decides whether an MCP tool runs without a question.
func (f *permissionsFile) autoRun() AutoRun { return AutoRun{Mode: f.mode, List: f.mcp} }

func (f *permissionsFile) tool(id, tool string) contract.Answer {
	if f == nil || !f.hasMCP {
		return ide.byItself(policy.Action{Group: ir.MCP})
	}
	ran := f.autoRun().Decide(id, tool)
	a := contract.Answer{Governs: contract.Approval}
	switch {
	case ran.Alone && ran.Why == ByMode:
		return f.byMode(a, ir.Allow)
	case ran.Alone:
		a.Decision, a.Rule, a.At = ir.Allow, ran.Entry.String(), f.entries[f.mcp.Find(id, tool)]
		return a
	}
	a.Decision, a.Rule, a.At = ir.Ask, "no entry of mcpAllowlist", diag.Pos{File: f.file}
	// The engine reads the same entries as globs, and in every run mode.
	t := find(f.globs, format.MCP, func(t *token) bool { return t.matchesMCP(id, tool) })
	return decidedBy(a, t, ir.Allow)
}

func (f *permissionsFile) command(line string) contract.Answer {
	if f == nil || !f.hasShell {
		return ide.byItself(policy.Action{Group: ir.Command})
	}
	a := contract.Answer{Governs: contract.Approval}
	switch f.mode {
	case format.RunEverything:
		return f.byMode(a, ir.Allow)
	case format.AskEveryTime:
		return f.byMode(a, ir.Ask)
	}
	a.Decision, a.Rule, a.At = shellDecision(nil, f.shell, line, f.file)
	return a
}

// byMode returns the answer of the run mode.
func (f *permissionsFile) byMode(a contract.Answer, d ir.Decision) contract.Answer {
	a.Decision, a.Rule, a.At = d, `"approvalMode": "`+string(f.mode)+`"`, f.modeAt
	return a
}

// PinsRunMode reports whether a permissions.json takes the run mode out of the user's
// hands: with any entry, or with a run mode but Run Everything, Cursor switches off Run
// Everything and Auto-review.
func PinsRunMode(data []byte) bool {
	f, _ := readPermissions("", data)
	return f != nil && f.mode != format.RunEverything && (!f.modeAt.IsZero() || f.hasMCP || f.hasShell)
}

// Checked is what a permissions.json says of one tool.
type Checked struct {
	Ran
	Mode    format.RunMode
	At      diag.Pos  // of the entry that lets it run
	Ignored diag.List // entries that Cursor's settings do not read; its engine may read a glob
}

// CheckTool reports whether a tool would run without a question by a permissions.json. An
// empty run mode stands for that of the file; a file without one means UseAllowlist.
func CheckTool(name string, data []byte, mode format.RunMode, server, tool string) (Checked, error) {
	f, diags := readPermissions(name, data)
	if f == nil {
		return Checked{}, errors.New(diags[0].Message)
	}
	for i := range diags { // the file is the user's own
		diags[i].Hint, diags[i].Target = "write the tools one by one, or SERVER:*", ""
	}
	run := f.autoRun()
	if mode != "" {
		run.Mode = mode
	}
	c := Checked{Ran: run.Decide(server, tool), Mode: run.Mode, Ignored: diags}
	if c.Why == ByUserList {
		c.At = f.entries[f.mcp.Find(server, tool)]
	}
	return c, nil
}

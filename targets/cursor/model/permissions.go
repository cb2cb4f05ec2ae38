package model

import (
	"cmp"
	"errors"
	"slices"

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
	ids     []string   // of a project's servers that they name, in lower case
	shell   []token
	// hasMCP and hasShell are set where the file replaces the settings' list.
	hasMCP, hasShell bool
	// lender is a file of the repository that adds to the lists; "" for none.
	lender string
}

// with returns the file, nil for none, as it decides beside one of the repository that no build wrote. By the
// documentation Cursor reads that too, and joins the lists of both. Builds up to 3.20.17 take nothing but autoRun from
// it: what holds back there counts for nothing here.
func (f *permissionsFile) with(lender *permissionsFile) *permissionsFile {
	joined := permissionsFile{file: lender.file, mode: format.UseAllowlist}
	if f != nil {
		joined = *f
	}
	joined.lender = lender.file
	if lender.mode == format.RunEverything {
		joined.mode, joined.modeAt = lender.mode, lender.modeAt
	}
	joined.mcp = slices.Concat(joined.mcp, lender.mcp)
	joined.entries = slices.Concat(joined.entries, lender.entries)
	joined.globs, joined.shell = slices.Concat(joined.globs, lender.globs), slices.Concat(joined.shell, lender.shell)
	everything := joined.mode == format.RunEverything
	joined.hasMCP = joined.hasMCP || everything || len(lender.globs) > 0
	joined.hasShell = joined.hasShell || everything || len(lender.shell) > 0
	return &joined
}

// told returns an answer that says so where the repository's file is why it permits.
func (f *permissionsFile) told(a contract.Answer) contract.Answer {
	if a.Decision == ir.Allow && f.lender != "" && a.At.File == f.lender {
		a.Rule += " (Cursor's documentation says that it applies to this project, and up to 3.20.17 Cursor took " +
			"only autoRun from the file)"
	}
	return a
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
			if id := format.Fold(t.server()); projectIDs().MatchString(id) && !slices.Contains(f.ids, id) {
				f.ids = append(f.ids, id)
			}
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
	return newAllowToken(t), true
}

// autoRun returns what decides whether an MCP tool runs without a question.
func (f *permissionsFile) autoRun() AutoRun { return AutoRun{Mode: f.mode, List: f.mcp} }

// tool decides about an MCP tool, below what the settings say that the file does not contain.
func (f *permissionsFile) tool(id, tool string, o settings) contract.Answer {
	if f == nil || !f.hasMCP {
		return ide.byItself(policy.Action{Group: ir.MCP})
	}
	a := contract.Answer{Governs: contract.Approval, Decision: ir.Ask, At: diag.Pos{File: f.file}}
	if a.Rule = o.silences(); a.Rule != "" {
		return a
	}
	switch ran := f.autoRun().Decide(id, tool); {
	case ran.Alone && ran.Why == ByMode:
		return f.byMode(a, ir.Allow)
	case ran.Why == ByUserList:
		a.Decision, a.Rule, a.At = ir.Allow, ran.Entry.String(), f.entries[f.mcp.Find(id, tool)]
		return f.told(a)
	}
	a.Rule = "no entry of mcpAllowlist"
	// The engine reads the same entries as globs, and in every run mode.
	t := find(f.globs, format.MCP, func(t *token) bool { return t.matchesMCP(id, tool) })
	return f.told(decidedBy(a, t, ir.Allow))
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
	return f.told(a)
}

// byMode returns the answer of the run mode.
func (f *permissionsFile) byMode(a contract.Answer, d ir.Decision) contract.Answer {
	a.Decision, a.Rule, a.At = d, `"approvalMode": "`+string(f.mode)+`"`, f.modeAt
	return f.told(a)
}

// PinsRunMode reports whether a permissions.json takes the run mode out of the user's
// hands: with any entry, or with a run mode but Run Everything, Cursor switches off Run
// Everything and Auto-review.
func PinsRunMode(data []byte) bool {
	f, _ := readPermissions("", data)
	return f != nil && f.mode != format.RunEverything && (!f.modeAt.IsZero() || f.hasMCP || f.hasShell)
}

// settings are what [targets.cursor] says of Cursor's own settings, which no file of a
// project contains.
type settings struct {
	protectTools bool      // mcpToolsProtection
	controlled   bool      // an organisation has a list of its own
	admin        Allowlist // that list
}

func settingsOf(o contract.Options) settings {
	s := settings{protectTools: o.Bool("mcpToolsProtection"), controlled: o.Strings("mcpToolAllowlist") != nil}
	s.admin, _ = ParseAllowlist(o.Strings("mcpToolAllowlist"))
	return s
}

// silences returns what makes Cursor ignore the user's list of MCP tools, "" for nothing.
func (o settings) silences() string {
	switch {
	case o.controlled:
		return "mcpToolAllowlist of the organisation"
	case o.protectTools:
		return "mcpToolsProtection"
	}
	return ""
}

// hole returns what the organisation's list lets run: no file of a project takes that back.
func (o settings) hole(id, tool string) *contract.Hole {
	if !o.controlled || o.admin.Find(id, tool) < 0 {
		return nil
	}
	return &contract.Hole{Decision: ir.Allow, Why: "the organisation's list of MCP tools (mcpToolAllowlist) runs " +
		"the tool, and no file of a project takes that back"}
}

// Asked is a question about a tool: what a permissions.json does not contain is its caller's
// to say.
type Asked struct {
	Server, Tool string
	AutoRun      // Mode "" stands for that of the file, and List for nothing: the file has it
}

// Checked is what Cursor does with one tool.
type Checked struct {
	Ran
	Mode    format.RunMode
	At      diag.Pos  // of the entry of the file that lets it run
	Ignored diag.List // entries that Cursor's settings do not read; its engine may read a glob
	// Proposed is the entry that Cursor offers to add to the list, where one would let the
	// tool run from then on.
	Proposed format.Entry
}

// CheckTool reports whether a tool would run without a question by a permissions.json. A file
// without a run mode means UseAllowlist.
func CheckTool(name string, data []byte, q Asked) (Checked, error) {
	f, diags := readPermissions(name, data)
	if f == nil {
		return Checked{}, errors.New(diags[0].Message)
	}
	for i := range diags { // the file is the user's own
		diags[i].Hint, diags[i].Target = "write the tools one by one, or SERVER:*", ""
	}
	run := q.AutoRun
	run.List, run.Mode = f.mcp, cmp.Or(q.Mode, f.mode)
	c := Checked{Ran: run.Decide(q.Server, q.Tool), Mode: run.Mode, Ignored: diags}
	switch c.Why {
	case ByUserList:
		c.At = f.entries[f.mcp.Find(q.Server, q.Tool)]
	case ByNoUserEntry:
		c.Proposed = format.Entry{Server: q.Server, Tool: q.Tool}
	}
	return c, nil
}

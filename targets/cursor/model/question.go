package model

import (
	"fmt"

	"modec.dev/modec/targets/cursor/format"
)

// RunModes are the words for a run mode: those of the settings, of the file, and those
// under which Cursor stores them.
var RunModes = map[string]format.RunMode{
	"ask": format.AskEveryTime, "ask_every_time": format.AskEveryTime, "manual": format.AskEveryTime,
	"allowlist": format.UseAllowlist, "yolo": format.UseAllowlist,
	"unrestricted": format.RunEverything, "full_yolo": format.RunEverything,
}

// Question is a question about a tool in words: of a command line, or of a form.
type Question struct {
	Tool string // SERVER:TOOL
	Mode string // one of RunModes
	// GateOff, ProtectTools and ProtectBrowser are as in [AutoRun].
	GateOff, ProtectTools, ProtectBrowser bool
	// Controlled says that an organisation controls the list; so do the next two.
	Controlled bool
	Disabled   bool
	List       []string
}

// Asked reads the words.
func (q Question) Asked() (Asked, error) {
	tool, err := format.ParseTool(q.Tool)
	if err != nil {
		return Asked{}, err
	}
	asked := Asked{Server: tool.Server, Tool: tool.Tool, AutoRun: AutoRun{
		Mode: RunModes[q.Mode], GateOff: q.GateOff, ProtectTools: q.ProtectTools, ProtectBrowser: q.ProtectBrowser,
	}}
	if q.Controlled || q.Disabled || len(q.List) > 0 {
		list, err := ParseAllowlist(q.List)
		if err != nil {
			return Asked{}, fmt.Errorf("--admin-list: %w", err)
		}
		asked.Admin = &AdminControls{Disabled: q.Disabled, List: list}
	}
	return asked, nil
}

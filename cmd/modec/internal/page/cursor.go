package page

import (
	"context"
	"encoding/json"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"modec.dev/modec/targets/cursor/format"
	"modec.dev/modec/targets/cursor/model"
)

// cursor renders the questions of Cursor's decision about an MCP tool.
func (p *Page) cursor(context.Context, url.Values) (template.HTML, error) {
	return p.render("cursor", nil)
}

// approval renders what Cursor decides about a tool by some settings and lists.
func (p *Page) approval(_ context.Context, q url.Values) (template.HTML, error) {
	list := strings.Fields(strings.ReplaceAll(q.Get("list"), ",", " "))
	admin := strings.Fields(strings.ReplaceAll(q.Get("admin"), ",", " "))
	on := func(name string) bool { return q.Get(name) != "" }
	asked, err := model.Question{Tool: q.Get("tool"), Mode: q.Get("mode"), ProtectTools: on("protected"),
		ProtectBrowser: on("browser"), Controlled: on("controlled"), List: admin, Disabled: on("disabled"),
		GateOff: !on("gate")}.Asked()
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string][]string{"mcpAllowlist": slices.Clip(list)})
	if err != nil {
		return "", err
	}
	got, err := model.CheckTool("your list", data, asked)
	if err != nil {
		return "", err
	}
	x := map[string]any{"Tool": format.Entry{Server: asked.Server, Tool: asked.Tool}.String(), "Runs": got.Alone,
		"Why": got.Why, "Mode": got.Mode, "Entry": "", "Proposed": "", "Ignored": got.Ignored}
	if got.Entry != (format.Entry{}) {
		x["Entry"] = got.Entry.String()
	}
	if got.Proposed != (format.Entry{}) {
		x["Proposed"] = got.Proposed.String()
	}
	return p.render("approval", x)
}

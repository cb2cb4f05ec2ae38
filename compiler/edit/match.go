package edit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/policy"
)

// Pattern is an item of a list that somebody thinks of adding.
type Pattern struct {
	// List is the list of a table of can, and Group its group: allow, ask or deny. Or it is a list of mcpRestrictions.
	List   string
	Group  ir.Group
	Server string // of a table by server: a name or a glob
	Value  string
	Form   migrate.ItemForm
}

// Match is something that a pattern stands for.
type Match struct {
	Name  string
	About string // the risk of a tool: read, write, destructive or unknown
}

// Matches returns what a pattern stands for among what is known: the tools of the inventory, the modes, files, and the
// lines and hosts that the rules of the project name. It decides by the source itself, one with the pattern and one
// without it. It also returns of how many.
func Matches(ctx context.Context, p *ir.Project, x Pattern, files []string) (list []Match, of int, err error) {
	if !slices.Contains([]ir.Group{ir.MCP, ir.Read, ir.Edit, ir.Modes, ir.Command, ir.Web}, x.Group) {
		return nil, 0, fmt.Errorf("got the group %q, which has no patterns", x.Group)
	}
	with, err := x.probe(ctx, p, true)
	if err != nil {
		return nil, 0, err
	}
	without, err := x.probe(ctx, p, false)
	if err != nil {
		return nil, 0, err
	}
	try := func(a policy.Action, about string) {
		of++
		if with.Decide(a).Decision != without.Decide(a).Decision {
			name := a.Arg
			if a.Group == ir.MCP {
				name = a.Server + ":" + a.Arg
			}
			list = append(list, Match{name, about})
		}
	}
	switch x.Group {
	case ir.MCP:
		for i := range p.Servers {
			sv := &p.Servers[i]
			for _, t := range sv.Tools {
				try(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}, cmp.Or(t.Risk, "unknown"))
			}
		}
	case ir.Read, ir.Edit:
		for _, f := range files {
			if ctx.Err() != nil { // somebody typed on
				return nil, 0, ctx.Err()
			}
			try(policy.Action{Group: x.Group, Arg: f}, "")
		}
	case ir.Modes:
		for _, name := range p.ModeNames() {
			try(policy.Action{Group: ir.Modes, Arg: name}, "")
		}
	case ir.Command, ir.Web:
		for _, text := range named(p, x.Group) {
			try(policy.Action{Group: x.Group, Arg: text}, "")
		}
	}
	return list, of, nil
}

// probe returns a subject that has the pattern alone, in a source of its own with the inventory of a project.
func (x *Pattern) probe(ctx context.Context, p *ir.Project, withPattern bool) (*policy.Subject, error) {
	type fields = map[string]any
	var items []any
	if withPattern {
		items = []any{x.item()}
	}
	mode := fields{"name": "probe", "roleDefinition": "probe"}
	if restricts := x.List != "allow" && x.List != "ask" && x.List != "deny"; restricts {
		mode["can"] = fields{"mcp": "allow"}
		if withPattern || strings.HasPrefix(x.List, "allowed") {
			mode["mcpRestrictions"] = fields{x.List: append([]any{}, items...)}
		}
	} else {
		rest := "deny"
		if x.List == "deny" {
			rest = "allow"
		}
		table := fields{x.List: append([]any{}, items...), "default": rest}
		if x.Group == ir.MCP {
			table = fields{x.Server: table, "default": rest}
		}
		mode["can"] = fields{string(x.Group): table}
	}
	servers, modes := fields{}, fields{probeMode: mode}
	for i := range p.Servers {
		sv := &p.Servers[i]
		tools := fields{}
		for _, t := range sv.Tools {
			tool := fields{}
			if t.Risk != "" {
				tool["risk"] = t.Risk
			}
			tools[t.Name] = tool
		}
		servers[sv.Name] = fields{"command": "probe", "defaultEnabled": sv.DefaultEnabled, "tools": tools}
	}
	if x.Group == ir.Modes {
		for _, name := range p.ModeNames() {
			modes[name] = fields{"name": name, "roleDefinition": name}
		}
	}
	data, err := json.Marshal(fields{"servers": servers, "modes": modes})
	if err != nil {
		return nil, err
	}
	res, diags := compiler.Open(ctx, compiler.Request{FS: memfs.FS{config.File: nil, "modec/probe.json": data}})
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s", diags[0].Message)
	}
	return res.Policy.Subject(ir.SubjectRef{Mode: probeMode})
}

// probeMode is a name that no project gives a mode by chance.
const probeMode = "probe-of-a-pattern"

func (x *Pattern) item() any {
	switch x.Form {
	case migrate.RegexItem:
		return map[string]string{"regex": x.Value}
	case migrate.ToolItem:
		server, tool, _ := strings.Cut(x.Value, ":")
		return map[string]string{"serverName": server, "toolName": tool}
	}
	return x.Value
}

// named returns the command lines or the hosts that the rules of a project name, sorted.
func named(p *ir.Project, g ir.Group) (list []string) {
	add := func(can *ir.Can) {
		t := can.Command
		if g == ir.Web {
			t = can.Web
		}
		if t == nil {
			return
		}
		for _, r := range t.Rules {
			text := strings.TrimSuffix(strings.TrimSuffix(r.Pattern.Text, ":*"), " *")
			if g == ir.Web {
				text = strings.TrimPrefix(text, "*.")
			}
			if r.Pattern.Kind == ir.Builtin || text == "" || strings.Contains(text, "*") {
				continue
			}
			list = append(list, text)
		}
	}
	for i := range p.Modes {
		add(&p.Modes[i].Can)
	}
	for i := range p.Roles {
		add(&p.Roles[i].Can)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude"
	"modec.dev/modec/targets/roo"
)

// modeInfo is a mode as the modes-server specification gives it.
type modeInfo struct {
	Slug               string      `json:"slug"`
	Name               string      `json:"name"`
	Source             string      `json:"source" jsonschema:"project, global or builtin"`
	Description        string      `json:"description,omitempty"`
	WhenToUse          string      `json:"when_to_use,omitempty"`
	RoleDefinition     string      `json:"role_definition,omitempty"`
	ToolGroups         []toolGroup `json:"tool_groups"`
	FileRestrictions   []fileRule  `json:"file_restrictions"`
	CustomInstructions string      `json:"custom_instructions,omitempty"`
	Servers            []string    `json:"servers" jsonschema:"MCP servers of which the mode may use anything"`
	SystemPrompt       string      `json:"system_prompt,omitempty"`
}

// toolGroup is what a subject may do in a group at most.
type toolGroup struct {
	Group    string `json:"group" jsonschema:"read, edit, command, web, mcp or modes"`
	Enabled  bool   `json:"enabled" jsonschema:"whether anything in the group may be done"`
	Decision string `json:"decision" jsonschema:"the most that may happen: deny, ask or allow"`
	// FileRegex is of edit.
	FileRegex string `json:"file_regex,omitempty" jsonschema:"what a path has to match before it is edited, as an ECMAScript expression"`
}

// fileRule is a rule over paths.
type fileRule struct {
	Group    string `json:"group" jsonschema:"read or edit"`
	Decision string `json:"decision"`
	Pattern  string `json:"pattern"`
	Kind     string `json:"kind" jsonschema:"glob, regex or all"`
	Place    string `json:"place,omitempty" jsonschema:"where the rule is written"`
}

// modeConfig is the short form.
type modeConfig struct {
	Slug   string   `json:"slug"`
	Name   string   `json:"name"`
	Source string   `json:"source"`
	Groups []string `json:"groups"`
}

// groups lists the tool groups of a subject; regex is of edit.
func (m *Model) groups(ref ir.SubjectRef, s *policy.Subject, regex string) []toolGroup {
	var out []toolGroup
	for _, g := range ir.Groups {
		r, _ := m.most(ref, s, g)
		t := toolGroup{Group: string(g), Enabled: r.Decision > ir.Deny, Decision: r.Decision.String()}
		if g == ir.Edit && t.Enabled {
			t.FileRegex = regex
		}
		out = append(out, t)
	}
	return out
}

func fileRules(s *policy.Subject) []fileRule {
	out := []fileRule{}
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		for _, r := range s.Rules(g) {
			if r.Pos.File == ir.GuardsFile {
				continue // every subject has them
			}
			kind := "glob"
			switch r.Pattern.Kind {
			case ir.Regex:
				kind = "regex"
			case ir.All:
				kind = "all"
			}
			out = append(out, fileRule{string(g), r.Decision.String(), r.Pattern.Text, kind, r.Pos.String()})
		}
	}
	return out
}

// info describes a mode; the subject is that of the mode.
func (m *Model) info(mode *ir.Mode, withPrompt bool) (*modeInfo, error) {
	s, err := m.Policy.Subject(ir.SubjectRef{Mode: mode.Slug})
	if err != nil {
		return nil, err
	}
	i := &modeInfo{Slug: mode.Slug, Name: mode.Name, Source: m.Source(mode.Slug), Description: mode.Description, WhenToUse: mode.WhenToUse,
		RoleDefinition: mode.RoleDefinition, ToolGroups: m.groups(ir.SubjectRef{Mode: mode.Slug}, s, roo.FileRegex(m.Policy, mode)), FileRestrictions: fileRules(s),
		CustomInstructions: mode.CustomInstructions, Servers: m.servers(s)}
	if withPrompt {
		i.SystemPrompt = prompt(mode)
	}
	return i, nil
}

func (m *Model) config(mode *ir.Mode) (*modeConfig, error) {
	s, err := m.Policy.Subject(ir.SubjectRef{Mode: mode.Slug})
	if err != nil {
		return nil, err
	}
	c := &modeConfig{Slug: mode.Slug, Name: mode.Name, Source: m.Source(mode.Slug), Groups: []string{}}
	for _, g := range m.groups(ir.SubjectRef{Mode: mode.Slug}, s, "") {
		if g.Enabled {
			c.Groups = append(c.Groups, g.Group)
		}
	}
	return c, nil
}

// roleInfo describes a role.
type roleInfo struct {
	Name               string      `json:"name"`
	Description        string      `json:"description,omitempty"`
	PermissionMode     string      `json:"permission_mode,omitempty"`
	Modes              []string    `json:"modes" jsonschema:"the modes that it may enter"`
	ToolGroups         []toolGroup `json:"tool_groups"`
	FileRestrictions   []fileRule  `json:"file_restrictions"`
	Servers            []string    `json:"servers"`
	AppendSystemPrompt string      `json:"append_system_prompt,omitempty"`
}

func (m *Model) roleInfo(r *ir.Role) (*roleInfo, error) {
	s, err := m.Policy.Subject(ir.SubjectRef{Role: r.Name})
	if err != nil {
		return nil, err
	}
	i := &roleInfo{Name: r.Name, Description: r.Description, PermissionMode: r.PermissionMode, Modes: []string{}, ToolGroups: m.groups(ir.SubjectRef{Role: r.Name}, s, ""),
		FileRestrictions: fileRules(s), Servers: m.servers(s), AppendSystemPrompt: r.AppendSystemPrompt}
	for j := range m.Project.Modes {
		if slug := m.Project.Modes[j].Slug; s.Decide(policy.Action{Group: ir.Modes, Arg: slug}).Decision > ir.Deny {
			i.Modes = append(i.Modes, slug)
		}
	}
	return i, nil
}

// serverInfo describes a server of the inventory, without what starts it: commands,
// addresses and what goes into their environment may be secret.
type serverInfo struct {
	Name           string     `json:"name"`
	Type           string     `json:"type"`
	DefaultEnabled bool       `json:"default_enabled"`
	Tools          []toolInfo `json:"tools"`
	Modes          []string   `json:"modes" jsonschema:"the modes that may use any of it"`
}

type toolInfo struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Risk        string `json:"risk,omitempty" jsonschema:"read, write or destructive"`
}

func (m *Model) serverInfo(sv *ir.Server) (*serverInfo, error) {
	i := &serverInfo{Name: sv.Name, Type: sv.Type, DefaultEnabled: sv.DefaultEnabled, Tools: []toolInfo{}, Modes: []string{}}
	for _, t := range sv.Tools {
		i.Tools = append(i.Tools, toolInfo{t.Name, t.Description, t.Risk})
	}
	for j := range m.Project.Modes {
		slug := m.Project.Modes[j].Slug
		s, err := m.Policy.Subject(ir.SubjectRef{Mode: slug})
		if err != nil {
			return nil, err
		}
		if contract.Usable(s, sv) {
			i.Modes = append(i.Modes, slug)
		}
	}
	return i, nil
}

const (
	jsonType = "application/json"
	textType = "text/plain"
	markdown = "text/markdown"
)

// part is one view of a mode, a role or a server.
type part struct {
	suffix, title, mime string
}

// parts are the views of each scheme, the whole first.
var parts = map[string][]part{
	"mode":   {{"", "", jsonType}, {"config", "configuration", jsonType}, {"system_prompt", "system prompt", textType}},
	"role":   {{"", "", jsonType}, {"config", "configuration", jsonType}, {"system_prompt", "system prompt", textType}, {"claude_args", "arguments of Claude Code", jsonType}, {"settings", "settings of Claude Code", jsonType}},
	"server": {{"", "", jsonType}},
}

// schemes are those of the resources, in the order in which they are listed.
var schemes = []string{"mode", "role", "server"}

func uriOf(scheme, name, suffix string) string {
	u := scheme + "://" + url.PathEscape(name)
	if suffix != "" {
		u += "/" + suffix
	}
	return u
}

// named are the names that a scheme has, with what is said of each.
func (m *Model) named(scheme string) (names []string, describe func(string) (title, description string)) {
	switch scheme {
	case "mode":
		return m.Project.ModeNames(), func(n string) (string, string) {
			mode := m.Project.Mode(n)
			if mode.Description == "" {
				return mode.Name, mode.WhenToUse
			}
			return mode.Name, mode.Description
		}
	case "role":
		return m.Project.RoleNames(), func(n string) (string, string) { return n, m.Project.Role(n).Description }
	}
	for i := range m.Project.Servers {
		names = append(names, m.Project.Servers[i].Name)
	}
	return names, func(n string) (string, string) { return n, "" }
}

// resources lists every resource of a model, the skills of the modes included.
func resources(m *Model) (out []*sdk.Resource) {
	for _, scheme := range schemes {
		names, describe := m.named(scheme)
		for _, name := range names {
			title, description := describe(name)
			for _, p := range parts[scheme] {
				r := &sdk.Resource{Name: strings.TrimSuffix(name+"/"+p.suffix, "/"), Title: title, Description: description, URI: uriOf(scheme, name, p.suffix), MIMEType: p.mime}
				if p.title != "" {
					r.Title, r.Description = title+": "+p.title, ""
				}
				// A name that is no host of an address is read by the template alone: the SDK
				// takes no other resources.
				if _, err := url.Parse(r.URI); err == nil {
					out = append(out, r)
				}
			}
		}
	}
	for i := range m.Project.Modes {
		s := skillOf(&m.Project.Modes[i])
		out = append(out, &sdk.Resource{Name: s.name, Description: s.description, URI: s.uri, MIMEType: markdown, Size: int64(len(s.text))})
	}
	return out
}

// templates registers the forms of the resources' addresses.
func (sc *scope) templates() {
	variable := map[string]string{"mode": "slug", "role": "name", "server": "name"}
	for _, scheme := range schemes {
		for _, p := range parts[scheme] {
			t := &sdk.ResourceTemplate{Name: strings.TrimSuffix(scheme+"_"+p.suffix, "_"), Title: strings.TrimSpace("A " + scheme + " " + p.title), URITemplate: scheme + "://{" + variable[scheme] + "}", MIMEType: p.mime,
				Description: "What the compiled project says of a " + scheme + "."}
			if p.suffix != "" {
				t.URITemplate += "/" + p.suffix
			}
			sc.sdk.AddResourceTemplate(t, sc.read)
		}
	}
}

// cut splits a resource's address; false where it is none of this server's.
func cut(uri string) (scheme, name, suffix string, ok bool) {
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok || parts[scheme] == nil {
		return "", "", "", false
	}
	name, suffix, slash := strings.Cut(rest, "/")
	if slash && suffix == "" {
		return "", "", "", false // mode://code/ is no other word for mode://code
	}
	name, err := url.PathUnescape(name)
	if err != nil || !slices.ContainsFunc(parts[scheme], func(p part) bool { return p.suffix == suffix }) {
		return "", "", "", false
	}
	return scheme, name, suffix, true
}

func (sc *scope) read(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	text, mime, err := content(sc.Model(), req.Params.URI)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: mime, Text: text}}}, nil
}

// view writes one view of a mode, a role or a server.
func view(m *Model, uri string) (text, mime string, err error) {
	missing := func(c code) error { return failData(c, map[string]any{"uri": uri}, "Resource not found: %s", uri) }
	scheme, name, suffix, ok := cut(uri)
	if !ok {
		return "", "", missing(resourceNotFound)
	}
	var v any
	switch scheme {
	case "mode":
		mode := m.Project.Mode(name)
		if mode == nil {
			return "", "", missing(modeNotFound)
		}
		switch suffix {
		case "":
			v, err = m.info(mode, false)
		case "config":
			v, err = m.config(mode)
		default:
			return prompt(mode), textType, nil
		}
	case "role":
		r := m.Project.Role(name)
		if r == nil {
			return "", "", missing(roleNotFound)
		}
		switch suffix {
		case "":
			v, err = m.roleInfo(r)
		case "config":
			v, err = m.thurboxRole(r)
		case "system_prompt":
			return r.AppendSystemPrompt, textType, nil
		case "claude_args":
			v, err = m.claudeArgs(r)
		default:
			v, err = m.claudeSettings(r)
		}
	default:
		sv := m.Project.Server(name)
		if sv == nil {
			return "", "", missing(serverNotFound)
		}
		v, err = m.serverInfo(sv)
	}
	if err != nil {
		return "", "", fail(internalError, "%v", err)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "", "", fail(internalError, "%v", err)
	}
	return string(b), jsonType, nil
}

// changed lists the addresses whose contents two models do not share.
func changed(old, m *Model) (uris []string) {
	for _, r := range resources(m) {
		a, _, errA := content(old, r.URI)
		b, _, errB := content(m, r.URI)
		if errA == nil && (errB != nil || a != b) {
			uris = append(uris, r.URI)
		}
	}
	return uris
}

// content is what an address leads to.
func content(m *Model, uri string) (text, mime string, err error) {
	if s := skillAt(m, uri); s != nil {
		return s.text, markdown, nil
	}
	return view(m, uri)
}

// input is what the target of Claude Code compiles of a model, with its defaults.
func (m *Model) input() (contract.Input, error) {
	reach, err := m.reach()
	return contract.Input{Project: m.Project, Policy: m.Policy, Reach: reach, Options: contract.NewOptions(claude.New().Options(), nil, nil)}, err
}

// claudeArgs are the arguments that start Claude Code as a role, naming the files that a
// build writes: what starts its servers stays there.
func (m *Model) claudeArgs(r *ir.Role) (any, error) {
	in, err := m.input()
	if err != nil {
		return nil, err
	}
	args, diags := claude.New().(contract.Launcher).Args(in, ir.SubjectRef{Role: r.Name}, contract.ArgsOptions{Dir: m.Root})
	if diags.HasErrors() {
		return nil, errors.New(diags[0].String())
	}
	return map[string]any{"name": r.Name, "args": args}, nil
}

func (m *Model) claudeSettings(r *ir.Role) (any, error) {
	in, err := m.input()
	if err != nil {
		return nil, err
	}
	b, err := claude.Settings(in, r)
	return json.RawMessage(b), err
}

// Role is a role in Thurbox's form: what flags of Claude Code carry of it.
type Role struct {
	Name               string            `json:"name"`
	Description        string            `json:"description"`
	PermissionMode     string            `json:"permission_mode,omitempty"`
	AllowedTools       []string          `json:"allowed_tools,omitempty"`
	DisallowedTools    []string          `json:"disallowed_tools,omitempty"`
	Tools              *string           `json:"tools,omitempty"`
	AppendSystemPrompt string            `json:"append_system_prompt,omitempty"`
	Env                map[string]string `json:"env,omitempty"`
}

func (m *Model) thurboxRole(r *ir.Role) (*Role, error) {
	in, err := m.input()
	if err != nil {
		return nil, err
	}
	return flagsOf(in, r)
}

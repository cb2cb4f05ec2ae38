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
)

// modeInfo describes a mode as the modes-server specification does.
type modeInfo struct {
	Slug               string     `json:"slug"`
	Name               string     `json:"name"`
	Source             string     `json:"source" jsonschema:"project, global or builtin"`
	Description        string     `json:"description,omitempty"`
	WhenToUse          string     `json:"when_to_use,omitempty"`
	RoleDefinition     string     `json:"role_definition,omitempty"`
	ToolGroups         toolGroups `json:"tool_groups"`
	FileRestrictions   []fileRule `json:"file_restrictions"`
	CustomInstructions string     `json:"custom_instructions,omitempty"`
	Servers            []string   `json:"servers" jsonschema:"MCP servers of which the mode may use anything"`
	SystemPrompt       string     `json:"system_prompt,omitempty"`
}

// toolGroups are the tool groups of a subject, by the names of the modes-server specification: read, edit,
// command, browser (which is web in a source), mcp and modes.
type toolGroups map[string]toolGroup

// toolGroup is what a subject may do in a group at most.
type toolGroup struct {
	Enabled  bool   `json:"enabled" jsonschema:"whether anything in the group may be done"`
	Decision string `json:"decision" jsonschema:"the most that may happen; agent: the agent itself decides"`
	// FileRegex is set for edit alone.
	FileRegex string `json:"file_regex,omitempty" jsonschema:"the ECMAScript expression of paths that may be edited"`
	Limits    string `json:"limits,omitempty" jsonschema:"what of the group may be done, in words"`
}

// fileRule is a rule over paths.
type fileRule struct {
	Group    string `json:"group" jsonschema:"read or edit"`
	Decision string `json:"decision"`
	Pattern  string `json:"pattern"`
	Kind     string `json:"kind" jsonschema:"glob, regex or all"`
	Place    string `json:"place,omitempty" jsonschema:"where the rule is written"`
}

// modeConfig is the short form. A group is its name, or a list of it and of what limits it.
type modeConfig struct {
	Slug   string `json:"slug"`
	Name   string `json:"name"`
	Source string `json:"source"`
	Groups []any  `json:"groups"`
	// Limits and FileRestrictions say what the groups leave out.
	Limits           map[string]string `json:"limits,omitempty"`
	FileRestrictions []fileRule        `json:"file_restrictions"`
}

// groupLimit is what limits a group in the short form.
type groupLimit struct {
	FileRegex   string `json:"fileRegex,omitempty"`
	Description string `json:"description,omitempty"`
}

// groups returns the tool groups of a subject; regex is of edit.
func (m *Model) groups(ref ir.SubjectRef, s *policy.Subject, regex string) toolGroups {
	out := toolGroups{}
	for _, g := range ir.Groups {
		r, _ := m.most(ref, s, g)
		t := toolGroup{Enabled: r.Decision > ir.Deny, Decision: r.Decision.String()}
		if t.Enabled {
			t.Limits = m.limits(s, g)
		}
		if g == ir.Edit && t.Enabled {
			t.FileRegex = regex
		}
		out[specGroup(g)] = t
	}
	return out
}

func fileRules(s *policy.Subject) []fileRule {
	out := []fileRule{}
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		for _, r := range s.Rules(g) {
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

// info describes a mode, without its system prompt.
func (m *Model) info(mode *ir.Mode) (*modeInfo, error) {
	ref := ir.SubjectRef{Mode: mode.Slug}
	s, err := m.Policy.Subject(ref)
	if err != nil {
		return nil, err
	}
	return &modeInfo{
		Slug:               mode.Slug,
		Name:               mode.Name,
		Source:             m.Source(mode.Slug),
		Description:        mode.Description,
		WhenToUse:          mode.WhenToUse,
		RoleDefinition:     mode.RoleDefinition,
		ToolGroups:         m.groups(ref, s, m.pathPattern(mode)),
		FileRestrictions:   fileRules(s),
		CustomInstructions: mode.CustomInstructions,
		Servers:            m.servers(s),
	}, nil
}

// infoWithPrompt describes a mode, its system prompt included.
func (m *Model) infoWithPrompt(mode *ir.Mode) (*modeInfo, error) {
	i, err := m.info(mode)
	if err == nil {
		i.SystemPrompt = m.prompt(mode)
	}
	return i, err
}

func (m *Model) config(mode *ir.Mode) (*modeConfig, error) {
	s, err := m.Policy.Subject(ir.SubjectRef{Mode: mode.Slug})
	if err != nil {
		return nil, err
	}
	c := &modeConfig{Slug: mode.Slug, Name: mode.Name, Source: m.Source(mode.Slug), Groups: []any{},
		Limits: map[string]string{}, FileRestrictions: fileRules(s)}
	groups := m.groups(ir.SubjectRef{Mode: mode.Slug}, s, m.pathPattern(mode))
	for _, name := range groupNames() {
		if t := groups[name]; t.Enabled && t.Limits != "" {
			c.Limits[name] = t.Limits
		}
		switch t := groups[name]; {
		case !t.Enabled:
		case name == string(ir.Edit) && t.FileRegex != "":
			c.Groups = append(c.Groups, []any{name, groupLimit{t.FileRegex, t.Limits}})
		default:
			c.Groups = append(c.Groups, name)
		}
	}
	return c, nil
}

// roleInfo describes a role.
type roleInfo struct {
	Name               string     `json:"name"`
	Description        string     `json:"description,omitempty"`
	PermissionMode     string     `json:"permission_mode,omitempty"`
	Modes              []string   `json:"modes" jsonschema:"the modes that it may enter"`
	ToolGroups         toolGroups `json:"tool_groups"`
	FileRestrictions   []fileRule `json:"file_restrictions"`
	Servers            []string   `json:"servers"`
	AppendSystemPrompt string     `json:"append_system_prompt,omitempty"`
}

func (m *Model) roleInfo(r *ir.Role) (*roleInfo, error) {
	ref := ir.SubjectRef{Role: r.Name}
	s, err := m.Policy.Subject(ref)
	if err != nil {
		return nil, err
	}
	i := &roleInfo{
		Name:               r.Name,
		Description:        r.Description,
		PermissionMode:     r.PermissionMode,
		Modes:              []string{},
		ToolGroups:         m.groups(ref, s, ""),
		FileRestrictions:   fileRules(s),
		Servers:            m.servers(s),
		AppendSystemPrompt: r.AppendSystemPrompt,
	}
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
	i := &serverInfo{
		Name:           sv.Name,
		Type:           sv.Type,
		DefaultEnabled: sv.DefaultEnabled,
		Tools:          []toolInfo{},
		Modes:          []string{},
	}
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
	// content returns what a text says, or a JSON value. An error with a code is the
	// client's to see.
	content func(m *Model, name string) (any, error)
}

// parts are the views of each scheme, the whole first.
var parts = map[string][]part{
	"mode": {
		{"", "", jsonType, ofMode(func(m *Model, md *ir.Mode) (any, error) { return m.infoWithPrompt(md) })},
		{"config", "configuration", jsonType, ofMode(func(m *Model, md *ir.Mode) (any, error) { return m.config(md) })},
		{"system_prompt", "system prompt", textType, ofMode(func(m *Model, md *ir.Mode) (any, error) {
			return m.prompt(md), nil
		})},
	},
	"role": {
		{"", "", jsonType, ofRole(func(m *Model, r *ir.Role) (any, error) { return m.roleInfo(r) })},
		{"config", "configuration", jsonType, ofRole(func(m *Model, r *ir.Role) (any, error) { return m.flagsOf(r) })},
		{"system_prompt", "system prompt", textType, ofRole(func(_ *Model, r *ir.Role) (any, error) {
			return r.AppendSystemPrompt, nil
		})},
	},
	"server": {{"", "", jsonType, func(m *Model, name string) (any, error) {
		if sv := m.Project.Server(name); sv != nil {
			return m.serverInfo(sv)
		}
		return nil, notThere(serverNotFound)
	}}},
}

// absent are the codes of what a scheme does not have.
var absent = map[string]code{"mode": modeNotFound, "role": roleNotFound, "server": serverNotFound}

// notThere is the code of something that a model does not have.
type notThere code

func (n notThere) Error() string { return string(n) }

func ofMode(view func(*Model, *ir.Mode) (any, error)) func(*Model, string) (any, error) {
	return func(m *Model, slug string) (any, error) {
		if md := m.Project.Mode(slug); md != nil {
			return view(m, md)
		}
		return nil, notThere(modeNotFound)
	}
}

func ofRole(view func(*Model, *ir.Role) (any, error)) func(*Model, string) (any, error) {
	return func(m *Model, name string) (any, error) {
		if r := m.Project.Role(name); r != nil {
			return view(m, r)
		}
		return nil, notThere(roleNotFound)
	}
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

// named returns the names of a scheme, and a function that describes each.
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
				r := &sdk.Resource{
					Name:        strings.TrimSuffix(name+"/"+p.suffix, "/"),
					Title:       title,
					Description: description,
					URI:         uriOf(scheme, name, p.suffix),
					MIMEType:    p.mime,
				}
				if p.title != "" {
					r.Title, r.Description = title+": "+p.title, "The "+p.title+" of "+title+"."
				}
				// The SDK refuses an address whose name cannot be a host: the template alone
				// reads that resource.
				if _, err := url.Parse(r.URI); err == nil {
					out = append(out, r)
				}
			}
		}
	}
	for i := range m.Project.Modes {
		s := m.skillOf(&m.Project.Modes[i])
		out = append(out, &sdk.Resource{
			Name:        s.name,
			Description: s.description,
			URI:         s.uri,
			MIMEType:    markdown,
			Size:        int64(len(s.text)),
		})
	}
	return out
}

// templates registers the forms of the resources' addresses.
func (sc *scope) templates() {
	variable := map[string]string{"mode": "slug", "role": "name", "server": "name"}
	for _, scheme := range schemes {
		for _, p := range parts[scheme] {
			t := &sdk.ResourceTemplate{
				Name:        strings.TrimSuffix(scheme+"_"+p.suffix, "_"),
				Title:       strings.TrimSpace("A " + scheme + " " + p.title),
				URITemplate: scheme + "://{" + variable[scheme] + "}",
				MIMEType:    p.mime,
				Description: "What the compiled project says of a " + scheme + ".",
			}
			if p.suffix != "" {
				t.URITemplate += "/" + p.suffix
			}
			sc.sdk.AddResourceTemplate(t, sc.read)
		}
	}
}

// cut splits a resource's address. It returns false for an address of another form.
func cut(uri string) (scheme, name, suffix string, ok bool) {
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok || parts[scheme] == nil {
		return "", "", "", false
	}
	name, suffix, slash := strings.Cut(rest, "/")
	if slash && suffix == "" {
		return "", "", "", false // mode://code/ is not mode://code
	}
	name, err := url.PathUnescape(name)
	return scheme, name, suffix, err == nil
}

func (sc *scope) read(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	text, mime, err := content(sc.Model(), req.Params.URI)
	if err != nil {
		return nil, err
	}
	contents := []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: mime, Text: text}}
	return &sdk.ReadResourceResult{Contents: contents}, nil
}

// view writes one view of a mode, a role or a server.
func view(m *Model, uri string) (text, mime string, err error) {
	missing := func(c code) error { return failData(c, map[string]any{"uri": uri}, "Resource not found: %s", uri) }
	scheme, name, suffix, ok := cut(uri)
	if !ok {
		return "", "", missing(resourceNotFound)
	}
	list := parts[scheme]
	if names, _ := m.named(scheme); !slices.Contains(names, name) { // of nobody there is no part either
		return "", "", missing(absent[scheme])
	}
	i := slices.IndexFunc(list, func(p part) bool { return p.suffix == suffix })
	if i < 0 {
		return "", "", missing(resourceNotFound)
	}
	v, err := list[i].content(m, name)
	if gone, ok := errors.AsType[notThere](err); ok {
		return "", "", missing(code(gone))
	}
	if err != nil {
		return "", "", fail(internalError, "%v", err)
	}
	if text, ok := v.(string); ok && list[i].mime == textType {
		return text, textType, nil
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "", "", fail(internalError, "%v", err)
	}
	return string(b), list[i].mime, nil
}

// changed returns those of some addresses whose contents differ between two models.
func changed(old, m *Model, of map[string]bool) (uris []string) {
	if len(of) == 0 {
		return nil
	}
	for _, r := range resources(m) {
		if !of[r.URI] && !of[everyAddress] {
			continue
		}
		a, _, errA := content(old, r.URI)
		b, _, errB := content(m, r.URI)
		if errA == nil && (errB != nil || a != b) {
			uris = append(uris, r.URI)
		}
	}
	return uris
}

// content returns what an address leads to.
func content(m *Model, uri string) (text, mime string, err error) {
	if s := skillAt(m, uri); s != nil {
		return s.text, markdown, nil
	}
	return view(m, uri)
}

// input returns what a target compiles a model from, with the target's defaults.
func (m *Model) input(t contract.Target) (contract.Input, error) {
	reach, err := m.reach()
	return contract.Input{
		Project: m.Project,
		Policy:  m.Policy,
		Reach:   reach,
		Options: contract.NewOptions(t.Options(), nil, nil),
	}, err
}

// pathPattern returns the expression that limits a mode's edits, as the first target
// whose agent has one writes it.
func (m *Model) pathPattern(md *ir.Mode) string {
	for _, t := range m.targets {
		if p, ok := t.(contract.PathPattern); ok {
			return p.PathPattern(m.Policy, md)
		}
	}
	return ""
}

// roleFlags are what the flags of a command line carry of a role.
type roleFlags struct {
	Name               string            `json:"name"`
	Description        string            `json:"description"`
	PermissionMode     string            `json:"permission_mode,omitempty"`
	AllowedTools       []string          `json:"allowed_tools,omitempty"`
	DisallowedTools    []string          `json:"disallowed_tools,omitempty"`
	Tools              *string           `json:"tools,omitempty"`
	AppendSystemPrompt string            `json:"append_system_prompt,omitempty"`
	Env                map[string]string `json:"env,omitempty"`
}

// flagsOf writes a role as the first target whose agent takes one by flags compiles it.
func (m *Model) flagsOf(r *ir.Role) (*roleFlags, error) {
	out := &roleFlags{Name: r.Name, Description: r.Description, PermissionMode: r.PermissionMode,
		AppendSystemPrompt: r.AppendSystemPrompt, Env: r.Env}
	for _, t := range m.targets {
		compiler, ok := t.(contract.FlagRoles)
		if !ok {
			continue
		}
		in, err := m.input(t)
		if err != nil {
			return nil, err
		}
		f, diags := compiler.FlagsOf(in, r)
		if diags.HasErrors() {
			return nil, errors.New(diags[0].String())
		}
		out.PermissionMode, out.AllowedTools, out.DisallowedTools = f.PermissionMode, f.Allowed, f.Disallowed
		out.Tools, out.AppendSystemPrompt, out.Env = f.Tools, f.AppendSystemPrompt, f.Env
		break
	}
	return out, nil
}

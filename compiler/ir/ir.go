// Package ir is the compiled form of a project: resolved, sorted, complete.
// Inheritance is applied, sugar is gone, files are read; every rule keeps the
// place where its author wrote it. Targets and [policy] read this model and
// nothing else; it links no CUE. Its JSON form is modec.model.json.
//
// [policy]: modec.dev/modec/compiler/policy
package ir

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/secret"
)

// Version is the version of the model's JSON form. A reader refuses a model
// of another version.
const Version = 2

// Decision is what may happen. The order is that of composition and of comparisons:
// Deny < Ask < Allow < Agent. Any stated decision beats Agent, and whoever releases
// something to the agent widens. Where an action needs several decisions at once, [Both]
// combines them.
type Decision uint8

const (
	Deny Decision = iota
	Ask
	Allow
	// Agent leaves the matter to the agent: modec says nothing about it. It is a default
	// and never a rule.
	Agent
)

var decisionNames = [...]string{"deny", "ask", "allow", "agent"}

// Both returns the decision of an action that needs two: allowed only where both are, and
// left to the agent where one is and the other does not hold it back.
func Both(a, b Decision) Decision {
	if max(a, b) == Agent && min(a, b) == Allow {
		return Agent
	}
	return min(a, b)
}

func (d Decision) String() string { return decisionNames[d] }

// MarshalText writes deny, ask, allow or agent.
func (d Decision) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads deny, ask, allow or agent and refuses anything else.
func (d *Decision) UnmarshalText(b []byte) error {
	for i, n := range decisionNames {
		if n == string(b) {
			*d = Decision(i)
			return nil
		}
	}
	return fmt.Errorf("got %q, want one of \"deny\", \"ask\", \"allow\", \"agent\"", b)
}

// Group is a tool group: the neutral vocabulary of what an agent may try.
type Group string

const (
	Read    Group = "read"
	Edit    Group = "edit"
	Command Group = "command"
	Web     Group = "web"
	MCP     Group = "mcp"
	Modes   Group = "modes"
	// Unknown stands for the tools of an agent that map to no group.
	Unknown Group = "unknown"
)

// Groups lists the tool groups in the order in which they are printed.
var Groups = []Group{Read, Edit, Command, Web, MCP, Modes}

// Decided lists all that decisions are about: the groups, and the tools that map to none.
var Decided = []Group{Read, Edit, Command, Web, MCP, Modes, Unknown}

// Names joins the names of groups with commas.
func Names(groups []Group) string {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = string(g)
	}
	return strings.Join(names, ", ")
}

// OfEveryone is where a rule of [Project.Everyone] comes from, unless that has it from a policy.
const OfEveryone = "everyone"

// ReservedServers are words of can.mcp, which no server may have for a name.
var ReservedServers = []string{"default", "allow", "ask", "deny", "resources", "prompts"}

// Project is a whole compiled source.
type Project struct {
	Version int    `json:"version"`
	Name    string `json:"name,omitempty"`

	// Servers, Modes and Roles are sorted by their order, then by name: see [Compare].
	Servers []Server `json:"servers"`
	Modes   []Mode   `json:"modes"` // what the user named
	// Builtins are Roo's built-in modes that the source refers to (a role may
	// enter one) without naming them itself: they decide, and no target emits them.
	Builtins []Mode `json:"builtins,omitempty"`
	Roles    []Role `json:"roles"`

	// Everyone is a ceiling over every subject: its denies and asks, and the defaults of it that deny or ask.
	// nil: none.
	Everyone *Can `json:"everyone,omitempty"`

	// Enforced is Everyone as hooks have it, with the built-in policy protect. nil where they do not decide.
	Enforced *Can `json:"-"`

	// InFiles is Everyone as agents' files have it, in the policy of hooks, of which Everyone has protect too. nil: as
	// Everyone.
	InFiles *Can `json:"inFiles,omitempty"`

	// Starts are the targets that start the agent of another one, which has its own rules there too: see [Project.For].
	// It is empty where nobody has any.
	Starts map[string]string `json:"starts,omitempty"`

	// Unsaid is what a role decides where nothing is said. nil: its agent does.
	Unsaid *Default `json:"unsaid,omitempty"`

	ClosedInventory bool   `json:"closedInventory"`    // only the servers and tools listed exist
	Baseline        string `json:"baseline,omitempty"` // the role of a session that names none

	// Gateways are those that the lists of some targets' agents have in the place of the servers, by target.
	Gateways map[string][]Gateway `json:"gateways,omitempty"`
	// Behind are, in the view of such a target, the servers that its gateways start.
	Behind []Server `json:"behind,omitempty"`

	// Audit says where modec writes what was asked, allowed and refused. nil: nowhere.
	Audit *Audit `json:"audit,omitempty"`

	// Unextended are the policies of the source that nothing extends. They decide
	// nothing, and are no part of the model.
	Unextended []Item `json:"-"`
}

// Audit are the settings of a project's audit.
type Audit struct {
	File      string `json:"file"` // relative to the project's folder, absolute, or below "~/"
	MaxMB     int    `json:"maxMB"`
	Keep      int    `json:"keep"` // how many older files there may be
	Arguments bool   `json:"arguments,omitempty"`
	OTel      bool   `json:"otel,omitempty"` // servers send events to an OpenTelemetry collector too
}

// AuditEnding is how the name of an audit's file ends.
const AuditEnding = ".jsonl"

// External is the type of a server that the user's own settings start: modec
// knows its name and its tools, and no list of servers holds it.
const External = "external"

// Place says where something is emitted: at which position of a list, for which targets,
// and by which name.
type Place struct {
	Order   *int     `json:"order,omitempty"`   // the lowest first; nil: after those that have one
	Targets []string `json:"targets,omitempty"` // the only targets that it is emitted for; nil: all
	As      string   `json:"as,omitempty"`      // the name in the targets' files; "": its own
}

// For reports whether it is emitted for a target.
func (pl *Place) For(target string) bool {
	return pl.Targets == nil || slices.Contains(pl.Targets, target)
}

// Name returns the name in the files of a target of what has this name itself; "" where the
// target does not emit it.
func (pl *Place) Name(target, own string) string {
	if !pl.For(target) {
		return ""
	}
	return cmp.Or(pl.As, own)
}

// Compare compares the places of two things in a list: by order, then by name.
func Compare(a, b Place, nameA, nameB string) int {
	switch {
	case (a.Order == nil) != (b.Order == nil):
		if a.Order == nil {
			return 1
		}
		return -1
	case a.Order != nil && *a.Order != *b.Order:
		return cmp.Compare(*a.Order, *b.Order)
	}
	return strings.Compare(nameA, nameB)
}

// Sort sorts the servers, the modes and the roles: see [Compare].
func (p *Project) Sort() {
	slices.SortStableFunc(p.Servers, func(a, b Server) int { return Compare(a.Place, b.Place, a.Name, b.Name) })
	slices.SortStableFunc(p.Behind, func(a, b Server) int { return Compare(a.Place, b.Place, a.Name, b.Name) })
	slices.SortStableFunc(p.Modes, func(a, b Mode) int { return Compare(a.Place, b.Place, a.Slug, b.Slug) })
	slices.SortStableFunc(p.Roles, func(a, b Role) int { return Compare(a.Place, b.Place, a.Name, b.Name) })
}

// Server is an MCP server of the inventory.
type Server struct {
	Name string   `json:"name"`
	Pos  diag.Pos `json:"pos,omitzero"`
	Place

	// Type is "stdio", "http" (streamable HTTP), "sse", or External.
	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`

	TimeoutSeconds int    `json:"timeoutSeconds,omitempty"` // 0: the agent's own default
	DefaultEnabled bool   `json:"defaultEnabled"`
	Tools          []Tool `json:"tools"` // sorted by name

	// Entries are the files in which the entry of an external server lies, each with the shape
	// that the entry had when it was imported ([Server.Shape]).
	Entries map[string]string `json:"entries,omitempty"`

	// Gateway is set in a target's view for an entry that starts modec's gateway.
	Gateway *Fronts `json:"-"`
}

// Entry returns how the server is started or reached.
func (s *Server) Entry() secret.Entry {
	return secret.Entry{
		Command: s.Command, Args: s.Args, Cwd: s.Cwd, Env: s.Env, URL: s.URL, Headers: s.Headers,
	}
}

// Shape returns how the server is started or reached, in a line and with its secrets masked: the
// program and its arguments, or the address. It is "" for one of which only the name is known.
func (s *Server) Shape() string {
	e := s.Entry().Masked()
	return strings.TrimSpace(strings.Join(append([]string{e.Command + e.URL}, e.Args...), " "))
}

// Tool returns the server's tool of that name, nil when it has none.
func (s *Server) Tool(name string) *Tool {
	if i, ok := s.find(name); ok {
		return &s.Tools[i]
	}
	return nil
}

// find looks a tool up in the list, which is sorted by name.
func (s *Server) find(name string) (int, bool) {
	byName := func(t Tool, name string) int { return strings.Compare(t.Name, name) }
	return slices.BinarySearchFunc(s.Tools, name, byName)
}

// AddTool puts a tool of a name in its place in the list, unless it is there.
func (s *Server) AddTool(t Tool) {
	if i, ok := s.find(t.Name); !ok {
		s.Tools = slices.Insert(s.Tools, i, t)
	}
}

// Tool is a tool of an MCP server.
type Tool struct {
	Name        string   `json:"name"`
	Pos         diag.Pos `json:"pos,omitzero"`
	Description string   `json:"description,omitempty"`
	Risk        string   `json:"risk,omitempty"` // read, write, destructive; "" unknown
}

// Mode is a persona an agent works in: prompt and permissions.
type Mode struct {
	Slug string   `json:"slug"`
	Pos  diag.Pos `json:"pos,omitzero"`
	Place
	Name               string           `json:"name"`
	Description        string           `json:"description,omitempty"`
	WhenToUse          string           `json:"whenToUse,omitempty"`
	RoleDefinition     string           `json:"roleDefinition,omitempty"`
	CustomInstructions string           `json:"customInstructions,omitempty"`
	Model              string           `json:"model,omitempty"` // sonnet, opus, haiku, inherit or an id; "" unsaid
	Rules              []RuleFile       `json:"rules,omitempty"` // instruction files, in the order written
	Can                Can              `json:"can"`
	Agents             map[string]*Can  `json:"agents,omitempty"` // in the place of Can: see [Project.For]
	Restrictions       *MCPRestrictions `json:"mcpRestrictions,omitempty"`
	Native             []NativeRule     `json:"nativeRules,omitempty"`
	Extra              map[string]Extra `json:"extra,omitempty"` // by target name
	Builtin            bool             `json:"builtin,omitempty"`
}

// Role is a permission profile of a session or a person.
type Role struct {
	Name string   `json:"name"`
	Pos  diag.Pos `json:"pos,omitzero"`
	Place
	Description       string   `json:"description,omitempty"`
	PermissionMode    string   `json:"permissionMode,omitempty"` // one of Claude Code's six; "" unsaid
	PermissionModePos diag.Pos `json:"permissionModePos,omitzero"`
	Can               Can      `json:"can"`
	// Agents are what it may do for some targets, in the place of Can: see [Project.For].
	Agents map[string]*Can `json:"agents,omitempty"`
	// Tools restricts Claude's built-in tools; nil: not at all, empty: to none.
	Tools              *[]string         `json:"tools,omitempty"`
	AppendSystemPrompt string            `json:"appendSystemPrompt,omitempty"`
	Env                map[string]string `json:"env,omitempty"`
	Modes              *[]string         `json:"modes,omitempty"`   // modes it may enter; nil: all, empty: none
	ModesPos           diag.Pos          `json:"modesPos,omitzero"` // where that list is written
	// Claims are the accepted values of each claim, sorted. A token has to have one of
	// the values of every claim.
	Claims map[string][]string `json:"claims,omitempty"`
	// Principals says who has the role without any claim; "": nobody.
	Principals Principals       `json:"principals,omitempty"`
	Native     []NativeRule     `json:"nativeRules,omitempty"` // rules for one agent alone
	Extra      map[string]Extra `json:"extra,omitempty"`
	// Written are the role's own rules in the grammars of agents, as they stand in the source. They are in Can
	// and Native too; nothing decides by them, and a compiled model does not have them.
	Written []NativeRule `json:"-"`
}

// Principals are the people and programs that a server knows by a verified token.
type Principals string

const (
	Authenticated Principals = "authenticated" // with any verified token
	Anyone        Principals = "anyone"        // also without a token
)

// ScopeClaim reports whether a claim is a list of words in one text: scope (RFC 8693 §4.2)
// and scp, its name in Entra ID and Okta.
func ScopeClaim(name string) bool { return name == "scope" || name == "scp" }

// Held reports whether there may be a principal that has the role.
func (r *Role) Held() bool { return len(r.Claims) > 0 || r.Principals != "" }

// Enters reports whether a role may work in a mode.
func (r *Role) Enters(slug string) bool { return r.Modes == nil || slices.Contains(*r.Modes, slug) }

// RuleFile is an instruction file of a mode (Roo's rules-<slug>/ folder).
type RuleFile struct {
	Name string   `json:"name"` // base name, unique in its mode
	Text string   `json:"text"`
	Pos  diag.Pos `json:"pos,omitzero"`
}

// Extra is what a subject says for one target alone; the target checks it.
type Extra struct {
	Fields map[string]any      `json:"fields"`
	Pos    diag.Pos            `json:"pos,omitzero"`
	Keys   map[string]diag.Pos `json:"-"` // the places of the fields, where a source has them
}

// At returns the place of a field, or of all of them.
func (x Extra) At(key string) diag.Pos {
	if at, ok := x.Keys[key]; ok {
		return at
	}
	return x.Pos
}

// NativeRule is a rule in the grammar of one agent that the neutral vocabulary cannot
// say. It stays verbatim for that agent.
type NativeRule struct {
	Target   string   `json:"target"` // whose grammar it is: "claude"
	Decision Decision `json:"decision"`
	Text     string   `json:"text"`
	Pos      diag.Pos `json:"pos,omitzero"`
	From     string   `json:"from,omitempty"`
	// Own is set for a rule in extra, which stays as it is written although the neutral vocabulary
	// could say it for every agent.
	Own bool `json:"own,omitempty"`
}

// Can is what a subject may do. A nil table is a group that is not mentioned,
// neither by the subject nor by anything it extends.
type Can struct {
	Default     *Default  `json:"default,omitempty"` // can.default: for groups not mentioned
	Unknown     *Default  `json:"unknown,omitempty"` // can.unknown: for tools that map to no group
	OutsideRead *Default  `json:"outsideRead,omitempty"`
	OutsideEdit *Default  `json:"outsideEdit,omitempty"`
	Read        *Table    `json:"read,omitempty"`
	Edit        *Table    `json:"edit,omitempty"`
	Command     *Table    `json:"command,omitempty"`
	Web         *Table    `json:"web,omitempty"`
	Modes       *Table    `json:"modes,omitempty"`
	MCP         *MCPTable `json:"mcp,omitempty"`
}

// Ceiling returns what is written of reading or editing outside the project, nil where nothing is, and
// for any other group.
func (c *Can) Ceiling(g Group) *Default {
	switch g {
	case Read:
		return c.OutsideRead
	case Edit:
		return c.OutsideEdit
	}
	return nil
}

// Table returns the table of any group but MCP; nil when not mentioned.
func (c *Can) Table(g Group) *Table {
	switch g {
	case Read:
		return c.Read
	case Edit:
		return c.Edit
	case Command:
		return c.Command
	case Web:
		return c.Web
	case Modes:
		return c.Modes
	}
	return nil
}

// Mentions reports whether the subject says anything of the group.
func (c *Can) Mentions(g Group) bool {
	if g == MCP {
		return c.MCP != nil
	}
	return c.Table(g) != nil
}

// Default is a decision for whatever no rule matches.
type Default struct {
	Decision Decision `json:"decision"`
	Pos      diag.Pos `json:"pos,omitzero"`
	From     string   `json:"from,omitempty"` // "policy readonly": where it was inherited from; "" own
}

// Table holds the rules of one group: the subject's own before the inherited.
// A bare `deny` is a rule with an All pattern; a bare `ask` or `allow` is a
// default.
type Table struct {
	Default *Default `json:"default,omitempty"` // nil: deny for a mode, ask for a role
	Rules   []Rule   `json:"rules,omitempty"`
	// Timed are the allows that hold at some times only. At any other time what matches no
	// rule decides, and where that is more than ask, an ask (or a deny) with the same times is
	// among the Rules. So nobody who does not know of times permits more.
	Timed []Rule `json:"timed,omitempty"`
	// Description says for people what may be edited (can.edit.description). It decides nothing.
	Description string `json:"description,omitempty"`
}

// Rule decides for what its pattern matches.
type Rule struct {
	Decision Decision `json:"decision"`
	Pattern  Pattern  `json:"pattern"`
	Pos      diag.Pos `json:"pos,omitzero"`
	From     string   `json:"from,omitempty"`
	// Times are set for an allow in Timed, and for the rule that stands in its place at other times.
	Times Times `json:"times,omitzero"`
}

// DeniesAll reports whether the rule denies all of its group.
func (r Rule) DeniesAll() bool { return r.Decision == Deny && r.Pattern.Everything() }

// PatternKind says in which grammar a pattern is written.
type PatternKind string

const (
	Plain   PatternKind = ""        // the group's own grammar: glob, command pattern, host, slug
	Regex   PatternKind = "regex"   // ECMAScript, unanchored, no flags (read and edit only)
	Builtin PatternKind = "builtin" // a named built-in command set: git_read, readonly_filters
	All     PatternKind = "all"     // matches everything: a bare `deny`
	Risk    PatternKind = "risk"    // an MCP risk: read, write, destructive
)

// Pattern is what a rule matches.
type Pattern struct {
	Kind PatternKind `json:"kind,omitempty"`
	Text string      `json:"text,omitempty"`
	Args Args        `json:"args,omitzero"` // of the tools of an MCP server alone
}

// Everything reports whether the pattern matches all of its group, whatever the group.
func (p Pattern) Everything() bool {
	return p.Kind == All || p.Kind == Plain && p.Args == "" && (p.Text == "*" || p.Text == "**")
}

// String writes the pattern as its author would.
func (p Pattern) String() string {
	if args := p.Args; args != "" {
		p.Args = ""
		return p.String() + " with " + args.String()
	}
	switch p.Kind {
	case Regex:
		return "/" + p.Text + "/"
	case Builtin, Risk:
		return "@" + p.Text
	case All:
		return "everything"
	}
	return fmt.Sprintf("%q", p.Text)
}

// MCPTable is can.mcp.
type MCPTable struct {
	Default *Default   `json:"default,omitempty"` // a bare ask/allow, or can.mcp.default
	Rules   []Rule     `json:"rules,omitempty"`   // a bare `mcp: "deny"`: All
	Entries []MCPEntry `json:"entries,omitempty"` // own before inherited, each sorted by key
}

// MCPEntry is what a subject says of the servers whose name its key equals or
// globs.
type MCPEntry struct {
	Key     string   `json:"key"`               // a literal name, a glob, or "*"
	Literal bool     `json:"literal,omitempty"` // Key names exactly one server
	Default *Default `json:"default,omitempty"`
	Rules   []Rule   `json:"rules,omitempty"` // over tool names
	Timed   []Rule   `json:"timed,omitempty"` // as in a Table
	// Resources and Prompts are ceilings over the entry's default for the
	// server's resources and prompts; nil: they follow the default.
	Resources *Default `json:"resources,omitempty"`
	Prompts   *Default `json:"prompts,omitempty"`
	Pos       diag.Pos `json:"pos,omitzero"`
	From      string   `json:"from,omitempty"`
}

// MCPRestrictions is the mode key of Roo's MCP restriction plan. It only holds
// back. A nil list is absent; an empty AllowedTools means none.
type MCPRestrictions struct {
	AllowedServers    *[]Item    `json:"allowedServers,omitempty"`
	DisallowedServers *[]Item    `json:"disallowedServers,omitempty"`
	AllowedTools      *[]ToolRef `json:"allowedTools,omitempty"`
	DisallowedTools   *[]ToolRef `json:"disallowedTools,omitempty"`
	Pos               diag.Pos   `json:"pos,omitzero"`
}

// Item is a name or pattern with its place.
type Item struct {
	Name string   `json:"name"`
	Pos  diag.Pos `json:"pos,omitzero"`
}

// ToolRef names tools by two patterns (`*` and `?`).
type ToolRef struct {
	Server string   `json:"serverName"`
	Tool   string   `json:"toolName"`
	Pos    diag.Pos `json:"pos,omitzero"`
}

// SubjectRef names a mode, a role, or a role working in a mode.
type SubjectRef struct {
	Mode string `json:"mode,omitempty"`
	Role string `json:"role,omitempty"`
}

// String writes "mode architect", "role reviewer" or "role reviewer in mode architect".
func (r SubjectRef) String() string {
	switch {
	case r.Role == "":
		return "mode " + r.Mode
	case r.Mode == "":
		return "role " + r.Role
	}
	return "role " + r.Role + " in mode " + r.Mode
}

// Mode returns the mode of that slug, the user's before the built-in; nil when
// there is none.
func (p *Project) Mode(slug string) *Mode {
	for _, modes := range [][]Mode{p.Modes, p.Builtins} {
		for i := range modes {
			if modes[i].Slug == slug {
				return &modes[i]
			}
		}
	}
	return nil
}

// Role returns the role of that name, nil when there is none.
func (p *Project) Role(name string) *Role {
	for i := range p.Roles {
		if p.Roles[i].Name == name {
			return &p.Roles[i]
		}
	}
	return nil
}

// Can returns what a mode or a role by itself may do. The project has to have it.
func (p *Project) Can(ref SubjectRef) *Can {
	if ref.Role != "" {
		return &p.Role(ref.Role).Can
	}
	return &p.Mode(ref.Mode).Can
}

// Native returns the rules for one agent alone that a mode or a role has; of a role in a mode those of both.
func (p *Project) Native(ref SubjectRef) []NativeRule {
	var out []NativeRule
	if r := p.Role(ref.Role); r != nil {
		out = append(out, r.Native...)
	}
	if m := p.Mode(ref.Mode); m != nil {
		out = append(out, m.Native...)
	}
	return out
}

// ListsTools reports whether the inventory has all tools of a server. A server without a list may have
// any; a gateway has those of the inventory.
func (p *Project) ListsTools(s *Server) bool {
	return p.ClosedInventory && len(s.Tools) > 0 || s.Gateway != nil
}

// Server returns the server of that name, nil when there is none.
func (p *Project) Server(name string) *Server {
	for i := range p.Servers {
		if p.Servers[i].Name == name {
			return &p.Servers[i]
		}
	}
	return nil
}

// Subjects lists every mode and every role, modes first.
func (p *Project) Subjects() []SubjectRef {
	var refs []SubjectRef
	for i := range p.Modes {
		refs = append(refs, SubjectRef{Mode: p.Modes[i].Slug})
	}
	for i := range p.Roles {
		refs = append(refs, SubjectRef{Role: p.Roles[i].Name})
	}
	return refs
}

// ParseSubject reads what a person types for a subject: a slug or a role's
// name, or "mode:slug" or "role:name" where both exist. With a role given
// beside it, s is a mode. It fails with a sentence that names the choices.
func (p *Project) ParseSubject(s, role string) (SubjectRef, error) {
	if role != "" && p.Role(role) == nil {
		return SubjectRef{}, fmt.Errorf("got role %q, want %s", role,
			diag.OneOf(p.RoleNames(), "none: the source has no role"))
	}
	kind, name, prefixed := strings.Cut(s, ":")
	if !prefixed || kind != "mode" && kind != "role" {
		kind, name = "", s
	}
	mode := kind != "role" && p.Mode(name) != nil
	asRole := kind != "mode" && role == "" && p.Role(name) != nil
	switch {
	case mode && asRole:
		return SubjectRef{}, fmt.Errorf("got %q, which is a mode and a role: want \"mode:%s\" or \"role:%s\"",
			s, name, name)
	case mode:
		return SubjectRef{Mode: name, Role: role}, nil
	case asRole:
		return SubjectRef{Role: name}, nil
	}
	names := p.ModeNames()
	if kind != "mode" && role != "" && p.Role(name) != nil {
		return SubjectRef{}, fmt.Errorf("got the role %q beside the role %q, want a mode that it works in: %s",
			name, role, diag.OneOf(names, "the source has none"))
	}
	if role == "" {
		names = append(names, p.RoleNames()...)
	}
	want := diag.OneOf(names, "a mode or role: the source has none")
	if near := diag.DidYouMean(name, names); near != "" {
		want += "; " + near
	}
	return SubjectRef{}, fmt.Errorf("got subject %q, want %s", s, want)
}

// ModeNames lists the slugs of the modes, the built-in ones last.
func (p *Project) ModeNames() []string {
	var names []string
	for i := range p.Modes {
		names = append(names, p.Modes[i].Slug)
	}
	for i := range p.Builtins {
		names = append(names, p.Builtins[i].Slug)
	}
	return names
}

// RoleNames lists the names of the roles.
func (p *Project) RoleNames() []string {
	var names []string
	for i := range p.Roles {
		names = append(names, p.Roles[i].Name)
	}
	return names
}

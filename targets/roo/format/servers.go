package format

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
)

// Server is what mcp.json says of a server, for every mode.
type Server struct {
	Name          string
	At            diag.Pos
	Disabled      *located.Value            // the literal true; nil where it is on
	On            *located.Value            // disabled that is false; nil where nothing says so
	DisabledTools map[string]*located.Value // no wildcard
	AlwaysAllow   map[string]*located.Value // "*" stands for every tool
	// OffByDefault is the literal false of defaultEnabled, nil where it is on.
	OffByDefault *located.Value
}

// PlaceOf returns the place in a file that an error of its reader is about.
func PlaceOf(file string, err error) diag.Pos {
	var s *SchemaError
	if errors.As(err, &s) && !s.At.IsZero() {
		return s.At
	}
	return located.PlaceOf(file, err)
}

// ReadServers reads an mcp.json. It is strict JSON; one bad server costs the whole file
// (src/services/mcp/McpHub.ts, initializeMcpServers).
func ReadServers(file string, data []byte, d Dialect) ([]Server, error) {
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		return nil, errors.New("it begins with a byte order mark, which is not JSON")
	}
	root, err := located.JSON(file, data)
	if err != nil {
		return nil, err
	}
	all := root.Get("mcpServers")
	if !all.Is(located.Object) {
		return nil, errors.New("it has no mcpServers")
	}
	servers := []Server{}
	for _, m := range all.Members {
		// The last of two equal keys holds, and only it is checked.
		if all.Get(m.Key) != m.Value {
			continue
		}
		s, err := readServer(m.Value, d)
		if err != nil {
			return nil, Within(err, m.Value, "mcpServers."+m.Key)
		}
		s.Name, s.At = m.Key, m.Pos
		servers = append(servers, s)
	}
	return servers, nil
}

// readServer is ServerConfigSchema: what decides here, and what costs the file.
func readServer(v *located.Value, d Dialect) (Server, error) {
	if !v.Is(located.Object) {
		return Server{}, errors.New("a server is an object")
	}
	if err := checkTransport(v); err != nil {
		return Server{}, err
	}
	if err := checkSettings(v); err != nil {
		return Server{}, err
	}
	s := Server{DisabledTools: byText(v.Get("disabledTools")), AlwaysAllow: byText(v.Get("alwaysAllow"))}
	if off := v.Get("disabled"); off.True() {
		s.Disabled = off
	} else {
		s.On = off
	}
	if on := v.Get("defaultEnabled"); d == Restrictions && on != nil {
		if !on.Is(located.Bool) {
			return Server{}, errors.New("defaultEnabled must be a bool")
		}
		if !on.True() {
			s.OffByDefault = on
		}
	}
	return s, nil
}

var (
	urlScheme  = lazy.Regexp(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	transports = []string{"stdio", "sse", "streamable-http"}
)

// checkTransport checks how a server is reached. A url without a type passes, as one of
// type sse.
func checkTransport(v *located.Value) error {
	kind, _ := v.Get("type").Str()
	if t := v.Get("type"); t != nil && !slices.Contains(transports, kind) {
		reason := fmt.Sprintf("server type must be stdio, sse or streamable-http, received %q", kind)
		return &SchemaError{t.Pos, "type", reason}
	}
	command, _ := v.Get("command").Str()
	url, _ := v.Get("url").Str()
	without := func(fields ...string) bool {
		return !slices.ContainsFunc(fields, func(f string) bool { return v.Get(f) != nil })
	}
	remote := without("command", "args", "env") && urlScheme().MatchString(url) && kind != "stdio"
	local := without("url", "headers") && command != "" && (kind == "" || kind == "stdio")
	if !remote && !local {
		return errors.New("it is neither a command nor a url")
	}
	return nil
}

// checkSettings checks the fields that a server of any transport may have.
func checkSettings(v *located.Value) error {
	seconds, ok := 0.0, v.Get("timeout").Is(located.Number)
	if ok {
		seconds, _ = strconv.ParseFloat(v.Get("timeout").Text, 64)
	}
	return failed(
		optionalTexts(v, "args"), optionalTexts(v, "alwaysAllow"), optionalTexts(v, "disabledTools"),
		optionalTexts(v, "watchPaths"), optionalMap(v, "env"), optionalMap(v, "headers"),
		check{v.Get("disabled"), "disabled", v.Get("disabled").Is(located.Bool), "must be a bool"},
		check{v.Get("timeout"), "timeout", ok && 1 <= seconds && seconds <= 3600, "must be a number from 1 to 3600"})
}

// optionalMap checks a field for an object of strings.
func optionalMap(v *located.Value, field string) check {
	m := v.Get(field)
	good := m.Is(located.Object) && !slices.ContainsFunc(m.Members, func(m located.Member) bool {
		return !m.Value.Is(located.String)
	})
	return check{m, field, good, "must be strings by name"}
}

func byText(v *located.Value) map[string]*located.Value {
	m := map[string]*located.Value{}
	for _, item := range v.List() {
		m[item.Text] = item
	}
	return m
}

// MCPRestrictions is the mode key mcpRestrictions of the restriction plan (pull request
// 5364 of Roo-Code).
type MCPRestrictions struct {
	At diag.Pos
	// AllowedServers is nil where the field is missing.
	AllowedServers, DisallowedServers []Name
	AllowedTools, DisallowedTools     []Tool
}

// Name is a name or a pattern of a list.
type Name struct {
	Text string
	At   diag.Pos
}

// Tool is an entry of a list of tools, both parts names or patterns.
type Tool struct{ Server, Tool Name }

// ReadRestrictions reads mcpRestrictions as it is written; [MCPRestrictions.Conflict] says
// whether the plan's schema takes it.
func ReadRestrictions(v *located.Value) (*MCPRestrictions, error) {
	if !v.Is(located.Object) {
		return nil, errors.New("mcpRestrictions must be an object")
	}
	if err := failed(optionalTexts(v, "allowedServers"), optionalTexts(v, "disallowedServers")); err != nil {
		return nil, err
	}
	r := &MCPRestrictions{At: v.Pos, AllowedServers: names(v.Get("allowedServers")),
		DisallowedServers: names(v.Get("disallowedServers"))}
	var err error
	if r.AllowedTools, err = readTools(v, "allowedTools"); err != nil {
		return nil, err
	}
	if r.DisallowedTools, err = readTools(v, "disallowedTools"); err != nil {
		return nil, err
	}
	return r, nil
}

// Conflict returns why the plan's schema refuses lists that contradict each other, nil where
// it does not: it takes one list of servers, and a tool on one list.
func (r *MCPRestrictions) Conflict() error {
	if r.BothServerLists() {
		return &SchemaError{r.At, "", "mcpRestrictions has both server lists"}
	}
	for _, t := range r.DisallowedTools {
		if slices.ContainsFunc(r.AllowedTools, t.equals) {
			return &SchemaError{t.Server.At, "disallowedTools", "a tool is allowed and disallowed"}
		}
	}
	return nil
}

// BothServerLists reports whether servers are allowed and disallowed. The plan's examples do
// that, with different names; its schema does not take it.
func (r *MCPRestrictions) BothServerLists() bool {
	return r.AllowedServers != nil && r.DisallowedServers != nil
}

func (t Tool) equals(other Tool) bool {
	return t.Server.Text == other.Server.Text && t.Tool.Text == other.Tool.Text
}

// names returns the texts of a list, nil for no list.
func names(v *located.Value) []Name {
	if v == nil {
		return nil
	}
	out := []Name{}
	for _, item := range v.Items {
		out = append(out, Name{item.Text, item.Pos})
	}
	return out
}

// readTools reads a list of tools. It leaves out the empty entries that the editor's
// form writes.
func readTools(v *located.Value, field string) ([]Tool, error) {
	list := v.Get(field)
	if err := failed(check{list, field, list.Is(located.List), "must be an array"}); err != nil {
		return nil, err
	}
	var out []Tool
	for _, item := range list.List() {
		server, ok := Text(item.Get("serverName"))
		tool, also := Text(item.Get("toolName"))
		if !ok || !also {
			return nil, &SchemaError{item.Pos, field, "an entry names a server and a tool"}
		}
		if strings.TrimSpace(server) != "" && strings.TrimSpace(tool) != "" {
			out = append(out, Tool{Name{server, item.Pos}, Name{tool, item.Pos}})
		}
	}
	return out, nil
}

package roo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// judgedServer is a server of mcp.json.
type judgedServer struct {
	at            diag.Pos
	disabled      *located.Value            // the literal true; nil: on
	disabledTools map[string]*located.Value // no wildcard
	alwaysAllow   map[string]*located.Value // "*" stands for every tool
	offByDefault  *located.Value            // the literal false of defaultEnabled; nil: on
}

// openServers reads the project's MCP servers from the first of the files that
// is there. It is strict JSON; one bad server costs the whole file
// (src/services/mcp/McpHub.ts, initializeMcpServers).
func openServers(fsys fs.FS, dialect string, names ...string) (servers map[string]*judgedServer, file string, diags diag.List) {
	file = names[0]
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			continue
		}
		file = name
		if servers, err = loadServers(name, data, dialect); err != nil {
			diags.Warnf(codeArtifact, diag.Pos{File: name}, "got a file of which the agent loads no server: %s", err)
		}
		break
	}
	return servers, file, diags
}

func loadServers(file string, data []byte, dialect string) (map[string]*judgedServer, error) {
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		return nil, errors.New("it begins with a byte order mark, which is no JSON")
	}
	root, err := located.JSON(file, data)
	if err != nil {
		return nil, err
	}
	all := root.Get("mcpServers")
	if !all.Is(located.Object) {
		return nil, errors.New("it has no mcpServers")
	}
	servers := map[string]*judgedServer{}
	for _, m := range all.Members {
		// The last of two equal keys holds, and only it is checked.
		if all.Get(m.Key) != m.Value {
			continue
		}
		if servers[m.Key], err = loadServer(m.Value, dialect); err != nil {
			return nil, within(err, m.Value, "mcpServers."+m.Key)
		}
		servers[m.Key].at = m.Pos
	}
	return servers, nil
}

var urlScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// loadServer is ServerConfigSchema: what decides here, and what costs the file.
// A url without a type passes, as one of type sse.
func loadServer(v *located.Value, dialect string) (*judgedServer, error) {
	if !v.Is(located.Object) {
		return nil, errors.New("a server is an object")
	}
	kind, isString := v.Get("type").Str()
	if err := checkField(v.Get("type"), isString && slices.Contains([]string{"stdio", "sse", "streamable-http"}, kind), "type", fmt.Sprintf("server type must be stdio, sse or streamable-http, received %q", kind)); err != nil {
		return nil, err
	}
	command, _ := v.Get("command").Str()
	url, _ := v.Get("url").Str()
	remote := v.Get("command") == nil && v.Get("args") == nil && v.Get("env") == nil && urlScheme.MatchString(url) && kind != "stdio"
	local := v.Get("url") == nil && v.Get("headers") == nil && command != "" && (kind == "" || kind == "stdio")
	if !remote && !local {
		return nil, errors.New("it is neither a command nor a url")
	}
	for _, field := range []string{"args", "alwaysAllow", "disabledTools", "watchPaths"} {
		_, ok := stringList(v.Get(field))
		if err := checkField(v.Get(field), ok, field, field+" must be an array of strings"); err != nil {
			return nil, err
		}
	}
	for _, field := range []string{"env", "headers"} {
		ok := v.Get(field).Is(located.Object) && !slices.ContainsFunc(v.Get(field).Members, func(m located.Member) bool { return !m.Value.Is(located.String) })
		if err := checkField(v.Get(field), ok, field, field+" must be strings by name"); err != nil {
			return nil, err
		}
	}
	if err := checkField(v.Get("disabled"), v.Get("disabled").Is(located.Bool), "disabled", "disabled must be a bool"); err != nil {
		return nil, err
	}
	seconds, ok := 0.0, v.Get("timeout").Is(located.Number)
	if ok {
		seconds, _ = strconv.ParseFloat(v.Get("timeout").Text, 64)
	}
	if err := checkField(v.Get("timeout"), ok && 1 <= seconds && seconds <= 3600, "timeout", "timeout must be a number from 1 to 3600"); err != nil {
		return nil, err
	}
	s := &judgedServer{disabledTools: byText(v.Get("disabledTools")), alwaysAllow: byText(v.Get("alwaysAllow"))}
	if v.Get("disabled").True() {
		s.disabled = v.Get("disabled")
	}
	if on := v.Get("defaultEnabled"); dialect == restrictions && on != nil {
		if !on.Is(located.Bool) {
			return nil, errors.New("defaultEnabled must be a bool")
		}
		if !on.True() {
			s.offByDefault = on
		}
	}
	return s, nil
}

func byText(v *located.Value) map[string]*located.Value {
	m := map[string]*located.Value{}
	for _, item := range v.List() {
		m[item.Text] = item
	}
	return m
}

// judgedRestrictions is the mode key mcpRestrictions of the restriction plan
// (pull request 5364 of Roo-Code). The plan and its code at 44b5651a
// (src/shared/modes.ts, isServerAllowedForMode, isToolAllowedForModeAndServer)
// differ in three places; what either permits is permitted here:
//
//   - a server that is off by default is opened by allowedServers, and after
//     the plan also by an entry of allowedTools;
//   - allowedTools without an entry limits nothing in the code;
//   - a pattern with a wildcard ignores case in a later state of the code,
//     which makes an allow wider and leaves a disallow as it is.
type judgedRestrictions struct {
	at                                diag.Pos
	allowedServers, disallowedServers []judgedPattern
	servers                           bool // allowedServers is there
	allowedTools, disallowedTools     [][2]judgedPattern
}

// judgedPattern is a name, or a pattern with * and ?.
type judgedPattern struct {
	at             diag.Pos
	text           string
	exact, anyCase *judgedRegex // nil: compared as text
}

func newJudgedPattern(text string, at diag.Pos) judgedPattern {
	p := judgedPattern{at: at, text: text}
	if !strings.ContainsAny(text, "*?") {
		return p
	}
	var b strings.Builder
	for _, r := range text {
		switch r {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		case '.', '+', '^', '$', '{', '}', '(', ')', '|', '[', ']', '\\':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	// Of such a text both are expressions; if not, the pattern matches nothing.
	p.exact, _ = newJudgedRegex("^"+b.String()+"$", false)
	p.anyCase, _ = newJudgedRegex("^"+b.String()+"$", true)
	return p
}

func (p judgedPattern) allows(name string) bool {
	return p.text == name || p.anyCase != nil && p.anyCase.test(name)
}

func (p judgedPattern) disallows(name string) bool {
	return p.text == name || p.exact != nil && p.exact.test(name)
}

func loadRestrictions(v *located.Value) (*judgedRestrictions, error) {
	if !v.Is(located.Object) {
		return nil, errors.New("mcpRestrictions must be an object")
	}
	r := &judgedRestrictions{at: v.Pos}
	for _, list := range []struct {
		field string
		to    *[]judgedPattern
	}{{"allowedServers", &r.allowedServers}, {"disallowedServers", &r.disallowedServers}} {
		_, ok := stringList(v.Get(list.field))
		if err := checkField(v.Get(list.field), ok, list.field, list.field+" must be an array of strings"); err != nil {
			return nil, err
		}
		for _, item := range v.Get(list.field).List() {
			*list.to = append(*list.to, newJudgedPattern(item.Text, item.Pos))
		}
	}
	r.servers = v.Get("allowedServers") != nil
	if r.servers && v.Get("disallowedServers") != nil {
		return nil, &schemaError{v.Pos, "", "mcpRestrictions has both server lists"}
	}
	seen := map[[2]string]bool{}
	for _, list := range []struct {
		field string
		to    *[][2]judgedPattern
	}{{"allowedTools", &r.allowedTools}, {"disallowedTools", &r.disallowedTools}} {
		if err := checkField(v.Get(list.field), v.Get(list.field).Is(located.List), list.field, list.field+" must be an array"); err != nil {
			return nil, err
		}
		for _, item := range v.Get(list.field).List() {
			server, ok := schemaText(item.Get("serverName"))
			tool, also := schemaText(item.Get("toolName"))
			if !ok || !also {
				return nil, &schemaError{item.Pos, list.field, "an entry names a server and a tool"}
			}
			if strings.TrimSpace(server) == "" || strings.TrimSpace(tool) == "" {
				continue // an empty entry of the editor's form
			}
			key := [2]string{server, tool}
			if list.field == "disallowedTools" && seen[key] {
				return nil, &schemaError{item.Pos, list.field, "a tool is allowed and disallowed"}
			}
			seen[key] = true
			*list.to = append(*list.to, [2]judgedPattern{newJudgedPattern(server, item.Pos), newJudgedPattern(tool, item.Pos)})
		}
	}
	return r, nil
}

// server returns where the restrictions hide a server, and whether they do.
// A mode without restrictions has the zero value.
func (r *judgedRestrictions) server(name string, off *located.Value) (rule string, at diag.Pos, hidden bool) {
	for _, p := range r.disallowedServers {
		if p.disallows(name) {
			return "disallowedServers: " + p.text, p.at, true
		}
	}
	if slices.ContainsFunc(r.allowedServers, func(p judgedPattern) bool { return p.allows(name) }) {
		return "", diag.Pos{}, false
	}
	if r.servers {
		return "allowedServers", r.at, true
	}
	if off == nil || slices.ContainsFunc(r.allowedTools, func(p [2]judgedPattern) bool { return p[0].allows(name) }) {
		return "", diag.Pos{}, false
	}
	return "defaultEnabled: false", off.Pos, true
}

// tool returns where the restrictions hide a tool of a visible server.
func (r *judgedRestrictions) tool(server, tool string) (rule string, at diag.Pos, hidden bool) {
	for _, p := range r.disallowedTools {
		if p[0].disallows(server) && p[1].disallows(tool) {
			return "disallowedTools: " + p[0].text + ":" + p[1].text, p[0].at, true
		}
	}
	if len(r.allowedTools) == 0 || slices.ContainsFunc(r.allowedTools, func(p [2]judgedPattern) bool { return p[0].allows(server) && p[1].allows(tool) }) {
		return "", diag.Pos{}, false
	}
	return "allowedTools", r.at, true
}

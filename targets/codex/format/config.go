package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// Policy is when Codex asks before something runs.
type Policy string

const (
	// Untrusted is what Codex goes by in a folder that is not trusted where no configuration has a policy: it asks
	// about every command and every edit.
	Untrusted Policy = ""
	OnRequest Policy = "on-request"
	Never     Policy = "never"
	// Granular is a table that says which questions are asked.
	Granular Policy = "granular"
)

// Sandbox is what commands and edits reach without a question.
type Sandbox string

const (
	NoSandbox  Sandbox = "" // not said
	ReadOnly   Sandbox = "read-only"
	Workspace  Sandbox = "workspace-write"
	FullAccess Sandbox = "danger-full-access"
)

// Mode is whether Codex asks before a tool of a server runs.
type Mode string

const (
	Auto    Mode = "auto" // by what the server says of the tool
	Prompt  Mode = "prompt"
	Writes  Mode = "writes"
	Approve Mode = "approve"
)

// Searches are the values of web_search; the first one takes the tool away.
var Searches = []string{"disabled", "cached", "indexed", "live"}

// Config is a configuration, as far as it decides something.
type Config struct {
	Policy   Policy
	Asks     map[string]bool // what a granular policy asks about: sandbox_approval, rules, mcp_elicitations …
	Sandbox  Sandbox
	Network  bool     // of commands in the sandbox
	Writable []string // further folders
	Search   string   // web_search; "" not said
	Features map[string]bool
	Agents   bool // false where [agents] enabled = false
	Servers  []Server
	Hooks    map[string][]Hook // by the event
	Profile  string            // default_permissions
	Root     *located.Value
	At       map[string]diag.Pos // of keys that are there, as feature names and names of others
}

// Server is an entry of mcp_servers.
type Server struct {
	Name     string
	At       diag.Pos
	Off      bool
	Enabled  []string // enabled_tools; with Limited: no others
	Limited  bool
	Disabled []string
	Default  Mode
	Tools    map[string]Mode
	ToolsAt  map[string]diag.Pos
	Entry    *located.Value
}

// Hook is a command that Codex asks.
type Hook struct {
	Matcher string
	Command string
	Timeout float64 // seconds; 0: not said
	At      diag.Pos
}

// Feature reports whether a feature is on; byItself is what it is where nothing names it.
func (c *Config) Feature(name string, byItself bool) bool {
	if on, ok := c.Features[name]; ok {
		return on
	}
	return bool(byItself)
}

// Server returns the entry of a name, nil for none.
func (c *Config) Server(name string) *Server {
	i := slices.IndexFunc(c.Servers, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Servers[i]
}

// Has reports whether a session has a tool of the server.
func (s *Server) Has(tool string) bool {
	return !s.Off && (!s.Limited || slices.Contains(s.Enabled, tool)) && !slices.Contains(s.Disabled, tool)
}

// Approval returns the mode of a tool.
func (s *Server) Approval(tool string) Mode {
	if m := s.Tools[tool]; m != "" {
		return m
	}
	if s.Default != "" {
		return s.Default
	}
	return Auto
}

// ReadConfig reads a configuration. An error is one for which Codex does not start; its place is in its text.
func ReadConfig(file string, data []byte) (*Config, error) {
	root, err := located.TOML(file, data)
	if err != nil {
		return nil, err
	}
	c := &Config{Root: root, Agents: true, Features: map[string]bool{}, Hooks: map[string][]Hook{},
		At: map[string]diag.Pos{}}
	r := reader{}
	c.policy(&r)
	c.sandbox(&r)
	c.Search = r.oneOf(root.Get("web_search"), "web_search", Searches...)
	c.At["web_search"] = root.Get("web_search").Line()
	for _, m := range root.Get("features").Fields() {
		if m.Value.Is(located.Bool) {
			c.Features[m.Key] = m.Value.True()
			c.At[m.Key] = m.Pos
		}
	}
	if v := root.Get("agents").Get("enabled"); v.Is(located.Bool) {
		c.Agents, c.At["agents"] = v.True(), v.Pos
	}
	for _, m := range root.Get("mcp_servers").Fields() {
		c.Servers = append(c.Servers, r.server(m))
	}
	for _, event := range root.Get("hooks").Fields() {
		c.Hooks[event.Key] = readHooks(event.Value)
	}
	return c, r.err
}

func (c *Config) policy(r *reader) {
	v := c.Root.Get("approval_policy")
	c.At["approval_policy"] = v.Line()
	if v.Is(located.Object) {
		c.Policy, c.Asks = Granular, map[string]bool{}
		for _, m := range v.Get("granular").Fields() {
			c.Asks[m.Key] = m.Value.True()
		}
		return
	}
	c.Policy = Policy(r.oneOf(v, "approval_policy", string(OnRequest), string(Never)))
}

func (c *Config) sandbox(r *reader) {
	v := c.Root.Get("sandbox_mode")
	c.At["sandbox_mode"] = v.Line()
	c.Sandbox = Sandbox(r.oneOf(v, "sandbox_mode", string(ReadOnly), string(Workspace), string(FullAccess)))
	writes := c.Root.Get("sandbox_workspace_write")
	c.Network, c.Writable = writes.Get("network_access").True(), writes.Get("writable_roots").Strings()
	c.Profile, _ = c.Root.Get("default_permissions").Str()
	c.At["default_permissions"] = c.Root.Get("default_permissions").Line()
}

// reader keeps the first problem.
type reader struct{ err error }

func (r *reader) fail(at diag.Pos, message string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", at, fmt.Errorf(message, args...))
	}
}

// oneOf returns a text that is one of some values, "" for none.
func (r *reader) oneOf(v *located.Value, key string, values ...string) string {
	if v == nil {
		return ""
	}
	s, ok := v.Str()
	if !ok || !slices.Contains(values, s) {
		r.fail(v.Pos, "got %s = %q, want one of %s", key, s, diag.Quote(values))
	}
	return s
}

// server reads an entry of mcp_servers.
func (r *reader) server(m located.Member) Server {
	v := m.Value
	s := Server{Name: m.Key, At: m.Pos, Entry: v, Tools: map[string]Mode{}, ToolsAt: map[string]diag.Pos{}}
	if !v.Is(located.Object) {
		r.fail(m.Pos, "got %s, want a table for the server", v.Kind)
		return s
	}
	if command, url := v.Get("command"), v.Get("url"); (command == nil) == (url == nil) {
		r.fail(m.Pos, "a server has a command or a url")
	}
	on := v.Get("enabled")
	s.Off = on.Is(located.Bool) && !on.True()
	if list := v.Get("enabled_tools"); list != nil {
		s.Enabled, s.Limited = list.Strings(), true
	}
	s.Disabled = v.Get("disabled_tools").Strings()
	s.Default = r.mode(v.Get("default_tools_approval_mode"))
	for _, t := range v.Get("tools").Fields() {
		if mode := t.Value.Get("approval_mode"); mode != nil {
			s.Tools[t.Key], s.ToolsAt[t.Key] = r.mode(mode), mode.Pos
		}
	}
	return s
}

func (r *reader) mode(v *located.Value) Mode {
	return Mode(r.oneOf(v, "approval_mode", string(Auto), string(Prompt), string(Writes), string(Approve)))
}

// readHooks reads the hooks of an event.
func readHooks(list *located.Value) (out []Hook) {
	for _, group := range list.List() {
		matcher, _ := group.Get("matcher").Str()
		for _, h := range group.Get("hooks").List() {
			hook := Hook{Matcher: matcher, At: h.Pos}
			hook.Command, _ = h.Get("command").Str()
			if t, ok := h.Get("timeout").Any().(float64); ok {
				hook.Timeout = t
			}
			if kind, _ := h.Get("type").Str(); kind == "command" {
				out = append(out, hook)
			}
		}
	}
	return out
}

// Agent is a file of an agent, to which a session hands work.
type Agent struct {
	Name, Description, Prompt string
	Features                  map[string]bool
	At                        diag.Pos
	Root                      *located.Value
}

// AgentName returns a name of an agent as Codex takes it, from a file and from a call.
func AgentName(text string) string { return strings.TrimSpace(text) }

// ReadAgent reads a file of an agent. An error is one for which Codex does not have the agent.
func ReadAgent(file string, data []byte) (*Agent, error) {
	c, err := ReadConfig(file, data)
	if err != nil {
		return nil, err
	}
	a := &Agent{Features: c.Features, At: diag.Pos{File: file}, Root: c.Root}
	for _, m := range []struct {
		key string
		to  *string
	}{{"name", &a.Name}, {"description", &a.Description}, {"developer_instructions", &a.Prompt}} {
		if *m.to, _ = c.Root.Get(m.key).Str(); m.to == &a.Name {
			a.Name = AgentName(a.Name)
		}
		if *m.to == "" {
			err = errors.Join(err, fmt.Errorf("%s: there is no %s", a.At, m.key))
		}
	}
	return a, err
}

// ServerEntry returns a server as Codex lists it, with variables as Codex takes them from its own environment. It
// returns what of the entry Codex cannot say, too.
func ServerEntry(s Entry) (o contract.Object, problem string) {
	switch {
	case Refers(s.Cwd) || Refers(s.URL):
		return nil, "Codex replaces no variables in " + s.Cwd + s.URL
	case s.Command == "":
		o = append(o, "url", s.URL)
	case !s.spelled():
		o = s.line()
		if s.Cwd != "" {
			o = append(o, "cwd", s.Cwd)
		}
		return o, ""
	default:
		o = append(o, "command", s.Command)
		if len(s.Args) > 0 {
			o = append(o, "args", s.Args)
		}
		if s.Cwd != "" {
			o = append(o, "cwd", s.Cwd)
		}
	}
	more, problem := s.variables()
	return append(o, more...), problem
}

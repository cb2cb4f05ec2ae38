package format

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// The members of a session.
const (
	ArgsKey         = "args"
	HooksKey        = "hooks"
	InstructionsKey = "instructions"
	ServersKey      = "mcpServers"
)

// Before is the event at which Copilot asks a hook about a call.
const Before = "preToolUse"

// The options of a session.
const (
	Available  = "--available-tools"
	Excluded   = "--excluded-tools"
	Allows     = "--allow-tool"
	AllowURLs  = "--allow-all-urls"
	NoBuiltins = "--disable-builtin-mcps"
)

// The rules of --allow-tool about everything of a kind.
const (
	AllowShell = "shell"
	AllowWrite = "write"
)

// Session is what Copilot is started with.
type Session struct {
	Root    *located.Value
	Only    []string // --available-tools; nil: not said
	Without []string // --excluded-tools
	Allowed []string // --allow-tool
	URLs    bool     // --allow-all-urls
	Servers []Server
	Hooks   []Hook // before a tool runs
	At      map[string]diag.Pos
}

// Server is an entry of mcpServers.
type Server struct {
	Name  string
	At    diag.Pos
	Tools []string // nil: every tool
}

// Has reports whether Copilot has a tool of the server.
func (s *Server) Has(tool string) bool {
	return s.Tools == nil || slices.Contains(s.Tools, tool) || slices.Contains(s.Tools, "*")
}

// Hook is a command that Copilot asks.
type Hook struct {
	Command string
	Matcher string
	Timeout float64 // seconds; 0: not said
	Shell   bool    // it is a line of a POSIX shell
	At      diag.Pos
}

// Server returns the entry of a name, nil for none.
func (s *Session) Server(name string) *Server {
	i := slices.IndexFunc(s.Servers, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Servers[i]
}

// ReadSession reads a session. An error is one for which it is not started.
func ReadSession(file string, data []byte) (*Session, error) {
	root, err := located.JSON(file, data)
	if err != nil {
		return nil, err
	}
	if !root.Is(located.Object) {
		return nil, errors.New("got no object")
	}
	s := &Session{Root: root, At: map[string]diag.Pos{}}
	for _, f := range root.Fields() {
		s.At[f.Key] = f.Value.Pos
		switch f.Key {
		case ArgsKey:
			err = s.args(f.Value)
		case HooksKey:
			s.Hooks = ReadHooks(f.Value)
		case ServersKey:
			s.Servers, err = ReadServers(f.Value)
		case InstructionsKey:
			if _, ok := f.Value.Str(); !ok {
				err = fmt.Errorf("%s: got no text", f.Key)
			}
		default:
			err = fmt.Errorf("got the member %q, want %s, %s, %s or %s", f.Key, ArgsKey, HooksKey, InstructionsKey,
				ServersKey)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// args reads the options, of which a build writes few.
func (s *Session) args(v *located.Value) error {
	for _, item := range v.List() {
		arg, _ := item.Str()
		name, value, _ := strings.Cut(arg, "=")
		list := strings.Split(value, ",")
		switch {
		case arg == NoBuiltins:
		case arg == AllowURLs:
			s.URLs = true
		case name == Available && value != "": // an empty one is no filter
			s.Only = append(s.Only, list...)
		case name == Excluded && value != "":
			s.Without = append(s.Without, list...)
		case name == Allows && value != "":
			s.Allowed = append(s.Allowed, value)
		default:
			return fmt.Errorf("got the option %q, which no session of a subject has", arg)
		}
		s.At[name] = item.Pos
	}
	return nil
}

// ReadServers reads a list of servers.
func ReadServers(v *located.Value) (list []Server, err error) {
	for _, f := range v.Fields() {
		s := Server{Name: f.Key, At: f.Value.Pos}
		if tools := f.Value.Get("tools"); tools != nil {
			if !tools.Is(located.List) {
				return nil, fmt.Errorf("the tools of %q are no list", f.Key)
			}
			s.Tools = append([]string{}, tools.Strings()...)
		}
		list = append(list, s)
	}
	return list, nil
}

// ReadHooks returns the hooks that Copilot asks before a tool runs.
func ReadHooks(v *located.Value) (list []Hook) {
	for _, item := range v.Get(Before).List() {
		h := Hook{At: item.Pos}
		h.Command, h.Shell = item.Get("bash").Str()
		h.Matcher, _ = item.Get("matcher").Str()
		if kind, ok := item.Get("type").Str(); ok && kind != "command" {
			h.Shell = false
		}
		if t := item.Get("timeoutSec"); t.Is(located.Number) {
			h.Timeout, _ = strconv.ParseFloat(t.Text, 64)
		}
		list = append(list, h)
	}
	return list
}

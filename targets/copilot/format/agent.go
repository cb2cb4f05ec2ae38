package format

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
)

// Agent is an agent's file.
type Agent struct {
	Name   string   // of its file
	Tools  []string // as they are written
	Listed bool     // false: the agent has every tool
	Hooks  []Hook
	Prompt string
	Root   *located.Value // the front matter
}

var frontMatter = lazy.Regexp(`\A---\r?\n((?s:.*?))\r?\n---(?:\r?\n((?s:.*)))?\z`)

// ReadAgent reads an agent as Copilot does. An error is why it does not load the agent.
func ReadAgent(file string, data []byte) (*Agent, error) {
	m := frontMatter().FindSubmatchIndex(data)
	if m == nil {
		return nil, errors.New("the file does not begin with front matter between lines of ---")
	}
	// The line before stays, so that places are those of the file, and so does the line break of the last one.
	root, err := located.YAML(file, slices.Concat([]byte("\n"), data[m[2]:m[3]], []byte("\n")))
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(located.Reason(err), file+": "))
	}
	if text, _ := root.Get("description").Str(); text == "" {
		return nil, errors.New("an agent needs a description")
	}
	a := &Agent{Root: root, Name: strings.TrimSuffix(path.Base(file), agentEnding), Hooks: ReadHooks(root.Get("hooks"))}
	if m[4] >= 0 {
		a.Prompt = string(data[m[4]:m[5]])
	}
	if tools := root.Get("tools"); tools != nil {
		a.Listed = true
		if text, ok := tools.Str(); ok {
			for name := range strings.SplitSeq(text, ",") {
				a.Tools = append(a.Tools, strings.TrimSpace(name))
			}
		}
		a.Tools = append(a.Tools, tools.Strings()...)
	}
	return a, nil
}

// Pos returns the place of the list of tools, or of the front matter.
func (a *Agent) Pos() diag.Pos {
	if v := a.Root.Get("tools"); v != nil {
		return v.Pos
	}
	return a.Root.Pos
}

// Has reports whether the agent has a tool of Copilot's own.
func (a *Agent) Has(tool string) bool {
	return !a.Listed || slices.Contains(Always, tool) || slices.ContainsFunc(a.Tools, func(name string) bool {
		return name == "*" || name == tool || slices.Contains(Aliases[name], tool)
	})
}

// HasTool reports whether the agent has a tool of a server.
func (a *Agent) HasTool(server, tool string) bool {
	return !a.Listed || slices.ContainsFunc(a.Tools, func(name string) bool {
		return name == "*" || name == ToolName(server, tool) ||
			server != Builtin && (name == server+"/*" || name == server+"/"+tool)
	})
}

// InAgent returns how an agent's list names a tool of a server.
func InAgent(server, tool string) string {
	if server == Builtin {
		return ToolName(server, tool)
	}
	return server + "/" + tool
}

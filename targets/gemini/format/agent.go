package format

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/located"
)

// Agent is an agent's file.
type Agent struct {
	Name, Description, Prompt string
	Root                      *located.Value // the front matter
}

// agentKeys are the keys of an agent's front matter, and what their values are. Gemini CLI does not load an agent with
// any other.
var agentKeys = map[string]func(*located.Value) bool{
	"kind":         func(v *located.Value) bool { s, _ := v.Str(); return s == "local" },
	"name":         isText,
	"description":  isText,
	"display_name": isText,
	"tools":        func(v *located.Value) bool { return v.Is(located.List) },
	"mcp_servers":  func(v *located.Value) bool { return v.Is(located.Object) },
	"model":        isText,
	"temperature":  isNumber,
	"max_turns":    isCount,
	"timeout_mins": isCount,
}

func isText(v *located.Value) bool   { return v.Is(located.String) }
func isNumber(v *located.Value) bool { return v.Is(located.Number) }

var count = regexp.MustCompile(`\A[1-9][0-9]*\z`)

func isCount(v *located.Value) bool { return isNumber(v) && count.MatchString(v.Text) }

var frontMatter = regexp.MustCompile(`\A---\r?\n((?s:.*?))\r?\n---(?:\r?\n((?s:.*)))?\z`)

// ErrRemote is why the file of an agent that runs elsewhere is not read.
var ErrRemote = errors.New("its agent runs elsewhere")

// front reads the front matter of an agent's file, and the text below it.
func front(file string, data []byte) (root *located.Value, prompt string, err error) {
	m := frontMatter.FindSubmatchIndex(data)
	if m == nil {
		return nil, "", errors.New("the file does not begin with front matter between lines of ---")
	}
	// The line before stays, so that places are those of the file, and so does the line break of the last one.
	root, err = located.YAML(file, slices.Concat([]byte("\n"), data[m[2]:m[3]], []byte("\n")))
	if err != nil {
		return nil, "", fmt.Errorf("%s", strings.TrimPrefix(located.Reason(err), file+": "))
	}
	if m[4] >= 0 {
		prompt = string(data[m[4]:m[5]])
	}
	return root, prompt, nil
}

// ServersKeys are the keys of the servers that an agent starts: the one that Gemini CLI 0.61 reads, and that of its
// documentation, with which 0.61 does not load an agent.
var ServersKeys = []string{"mcp_servers", "mcpServers"}

// NamedAgents returns the front matter of each agent that a file names, as any version may read it: also of one that
// runs elsewhere, and of one with a key that 0.61 does not know.
func NamedAgents(file string, data []byte) []*located.Value {
	root, _, err := front(file, data)
	if err != nil {
		return nil
	}
	all := []*located.Value{root}
	if root.Is(located.List) {
		all = root.List()
	}
	return slices.DeleteFunc(slices.Clone(all), func(v *located.Value) bool {
		name, _ := v.Get("name").Str()
		return !AgentName(name)
	})
}

// ReadAgent reads an agent as Gemini CLI does. An error is why it does not load the agent, or [ErrRemote].
func ReadAgent(file string, data []byte) (*Agent, error) {
	root, prompt, err := front(file, data)
	if err != nil {
		return nil, err
	}
	if root.Is(located.List) {
		return nil, ErrRemote
	}
	if kind, _ := root.Get("kind").Str(); kind == "remote" || root.Get("agent_card_url") != nil ||
		root.Get("agent_card_json") != nil {
		return nil, ErrRemote
	}
	for _, f := range root.Fields() {
		is, known := agentKeys[f.Key]
		switch {
		case !known:
			return nil, fmt.Errorf("got the key %q, which no agent may have", f.Key)
		case !is(f.Value):
			return nil, fmt.Errorf("%s: got a value that Gemini CLI does not take", f.Key)
		}
	}
	a := &Agent{Root: root, Prompt: prompt}
	a.Name, _ = root.Get("name").Str()
	a.Description, _ = root.Get("description").Str()
	switch {
	case !AgentName(a.Name):
		return nil, errors.New("an agent's name has letters in lower case, digits, - and _")
	case a.Description == "":
		return nil, errors.New("an agent needs a description")
	}
	for _, item := range root.Get("tools").List() {
		if t, ok := item.Str(); !ok || !ToolOfAgent(t) {
			return nil, fmt.Errorf("tools: Gemini CLI knows no tool %q, and does not load an agent with it", t)
		}
	}
	return a, nil
}

// ToolOfAgent reports whether Gemini CLI takes a name in an agent's list of tools.
func ToolOfAgent(name string) bool {
	rest, mcp := strings.CutPrefix(name, "mcp_")
	if !mcp {
		return name == Every || slices.Contains(builtIn, name) || strings.HasPrefix(name, "discovered_tool_")
	}
	server, tool, _ := strings.Cut(rest, "_")
	return name == EveryMCP || Named(server, tool)
}

// builtIn are the tools that a list may name, legacy names included.
var builtIn = slices.Concat(Searches, Edits, Resources, Harmless, []string{
	ReadFile, Shell, WebFetch, WebSearch, Invoke, Skill, "enter_plan_mode", "exit_plan_mode", OldGrep,
})

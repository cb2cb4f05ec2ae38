package format

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/claude/format/rule"
)

// Agent is the front matter of a subagent's file, and the prompt below it.
type Agent struct {
	Name   string // "" where there is none: Claude Code does not load the file
	Root   *located.Value
	Prompt string
}

// ErrNoFrontMatter is the error about prose beside subagents.
var ErrNoFrontMatter = errors.New(
	"the file has no front matter and is no subagent: add a name and a description, or move it")

// ReadAgent reads a subagent's file. Places are in the file.
func ReadAgent(name string, data []byte) (*Agent, error) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\uFEFF"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	front, body, closed := strings.Cut("\n"+rest, "\n---\n")
	if !closed {
		front, closed = strings.CutSuffix("\n"+rest, "\n---")
	}
	if !ok || !closed {
		return nil, ErrNoFrontMatter
	}
	// The line break before the front matter stands for the line of dashes; that of its last line is part of it.
	front += "\n"
	v, err := located.YAML(name, []byte(front))
	if err != nil {
		mended, again := located.YAML(name, []byte(quoted(front)))
		if again != nil {
			return nil, fmt.Errorf("the front matter does not load: %w", err)
		}
		v = mended
	}
	a := &Agent{Root: v, Prompt: body}
	a.Name, _ = v.Get("name").Str()
	return a, nil
}

var oneLine = regexp.MustCompile(`^([A-Za-z0-9_-]+):[ \t]+(.+)$`)

// quoted quotes the values that are not YAML by themselves, as in `description: Use
// when: always`. Observed on 2.1.329: such a subagent loads, and its other fields hold as
// they are written. One whose value continues on further lines does not load.
func quoted(front string) string {
	lines := strings.Split(front, "\n")
	for i, l := range lines {
		m := oneLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		if _, err := located.YAML("", []byte(l)); err != nil {
			lines[i] = m[1] + ": " + Quote(strings.TrimSpace(m[2]))
		}
	}
	return strings.Join(lines, "\n")
}

// Tools returns the subagent's own list of tools, nil where it has all of the session's.
func (a *Agent) Tools() *located.Value {
	if t := a.Root.Get("tools"); !t.Is(located.Null) {
		return t
	}
	return nil
}

// MemoryTools are the tools that a subagent with a memory of its own (memory) has whatever its
// list of tools leaves out: it keeps the memory by them.
var MemoryTools = []string{"Read", "Write", "Edit"}

// ToolLists returns the lists that limit the tools of the subagent.
func (a *Agent) ToolLists() []ToolList {
	var lists []ToolList
	if t := a.Tools(); t != nil {
		names := ToolNames(t)
		if memory, _ := a.Root.Get("memory").Str(); memory != "" {
			names = append(names, MemoryTools...)
		}
		lists = append(lists, NewToolList(Offered, names))
	}
	if t := a.Root.Get("disallowedTools"); t != nil {
		lists = append(lists, NewToolList(Withheld, ToolNames(t)))
	}
	return lists
}

// ToolNames returns the names of a list of tools, which is a list or a text with commas.
func ToolNames(v *located.Value) []string {
	if text, ok := v.Str(); ok {
		return SplitRules(text, AtCommas)
	}
	return v.Strings()
}

// AllowedTools returns the rules of the allowed-tools of a command or a skill: a list, or a text with
// commas or blanks.
func AllowedTools(v *located.Value) []string {
	if text, ok := v.Str(); ok {
		return SplitRules(text, AtCommasAndBlanks)
	}
	return v.Strings()
}

// ToolListKind says what a list does with the tools that it names.
type ToolListKind int

const (
	Offered        ToolListKind = iota // tools: there are no others
	Withheld                           // disallowedTools: they are taken away
	OfferedBuiltIn                     // --tools: there are no other built-in tools
)

// ToolList is a list of tools of a session.
type ToolList struct {
	kind  ToolListKind
	tools []rule.Tools
}

// NewToolList reads the names of a list. What stands in parentheses limits nothing here.
func NewToolList(kind ToolListKind, names []string) ToolList {
	l := ToolList{kind: kind}
	for _, n := range names {
		if n = ToolName(n); n != "" {
			l.tools = append(l.tools, rule.NewTools(n))
		}
	}
	return l
}

// ToolName returns what an item of a list of tools names, without what stands in parentheses.
func ToolName(item string) string {
	name, _, _ := strings.Cut(item, "(")
	if name = strings.TrimSpace(name); name == "Task" {
		return "Agent"
	}
	return name
}

// Leaves reports whether the list leaves a tool to the session.
func (l ToolList) Leaves(tool string) bool {
	if l.kind == OfferedBuiltIn && strings.HasPrefix(tool, "mcp__") {
		return true
	}
	return l.has(tool) != (l.kind == Withheld)
}

// Names reports whether the list offers a tool by its name.
func (l ToolList) Names(tool string) bool { return l.kind != Withheld && l.has(tool) }

// NamesBuiltIn reports whether the list is that of --tools and offers a tool by its
// name.
func (l ToolList) NamesBuiltIn(tool string) bool { return l.kind == OfferedBuiltIn && l.has(tool) }

// Tools returns what is named in the list.
func (l ToolList) Tools() []rule.Tools { return l.tools }

func (l ToolList) has(tool string) bool {
	return slices.ContainsFunc(l.tools, func(t rule.Tools) bool { return t.Has(tool) })
}

package format

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// AgentExtras is what agents.claude.settings of a mode says about its subagent.
type AgentExtras struct {
	File   string    // below [AgentsFolder]; "" for that of the slug
	Name   string    // "" for the slug
	Mode   string    // permissionMode; "" where nothing is said
	Prompt *string   // in place of the mode's texts
	Tools  *[]string // nil: those that the mode's groups give
	// Disallowed are taken away, beside what the mode's groups deny.
	Disallowed []string
	More       map[string]any // further keys of the front matter
}

// ReadAgentExtras reads agents.claude.settings of a mode. It returns an error for each setting that has
// another form than Claude Code takes; the setting is then left out.
func ReadAgentExtras(m *ir.Mode) (x AgentExtras, errs []SettingError) {
	x.More = map[string]any{}
	fields := m.Extra["claude"].Fields
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if err := x.set(m, key, fields[key]); err != nil {
			errs = append(errs, SettingError{key,
				fmt.Sprintf("got %v for agents.claude.settings.%s, %v", fields[key], key, err)})
		}
	}
	return x, errs
}

// SettingError says what is wrong with one setting.
type SettingError struct{ Key, Text string }

// AgentMode returns the permission mode that a mode writes for its subagent, "" for none.
func AgentMode(m *ir.Mode) string {
	mode, _ := m.Extra["claude"].Fields["permissionMode"].(string)
	return meaning(mode)
}

// meaning returns the permission mode that a word means, "" for none.
func meaning(word string) string {
	switch {
	case word == Manual, word == Delegate:
		return Default
	case IsMode(word):
		return word
	}
	return ""
}

func (x *AgentExtras) set(m *ir.Mode, key string, value any) error {
	text, isText := value.(string)
	switch key {
	case "file":
		if !isText || !IsAgentFile(text) {
			return fmt.Errorf("want a path below %s that ends in .md", AgentsFolder)
		}
		x.File = text
	case "name":
		if !isText || text != strings.TrimSpace(text) || strings.ContainsAny(text, "\n\r\t") ||
			contract.Slug(text) != m.Slug {
			return fmt.Errorf("want a name of which %q is the slug", m.Slug)
		}
		x.Name = text
	case "permissionMode":
		if !IsMode(text) {
			return fmt.Errorf("want %s", ModeNames)
		}
		x.Mode = text
	case "prompt":
		if !isText {
			return errText
		}
		x.Prompt = &text
	case "model":
		if m.Model != "" {
			return errModel
		}
		x.More[key] = value
	case "tools", "disallowedTools":
		names, ok := contract.Texts(value)
		switch {
		case !ok:
			return errNames
		case key == "tools":
			x.Tools = &names
		default:
			x.Disallowed = names
		}
	case "mcpServers":
		if _, ok := contract.Texts(value); !ok {
			return errServers
		}
		x.More[key] = value
	case "maxTurns":
		if n, ok := value.(float64); !ok || n < 1 || n != float64(int(n)) {
			return errCount
		}
		x.More[key] = value
	default:
		x.More[key] = value
	}
	return nil
}

const (
	errText    extraError = "want text"
	errCount   extraError = "want a whole number above 0"
	errNames   extraError = "want a list of names of tools"
	errModel   extraError = "want it once: the mode has a model"
	errServers extraError = "want names of servers: write a server that the mode would start in servers"
)

// extraError says which form a setting has to have.
type extraError string

func (e extraError) Error() string { return string(e) }

// IsAgentFile reports whether a path is one of a subagent's file below [AgentsFolder].
func IsAgentFile(file string) bool {
	return contract.LocalPath(file) && path.Clean(file) == file && strings.HasSuffix(file, ".md") &&
		path.Base(file) != ".md"
}

// AgentPath returns the path of a mode's subagent.
func AgentPath(m *ir.Mode) string {
	file, _ := m.Extra["claude"].Fields["file"].(string)
	if !IsAgentFile(file) {
		file = m.Slug + ".md"
	}
	return AgentsFolder + "/" + file
}

// AgentName returns the name of a mode's subagent.
func AgentName(m *ir.Mode) string {
	x, _ := ReadAgentExtras(m)
	return cmp.Or(x.Name, m.Slug)
}

// AgentKeys are the keys of the front matter that Claude Code reads.
var AgentKeys = strings.Fields("name description tools disallowedTools model permissionMode maxTurns skills " +
	"mcpServers hooks memory background effort isolation color initialPrompt autoCompactWindow omitClaudeMd cacheTtl")

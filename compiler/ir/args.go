package ir

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Args are the arguments with which a call of an MCP tool matches a pattern: {"repo":"acme/*"} has a glob for each of
// them, by its name or by its path in objects ("owner.login"). A pattern with "" matches every call.
type Args string

// NewArgs returns the condition of globs by argument.
func NewArgs(globs map[string]string) (Args, error) {
	if len(globs) == 0 {
		return "", errors.New(`no argument is named: write one, as {tool: "create_issue", args: {repo: "acme/*"}}`)
	}
	for name := range globs {
		if slices.Contains(strings.Split(name, "."), "") {
			return "", fmt.Errorf("got the argument %q, want its name, or its path in objects such as \"owner.login\"",
				name)
		}
	}
	data, err := json.Marshal(globs)
	return Args(data), err
}

// Fields returns the arguments with their globs, sorted by name.
func (a Args) Fields() (list []Field) {
	globs := map[string]string{}
	_ = json.Unmarshal([]byte(a), &globs) // NewArgs wrote it
	for _, name := range slices.Sorted(maps.Keys(globs)) {
		list = append(list, Field{name, globs[name]})
	}
	return list
}

// String writes the condition as a person reads it.
func (a Args) String() string {
	var parts []string
	for _, f := range a.Fields() {
		parts = append(parts, fmt.Sprintf("%s %q", f.Name, f.Value))
	}
	return strings.Join(parts, " and ")
}

// ByArgs lists the rules whose patterns match calls with some arguments only, with their servers.
func (c *Can) ByArgs() (rules []TimedRule) {
	if c == nil || c.MCP == nil {
		return nil
	}
	for _, e := range c.MCP.Entries {
		for _, r := range slices.Concat(e.Rules, e.Timed) {
			if r.Pattern.Args != "" {
				rules = append(rules, TimedRule{Group: MCP, Server: e.Key, Rule: r})
			}
		}
	}
	return rules
}

// ByArgs reports whether some rule matches calls with some arguments only.
func (p *Project) ByArgs() bool {
	found := len(p.Everyone.ByArgs()) > 0
	p.EachCan(func(_ SubjectRef, _ string, can *Can) { found = found || len(can.ByArgs()) > 0 })
	return found
}

// MarshalJSON writes the condition as an object.
func (a Args) MarshalJSON() ([]byte, error) { return []byte(a), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *Args) UnmarshalJSON(data []byte) (err error) {
	var globs map[string]string
	if err = json.Unmarshal(data, &globs); err == nil {
		*a, err = NewArgs(globs)
	}
	return err
}

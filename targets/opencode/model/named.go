package model

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// NamedCalls returns the calls of the tools that rules of a subject's files name: those of servers that are not given,
// searching the web, and the tools that no group has.
func (d *Decider) NamedCalls(ref ir.SubjectRef, servers []string) (all []policy.Action) {
	add := func(a policy.Action) {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	known := map[string]bool{format.Every: true}
	for i := range d.setups[ref] {
		for _, r := range d.session(ref, i).Rules {
			if r.At.File == "" || known[r.Key] {
				continue
			}
			known[r.Key] = true
			if format.Match(r.Key, format.WebSearch) {
				add(policy.Action{Group: ir.Web})
			}
			for _, tool := range append([]string{format.Skill}, d.program.Tools...) {
				if r.Key != tool && format.Match(r.Key, tool) {
					add(toolCall(tool))
				}
			}
			name := anySign.Replace(r.Key)
			if d.decides(name) || ofServer(r.Key, servers) {
				continue
			}
			add(toolCall(name))
			server, tool, ok := strings.Cut(name, "_")
			if ok && server != "" && !slices.Contains(d.program.Tools, name) {
				add(policy.Action{Group: ir.MCP, Server: server, Arg: tool})
			}
		}
	}
	return all
}

// toolCall returns the call of a tool that is of no server. What a skill is, the source decides as a mode.
func toolCall(name string) policy.Action {
	if name == format.Skill {
		return policy.Action{Group: ir.Modes, Arg: contract.UnknownMode}
	}
	return policy.Action{Group: ir.Unknown, Arg: name}
}

// anySign writes a name in the place of a pattern.
var anySign = strings.NewReplacer("*", "x", "?", "x")

// decides reports whether a key is of tools that other actions stand for, or that touch nothing but the conversation.
func (d *Decider) decides(key string) bool {
	if key == "" || key == format.Outside || key == format.WebSearch || key == anySign.Replace(format.WebFetchAddress) {
		return true
	}
	for _, of := range keys {
		if key == of {
			return true
		}
	}
	return slices.Contains(d.program.Searches, key) ||
		slices.Contains(format.Harmless, key) || slices.Contains(format.Quiet, key)
}

// ofServer reports whether a key is of tools of one of some servers.
func ofServer(key string, servers []string) bool {
	return slices.ContainsFunc(servers, func(name string) bool {
		return strings.HasPrefix(key, format.Sanitized(name)+"_")
	})
}

// skills returns the most that is decided about any skill that rules tell apart.
func (s *Session) skills() Outcome {
	best := s.ask(format.Skill, contract.UnknownMode)
	for _, r := range s.about(format.Skill) {
		o := s.ask(format.Skill, anySign.Replace(r.Pattern))
		if r.Decision > best.Decision && o.Decision > best.Decision {
			best = o
		}
	}
	return best
}

package claude

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/claude/format"
)

// Runs lists the permission modes of the modes' subagents, a role's variables, and the hooks of skills and
// commands. A session that reads the project's files also has what people wrote there.
func (claude) Runs(
	project fs.FS, emitted []contract.File, p *ir.Project, subjects []ir.SubjectRef,
) (out []contract.Run) {
	for _, ref := range subjects {
		of := ref.String()
		if r := p.Role(ref.Role); r != nil {
			for _, name := range slices.Sorted(maps.Keys(environment(r))) {
				out = append(out, contract.Run{Of: of, Text: "variable " + name + "=" + r.Env[name]})
			}
			continue
		}
		m := p.Mode(ref.Mode)
		if m == nil { // of a project with servers alone
			continue
		}
		x, _ := format.ReadAgentExtras(m)
		if x.Mode != "" && x.Mode != format.Default && x.Mode != format.Plan {
			out = append(out, contract.Run{Of: of, Text: "permissionMode " + x.Mode})
		}
	}
	for _, g := range (claude{}).Grants(project, nil) {
		out = append(out, contract.Run{Of: g.At.File, Text: "allow " + g.Rule + " while it is active"})
	}
	hooks := func(list []contract.Lodger) {
		for _, l := range list {
			if l.Kind == contract.EntryHook {
				text := "hook " + l.When + " " + l.Name + " of the " + l.Of
				out = append(out, contract.Run{Of: l.At.File, Text: text})
			}
		}
	}
	hooks((claude{}).Hooks(project, nil))
	if first := subjects[0]; first.Role != "" && first.Role != p.Baseline {
		return out
	}
	if project != nil {
		written := memfs.FS{}
		for _, f := range emitted {
			written[f.Path] = f.Data
		}
		hooks((claude{}).Lodgers(project, written))
	}
	for _, file := range []string{format.ProjectSettings, format.LocalSettings} {
		read := settingsIn(project, file, file)
		if read == nil {
			continue
		}
		own := &format.Settings{}
		for _, f := range emitted {
			if f.Path == file {
				own, _ = format.ReadSettings(file, f.Data)
			}
		}
		out = append(out, beside(file, own, read)...)
	}
	return out
}

// harmlessSettings are what of a settings file runs nothing and permits nothing.
var harmlessSettings = []string{"$schema", "attribution", "cleanupPeriodDays", "effortLevel", "gitAttribution", "hooks",
	"includeCoAuthoredBy", "language", "model", "outputStyle", "permissions", "respectGitignore",
	"spinnerTipsEnabled", "theme", "disableAllHooks"}

// beside returns what people wrote into a settings file beside modec's own entries.
func beside(file string, own, read *format.Settings) (out []contract.Run) {
	add := func(place, what, text string) {
		out = append(out, contract.Run{Of: file, Text: what + " " + text, Place: place})
	}
	hooks := commandsOf(own.Hooks)
	for _, event := range read.Hooks.Fields() {
		for _, line := range commandsOf(&located.Value{Kind: located.Object, Members: []located.Member{event}}) {
			if !slices.Contains(hooks, line) {
				add("/hooks", "hook", line)
			}
		}
	}
	if mode, ok := format.ModeOf(read.Mode); ok && (own.Mode == nil || own.Mode.Text != mode) &&
		mode != format.Default && mode != format.Plan {
		add("/permissions/defaultMode", "defaultMode", mode)
	}
	rules := allowRules(own)
	for _, text := range allowRules(read) {
		if !slices.Contains(rules, text) {
			add("/permissions/allow", "allow", text)
		}
	}
	folders := directoriesOf(own)
	for _, dir := range directoriesOf(read) {
		if !slices.Contains(folders, dir) {
			add("/permissions/"+moreDirectories, moreDirectories, dir)
		}
	}
	for _, m := range read.Root.Fields() {
		if !slices.Contains(harmlessSettings, m.Key) && own.Root.Get(m.Key) == nil {
			add("/"+m.Key, m.Key, string(contract.JSONLine(m.Value.Any())))
		}
	}
	return out
}

// moreDirectories is the key of the folders outside the project in which a session works too.
const moreDirectories = "additionalDirectories"

func directoriesOf(s *format.Settings) []string {
	return s.Root.Get("permissions").Get(moreDirectories).Strings()
}

func allowRules(s *format.Settings) (list []string) {
	for _, item := range s.Rules {
		if text, ok := item.Str(); ok && item.List == ir.Allow {
			list = append(list, text)
		}
	}
	return list
}

// commandsOf returns the hooks of a settings file: each with its event and what it is for.
func commandsOf(hooks *located.Value) (lines []string) {
	for _, event := range hooks.Fields() {
		for _, group := range event.Value.List() {
			matcher, _ := group.Get("matcher").Str()
			for _, h := range group.Get("hooks").List() {
				command, ok := h.Get("command").Str()
				if !ok {
					command = string(contract.JSONLine(h.Any()))
				}
				lines = append(lines, fmt.Sprintf("%s(%s): %s", event.Key, matcher, command))
			}
		}
	}
	return lines
}

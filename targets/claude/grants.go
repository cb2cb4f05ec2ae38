package claude

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/targets/claude/format"
)

// Grants returns the rules of allowed-tools in commands and skills. Observed on 2.1.329: while a session
// follows one they allow as rules of its settings do, whoever trusts the folder: a deny, an ask and a
// hook go before them, and plan and dontAsk do not. A skill of another folder is there once the session has read a
// file in that, a command is not (2.1.330).
func (claude) Grants(project fs.FS, nested []string) (grants []contract.Grant) {
	eachPrompt(project, nested, func(_ string, a *format.Agent) {
		list := a.Root.Get("allowed-tools")
		for _, item := range format.AllowedTools(list) {
			grants = append(grants, contract.Grant{Rule: item, At: list.Pos})
		}
	})
	return grants
}

// Hooks returns the hooks of commands and skills: they run while a session follows one.
func (claude) Hooks(project fs.FS, nested []string) (list []contract.Lodger) {
	eachPrompt(project, nested, func(file string, a *format.Agent) {
		list = append(list, hooksOf(a, promptNamed(file))...)
	})
	return list
}

// hooksOf returns the hooks in a front matter, and what brings them.
func hooksOf(a *format.Agent, of string) []contract.Lodger {
	list := contract.Hooks(a.Root.Get("hooks"), format.Guards...)
	for i := range list {
		list[i].Of, list[i].Listed = of, true
	}
	return list
}

// promptNamed names a command or a skill.
func promptNamed(file string) string {
	if path.Base(file) == "SKILL.md" {
		return "skill " + path.Base(path.Dir(file))
	}
	return "command " + strings.TrimSuffix(path.Base(file), ".md")
}

// eachPrompt reads the commands and skills of a project, and some skills in other folders.
func eachPrompt(project fs.FS, nested []string, read func(file string, a *format.Agent)) {
	if project == nil {
		return
	}
	add := func(file string) {
		data, err := contract.ReadImport(project, file)
		if err != nil {
			return
		}
		if a, err := format.ReadAgent(file, data); err == nil {
			read(file, a)
		}
	}
	skills := format.Skills(project)
	for _, file := range skills {
		add(file)
	}
	for _, file := range nested {
		if !slices.Contains(skills, file) {
			add(file)
		}
	}
	_ = contract.EachFile(project, format.CommandsFolder, func(file string) {
		if path.Ext(file) == ".md" {
			add(file)
		}
	})
}

// Nested matches the skills of all folders.
func (claude) Nested() string { return "**/" + format.SkillsFolder + "/*/SKILL.md" }

// Granted returns the project's settings with rules as allows of their own.
func (claude) Granted(project fs.FS, grants []contract.Grant) *contract.File {
	settings := map[string]any{}
	data, err := contract.ReadImport(project, format.ProjectSettings)
	if err == nil && json.Unmarshal(data, &settings) != nil {
		return nil
	}
	permissions, _ := settings["permissions"].(map[string]any)
	if permissions == nil {
		permissions = map[string]any{}
	}
	allow, _ := permissions["allow"].([]any)
	for _, g := range grants {
		allow = append(allow, g.Rule)
	}
	permissions["allow"] = allow
	settings["permissions"] = permissions
	data, err = json.Marshal(settings)
	if err != nil {
		return nil
	}
	return &contract.File{Path: format.ProjectSettings, Data: data}
}

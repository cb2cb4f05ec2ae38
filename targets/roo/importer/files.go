package importer

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/roo/format"
)

// Files lists what the agents of some dialects have in a project.
func Files(dialects ...format.Dialect) (files []contract.AgentFile) {
	for _, d := range dialects {
		files = append(files, filesOf(d)...)
	}
	return files
}

const (
	forAll  = "instructions for every mode, which no mode owns; no permissions"
	forNone = "instructions for a mode that is not imported; no permissions"
)

func filesOf(d format.Dialect) (files []contract.AgentFile) {
	at := d.Layout()
	add := func(name string, reason contract.Reason, why string) {
		files = append(files, contract.AgentFile{Path: name, Reason: reason, Why: why})
	}
	imported := slices.Concat(at.Modes, at.Servers)
	if d == format.Stock {
		imported = append(imported, globalModes...)
	}
	for _, name := range imported {
		f := contract.AgentFile{Path: name, Imported: true}
		if d == format.Kilo {
			f = contract.AgentFile{Path: name, Reason: contract.NoTarget,
				Why: "modec builds nothing into this file of Kilo's extension before, where it stays in force: " +
					"`modec migrate --from kilo` imports it for Kilo"}
		}
		files = append(files, f)
	}
	for _, name := range at.Ignore {
		add(name, contract.Permission, "it hides files from the agent's own tools, and stays in force")
	}
	for _, prefix := range at.Single {
		add(prefix+"*", contract.Instructions, forNone)
		add(strings.TrimSuffix(prefix, "-"), contract.Instructions, forAll)
		add(strings.TrimSuffix(prefix, "-")+"/", contract.Instructions, forAll)
	}
	for _, prefix := range at.Rules {
		add(prefix+"*/", contract.Instructions, forNone)
		add(strings.TrimSuffix(prefix, "-")+"/", contract.Instructions, forAll)
	}
	dir := path.Dir(at.Servers[0])
	add(dir+"/commands/", contract.Prompts, "prompts, no permissions")
	add(dir+"/skills/", contract.Prompts, "skills and what belongs to them, no permissions")
	add(dir+"/skills-*/", contract.Prompts, "skills and what belongs to them, no permissions")
	add(dir+"/tools/", contract.Programs, "tools that every mode has, which the source cannot say: they stay in force")
	if d != format.Kilo { // Kilo has more in its folder
		add(dir+"/", contract.Unknown, "modec knows no permission that the agent reads from it")
	}
	_, prefix, _ := strings.Cut(at.Extension, ".")
	return append(files, contract.AgentFile{Path: ".vscode/settings.json", Look: editorSettings(prefix + ".")})
}

// editorSettings looks for what the settings of an editor say to an extension.
func editorSettings(prefix string) func(data []byte) (contract.Reason, string) {
	return func(data []byte) (contract.Reason, string) {
		v, err := located.JSONC("", data)
		if err != nil {
			return "", ""
		}
		reason, why := contract.Reason(""), ""
		for _, m := range v.Fields() {
			key, ok := strings.CutPrefix(m.Key, prefix)
			switch {
			case !ok:
			case key == "allowedCommands" || key == "deniedCommands":
				return contract.Permission, m.Key + " decides on commands for whoever opens the folder, in every " +
					"mode: it is not imported, and stays in force"
			default:
				reason, why = contract.Settings, "settings of the extension, no permissions"
			}
		}
		return reason, why
	}
}

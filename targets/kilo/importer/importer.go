// Package importer turns Kilo's files into a source: the settings of a project, and its agents, as those of opencode,
// of which Kilo is made. It reads one file of settings; what else Kilo reads beside it stays in force, and is named.
//
// The modes and servers of Kilo's extension before have Roo Code's form, and are imported as such, where somebody asks
// for them: by name, or by the format. What they permit is what the extension made of them.
package importer

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/kilo/format"
	opencode "modec.dev/modec/targets/opencode/format"
	base "modec.dev/modec/targets/opencode/importer"
	before "modec.dev/modec/targets/roo/format"
	extension "modec.dev/modec/targets/roo/importer"
)

const codeImport diag.Code = "kilo-import"

// Codes documents the codes that Import reports.
func Codes() []diag.Doc {
	return []diag.Doc{{Code: codeImport, Text: "Kilo itself goes on without a file to import: it is not JSON, or a " +
		"permission in it is none. The import does without it too, and leaves it as it is. Mend the file first."}}
}

// kilo is where Kilo has its files, and what it makes of them.
var kilo = base.Program{
	Name: "kilo", Title: "Kilo", Code: codeImport, Refuses: "goes on without",
	WithoutFrontMatter: "the permissions of every agent",
	Files:              format.OwnFiles, File: format.ConfigFile,
	Order: format.ProjectFiles(),
	Dirs:  []string{format.Dir, format.OldDir},
	Home: []base.Home{
		{Dir: ".config/kilo", Files: []string{"config.json", "kilo.json", "kilo.jsonc"}},
		{Dir: format.OldDir, Files: settings}, {Dir: format.Dir, Files: settings},
	},
	Beside: []contract.AgentFile{
		{Path: "mcp.json", Reason: contract.NoTarget, Why: "servers of the extension before, which Kilo reads too: " +
			"`modec migrate --from kilo FILE` imports them"},
		{Path: "opencode.json", Reason: contract.Permission, Why: besideOwn},
		{Path: "opencode.jsonc", Reason: contract.Permission, Why: besideOwn},
		{Path: "rules/", Reason: contract.Instructions, Why: instructions},
		{Path: "rules-*/", Reason: contract.Instructions, Why: instructions},
		{Path: "workflows/", Reason: contract.Prompts, Why: "prompts, no permissions"},
		{Path: "plans/", Reason: contract.Prompts, Why: "plans that agents wrote, no permissions"},
	},
	BuiltIn: format.BuiltIn, Read: format.ReadConfig, Nulls: opencode.WithNulls, Floor: floor,
	Reserved: map[string]string{
		"build": "an older name of code", "compaction": byItself, "summary": byItself, "title": byItself,
		"explore": behind, "plan": behind,
	},
}

var settings = []string{"kilo.jsonc", "kilo.json"}

const (
	byItself     = "an agent that Kilo runs by itself"
	behind       = "an agent of Kilo's, which puts rules of its own behind all others"
	besideOwn    = "Kilo reads it beside its own settings: name the file to import it"
	instructions = "instructions for every mode, which no mode owns; no permissions"
)

// floor reports settings that deny everything until others take that back, as a build writes them.
func floor(root *located.Value) bool {
	rules, _, problem := opencode.ReadPermission(root.Get("permission"), opencode.WithoutNulls)
	if problem != "" || len(rules) == 0 || rules[0].Key != opencode.Every {
		return false
	}
	for _, r := range rules {
		if r.Decision != ir.Deny {
			return false
		}
	}
	return !slices.ContainsFunc(root.Fields(), func(m located.Member) bool {
		return m.Key != "$schema" && m.Key != "permission"
	})
}

// Import reads settings and agents, and by itself what the extension before had where somebody asks for it.
func Import(src contract.Source) (own, old contract.Imported, diags diag.List) {
	rest := src
	if src.Files != nil {
		named, others := []string{}, []string{}
		for _, f := range src.Files {
			if isOld(f, src.Format) {
				named = append(named, f)
			} else {
				others = append(others, f)
			}
		}
		src.Files, rest.Files = others, named
	}
	if len(src.Files) > 0 || src.Files == nil {
		own, diags = kilo.Import(src)
	}
	if rest.Args == nil && (len(rest.Files) > 0 || rest.Files == nil && rest.Format != "") {
		var list diag.List
		old, list = extension.Import(rest, before.Kilo)
		diags = append(diags, list...)
	}
	return own, old, diags
}

// isOld reports whether a file is one of the extension before, by its name. Where the format is asked for, more names
// are than those that no other agent has.
func isOld(file, asked string) bool {
	of := before.Kilo.Layout()
	file = path.Clean(file)
	name := path.Base(file)
	switch {
	case strings.HasSuffix(name, of.Modes[0]), name == of.Ignore[0], strings.HasSuffix("/"+file, "/"+of.Servers[0]):
		return true
	case asked == "":
		return false
	case name == "mcp.json", name == "mcp_settings.json":
		return true
	}
	return !slices.Contains([]string{".md", ".json", ".jsonc"}, path.Ext(name))
}

// Files lists what Kilo has in a project.
func Files() []contract.AgentFile {
	return append(extension.Files(before.Kilo), kilo.AgentFiles()...)
}

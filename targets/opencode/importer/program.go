package importer

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/opencode/format"
)

// Program is opencode, or a program that is made of it: where its files are, and what it makes of them.
type Program struct {
	Name  string // of the target
	Title string // what people call it
	Code  diag.Code

	// Files are the settings of a project that can be imported, and File is the one that a build writes by itself.
	Files []string
	File  string
	// Order are all settings of a project that the program reads, those of another program among them, as it reads
	// them: the last one decides.
	Order []string
	// Dirs are the folders with agents in a project; a build places those of a home folder below the first one.
	Dirs []string
	Home []Home
	// Beside is what such a folder has that opencode's has not.
	Beside []contract.AgentFile

	// Refuses says what the program does with a file that has an error, and WithoutFrontMatter which permissions it
	// gives an agent of which it cannot read the front matter.
	Refuses, WithoutFrontMatter string
	BuiltIn                     []string
	// Reserved says of names of agents why no mode can have them.
	Reserved map[string]string
	Read     func(file string, data []byte) (*format.Config, diag.List)
	Nulls    format.Nulls
	// Floor reports settings that deny everything until others are read; nil: there are none.
	Floor func(root *located.Value) bool
}

// Home is a folder below a person's own where the program looks for settings and agents.
type Home struct {
	Dir   string
	Files []string
}

// agentAt returns the name that a file gives to its agent, "" for a file of none.
func (p *Program) agentAt(file string) string {
	for _, dir := range p.Dirs {
		if name := format.AgentIn(dir, file); name != "" {
			return name
		}
	}
	return ""
}

// isSettings reports whether settings have the name of a file.
func (p *Program) isSettings(base string) bool {
	return slices.ContainsFunc(p.Files, func(f string) bool { return path.Base(f) == base })
}

// inProject returns the name that a file would have in a project whose folder lies somewhere.
func (p *Program) inProject(name string) string {
	for _, dir := range p.Dirs {
		if at := strings.LastIndex("/"+name, "/"+dir+"/"); at >= 0 {
			return name[at:]
		}
	}
	return name
}

package lastmatch

import (
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/opencode/format"
)

// Places are where an agent reads its files in a project.
type Places struct {
	Files []string // of settings
	Dirs  []string // with agents, plugins and tools
	// Before is a file of modes of which the agent makes agents, and ReadBefore reads it; nil: it has none.
	Before     string
	ReadBefore func(file string, data []byte) *format.Config
	// BuiltIn are its own agents, of which a file may say other rules; Start is the one that the model judges by them.
	BuiltIn []string
	Start   string
}

// Lodgers returns what an agent loads from a project beside the compiled files.
func (p Places) Lodgers(project, compiled fs.FS) (out []contract.Lodger) {
	built, settings := p.settings(compiled), p.settings(project)
	ours, all := p.merged(compiled, built), p.merged(project, settings)
	servers, written := map[string]*located.Value{}, map[string]*located.Value{} // of all files, and of each
	for _, c := range built {
		written[c.Root.Pos.File] = c.Root.Get("mcp")
		for _, m := range c.Root.Get("mcp").Fields() {
			servers[m.Key] = m.Value
		}
	}
	for _, a := range p.before(project).Agents {
		if is := all.Agent(a.Name); ours.Agent(a.Name) == nil && !is.Disabled {
			out = append(out, contract.Lodger{Kind: contract.EntryAgent, Name: contract.Slug(a.Name), At: a.At})
		}
	}
	agent := func(a *format.Agent) {
		if l, ok := p.agent(a, ours, all); ok {
			out = append(out, l)
		}
	}
	for _, c := range settings {
		for i := range c.Agents {
			// What a file says of an agent of modec's, the agent reads together with what modec's says.
			if was := ours.Agent(c.Agents[i].Name); was == nil || was.Disabled {
				agent(&c.Agents[i])
			}
		}
		for _, item := range c.Root.Get("plugin").List() {
			out = append(out, contract.Lodger{Kind: contract.EntryPlugin, Name: format.PluginName(item), At: item.Pos})
		}
		out = append(out, started(c.Root)...)
		for _, m := range c.Root.Get("mcp").Fields() {
			if l, ok := server(m, servers[m.Key]); ok {
				if _, other := server(m, written[c.Root.Pos.File].Get(m.Key)); other { // than a build wrote there
					out = append(out, l)
				}
			}
		}
	}
	for _, dir := range p.Dirs {
		out = append(out, programs(project, compiled, dir)...)
		format.EachMarkdown(project, dir, func(file, below string, data []byte) {
			if _, err := fs.Stat(compiled, file); err != nil {
				a := format.ReadMarkdown(file, below, data)
				agent(&a)
			}
		})
	}
	return out
}

// started returns the programs that an agent runs on files by itself: those that format one, and that tell what is
// wrong in it.
func started(root *located.Value) (out []contract.Lodger) {
	for _, list := range []struct{ key, of string }{{"formatter", "formatter"}, {"lsp", "language server"}} {
		for _, m := range root.Get(list.key).Fields() {
			words := m.Value.Get("command").Strings()
			if len(words) > 0 && !m.Value.Get("disabled").True() {
				out = append(out, contract.Lodger{Kind: contract.EntryTool, Name: strings.Join(words, " "),
					Of: list.of + " " + m.Key, Entry: m.Value, At: m.Pos})
			}
		}
	}
	return out
}

// agent returns an agent of a file by what a build wrote and by all files together; false for one that is off, and for
// one of the agent's own that the file leaves as it is.
func (p Places) agent(a *format.Agent, ours, all *format.Config) (contract.Lodger, bool) {
	was := ours.Agent(a.Name)
	back := was != nil && was.Disabled && a.Enabled
	name := contract.Slug(a.Name)
	if name == "" || name != a.Name && ours.Agent(name) != nil {
		name = a.Name // it is no mode of the source
	}
	l := contract.Lodger{Kind: contract.EntryAgent, Name: name, At: a.At}
	switch {
	case back:
		return l, !all.Agent(a.Name).Disabled
	case a.Disabled, all.Agent(a.Name).Disabled, was != nil && was.Disabled, a.Name == p.Start:
		return l, false
	}
	return l, !slices.Contains(p.BuiltIn, a.Name) || len(a.Permission) > 0
}

// settings reads the files of settings that are there.
func (p Places) settings(fsys fs.FS) (all []*format.Config) {
	for _, name := range p.Files {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			continue
		}
		if c := format.ReadFile(name, data, format.WithNulls, func(diag.Pos, string) {}); c != nil {
			all = append(all, c)
		}
	}
	return all
}

// before returns the agents that the agent makes of modes.
func (p Places) before(fsys fs.FS) *format.Config {
	if p.ReadBefore != nil {
		if data, err := fs.ReadFile(fsys, p.Before); err == nil {
			if c := p.ReadBefore(p.Before, data); c != nil {
				return c
			}
		}
	}
	return &format.Config{}
}

// merged returns what the agent makes of settings and all other files.
func (p Places) merged(fsys fs.FS, settings []*format.Config) *format.Config {
	all := p.before(fsys)
	for _, c := range settings {
		all = format.Merged(all, c)
	}
	for _, dir := range p.Dirs {
		format.EachMarkdown(fsys, dir, func(file, below string, data []byte) {
			a := format.ReadMarkdown(file, below, data)
			all = format.Merged(all, &format.Config{Agents: []format.Agent{a}})
		})
	}
	return all
}

// server returns what an entry starts that a build did not write; false for the same, and for one that only says
// less.
func server(m located.Member, ours *located.Value) (contract.Lodger, bool) {
	on := m.Value.Get("enabled")
	l := contract.Lodger{Kind: contract.EntryServer, Name: m.Key, At: m.Pos, Instead: ours != nil,
		Starts: len(m.Value.Get("command").Strings()) > 0 && (on == nil || on.True())}
	starts := false
	for _, key := range []string{"type", "command", "cwd", "environment", "url", "headers"} {
		v := m.Value.Get(key)
		if v != nil && (ours.Get(key) == nil || !reflect.DeepEqual(v.Any(), ours.Get(key).Any())) {
			starts = true
		}
	}
	return l, starts
}

// programs returns the plugins and the tools of a folder.
func programs(project, compiled fs.FS, dir string) (out []contract.Lodger) {
	for _, of := range []struct{ dir, kind string }{
		{"plugin", contract.EntryPlugin}, {"plugins", contract.EntryPlugin}, {"tool", contract.EntryTool},
		{"tools", contract.EntryTool},
	} {
		for _, ending := range []string{"js", "ts"} {
			names, _ := fs.Glob(project, dir+"/"+of.dir+"/*."+ending)
			for _, name := range names {
				if _, err := fs.Stat(compiled, name); err != nil {
					out = append(out, contract.Lodger{Kind: of.kind, Name: path.Base(name), At: diag.Pos{File: name}})
				}
			}
		}
	}
	return out
}

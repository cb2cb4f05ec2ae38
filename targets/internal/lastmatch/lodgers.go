package lastmatch

import (
	"io/fs"
	"path"
	"reflect"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/opencode/format"
)

// Places are where an agent reads its files in a project.
type Places struct {
	Files []string // of settings
	Dirs  []string // with agents, plugins and tools
	// BuiltIn are its own agents, of which a file may say other rules; Start is the one that the model judges by them.
	BuiltIn []string
	Start   string
}

// Lodgers returns what an agent loads from a project beside the compiled files.
func (p Places) Lodgers(project, compiled fs.FS) (out []contract.Lodger) {
	ours := map[string]*located.Value{} // the servers
	agents := map[string]bool{}
	read := func(fsys fs.FS, name string) *format.Config {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil
		}
		return format.ReadFile(name, data, format.WithNulls, func(diag.Pos, string) {})
	}
	for _, name := range p.Files {
		if c := read(compiled, name); c != nil {
			for _, m := range c.Root.Get("mcp").Fields() {
				ours[m.Key] = m.Value
			}
			for i := range c.Agents {
				agents[c.Agents[i].Name] = true
			}
		}
	}
	agent := func(a *format.Agent, at diag.Pos) {
		own := slices.Contains(p.BuiltIn, a.Name)
		if !a.Disabled && a.Name != p.Start && (!own || len(a.Permission) > 0) {
			out = append(out, contract.Lodger{Kind: contract.EntryAgent, Name: contract.Slug(a.Name), At: at})
		}
	}
	for _, name := range p.Files {
		c := read(project, name)
		if c == nil {
			continue
		}
		_, err := fs.Stat(compiled, name)
		for i := range c.Agents {
			if a := &c.Agents[i]; err != nil || !agents[a.Name] {
				agent(a, a.At)
			}
		}
		for _, item := range c.Root.Get("plugin").List() {
			text, _ := item.Str()
			out = append(out, contract.Lodger{Kind: contract.EntryPlugin, Name: text, At: item.Pos})
		}
		for _, m := range c.Root.Get("mcp").Fields() {
			if l, ok := server(m, ours[m.Key]); ok {
				out = append(out, l)
			}
		}
	}
	for _, dir := range p.Dirs {
		out = append(out, programs(project, compiled, dir)...)
		format.EachMarkdown(project, dir, func(file, below string, data []byte) {
			if _, err := fs.Stat(compiled, file); err != nil {
				a := format.ReadMarkdown(file, below, data)
				agent(&a, a.At)
			}
		})
	}
	return out
}

// server returns what an entry starts that a build did not write; false for the same, and for one that only says
// less.
func server(m located.Member, ours *located.Value) (contract.Lodger, bool) {
	l := contract.Lodger{Kind: contract.EntryServer, Name: m.Key, At: m.Pos, Instead: ours != nil}
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

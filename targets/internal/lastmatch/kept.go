package lastmatch

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/located"
)

// keptKeys are the settings of a project that permit nothing, and that its sessions need: without the files of the
// project there is no model.
var keptKeys = []string{"compaction", "disabled_providers", "enabled_providers", "instructions", "keybinds", "model",
	"provider", "small_model", "theme", "username"}

// Settings returns the variable by which a session has these in spite of not reading the project's files: they stand in
// a file of their own, below everything else that the session has. None where a person has set the variable.
func (p Places) Settings(opt contract.ArgsOptions, variable, schema string) []string {
	root := opt.Root
	if opt.Copies == nil || os.Getenv(variable) != "" {
		return nil
	}
	kept := map[string]any{}
	for _, name := range p.Files {
		v, err := contract.ReadJSONC(os.DirFS(root), name)
		if err != nil {
			continue // opencode does not start with it, and Kilo goes on without it
		}
		for _, m := range v.Fields() {
			value := m.Value.Any()
			switch {
			case !slices.Contains(keptKeys, m.Key):
				continue
			case m.Key == "instructions":
				value = instructions(root, m.Value)
			}
			kept[m.Key] = joinedWith(kept[m.Key], at(value, filepath.ToSlash(filepath.Join(root, path.Dir(name)))))
		}
	}
	if len(kept) == 0 {
		return nil
	}
	kept["$schema"] = schema
	return []string{variable + "=" + opt.Copies.Put(contract.File{Path: "settings.json", Data: contract.JSON(kept)})}
}

// instructions returns the files of a project that every agent is told.
func instructions(root string, list *located.Value) (files []any) {
	for _, text := range list.Strings() {
		if fs.ValidPath(path.Clean(text)) && !strings.HasPrefix(text, "~") && !strings.Contains(text, "://") {
			files = append(files, filepath.Join(root, filepath.FromSlash(text)))
		}
	}
	return files
}

// joinedWith returns what two files say together, the second one decides.
func joinedWith(a, b any) any {
	x, is := a.(map[string]any)
	y, too := b.(map[string]any)
	if !is || !too {
		return b
	}
	out := maps.Clone(x)
	for key, value := range y {
		out[key] = joinedWith(out[key], value)
	}
	return out
}

// at returns a value with its references to files as they are read in a folder.
func at(v any, dir string) any {
	switch v := v.(type) {
	case string:
		return elsewhere(v, dir)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = at(v[i], dir)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = at(value, dir)
		}
		return out
	}
	return v
}

// Loads returns the providers of a project that a session has: a program may be one, and an address to which all that
// is said goes.
func (p Places) Loads(project fs.FS) (out []contract.Lodger) {
	for _, name := range p.Files {
		root, err := contract.ReadJSONC(project, name)
		if err != nil {
			continue
		}
		for _, m := range root.Get("provider").Fields() {
			out = append(out, contract.Lodger{Kind: contract.EntrySetting, Name: "provider " + m.Key, Entry: m.Value,
				At: m.Pos})
		}
	}
	return out
}

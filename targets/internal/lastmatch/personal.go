package lastmatch

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/opencode/format"
)

// Homes are where an agent reads what a user has for every project. It does so in a session too, and joins what it
// finds there with what the session says of an agent, or a server, of the same name.
type Homes struct {
	Name     string   // of its folder among the settings of a user, and of a system
	Prefix   string   // of its variables
	Settings []string // the names of the files of settings in each of its folders
	Dirs     []string // its folders in the home
	// Before are files of modes in the home of which the agent makes agents, and ReadBefore reads one.
	Before     []string
	ReadBefore func(file string, data []byte) *format.Config
}

// plainMembers are those of an agent that permit nothing, and leave it where it is.
var plainMembers = []string{"color", "description", "maxSteps", "model", "name", "options", "prompt", "steps",
	"temperature", "top_p", "variant"}

// Replaces returns what has the agent load no plugin in a session with modec's, or a file of the user's own that has
// something of the name of an agent, or of a server, of a session.
func (h *Homes) Replaces(line contract.CommandLine) (contract.Replacement, bool) {
	content := contract.Variable(line.Variables, h.Prefix+"_CONFIG_CONTENT")
	session, err := located.JSON("", []byte(content))
	if content == "" || err != nil {
		return contract.Replacement{}, false
	}
	if session.Get("plugin") != nil {
		pure, does := h.Prefix+"_PURE", h.Name+" loads no plugin, and with it not modec's hook"
		if slices.Contains(line.Own, "--pure") {
			return contract.ByOption("--pure", does), true
		}
		if contract.Variable(line.Env, pure) != "" {
			return contract.Replacement{What: pure, Does: does, Instead: "unset it"}, true
		}
	}
	var what string
	agent := func(file, name string, says *located.Value) {
		if on(session, name) && slices.ContainsFunc(says.Fields(), func(m located.Member) bool {
			return !slices.Contains(plainMembers, m.Key)
		}) {
			what = "the agent " + name + " in " + file
		}
	}
	for _, file := range h.files(line.Env) {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		root, err := located.JSONC(file, data)
		if err != nil {
			continue // opencode does not start with it, and Kilo goes on without it
		}
		for _, m := range append(slices.Clone(root.Get("mode").Fields()), root.Get("agent").Fields()...) {
			agent(file, m.Key, m.Value)
		}
		for _, m := range root.Get("mcp").Fields() {
			if ours := session.Get("mcp").Get(m.Key); ours != nil && addsTo(ours, m.Value) {
				what = "the server " + m.Key + " in " + file
			}
		}
	}
	for _, dir := range h.folders(line.Env) {
		format.EachMarkdown(os.DirFS(dir), ".", func(file, below string, data []byte) {
			if root, _, err := format.FrontMatter(file, data); err == nil { // else it has no member
				agent(filepath.Join(dir, file), format.ReadMarkdown(file, below, data).Name, root)
			}
		})
	}
	for _, m := range h.modes(line.Env) {
		if on(session, m.Name) {
			what = "the mode " + m.Name + " in " + m.At.File
		}
	}
	return contract.Replacement{What: what, Does: h.Name + " joins it with that of the session",
		Instead: "give it another name, or take it out"}, what != ""
}

// on reports whether a session has an agent.
func on(session *located.Value, name string) bool {
	a := session.Get("agent").Get(name)
	return a != nil && !a.Get("disable").True()
}

// modes returns the agents that are made of modes.
func (h *Homes) modes(env []string) (all []format.Agent) {
	for _, home := range h.homes(env) {
		for _, name := range h.Before {
			file := filepath.Join(home, filepath.FromSlash(name))
			data, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			if c := h.ReadBefore(file, data); c != nil {
				all = append(all, c.Agents...)
			}
		}
	}
	return all
}

// addsTo reports whether an entry of a server says something of what is started, or reached, that another one does not.
func addsTo(ours, is *located.Value) bool {
	return slices.ContainsFunc(is.Fields(), func(m located.Member) bool {
		was := ours.Get(m.Key)
		return m.Key != "enabled" && (was == nil || !reflect.DeepEqual(was.Any(), m.Value.Any()))
	})
}

// files returns the files of settings, the last one decides.
func (h *Homes) files(env []string) (files []string) {
	if file := contract.Variable(env, h.Prefix+"_CONFIG"); file != "" {
		files = append(files, file)
	}
	for _, dir := range h.folders(env) {
		for _, name := range h.Settings {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files
}

// folders returns the folders with settings and agents.
func (h *Homes) folders(env []string) (dirs []string) {
	if config := contract.Variable(env, "XDG_CONFIG_HOME"); config != "" {
		dirs = append(dirs, filepath.Join(config, h.Name))
	}
	for _, home := range h.homes(env) {
		for _, dir := range append([]string{filepath.Join(".config", h.Name)}, h.Dirs...) {
			dirs = append(dirs, filepath.Join(home, dir))
		}
	}
	if dir := contract.Variable(env, h.Prefix+"_CONFIG_DIR"); dir != "" {
		dirs = append(dirs, dir)
	}
	return append(dirs, filepath.Join("/etc", h.Name))
}

// homes returns the home folder of a user, by each of its variables: the agents' own tests have one more.
func (h *Homes) homes(env []string) (dirs []string) {
	for _, name := range []string{"HOME", "USERPROFILE", h.Prefix + "_TEST_HOME"} {
		if dir := contract.Variable(env, name); dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

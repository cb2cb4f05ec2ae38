package format

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
)

// The codes of what opencode itself refuses.
const (
	BadFile diag.Code = "bad-opencode-file"
)

// Config is what a file says of permissions.
type Config struct {
	Root       *located.Value
	Permission []Rule
	Agents     []Agent
	Default    string // default_agent
	NoDefault  bool   // a null takes back what a file before said of it
	Plugins    []string
}

// Agent is an agent of a file.
type Agent struct {
	Name       string
	At         diag.Pos
	Disabled   bool
	Enabled    bool // it says that it is not disabled, whatever a file before said
	Permission []Rule
}

// switched reads whether an agent is on.
func (a *Agent) switched(v *located.Value) {
	if off := v.Get("disable"); off != nil {
		a.Disabled, a.Enabled = off.True(), !off.True()
	}
}

// Agent returns the agent of a name, nil for none.
func (c *Config) Agent(name string) *Agent {
	for i := range c.Agents {
		if c.Agents[i].Name == name {
			return &c.Agents[i]
		}
	}
	return nil
}

// ReadConfig reads a file. It fails where opencode does: nothing runs in its folder then.
func ReadConfig(file string, data []byte) (*Config, diag.List) {
	var diags diag.List
	c := ReadFile(file, data, WithoutNulls, func(at diag.Pos, problem string) {
		diags.Errorf(BadFile, at, "opencode does not start with this file: %s", problem).
			Hint("`modec build` rewrites what it wrote")
	})
	return c, diags
}

// ReadFile reads a file, and reports what is wrong with it. It returns nil where it is no JSON. What the
// configuration leads to may be another caller's too: nobody changes it.
func ReadFile(file string, data []byte, n Nulls, bad func(at diag.Pos, problem string)) *Config {
	of := fileRead{file, string(data), n}
	was, ok := lastRead.Get(of)
	if !ok {
		was.config = readFile(file, data, n, func(at diag.Pos, problem string) {
			was.problems = append(was.problems, problemAt{at, problem})
		})
		lastRead.Put(of, was)
	}
	for _, p := range was.problems {
		bad(p.at, p.problem)
	}
	if was.config == nil {
		return nil
	}
	c := *was.config
	return &c
}

// lastRead keeps what was read last: models, importers and what looks for agents beside a build read the same files.
var lastRead = cache.New[fileRead, wasRead](2)

type fileRead struct {
	file, data string
	nulls      Nulls
}

type wasRead struct {
	config   *Config
	problems []problemAt
}

type problemAt struct {
	at      diag.Pos
	problem string
}

func readFile(file string, data []byte, n Nulls, bad func(at diag.Pos, problem string)) *Config {
	root, err := located.JSONC(file, data)
	if err != nil {
		bad(located.PlaceOf(file, err), located.Reason(err))
		return nil
	}
	c := &Config{Root: root}
	read := func(v *located.Value) []Rule {
		rules, at, problem := ReadPermission(v, n)
		if problem != "" {
			bad(at, problem)
		}
		return rules
	}
	c.Permission = read(root.Get("permission"))
	c.Default, _ = root.Get("default_agent").Str()
	for _, item := range root.Get("plugin").List() {
		c.Plugins = append(c.Plugins, PluginName(item))
	}
	c.NoDefault = bool(n) && root.Get("default_agent").Is(located.Null)
	for _, list := range []string{"mode", "agent"} { // by their older name first
		for _, m := range root.Get(list).Fields() {
			a := Agent{Name: m.Key, At: m.Pos}
			a.switched(m.Value)
			a.Permission = WithTools(m.Value.Get("tools"), read(m.Value.Get("permission")))
			c.Agents = append(c.Agents, a)
		}
	}
	c.Permission = WithTools(root.Get("tools"), c.Permission)
	return c
}

// WithTools returns the rules of a permission, and those of the older way to say which tools there are: these stand
// before it, and what both say of a key the permission says alone, in that place.
func WithTools(list *located.Value, permission []Rule) []Rule {
	tools := readTools(list)
	if tools == nil {
		return permission
	}
	return mergedRules(tools, permission)
}

// readTools returns the rules of the older way.
func readTools(v *located.Value) (rules []Rule) {
	for _, m := range ordered(v.Fields()) {
		word := "deny"
		if m.Value.True() {
			word = "allow"
		}
		d, _ := Decision(word)
		rules = append(rules, Rule{Key: listedKey(m.Key), Pattern: Every, Decision: d, At: m.Pos, Form: Listed,
			Tool: m.Key})
	}
	return rules
}

// listedKey returns the key by which a tool of the list of tools is decided.
func listedKey(tool string) string {
	switch tool {
	case "write", "patch", "multiedit", "apply_patch":
		return Edit
	}
	return tool
}

// ProjectFiles are the files that every session reads, the last one decides.
var ProjectFiles = []string{ConfigFile, ConfigFile + "c", Dir + "/" + ConfigFile, Dir + "/" + ConfigFile + "c"}

// Merged returns what two files say together. A key that both have stands where the first one has it, with what
// the second one says.
func Merged(a, b *Config) *Config {
	if a == nil {
		return b
	}
	out := &Config{Root: b.Root, Permission: mergedRules(a.Permission, b.Permission), Default: a.Default,
		Plugins: slices.Concat(a.Plugins, b.Plugins)}
	if b.Default != "" || b.NoDefault {
		out.Default = b.Default
	}
	out.Agents = append(out.Agents, a.Agents...)
	for _, x := range b.Agents {
		if own := out.Agent(x.Name); own != nil {
			own.Permission = mergedRules(own.Permission, x.Permission)
			own.Disabled = x.Disabled || own.Disabled && !x.Enabled
			continue
		}
		out.Agents = append(out.Agents, x)
	}
	return out
}

func mergedRules(a, b []Rule) []Rule {
	var keys []string
	of := map[string][]Rule{}
	type pattern struct{ key, text string }
	index := make(map[pattern]int, len(a)+len(b)) // among the rules of the key
	for _, r := range a {
		if of[r.Key] == nil {
			keys = append(keys, r.Key)
		}
		index[pattern{r.Key, r.Pattern}] = len(of[r.Key])
		of[r.Key] = append(of[r.Key], r)
	}
	seen := map[string]bool{}
	for _, r := range b {
		was := of[r.Key]
		if was == nil {
			keys = append(keys, r.Key)
		} else {
			r.Place = cmp.Or(was[0].Place, was[0].At)
		}
		same := pattern{r.Key, r.Pattern}
		i, twice := index[same]
		twice = twice && i < len(was) && was[i].Pattern == r.Pattern
		switch {
		case was == nil, r.Form != Patterned, was[0].Form != Patterned && !seen[r.Key]:
			// a decision alone gives way, and takes the place
			of[r.Key], index[same] = []Rule{r}, 0
		case twice:
			r.Place = cmp.Or(was[i].Place, was[i].At)
			was[i] = r
		default:
			of[r.Key], index[same] = append(was, r), len(was)
		}
		seen[r.Key] = true
	}
	var out []Rule
	for _, k := range keys {
		out = append(out, of[k]...)
	}
	return out
}

// AgentFolders are the folders below one of the agent's own in which it reads agents from Markdown, and those that it
// reads from the folders below, too.
var AgentFolders = []struct {
	Name  string
	Below bool
}{{"agent", Deep}, {"agents", Deep}, {"mode", Flat}, {"modes", Flat}}

// Deep and Flat say whether the folders below are read.
const (
	Deep = true
	Flat = false
)

// EachMarkdown calls do with each file of an agent below a folder of a program's own, and its path below the folder of
// agents.
func EachMarkdown(fsys fs.FS, dir string, do func(file, below string, data []byte)) {
	for _, folder := range AgentFolders {
		dir := path.Join(dir, folder.Name)
		_ = contract.EachFile(fsys, dir, func(file string) {
			if path.Ext(file) != ".md" || path.Dir(file) != dir && !folder.Below {
				return
			}
			if data, err := fs.ReadFile(fsys, file); err == nil {
				do(file, strings.TrimPrefix(file, dir+"/"), data)
			}
		})
	}
}

// ReadMarkdown reads an agent from Markdown by its path below the folder of agents. Of one whose front matter is broken
// opencode takes the name, and no permission.
func ReadMarkdown(file, below string, data []byte) Agent {
	a, _ := ReadAgent(file, below, data, WithoutNulls)
	return a
}

// ReadAgent reads one, and says what is wrong with its permission.
func ReadAgent(file, below string, data []byte, n Nulls) (_ Agent, problem string) {
	a := Agent{Name: strings.TrimSuffix(below, ".md"), At: diag.Pos{File: file}}
	root, _, err := FrontMatter(file, data)
	if err != nil {
		return a, ""
	}
	if own, ok := root.Get("name").Str(); ok && own != "" {
		a.Name = own
	}
	a.switched(root)
	rules, _, problem := ReadPermission(root.Get("permission"), n)
	if problem == "" {
		a.Permission = WithTools(root.Get("tools"), rules)
	}
	return a, problem
}

// FrontMatter returns what Markdown says before its text, and the text. Without front matter there is nothing but text.
func FrontMatter(file string, data []byte) (*located.Value, string, error) {
	m := frontMatter().FindSubmatchIndex(data)
	if m == nil {
		return &located.Value{Kind: located.Object, Pos: diag.Pos{File: file, Line: 1, Col: 1}}, string(data), nil
	}
	// The line before stays, so that places are those of the file, and so does the line break of the last one.
	root, err := located.YAML(file, slices.Concat([]byte("\n"), data[m[2]:m[3]], []byte("\n")))
	if err != nil {
		return nil, "", err
	}
	if m[4] < 0 {
		return root, "", nil
	}
	return root, string(data[m[4]:m[5]]), nil
}

var frontMatter = lazy.Regexp(`\A---\r?\n((?s:.*?))\r?\n---(?:\r?\n((?s:.*)))?\z`)

// AgentAt returns the name that a file gives to its agent, "" for a file of none.
func AgentAt(file string) string { return AgentIn(Dir, file) }

// AgentIn returns that for the files below a folder of an agent that is made of opencode.
func AgentIn(dir, file string) string {
	for _, d := range AgentFolders {
		rest, in := strings.CutPrefix(file, dir+"/"+d.Name+"/")
		if in && strings.HasSuffix(rest, ".md") && (d.Below || !strings.Contains(rest, "/")) {
			return strings.TrimSuffix(rest, ".md")
		}
	}
	return ""
}

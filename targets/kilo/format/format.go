// Package format is what Kilo's files look like where they differ from those of opencode, of which Kilo is made: their
// names, and what becomes of a file with an error. Rules and patterns are those of the format of opencode.
//
// Source: the program in the npm package @kilocode/cli-linux-x64 7.7.9.
package format

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/opencode/format"
)

// Older is the name that the agent [Default] had before. Once Kilo has merged its files, the one of both that they name
// last is that agent.
const Older = "build"

// The files of a project.
const (
	// FloorFile is the first one that every session reads.
	FloorFile = "kilo.json"
	// Dir is the folder of Kilo, and OldDir the one of its extension before.
	Dir    = ".kilo"
	OldDir = ".kilocode"
	// ConfigFile has the agents and the servers, and stands behind the others of a project.
	ConfigFile = Dir + "/kilo.json"
	// ModesFile has modes of the extension before. Kilo makes agents of them, and reads it even where it reads no other
	// file of the project.
	ModesFile = ".kilocodemodes"
	// Schema is what a file names in $schema: Kilo rewrites one without it.
	Schema = "https://app.kilo.ai/config.json"
)

// The settings that every session reads, the last one decides: those at the root, and in each folder those of Kilo's.
var (
	RootFiles = []string{FloorFile, FloorFile + "c", format.ConfigFile, format.ConfigFile + "c"}
	Dirs      = []string{OldDir, Dir}
	DirFiles  = []string{"kilo.jsonc", "kilo.json", "opencode.jsonc", "opencode.json"}
)

// ProjectFiles returns all of them.
func ProjectFiles() []string {
	files := slices.Clone(RootFiles)
	for _, dir := range Dirs {
		for _, name := range DirFiles {
			files = append(files, dir+"/"+name)
		}
	}
	return files
}

// OwnFiles are those of ProjectFiles that are Kilo's alone.
var OwnFiles = []string{FloorFile, FloorFile + "c", ConfigFile + "c", ConfigFile, OldDir + "/kilo.jsonc",
	OldDir + "/kilo.json"}

// AgentAt returns the name that a file gives to its agent, "" for a file of none.
func AgentAt(file string) string {
	return cmp.Or(format.AgentIn(Dir, file), format.AgentIn(OldDir, file))
}

// BadFile is the code of a file that Kilo goes on without.
const BadFile diag.Code = "bad-kilo-file"

// OldServerFiles have servers of the extension before, which Kilo reads as it reads ModesFile.
var OldServerFiles = []string{OldDir + "/mcp.json", Dir + "/mcp.json"}

// SessionFile returns the file of the sessions of a role, or of a mode by itself.
func SessionFile(ref ir.SubjectRef) string { return format.SessionOf("kilo", ref) }

// Default is the agent of a session for which no file names one.
const Default = "code"

// BuiltIn are Kilo's own agents to which a person or a session can turn.
var BuiltIn = []string{Default, "ask", "debug", "explore", "general", "orchestrator", "plan"}

// Semantic is the key of the tool that searches by meaning.
const Semantic = format.ToolSemantic

// HookFile is the plugin by which Kilo asks modec about every call.
const HookFile = Dir + format.PluginFile

// Searches are the keys of tools that look below folders.
var Searches = append(slices.Clip(format.Searches), Semantic)

// Unasked returns the patterns of the commands that Kilo runs by itself without asking.
func Unasked() (out []string) {
	for _, program := range strings.Fields("cat head tail less ls tree pwd echo wc which type file diff du df date " +
		"uname whoami printenv man grep rg ag sort uniq cut tr jq touch mkdir cp mv tsc tsgo tar unzip gzip gunzip") {
		out = append(out, program+" *")
	}
	return out
}

// Denied are tools of its own that Kilo denies by itself.
var Denied = []string{"suggest", "question", "plan_enter", "plan_exit", "repo_clone", "repo_overview"}

// Secret are files that no rule for every file, or for every tool, allows to be read unasked.
var Secret = []string{"*.env", "*.env.*"}

// NotSecret is a pattern of those that are not, though one of Secret matches them.
const NotSecret = "*.env.example"

// IsSecret reports whether a file is one of Secret.
func IsSecret(file string) bool {
	return !format.Match(NotSecret, file) && slices.ContainsFunc(Secret, func(p string) bool {
		return format.Match(p, file)
	})
}

// protected are files at the root about which Kilo asks before it writes them, whatever is allowed.
var protected = []string{"kilo.json", "kilo.jsonc", "opencode.json", "opencode.jsonc", "AGENTS.md"}

// Protected reports whether Kilo asks before it writes a file of the project, whatever is allowed: its own settings and
// AGENTS.md.
func Protected(file string) bool {
	file = path.Clean(strings.ReplaceAll(file, `\`, "/"))
	for _, dir := range []string{Dir, OldDir} {
		switch {
		case file == dir, strings.HasSuffix(file, "/"+dir):
			return true
		case strings.HasPrefix(file, dir+"/"):
			if !strings.HasPrefix(file, dir+"/plans/") {
				return true
			}
		}
		if _, below, ok := strings.Cut(file, "/"+dir+"/"); ok && !strings.HasPrefix(below, "plans/") {
			return true
		}
	}
	return slices.Contains(protected, file)
}

// ProtectedFiles returns the plain files that are Protected.
func ProtectedFiles(sp *regexlang.Space) regexlang.Language {
	return once(sp, "protected", func() regexlang.Language {
		var any []regexlang.Language
		for _, name := range protected {
			any = append(any, sp.Text(name))
		}
		for _, dir := range []string{Dir, OldDir} {
			whole, below, plans := sp.Text(dir), "/"+dir+"/", sp.Cat(sp.Text("plans/"), regexlang.All)
			anywhere := sp.Cat(regexlang.All, sp.Text(below), regexlang.All)
			// Kilo looks at the first folder of the name alone.
			first := sp.Cat(sp.Before(sp.Not(anywhere), "/"+dir), sp.Text(below), plans)
			any = append(any, whole, sp.Cat(regexlang.All, sp.Text("/"), whole),
				sp.Cat(whole, sp.Text("/"), sp.Not(plans)), sp.Without(anywhere, first))
		}
		return sp.Or(any...)
	})
}

// SecretFiles returns the plain files that are secret.
func SecretFiles(sp *regexlang.Space) regexlang.Language {
	return once(sp, "secret", func() regexlang.Language {
		matched := func(patterns ...string) regexlang.Language {
			var any []regexlang.Language
			for _, p := range patterns {
				of, err := format.Language(sp, p, format.AsWritten)
				if err != nil {
					panic(err) // a pattern of this package's own
				}
				any = append(any, of)
			}
			return sp.Or(any...)
		}
		return sp.Without(matched(Secret...), matched(NotSecret))
	})
}

// files names languages of this package.
type files string

func once(sp *regexlang.Space, name files, language func() regexlang.Language) regexlang.Language {
	l, _ := sp.Once(name, func() (regexlang.Language, error) { return language(), nil })
	return l
}

// ReadConfig reads a file. Kilo goes on without one that has an error, with what the others say.
func ReadConfig(file string, data []byte) (*format.Config, diag.List) {
	var diags diag.List
	c := format.ReadFile(file, data, format.WithNulls, func(at diag.Pos, problem string) {
		diags.Errorf(BadFile, at, "Kilo goes on without this file: %s", problem).
			Hint("`modec build` rewrites what it wrote")
	})
	return c, diags
}

// Kept returns rules without those that a null took back.
func Kept(rules []format.Rule) []format.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r format.Rule) bool { return r.Null })
}

// Taken returns those that a null took back.
func Taken(rules []format.Rule) []format.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r format.Rule) bool { return !r.Null })
}

// groups are the keys of a permission that a group of the extension before becomes; what a mode does not have of
// groupKeys is denied.
var (
	groups    = map[string]string{"read": "read", "edit": "edit", "browser": "bash", "command": "bash", "mcp": "mcp"}
	groupKeys = []string{"read", "edit", "bash", "mcp"}
	native    = []string{"code", "build", "architect", "ask", "debug", "orchestrator"}
)

// ReadModes reads the modes of the extension before, of which the last one of a slug counts. Kilo goes on without a
// file that is no YAML.
func ReadModes(file string, data []byte) *format.Config {
	root, err := located.YAML(file, data)
	if err != nil {
		return nil
	}
	c := &format.Config{Root: root}
	for _, m := range root.Get("customModes").List() {
		slug, _ := m.Get("slug").Str()
		if slug == "" || slices.Contains(native, slug) {
			continue
		}
		c.Agents = slices.DeleteFunc(c.Agents, func(a format.Agent) bool { return a.Name == slug })
		c.Agents = append(c.Agents, format.Agent{Name: slug, At: m.Pos, Permission: ofGroups(m.Get("groups"))})
	}
	return c
}

// ofGroups returns the rules that groups become.
func ofGroups(v *located.Value) (rules []format.Rule) {
	set := func(key string, list ...format.Rule) {
		at := slices.IndexFunc(rules, func(r format.Rule) bool { return r.Key == key })
		if at < 0 {
			at = len(rules)
		}
		rest := slices.DeleteFunc(rules, func(r format.Rule) bool { return r.Key == key })
		rules = slices.Insert(rest, at, list...) // as JavaScript keeps the place of a key
	}
	seen := map[string]bool{}
	for _, g := range v.List() {
		name, tuple := g.Str()
		var limit *located.Value
		if items := g.List(); !tuple && len(items) > 0 {
			name, _ = items[0].Str()
			if len(items) > 1 {
				limit = items[1].Get("fileRegex")
			}
		}
		key := groups[name]
		if key == "" {
			key = name
		}
		seen[key] = true
		if expression, ok := limit.Str(); ok && expression != "" {
			set(key, format.Rule{Key: key, Pattern: expression, Decision: ir.Allow, At: g.Pos},
				format.Rule{Key: key, Pattern: format.Every, Decision: ir.Deny, At: g.Pos})
			continue
		}
		set(key, format.Rule{Key: key, Pattern: format.Every, Decision: ir.Allow, At: g.Pos, Form: format.Alone})
	}
	for _, key := range groupKeys {
		if !seen[key] {
			set(key, format.Rule{Key: key, Pattern: format.Every, Decision: ir.Deny, At: v.Line(), Form: format.Alone})
		}
	}
	return rules
}

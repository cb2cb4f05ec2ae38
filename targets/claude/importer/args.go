package importer

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
)

// Args makes a role of a command line of claude: its flags, the files that they name below
// the source's root, and the settings and servers of the project in which it starts. at is
// the place of the command line. The original contains the files that were read.
func Args(src contract.Source, name string, args []string, at diag.Pos) (Result, diag.List) {
	im := newImporter(src)
	im.out.Files = []string{at.File}
	im.arguments(name, args, at)
	im.diags.Sort()
	return im.out, im.diags
}

func (im *importer) arguments(name string, args []string, at diag.Pos) {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		args = args[1:] // the program
	}
	c, err := format.ReadFlags(args)
	if err != nil {
		im.diags.Errorf(CodeImport, at, "%v", err)
		return
	}
	for _, flag := range c.Unknown {
		im.diags.Errorf(CodeImport, at, "modec does not know the flag %q, which may permit something", flag)
	}
	from := session{name: name, at: at, flags: &c, servers: im.flagServers(&c, at)}
	im.out.Layers = im.settingsUnder(&c)
	given, ok := im.flagSettings(&c, at)
	if !ok {
		return
	}
	from.layers = append(slices.Clip(im.out.Layers), given...)
	role, rules := im.role(from)
	if rules == nil {
		return
	}
	role.AppendSystemPrompt = im.systemPrompt(&c, at)
	for _, o := range c.Others {
		why := "no permission of a role"
		if slices.Contains(format.WorkFlags, o.Name) {
			why = "the source knows one project folder"
		}
		im.out.Note(contract.Left, at, "role "+name, o.Text, why)
	}
	im.roles[name] = role
	im.joined()
	im.out.Command = &c
	im.out.Originals = []contract.Original{{File: at.File, Files: im.tree, Subjects: []ir.SubjectRef{{Role: name}}}}
}

// flagServers reads the servers of a command line, sorted, nil for one that has those of
// the project.
func (im *importer) flagServers(c *format.CommandLine, at diag.Pos) []string {
	own := []string{}
	for _, v := range c.Servers {
		if format.IsJSON(v) {
			own = append(own, im.serversFile(at.File, []byte(v))...)
		} else if data, ok := im.given("servers", v, at); ok {
			own = append(own, im.serversFile(path.Clean(v), data)...)
		}
	}
	if c.Strict {
		slices.Sort(own)
		return slices.Compact(own)
	}
	if data, ok := im.projectFile(format.ProjectServers); ok {
		im.serversFile(format.ProjectServers, data)
	}
	return nil
}

// settingsUnder reads the settings files of the user and of the project.
func (im *importer) settingsUnder(c *format.CommandLine) (layers []format.Layer) {
	if data, ok := im.homeFile(format.UserSettings); ok && c.Reads("user") {
		layers = append(layers, newLayer("~/"+format.UserSettings, data))
	}
	for _, f := range format.SettingsFiles {
		if data, ok := im.projectFile(f.Path); ok && c.Reads(f.Source) {
			layers = append(layers, newLayer(f.Path, data))
		}
	}
	return layers
}

// flagSettings reads the value of --settings. It reports false where the file is not there.
func (im *importer) flagSettings(c *format.CommandLine, at diag.Pos) ([]format.Layer, bool) {
	switch {
	case c.Settings == "":
		return nil, true
	case format.IsJSON(c.Settings):
		return []format.Layer{{File: at.File, Data: []byte(c.Settings)}}, true
	}
	file := path.Clean(c.Settings)
	data, ok := im.given("settings", c.Settings, at)
	return []format.Layer{{File: file, Data: data, Folder: path.Dir(file)}}, ok
}

// given reads a file that a command line names. It reports one that is not there, or not to be read.
func (im *importer) given(kind, name string, at diag.Pos) ([]byte, bool) {
	before := len(im.diags)
	data, ok := im.projectFile(path.Clean(name))
	if !ok && len(im.diags) == before {
		im.diags.Errorf(CodeImport, at, "the %s file %q is not there: claude does not start", kind, name)
	}
	return data, ok
}

// systemPrompt joins the prompts of a command line. Observed on 2.1.329: the file's text
// stands first, wherever its flag does.
func (im *importer) systemPrompt(c *format.CommandLine, at diag.Pos) string {
	if c.PromptFile == "" {
		return c.Prompt
	}
	data, err := contract.ReadImport(im.src.Root, path.Clean(c.PromptFile))
	if err != nil {
		im.diags.Errorf(CodeImport, at, "the prompt file %q cannot be read: %v", c.PromptFile, err)
	}
	return strings.TrimSpace(string(data) + "\n\n" + c.Prompt)
}

// projectFile reads a file of the project into the tree of the originals.
func (im *importer) projectFile(name string) ([]byte, bool) {
	data, ok := im.file(im.src.Root, name, name)
	if ok {
		im.tree[name] = data
	}
	return data, ok
}

func (im *importer) homeFile(name string) ([]byte, bool) {
	if im.src.Home == nil {
		return nil, false
	}
	return im.file(im.src.Home, name, "~/"+name)
}

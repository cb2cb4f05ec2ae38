package roo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
)

// Formats: Kilo Code's legacy extension reads Roo's modes, and has no target of
// its own.
func (t roo) Formats() []string {
	if t.zoo {
		return []string{zoo}
	}
	return []string{"roo", kilo}
}

// layout says where a dialect keeps its files.
type layout struct {
	dialect string
	modes   []string // the first that is there counts
	servers []string
	ignore  []string
	rules   []string // what a mode's rules folder begins with; all of them count
	single  []string // what a mode's single rules file begins with
}

var layouts = map[string]layout{
	stock: {stock, []string{".roomodes"}, []string{".roo/mcp.json"}, []string{".rooignore"}, []string{".roo/rules-"}, []string{".roorules-", ".clinerules-"}},
	zoo:   {zoo, []string{".zoomodes", ".roomodes"}, []string{".zoo/mcp.json", ".roo/mcp.json"}, []string{".zooignore", ".rooignore"}, []string{".zoo/rules-"}, []string{".zoorules-"}},
	kilo:  {kilo, []string{".kilocodemodes"}, []string{".kilocode/mcp.json"}, []string{".kilocodeignore"}, []string{".kilocode/rules-"}, []string{".kilocoderules-"}},
}

// globalFolders are where editors keep the storage of an extension, below the
// home folder: VS Code and its relatives, on Linux, macOS and Windows.
func globalFolders(dialect string) []string {
	extension := extensions[dialect]
	var out []string
	for _, base := range []string{".config", "Library/Application Support", "AppData/Roaming"} {
		for _, editor := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"} {
			out = append(out, base+"/"+editor+"/User/globalStorage/"+extension+"/settings")
		}
	}
	return append(out, ".vscode-server/data/User/globalStorage/"+extension+"/settings")
}

// importer collects what the files of one dialect say.
type importer struct {
	layout
	src       contract.Source
	out       contract.Imported
	diags     diag.List
	servers   map[string]*importedServer
	modes     map[string]ir.Mode
	ignores   []ir.Rule       // what the ignore file denies
	guards    map[string]bool // what known returns, made once
	originals map[string][]byte
	kinds     map[string]kind // of the files that were read
	unsure    bool            // approval is the user's own setting, for something that a mode may do
}

// kind is what a file is for.
type kind int

const (
	modesKind kind = iota + 1
	serversKind
	ignoreKind
)

// Import reads modes, servers, the ignore file and rules folders.
func (t roo) Import(src contract.Source) (contract.Imported, diag.List) {
	dialects := []string{stock, kilo}
	switch {
	case t.zoo:
		dialects = []string{zoo}
	case src.Format == "roo":
		dialects = []string{stock}
	case src.Format == kilo:
		dialects = []string{kilo}
	}
	var all contract.Imported
	var diags diag.List
	all.Project = &ir.Project{Version: ir.Version}
	for _, d := range dialects {
		im := &importer{layout: layouts[d], src: src, servers: map[string]*importedServer{}, modes: map[string]ir.Mode{}, originals: map[string][]byte{}, kinds: map[string]kind{}}
		im.out.Comments = map[diag.Pos]string{}
		if d == zoo && src.Format == "" && src.Files == nil && !im.any(".zoomodes", ".zoo") {
			continue // the files are Roo's
		}
		im.read()
		diags = append(diags, im.diags...)
		if len(im.out.Files) == 0 && len(im.out.Notes) == 0 {
			continue
		}
		im.finish()
		all = joined(all, im.out)
	}
	diags.Sort()
	return all, diags
}

// joined adds the import of another dialect; a mode or a server of the same name
// is the first one's.
func joined(a, b contract.Imported) contract.Imported {
	if len(a.Files) == 0 && len(a.Notes) == 0 {
		return b
	}
	a.Files, a.Notes, a.Originals = append(a.Files, b.Files...), append(a.Notes, b.Notes...), append(a.Originals, b.Originals...)
	for k, v := range b.Comments {
		a.Comments[k] = v
	}
	for _, m := range b.Project.Modes {
		if a.Project.Mode(m.Slug) == nil {
			a.Project.Modes = append(a.Project.Modes, m)
		} else {
			a.Note(contract.Refused, m.Pos, "mode "+m.Slug, m.Slug, "a mode of that slug stands in a file of Roo's, too")
		}
	}
	for _, s := range b.Project.Servers {
		if a.Project.Server(s.Name) == nil {
			a.Project.Servers = append(a.Project.Servers, s)
		} else {
			a.Note(contract.Refused, s.Pos, "server "+s.Name, s.Name, "a server of that name stands in a file of Roo's, too")
		}
	}
	sortProject(a.Project)
	return a
}

func sortProject(p *ir.Project) {
	slices.SortFunc(p.Modes, func(a, b ir.Mode) int { return strings.Compare(a.Slug, b.Slug) })
	slices.SortFunc(p.Servers, func(a, b ir.Server) int { return strings.Compare(a.Name, b.Name) })
}

func (im *importer) any(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := fs.Stat(im.src.Root, name)
		return err == nil
	})
}

// file reads a file if it is there. at is its name in places.
func (im *importer) file(fsys fs.FS, name, at string) ([]byte, bool) {
	return im.out.Read(fsys, name, at, codeImport, &im.diags)
}

// home begins the name of a file below the home folder, in places.
const home = "~/"

// read finds the files and reads them, servers first: what they approve and
// disable holds for every mode.
func (im *importer) read() {
	if im.src.Args != nil {
		return
	}
	if im.src.Files != nil {
		im.named()
		return
	}
	im.first(im.layout.servers, im.serversFile)
	im.first(im.layout.ignore, im.ignoreFile)
	im.first(im.layout.modes, im.modesFile)
	if im.dialect == stock {
		im.first([]string{"custom_modes.yaml", "custom_modes.yml"}, im.modesFile)
	}
	if im.src.Home != nil {
		for _, dir := range globalFolders(im.dialect) {
			for _, f := range []struct {
				name string
				read func(string, []byte)
			}{{"mcp_settings.json", im.serversFile}, {"custom_modes.yaml", im.modesFile}} {
				if data, ok := im.file(im.src.Home, dir+"/"+f.name, home+dir+"/"+f.name); ok {
					f.read(home+dir+"/"+f.name, data)
				}
			}
		}
	}
	im.rulesFolders()
	im.left()
}

func (im *importer) first(names []string, read func(string, []byte)) {
	for _, name := range names {
		if data, ok := im.file(im.src.Root, name, name); ok {
			read(name, data)
			return
		}
	}
}

// named reads the files that somebody named: all of them in the dialect's
// format, else those whose names it knows.
func (im *importer) named() {
	var modes, servers, ignores []string
	for _, name := range im.src.Files {
		name = path.Clean(name)
		base := path.Base(name)
		isServers := base == "mcp_settings.json" || base == "mcp.json" && path.Base(path.Dir(name)) == path.Dir(im.layout.servers[0])
		isModes := base == im.layout.modes[0] || strings.HasSuffix(base, im.layout.modes[0]) || im.dialect == stock && slices.Contains([]string{"custom_modes.yaml", "custom_modes.yml", "custom_modes.json"}, base)
		switch {
		case base == im.layout.ignore[0]:
			ignores = append(ignores, name)
		case isServers, im.src.Format != "" && base == "mcp.json":
			servers = append(servers, name)
		case isModes, im.src.Format != "":
			modes = append(modes, name)
		}
	}
	for _, f := range []struct {
		names []string
		read  func(string, []byte)
	}{{servers, im.serversFile}, {ignores, im.ignoreFile}, {modes, im.modesFile}} {
		for _, name := range f.names {
			if data, ok := im.file(im.src.Root, name, name); ok {
				f.read(name, data)
			}
		}
	}
}

// left notes what lies beside and is no permission and no text of a mode.
func (im *importer) left() {
	for _, name := range []string{path.Dir(im.layout.rules[0]) + "/rules", ".roorules", ".clinerules", "AGENTS.md"} {
		if im.dialect == stock && im.any(name) {
			im.out.Note(contract.Left, diag.Pos{File: name}, "", name, "instructions for every mode, which no mode owns")
		}
	}
}

// finish builds the project.
func (im *importer) finish() {
	p := &ir.Project{Version: ir.Version}
	for _, m := range im.modes {
		im.shared(&m)
		p.Modes = append(p.Modes, m)
	}
	for _, s := range im.servers {
		p.Servers = append(p.Servers, s.server)
	}
	sortProject(p)
	im.out.Project = p
	if im.unsure {
		for _, f := range im.out.Files {
			if slices.ContainsFunc(p.Modes, func(m ir.Mode) bool { return m.Pos.File == f }) {
				im.out.Note(contract.NeedsDecision, diag.Pos{File: f}, "", "groups", "whether a person confirms what a mode does is a setting of each user (auto-approve): it is asked about, unless --approved names the group")
			}
		}
	}
	im.layOut(p)
}

// layOut puts the originals where Open finds them, one tree for each modes file:
// with the servers and the ignore file that hold beside it.
func (im *importer) layOut(p *ir.Project) {
	at := im.layout
	options := im.out.Options
	if at.dialect == kilo {
		at = layouts[stock]
	}
	beside := memfs.FS{}
	if servers := im.allServers(); servers != nil {
		beside[at.servers[0]] = servers
	}
	for _, f := range im.out.Files {
		if im.kinds[f] == ignoreKind {
			beside[at.ignore[0]] = im.originals[f]
		}
	}
	for _, f := range im.out.Files {
		data := im.originals[f]
		if data == nil || im.kinds[f] != modesKind {
			continue
		}
		tree := maps.Clone(beside)
		tree[at.modes[0]] = data
		var refs []ir.SubjectRef
		for i := range p.Modes {
			if p.Modes[i].Pos.File == f {
				refs = append(refs, ir.SubjectRef{Mode: p.Modes[i].Slug})
			}
		}
		im.out.Originals = append(im.out.Originals, contract.Original{File: f, Files: tree, Options: options, Subjects: refs})
	}
}

// allServers is the file of servers as it was read; several become one, in which
// the first server of a name holds, as it does for the agent.
func (im *importer) allServers() []byte {
	var files [][]byte
	for _, f := range im.out.Files {
		if im.kinds[f] == serversKind && im.originals[f] != nil {
			files = append(files, im.originals[f])
		}
	}
	if len(files) < 2 {
		return slices.Concat(files...)
	}
	var all struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	all.Servers = map[string]json.RawMessage{}
	for _, data := range files {
		one := all
		one.Servers = nil
		if json.Unmarshal(data, &one) != nil {
			continue // it was read before: this cannot be
		}
		for name, server := range one.Servers {
			if all.Servers[name] == nil {
				all.Servers[name] = server
			}
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return data
}

// refuse reports a file that the agent would not load.
func (im *importer) refuse(file string, err error) {
	at := diag.Pos{File: file}
	text := err.Error()
	var s *schemaError
	if errors.As(err, &s) {
		at, text = s.at, s.what
		if s.path != "" {
			text = s.path + ": " + s.what
		}
	} else if rest, ok := strings.CutPrefix(text, file+":"); ok {
		text = rest
		fmt.Sscanf(rest, "%d:%d: ", &at.Line, &at.Col)
		if _, tail, ok := strings.Cut(rest, ": "); ok && at.Line > 0 {
			text = tail
		}
	}
	if at.Line == 0 { // an error of the JSON reader, or one of the whole file
		if at = located.PlaceOf(file, err); at.Line == 0 {
			at.Line, at.Col = 1, 1
		}
	}
	d := diag.Diagnostic{Code: codeImport, Pos: at, Message: "got a file of which the agent loads nothing: " + strings.TrimSpace(text)}
	if !im.src.Repair {
		d.Hint = "`--repair` mends what can be mended"
	}
	im.diags = append(im.diags, d)
}

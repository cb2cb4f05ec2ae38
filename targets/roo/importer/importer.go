// Package importer reads the files of Roo Code and its forks into a source: modes, MCP
// servers, the ignore file and rules folders.
//
// [Import] reads what a project, and the home folder where it is given, has of some dialects.
// A file that the agent itself would not load is an error, or is mended where the caller
// asks for it. What a file does not govern is left to the user's own settings: a mode's
// groups say nothing of approval.
package importer

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
	"modec.dev/modec/targets/roo/format"
)

const codeImport diag.Code = "roo-import"

// Codes documents what the importer reports.
func Codes() []diag.Doc {
	return []diag.Doc{
		{Code: codeImport, Text: "A file to import is one that the agent itself would not load: it then runs " +
			"without any mode, or any server, of the file. The message names the field as the agent's own schema " +
			"does. `modec migrate --repair` mends what can be mended and says how."},
	}
}

// Import reads the files of a dialect.
func Import(src contract.Source, d format.Dialect) (contract.Imported, diag.List) {
	im := newImporter(src, d)
	if d == format.Zoo && src.Format == "" && src.Files == nil && !im.any(".zoomodes", ".zoo") {
		return contract.Imported{}, nil // the files are Roo's
	}
	im.read()
	if im.out.Empty() {
		im.diags.Sort()
		return contract.Imported{}, im.diags
	}
	im.finish()
	im.out.Reference = contract.EnvRefs
	im.diags.Sort()
	return im.out, im.diags
}

// importer collects what the files of one dialect say.
type importer struct {
	format.Layout
	dialect   format.Dialect
	src       contract.Source
	out       contract.Imported
	diags     diag.List
	servers   map[string]*importedServer
	modes     map[string]ir.Mode
	ignores   []ir.Rule       // what the ignore file denies
	ignored   map[string]bool // what known returns, made once
	originals map[string][]byte
	kinds     map[string]kind           // of the files that were read
	unread    map[string]bool           // files with mcpRestrictions that the plan's schema does not take
	written   map[string]*located.Value // the modes of the file as they are written, by slug
	unsure    bool                      // approval is the user's own setting, for something that a mode may do
}

func newImporter(src contract.Source, d format.Dialect) *importer {
	im := &importer{
		Layout: d.Layout(), dialect: d, src: src,
		servers: map[string]*importedServer{}, modes: map[string]ir.Mode{},
		originals: map[string][]byte{}, kinds: map[string]kind{}, unread: map[string]bool{},
	}
	im.out.Comments = map[diag.Pos]string{}
	return im
}

// kind is what a file is for.
type kind int

const (
	modesKind kind = iota + 1
	serversKind
	ignoreKind
)

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

// A reader takes a file by its name in places.
type reader func(name string, data []byte)

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
	im.first(im.Servers, im.serversFile)
	im.first(im.Ignore, im.ignoreFile)
	im.first(im.Modes, im.modesFile)
	if im.dialect == format.Stock && !im.src.Loaded {
		im.first(globalModes, im.modesFile)
	}
	if im.src.Home != nil {
		for _, dir := range globalFolders(im.Extension) {
			im.global(dir+"/mcp_settings.json", im.serversFile)
			im.global(dir+"/custom_modes.yaml", im.modesFile)
		}
	}
	im.rulesFolders()
}

// globalModes are the names of a global modes file that somebody copied into a project.
var globalModes = []string{"custom_modes.yaml", "custom_modes.yml"}

// globalFolders are where editors keep the storage of an extension, below the
// home folder: VS Code and its relatives, on Linux, macOS and Windows.
func globalFolders(extension string) []string {
	var out []string
	for _, base := range []string{".config", "Library/Application Support", "AppData/Roaming"} {
		for _, editor := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"} {
			out = append(out, base+"/"+editor+"/User/globalStorage/"+extension+"/settings")
		}
	}
	return append(out, ".vscode-server/data/User/globalStorage/"+extension+"/settings")
}

// global reads a file below the home folder.
func (im *importer) global(name string, read reader) {
	if data, ok := im.file(im.src.Home, name, home+name); ok {
		read(home+name, data)
	}
}

// first reads the first of some files that is there.
func (im *importer) first(names []string, read reader) {
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
	byKind := map[kind][]string{}
	for _, name := range im.src.Files {
		name = path.Clean(name)
		k := im.kindOf(name)
		byKind[k] = append(byKind[k], name)
	}
	for _, f := range []struct {
		kind kind
		read reader
	}{{serversKind, im.serversFile}, {ignoreKind, im.ignoreFile}, {modesKind, im.modesFile}} {
		for _, name := range byKind[f.kind] {
			if data, ok := im.file(im.src.Root, name, name); ok {
				f.read(name, data)
			}
		}
	}
}

// kindOf returns what a named file is for, 0 for one that is not of the dialect.
func (im *importer) kindOf(name string) kind {
	base, asked := path.Base(name), im.src.Format != ""
	inFolder := path.Base(path.Dir(name)) == path.Dir(im.Servers[0])
	global := []string{"custom_modes.yaml", "custom_modes.yml", "custom_modes.json"}
	switch {
	case base == im.Ignore[0]:
		return ignoreKind
	case base == "mcp_settings.json", base == "mcp.json" && (inFolder || asked):
		return serversKind
	case asked, strings.HasSuffix(base, im.Modes[0]), im.dialect == format.Stock && slices.Contains(global, base):
		return modesKind
	}
	return 0
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
	p.Sort()
	im.out.Project = p
	if len(p.Modes) == 0 {
		im.withoutModes()
	}
	if im.dialect == format.Kilo {
		for _, f := range im.out.Files {
			im.out.Note(contract.NeedsDecision, diag.Pos{File: f}, "", "Kilo Code",
				"a build writes what it says for Kilo, and with [targets.roo] for Roo Code. It leaves this file as it "+
					"is: delete it then, for Kilo joins it with its own agents of the same name")
		}
	}
	if im.unsure {
		for _, f := range im.out.Files {
			if slices.ContainsFunc(p.Modes, func(m ir.Mode) bool { return m.Pos.File == f }) {
				im.out.Note(contract.NeedsDecision, diag.Pos{File: f}, "", "fileRegex",
					"whether a person confirms an edit is a setting of each user (auto-approve): the source asks "+
						"about what an expression permits, unless --approved says edit")
			}
		}
	}
	for _, f := range im.out.Files {
		if slices.ContainsFunc(p.Modes, func(m ir.Mode) bool { return m.Pos.File == f && m.Can.OutsideEdit != nil }) {
			im.out.Note(contract.NeedsDecision, diag.Pos{File: f}, "", "fileRegex",
				"an expression without an anchor takes files outside the project, too: outside.edit asks about them")
		}
	}
	im.layOut(p)
}

// withoutModes notes that what a file of servers approves and withholds stays there: only a mode
// could say it.
func (im *importer) withoutModes() {
	for i := range im.out.Notes {
		n := &im.out.Notes[i]
		key, _, _ := strings.Cut(n.What, " ")
		if n.Kind == contract.Understood && (key == "alwaysAllow" || key == "disabledTools") {
			n.Kind, n.Why = contract.Kept, "there is no mode that could say it: it stays in the server's entry"
		}
	}
}

// layOut puts the originals where the model finds them, one tree for each modes file:
// with the servers and the ignore file that hold beside it.
func (im *importer) layOut(p *ir.Project) {
	at := im.Layout
	if im.dialect == format.Kilo {
		at = format.Stock.Layout()
	}
	beside := memfs.FS{}
	if servers := im.allServers(); servers != nil {
		beside[at.Servers[0]] = servers
	}
	for _, f := range im.out.Files {
		if im.kinds[f] == ignoreKind {
			beside[at.Ignore[0]] = im.originals[f]
		}
	}
	for _, f := range im.out.Files {
		data := im.originals[f]
		if data == nil || im.kinds[f] != modesKind {
			continue
		}
		tree := maps.Clone(beside)
		tree[at.Modes[0]] = data
		var refs []ir.SubjectRef
		for i := range p.Modes {
			if p.Modes[i].Pos.File == f {
				refs = append(refs, ir.SubjectRef{Mode: p.Modes[i].Slug})
			}
		}
		options := im.out.Options
		if im.unread[f] { // stock Roo reads it
			options = maps.Clone(options)
			delete(options, "dialect")
		}
		im.out.Originals = append(im.out.Originals, contract.Original{File: f, Files: tree, Options: options,
			Subjects: refs})
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
	type list struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	all := list{map[string]json.RawMessage{}}
	for _, data := range files {
		var one list
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
	im.out.Refuse(file)
	at, text := placeOf(file, err)
	b := im.diags.Errorf(codeImport, at, "the agent loads nothing of the file: %s", strings.TrimSpace(text))
	if !im.src.Repair {
		b.Hint("`--repair` mends what can be mended")
	}
}

// placeOf returns the place of an error, at least the begin of its file, and its text.
func placeOf(file string, err error) (diag.Pos, string) {
	at, text := diag.Pos{File: file}, err.Error()
	var s *format.SchemaError
	if errors.As(err, &s) {
		at, text = s.At, s.What
		if s.Path != "" {
			text = s.Path + ": " + s.What
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
		} else {
			text = located.Reason(err)
		}
	}
	return at, text
}

// Package importer turns Cursor's files into a source: the IDE's lists, the tokens of the
// CLI and the servers.
//
// [Import] reads permissions.json, the database of the IDE's settings, cli.json,
// cli-config.json and mcp.json. The IDE's files become one role, those of the CLI
// another; profiles that modec wrote become the roles that they were written for. What the
// files leave unsaid the role leaves to the agent: a list that is empty, and a run mode that
// asks every time, say that the rest is asked about. The import never permits more than
// Cursor: an entry that the source cannot express as Cursor means it is refused with a note,
// and Cursor asks about it.
package importer

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/cursor/format"
)

const codeImport diag.Code = "cursor-import"

// Codes documents the codes that Import reports.
func Codes() []diag.Doc {
	return []diag.Doc{{Code: codeImport, Text: "Cursor itself cannot read a file to import: it then goes by the " +
		"lists of its settings. Mend the file first."}}
}

// The roles that Cursor's files become: the IDE and the CLI decide by files of
// their own.
const (
	ideRole = "cursor"
	cliRole = "cursor-cli"
)

// ownHook is a part of every hook that modec writes.
const ownHook = "modec hook cursor"

// importer collects what Cursor's files say.
type importer struct {
	src     contract.Source
	out     contract.Imported
	diags   diag.List
	servers map[string]*ir.Server
	roles   map[string]*ir.Role
	tokens  []cliToken
	neutral bool // every token is said in the source's words: modec wrote them
	// replaced are the lists of the IDE's settings that a permissions.json replaces.
	replaced map[string]bool
	// pinned is the run mode that a permissions.json forces on the IDE: its
	// approvalMode, or that of a list with entries; "" where the settings decide.
	pinned format.RunMode
	// listed is set where the lists of the role for the IDE are in a file of the project that a build writes.
	listed bool
	// folder is the workspace's, as the entries of the IDE name it.
	folder string
}

func newImporter(src contract.Source) *importer {
	return &importer{src: src, neutral: src.Ours, servers: map[string]*ir.Server{}, roles: map[string]*ir.Role{},
		replaced: map[string]bool{},
		out:      contract.Imported{Comments: map[diag.Pos]string{}, Reference: contract.EnvRefs}}
}

// Import reads the IDE's lists, the CLI's tokens and the servers.
func Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		return contract.Imported{}, nil
	}
	im := newImporter(src)
	im.read()
	if im.out.Empty() {
		return contract.Imported{}, im.diags
	}
	im.finish()
	im.diags.Sort()
	return im.out, im.diags
}

// input is a file to read if it is there.
type input struct {
	fsys fs.FS
	name string
	at   string // its name in places
}

// inputs are the files to read, by what they contain.
type inputs struct{ servers, lists, tokens, settings []input }

func (im *importer) read() {
	var in inputs
	if im.src.Files != nil {
		in = im.namedInputs()
	} else {
		in = im.knownInputs()
	}
	im.each(in.servers, im.serversFile)
	im.each(in.lists, im.permissionsFile)
	for _, f := range in.settings {
		im.settings(f)
	}
	im.each(in.tokens, im.tokensFile)
}

// namedInputs sorts the files that the caller names. Without a format it takes those
// that are Cursor's by their folder.
func (im *importer) namedInputs() (in inputs) {
	kinds := map[string]*[]input{
		format.ServersFile:     &in.servers,
		format.PermissionsFile: &in.lists,
		format.TokensFile:      &in.tokens,
		format.ConfigFile:      &in.tokens,
		format.StateFile:       &in.settings,
	}
	for _, name := range im.src.Files {
		name = path.Clean(name)
		base := path.Base(name)
		known := path.Base(path.Dir(name)) == format.Dir || base == format.StateFile
		switch list := kinds[base]; {
		case im.src.Format == "" && !known:
		case list != nil:
			*list = append(*list, im.inRoot(name))
		case im.src.Format != "":
			im.diags.Errorf(codeImport, diag.Pos{File: name}, "got a file of no name that Cursor knows, "+
				"want permissions.json, cli.json, cli-config.json or mcp.json")
		}
	}
	return in
}

func (im *importer) inRoot(name string) input { return input{im.src.Root, name, name} }

// knownInputs returns the files where Cursor looks for them. Of two files with the same
// server or with lists of the IDE the first counts; tokens add up.
func (im *importer) knownInputs() inputs {
	in := inputs{
		servers: []input{im.inRoot(inDir(format.ServersFile))},
		lists:   []input{im.inRoot(inDir(format.PermissionsFile))},
		tokens:  []input{im.inRoot(inDir(format.ConfigFile)), im.inRoot(inDir(format.TokensFile))},
	}
	if im.src.Home == nil {
		return in
	}
	home := func(name string) input { return input{im.src.Home, name, "~/" + name} }
	in.servers = append(in.servers, home(inDir(format.ServersFile)))
	in.lists = append([]input{home(inDir(format.PermissionsFile))}, in.lists...)
	in.tokens = append([]input{home(".config/cursor/" + format.ConfigFile), home(inDir(format.ConfigFile))},
		in.tokens...)
	for _, name := range stateFiles {
		in.settings = append(in.settings, home(name))
	}
	return in
}

// inDir returns the path of a file in the folder .cursor.
func inDir(base string) string { return path.Join(format.Dir, base) }

// document is the text of a file, and its name in places.
type document struct {
	name string
	data []byte
}

// each reads those of the files that are there.
func (im *importer) each(files []input, read func(document)) {
	for _, f := range files {
		if data, ok := im.out.Read(f.fsys, f.name, f.at, codeImport, &im.diags); ok {
			read(document{f.at, data})
		}
	}
}

type parser func(name string, data []byte) (*located.Value, error)

// object restricts a parser to files that contain an object.
func object(parse parser) parser {
	return func(name string, data []byte) (*located.Value, error) {
		v, err := parse(name, data)
		if err == nil && !v.Is(located.Object) {
			err = errors.New("want an object")
		}
		return v, err
	}
}

// parse reads a document; nil for one that the program of Cursor cannot read.
func (im *importer) parse(d document, parse parser, program string) *located.Value {
	v, err := parse(d.name, d.data)
	if err != nil {
		im.out.Refuse(d.name)
		im.diags.Errorf(codeImport, located.PlaceOf(d.name, err), "got a file that %s cannot read: %s", program,
			strings.TrimPrefix(located.Reason(err), d.name+": "))
		return nil
	}
	return v
}

// role returns a role that says nothing yet: what no file of Cursor says is left to the agent.
func (im *importer) role(name string, at diag.Pos) *ir.Role {
	if r := im.roles[name]; r != nil {
		return r
	}
	r := &ir.Role{Name: name, Pos: at, Can: ir.Can{
		Read: &ir.Table{}, Edit: &ir.Table{}, Command: &ir.Table{}, Web: &ir.Table{}, MCP: &ir.MCPTable{},
	}}
	im.roles[name] = r
	return r
}

// asks lets a role ask about what the lists of the IDE contain, and about all else.
func asks(r *ir.Role, at diag.Pos) {
	ask := &ir.Default{Decision: ir.Ask, Pos: at}
	r.Can.Command.Default, r.Can.MCP.Default = ask, ask
}

// quiet removes the tables in which a role says nothing.
func quiet(can *ir.Can) {
	for _, t := range []**ir.Table{&can.Read, &can.Edit, &can.Command, &can.Web} {
		if (*t).Default == nil && len((*t).Rules) == 0 {
			*t = nil
		}
	}
	if m := can.MCP; m.Default == nil && len(m.Rules)+len(m.Entries) == 0 {
		can.MCP = nil
	}
}

// unrestricted lets a role do without a question what is not denied.
func unrestricted(r *ir.Role, at diag.Pos) {
	r.PermissionMode, r.PermissionModePos = "bypassPermissions", at
	for _, t := range []*ir.Table{r.Can.Command, r.Can.Web} {
		t.Default = &ir.Default{Decision: ir.Allow, Pos: at}
	}
	r.Can.MCP.Default = &ir.Default{Decision: ir.Allow, Pos: at}
}

// entry is an entry of a list or a token.
type entry struct {
	text     string
	decision ir.Decision
	item     *located.Value
	list     string // its name
}

// reader adds what an entry says to a role. It returns why an entry is not imported.
type reader func(r *ir.Role, text string, d ir.Decision, at diag.Pos) (why string)

// add imports an entry and notes what became of it.
func (im *importer) add(r *ir.Role, e entry, read reader) {
	if e.item.Comment != "" {
		im.out.Comments[e.item.Pos] = e.item.Comment
	}
	kind, why := contract.Understood, read(r, e.text, e.decision, e.item.Pos)
	if why != "" {
		kind = contract.Refused
	}
	im.out.NoteRule(kind, e.item.Pos, "role "+r.Name, e.list+" "+e.text, why)
}

// original remembers a file, laid out where the model of Cursor finds it.
func (im *importer) original(d document, role *ir.Role, surface string) {
	var options map[string]any
	if im.folder != "" {
		options = map[string]any{"folder": im.folder}
	}
	name := format.PermissionsFile
	if surface == "cli" {
		name = format.TokensFile
	}
	ref := ir.SubjectRef{Role: role.Name}
	im.out.Originals = append(im.out.Originals, contract.Original{
		File: d.name, Files: memfs.FS{path.Join(format.ProfileDir(ref), name): d.data}, Subjects: []ir.SubjectRef{ref},
		Surface: surface, Options: options,
	})
}

// finish makes a project of what was collected.
func (im *importer) finish() {
	p := &ir.Project{Version: ir.Version}
	if r := im.roles[cliRole]; r != nil {
		im.addTokens(r)
	}
	for _, s := range im.servers {
		p.Servers = append(p.Servers, *s)
	}
	for _, r := range im.roles {
		heldBack(r.Can.Command)
		implied(r.Can.Read, coversPath)
		implied(r.Can.Edit, coversPath)
		implied(r.Can.Command, coversNothing)
		quiet(&r.Can)
		p.Roles = append(p.Roles, *r)
	}
	slices.SortFunc(p.Servers, func(a, b ir.Server) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Roles, func(a, b ir.Role) int { return strings.Compare(a.Name, b.Name) })
	im.out.Project = p
	im.allTokens()
	options := map[string]any{}
	if im.roles[cliRole] != nil {
		options["subject"] = "role:" + cliRole
	}
	switch {
	case im.listed:
		options["lists"] = "role:" + ideRole
	case im.roles[cliRole] != nil && im.roles[ideRole] == nil:
		options["lists"] = "none"
	}
	if len(options) > 0 {
		im.out.Options = options
	}
}

// allTokens remembers the CLI's tokens as one file: the files together decide.
func (im *importer) allTokens() {
	r := im.roles[cliRole]
	if r == nil || r.PermissionMode != "" {
		return
	}
	lists := map[string][]string{"allow": {}, "deny": {}}
	for _, t := range im.tokens {
		lists[t.list] = append(lists[t.list], t.text)
	}
	if data, err := json.Marshal(map[string]any{"permissions": lists}); err == nil {
		im.original(document{r.Pos.File, data}, r, "cli")
	}
}

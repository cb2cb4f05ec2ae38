// Package importer turns VS Code's list of MCP servers into a source.
//
// [Import] reads .vscode/mcp.json. A server becomes one of the inventory; inputs, and members of an entry that the
// source does not know, stay in the file.
package importer

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/vscode/format"
)

const codeImport diag.Code = "vscode-import"

// Files lists what VS Code's chat has in a project, beside what belongs to the target copilot.
func Files() []contract.AgentFile {
	return []contract.AgentFile{{Path: format.ServersFile, Imported: true}}
}

// Import reads a list of servers.
func Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		return contract.Imported{}, nil
	}
	out := contract.Imported{Comments: map[diag.Pos]string{}, Reference: contract.EnvRefs}
	servers := map[string]*ir.Server{}
	var diags diag.List
	for _, file := range files(&src, &diags) {
		data, ok := out.Read(src.Root, file, file, codeImport, &diags)
		if !ok {
			continue
		}
		root, err := format.ReadServers(file, data)
		if err != nil {
			out.Refuse(file)
			diags.Errorf(codeImport, located.PlaceOf(file, err), "VS Code starts no server of this file: %s",
				located.Reason(err))
			continue
		}
		list(&out, servers, root)
	}
	if out.Empty() {
		return contract.Imported{}, diags
	}
	out.Project = contract.ProjectOf(servers, nil)
	diags.Sort()
	return out, diags
}

// files are the files to read.
func files(src *contract.Source, diags *diag.List) (out []string) {
	if src.Files == nil {
		return []string{format.ServersFile}
	}
	for _, file := range src.Files {
		file = path.Clean(file)
		switch {
		case strings.HasSuffix("/"+file, "/"+format.ServersFile), src.Format != "" && path.Ext(file) == ".json":
			out = append(out, file)
		case src.Format != "":
			diags.Errorf(codeImport, diag.Pos{File: file}, "got a file of no name that VS Code knows, want mcp.json")
		}
	}
	return out
}

// list reads the servers of a file.
func list(out *contract.Imported, servers map[string]*ir.Server, root *located.Value) {
	for _, m := range root.Get(format.ServersKey).Fields() {
		if out.Server(m, servers, start) == nil {
			continue
		}
		for _, x := range m.Value.Fields() {
			if !slices.Contains(format.Keys, x.Key) {
				out.Note(contract.Left, x.Pos, "server "+m.Key, x.Key,
					"the source has no word for it: it stays in the entry")
			}
		}
	}
	for _, m := range root.Fields() {
		if m.Key != format.ServersKey {
			out.Note(contract.Left, m.Pos, "", m.Key, "no permission of a mode or a role: it stays in the file")
		}
	}
}

// otherRef matches what VS Code replaces, and no other agent does: a question to the person, a folder, a setting; and
// what the source would replace, and VS Code does not.
var otherRef = lazy.Regexp(`\$\{[^}]*\}`)

// start reads how a server is started or reached, or returns why the source cannot say it.
func start(v *located.Value, s *ir.Server) (why string) {
	kind, _ := v.Get("type").Str()
	text := func(key string) string {
		t, _ := v.Get(key).Str()
		return contract.SourceRefs(t)
	}
	refs := func(t string, _ diag.Pos) string { return contract.SourceRefs(t) }
	for _, m := range v.Fields() {
		if other := refers(m.Value); other != "" {
			return "VS Code alone knows what " + other + " is: the server is known by its name alone"
		}
	}
	switch {
	case (kind == "" || kind == "stdio") && text("command") != "":
		s.Type, s.Command, s.Cwd = "stdio", text("command"), text("cwd")
		s.Args, s.Env = contract.TextList(v.Get("args"), refs), contract.TextFields(v.Get("env"), refs)
	case (kind == "" || kind == "http" || kind == "sse") && contract.ServerURL(text("url")):
		s.Type, s.URL, s.Headers = "http", text("url"), contract.TextFields(v.Get("headers"), refs)
		if kind == "sse" {
			s.Type = kind
		}
	default:
		return contract.NoStart
	}
	return ""
}

// refers returns a reference somewhere in a value that is not to a variable of the environment, "" for none.
func refers(v *located.Value) string {
	if text, ok := v.Str(); ok {
		for _, ref := range otherRef().FindAllString(text, -1) {
			if contract.SourceRefs(ref) == ref {
				return ref
			}
		}
	}
	for _, item := range v.List() {
		if ref := refers(item); ref != "" {
			return ref
		}
	}
	for _, m := range v.Fields() {
		if ref := refers(m.Value); ref != "" {
			return ref
		}
	}
	return ""
}

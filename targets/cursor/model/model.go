// Package model answers what Cursor does with an action, from the files that a build
// wrote: the IDE by permissions.json and hooks.json, the CLI by cli.json and hooks.json.
//
// [Open] reads the files and returns a decider for each of the two. It stands apart from
// the emitter: how Cursor decides comes from its engine (@cursor/sdk 1.0.32) and its
// documentation, and where these leave something open, the reading counts by which
// Cursor permits more. The hook of modec is not modelled: the one that the files name
// runs, on the policy that its command line names.
//
// [CheckTool] and [AutoRun] answer for the IDE's allowlist alone.
package model

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/cursor/format"
)

const codeIgnored diag.Code = "cursor-ignored"

// Hook is the entry point that `modec hook cursor` runs.
type Hook func(contract.HookRequest) contract.HookAnswer

// opened is what the artifacts contain, read once.
type opened struct {
	project *ir.Project // of the policy that the build wrote; nil where there is none
	servers map[string]*ir.Server
	folder  string        // of the workspace, in the IDE's server ids
	disk    contract.Disk // at which Cursor works
	placed  bool          // the disk is a real one, and not where the model places the project
	hook    Hook
	settings
	setups   map[ir.SubjectRef][]setup
	listed   []string // the servers of mcp.json and of the policy
	entryIDs []string // the ids of a project's servers that the entries of the IDE name, in lower case
	answers  *cache.Cache[hookCall, opinion]
}

// setup is a set of files that Cursor decides by at one time.
type setup struct {
	permissions *permissionsFile
	tokens      *tokensFile
	hooks       *hooksFile
	lack        *contract.Lack // what of the hooks does not hold
}

// Open reads the profiles, each of which a user's home folder may contain, and the
// project's own cli.json and hooks.json. Where the subject of the latter has a profile with
// more than lists, both are judged, and the more permissive counts.
func Open(fsys fs.FS, options contract.Options, hook Hook) ([]contract.Decider, diag.List) {
	return open(fsys, options, &opened{
		disk: contract.ModelDisk(root), hook: hook})
}

// OpenAt does the same for a Cursor that works at a disk.
func OpenAt(fsys fs.FS, options contract.Options, hook Hook, at contract.Disk) ([]contract.Decider, diag.List) {
	return open(fsys, options, &opened{disk: at, placed: true, hook: hook})
}

func open(fsys fs.FS, options contract.Options, o *opened) ([]contract.Decider, diag.List) {
	r := reader{fsys: fsys, policy: contract.NewHookPolicy(fsys, "cursor"), opened: o}
	o.answers = cache.New[hookCall, opinion](keptAnswers)
	r.folder, r.settings = options.String("folder"), settingsOf(options)
	r.servers, r.setups = map[string]*ir.Server{}, map[ir.SubjectRef][]setup{}
	r.readProject()
	r.readProfiles()
	r.readProjectWide(options)
	r.readProjectLists(options)
	if len(r.setups) == 0 {
		return nil, r.diags
	}
	return []contract.Decider{&decider{ide, r.opened}, &decider{cli, r.opened}}, r.diags
}

// reader reads the artifacts below a folder.
type reader struct {
	fsys fs.FS
	*opened
	policy *contract.HookPolicy
	diags  diag.List
}

// ignored warns about what Cursor does not take from an artifact.
func (r *reader) ignored(at diag.Pos, message string, args ...any) {
	ignored(&r.diags, at, message, args...)
}

// ignored does so for a list of diagnostics.
func ignored(diags *diag.List, at diag.Pos, message string, args ...any) {
	diags.Warnf(codeIgnored, at, message, args...).
		Hint("`modec build` rewrites what it wrote; write what is yours as Cursor reads it").
		Target("cursor")
}

// readProject reads who and which servers there are.
func (r *reader) readProject() {
	for _, s := range contract.StartedIn(r.fsys, path.Join(format.Dir, format.ServersFile)) {
		r.listed = append(r.listed, s.Name)
	}
	e, err := r.policy.Engine()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		r.ignored(diag.Pos{File: contract.PolicyFile}, "the hooks refuse every call: %v", err)
		return
	}
	r.project = e.Project()
	r.folder = cmp.Or(r.folder, r.project.Name)
	for i := range r.project.Servers {
		r.servers[r.project.Servers[i].Name] = &r.project.Servers[i]
		r.listed = append(r.listed, r.project.Servers[i].Name)
	}
}

func (r *reader) readProfiles() {
	dirs, _ := fs.ReadDir(r.fsys, format.ProfilesDir)
	for _, d := range dirs {
		dir := path.Join(format.ProfilesDir, d.Name())
		s := setup{permissions: r.readPermissions(dir), tokens: r.readTokens(dir)}
		s.hooks, s.lack = r.readHooks(dir)
		if s == (setup{}) {
			continue
		}
		ref, ok := r.profileOf(d.Name())
		if !ok {
			r.ignored(diag.Pos{File: dir}, "the folder names neither a role nor a mode of the policy")
			continue
		}
		r.setups[ref] = append(r.setups[ref], s)
	}
}

// readProjectLists reads the project's own permissions.json as the lists of the role that an option names. Without the
// option the file is somebody's own, and adds to the lists of every subject.
func (r *reader) readProjectLists(options contract.Options) {
	said := len(r.diags)
	lists := r.readPermissions(format.Dir)
	name := options.String("lists")
	someone := name == "" || name == "none"
	if someone {
		r.diags = r.diags[:said] // nobody told modec how the file should be
	}
	switch {
	case lists == nil:
		return
	case someone:
		for _, setups := range r.setups {
			for i := range setups {
				setups[i].permissions = setups[i].permissions.with(lists)
			}
		}
		return
	}
	ref := r.named(name)
	if len(r.setups[ref]) == 0 {
		r.setups[ref] = []setup{{}}
	}
	for i := range r.setups[ref] {
		if s := &r.setups[ref][i]; s.permissions == nil {
			s.permissions = lists
		}
	}
}

// readProjectWide reads the project's own files but its permissions.json.
func (r *reader) readProjectWide(options contract.Options) {
	s := setup{tokens: r.readTokens(format.Dir)}
	s.hooks, s.lack = r.readHooks(format.Dir)
	if s == (setup{}) {
		return
	}
	for _, ref := range r.projectWide(s, options) {
		own := s
		profiles := r.setups[ref]
		if len(profiles) > 0 {
			own.permissions = profiles[0].permissions
		}
		if slices.Equal(profiles, []setup{{permissions: own.permissions}}) {
			profiles = nil // the lists alone are beside the project's files
		}
		r.setups[ref] = append(profiles, own)
	}
}

func (r *reader) readPermissions(dir string) *permissionsFile {
	name, data, ok := r.file(dir, format.PermissionsFile)
	if !ok {
		return nil
	}
	f, diags := readPermissions(name, data)
	r.diags = append(r.diags, diags...)
	if f != nil {
		r.entryIDs = append(r.entryIDs, f.ids...)
	}
	return f
}

// file reads a file of a folder; false where it is not there or cannot be read.
func (r *reader) file(dir, base string) (name string, data []byte, ok bool) {
	name = path.Join(dir, base)
	data, err := fs.ReadFile(r.fsys, name)
	if diag.Unreadable(r.fsys, name, err) {
		r.ignored(diag.Pos{File: name}, "Cursor cannot read this file: %v", err)
	}
	return name, data, err == nil
}

// profileOf returns the subject of a profile by its folder's name.
func (o *opened) profileOf(dir string) (ir.SubjectRef, bool) {
	if o.project == nil {
		return contract.NamedSubject(dir)
	}
	for _, ref := range o.project.Subjects() {
		if path.Base(format.ProfileDir(ref)) == dir {
			return ref, true
		}
	}
	return ir.SubjectRef{}, false
}

// projectWide returns the subjects of the project's own files: those that a hook line
// names, and that of the option or the baseline.
func (o *opened) projectWide(s setup, options contract.Options) []ir.SubjectRef {
	var refs []ir.SubjectRef
	if s.hooks != nil {
		for _, list := range s.hooks.events {
			for _, e := range list {
				if e.Role == contract.HookModec && !slices.Contains(refs, e.Subject) {
					refs = append(refs, e.Subject)
				}
			}
		}
	}
	if ref := o.chosen(options); ref != (ir.SubjectRef{}) && !slices.Contains(refs, ref) {
		refs = append(refs, ref)
	}
	return refs
}

// chosen returns the subject of the option or the baseline; none where nothing is named.
// Without a policy, the profiles show whether the name is a mode or a role.
func (o *opened) chosen(options contract.Options) ir.SubjectRef {
	name := options.String("subject")
	if name == "" && options.Baseline() != "" {
		return ir.SubjectRef{Role: options.Baseline()}
	}
	return o.named(name)
}

// named returns the subject of a name that an option has.
func (o *opened) named(name string) ir.SubjectRef {
	if o.project != nil {
		ref, _ := o.project.ParseSubject(name, "")
		return ref
	}
	if slug, ok := strings.CutPrefix(name, "mode:"); ok || len(o.setups[ir.SubjectRef{Mode: name}]) > 0 {
		return ir.SubjectRef{Mode: slug}
	}
	return ir.SubjectRef{Role: strings.TrimPrefix(name, "role:")}
}

// home and root are where the model places the user and the project. The artifacts name
// neither.
const (
	home = "/home/person"
	root = home + "/project"
)

package cursor

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// opened is what the artifacts hold, read once. It stands apart from the
// emitter: how Cursor decides comes from its engine (@cursor/sdk 1.0.32) and
// its documentation, and where these leave something open the reading is taken
// by which Cursor permits more.
type opened struct {
	engine  *policy.Engine // of the emitted policy; nil where there is none
	servers map[string]*ir.Server
	folder  string // of the workspace, in the IDE's server ids
	root    string
	setups  map[ir.SubjectRef][]setup
	answers sync.Map // hookCall → opinion
}

// setup is a set of files that Cursor decides by at one time.
type setup struct {
	permissions *permissionsFile
	cli         *cliFile
	hooks       *hooksFile
}

// Open reads the profiles under .cursor/modec, each of which somebody's home
// folder may hold, and the project's own .cursor/cli.json and .cursor/hooks.json.
// For the subject of the latter both are judged, and the more permissive counts.
func (cursor) Open(fsys fs.FS, options contract.Options) ([]contract.Decider, diag.List) {
	o := &opened{servers: map[string]*ir.Server{}, setups: map[ir.SubjectRef][]setup{}, root: root, folder: options.String("folder")}
	if runtime.GOOS == "windows" {
		o.root = `C:` + filepath.FromSlash(root)
	}
	var diags diag.List
	if data, err := fs.ReadFile(fsys, policyFile); err == nil {
		if p, err := ir.Unmarshal(bytes.NewReader(data)); err == nil {
			o.engine = policy.New(p)
			o.folder = cmp.Or(o.folder, p.Name)
			for i := range p.Servers {
				o.servers[p.Servers[i].Name] = &p.Servers[i]
			}
		} else {
			diags = append(diags, ignored(diag.Pos{File: policyFile}, "the hooks refuse every call: "+err.Error()))
		}
	}
	dirs, _ := fs.ReadDir(fsys, ".cursor/modec")
	for _, d := range dirs {
		dir := ".cursor/modec/" + d.Name()
		s, list := o.readSetup(fsys, dir)
		diags = append(diags, list...)
		if s == (setup{}) {
			continue
		}
		ref, ok := o.profileOf(d.Name())
		if !ok {
			diags = append(diags, ignored(diag.Pos{File: dir}, "got a profile of nobody, want a role's name or a mode's slug"))
			continue
		}
		o.setups[ref] = append(o.setups[ref], s)
	}
	s, list := o.readSetup(fsys, ".cursor")
	diags = append(diags, list...)
	s.permissions = nil // the repository's own list is not applied
	if s != (setup{}) {
		for _, ref := range o.projectWide(s, options.String("subject")) {
			own := s
			if len(o.setups[ref]) > 0 {
				own.permissions = o.setups[ref][0].permissions
			}
			o.setups[ref] = append(o.setups[ref], own)
		}
	}
	if len(o.setups) == 0 {
		return nil, diags
	}
	return []contract.Decider{&decider{"ide", o}, &decider{"cli", o}}, diags
}

// readSetup reads the files of one folder that are there.
func (o *opened) readSetup(fsys fs.FS, dir string) (setup, diag.List) {
	var s setup
	var diags diag.List
	read := func(name string, use func(name string, data []byte) diag.List) {
		name = path.Join(dir, name)
		data, err := fs.ReadFile(fsys, name)
		switch {
		case err == nil:
			diags = append(diags, use(name, data)...)
		case !errors.Is(err, fs.ErrNotExist):
			diags = append(diags, ignored(diag.Pos{File: name}, "Cursor cannot read this file: "+err.Error()))
		}
	}
	if dir != ".cursor" {
		read("permissions.json", func(name string, data []byte) (list diag.List) {
			s.permissions, list = readPermissions(name, data)
			return list
		})
	}
	read("cli.json", func(name string, data []byte) (list diag.List) {
		s.cli, list = readTokens(name, data)
		return list
	})
	read("hooks.json", func(name string, data []byte) (list diag.List) {
		s.hooks, list = readHooks(name, data, o)
		return list
	})
	return s, diags
}

// profileOf returns the subject of a profile's folder: target.PathName of a
// role's name or of "mode:" and a slug.
func (o *opened) profileOf(dir string) (ir.SubjectRef, bool) {
	if o.engine != nil {
		for _, ref := range o.engine.Project().Subjects() {
			if contract.PathName(cmp.Or(ref.Role, "mode:"+ref.Mode)) == dir {
				return ref, true
			}
		}
		return ir.SubjectRef{}, false
	}
	name, err := url.PathUnescape(dir)
	if slug, ok := strings.CutPrefix(name, "mode:"); ok {
		return ir.SubjectRef{Mode: slug}, err == nil
	}
	return ir.SubjectRef{Role: name}, err == nil
}

// projectWide returns whom the project's own files hold: whom a hook line
// names, and whom the option subject or the baseline do.
func (o *opened) projectWide(s setup, option string) []ir.SubjectRef {
	var refs []ir.SubjectRef
	if s.hooks != nil {
		for _, list := range s.hooks.events {
			for _, e := range list {
				if e.role == modec && !slices.Contains(refs, e.subject) {
					refs = append(refs, e.subject)
				}
			}
		}
	}
	if o.engine != nil {
		p := o.engine.Project()
		if option == "" && p.Baseline != "" {
			option = "role:" + p.Baseline
		}
		if ref, err := p.ParseSubject(option, ""); err == nil && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// resolve knows no links: the artifacts do not say which there are.
func (o *opened) resolve(p string) (string, error) { return filepath.Clean(p), nil }

type decider struct {
	surface string
	*opened
}

func (d *decider) Surface() string { return d.surface }

func (d *decider) Assumes() []string {
	assumes := []string{
		"the agent runs locally, in a workspace that the user trusts: elsewhere Cursor runs no project hooks",
		"modec is on the PATH of Cursor",
		"no path of the project is a link",
	}
	if d.surface == "ide" {
		return append(assumes,
			"the profile's permissions.json is the user's ~/.cursor/permissions.json, and the run mode is its approvalMode (Allowlist)",
			"no organisation sets the run mode",
			"no sandbox runs what the list does not hold")
	}
	return append(assumes,
		"the run mode is allowlist: neither --force nor approvalMode in cli-config.json says otherwise",
		"the user's own cli-config.json allows nothing",
		"the sandbox is off: with it, unlisted commands run inside it")
}

// Decide is the most permissive of what the subject's setups and Cursor's tools
// make of the action.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	var v contract.Verdict
	for i, s := range d.setups[ref] {
		if w := d.judge(s, a); i == 0 {
			v = w
		} else {
			v = wider(v, w)
		}
	}
	return v
}

// wider joins two verdicts of the same files' kinds.
func wider(a, b contract.Verdict) contract.Verdict {
	if b.Decision > a.Decision {
		a.Answer = b.Answer
	}
	if a.Bare == nil || b.Bare != nil && b.Bare.Decision > a.Bare.Decision {
		a.Bare = b.Bare
	}
	a.Hole, a.BareHole = cmp.Or(a.Hole, b.Hole), cmp.Or(a.BareHole, b.BareHole)
	return a
}

// judge decides by one setup.
func (d *decider) judge(s setup, a policy.Action) contract.Verdict {
	tools := d.natives(d.surface, a)
	if len(tools) == 0 { // a person invokes a server's prompts; no hook sees that
		return contract.Verdict{Answer: d.lists(s, a, a.Server)}
	}
	ids := d.ids(d.surface, a.Server)
	var v contract.Verdict
	for i, calls := range tools {
		lists := d.lists(s, a, ids[i%len(ids)])
		bare, hole := lists, (*contract.Hole)(nil)
		if a.Group == ir.Command {
			bare, hole = strictly(lists, a.Arg)
		}
		w := contract.Verdict{Answer: bare, Hole: hole}
		if s.hooks != nil {
			w = contract.Verdict{Answer: d.hooked(s.hooks, a, lists, calls), Bare: &bare, BareHole: hole}
		}
		if i == 0 {
			v = w
		} else {
			v = wider(v, w)
		}
	}
	switch {
	case s.hooks != nil:
		v.Hole = d.hole(s, a, v.Answer)
	case d.surface == "cli" && v.Decision > ir.Deny:
		if tok, why := s.cli.meant(a); tok != nil {
			may := v.Decision
			if v.Hole != nil {
				may = max(may, v.Hole.Decision)
			}
			v.Hole = &contract.Hole{Decision: may, Why: why}
			v.Decision, v.Rule, v.At = ir.Deny, tok.text, tok.at
		}
	}
	return v
}

// lists is what the lists alone say.
func (d *decider) lists(s setup, a policy.Action, id string) contract.Answer {
	if d.surface == "cli" {
		return s.cli.decide(a, id)
	}
	switch {
	case a.Group == ir.MCP && a.Kind == policy.Tool:
		return s.permissions.tool(id, a.Arg)
	case a.Group == ir.Command:
		return s.permissions.command(a.Arg)
	}
	return contract.Answer{Decision: ir.Allow, Rule: "no list for this group"}
}

// hooked joins what the hooks say with the lists. A deny holds. The engine
// asks where beforeShellExecution asks, and takes an ask of any other event for
// no opinion. It takes every allow for none; the documentation says that the
// IDE does not ask where a hook for a command or an MCP tool allows.
func (d *decider) hooked(f *hooksFile, a policy.Action, lists contract.Answer, calls []call) contract.Answer {
	can := a.Group == ir.Command || a.Group == ir.MCP && a.Kind == policy.Tool
	out := lists
	if out.Governs |= contract.Access; can {
		out.Governs = contract.Both
	}
	for _, c := range calls {
		said, by := f.ask(c, d.opened)
		switch {
		case said == denied:
			out.Decision, out.Rule, out.At = ir.Deny, c.event+": "+by.text, by.at
			return out
		case said == asked && c.event == "beforeShellExecution" && out.Decision == ir.Allow:
			out.Decision, out.Rule, out.At = ir.Ask, c.event+": "+by.text, by.at
		case said == allowed && can && c.event != "preToolUse" && d.surface == "ide" && out.Decision == ir.Ask:
			out.Decision, out.Rule, out.At = ir.Allow, c.event+": "+by.text, by.at
		}
	}
	return out
}

// hole returns how Cursor goes past a refusal of its own hooks.
func (d *decider) hole(s setup, a policy.Action, answer contract.Answer) *contract.Hole {
	if answer.Decision == ir.Allow {
		return nil
	}
	passes := func(c call) bool {
		said, _ := s.hooks.ask(c, d.opened)
		return said != denied
	}
	switch a.Group {
	case ir.Read:
		folder := "."
		if !inside(root, absolute(a.Arg)) {
			folder = path.Dir(absolute(a.Arg))
		}
		if answer.Decision == ir.Deny && passes(d.preTool("Grep", map[string]any{"pattern": "x", "file_path": folder})) {
			return &contract.Hole{Decision: ir.Allow, Why: "Grep over a folder also shows the files below it that may not be read"}
		}
	case ir.Command:
		if passes(d.preTool("WriteShellStdin", map[string]any{"shell_id": 1, "chars_length": len(a.Arg)})) {
			return &contract.Hole{Decision: ir.Allow, Why: "WriteShellStdin types into a shell that runs already, and its payload does not say what"}
		}
	}
	return nil
}

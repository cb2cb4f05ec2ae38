package migrate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/render"
)

// Join imports the files of agents that come to a project into its source, as [Run] would have done with the files of
// all its agents: what the source has already stays with the targets that it has, and what both define equally is one
// definition. built is the project as it is, and names are those of the targets that come. The files of the result are
// those that are new or changed, modec.toml among them.
func Join(ctx context.Context, req Request, built *compiler.Result, names []string) (*Result, diag.List) {
	req.Out = built.Config.Source
	req.join = &joining{names: names, built: built}
	return Run(ctx, req)
}

// joining is a project to which agents come.
type joining struct {
	names  []string // of the targets that come
	built  *compiler.Result
	unites map[string][]func(*patcher) error // by what is defined equally: what the source says of it then
	first  [3]int                            // how many servers, modes and roles are the source's own
	files  []string                          // that the targets which the project has import
}

// has reports whether a target comes.
func (j *joining) has(t contract.Target) bool { return j == nil || slices.Contains(j.names, t.Name()) }

// stays returns the names of the targets that the project has without those that come.
func (j *joining) stays() (names []string) {
	for _, t := range j.built.Config.Targets {
		if !j.has(t.Target) {
			names = append(names, t.Target.Name())
		}
	}
	slices.Sort(names)
	return names
}

// place returns where something of the source is emitted without the targets that come.
func (j *joining) place(pl ir.Place) ir.Place {
	if pl.Targets == nil {
		pl.Targets = j.stays()
	}
	pl.Targets = slices.DeleteFunc(slices.Clone(pl.Targets), func(t string) bool { return slices.Contains(j.names, t) })
	return pl
}

// seed adds what the source has, with which the imports are joined. A mode is as the files of the project's own
// targets say it, if they do: these are compared.
func (j *joining) seed(m *merger, from contract.Source) {
	p, own := j.built.Project, map[string]*ir.Project{}
	from.Files, j.unites = nil, map[string][]func(*patcher) error{}
	for _, t := range j.built.Config.Targets {
		if im, ok := t.Target.(contract.Importer); ok && !j.has(t.Target) {
			got, _, _ := doWithout(im, from, nil)
			own[t.Target.Name()] = got.Project
			j.files = append(j.files, got.Files...)
		}
	}
	for _, s := range p.Servers {
		s.Place = j.place(s.Place)
		m.project.Servers = append(m.project.Servers, s)
	}
	for _, mode := range p.Modes {
		if mode.Builtin {
			continue
		}
		at := j.place(mode.Place)
		for _, t := range at.Targets {
			if of := own[t]; of != nil && of.Mode(at.Name(t, mode.Slug)) != nil {
				slug := mode.Slug
				mode = *of.Mode(at.Name(t, slug))
				mode.Slug = slug
				break
			}
		}
		mode.Place = at
		m.project.Modes = append(m.project.Modes, mode)
	}
	for _, r := range p.Roles {
		r.Place = j.place(r.Place)
		m.project.Roles = append(m.project.Roles, r)
	}
	j.first = [3]int{len(m.project.Servers), len(m.project.Modes), len(m.project.Roles)}
}

// harvest takes what is the source's own out of the joined project again, and keeps what became of it.
func (j *joining) harvest(m *merger) {
	p := m.project
	for i := range p.Servers[:j.first[0]] {
		s := &p.Servers[i]
		own := j.built.Project.Server(s.Name)
		j.limit(serverKind.word, s.Name, s.Place, own.Place)
		if !slices.ContainsFunc(j.names, s.For) {
			continue
		}
		at := []string{"servers", s.Name}
		for _, file := range slices.Sorted(maps.Keys(s.Entries)) {
			if own.Entries[file] == "" {
				j.say(at, append(slices.Clip(at), "entries", file), text(s.Entries[file]))
			}
		}
		for _, t := range s.Tools {
			if own.Tool(t.Name) == nil {
				j.say(at, append(slices.Clip(at), "tools", t.Name), &value{})
			}
		}
	}
	for i := range p.Modes[:j.first[1]] {
		x := &p.Modes[i]
		j.limit(modeKind.word, x.Slug, x.Place, j.built.Project.Mode(x.Slug).Place)
	}
	for i := range p.Roles[:j.first[2]] {
		x := &p.Roles[i]
		j.limit(roleKind.word, x.Name, x.Place, j.built.Project.Role(x.Name).Place)
	}
	p.Servers, p.Modes, p.Roles = p.Servers[j.first[0]:], p.Modes[j.first[1]:], p.Roles[j.first[2]:]
}

// limit has the source say where something is emitted, if it does not say it.
func (j *joining) limit(word, name string, now, was ir.Place) {
	if slices.Equal(now.Targets, was.Targets) || len(now.Targets) == 0 {
		return
	}
	at := []string{word + "s", name}
	j.say(at, append(slices.Clip(at), "targets"), texts(now.Targets))
}

func (j *joining) say(of, at []string, v *value) {
	key := strings.Join(of, " ")
	j.unites[key] = append(j.unites[key], func(p *patcher) error { return p.set(at, v) })
}

// render returns the files that are new or changed, and the project with them.
func (j *joining) render(in *imports, req Request) ([]contract.File, memfs.FS, diag.List) {
	tree, _, diags := existing(req)
	dialects := contract.Dialects(req.Targets)
	files, err := render.Source(in.project, req.Out, in.comments, dialects)
	if err != nil {
		diags.Errorf(diag.BadModel, diag.Pos{}, "%v", err)
		return nil, nil, diags
	}
	p := &patcher{fsys: req.Root, dir: req.Out, files: memfs.FS{}}
	for _, name := range slices.Sorted(maps.Keys(j.unites)) {
		if err := p.do(func(p *patcher) error { return p.all(j.unites[name]) }); err != nil {
			kind, own, _ := strings.Cut(name, " ")
			d := diags.Errorf(diag.NothingToMigrate, j.at(kind, own), "modec cannot write into the source where %s %s "+
				"is emitted: %v", strings.TrimSuffix(kind, "s"), own, err)
			d.Hintf("write targets: [%s] there, and run `modec migrate` again", diag.Quote(j.stays()))
		}
	}
	for _, f := range files {
		if err := j.add(p, f); err != nil {
			diags.Errorf(diag.NothingToMigrate, diag.Pos{File: f.Path}, "nothing was imported: %v", err).
				Hint("give it another name, and run `modec migrate` again")
		}
	}
	text, err := joined(tree[config.File], j.baseline(in), in.config.targets)
	if err != nil {
		diags.Errorf(diag.BadConfig, diag.Pos{File: config.File}, "%v", err)
		return nil, nil, diags
	}
	p.files[config.File] = text
	maps.Copy(tree, p.files)
	in.beside(req, tree)
	return p.changed(), tree, diags
}

// at returns where the source has something.
func (j *joining) at(kind, name string) diag.Pos {
	p := j.built.Project
	switch kind {
	case "servers":
		return p.Server(name).Pos
	case "modes":
		return p.Mode(name).Pos
	}
	return p.Role(name).Pos
}

// add adds a file to the source. One for several servers, of which the source has one already, is named after the
// target that comes; a policy that the source has in the same words stays.
func (j *joining) add(p *patcher, f contract.File) error {
	have, err := p.read(f.Path)
	switch {
	case err != nil:
	case path.Base(path.Dir(f.Path)) == "policies" && bytes.Equal(have, f.Data):
		return nil
	case f.Path == path.Join(p.dir, render.ServersFile):
		f.Path = path.Join(p.dir, "servers", contract.PathName(j.names[0])+".cue")
	}
	return p.create(f.Path, f.Data)
}

// baseline returns the role of sessions that name none, where the project gets another one: it has none, or its own is
// that of targets which say by an option whose their files are.
func (j *joining) baseline(in *imports) string {
	was, is := j.built.Config.Baseline, in.config.baseline
	if in.project.Role(is) == nil {
		return ""
	}
	chosen := func(t config.Target) bool {
		return j.has(t.Target) || t.Options.Chosen() != ""
	}
	if was == "" || !slices.ContainsFunc(j.built.Config.Targets, func(t config.Target) bool { return !chosen(t) }) {
		return is
	}
	return ""
}

// role returns the role of sessions that name none of the files of targets that come, "" where each of them says by an
// option whose its files are, and the project has such a role already.
func (j *joining) role(role string, options map[string]any) string {
	if j != nil && options["subject"] != nil && j.built.Config.Baseline != "" {
		return ""
	}
	return role
}

var errNoTable = errors.New("modec cannot add it to the text")

// joined returns a modec.toml with more targets, and with another baseline where one is named.
func joined(have []byte, baseline string, targets []configTarget) ([]byte, error) {
	var want map[string]any
	if err := toml.Unmarshal(have, &want); err != nil {
		return nil, err
	}
	tables, _ := want["targets"].(map[string]any)
	if tables == nil {
		tables = map[string]any{}
		want["targets"] = tables
	}
	text := string(have)
	if baseline != "" && want["baseline"] != baseline {
		line, err := toml.Marshal(map[string]string{"baseline": baseline})
		if err != nil {
			return nil, err
		}
		text = withTop(text, "baseline", string(line))
		want["baseline"] = baseline
	}
	for _, t := range targets {
		table, there := tables[t.name].(map[string]any)
		more := map[string]any{}
		for name, v := range t.options {
			if _, ok := table[name]; !ok {
				more[name] = v
			}
		}
		lines, err := toml.Marshal(more)
		if err != nil {
			return nil, err
		}
		if !there {
			text = strings.TrimRight(text, "\n") + "\n\n[targets." + t.name + "]\n" + string(lines)
			table = map[string]any{}
		} else if end := headerEnd(text, t.name); end > 0 {
			text = strings.TrimSuffix(text[:end], "\n") + "\n" + string(lines) + text[end:]
		}
		maps.Copy(table, more)
		tables[t.name] = table
	}
	var is map[string]any
	if err := toml.Unmarshal([]byte(text), &is); err != nil || !reflect.DeepEqual(asRead(is), asRead(want)) {
		var names []string
		for _, t := range targets {
			names = append(names, fmt.Sprintf("[targets.%s]", t.name))
		}
		return nil, fmt.Errorf("write %s there, and run `modec migrate` again: %w", strings.Join(names, ", "),
			errNoTable)
	}
	return []byte(text), nil
}

// headers matches the lines that begin the tables of targets.
var headers = lazy.Regexp(`(?m)^[ \t]*\[[ \t]*targets[ \t]*\.[ \t]*"?([A-Za-z0-9_-]+)"?[ \t]*\][^\n]*\n?`)

// headerEnd returns where the line ends that begins the table of a target, 0 where there is none.
func headerEnd(text, target string) int {
	for _, at := range headers().FindAllStringSubmatchIndex(text, -1) {
		if text[at[2]:at[3]] == target {
			return at[1]
		}
	}
	return 0
}

// asRead returns the values of a table as they are read from a text.
func asRead(table map[string]any) (out map[string]any) {
	text, err := toml.Marshal(table)
	if err != nil || toml.Unmarshal(text, &out) != nil {
		return table
	}
	return out
}

// withTop writes a line of the first part of a modec.toml in the place of the one of its name, else behind the name
// of the project, else before all others.
func withTop(text, name, line string) string {
	after, offset := 0, 0
	for l := range strings.Lines(text) {
		key, _, _ := strings.Cut(l, "=")
		switch key = strings.TrimSpace(key); {
		case strings.HasPrefix(key, "["):
			return text[:after] + line + text[after:]
		case key == name:
			return text[:offset] + line + text[offset+len(l):]
		case key == "name" && strings.HasSuffix(l, "\n"):
			after = offset + len(l)
		}
		offset += len(l)
	}
	return text[:after] + line + text[after:]
}

// options returns the options of an import's target, with the names that its roles have in the source.
func (j *joining) options(options map[string]any, roles map[string]string) map[string]any {
	if j == nil {
		return options
	}
	out := maps.Clone(options)
	for name, v := range out {
		if role, ok := strings.CutPrefix(fmt.Sprint(v), "role:"); ok {
			out[name] = "role:" + cmp.Or(roles[role], role)
		}
	}
	return out
}

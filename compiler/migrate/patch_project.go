package migrate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/render"
	"modec.dev/modec/compiler/source"
)

// definition adds what a project has, a server or a mode, in files of its own.
func (p *patcher) definition(project *ir.Project, dialects []contract.Dialect) error {
	files, err := render.Source(project, p.dir, nil, dialects)
	if err != nil {
		return err
	}
	for i := range project.Servers {
		p.paths = append(p.paths, []string{"servers", project.Servers[i].Name})
	}
	for i := range project.Modes {
		p.paths = append(p.paths, []string{"modes", project.Modes[i].Slug})
	}
	p.paths = append(p.paths, []string{"policies"})
	for _, f := range files {
		rest := strings.TrimPrefix(f.Path, path.Clean(p.dir)+"/")
		if name, ok := strings.CutPrefix(rest, "policies/"); ok &&
			p.get([]string{"policies", strings.TrimSuffix(name, ".cue")}) != nil {
			continue // the source says itself what it has
		}
		if rest == "servers.cue" {
			f.Path = path.Join(p.dir, "servers", contract.PathName(project.Servers[0].Name)+".cue")
		}
		if err := p.create(f.Path, f.Data); err != nil {
			return err
		}
	}
	return nil
}

// rename gives a mode another name, wherever the source names it.
func (p *patcher) rename(was, is string) error {
	p.paths = append(p.paths, []string{"modes", was}, []string{"modes", is})
	key, _ := p.root.Get("modes").Lookup(was)
	if err := p.label(key, is); err != nil {
		return err
	}
	if err := p.load(); err != nil {
		return err
	}
	if p.get([]string{"modes", was}) != nil {
		return fmt.Errorf("the source says what mode %s is in several places: name it %s there", was, is)
	}
	for {
		at, n := naming(p.root, was, nil)
		if n == nil {
			return nil
		}
		p.paths = append(p.paths, at)
		do := func() error { return p.replace(n, text(is)) }
		if isYAML(n.Pos.File) {
			do = func() error { return p.word(n.Pos, was, is) }
		}
		err := do()
		if err == nil {
			err = p.load()
		}
		if err != nil {
			return err
		}
	}
}

// word writes another word of YAML in the place of one.
func (p *patcher) word(at diag.Pos, was, is string) error {
	have, err := p.read(at.File)
	if err != nil {
		return err
	}
	from, _ := lineAt(have, at.Line)
	from += at.Col - 1
	for _, w := range []string{was, strconv.Quote(was), "'" + was + "'"} {
		rest, ok := bytes.CutPrefix(have[from:], []byte(w))
		if ok && (len(rest) == 0 || bytes.ContainsRune([]byte(":,]} \t\r\n"), rune(rest[0]))) {
			p.files[at.File] = slices.Concat(have[:from], []byte(text(is).json()), rest)
			return nil
		}
	}
	return cannot(at, "write "+is)
}

// naming returns a value of a source that names a mode, and the path of the list that it is in; nil where there is
// none.
func naming(n *source.Node, mode string, at []string) ([]string, *source.Node) {
	last := len(at) - 1
	names := last > 1 && (slices.Contains(at[2:], "modes") || at[0] == "modes" && at[last] == "extends")
	if n.Kind == source.List && names {
		for _, e := range n.Elems {
			if e.Kind == source.String && e.Text == mode {
				return at, e
			}
		}
	}
	for _, f := range n.Fields {
		if len(at) > 0 || f.Name == "modes" || f.Name == "roles" || f.Name == "policies" {
			if path, e := naming(f.Node, mode, append(slices.Clip(at), f.Name)); e != nil {
				return path, e
			}
		}
	}
	return nil, nil
}

// label writes another name in the place of a field's.
func (p *patcher) label(key source.Field, is string) error {
	name := key.Pos.File
	have, err := p.read(name)
	if err != nil {
		return err
	}
	if isYAML(name) {
		return p.word(key.Pos, key.Name, is)
	}
	f, err := source.Parse(name, have)
	if err != nil {
		return err
	}
	var found ast.Node
	ast.Walk(f, func(x ast.Node) bool {
		if f, ok := x.(*ast.Field); ok {
			if at := f.Label.Pos().Position(); at.Line == key.Pos.Line && at.Column == key.Pos.Col {
				found = f.Label
			}
		}
		return found == nil
	}, nil)
	label := render.Label(is)
	switch path.Ext(name) {
	case ".json":
		label = text(is).json()
	case ".cue":
	default:
		found = nil
	}
	if found == nil {
		return cannot(key.Pos, "name it "+is)
	}
	p.write(name, have, slices.Concat(have[:found.Pos().Offset()], []byte(label), have[found.End().Offset():]))
	return nil
}

// server writes another definition in the place of a server's.
func (p *patcher) server(s ir.Server) error {
	files, err := render.Source(&ir.Project{Servers: []ir.Server{s}}, p.dir, nil, nil)
	if err != nil {
		return err
	}
	f, err := source.Parse("servers.cue", files[0].Data)
	if err != nil {
		return err
	}
	servers := f.Decls[len(f.Decls)-1].(*ast.Field).Value.(*ast.StructLit)
	own := servers.Elts[0].(*ast.Field).Value
	is := string(files[0].Data[own.Pos().Offset():own.End().Offset()])
	if l, ok := own.(*ast.StructLit); ok && !l.Lbrace.IsValid() {
		is = "{" + is + "}"
	}
	return p.set([]string{"servers", s.Name}, &value{raw: is})
}

// ruleFile adds a text file to those of a mode.
func (p *patcher) ruleFile(mode string, r ir.RuleFile) error {
	at := []string{"modes", mode}
	n := p.get(at)
	if n == nil {
		return errors.New("the source does not name the mode")
	}
	file := path.Join(p.dir, "rules", mode, r.Name)
	if err := p.create(file, []byte(r.Text)); err != nil {
		return err
	}
	named := n.Pos.File // rules are named from the file that lists them
	if l := p.get(append(at, "rules")); l != nil {
		named = l.Pos.File
	}
	rel, err := filepath.Rel(path.Dir(named), file)
	if err != nil {
		return err
	}
	return p.add(append(at, "rules"), text(filepath.ToSlash(rel)))
}

// prose writes another text in the place of one that a field says, or its file.
func (p *patcher) prose(at []string, is string) error {
	last := len(at) - 1
	named := append(slices.Clip(at[:last]), at[last]+"File")
	if n := p.get(named); n != nil {
		return p.textFile(n, is)
	}
	if is == "" {
		return p.unset(at)
	}
	return p.set(at, text(is))
}

// textFile writes a text file that the source names.
func (p *patcher) textFile(n *source.Node, is string) error {
	name, ok := source.TextPath(n)
	if !ok {
		return cannot(n.Pos, "change the file")
	}
	was, err := p.read(name)
	if err != nil {
		return err
	}
	if bytes.HasSuffix(was, []byte("\n")) {
		is = strings.TrimSuffix(is, "\n") + "\n"
	}
	p.files[name] = []byte(is)
	return nil
}

// changed returns the files that are not as they were. One in which nothing is left has no data: it goes.
func (p *patcher) changed() (out []contract.File) {
	says := p.root != nil && slices.ContainsFunc(p.root.Fields, func(f source.Field) bool { return !isEmpty(f.Node) })
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		f := contract.File{Path: name, Data: p.files[name]}
		was, err := fs.ReadFile(p.fsys, name)
		switch {
		case err == nil && bytes.Equal(was, f.Data):
			continue
		case says && saysNothing(name, f.Data) && err != nil:
			continue
		case says && saysNothing(name, f.Data):
			f.Data = nil
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b contract.File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// isEmpty reports whether a value is a struct without fields.
func isEmpty(n *source.Node) bool { return n.Kind == source.Struct && len(n.Fields) == 0 }

// saysNothing reports whether a CUE file names its package and nothing of it, not even in a comment: of a kind, such
// as modes, it may have an empty struct.
func saysNothing(name string, data []byte) bool {
	if path.Ext(name) != ".cue" || bytes.Contains(data, []byte("//")) {
		return false
	}
	f, err := source.Parse(name, data)
	return err == nil && !slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		if _, ok := d.(*ast.Package); ok {
			return false
		}
		field, _ := d.(*ast.Field)
		if field == nil {
			return true
		}
		s, ok := field.Value.(*ast.StructLit)
		return !ok || len(s.Elts) > 0
	})
}

// owner returns the path of what a subject, or the policy that it has a rule from, may do.
func (p *patcher) owner(at []string, from string) []string {
	if name, ok := strings.CutPrefix(from, policyPrefix); ok && p.get([]string{"policies", name}) != nil {
		return []string{"policies", name, "can"}
	}
	return append(slices.Clip(at), "can")
}

const policyPrefix = "policy "

// changeRuleFile writes the text of a rules file in its list.
func (p *patcher) changeRuleFile(at []string, r ir.RuleFile) error {
	n := p.get(at)
	if n != nil {
		for _, x := range n.Elems {
			if x.Text == r.Name || strings.HasSuffix(x.Text, "/"+r.Name) {
				return p.textFile(x, r.Text)
			}
		}
	}
	return errors.New("the source does not name the file")
}

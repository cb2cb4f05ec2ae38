package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/source"
)

// patcher changes the text of a source at the places of its values. Whatever it does not change keeps
// its bytes, but for the layout of a CUE file that is formatted.
type patcher struct {
	fsys  fs.FS
	dir   string // of the source
	files memfs.FS
	root  *source.Node
	paths [][]string // that the change is about
}

// tree returns the project with what was changed so far.
func (p *patcher) tree() (fs.FS, error) { return source.Overlay(p.fsys, p.dir, p.files) }

// do makes one change of the source, or none where it fails.
func (p *patcher) do(change func(*patcher) error) error {
	before := maps.Clone(p.files)
	err := p.load()
	root := p.root
	p.paths = nil
	if err == nil {
		err = change(p)
	}
	if err == nil {
		err = p.load()
	}
	if err == nil {
		err = p.elsewhere(root, p.root, nil)
	}
	if err != nil {
		p.files, p.root = before, root
	}
	return err
}

// all makes several changes, each of what the one before left.
func (p *patcher) all(changes []func(*patcher) error) error {
	for _, do := range changes {
		if err := do(p); err != nil {
			return err
		}
		if err := p.load(); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere fails where something changed that the change is not about: the value is written once and
// referred to from several places.
func (p *patcher) elsewhere(a, b *source.Node, at []string) error {
	within := func(path []string) bool { return len(path) <= len(at) && slices.Equal(path, at[:len(path)]) }
	above := func(path []string) bool { return len(path) > len(at) && slices.Equal(path[:len(at)], at) }
	switch {
	case slices.ContainsFunc(p.paths, within), a != nil && b != nil && source.Equal(a, b):
		return nil
	case !slices.ContainsFunc(p.paths, above):
		return fmt.Errorf("%s would change too", strings.Join(at, "."))
	}
	for _, n := range []*source.Node{a, b} {
		if n == nil {
			continue
		}
		for _, f := range n.Fields {
			if err := p.elsewhere(a.Get(f.Name), b.Get(f.Name), append(slices.Clip(at), f.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *patcher) load() error {
	tree, err := p.tree()
	if err != nil {
		return err
	}
	read, diags := source.Load(tree, p.dir)
	if p.root = read.Root; diags.HasErrors() || p.root == nil {
		return errors.New("the source could not be read any more")
	}
	return nil
}

// read returns a file as it is now.
func (p *patcher) read(name string) ([]byte, error) {
	if data, ok := p.files[name]; ok {
		return data, nil
	}
	if name == "" {
		return nil, errors.New("modec does not know where the source says it: change it there")
	}
	return fs.ReadFile(p.fsys, name)
}

// create adds a file that is not there.
func (p *patcher) create(name string, data []byte) error {
	if _, err := p.read(name); err == nil {
		return fmt.Errorf("%s is there already", name)
	}
	p.files[name] = data
	return nil
}

// write replaces the text of a file. A CUE file that was formatted stays so.
func (p *patcher) write(name string, was, is []byte) {
	if path.Ext(name) == ".cue" {
		if f, err := source.FormatCUE(string(was)); err == nil && bytes.Equal(f, was) {
			if f, err := source.FormatCUE(string(is)); err == nil {
				is = f
			}
		}
	}
	p.files[name] = is
}

// get returns the value at a path, nil where there is none.
func (p *patcher) get(at []string) *source.Node {
	n, depth := p.deepest(at)
	if depth < len(at) {
		return nil
	}
	return n
}

// deepest returns the value as far along a path as there is one, and how far that is.
func (p *patcher) deepest(at []string) (*source.Node, int) {
	n := p.root
	for i, name := range at {
		next := n.Get(name)
		if next == nil {
			return n, i
		}
		n = next
	}
	return n, len(at)
}

// errSaid is the error of a change after which the source would say what it says.
var errSaid = errors.New("the source says it already")

// These are the errors of taking out what is not there: a value, and an item of a list.
var (
	errUnsaid = errors.New("the source does not say it")
	errNoList = errors.New("no list of the source says it alone")
)

// cannot is the error of a place that has another form than the patcher changes.
func cannot(at diag.Pos, what string) error {
	return fmt.Errorf("what stands at %s is not a plain value that modec can change: %s there", at, what)
}

// add adds an item to the list at a path.
func (p *patcher) add(at []string, item *value) error {
	p.paths = append(p.paths, at)
	n, depth := p.deepest(at)
	switch {
	case depth == len(at) && n.Kind == source.List && slices.ContainsFunc(n.Elems, item.same):
		return errSaid
	case depth == len(at) && n.Kind == source.List:
		return p.insert(n, item)
	case depth < len(at) && n.Kind == source.String: // a word in place of a table
		p.paths = append(p.paths, at[:depth])
		table := object("default", text(n.Text))
		table.fields = append([]field{{at[depth], nested(at[depth+1:], list(item))}}, table.fields...)
		return p.replace(n, table)
	}
	return p.field(at, list(item))
}

// drop takes an item out of the list at a path.
func (p *patcher) drop(at []string, item *value) error {
	p.paths = append(p.paths, at)
	n := p.get(at)
	if n == nil || n.Kind != source.List {
		return errNoList
	}
	i := slices.IndexFunc(n.Elems, item.same)
	if i < 0 {
		return fmt.Errorf("the list at %s does not say it alone", n.Pos)
	}
	if err := p.remove(n, i); err != nil {
		return err
	}
	if len(n.Elems) == 1 {
		p.tidy(at)
	}
	return nil
}

// tidy takes out a list that is empty, and the tables in which nothing is left then: they decide nothing. What
// cannot be taken out stays, and so does a list that limits: without it there would be no limit.
func (p *patcher) tidy(at []string) {
	for ; len(at) > 2 && at[len(at)-1] != "can"; at = at[:len(at)-1] {
		if p.load() != nil {
			return
		}
		n, before := p.get(at), maps.Clone(p.files)
		rules := n != nil && n.Kind == source.List && decides(at)
		if !rules && (n == nil || n.Kind != source.Struct) || len(n.Elems)+len(n.Fields) > 0 {
			return
		}
		can := slices.Index(at, "can")
		err := p.unset(slices.Clone(at))
		if err == nil && (p.load() != nil || p.get(at[:2]) == nil) { // it was all that the subject says
			p.files = before
			if err = p.load(); err == nil && can > 0 {
				err = p.set(at[:can+1], &value{})
			}
		}
		if err != nil {
			p.files = before
		}
		if err != nil || can < 0 {
			return
		}
	}
}

// decide writes the decision of a table for whatever no rule matches; "" takes it out.
func (p *patcher) decide(at []string, word string) error {
	n, inner := p.get(at), append(slices.Clip(at), "default")
	p.paths = append(p.paths, at)
	switch {
	case isWord(at) && word == "":
		return p.unset(at)
	case isWord(at):
		return p.set(at, text(word))
	case n != nil && n.Kind == source.String && word == "":
		return p.replace(n, &value{})
	case n != nil && n.Kind == source.String, n == nil && word != "":
		return p.set(at, text(word))
	case word == "":
		return p.unset(inner)
	}
	return p.set(inner, text(word))
}

// isWord reports whether what stands at a path is a word alone, and no table.
func isWord(at []string) bool {
	last, of := at[len(at)-1], at[len(at)-2]
	words := []string{"resources", "prompts", "unknown", "default"}
	return of == "outside" || of != "mcp" && slices.Contains(words, last)
}

// set writes the value at a path.
func (p *patcher) set(at []string, v *value) error {
	p.paths = append(p.paths, at)
	n := p.get(at)
	switch {
	case n == nil:
		return p.field(at, v)
	case isYAML(n.Pos.File) && (n.Kind == source.Struct || n.Kind == source.List):
		return p.entry(at, func(indent, name string) string { return indent + name + ": " + v.json() + "\n" })
	}
	return p.replace(n, v)
}

func isYAML(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" }

// entry writes other lines in the place of those of a map's entry of YAML: is makes them of what stands before
// the name, and of the name as it is written.
func (p *patcher) entry(at []string, is func(indent, name string) string) error {
	last := len(at) - 1
	of := p.get(at[:last])
	key, _ := of.Lookup(at[last])
	have, err := p.read(key.Pos.File)
	if err != nil {
		return err
	}
	if key.Pos.File != key.Node.Pos.File {
		return cannot(key.Pos, "change it")
	}
	from, to, ok := yamlEntry(have, key)
	if inBraces := of.Pos.File == key.Pos.File && bytes.HasPrefix(textAt(have, of.Pos), []byte("{")); inBraces || !ok {
		if from, to, ok = flowItem(have, key.Pos); !ok {
			return cannot(key.Pos, "change it")
		}
		name, _, _ := strings.Cut(string(have[from:to]), ":")
		item := strings.TrimSuffix(is("", name), "\n")
		if item == "" {
			from, to = withComma(have, from, to)
		}
		p.files[key.Pos.File] = slices.Concat(have[:from], []byte(item), have[to:])
		return nil
	}
	start := from + key.Pos.Col - 1
	name, _, _ := strings.Cut(string(have[start:to]), ":")
	lines := is(string(have[from:start]), name)
	if lines == "" && len(of.Fields) == 1 {
		lines = string(have[from:start]) + "{}\n"
	}
	p.files[key.Pos.File] = slices.Concat(have[:from], []byte(lines), have[to:])
	return nil
}

// field adds a field at a path where there is none: into the struct that has its neighbours, or at
// the end of the CUE file, or in a file of its own.
func (p *patcher) field(at []string, v *value) error {
	n, depth := p.deepest(at)
	if n.Kind != source.Struct {
		return cannot(n.Pos, "add "+strings.Join(at[depth:], ".")+": "+v.cue())
	}
	subject, _ := p.deepest(at[:min(2, len(at))])
	name := n.Pos.File
	if depth < 2 {
		name = subject.Pos.File
	}
	if path.Ext(name) != ".cue" || depth == 0 {
		file := path.Join(p.dir, at[0], contract.PathName(at[1])+".edits.cue")
		have, err := p.read(file)
		if err != nil {
			have = []byte("package modec\n")
		}
		p.write(file, have, append(slices.Clone(have), "\n"+chain(at)+v.cue()+"\n"...))
		return nil
	}
	have, err := p.read(name)
	if err != nil {
		return err
	}
	if f, _, err := parsed(name, have, n); err == nil && depth > 1 && n.Pos.File == name {
		if e := braceless(f, n); e != nil { // as that of a in a: b: 1
			from, to := e.Pos().Offset(), e.End().Offset()
			sep := ", "
			if bytes.ContainsRune(have[from:to], '\n') {
				sep = "\n"
			}
			inner := string(have[from:to]) + sep + chain(at[depth:]) + v.cue()
			if sep == "\n" {
				inner = sep + inner + sep
			}
			p.write(name, have, slices.Concat(have[:from], []byte("{"+inner+"}"), have[to:]))
			return nil
		}
	}
	s, depth, err := p.braces(name, have, at, depth)
	switch {
	case err != nil:
		return err
	case s == nil:
		p.write(name, have, append(slices.Clone(have), "\n"+chain(at)+v.cue()+"\n"...))
		return nil
	}
	line := chain(at[depth:]) + v.cue()
	end := s.Rbrace.Offset()
	if before := bytes.TrimRight(have[:end], " \t"); bytes.HasSuffix(before, []byte("\n")) {
		line = indentAt(have, end) + "\t" + line + "\n"
		end = len(before)
	} else if len(s.Elts) > 0 {
		line = ", " + line
	}
	p.write(name, have, slices.Concat(have[:end], []byte(line), have[end:]))
	return nil
}

// braces returns the innermost struct along a path that a file writes in braces, and how far along it is; nil where
// there is none.
func (p *patcher) braces(name string, have []byte, at []string, depth int) (*ast.StructLit, int, error) {
	for ; depth > 0; depth-- {
		n := p.get(at[:depth])
		if n.Pos.File != name {
			continue
		}
		f, e, err := parsed(name, have, n)
		if err != nil {
			return nil, 0, err
		}
		if s, ok := e.(*ast.StructLit); ok && f != nil {
			return s, depth, nil
		}
	}
	return nil, 0, nil
}

// forget takes out what subjects say of a server that is to be gone.
func (p *patcher) forget(server string) error {
	for _, kind := range []string{"modes", "policies", "roles"} {
		subjects := p.get([]string{kind})
		if subjects == nil {
			continue
		}
		for _, f := range subjects.Fields {
			at := []string{kind, f.Name, "can", "mcp", server}
			switch err := p.unset(at); {
			case errors.Is(err, errUnsaid):
				continue
			case err != nil:
				return err
			}
			p.tidy(at[:len(at)-1])
			if err := p.load(); err != nil {
				return err
			}
		}
	}
	return nil
}

// unset takes out the field at a path, in each file that has a part of it.
func (p *patcher) unset(at []string) error {
	p.paths = append(p.paths, at)
	n := p.get(at)
	if n == nil {
		return errUnsaid
	}
	for seen := map[string]bool{}; n != nil && !seen[n.Pos.File]; n = p.get(at) {
		seen[n.Pos.File] = true
		if err := p.unsetIn(n, at); err != nil {
			return err
		}
		if p.load() != nil {
			break // whoever changes the source looks
		}
	}
	return nil
}

// unsetIn takes out the field at a path in the file of its value.
func (p *patcher) unsetIn(n *source.Node, at []string) error {
	if isYAML(n.Pos.File) {
		return p.entry(at, func(string, string) string { return "" })
	}
	have, err := p.read(n.Pos.File)
	if err != nil {
		return err
	}
	f, e, err := parsed(n.Pos.File, have, n)
	if err == nil && e == nil {
		e = braceless(f, n)
	}
	if err != nil || e == nil {
		return cannot(n.Pos, "take it out")
	}
	var found *ast.StructLit
	ast.Walk(f, func(x ast.Node) bool {
		if s, ok := x.(*ast.StructLit); ok && s.Lbrace.IsValid() && slices.ContainsFunc(s.Elts, leadsTo(e)) {
			found = s
		}
		return true
	}, nil)
	if found == nil {
		i := slices.IndexFunc(f.Decls, leadsTo(e))
		if i < 0 {
			return cannot(n.Pos, "take it out")
		}
		p.write(n.Pos.File, have, append(bytes.TrimRight(without(have, spans(f.Decls), i), "\n"), '\n'))
		return nil
	}
	i := slices.IndexFunc(found.Elts, leadsTo(e))
	p.write(n.Pos.File, have, without(have, spans(found.Elts), i))
	return nil
}

// braceless returns the syntax of a struct that is written as the one field in it, as that of a in a: b: 1; nil
// where there is none.
func braceless(f *ast.File, n *source.Node) (e ast.Expr) {
	ast.Walk(f, func(x ast.Node) bool {
		s, ok := x.(*ast.StructLit)
		if at := x.Pos().Position(); ok && n.Kind == source.Struct && !s.Lbrace.IsValid() &&
			at.Line == n.Pos.Line && at.Column == n.Pos.Col {
			e = s
		}
		return e == nil
	}, nil)
	return e
}

// holds returns whether a declaration is the field of a value.
func holds(e ast.Expr) func(ast.Decl) bool {
	return func(d ast.Decl) bool {
		f, ok := d.(*ast.Field)
		return ok && f.Value == e
	}
}

// leadsTo returns whether a declaration is the field of a value and of nothing else, as in a: b: {}.
func leadsTo(e ast.Expr) func(ast.Decl) bool {
	return func(d ast.Decl) bool {
		for {
			if holds(e)(d) {
				return true
			}
			f, _ := d.(*ast.Field)
			if f == nil {
				return false
			}
			s, _ := f.Value.(*ast.StructLit)
			if s == nil || s.Lbrace.IsValid() || len(s.Elts) != 1 {
				return false
			}
			d = s.Elts[0]
		}
	}
}

// replace writes another value in the place of one.
func (p *patcher) replace(n *source.Node, v *value) error {
	name := n.Pos.File
	have, err := p.read(name)
	if err != nil {
		return err
	}
	switch path.Ext(name) {
	case ".cue", ".json":
		f, e, err := parsed(name, have, n)
		if err == nil && e == nil {
			e = braceless(f, n)
		}
		if err != nil || e == nil {
			return cannot(n.Pos, "write "+v.cue())
		}
		is := v.json()
		if path.Ext(name) == ".cue" {
			is = v.cue()
		}
		from, to := e.Pos().Offset(), e.End().Offset()
		p.write(name, have, slices.Concat(have[:from], []byte(is), have[to:]))
		return nil
	case ".yaml", ".yml":
		from, to, ok := yamlScalar(have, n)
		if !ok {
			return cannot(n.Pos, "write "+v.json())
		}
		p.files[name] = slices.Concat(have[:from], []byte(v.yaml(indentAt(have, from))), have[to:])
		return nil
	}
	return cannot(n.Pos, "write "+v.json())
}

// insert adds an item at the end of a list.
func (p *patcher) insert(n *source.Node, item *value) error {
	name := n.Pos.File
	have, err := p.read(name)
	if err != nil {
		return err
	}
	switch path.Ext(name) {
	case ".cue", ".json":
		_, e, err := parsed(name, have, n)
		l, ok := e.(*ast.ListLit)
		if err != nil || !ok {
			break
		}
		is := item.json()
		if path.Ext(name) == ".cue" {
			is = item.cue()
		}
		at, close := l.Lbrack.Offset()+1, l.Rbrack.Offset()
		if len(l.Elts) > 0 {
			last := l.Elts[len(l.Elts)-1]
			at = last.End().Offset()
			switch own := bytes.ContainsRune(have[at:close], '\n'); {
			case !own:
				is = ", " + is
			case path.Ext(name) == ".cue": // behind the comment of the last line
				is = indentAt(have, last.Pos().Offset()) + is + ",\n"
				at = len(bytes.TrimRight(have[:close], " \t"))
			default:
				is = ",\n" + indentAt(have, last.Pos().Offset()) + is
			}
		}
		p.write(name, have, slices.Concat(have[:at], []byte(is), have[at:]))
		return nil
	case ".yaml", ".yml":
		if at, before, ok := yamlEnd(have, n); ok {
			after := ""
			if strings.HasSuffix(strings.TrimSpace(before), "-") {
				after = "\n"
			}
			p.files[name] = slices.Concat(have[:at], []byte(before+item.json()+after), have[at:])
			return nil
		}
	}
	return cannot(n.Pos, "add "+item.json())
}

// remove takes an item out of a list.
func (p *patcher) remove(n *source.Node, i int) error {
	name := n.Pos.File
	have, err := p.read(name)
	if err != nil {
		return err
	}
	switch path.Ext(name) {
	case ".cue", ".json":
		_, e, err := parsed(name, have, n)
		l, ok := e.(*ast.ListLit)
		if err != nil || !ok {
			break
		}
		is := slices.Concat(have[:l.Lbrack.Offset()+1], have[l.Rbrack.Offset():])
		if len(l.Elts) > 1 {
			is = without(have, spans(l.Elts), i)
		}
		p.write(name, have, is)
		return nil
	case ".yaml", ".yml":
		at := n.Elems[i].Pos
		from, to := lineAt(have, at.Line)
		if line := string(have[from:to]); len(n.Elems) > 1 && at.Col <= len(line) &&
			strings.TrimSpace(line[:at.Col-1]) == "-" && n.Elems[i].Kind == source.String {
			p.files[name] = slices.Concat(have[:from], have[to:])
			return nil
		}
		if from, to, ok := flowItem(have, at); ok {
			from, to = withComma(have, from, to)
			p.files[name] = slices.Concat(have[:from], have[to:])
			return nil
		}
	}
	return cannot(n.Elems[i].Pos, "take it out")
}

// parsed returns the syntax of a file, and in it that of a value; nil where a value has none of its
// own, such as a struct without braces.
func parsed(name string, data []byte, n *source.Node) (f *ast.File, e ast.Expr, err error) {
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		return nil, nil, errors.New("it begins with a byte order mark")
	}
	if f, err = source.Parse(name, data); err != nil {
		return nil, nil, err
	}
	ast.Walk(f, func(x ast.Node) bool {
		at := x.Pos().Position()
		if at.Line != n.Pos.Line || at.Column != n.Pos.Col || e != nil {
			return e == nil
		}
		switch x := x.(type) {
		case *ast.StructLit:
			if n.Kind == source.Struct && x.Lbrace.IsValid() {
				e = x
			}
		case *ast.ListLit:
			if n.Kind == source.List {
				e = x
			}
		case *ast.BasicLit:
			if n.Kind != source.Struct && n.Kind != source.List {
				e = x
			}
		}
		return e == nil
	}, nil)
	return f, e, nil
}

// spans returns where nodes begin and end.
func spans[N ast.Node](nodes []N) (out [][2]int) {
	for _, n := range nodes {
		out = append(out, [2]int{n.Pos().Offset(), n.End().Offset()})
	}
	return out
}

// without returns a text without one of some parts that commas or line breaks separate.
func without(text []byte, parts [][2]int, i int) []byte {
	from, to := parts[i][0], parts[i][1]
	start := bytes.LastIndexByte(text[:from], '\n') + 1
	end := len(text)
	if n := bytes.IndexByte(text[to:], '\n'); n >= 0 {
		end = to + n + 1
	}
	behind := string(bytes.Trim(text[to:end], ", \t\n"))
	switch {
	case len(bytes.TrimSpace(text[start:from])) == 0 && (behind == "" || strings.HasPrefix(behind, "//")):
		from, to = start, end
	case i+1 < len(parts):
		to = parts[i+1][0]
	case i > 0:
		from = parts[i-1][1]
	}
	return slices.Concat(text[:from], text[to:])
}

// indentAt returns the white space before the first word of the line of an offset.
func indentAt(text []byte, offset int) string {
	line := string(text[bytes.LastIndexByte(text[:offset], '\n')+1:])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// textAt returns a text from a place on.
func textAt(text []byte, at diag.Pos) []byte {
	from, to := lineAt(text, at.Line)
	return text[min(from+max(at.Col-1, 0), to):]
}

// lineAt returns where a line begins, and where the next one does.
func lineAt(text []byte, line int) (from, to int) {
	for ; line > 1; line-- {
		n := bytes.IndexByte(text[from:], '\n')
		if n < 0 {
			return len(text), len(text)
		}
		from += n + 1
	}
	if n := bytes.IndexByte(text[from:], '\n'); n >= 0 {
		return from, from + n + 1
	}
	return from, len(text)
}

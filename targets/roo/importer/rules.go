package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/roo/format"
)

// exported reports whether a file of modes is an export, and not one that the agent reads where it lies.
func (im *importer) exported(file string) bool {
	return !slices.Contains(im.Modes, file) && !strings.HasPrefix(file, home)
}

// rulesFiles reads the rules of an export: the text is in the file.
func (im *importer) rulesFiles(m *ir.Mode, list *located.Value) {
	if !list.Is(located.List) {
		im.out.Note(contract.Left, list.Pos, "mode "+m.Slug, "rulesFiles", "it is no list")
	}
	for _, item := range list.List() {
		name, _ := format.Text(item.Get("relativePath"))
		text, ok := format.Text(item.Get("content"))
		if strings.TrimSpace(name) == "" {
			im.diags.Errorf(codeImport, item.Pos, "got a rules file without relativePath, want one")
			continue
		}
		clean, inside := insideFolder(name, m.Slug)
		if !inside {
			im.diags.Errorf(codeImport, item.Get("relativePath").Line(),
				"got the rules file %q, which leads outside the rules folder, want a path inside it", name)
			continue
		}
		if !ok {
			im.out.Note(contract.Left, item.Pos, "mode "+m.Slug, name, "it has no content")
			continue
		}
		im.rule(m, clean, text, item.Pos)
	}
}

// insideFolder returns the path of a rules file below the folder of its mode, and whether
// it lies there. Old exports begin with the folder.
func insideFolder(name, slug string) (clean string, inside bool) {
	slashed := strings.ReplaceAll(name, `\`, "/")
	clean = path.Clean(strings.TrimPrefix(slashed, "rules-"+slug+"/"))
	up := slices.Contains(strings.Split(slashed, "/"), "..")
	return clean, !path.IsAbs(slashed) && !path.IsAbs(clean) && !up && clean != "." && !strings.Contains(clean, ":")
}

// rule adds a rules file under a name of its own.
func (im *importer) rule(m *ir.Mode, name, text string, at diag.Pos) {
	base := strings.Map(func(c rune) rune {
		if c == '/' || c == '\\' || !unicode.IsPrint(c) || strings.ContainsRune(`<>:"|?*`, c) {
			return '-'
		}
		return c
	}, name)
	base = strings.TrimLeft(strings.TrimSpace(base), ".")
	extension := path.Ext(base)
	stem := strings.TrimSuffix(base, extension)
	taken := func(name string) bool {
		return name == "" ||
			slices.ContainsFunc(m.Rules, func(r ir.RuleFile) bool { return strings.EqualFold(r.Name, name) })
	}
	for n := 2; taken(base); n++ {
		base = fmt.Sprintf("%s-%d%s", stem, n, extension)
	}
	if base != name {
		im.out.Note(contract.Repaired, at, "mode "+m.Slug, name,
			"rules files have one folder here, and a name each: it is called "+base)
	}
	m.Rules = append(m.Rules, ir.RuleFile{Name: base, Text: text, Pos: at})
}

// rulesFolders reads the rules of each mode: every file of its folders, the user's
// own first, or its single file where there is no folder.
func (im *importer) rulesFolders() {
	for _, slug := range slices.Sorted(maps.Keys(im.modes)) {
		m := im.modes[slug]
		before := len(m.Rules)
		for _, prefix := range im.Rules {
			if im.src.Home != nil {
				im.rulesFolder(&m, im.src.Home, prefix+slug, home)
			}
			im.rulesFolder(&m, im.src.Root, prefix+slug, "")
		}
		for _, prefix := range im.Single {
			if len(m.Rules) > before {
				break
			}
			if data, ok := im.file(im.src.Root, prefix+slug, prefix+slug); ok {
				im.rule(&m, "rules.md", string(data), diag.Pos{File: prefix + slug})
				break
			}
		}
		im.modes[slug] = m
	}
}

// rulesFolder reads every file of a folder. at begins its name in places.
func (im *importer) rulesFolder(m *ir.Mode, fsys fs.FS, dir, at string) {
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		if data, ok := im.file(fsys, name, at+name); ok {
			im.rule(m, strings.TrimPrefix(name, dir+"/"), string(data), diag.Pos{File: at + name})
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		im.diags.Errorf(codeImport, diag.Pos{File: at + dir}, "the folder cannot be read: %v",
			diag.Reason(fsys, dir, err))
	}
}

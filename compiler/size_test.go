package compiler_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
)

// smallPackage is the number of tokens up to which a package needs no line in size.txt.
const smallPackage = 5000

// longFile is the number of lines from which a production file is counted as long.
const longFile = 500

// TestSize compares the size of the production code, and of what the showcase compiles to, with
// testdata/size.txt, whose limits only go down: see [ratchet]. A package that has no line there has at
// most smallPackage tokens.
func TestSize(t *testing.T) {
	got := map[string]int{}
	packages := map[string]int{}
	for _, top := range []string{"cmd", "compiler", "cue", "targets"} {
		walkGo(t, top, func(file string, text []byte) {
			n := tokens(text)
			got["tokens"] += n
			packages[filepath.ToSlash(filepath.Dir(file))] += n
			if lines(text) > longFile {
				got["long-files"]++
			}
			if strings.HasPrefix(file, "compiler"+string(filepath.Separator)) {
				got["exported-interfaces"] += exportedInterfaces(t, file, text)
			}
		})
	}
	for name, n := range packages {
		if n > smallPackage {
			got[name] = n
		}
	}
	for _, data := range withoutProse(t) {
		got["showcase-files"]++
		got["showcase-bytes"] += len(data)
		got["showcase-largest-file"] = max(got["showcase-largest-file"], len(data))
		for line := range strings.Lines(string(data)) {
			got["showcase-longest-line"] = max(got["showcase-longest-line"], utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
		}
	}
	ratchet(t, "size.txt", got)
}

// walkGo calls f for each production Go file below a folder of the module.
func walkGo(t *testing.T, top string, f func(file string, text []byte)) {
	t.Helper()
	root := os.DirFS("..")
	err := fs.WalkDir(root, top, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, p)
		f(filepath.FromSlash(p), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tokens counts the tokens of a Go file. Comments do not count, nor do semicolons that only a line
// break stands for: "x := 1 // one" has three.
func tokens(text []byte) (n int) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(text)), text, nil, 0)
	for {
		switch _, tok, lit := s.Scan(); {
		case tok == token.EOF:
			return n
		case tok != token.SEMICOLON || lit != "\n":
			n++
		}
	}
}

func lines(text []byte) int { return strings.Count(string(text), "\n") }

// exportedInterfaces counts the exported interface types that a file declares.
func exportedInterfaces(t *testing.T, file string, text []byte) (n int) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range group.Specs {
			if spec, ok := s.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				if _, ok := spec.Type.(*ast.InterfaceType); ok {
					n++
				}
			}
		}
	}
	return n
}

// prose matches a text of a mode or of a role in a CUE file: its role definition, its instructions or
// what it appends to the system prompt.
var prose = regexp.MustCompile(`(roleDefinition|customInstructions|appendSystemPrompt):\s*("""[\s\S]*?"""|"[^"\n]*")`)

// withoutProse returns the files that the showcase compiles to, without modec.lock, where every prompt
// is one word. Left out are the Markdown files of the source (the bodies of modes and roles, and
// their rules) and the texts that prose matches. Names and descriptions of one line count, and so
// does whatever modec writes about permissions into a prompt.
func withoutProse(t *testing.T) memfs.FS {
	t.Helper()
	source := showcase(t)
	for p, text := range source {
		switch {
		case strings.HasSuffix(p, ".md"):
			source[p] = []byte("Prose.\n")
		case strings.HasSuffix(p, ".cue"):
			source[p] = prose.ReplaceAll(text, []byte(`$1: "Prose."`))
		}
	}
	return contract.InMemory(compiled(t, source).Files())
}

// showcase returns the source of fixtures/acme.
func showcase(t *testing.T) memfs.FS {
	t.Helper()
	return read(t, os.DirFS(filepath.Join("..", "fixtures", "acme")))
}

// read returns all files of a folder.
func read(t *testing.T, dir fs.FS) memfs.FS {
	t.Helper()
	files := memfs.FS{}
	err := fs.WalkDir(dir, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[p], err = fs.ReadFile(dir, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// compiled compiles a project in memory for all targets of its modec.toml.
func compiled(t *testing.T, files memfs.FS) *compiler.Result {
	t.Helper()
	res, diags := compiler.Compile(t.Context(), compiler.Request{
		FS: files, Targets: targets.All(), Today: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
	})
	if res == nil {
		t.Fatal(diags)
	}
	return res
}

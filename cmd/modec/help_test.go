package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/cue"
	"modec.dev/modec/targets"
)

const repository = "../.."

// pages returns the documents that people read, by their path in the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"} {
		out[name] = ""
	}
	for _, name := range topicNames() {
		out["cmd/modec/help/"+name+".md"] = ""
	}
	for name := range out {
		data, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(data)
	}
	return out
}

// fence is a block of code in a page.
type fence struct {
	language, text string
	line           int
}

// fences returns the blocks of code of a page, and the page without them.
func fences(page string) (list []fence, prose string) {
	var open *fence
	for i, line := range strings.Split(page, "\n") {
		switch {
		case open == nil && strings.HasPrefix(line, "```"):
			open = &fence{language: strings.TrimPrefix(line, "```"), line: i + 1}
		case open == nil:
			prose += line + "\n"
		case line == "```":
			list = append(list, *open)
			open = nil
		default:
			open.text += line + "\n"
		}
	}
	return list, prose
}

// TestTopics holds that every topic has a file, every file is a topic, and both `modec
// help` and the README lead to it.
func TestTopics(t *testing.T) {
	files, err := fs.Glob(topicFiles, "help/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".md"))
	}
	if d := cmp.Diff(slices.Sorted(slices.Values(topicNames())), names); d != "" {
		t.Errorf("topics and files (-topics +files)\n%s", d)
	}
	readme := pages(t)["README.md"]
	list := answer(t, "help")
	for _, topic := range topics {
		if !strings.Contains(list, "  "+topic.Name+"  ") || !strings.Contains(list, topic.Summary) {
			t.Errorf("modec help does not list %s", topic.Name)
		}
		if !strings.Contains(readme, "(cmd/modec/help/"+topic.Name+".md)") {
			t.Errorf("the README does not link %s", topic.Name)
		}
		text := answer(t, "help", topic.Name)
		if len(strings.Split(text, "\n")) < 20 || strings.Contains(text, "```") || strings.Contains(text, "](") {
			t.Errorf("modec help %s prints\n%s", topic.Name, text)
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(line)); n > 110 && !strings.HasPrefix(line, "    ") {
				t.Errorf("modec help %s: a line of %d characters: %s", topic.Name, n, line)
			}
		}
	}
}

// Each line of an example is one.
func TestHelpKeepsExamples(t *testing.T) {
	for topic, want := range map[string]string{
		"serve": "\n    modec serve\n    modec serve --http 127.0.0.1:8765 --state sessions.db\n    modec serve --install claude\n",
		"ci":    "\n    pre-commit:\n      commands:\n        modec: {run: modec lint --staged && modec build --check --staged}\n",
	} {
		if got := answer(t, "help", topic); !strings.Contains(got, want) {
			t.Errorf("modec help %s: got %.600q", topic, got)
		}
	}
}

// A topic goes before a command of its name, and what is neither is refused.
func TestHelpFinds(t *testing.T) {
	for args, want := range map[string]string{
		"targets":      "TARGETS\n",
		"build":        "Usage: modec build [flags]\n",
		"cursor check": "Usage: modec cursor check <tool> [flags]\n",
		"cursor":       "Usage: modec cursor <command> [flags]\n",
		"help":         "Usage: modec help [<topic> ...] [flags]\n",
	} {
		got := answer(t, append([]string{"help"}, strings.Fields(args)...)...)
		if !strings.HasPrefix(got, "exit 0\n"+want) {
			t.Errorf("modec help %s: got %.120q", args, got)
		}
	}
	got := answer(t, "help", "concept")
	if !strings.HasPrefix(got, "exit 2\n") || !strings.Contains(got, `did you mean "concepts"?`) {
		t.Errorf("got %q", got)
	}
}

// TestExamplesCompile holds that every CUE and YAML example of the documents is a
// source, every TOML example a modec.toml, and that the CUE and the YAML of a pair are
// the same model.
func TestExamplesCompile(t *testing.T) {
	for name, page := range pages(t) {
		list, _ := fences(page)
		var before *ir.Project
		for _, f := range list {
			files := memfs.FS{"modec.toml": []byte("[targets.model]\n"), "modec/a.yaml": []byte("{}\n")}
			switch f.language {
			case "cue", "yaml":
				files["modec/example."+f.language] = []byte(f.text)
			case "toml":
				files["modec.toml"] = []byte(f.text)
				files["modec/a.yaml"] = []byte("modes: {code: {name: C, roleDefinition: C}}\nroles: {developer: {}}\n")
			default:
				before = nil
				continue
			}
			at := fmt.Sprintf("%s:%d", name, f.line)
			res, diags := compiler.Open(t.Context(), compiler.Request{FS: files, Targets: targets.All()})
			if len(diags) > 0 {
				t.Errorf("%s: %v", at, diags)
				before = nil
				continue
			}
			p := res.Project
			same := cmpopts.IgnoreTypes(diag.Pos{})
			switch {
			case f.language == "cue":
				before = p
			case f.language == "yaml" && before == nil && strings.Contains(name, "/help/"):
				t.Errorf("%s: there is no CUE before it", at)
			case f.language == "yaml" && before != nil:
				if d := cmp.Diff(before, p, same); d != "" {
					t.Errorf("%s: the CUE before it is another model (-CUE +YAML)\n%s", at, d)
				}
				before = nil
			}
		}
	}
}

// TestExamplesHaveYAML holds that the topics about writing a source show both forms.
func TestExamplesHaveYAML(t *testing.T) {
	for _, topic := range []string{"concepts", "source", "decisions", "roles"} {
		data, err := topicFiles.ReadFile("help/" + topic + ".md")
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		list, _ := fences(string(data))
		for _, f := range list {
			count[f.language]++
		}
		if count["cue"] == 0 || count["cue"] != count["yaml"] {
			t.Errorf("%s: %d examples in CUE, %d in YAML", topic, count["cue"], count["yaml"])
		}
	}
}

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	fileName = regexp.MustCompile(`^~?/?\.?[A-Za-z0-9_@.-]+(/[A-Za-z0-9_.-]*)*$`)
	ending   = regexp.MustCompile(`\.(toml|lock|cue|yaml|yml|json|md|ts|go)$`)
	fieldRef = regexp.MustCompile(`^(can|modes|roles|servers|policies)(\.[A-Za-z]+)+$`)
)

// foreignFiles are files of other programs that documents speak of.
var foreignFiles = []string{
	".pre-commit-config.yaml", "lefthook.yml", "CLAUDE.md", "AGENTS.md", "cue.mod/pkg", ".git/", ".vscode/", ".env",
	".roo/", ".zoo/", "~/.config/modec", "custom_modes.yaml", "~/.roo", "CLAUDE.local.md",
	".claude/settings.local.json", ".cursor/permissions.json",
}

// TestDocumentsAreTrue holds that what a document names in backticks exists: commands
// with their flags, flags, files, and fields of the source.
func TestDocumentsAreTrue(t *testing.T) {
	k := commandLine(t)
	known, flags := knownFiles(t), allFlags(k.Model.Node)
	reference, err := cue.Reference()
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range pages(t) {
		_, prose := fences(page)
		prose = strings.ReplaceAll(prose, "\n", " ")
		for _, m := range codeSpan.FindAllStringSubmatch(prose, -1) {
			span := m[1]
			switch {
			case strings.HasPrefix(span, "modec "):
				if err := mentions(k, strings.Fields(span)[1:]); err != nil {
					t.Errorf("%s: `%s`: %v", name, span, err)
				}
			case strings.HasPrefix(span, "--"):
				if !hasFlag(flags, strings.Fields(span)[0]) {
					t.Errorf("%s: no command has the flag `%s`", name, span)
				}
			case fieldRef.MatchString(span):
				for _, field := range strings.Split(span, ".")[1:] {
					if !strings.Contains(reference, "**`"+field) {
						t.Errorf("%s: `%s` is no field of the source", name, span)
					}
				}
			case isFile(span) && !slices.Contains(foreignFiles, span) && !known(strings.TrimPrefix(span, "/")):
				t.Errorf("%s: there is no file `%s`", name, span)
			}
		}
	}
}

// isFile reports whether a document means a file: it has a known ending, or begins with
// a dot or a tilde. An ending alone is not a file.
func isFile(span string) bool {
	return fileName.MatchString(span) && ending.FindString(span) != span &&
		(ending.MatchString(span) || strings.HasPrefix(span, ".") || strings.HasPrefix(span, "~"))
}

// knownFiles returns a function that reports whether a file or folder is one that modec
// or a target writes, one of a source, or one of the repository.
func knownFiles(t *testing.T) func(string) bool {
	t.Helper()
	known := map[string]bool{}
	add := func(name string) {
		for ; name != "." && name != "/" && name != "~"; name = path.Dir(name) {
			known[name], known[name+"/"] = true, true
		}
	}
	artifacts, err := filepath.Glob(filepath.Join(repository, "golden", "*", "*"))
	if err != nil || len(artifacts) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, dir := range artifacts {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			for name := range treeOf(t, dir) {
				add(filepath.ToSlash(name))
			}
		}
	}
	for _, name := range []string{"modec.lock", "modec.pins.json"} {
		add(name)
	}
	for _, f := range cue.Template("default") {
		add(f.Name)
	}
	return func(name string) bool {
		if known[name] {
			return true
		}
		_, err := os.Stat(filepath.Join(repository, filepath.FromSlash(name)))
		return err == nil
	}
}

func allFlags(n *kong.Node) []*kong.Flag {
	flags := slices.Clone(n.Flags)
	for _, c := range n.Children {
		flags = append(flags, allFlags(c)...)
	}
	return flags
}

// hasFlag reports whether a word is one of some flags, with or without a value.
func hasFlag(flags []*kong.Flag, word string) bool {
	word, _, _ = strings.Cut(word, "=")
	return slices.ContainsFunc(flags, func(f *kong.Flag) bool {
		return word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short)
	})
}

// mentions reports an error where the words behind modec name a command or a flag that
// does not exist. Not all of a command line need be there.
func mentions(k *kong.Kong, words []string) error {
	at, flags := k.Model.Node, k.Model.Flags
	for _, w := range words {
		if w == "--" {
			return nil
		}
		if strings.HasPrefix(w, "-") {
			all := flags
			if of := at.DefaultCmd; of != nil {
				all = slices.Concat(flags, of.Flags)
			}
			if !hasFlag(all, w) && w != "--version" {
				return fmt.Errorf("there is no flag %s", w)
			}
			continue
		}
		i := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == w })
		switch {
		case i >= 0:
			at = at.Children[i]
			flags = slices.Concat(flags, at.Flags)
		case len(at.Children) > 0 && w != "COMMAND":
			return fmt.Errorf("there is no command %s", w)
		}
	}
	return nil
}

// TestCommandLines parses every command line of modec in the documents' sessions and in
// the examples of the commands' help.
func TestCommandLines(t *testing.T) {
	lines := map[string]string{} // by line
	for name, page := range pages(t) {
		list, _ := fences(page)
		for _, f := range list {
			for line := range strings.Lines(f.text) {
				rest, ok := strings.CutPrefix(line, "$ ")
				if ok && f.language == "console" && strings.Contains(rest, "modec ") {
					lines[rest] = name
				}
			}
		}
	}
	for _, n := range append(commandLine(t).Model.Leaves(false), commandLine(t).Model.Children...) {
		_, examples, ok := strings.Cut(n.Detail, "Example")
		if !ok && !n.Hidden {
			t.Errorf("the help of modec %s has no examples", commandName(n))
		}
		for line := range strings.Lines(examples) {
			if strings.HasPrefix(line, "  ") {
				lines[strings.TrimSpace(line)] = "modec " + commandName(n) + " --help"
			}
		}
	}
	if len(lines) < 60 {
		t.Fatalf("got %d command lines", len(lines))
	}
	for line, where := range lines {
		file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
		if err != nil {
			t.Errorf("%s: %s: %v", where, line, err)
			continue
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "modec" {
				return true
			}
			var args []string
			for _, w := range call.Args[1:] {
				args = append(args, literal(w))
			}
			if err := parses(args); err != nil {
				t.Errorf("%s: %s: %v", where, line, err)
			}
			return true
		})
	}
}

// parses reports an error where the command line is wrong.
func parses(args []string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(kongExit); !ok {
				panic(r)
			}
		}
	}()
	k, err := newParser(&cli{}, commands(), targets.All(), &bytes.Buffer{}, &bytes.Buffer{})
	if err != nil {
		return err
	}
	_, err = k.Parse(args)
	return err
}

// literal returns a shell word without its quotes.
func literal(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(literal(&syntax.Word{Parts: p.Parts}))
		default:
			b.WriteString("x")
		}
	}
	return b.String()
}

// TestLinks holds that every link of the documents leads to a file of the repository,
// and to a heading where it names one.
func TestLinks(t *testing.T) {
	for name, page := range pages(t) {
		_, prose := fences(page)
		for _, m := range report.Links.FindAllStringSubmatch(prose, -1) {
			to, heading, _ := strings.Cut(m[2], "#")
			if strings.HasPrefix(to, "http") {
				continue
			}
			file := filepath.Join(repository, filepath.FromSlash(path.Join(path.Dir(name), to)))
			if to == "" {
				file = filepath.Join(repository, filepath.FromSlash(name))
			}
			data, err := os.ReadFile(file)
			if info, bad := os.Stat(file); bad != nil || err != nil && !info.IsDir() {
				t.Errorf("%s: the link %s leads nowhere", name, m[2])
				continue
			}
			if heading != "" && !slices.Contains(anchors(string(data)), heading) {
				t.Errorf("%s: the link %s leads to no heading", name, m[2])
			}
		}
	}
}

// anchors returns the names by which a page's headings are linked.
func anchors(page string) (all []string) {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") {
			title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
			title = regexp.MustCompile("[^a-z0-9 -]").ReplaceAllString(title, "")
			all = append(all, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return all
}

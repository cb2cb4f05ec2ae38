package policy

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// workshop is a folder in which the real programs run, with a PATH whose first folder has stubs
// that note that they ran.
type workshop struct {
	*testing.T
	root string // has the work tree in "tree"
	env  []string

	before map[string]string // the files before the first line
	lines  [][]string        // what ran since
}

// watched are the programs that no line of a built-in set runs.
var watched = strings.Fields("gpg gpg2 gpgsm ssh-keygen less more pager editor vi vim nano emacs diff3 meld " +
	"ssh curl textconv extdiff python3 perl man xdg-open open browser")

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	w := &workshop{T: t, root: t.TempDir()}
	for _, dir := range []string{"tree", "bin", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(w.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stub := "#!/bin/sh\necho \"$0\" >>'" + w.path("ran") + "'\n"
	for _, name := range watched {
		w.write("bin/"+name, stub)
		if err := os.Chmod(w.path("bin/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.env = []string{
		"PATH=" + w.path("bin") + ":" + os.Getenv("PATH"), "HOME=" + w.path("home"), "TMPDIR=" + w.path("tmp"),
		"LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=editor", "GIT_PAGER=pager", "TERM=dumb",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
	return w
}

func (w *workshop) path(name string) string { return filepath.Join(w.root, name) }

func (w *workshop) write(name, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// run runs a program in the work tree and returns what it wrote. Whether it fails is its own
// affair.
func (w *workshop) run(words ...string) string {
	cmd := exec.CommandContext(w.Context(), words[0], words[1:]...)
	cmd.Dir, cmd.Env = w.path("tree"), w.env
	cmd.Stdin = strings.NewReader("a\nb\n")
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func (w *workshop) must(words ...string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), words[0], words[1:]...)
	cmd.Dir, cmd.Env = w.path("tree"), w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("%q: %v\n%s", words, err, out)
	}
	return strings.TrimSpace(string(out))
}

// state returns the files of the workshop by name, but the index, which git refreshes.
func (w *workshop) state() map[string]string {
	w.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(w.root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(w.root, path)
		switch {
		case d.IsDir():
			files[name] = "a folder"
		case name != filepath.Join("tree", ".git", "index"):
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files[name] = string(data)
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return files
}

// notes runs a line of a built-in set, and remembers it.
func (w *workshop) notes(words []string) {
	if w.before == nil {
		w.before = w.state()
	}
	w.run(words...)
	w.lines = append(w.lines, words)
}

// unchanged fails where a file changed or a stub ran since the first line.
func (w *workshop) unchanged() {
	w.Helper()
	after := w.state()
	for name := range after {
		if after[name] != w.before[name] {
			w.Errorf("one of these wrote %s: %.300q\n%q", name, after[name], w.lines)
		}
	}
	for name := range w.before {
		if _, ok := after[name]; !ok {
			w.Errorf("one of these removed %s\n%q", name, w.lines)
		}
	}
	w.before, w.lines = after, nil
}

// newRepository makes a repository with two commits, the second signed, changes, a stash, a tag
// and a remote.
func newRepository(t *testing.T) *workshop {
	t.Helper()
	w := newWorkshop(t)
	w.must("git", "init", "-q", "-b", "main")
	w.write("tree/a.txt", "one\ntwo\n")
	w.write("tree/sub/b.txt", "three\n")
	w.write("tree/empty", "")
	w.write("tree/.gitattributes", "*.txt diff=armed\n")
	w.must("git", "add", ".")
	w.must("git", "commit", "-q", "-m", "first")
	w.write("tree/a.txt", "one\n2\n")
	w.must("git", "commit", "-q", "-am", "second")
	commit := w.must("git", "cat-file", "commit", "HEAD")
	signed := strings.Replace(commit, "\n\n",
		"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\n", 1)
	w.write("tmp/commit", signed+"\n")
	w.must("git", "reset", "-q", "--hard", w.must("git", "hash-object", "-t", "commit", "-w", w.path("tmp/commit")))
	w.must("git", "tag", "-a", "-m", "a tag", "v1")
	w.must("git", "branch", "dev", "HEAD~1")
	w.must("git", "remote", "add", "origin", w.path("tree"))
	w.write("tree/a.txt", "stashed\n")
	w.must("git", "stash", "-q")
	w.write("tree/a.txt", "one\n3\n")
	w.write("tree/untracked", "x\n")
	return w
}

// given are values that options of git take. All others take a number.
var given = map[string]string{
	"--date": "short", "--diff-merges": "off", "--encoding": "UTF-8", "--diff-filter": "M", "--group": "author",
	"--ws-error-highlight": "all", "--color-moved-ws": "no", "--color-moved": "no", "--find-object": "HEAD",
	"--format": "%h", "--pretty": "oneline", "--sort": "refname", "--points-at": "HEAD", "--contains": "HEAD",
	"--no-contains": "HEAD", "--merged": "HEAD", "--no-merged": "HEAD", "--type": "bool", "--contents": "a.txt",
	"--ignore-rev": "HEAD", "--ignore-revs-file": "empty", "--diff-algorithm": "patience", "--word-diff": "plain",
	"--submodule": "log", "--ignore-submodules": "all", "--dirstat": "lines", "--color": "always",
	"--decorate": "short", "--porcelain": "v2", "--ignored": "no", "--untracked-files": "no", "-u": "no",
	"--column": "always", "--no-walk": "sorted", "--ancestry-path": "HEAD", "--disk-usage": "human", "--relative": "sub",
	"--notes": "x", "--abbrev-ref": "strict", "--short": "7", "--glob": "main", "--grep-reflog": "x",
	"shortlog -w": "80", "-L": "1,1:a.txt", "blame -L": "1,1", "annotate -L": "1,1", "ls-tree --format": "%(path)", "-f": "a.txt",
	"for-each-ref --format": "%(refname)", "branch --format": "%(refname)", "tag --format": "%(refname)",
	"--branches": "main", "--tags": "v1", "--remotes": "origin", "status --find-renames": "50", "status -M": "50",
}

func valueOf(sub, name string) string {
	if v, ok := given[sub+" "+name]; ok {
		return v
	}
	if v, ok := given[name]; ok {
		return v
	}
	return "1"
}

// newer are permitted options that the oldest git that this test meets lacks, with the version
// that has them. An older git refuses them.
var newer = map[string]string{
	"branch --omit-empty": "2.41", "tag --omit-empty": "2.41", "for-each-ref --omit-empty": "2.41",
	"for-each-ref --exclude": "2.42", "show-ref --exists": "2.43", "show-ref --branches": "2.46",
	"--default-prefix": "2.41", "--dd": "2.43", "--clear-decorations": "2.39",
}

const marker = "--modec-marker"

// beside are the words that an option needs beside it.
var beside = map[string][]string{"--follow": {"--", "a.txt"}, "--grep-reflog": {"-g"}, "rev-list": {"HEAD"},
	"rev-parse --short": {"HEAD"}, "rev-parse --verify": {"HEAD"}, "--merge-base": {"HEAD"}}

// refused finds the option that git does not know in what it wrote.
var refused = regexp.MustCompile("(?:unknown option [`']-{0,2}|unrecognized argument: -{0,2}|invalid option: -{0,2}|" +
	"unknown switch [`'])([^\\s']+)")

// usageOnly begins what a command writes that does not say which option it does not know.
var usageOnly = regexp.MustCompile(`^(usage: git (rev-list|stash show|submodule|diff) |fatal: Needed a single revision)`)

// reads reports whether git reads the marker behind some words as an option.
func (w *workshop) reads(sub string, words ...string) bool {
	line := append(append([]string{"git"}, strings.Fields(sub)...), words...)
	name, _, _ := strings.Cut(words[0], "=")
	more := slices.Concat(beside[name], beside[sub], beside[sub+" "+name])
	out := w.run(slices.Concat(line, []string{marker}, more)...)
	if usageOnly.MatchString(out) {
		return !usageOnly.MatchString(w.run(slices.Concat(line, more)...))
	}
	if sub == "rev-parse" { // it prints what it does not know, and nothing of that where it looks for one revision
		printed := func(word string) bool { return strings.Contains("\n"+out, "\n"+word+"\n") }
		return !printed(words[0]) && (printed(marker) || out == w.run(slices.Concat(line, more)...))
	}
	m := refused.FindStringSubmatch(out)
	return m != nil && m[1] == strings.TrimLeft(marker, "-")
}

// Every permitted option of git's is one that the installed git knows, and takes a value from
// the next word exactly where the table says so.
func TestGitOptions(t *testing.T) {
	w := newRepository(t)
	options := 0
	for sub, u := range gitRead {
		options += len(u.options())
		if testing.Short() && twins[sub] {
			continue
		}
		t.Run(sub, func(t *testing.T) {
			t.Parallel()
			w.arities(t, sub, u)
		})
	}
	t.Logf("%d options of %d subcommands", options, len(gitRead))
}

// twins are commands with the code and the table of another one.
var twins = set("whatchanged annotate")

// options returns the options of a command, each once.
func (u *usage) options() []string {
	all := slices.Sorted(slices.Values(strings.Fields(u.flags + " " + u.values + " " + u.attached)))
	return slices.Compact(all)
}

// joined returns an option with a value in one word.
func joined(name, value string) string {
	if strings.HasPrefix(name, "--") {
		return name + "=" + value
	}
	return name + value
}

func (w *workshop) arities(t *testing.T, sub string, u usage) {
	reads := func(words ...string) bool { return w.reads(sub, words...) }
	known := func(name string) bool {
		return newer[name] == "" && newer[sub+" "+name] == "" && sub+" "+name != "show --graph" // it shows no walk
	}
	for _, name := range some(u.flags) {
		if known(name) && !reads(name) {
			t.Errorf("git %s %s is not a flag", sub, name)
		}
	}
	for _, name := range some(u.values) {
		value := valueOf(sub, name)
		if known(name) && (reads(name) || !reads(name, value) || !reads(joined(name, value))) {
			t.Errorf("git %s %s %s does not take a value", sub, name, value)
		}
		for _, f := range strings.Fields(u.flags) {
			short := len(name) == 2 && len(f) == 2 && !listed(u.attached, f)
			if short && !testing.Short() && reads(f+name[1:]) {
				t.Errorf("git %s %s%s does not take a value", sub, f, name[1:])
			}
		}
	}
	for _, name := range some(u.attached) {
		if word := joined(name, valueOf(sub, name)); known(name) && !reads(word) {
			t.Errorf("git %s %s does not take a value", sub, word)
		}
	}
}

// some returns the words of a table that a test tries: a process for each of them takes its time, and
// a quick run tries every fourth.
func some(table string) []string {
	words := strings.Fields(table)
	if !testing.Short() {
		return words
	}
	tried := words[:0]
	for i := 0; i < len(words); i += 4 {
		tried = append(tried, words[i])
	}
	return tried
}

// operandsOf are what the commands get to work on.
var operandsOf = map[string][]string{
	"blame": {"a.txt"}, "annotate": {"a.txt"}, "grep": {"one"}, "cat-file": {"HEAD"}, "merge-base": {"main", "dev"},
	"remote get-url": {"origin"}, "reflog exists": {"HEAD"}, "check-ignore": {"a.txt"}, "check-attr": {"diff", "a.txt"},
	"ls-tree": {"HEAD"}, "name-rev": {"HEAD"}, "rev-list": {"HEAD"}, "rev-parse": {"HEAD"}, "shortlog": {"HEAD"},
	"log": {"HEAD"}, "show": {"HEAD", "v1"}, "whatchanged": {"HEAD"}, "reflog show": {"main"},
}

// armed returns the configuration that lets stubs run where an option asks for them, and that
// the command leaves alone by itself.
func armed(sub string) []string {
	config := [][2]string{{"diff.armed.command", "extdiff"}, {"diff.armed.textconv", "textconv"}}
	switch sub {
	case "diff", "stash show":
		return nil
	case "log", "show", "whatchanged", "blame", "annotate", "stash list", "rev-list", "shortlog",
		"reflog", "reflog show", "reflog HEAD":
		config = config[:1]
	}
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config))}
	for i, c := range config {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, c[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, c[1]))
	}
	return env
}

// No permitted option of git's changes a file or runs a program, but for what the
// configuration names.
func TestGitOptionsOnlyRead(t *testing.T) {
	w := newRepository(t)
	plain := w.env
	for sub, u := range gitRead {
		if testing.Short() && twins[sub] {
			continue
		}
		w.env = append(slices.Clone(plain), armed(sub)...)
		for _, words := range permitted(sub, u) {
			w.notes(append(append([]string{"git"}, strings.Fields(sub)...), words...))
		}
		w.unchanged()
	}
}

// permitted returns the arguments with which a command is tried: each of its options, with a
// value where it takes one, and its operands.
func permitted(name string, u usage) [][]string {
	operands := operandsOf[name]
	required, _, _ := strings.Cut(u.require, " ")
	if required != "" {
		operands = append(slices.Clone(operands), required)
	}
	lines := [][]string{operands}
	for _, f := range some(u.flags) {
		lines = append(lines, append([]string{f}, operands...))
	}
	for _, v := range some(u.values) {
		lines = append(lines, append([]string{v, valueOf(name, v)}, operands...))
	}
	for _, v := range some(u.values + " " + u.attached) {
		lines = append(lines, append([]string{joined(v, valueOf(name, v))}, operands...))
	}
	return lines
}

// The workshop notices what the options would do that are left out.
func TestWorkshop(t *testing.T) {
	w := newRepository(t)
	plain := w.env
	for _, line := range []string{
		"git log --output=x", "git shortlog -n --output=x HEAD", "git rev-list -L --output=x HEAD",
		"git log --format=%G? HEAD", "git log --show-signature", "git log -p --ext-diff", "git grep --textconv one",
		"git grep -Oeditor one", "git cat-file --textconv HEAD:a.txt", "git branch x",
		"git stash show -G 0 -S --output=x", "sort -o x a.txt", "uniq a.txt x",
	} {
		words := strings.Fields(line)
		w.env = append(slices.Clone(plain), armed(words[1])...)
		for _, name := range []string{"ran", "tree/x"} {
			if err := os.RemoveAll(w.path(name)); err != nil {
				t.Fatal(err)
			}
		}
		before := w.state()
		w.run(words...)
		if maps.Equal(before, w.state()) {
			t.Errorf("%s: got nothing, want a change", line)
		}
	}
}

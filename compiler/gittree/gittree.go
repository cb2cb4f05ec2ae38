// Package gittree reads the files of a git revision, or of the index, without a checkout.
// [Open] returns them as a file system. It runs git a fixed number of times, whatever the
// number of files, without the network and without the programs that a repository's
// configuration may name.
package gittree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"modec.dev/modec/compiler/memfs"
)

// Index is the revision that stands for the index: the content of the next commit.
const Index = ":index"

// most is the most bytes of a file that is read.
const most = 16 << 20

// Tree is the file system of a folder in a revision. It reads a file when it is first opened.
// It has no links and no submodules.
type Tree struct {
	Commit string            // the full name of the commit; "" for the index
	names  memfs.FS          // without the content
	object map[string]string // of each file
	batch  *batch

	mu   sync.Mutex
	read map[string][]byte // what was read of the files
}

// Open reads the names of the files below dir in a revision. The caller closes the tree.
func Open(ctx context.Context, dir, rev string) (*Tree, error) {
	g := git{ctx, dir}
	t := &Tree{names: memfs.FS{}, object: map[string]string{}, read: map[string][]byte{}}
	var list []byte
	var err error
	if rev == Index {
		list, err = g.run("ls-files", "--stage", "-z")
	} else {
		t.Commit, list, err = g.revision(rev)
	}
	if err != nil {
		return nil, err
	}
	for record := range bytes.SplitSeq(list, []byte{0}) {
		about, name, ok := strings.Cut(string(record), "\t")
		fields := strings.Fields(about) // MODE TYPE OBJECT of a tree, MODE OBJECT STAGE of the index
		if !ok || len(fields) != 3 || !strings.HasPrefix(fields[0], "100") || !fs.ValidPath(name) {
			continue
		}
		object := fields[2]
		if rev == Index {
			if fields[2] != "0" {
				return nil, fmt.Errorf("%s has a merge conflict in the index; resolve it first", name)
			}
			object = fields[1]
		}
		t.names[name] = nil
		t.object[name] = object
	}
	t.batch, err = g.batch()
	return t, err
}

// revision returns the full name of a commit, and what git lists of the folder in it.
func (g git) revision(rev string) (commit string, list []byte, err error) {
	name, err := g.run("rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%q is neither a folder with a modec.toml nor a revision of git", rev)
			if rev == "HEAD" {
				err = errors.New("the repository has no commit yet to compare with: " +
					"commit first, or name two folders that have a modec.toml")
			}
		}
		return "", nil, err
	}
	commit = strings.TrimSpace(string(name))
	prefix, err := g.run("rev-parse", "--show-prefix")
	if err != nil {
		return "", nil, err
	}
	at := commit + ":" + strings.TrimSuffix(strings.TrimSuffix(string(prefix), "\n"), "/")
	list, err = g.run("ls-tree", "-r", "-z", "--full-tree", at)
	if err != nil {
		err = fmt.Errorf("got revision %q, which does not have this folder: %w", rev, err)
	}
	return commit, list, err
}

// Open opens a file or a folder. Several goroutines may call it.
func (t *Tree) Open(name string) (fs.File, error) {
	object, ok := t.object[name]
	if !ok {
		f, err := t.names.Open(name)
		if d, ok := f.(fs.ReadDirFile); ok {
			return folder{d, t, name}, err
		}
		return f, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	data, ok := t.read[name]
	if !ok {
		var err error
		if data, err = t.batch.read(object); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		t.read[name] = data
	}
	return memfs.FS{name: data}.Open(name)
}

// folder lists its files with their sizes, which only reading them tells.
type folder struct {
	fs.ReadDirFile
	tree *Tree
	name string
}

// ReadDir lists n of the entries, or all of them.
func (f folder) ReadDir(n int) ([]fs.DirEntry, error) {
	list, err := f.ReadDirFile.ReadDir(n)
	for i, e := range list {
		if !e.IsDir() {
			list[i] = entry{e, f.tree, path.Join(f.name, e.Name())}
		}
	}
	return list, err
}

type entry struct {
	fs.DirEntry
	tree *Tree
	path string
}

// Info reads the file.
func (e entry) Info() (fs.FileInfo, error) {
	f, err := e.tree.Open(e.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// Sub returns the files of a folder of the tree.
func (t *Tree) Sub(dir string) (fs.FS, error) {
	if dir = path.Clean(dir); dir == "." {
		return t, nil
	}
	return fs.Sub(struct{ fs.FS }{t}, dir)
}

// Close ends git.
func (t *Tree) Close() error {
	if t.batch == nil {
		return nil
	}
	return t.batch.end()
}

// Blob returns the content of a file's object in the repository of a folder.
func Blob(ctx context.Context, dir, object string) ([]byte, error) {
	if strings.Trim(object, "0123456789abcdef") != "" || object == "" {
		return nil, fmt.Errorf("got %q, want the name of an object of git", object)
	}
	return git{ctx, dir}.run("cat-file", "blob", object)
}

// Held reports whether the history of the last commit has an object as the content of a file below a folder.
func Held(ctx context.Context, dir, file, object string) bool {
	objects, err := git{ctx, dir}.objects(file)
	return err == nil && slices.Contains(objects, object)
}

// Versions calls a function with what a file below a folder contained in the history of the last commit, the newest
// version first, until the function returns false.
func Versions(ctx context.Context, dir, file string, each func(data []byte) bool) error {
	g := git{ctx, dir}
	objects, err := g.objects(file)
	if err != nil || len(objects) == 0 {
		return err
	}
	b, err := g.batch()
	if err != nil {
		return err
	}
	defer b.end()
	for _, object := range objects {
		if data, err := b.read(object); err == nil && !each(data) {
			break
		}
	}
	return nil
}

// objects returns the names of the objects that the history of the last commit has as the content of a file, each once
// and the newest first.
func (g git) objects(file string) (objects []string, err error) {
	out, err := g.run("-c", "log.showRoot=true", "log", "--no-show-signature", "--no-ext-diff",
		"--no-textconv", "--no-renames", "--format=", "--raw", "--no-abbrev", "--full-history", "HEAD", "--",
		":(literal)"+file)
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line) // :MODE MODE OBJECT OBJECT STATUS PATH: before and after
		if len(f) < 5 {
			continue
		}
		for _, object := range []string{f[3], f[2]} {
			if !seen[object] && strings.Trim(object, "0") != "" {
				seen[object] = true
				objects = append(objects, object)
			}
		}
	}
	return objects, err
}

// At returns the name of the object that the last commit has as the content of a file below a folder, "" for none.
func At(ctx context.Context, dir, file string) string {
	out, err := git{ctx, dir}.run("rev-parse", "--verify", "--quiet", "HEAD:./"+file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// Committed returns a file below a folder as the last commit has it, nil where it has none.
func Committed(ctx context.Context, dir, file string) []byte {
	data, err := Blob(ctx, dir, At(ctx, dir, file))
	if err != nil {
		return nil
	}
	return data
}

// Staged returns a file below a folder as git's index has it.
func Staged(ctx context.Context, dir, file string) ([]byte, error) {
	return git{ctx, dir}.run("cat-file", "blob", ":./"+file)
}

// Ignored returns those of some paths below a folder that git ignores, in their order. A path that
// git does not look at, in a submodule or behind a link, is not among them.
func Ignored(ctx context.Context, dir string, paths []string) (ignored []string, err error) {
	for len(paths) > 0 {
		list, looked, err := git{ctx, dir}.ignored(paths)
		if ignored = append(ignored, list...); err == nil {
			break
		}
		exit, _ := errors.AsType[*exec.ExitError](err)
		if exit == nil || !bytes.HasPrefix(bytes.ToLower(exit.Stderr), []byte("fatal: pathspec '")) {
			return ignored, err
		}
		paths = paths[min(looked+1, len(paths)):]
	}
	return ignored, nil
}

// ignored returns those of some paths that git ignores, and how many it looked at.
func (g git) ignored(paths []string) (ignored []string, looked int, err error) {
	cmd := g.command("check-ignore", "--verbose", "--non-matching", "-z", "--stdin")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00"))
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 { // none
		err = nil
	}
	fields := strings.Split(string(out), "\x00") // file, line and text of a pattern, then the path
	for ; len(fields) >= 4; fields = fields[4:] {
		looked++
		if pattern := fields[2]; pattern != "" && pattern[0] != '!' {
			ignored = append(ignored, fields[3])
		}
	}
	return ignored, looked, err
}

// Matching returns the paths below a folder that git has and some of the globs of its own match: `**` is any number of
// folders.
func Matching(ctx context.Context, dir string, globs ...string) ([]string, error) {
	args := []string{"ls-files", "-z", "--"}
	for _, glob := range globs {
		args = append(args, ":(glob)"+glob)
	}
	out, err := git{ctx, dir}.run(args...)
	paths := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	return slices.DeleteFunc(paths, func(p string) bool { return p == "" }), err
}

// Said returns what git printed when it failed, else the error.
func Said(err error) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || len(bytes.TrimSpace(exit.Stderr)) == 0 {
		return err.Error()
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
	return strings.TrimPrefix(first, "fatal: ")
}

type git struct {
	ctx context.Context
	dir string
}

func (g git) command(args ...string) *exec.Cmd {
	fixed := []string{"-C", g.dir, "-c", "core.fsmonitor=false", "--no-replace-objects", "--no-pager"}
	cmd := exec.CommandContext(g.ctx, "git", append(fixed, args...)...)
	cmd.Env = append(os.Environ(),
		"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1")
	return cmd
}

// run returns what git prints.
func (g git) run(args ...string) ([]byte, error) {
	out, err := g.command(args...).Output()
	switch exit, _ := errors.AsType[*exec.ExitError](err); {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not on the path, but needed to read a revision")
	case exit != nil && len(bytes.TrimSpace(exit.Stderr)) > 0:
		return nil, fmt.Errorf("git says: %s", Said(err))
	}
	return out, err
}

// batch is a git process that returns objects.
type batch struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (g git) batch() (*batch, error) {
	cmd := g.command("cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &batch{cmd, in, bufio.NewReader(out)}, nil
}

// end ends git.
func (b *batch) end() error {
	b.in.Close()
	return b.cmd.Wait()
}

// read returns the content of an object.
func (b *batch) read(object string) ([]byte, error) {
	if _, err := fmt.Fprintln(b.in, object); err != nil {
		return nil, err
	}
	header, err := b.out.ReadString('\n') // OBJECT blob SIZE
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(header)
	if len(fields) != 3 || fields[1] != "blob" {
		return nil, fmt.Errorf("got %q from git, want a file", strings.TrimSpace(header))
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil {
		return nil, err
	}
	if size > most {
		if _, err := io.CopyN(io.Discard, b.out, int64(size)+1); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("got %d bytes, want %d MiB at most", size, most>>20)
	}
	data := make([]byte, size+1) // with the line break after it
	if _, err := io.ReadFull(b.out, data); err != nil {
		return nil, err
	}
	return data[:size], nil
}

package contract

import (
	"os"
	"path/filepath"
	"strings"

	"modec.dev/modec/compiler/policy"
)

// Worktree is a work tree of git beside the main one of its repository (`git worktree add`).
type Worktree struct {
	Dir  string // its folder
	Main string // that of the main work tree
}

// FindWorktree returns the work tree that a folder is in. It reports false for a folder of the
// main work tree, and where there is none. Git notes each work tree in the repository: a file
// named .git alone makes none.
func FindWorktree(dir string) (Worktree, bool) {
	for ; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, ".git")
		if info, err := os.Lstat(file); err == nil {
			if !info.Mode().IsRegular() {
				return Worktree{}, false
			}
			if main := mainTree(file); main != "" {
				return Worktree{dir, main}, true
			}
		}
		if dir == filepath.Dir(dir) {
			return Worktree{}, false
		}
	}
}

// mainTree returns the folder of the main work tree that a .git file leads to, "" where the
// repository does not lead back to the file.
func mainTree(file string) string {
	folder, ok := strings.CutPrefix(firstLine(file), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(filepath.Dir(file), folder)
	}
	common := filepath.Dir(filepath.Dir(filepath.Clean(folder)))
	if filepath.Base(filepath.Dir(folder)) != "worktrees" || filepath.Base(common) != ".git" {
		return ""
	}
	back := firstLine(filepath.Join(folder, "gitdir"))
	if !filepath.IsAbs(back) {
		back = filepath.Join(folder, back)
	}
	here, err := ResolveLinks(file)
	if err != nil {
		return ""
	}
	if there, err := ResolveLinks(back); err != nil || there != here {
		return ""
	}
	return filepath.Dir(common)
}

// firstLine returns the first line of a small file, "" where it cannot be read.
func firstLine(file string) string {
	data, err := os.ReadFile(file)
	if err != nil || len(data) > 1<<16 {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSuffix(line, "\r")
}

// InMain returns the folder of the main work tree that a folder of the work tree is a copy of.
// It reports false for a folder outside the work tree.
func (w Worktree) InMain(dir string) (string, bool) { return moved(w.Dir, w.Main, dir) }

// ProjectIn returns the project's folder in the work tree that a folder is in, where the
// project is in the main one. It reports false anywhere else.
func ProjectIn(root, dir string) (string, bool) {
	w, ok := FindWorktree(dir)
	if !ok {
		return "", false
	}
	if _, there := moved(w.Dir, w.Dir, root); there { // the work tree is the project's own
		return "", false
	}
	return moved(w.Main, w.Dir, root)
}

// moved returns a path below another folder than the one that it is below.
func moved(from, to, file string) (string, bool) {
	if real, err := ResolveLinks(from); err == nil {
		from = real
	}
	if real, err := ResolveLinks(file); err == nil {
		file = real
	}
	rel := policy.Relative(from, file)
	if filepath.IsAbs(rel) {
		return "", false
	}
	return filepath.Join(to, filepath.FromSlash(rel)), true
}

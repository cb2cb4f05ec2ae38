package config

import (
	"os"
	"path/filepath"
)

// Find returns the nearest folder with a modec.toml: dir, or one above it. It reports false
// where there is none that the person in dir can have meant. The search ends with the root of
// a repository, with home (the user's home folder, "" where that is not known), and before a
// folder or a modec.toml of another owner: what lies further up, such as /tmp/modec.toml, may
// be anybody's.
func Find(dir, home string) (project string, ok bool) {
	first, err := os.Stat(dir)
	if err != nil {
		return "", false
	}
	for ; ; dir = filepath.Dir(dir) {
		folder, err := os.Stat(dir)
		if err != nil || !sameOwner(first, folder) {
			return "", false
		}
		if file, err := os.Stat(filepath.Join(dir, File)); err == nil && file.Mode().IsRegular() {
			return dir, sameOwner(first, file)
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == home || dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// Outermost returns the project of an agent that was started in a folder: the outermost one of the outermost repository
// of git around the folder, where no project and no repository in a subfolder takes its place; outside of repositories
// the one that [Find] finds. The search ends before a folder of another owner.
func Outermost(dir string) (project string, ok bool) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	outermost := ""
	first, err := os.Stat(dir)
	for at := dir; err == nil; at = filepath.Dir(at) {
		folder, err := os.Stat(at)
		if err != nil || !sameOwner(first, folder) {
			break
		}
		file, err := os.Stat(filepath.Join(at, File))
		if err == nil && file.Mode().IsRegular() && sameOwner(first, file) {
			outermost = at
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil && outermost != "" {
			project, ok = outermost, true
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if !ok {
		return Find(dir, "")
	}
	return project, true
}

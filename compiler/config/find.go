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

// Outermost returns the project of an agent that was started in a folder: the outermost one of the folder's work tree
// of git, where no project in a subfolder takes its place; outside of work trees the one that [Find] finds.
func Outermost(dir string) (project string, ok bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if file, err := os.Lstat(filepath.Join(at, File)); err == nil && file.Mode().IsRegular() {
			project, ok = at, true
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return project, ok
		}
		if at == filepath.Dir(at) {
			return Find(dir, "")
		}
	}
}

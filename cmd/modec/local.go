package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/source"
)

// ownFlag is for a command that is about the team's project, or about one's own.
type ownFlag struct {
	Local bool `help:"Of your own project in modec/local/ instead of the team's."`
}

func (f ownFlag) ofOne() bool { return f.Local }

// ofOne returns the surroundings of the project that one person keeps beside the team's.
func (e *env) ofOne() *env {
	own, u := *e, *e.ui
	own.team = e
	u.of = source.Local + ": "
	own.local, own.ui, own.targets = source.Local, &u, contract.ForOne(e.targets)
	return &own
}

// own returns the surroundings of one's own project, nil where there is none. It fails where the
// project is not only one's own: a repository could bring one along, which permits something to
// everybody who builds.
func (e *env) own() (*env, error) {
	dir := filepath.Join(e.dir, filepath.FromSlash(source.Local))
	info, err := os.Lstat(dir)
	if notThere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", source.Local, err)
	}
	above, err := os.Lstat(filepath.Dir(dir))
	if err != nil || !info.IsDir() || !above.IsDir() {
		return nil, e.notOwn("it has to be a folder, and not a link: move it away")
	}
	if !inRepository(e.dir) {
		return e.ofOne(), nil
	}
	tracked, err := gittree.Tracked(e.ctx, e.dir, source.Local)
	if err != nil {
		return nil, e.notOwn("git does not say whether it has the folder: %w", err)
	}
	if tracked {
		return nil, e.notOwn("git tracks files in it, so that they are everybody's: move them into another folder of " +
			"the source, or take them out with `git rm -r --cached " + source.Local + "`")
	}
	file := path.Join(source.Local, ignoreFile)
	ignored, err := gittree.Ignored(e.ctx, e.dir, []string{file})
	if err != nil {
		return nil, e.notOwn("git does not say whether it ignores the folder: %w", err)
	}
	if len(ignored) == 0 {
		return nil, e.notOwn("git does not ignore it: write a file %s with the line *", file)
	}
	return e.ofOne(), nil
}

// ofTeam returns the team's files of a disk: without those that this person's own project wrote, where git says
// that nobody else has them.
func (e *env) ofTeam(disk fs.FS) fs.FS {
	if e.local != "" || !inRepository(e.dir) {
		return disk
	}
	if own, err := e.own(); own == nil || err != nil {
		return disk
	}
	return migrate.OfTeam(disk, e.targets, func(file string) bool {
		tracked, err := gittree.Tracked(e.ctx, e.dir, file)
		return tracked || err != nil
	})
}

// ignoreFile is the name of the file that keeps one's own project out of the repository.
const ignoreFile = ".gitignore"

// importing returns the command that imports what people wrote in the files of a project.
func (e *env) importing() string {
	if e.local != "" {
		return "modec migrate --local"
	}
	return "modec migrate"
}

// notOwn says why a project is not one's own.
func (e *env) notOwn(format string, args ...any) error {
	return fmt.Errorf("%s is only for what one person permits to themselves, and nothing of it is used: %w",
		source.Local, fmt.Errorf(format, args...))
}

// home returns a folder that stands for the project in what is kept for the user.
func (e *env) home(dir string) string { return filepath.Join(dir, filepath.FromSlash(e.local)) }

// keepsApart fails where the artifacts of one's own project are not only one's own.
func (e *env) keepsApart(res *compiler.Result) error {
	if e.local == "" {
		return nil
	}
	if len(res.Common) > 0 {
		return e.notOwn("it cannot have hooks: write hooks = false into the tables [targets.NAME] of %s",
			path.Join(e.local, config.File))
	}
	lock, _ := contract.ReadPlain(filepath.Join(e.dir, output.LockFile))
	shared := output.Built(lock)
	var files []string
	for _, f := range res.Files() {
		if shared(f.Path) {
			return e.notOwn("the team's source makes %s too: take out of %s what goes there", f.Path, e.local)
		}
		if !contract.IsPrivate(e.targets, f.Path) {
			files = append(files, f.Path)
		}
	}
	if len(files) == 0 {
		return nil
	}
	var ignored []string
	if inRepository(e.dir) {
		var err error
		if ignored, err = gittree.Ignored(e.ctx, e.dir, files); err != nil {
			return e.notOwn("git does not say which files it ignores: %w", err)
		}
	}
	files = slices.DeleteFunc(files, func(f string) bool { return slices.Contains(ignored, f) })
	if len(files) == 0 {
		return nil
	}
	return e.notOwn("it makes %s, which git does not ignore: move what goes there into the team's source, "+
		"or let git ignore it", few(files))
}

// joined adds what was done for one's own project to the report of the team's.
func (r *buildReport) joined(own *buildReport) {
	for _, t := range own.Targets {
		if len(t.Files) > 0 || t.Name != "modec" {
			r.Local = append(r.Local, t)
		}
	}
	r.Diagnostics = append(r.Diagnostics, own.Diagnostics...)
	if own.Status != "ok" {
		r.Status = own.Status
	}
}

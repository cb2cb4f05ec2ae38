package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/migrate"
)

// ignoring returns those of some paths that git ignores.
type ignoring = func(ctx context.Context, paths []string) []string

// ignored returns a function that reports which paths below a folder git ignores, for a project
// that shares its source. One whose modec.toml git ignores shares nothing: there it reports none.
// A link is ignored where the file that it leads to is.
func (e *env) ignored(folder, project string) func(context.Context, []string) []string {
	warned := false
	unshared := sync.OnceValue(func() bool {
		own, _ := gittree.Ignored(e.ctx, project, []string{config.File})
		return len(own) > 0
	})
	return func(ctx context.Context, paths []string) (ignored []string) {
		if unshared() {
			return nil
		}
		of := map[string][]string{} // the paths that lead to a path
		var asked []string
		for _, p := range paths {
			for _, at := range []string{p, resolved(folder, p)} {
				if at == "" {
					continue
				}
				if of[at] == nil {
					asked = append(asked, at)
				}
				of[at] = append(of[at], p)
			}
		}
		names, err := gittree.Ignored(ctx, folder, asked)
		if err != nil && !warned && ctx.Err() == nil && inRepository(folder) {
			warned = true
			fmt.Fprintf(e.ui.Err, "modec: warning: git does not say which files it ignores, so that each counts as "+
				"the team's: %s\n", diag.Clean(gittree.Said(err)))
		}
		for _, name := range names {
			ignored = append(ignored, of[name]...)
		}
		return ignored
	}
}

// foreign reports the modes and roles that lie in the agents' files below a root, and are none of the source's.
func (e *env) foreign(res *compiler.Result, root fs.FS, ignored ignoring) diag.List {
	return migrate.Foreign(e.ctx,
		migrate.Request{Root: root, Targets: e.targets, Ignored: ignored, Tracked: e.tracked,
			Below: e.inFolders}, res)
}

// unheld returns the files in the project of agents that are no targets.
func (e *env) unheld(res *compiler.Result) (paths []string) {
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	req := migrate.Request{Root: contract.Plain(root.FS()), Targets: e.targets, Ignored: e.ignored(e.dir, e.dir),
		Below: e.inFolders}
	for _, x := range slices.Concat(migrate.Unheld(e.ctx, req, res), migrate.InFolders(e.ctx, req, res)) {
		paths = append(paths, x.What)
	}
	return paths
}

// known returns what there is to warn of in what people had in the project before a first build.
func (e *env) known(res *compiler.Result) []string {
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	disk := contract.Plain(root.FS())
	req := migrate.Request{Root: disk, Targets: e.targets, Ignored: e.ignored(e.dir, e.dir)}
	return append(res.Known(disk), migrate.KnownServers(e.ctx, req, res)...)
}

// lodged returns, by targets, what lies in the project that agents load and no import reads, for the lock.
func (e *env) lodged(res *compiler.Result) map[string][]string {
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	return migrate.KnownLodgers(e.ctx, migrate.Request{Root: contract.Plain(root.FS()), Targets: e.targets,
		Ignored: e.ignored(e.dir, e.dir), Tracked: e.tracked}, res)
}

// personal returns notes about what one person has in files that git ignores, and that their agents load.
func (e *env) personal(res *compiler.Result, root fs.FS, ignored ignoring) diag.List {
	return migrate.Own(e.ctx, migrate.Request{Root: root, Targets: e.targets, Ignored: ignored,
		Tracked: e.tracked}, res)
}

// inFolders returns the files in any folder of the project that have one of some names, from there: those that git
// has, and without a repository those that are there, in a project that is not too large to be searched.
func (e *env) inFolders(ctx context.Context, names []string) (paths []string) {
	if inRepository(e.dir) {
		globs := make([]string, len(names))
		for i, name := range names {
			globs[i] = "**/" + name
		}
		paths, err := gittree.Matching(ctx, e.dir, globs...)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(e.ui.Err, "modec: warning: git does not say which files of agents it has in folders, so that "+
				"they are not told: %s\n", diag.Clean(gittree.Said(err)))
		}
		return paths
	}
	left := mostSearched
	_ = fs.WalkDir(folderFS(e.dir), ".", func(name string, d fs.DirEntry, err error) error {
		left--
		switch _, named := contract.FolderOf(names, name); {
		case left == 0:
			return fs.SkipAll
		case err != nil:
			return nil // one that cannot be read has nothing for an agent either
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "vendor" || d.Name() == ".git"):
			return fs.SkipDir
		case named && !d.IsDir():
			paths = append(paths, name)
		}
		return nil
	})
	return paths
}

// mostSearched is how many files and folders are looked at where git does not list them.
const mostSearched = 20_000

// tracked returns the paths in the project that git has and a glob matches; none without a repository.
func (e *env) tracked(ctx context.Context, glob string) []string {
	if !inRepository(e.dir) {
		return nil
	}
	paths, err := gittree.Matching(ctx, e.dir, glob)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(e.ui.Err, "modec: warning: git does not say which files %s it has, so that they are not "+
			"judged: %s\n", glob, diag.Clean(gittree.Said(err)))
	}
	return paths
}

// resolved returns the path below a folder of the file that a path with links leads to, "" where
// there is none.
func resolved(folder, name string) string {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return ""
	}
	file, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	rel, err := filepath.Rel(root, file)
	if rel = filepath.ToSlash(rel); err != nil || rel == name || !fs.ValidPath(rel) {
		return ""
	}
	return rel
}

// inRepository reports whether a folder, or one above it, has a repository of git.
func inRepository(folder string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if folder == filepath.Dir(folder) {
			return false
		}
		folder = filepath.Dir(folder)
	}
}

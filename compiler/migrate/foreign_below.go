package migrate

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
)

// InFolders returns the files in folders below the root of a request that an agent of the project reads in a session
// that starts there. A folder with a modec.toml of its own is another project.
func InFolders(ctx context.Context, req Request, res *compiler.Result) []diff.Stray {
	return newForeign(req, res).below(ctx, res)
}

func (f *foreign) below(ctx context.Context, res *compiler.Result) (list []diff.Stray) {
	if f.req.Below == nil || f.req.Root == nil {
		return nil
	}
	type agent struct {
		name  string
		reads []string
	}
	var agents []agent
	var names []string
	for _, c := range res.Config.Targets {
		if b, ok := c.Target.(contract.Below); ok {
			agents = append(agents, agent{c.Target.Name(), b.Below()})
			names = append(names, b.Below()...)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	for _, file := range f.req.Below(ctx, slices.Compact(names)) {
		if _, ok := contract.FolderOf(names, file); !ok || f.left(file) || nestedProject(f.req.Root, file) {
			continue
		}
		var of []string
		for _, a := range agents {
			if _, ok := contract.FolderOf(a.reads, file); ok {
				of = append(of, a.name)
			}
		}
		list = append(list, diff.Stray{What: file, Of: strings.Join(of, ", "), Pos: diag.Pos{File: file}})
	}
	return committed(ctx, f, list, func(x *diff.Stray) string { return x.What })
}

// nestedProject reports whether a file lies in a folder below the root that is a project of its own.
func nestedProject(root fs.FS, file string) bool {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, err := fs.Stat(root, dir+"/"+config.File); err == nil {
			return true
		}
	}
	return false
}

// judgeBelow warns of files in folders that were not there when the first build was made.
func (f *foreign) judgeBelow(ctx context.Context, res *compiler.Result, diags *diag.List) {
	for _, x := range f.news(f.below(ctx, res)) {
		target, _, _ := strings.Cut(x.Of, ",")
		diags.Warnf(diag.ForeignFolder, x.Pos, "a session of %s that starts in this folder reads the file, and it is "+
			"not judged: nothing of the source holds what it permits there", x.Of).
			Hint("start sessions at the root of the project, and take the file out; or give the folder a project of " +
				"its own, with `modec init` there").
			Target(target)
	}
}

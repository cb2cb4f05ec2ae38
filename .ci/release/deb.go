package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	nfpmfiles "github.com/goreleaser/nfpm/v2/files"
)

// debian is where Debian has the files that come with a program.
var debian = map[string]string{
	"LICENSE":    "/usr/share/doc/modec/copyright",
	"README.md":  "/usr/share/doc/modec/README.md",
	"_modec":     "/usr/share/zsh/vendor-completions/_modec",
	"modec.bash": "/usr/share/bash-completion/completions/modec",
	"modec.fish": "/usr/share/fish/vendor_completions.d/modec.fish",
}

// deb writes the Debian package of a platform. nfpm reads files, so they are put into a folder first.
func (r *release) deb(p platform) error {
	folder, err := os.MkdirTemp("", "modec-deb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var contents nfpmfiles.Contents
	add := func(f file, to string) error {
		from := filepath.Join(folder, f.name)
		contents = append(contents, &nfpmfiles.Content{Source: from, Destination: to, FileInfo: info(f.mode)})
		return os.WriteFile(from, f.data, 0o644)
	}
	if err := add(file{"modec", 0o755, p.program}, "/usr/bin/modec"); err != nil {
		return err
	}
	for _, list := range [][]file{r.docs, r.completions} {
		for _, f := range list {
			if err := add(f, debian[f.name]); err != nil {
				return err
			}
		}
	}
	about := nfpm.WithDefaults(&nfpm.Info{
		Name: "modec", Arch: p.arch, Platform: p.os, Version: r.semantic(), MTime: epoch, DisableGlobbing: true,
		Section: "devel", Priority: "optional", Homepage: homepage, Description: description,
		Maintainer:   "The modec authors <https://modec.dev>",
		Overridables: nfpm.Overridables{Contents: contents},
	})
	name := strings.ReplaceAll(deb.Default.ConventionalFileName(about), "~", "-") // GitHub renames files with a ~
	return r.create(name, func(w io.Writer) error { return deb.Default.Package(about, w) })
}

func info(mode fs.FileMode) *nfpmfiles.ContentFileInfo {
	return &nfpmfiles.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: epoch}
}

// Command release packs the programs of a release: an archive for each platform, Debian packages,
// and npm packages. The same programs give the same bytes: every time is [epoch], every owner root,
// and names are sorted.
//
// It has a go.mod of its own, because nfpm's modules are not modec's. nfpm writes the Debian
// packages where dpkg-deb is not installed, too, and takes their times from us.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// epoch is the time of every file: the earliest that a zip archive can say.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// description is what package managers say of modec.
const description = "Compiles one source of truth for what AI-agent modes and roles may do " +
	"into every agent's own configuration."

// homepage is where people read more.
const homepage = "https://modec.dev"

func main() {
	var r release
	flag.StringVar(&r.dir, "dir", "", "folder of the programs, which gets the packages")
	flag.StringVar(&r.version, "version", "", "version of the release: v1.2.3")
	root := flag.String("root", "", "folder of the repository")
	completions := flag.String("completions", "", "folder of the completion scripts")
	flag.Parse()
	err := r.read(*root, *completions)
	if err == nil {
		err = r.write()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what is packed.
type release struct {
	dir, version string
	platforms    []platform
	docs         []file // LICENSE and README.md
	completions  []file
}

// platform is one of Go's, with its program.
type platform struct {
	os, arch string
	program  []byte
}

// file is a file of a package.
type file struct {
	name string // slash-separated
	mode fs.FileMode
	data []byte
}

// exe is the ending of a platform's programs.
func (p platform) exe() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// read reads what is packed: the programs modec-VERSION-OS-ARCH, and what goes with them.
func (r *release) read(root, completions string) error {
	prefix := "modec-" + r.version + "-"
	programs, err := filepath.Glob(filepath.Join(r.dir, prefix+"*-*"))
	if err != nil || len(programs) == 0 {
		return errors.Join(err, fmt.Errorf("%s has no program %sOS-ARCH", r.dir, prefix))
	}
	for _, name := range programs {
		of := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), prefix), ".exe")
		p := platform{}
		p.os, p.arch, _ = strings.Cut(of, "-")
		if p.program, err = os.ReadFile(name); err != nil {
			return err
		}
		r.platforms = append(r.platforms, p)
	}
	if r.docs, err = files(root, "LICENSE", "README.md"); err != nil {
		return err
	}
	r.completions, err = files(completions, "_modec", "modec.bash", "modec.fish")
	return err
}

func files(folder string, names ...string) (list []file, err error) {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		list = append(list, file{name, 0o644, data})
	}
	return list, nil
}

// write writes the packages of every platform.
func (r *release) write() error {
	for _, p := range r.platforms {
		if err := r.archive(p); err != nil {
			return err
		}
		if err := r.npmPlatform(p); err != nil {
			return err
		}
		if p.os == "linux" {
			if err := r.deb(p); err != nil {
				return err
			}
		}
	}
	return r.npm()
}

// archive writes what people unpack: a zip for Windows, a tar for the others.
func (r *release) archive(p platform) error {
	folder := fmt.Sprintf("modec-%s-%s-%s", r.version, p.os, p.arch)
	list := []file{{"modec" + p.exe(), 0o755, p.program}}
	list = append(list, r.docs...)
	for _, f := range r.completions {
		list = append(list, file{"completions/" + f.name, f.mode, f.data})
	}
	for i := range list {
		list[i].name = folder + "/" + list[i].name
	}
	if p.os == "windows" {
		return r.create(folder+".zip", func(w io.Writer) error { return writeZip(w, list) })
	}
	return r.create(folder+".tar.gz", func(w io.Writer) error { return writeTar(w, list) })
}

// create writes a file of the release.
func (r *release) create(name string, write func(io.Writer) error) (err error) {
	f, err := os.Create(filepath.Join(r.dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := write(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

var outside = regexp.MustCompile(`[^0-9A-Za-z-]`)

// semantic returns the version as npm and Debian take it. A build of a commit without a tag comes
// before every release.
func (r *release) semantic() string {
	v := "v" + strings.TrimPrefix(r.version, "v")
	if semver.IsValid(v) && slices.Index([]string{semver.Major(v), semver.MajorMinor(v)}, v) < 0 {
		return v[1:]
	}
	return "0.0.0-g" + outside.ReplaceAllString(r.version, "-")
}

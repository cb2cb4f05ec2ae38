// Package originals keeps, for this user and outside the repository, the files that people wrote
// before modec wrote in their place: what a migration read ([Record]), and what a build replaced by
// force ([Backup]).
//
// A build takes over a file of a record without force, and clean gives it back. The record is the
// user's own, so that no repository can bring the permission along.
package originals

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/record"
)

// version is the version of the form of a record.
const version = 1

// Record contains the original files of one project.
type Record struct {
	Version int    `json:"version"`
	Root    string `json:"root"` // the project's folder, without symbolic links
	// Files are the originals by their path below the root.
	Files map[string]File `json:"files"`
	// Edits are files of modec's as people changed them, of which the source says everything since:
	// the next build takes them over too.
	Edits map[string]File `json:"edits,omitempty"`
	// Left are the files that an eject left to the team, by path: their digest, as package output has it.
	Left map[string]string `json:"left,omitempty"`
	// Imports are the sources that migrations made of the files, by File.Import: the digest of each file
	// of the source by its path.
	Imports map[string]map[string]string `json:"imports,omitempty"`

	place string
}

// File is a file as a person wrote it.
type File struct {
	Data []byte `json:"data"`
	// Taken names the entries of a file that people write too which the source says from now on:
	// rules as they are written, and servers. Any other entry stays the person's.
	Taken []string `json:"taken,omitempty"`
	// Import names the source that a migration made of the file; "" where none did.
	Import string `json:"import,omitempty"`
	// Patched are the files of the source that say what a person changed in the file, by path: their digests.
	// Empty: no patch does.
	Patched map[string]string `json:"patched,omitempty"`
	// Before is the file as the source says it without the patch, where no build was yet.
	Before []byte `json:"before,omitempty"`
}

// Unpatched returns the file as it was before a patch that is not in place.
func (f File) Unpatched(read func(path string) ([]byte, error)) File {
	if f.Before != nil && !f.InPlace(read) {
		return File{Data: f.Before, Import: f.Import}
	}
	return f
}

// Patch returns what [File.Patched] is for the files of a patch. One that it takes away has no data.
func Patch(source map[string][]byte) map[string]string {
	sums := map[string]string{}
	for name, data := range source {
		sums[name] = gone
		if data != nil {
			sums[name] = sumOf(data)
		}
	}
	return sums
}

// gone stands for the digest of a file that a patch takes away.
const gone = ""

// InPlace reports whether the source is to the byte as the patch left it of which File.Patched speaks. A person
// may have taken it back, or written it in other words.
func (f File) InPlace(read func(path string) ([]byte, error)) bool {
	for name, sum := range f.Patched {
		data, err := read(name)
		if there := err == nil; there != (sum != gone) || there && sumOf(data) != sum {
			return false
		}
	}
	return true
}

// Load returns the record of a project. It is empty where there is none, and where it is not the
// user's own file.
func Load(root string) *Record {
	root = resolved(root)
	r := &Record{place: place("originals", root)}
	if json.Unmarshal(record.Read(r.place), r) != nil || r.Version != version || r.Root != root {
		*r = Record{place: r.place}
	}
	if r.Files == nil {
		r.Files = map[string]File{}
	}
	r.Version, r.Root = version, root
	return r
}

// Original returns a file of the record.
func (r *Record) Original(path string) (File, bool) {
	if r == nil {
		return File{}, false
	}
	f, ok := r.Files[path]
	return f, ok
}

// Imported notes the source that a migration makes of files, and returns the name for [File].Import.
// A source that no file comes from is forgotten.
func (r *Record) Imported(source map[string][]byte) string {
	sums, all := map[string]string{}, sha256.New()
	for _, name := range slices.Sorted(maps.Keys(source)) {
		sums[name] = sumOf(source[name])
		fmt.Fprintf(all, "%q %s\n", name, sums[name])
	}
	name := hex.EncodeToString(all.Sum(nil)[:8])
	used := map[string]bool{}
	for _, f := range r.Files {
		used[f.Import] = true
	}
	maps.DeleteFunc(r.Imports, func(name string, _ map[string]string) bool { return !used[name] })
	if r.Imports == nil {
		r.Imports = map[string]map[string]string{}
	}
	r.Imports[name] = sums
	return name
}

// Stands reports whether the source of a project is what a migration made of a file, also as people
// changed it since: one of its files has the same bytes, or half of them are still there. Another source does
// not speak for the file.
func (r *Record) Stands(f File, read func(path string) ([]byte, error)) bool {
	if f.Import == "" {
		return true
	}
	source, there := r.Imports[f.Import], 0
	for name, sum := range source {
		data, err := read(name)
		if err == nil && sumOf(data) == sum {
			return true
		}
		if err == nil {
			there++
		}
	}
	return there > 0 && 2*there >= len(source)
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// Elsewhere returns a file of the user's record of another folder, and that folder: one that is no
// longer there, from which a person may have moved the project, before one that is. same says whether the
// other record is of this project. The folder is "" where no record has such a file.
func (r *Record) Elsewhere(
	path string, such func(data []byte) bool, same func(*Record, File) bool,
) (data []byte, root string) {
	if r == nil || r.place == "" {
		return nil, ""
	}
	dir := filepath.Dir(r.place)
	list, _ := os.ReadDir(dir)
	for _, entry := range list {
		var other Record
		if json.Unmarshal(record.Read(filepath.Join(dir, entry.Name())), &other) != nil ||
			other.Version != version || filepath.Base(place("originals", other.Root)) != entry.Name() {
			continue
		}
		f, ok := other.Files[path]
		if !ok || !such(f.Data) || !same(&other, f) {
			continue
		}
		data, root = f.Data, other.Root
		if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return data, root
}

// Edit returns a file of modec's as somebody changed it, of which the source says everything.
func (r *Record) Edit(path string) (File, bool) {
	if r == nil {
		return File{}, false
	}
	f, ok := r.Edits[path]
	return f, ok
}

// Save writes a record to its place. It fails where the user has no folder for it.
func (r *Record) Save() error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := record.Keep(r.place, data); err != nil {
		return fmt.Errorf("the original files cannot be kept: %w", err)
	}
	return nil
}

// Backup copies files of a project into a new folder of the user's and returns the folder.
func Backup(root string, files map[string][]byte, now time.Time) (dir string, err error) {
	top := place("backups", resolved(root))
	if top == "" {
		return "", errNoFolder
	}
	if err := os.MkdirAll(top, 0o700); err != nil {
		return "", err
	}
	dir, err = os.MkdirTemp(top, now.Format("2006-01-02T150405-*"))
	if err != nil {
		return "", err
	}
	below, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer below.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := below.MkdirAll(filepath.ToSlash(filepath.Dir(name)), 0o700); err != nil {
			return "", err
		}
		if err := below.WriteFile(name, files[name], 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}

var errNoFolder = errors.New("there is no home folder to keep them in")

// Place returns where modec keeps something else of a project's, by its folder there, and the
// project's folder without symbolic links. The place is "" where the user has no folder for it, and
// where that lies in the project, which could bring a record along.
func Place(folder, root string) (file, project string) {
	root = resolved(root)
	file = place(folder, root)
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		return "", root
	}
	return file, root
}

// place returns where modec keeps something of a project's, "" where the user has no folder.
func place(folder, root string) string {
	state := Folder()
	if state == "" {
		return ""
	}
	return filepath.Join(state, folder, record.Name(root))
}

// Folder returns where modec keeps what is a user's, "" where there is no place: in the folder of the XDG base
// directory specification for the state of programs, on macOS and Windows in that of the settings.
func Folder() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "modec")
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return ""
		}
		return filepath.Join(dir, "modec")
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".local", "state", "modec")
}

// resolved returns a folder's path without symbolic links.
func resolved(root string) string {
	if dir, err := filepath.EvalSymlinks(root); err == nil {
		root = dir
	}
	return strings.TrimSuffix(filepath.Clean(root), string(filepath.Separator))
}

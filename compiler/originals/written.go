package originals

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"modec.dev/modec/compiler/record"
)

// Written is what the builds of one user wrote, so that no lock of a repository makes a file of the user's one of
// modec's.
type Written struct {
	Version int    `json:"version"`
	Root    string `json:"root"` // the project's folder, without symbolic links
	// Files are the digests of what was written at each path below the root.
	Files map[string][]string `json:"files"`

	place string
}

// mostWritten is how many digests are kept of a path.
const mostWritten = 64

// LoadWritten returns what was written into a project, nothing where that is not recorded.
func LoadWritten(root string) *Written {
	place, root := Place("written", root)
	w := &Written{}
	if json.Unmarshal(record.Read(place), w) != nil || w.Version != version || w.Root != root {
		w = &Written{}
	}
	if w.Files == nil {
		w.Files = map[string][]string{}
	}
	w.Version, w.Root, w.place = version, root, place
	return w
}

// Has reports whether a build of the user's left a path of the project with a digest.
func (w *Written) Has(path, digest string) bool {
	return w != nil && slices.Contains(w.Files[path], digest)
}

// Anywhere reports whether a build of the user's wrote a path with a digest in this or in another folder: a project
// may have moved.
func (w *Written) Anywhere(path, digest string) bool {
	if w == nil || w.Has(path, digest) {
		return w != nil
	}
	if w.place == "" {
		return false
	}
	dir := filepath.Dir(w.place)
	list, _ := os.ReadDir(dir)
	for _, entry := range list {
		var other Written
		if json.Unmarshal(record.Read(filepath.Join(dir, entry.Name())), &other) == nil &&
			other.Version == version && other.Has(path, digest) {
			return true
		}
	}
	return false
}

// Add records what a build wrote, the digest of each path. Where the user has no folder for it nothing is kept.
func (w *Written) Add(files map[string]string) error {
	changed := false
	for path, digest := range files {
		if w.Has(path, digest) {
			continue
		}
		list := append(w.Files[path], digest)
		w.Files[path], changed = list[max(0, len(list)-mostWritten):], true
	}
	if !changed || w.place == "" {
		return nil
	}
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return record.Keep(w.place, data)
}

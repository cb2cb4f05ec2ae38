package output

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
)

// sessionsDir is where a home folder keeps what sessions are started with.
const sessionsDir = ".cache/modec/sessions"

// keptFor is how long a file stays that no session was started with.
const keptFor = 30 * 24 * time.Hour

// Session collects what a session of an agent is started with. It lies in a home folder, since what lies in the
// repository the agent may edit, or in a folder that a person names.
type Session struct {
	dir   string
	named bool   // by a person: the folder is theirs
	root  string // the project's folder
	files []contract.File
	in    map[string]string // the folder of a copy, by its path; none: it lies beside them
	only  []string          // the folders that have nothing but copies
}

// NewSession returns a session of the project at root. Its files go into the folder out, and into one of the user's
// home where that is "".
func NewSession(home, out, root string) *Session {
	s := &Session{dir: out, named: out != "", root: root, in: map[string]string{}}
	if !s.named {
		s.dir = filepath.Join(home, filepath.FromSlash(sessionsDir))
	}
	return s
}

// Copies returns what a launcher takes for the session.
func (s *Session) Copies() *contract.Copies {
	return &contract.Copies{Put: s.put, Folder: s.folder}
}

// put adds a copy, by its content, and returns where it will lie.
func (s *Session) put(f contract.File) string {
	name := path.Base(f.Path)
	if !s.named {
		name = strings.TrimPrefix(Sum(f.Data), "sha256:")[:32] + "-" + name
	}
	s.files = append(s.files, contract.File{Path: name, Data: f.Data})
	return filepath.Join(s.dir, name)
}

// folder adds a folder of copies, by the project and its name, and returns where it will lie.
func (s *Session) folder(f contract.Folder) string {
	dir := f.Name
	if !s.named {
		dir = strings.TrimPrefix(Sum([]byte(s.root)), "sha256:")[:32] + "-" + dir
	}
	for _, c := range f.Files {
		at := dir + "/" + c.Path
		s.files = append(s.files, contract.File{Path: at, Data: c.Data})
		s.in[at] = dir
	}
	for _, only := range f.Only {
		s.only = append(s.only, dir+"/"+only)
	}
	return filepath.Join(s.dir, dir)
}

// name returns by what a copy is named: itself, or the folder that it is in.
func (s *Session) name(f contract.File) string { return cmp.Or(s.in[f.Path], f.Path) }

// read returns the copies that a session reads.
func (s *Session) read(args []string) []contract.File {
	text := strings.Join(args, "\n")
	for _, f := range s.files {
		if strings.Contains(text, s.name(f)) {
			text += string(f.Data)
		}
	}
	return slices.DeleteFunc(slices.Clone(s.files), func(f contract.File) bool {
		return !strings.Contains(text, s.name(f))
	})
}

// Write writes the copies that the arguments of a session name, or one of these copies does.
// It removes those of sessions that were started long ago.
func (s *Session) Write(args []string) error {
	files := s.read(args)
	if len(files) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder for the session: %w", err)
	}
	if info, err := os.Lstat(s.dir); err != nil || info.Mode().Type() == fs.ModeSymlink {
		return fmt.Errorf("%s is a link: a session is started with files of one's own", s.dir)
	}
	d, err := takeDisk(context.Background(), s.dir, Progress{})
	if err != nil {
		return err
	}
	defer d.close()
	if err := s.ownFolder(&d); err != nil {
		return err
	}
	d.mode = 0o600
	now := time.Now()
	var missing transaction
	for _, f := range files {
		if have, err := d.read(f.Path); err != nil || !bytes.Equal(have, f.Data) {
			missing.write = append(missing.write, f)
			continue
		}
		if err := d.root.Chtimes(f.Path, now, now); err != nil {
			return fmt.Errorf("cannot keep the copy for the session: %w", diag.WithoutPath(err))
		}
	}
	if err := d.commit(missing); err != nil {
		return err
	}
	for _, f := range files {
		if dir := s.in[f.Path]; dir != "" {
			if err := d.root.Chtimes(dir, now, now); err != nil {
				return fmt.Errorf("cannot keep the folder for the session: %w", diag.WithoutPath(err))
			}
		}
	}
	if err := s.alone(&d); err != nil {
		return fmt.Errorf("cannot remove what is no copy for the session: %w", diag.WithoutPath(err))
	}
	if s.named {
		return nil
	}
	return d.forgetBefore(now.Add(-keptFor))
}

// ownFolder fails where a folder that a person names has what no session is started with: it may be somebody's.
func (s *Session) ownFolder(d *disk) error {
	if !s.named {
		return nil
	}
	entries, err := fs.ReadDir(d.root.FS(), ".")
	for _, entry := range entries {
		ours := func(f contract.File) bool { return s.name(f) == entry.Name() }
		if !slices.ContainsFunc(s.files, ours) {
			return fmt.Errorf("%s has %s already: name a folder of its own for the session", s.dir, entry.Name())
		}
	}
	return err
}

// alone removes what lies beside the copies in the folders that have nothing else.
func (s *Session) alone(d *disk) error {
	for _, dir := range s.only {
		entries, err := fs.ReadDir(d.root.FS(), dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			at := dir + "/" + entry.Name()
			if _, copied := s.in[at]; copied {
				continue
			}
			if err := d.root.RemoveAll(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetBefore removes the copies that are older than a time, and the folders that no session was started from since.
func (d *disk) forgetBefore(t time.Time) error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	for _, entry := range entries {
		info, err := entry.Info()
		copied := err == nil && (info.Mode().IsRegular() || info.IsDir()) && digested().MatchString(entry.Name())
		if !copied || !info.ModTime().Before(t) {
			continue
		}
		if err := d.root.RemoveAll(entry.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove an old copy: %w", diag.WithoutPath(err))
		}
	}
	return err
}

// digested is the name of what a session put here.
var digested = lazy.Regexp(`\A[0-9a-f]{32}-`)

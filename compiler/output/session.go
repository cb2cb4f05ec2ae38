package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// runDir is where a home folder keeps the copies that sessions are started from.
const runDir = stateDir + "run"

// keptFor is how long a copy stays that no session was started from.
const keptFor = 30 * 24 * time.Hour

// Session collects copies of what a session of an agent is started from. They lie in a home
// folder, since what lies in the repository the agent may edit.
type Session struct {
	dir    string
	files  []contract.File
	policy contract.PolicyCopy
}

// NewSession starts with the compiled policy of the project at root.
func NewSession(home, root string, compiled []byte) *Session {
	s := &Session{dir: filepath.Join(home, filepath.FromSlash(runDir))}
	s.policy = contract.PolicyCopy{File: s.put(contract.File{Path: contract.PolicyFile, Data: compiled}), Root: root}
	return s
}

// Copies returns what a launcher takes for the session.
func (s *Session) Copies() *contract.Copies { return &contract.Copies{Policy: s.policy, Put: s.put} }

// put adds a copy, by its content, and returns where it will lie.
func (s *Session) put(f contract.File) string {
	name := strings.TrimPrefix(Sum(f.Data), "sha256:")[:32] + "-" + path.Base(f.Path)
	s.files = append(s.files, contract.File{Path: name, Data: f.Data})
	return filepath.Join(s.dir, name)
}

// named returns the copies that a session reads.
func (s *Session) named(args []string) []contract.File {
	text := strings.Join(args, "\n")
	for _, f := range s.files {
		if strings.Contains(text, f.Path) {
			text += string(f.Data)
		}
	}
	return slices.DeleteFunc(slices.Clone(s.files), func(f contract.File) bool {
		return !strings.Contains(text, f.Path)
	})
}

// Write writes the copies that the arguments of a session name, or one of these copies does.
// It removes those of sessions that were started long ago.
func (s *Session) Write(args []string) error {
	files := s.named(args)
	if len(files) == 0 {
		return nil
	}
	d, err := makeDisk(s.dir)
	if err != nil {
		return err
	}
	defer d.close()
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
	return d.forgetBefore(now.Add(-keptFor))
}

// forgetBefore removes the files of the folder itself that are older than a time.
func (d *disk) forgetBefore(t time.Time) error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(t) {
			continue
		}
		if err := d.root.Remove(entry.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove an old copy: %w", diag.WithoutPath(err))
		}
	}
	return err
}

package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"modec.dev/modec/compiler/diag"
)

// MaxPlain is the most bytes of a file of a project that is read.
const MaxPlain = 64 << 20

// Plain returns the files of a folder in which nothing but a folder and a file of at most MaxPlain bytes can be opened:
// opening a named pipe would wait until somebody writes into it.
func Plain(folder fs.FS) fs.FS { return plainFolder{folder} }

type plainFolder struct{ fs.FS }

// opens returns why a name cannot be opened, nil where the folder itself says so.
func (p plainFolder) opens(name string) error {
	info, err := fs.Stat(p.FS, name)
	if err != nil {
		return nil
	}
	return notFile(name, info)
}

func (p plainFolder) Open(name string) (fs.File, error) {
	if err := p.opens(name); err != nil {
		return nil, err
	}
	return p.FS.Open(name)
}

func (p plainFolder) ReadFile(name string) ([]byte, error) {
	if err := p.opens(name); err != nil {
		return nil, err
	}
	return fs.ReadFile(p.FS, name)
}

func (p plainFolder) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := p.opens(name); err != nil {
		return nil, err
	}
	return fs.ReadDir(p.FS, name)
}

func (p plainFolder) Stat(name string) (fs.FileInfo, error)  { return fs.Stat(p.FS, name) }
func (p plainFolder) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(p.FS, name) }
func (p plainFolder) ReadLink(name string) (string, error)   { return fs.ReadLink(p.FS, name) }

// ReadPlain reads a file of a project by its path, and nothing but a file.
func ReadPlain(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil {
		if err := notFile(file, info); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(file)
}

// notFile returns why something is not read, nil for a folder and a file that is.
func notFile(name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return nil
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "open", Path: name,
			Err: errors.New("it is " + diag.FileKind(info.Mode()) + ", want a file")}
	case info.Size() > MaxPlain:
		return &fs.PathError{Op: "open", Path: name,
			Err: fmt.Errorf("it has %d bytes, want at most %d", info.Size(), MaxPlain)}
	}
	return nil
}

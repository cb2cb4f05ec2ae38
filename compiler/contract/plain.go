package contract

import (
	"errors"
	"io/fs"
	"os"

	"modec.dev/modec/compiler/diag"
)

// Plain returns the files of a folder in which nothing but a file and a folder can be opened: opening a named pipe
// would wait until somebody writes into it.
func Plain(folder fs.FS) fs.FS { return plainFolder{folder} }

type plainFolder struct{ fs.FS }

// opens returns why a name cannot be opened, nil where the folder itself says so.
func (p plainFolder) opens(name string) error {
	info, err := fs.Stat(p.FS, name)
	if err != nil || info.IsDir() || info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: name, Err: notFile(info)}
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
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: file, Err: notFile(info)}
	}
	return os.ReadFile(file)
}

func notFile(info fs.FileInfo) error {
	return errors.New("it is " + diag.FileKind(info.Mode()) + ", want a file")
}

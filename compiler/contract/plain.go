package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"modec.dev/modec/compiler/diag"
)

// maxPlain is the most bytes of a file of a project that is read.
const maxPlain = 64 << 20

// Plain returns the files of a folder in which nothing but a folder and a file of at most maxPlain bytes can be opened:
// opening a named pipe would wait until somebody writes into it.
func Plain(folder fs.FS) fs.FS { return plainFolder{folder} }

type plainFolder struct{ fs.FS }

// opens returns why a name cannot be opened, nil where the folder itself says so.
func (p plainFolder) opens(name string) error {
	if IsSession(name) { // what lies there no session is started with
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	info, err := fs.Stat(p.FS, name)
	return notRead(name, info, err)
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
	list, err := fs.ReadDir(p.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return name == "." && IsSession(e.Name()) }), err
}

func (p plainFolder) Stat(name string) (fs.FileInfo, error)  { return fs.Stat(p.FS, name) }
func (p plainFolder) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(p.FS, name) }
func (p plainFolder) ReadLink(name string) (string, error)   { return fs.ReadLink(p.FS, name) }

// ReadPlain reads a file of a project by its path, and nothing but a file.
func ReadPlain(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err := notRead(file, info, err); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// notRead returns why something is not read by what its Stat returned: nil for a folder, for a file of a size that is
// read, and where opening it says why.
func notRead(name string, info fs.FileInfo, err error) error {
	var why string
	switch {
	case err != nil || info.IsDir():
		return nil
	case !info.Mode().IsRegular():
		why = "it is " + diag.FileKind(info.Mode()) + ", want a file"
	case info.Size() > maxPlain:
		why = fmt.Sprintf("it has %d bytes, want at most %d", info.Size(), maxPlain)
	default:
		return nil
	}
	return &fs.PathError{Op: "open", Path: name, Err: errors.New(why)}
}

package contract

import (
	"io/fs"
	"strings"

	"modec.dev/modec/compiler/memfs"
)

// sessionFolder begins the folder in which a target's models find what sessions of its agent are started with. It is
// no path of a project: `modec run` and `modec args` write these files when a session starts.
const sessionFolder = "session:"

// SessionPath returns where the models of a target find a file that sessions of its agent are started with.
func SessionPath(target, name string) string { return sessionFolder + target + "/" + name }

// IsSession reports whether a path is one of these.
func IsSession(path string) bool { return strings.HasPrefix(path, sessionFolder) }

// PolicyFile is where the models find the compiled source, by which hooks decide. It is in no repository: modec
// compiles the source when a hook asks.
const PolicyFile = sessionFolder + "policy.json"

// Over returns a project's files with those that its sessions are started with.
func Over(project fs.FS, sessions []File) fs.FS { return withSessions{project, InMemory(sessions)} }

type withSessions struct {
	fs.FS
	sessions memfs.FS
}

// of returns which of the two has a name.
func (w withSessions) of(name string) fs.FS {
	if IsSession(name) {
		return w.sessions
	}
	return w.FS
}

func (w withSessions) Open(name string) (fs.File, error)    { return w.of(name).Open(name) }
func (w withSessions) ReadFile(name string) ([]byte, error) { return fs.ReadFile(w.of(name), name) }
func (w withSessions) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(w.of(name), name)
}
func (w withSessions) Stat(name string) (fs.FileInfo, error)  { return fs.Stat(w.of(name), name) }
func (w withSessions) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(w.of(name), name) }
func (w withSessions) ReadLink(name string) (string, error)   { return fs.ReadLink(w.of(name), name) }

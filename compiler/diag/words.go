package diag

import (
	"errors"
	"io/fs"
	"strconv"
	"unicode/utf8"
)

// Join appends a segment to the path of a diagnostic: "modes" and "code" are
// "modes.code".
func Join(path, segment string) string {
	if path == "" {
		return segment
	}
	return path + "." + segment
}

// Index appends the place in a list to a segment: "rules[2]".
func Index(segment string, i int) string { return segment + "[" + strconv.Itoa(i) + "]" }

// Label writes a field's name as a segment of a path: bare where it is an
// identifier, else quoted.
func Label(name string) string {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || i > 0 && '0' <= c && c <= '9') {
			return strconv.Quote(name)
		}
	}
	return name
}

// Short cuts a text for a message: 60 characters and an ellipsis.
func Short(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "…"
	}
	return s
}

// WithoutPath returns the reason of a file error without the path: the message
// around it names the file.
func WithoutPath(err error) error {
	if err = bare(err); leadsOut(err) {
		return errors.New("it is a symbolic link that leads out of the project, or lies behind one: " + putThere)
	}
	return err
}

func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

const putThere = "put the file or the folder itself in the place of the link"

// leadsOut reports whether an error is that of [os.Root] for a link that leaves it, which has no name.
func leadsOut(err error) bool { return err != nil && err.Error() == "path escapes from parent" }

// Reason returns the reason of an error of a file like [WithoutPath], and names the link that leads out of a folder.
func Reason(fsys fs.FS, name string, err error) error {
	if link := LeadsOut(fsys, name, err); link != "" {
		return errors.New(link + " is a symbolic link that leads out of the project: " + putThere)
	}
	return WithoutPath(err)
}

// LeadsOut returns the link that leads out of a folder, the first one on the way to a file, where an error of that is
// for it; else "". To [os.Root] one with an absolute path is such a link, wherever it leads.
func LeadsOut(fsys fs.FS, name string, err error) string {
	for i := range len(name) + 1 {
		if !leadsOut(bare(err)) || i < len(name) && name[i] != '/' {
			continue
		}
		if _, err := fs.Stat(fsys, name[:i]); leadsOut(bare(err)) {
			return name[:i]
		}
	}
	return ""
}

// Unreadable reports whether an error is that a file which is there cannot be read. A link out of the folder is none:
// the agent follows it, and a check says so.
func Unreadable(fsys fs.FS, name string, err error) bool {
	return err != nil && !errors.Is(err, fs.ErrNotExist) && LeadsOut(fsys, name, err) == ""
}

// FileKind names what is not a regular file: "a folder", "a symbolic link".
func FileKind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a special file"
}

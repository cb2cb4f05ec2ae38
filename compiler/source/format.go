package source

import (
	"bytes"
	"io/fs"
	"path"

	"cuelang.org/go/cue/format"

	"modec.dev/modec/compiler/diag"
)

// Formatted is a file of the source before and after formatting.
type Formatted struct {
	Path     string
	Was, Now []byte
}

// Format returns the CUE files of a project's source that cue fmt would change. It returns
// nothing where a file does not parse.
func Format(fsys fs.FS, dir string) ([]Formatted, diag.List) {
	l := newLoader(fsys, dir)
	var out []Formatted
	for _, name := range l.files() {
		if path.Ext(name) != ".cue" {
			continue
		}
		data, ok := l.read(name, diag.Pos{File: name})
		if !ok {
			continue
		}
		f, err := Parse(name, data)
		if err != nil {
			l.syntax(name, err)
			continue
		}
		nice, err := format.Node(f)
		if err != nil {
			l.syntax(name, err)
			continue
		}
		if !bytes.Equal(nice, data) {
			out = append(out, Formatted{name, data, nice})
		}
	}
	if l.diags.HasErrors() {
		l.diags.Sort()
		return nil, l.diags
	}
	return out, nil
}

// FormatCUE writes the text of a CUE file in CUE's own format.
func FormatCUE(text string) ([]byte, error) { return format.Source([]byte(text)) }

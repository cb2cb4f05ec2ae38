package contract

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Importer is a target that turns its agent's files, as teams have them, into a source.
//
// An import never widens. What a file leaves unsaid becomes what the agent itself decides
// then. Where that is not known, because a setting of the user decides, it becomes an ask,
// with a note that somebody has to decide.
type Importer interface {
	Target
	// Formats returns the names of its formats for `modec migrate --from`, the target's
	// own name first.
	Formats() []string
	// Import reads files. A file that the agent itself would not load is an error at its
	// place, and nothing of the import is used then. Where the agent does without the file
	// and loads the others, it is among those of Imported.NotLoaded.
	Import(Source) (Imported, diag.List)
}

// LineImporter is an importer that reads a command line of its agent too.
type LineImporter interface {
	Importer
	// LineFormat returns the format of a command line, and an example of one.
	LineFormat() (format, example string)
}

// Source says what to import.
type Source struct {
	// Root is the repository. An import follows no link out of it. Places name its
	// files by their path.
	Root fs.FS
	// Home is the user's home folder; nil: nothing is imported from it. Places name its
	// files as ~/PATH.
	Home fs.FS
	// Format is one of the importer's formats; "": any of them.
	Format string
	// Files are the files to read, below Root. With a Format they all have it, whatever
	// their names. Without one the importer takes those whose names it knows. nil:
	// whatever the importer knows below Root and Home.
	Files []string
	// Args is a command line to import in place of files.
	Args []string
	// Approved are the groups in which what the files permit needs no confirmation,
	// where a setting of the user decides that and not the files (Roo's auto-approve
	// settings). In any other group such a file's permission becomes an ask.
	Approved []ir.Group
	// Repair corrects what the agent itself refuses to load, with a note for each
	// correction.
	Repair bool
	// Ours reads files with a hook of modec's too, as if it were not there: to compare what such a
	// file says with what modec wrote into it.
	Ours bool
	// Loaded leaves out files of the project that its agent reads from somewhere else: there they are a copy.
	Loaded bool
	// Own are the rules of the target's own grammar that the source of such files keeps as they are.
	Own []ir.NativeRule
}

// Imported is what an importer understood.
type Imported struct {
	// Files are the files that were read, as places name them.
	Files []string
	// NotLoaded are the files that the agent refuses as they are, as errors of the import say. It runs
	// without them, and so can an import.
	NotLoaded []string
	// Project contains servers, modes and roles, each sorted by name, with the place of
	// everything. What several subjects share (a rule, a default, an
	// entry) has the same place in each and From "policy NAME": it is written once, as
	// that policy. Everything else is the subject's own.
	Project *ir.Project
	// Baseline is the role of a session that names none; "" for files without one.
	Baseline string
	// Comments are the comments of the files, without comment marks, by the place of
	// the mode, role, server, tool, default or rule that they are about.
	Comments map[diag.Pos]string
	// Notes say what became of everything in the files.
	Notes []Note
	// Options are the settings of [targets.NAME] with which a build writes the same
	// again; nil: the defaults.
	Options map[string]any
	// Reference writes a reference to a variable (${VAR}) as the agent's files do; nil: the same.
	Reference func(string) string
	// Originals are the files in a form that the target's Open reads.
	Originals []Original
}

// Original is an imported file at the path where the target's Open finds it, so that its
// decisions can be compared with those of the import.
type Original struct {
	File     string // as places name it
	Files    fs.FS
	Options  map[string]any  // for Open
	Subjects []ir.SubjectRef // the subjects that the file is about
	Surface  string          // the surface on which it is judged; "": each
	Opened   []Decider       // instead of Open, for an original that is not a file
	Another  bool            // Opened is how another agent than the target's decides by the file
}

// NoteKind says what became of something in a file.
type NoteKind string

const (
	// Understood: it is written in the neutral vocabulary, for every target.
	Understood NoteKind = "understood"
	// Kept: it stays as it is written, for one target only.
	Kept NoteKind = "kept"
	// NeedsDecision: something outside of the file decides; the import asks.
	NeedsDecision NoteKind = "needs-decision"
	// Refused: it is not imported.
	Refused NoteKind = "refused"
	// Left: it is neither a permission nor a text of a subject, or a rule that its agent never matches, and
	// stays in its file.
	Left NoteKind = "left"
	// Repaired: it was corrected before it was read ([Source.Repair]).
	Repaired NoteKind = "repaired"
	// Secret: it states a secret in clear text, and stays in its file alone.
	Secret NoteKind = "secret"
	// Apart: another agent defines the same in another way; both definitions stay.
	Apart NoteKind = "apart"
	// Conflict: two files differ; the stricter one holds.
	Conflict NoteKind = "conflict"
)

// Note says what became of one thing in a file.
type Note struct {
	Kind    NoteKind `json:"kind"`
	Pos     diag.Pos `json:"pos"`
	Subject string   `json:"subject,omitempty"` // "mode architect", "role claude", "server docs"
	What    string   `json:"what"`              // as written in the file: "Bash(npm ci)", "fileRegex: \.md$"
	// Why is the reason, in lower case and without a period; "" where the kind is
	// enough.
	Why string `json:"why,omitempty"`
	// Rule is set where the thing permits, asks or denies. The report counts these.
	Rule bool `json:"rule,omitempty"`
}

// Note appends a note.
func (im *Imported) Note(k NoteKind, at diag.Pos, subject, what, why string) {
	im.Notes = append(im.Notes, Note{Kind: k, Pos: at, Subject: subject, What: what, Why: why})
}

// OnlyAgent is why something that is imported is for one agent alone.
const OnlyAgent = "it is for this agent alone: what stays as it is written would hold no other one back"

// Keep returns a target as the only one that a subject is emitted for, and notes it, where something holds the subject
// back that no other agent has; else nil.
func (im *Imported) Keep(target string, holds bool, at diag.Pos, subject string) []string {
	if !holds {
		return nil
	}
	im.Note(Kept, at, subject, "targets", OnlyAgent)
	return []string{target}
}

// DeniesAny reports whether rules of one agent's own deny something.
func DeniesAny(own []ir.NativeRule) bool {
	return slices.ContainsFunc(own, func(r ir.NativeRule) bool { return r.Decision == ir.Deny })
}

// Refuse adds a file that the agent refuses as it is to NotLoaded.
func (im *Imported) Refuse(file string) {
	if !slices.Contains(im.NotLoaded, file) {
		im.NotLoaded = append(im.NotLoaded, file)
	}
}

// NoteRule appends a note about a rule.
func (im *Imported) NoteRule(k NoteKind, at diag.Pos, subject, what, why string) {
	im.Notes = append(im.Notes, Note{Kind: k, Pos: at, Subject: subject, What: what, Why: why, Rule: true})
}

// Join adds what another import of the same agent understood. What both have by one name is the first one's, which has
// it where says.
func (im *Imported) Join(b *Imported, where string) {
	switch {
	case b.Empty():
		return
	case im.Empty():
		*im = *b
		return
	}
	im.Files, im.Notes = append(im.Files, b.Files...), append(im.Notes, b.Notes...)
	im.Originals, im.NotLoaded = append(im.Originals, b.Originals...), append(im.NotLoaded, b.NotLoaded...)
	if im.Comments == nil {
		im.Comments = map[diag.Pos]string{}
	}
	maps.Copy(im.Comments, b.Comments)
	for i := range b.Project.Modes {
		m := &b.Project.Modes[i]
		if im.Project.Mode(m.Slug) == nil {
			im.Project.Modes = append(im.Project.Modes, *m)
			continue
		}
		im.Note(Refused, m.Pos, "mode "+m.Slug, m.Slug, "a mode of that slug stands "+where+", too")
	}
	for i := range b.Project.Servers {
		s := &b.Project.Servers[i]
		if im.Project.Server(s.Name) == nil {
			im.Project.Servers = append(im.Project.Servers, *s)
			continue
		}
		im.Note(Refused, s.Pos, "server "+s.Name, s.Name, "a server of that name stands "+where+", too")
	}
	im.Project.Sort()
}

// MaxImport is the most bytes of a file that is imported.
const MaxImport = 4 << 20

// ReadImport reads a file to import. It fails unless the file is a regular one in UTF-8 of
// MaxImport bytes at most. The error does not repeat the file's name.
func ReadImport(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name) // before Open, which would wait for ever on a named pipe
	if err != nil {
		return nil, diag.Reason(fsys, name, err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is %s, want a file", diag.FileKind(info.Mode()))
	case info.Size() > MaxImport:
		return nil, errTooLarge
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, diag.Reason(fsys, name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxImport+1))
	switch {
	case err != nil:
		return nil, diag.Reason(fsys, name, err)
	case len(data) > MaxImport:
		return nil, errTooLarge
	case !utf8.Valid(data):
		return nil, errors.New("got bytes that are not UTF-8, want UTF-8")
	}
	return data, nil
}

var errTooLarge = fmt.Errorf("got more than %d MiB, want a smaller file", MaxImport>>20)

// CommandsOn returns patterns of the commands that have a path among their arguments that a
// deny glob matches: some agents apply a rule about a file to `cat FILE` too. The patterns
// match other commands as well, but miss none that is written plainly.
func CommandsOn(glob string) []string {
	text := strings.TrimPrefix(glob, "./")
	anchored := strings.Contains(strings.TrimSuffix(text, "/"), "/") && !strings.HasPrefix(text, "**/")
	text = strings.Trim(strings.TrimPrefix(text, "**/"), "/")
	text = strings.TrimSuffix(text, "/**")
	text = strings.Map(func(c rune) rune {
		if strings.ContainsRune("?[]{}\\,|;&<>'\"`$#", c) { // what a shell or a pattern reads in another way
			return '*'
		}
		return c
	}, text)
	for strings.Contains(text, "**") {
		text = strings.ReplaceAll(text, "**", "*")
	}
	if text == "" || text == "*" {
		return []string{"*"}
	}
	var out []string
	starts := []string{"* " + text, "* ./" + text}
	if !anchored {
		starts = []string{"* " + text, "* */" + text}
	}
	for _, start := range starts {
		if out = append(out, start, start+" *"); !strings.HasSuffix(text, "*") {
			out = append(out, start+"/*")
		}
	}
	return out
}

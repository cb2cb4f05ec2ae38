package contract

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Importer is a target whose agent's files, as teams have them, can become a
// source.
//
// An import never widens. What a file leaves unsaid becomes what the agent
// itself then decides, and no more; where that is not known (a setting of the
// user decides) it becomes ask, with a note that somebody has to decide.
type Importer interface {
	Target
	// Formats lists the names under which its files can be asked for
	// (`modec migrate --from`), the target's own first.
	Formats() []string
	// Import reads the files of a source. A file that the agent itself would
	// not load is an error at its place; nothing of the import is used then.
	Import(Source) (Imported, diag.List)
}

// Source is what to import.
type Source struct {
	// Root is the repository. No link is followed out of it. Places name its
	// files by their path.
	Root fs.FS
	// Home is the user's home folder, nil unless it was asked for. Places name
	// its files as ~/PATH.
	Home fs.FS
	// Format is the format that was asked for, "" for any of the importer's.
	Format string
	// Files are the files to read, below Root. With a Format each is of that
	// format whatever its name; without one the importer takes those whose
	// names it knows. nil: whatever the importer knows of below Root and Home.
	Files []string
	// Args is a command line to import in place of files.
	Args []string
	// Approved are the groups of which the caller says that a person need not
	// confirm what the files permit, where a setting of the user decides that
	// and not the files (Roo's auto-approve settings). For any other group such
	// a file's permission is an ask.
	Approved []ir.Group
	// Guards are the globs that every project keeps from editing: an import need
	// not say them again.
	Guards []string
	// Repair mends what the agent itself refuses to load, with a note for each
	// repair.
	Repair bool
}

// Imported is what an importer understood.
type Imported struct {
	// Files are what was read, as places name them.
	Files []string
	// Project holds servers, modes and roles, each sorted by name and with the
	// place of everything. Guards are not part of it. A rule, a default or an
	// entry that several subjects share has the same place in each and says From
	// "policy NAME": it is written once, as that policy. Everything else is the
	// subject's own.
	Project *ir.Project
	// Baseline is the role that a session has which names none; "" where the files
	// have no such thing.
	Baseline string
	// Comments are the comments of the files: of the mode, role, server, tool,
	// default or rule at a place, without comment marks.
	Comments map[diag.Pos]string
	// Notes tell what became of everything that the files say.
	Notes []Note
	// Options are settings of [targets.NAME] with which a build writes what was
	// read; nil: the defaults.
	Options map[string]any
	// Originals are the files in a form that the target's Open understands.
	Originals []Original
}

// Original is an imported file laid out where the target's Open finds it, so
// that its decisions can be compared with those of the import.
type Original struct {
	File     string // as places name it
	Files    fs.FS
	Options  map[string]any  // for Open
	Subjects []ir.SubjectRef // whom the file holds
	Surface  string          // the surface of the decider that judges it; "" each
	Opened   []Decider       // in place of Open, for what is no file
}

// NoteKind says what became of something in a file.
type NoteKind string

const (
	// Understood is said in the neutral vocabulary and holds for every target.
	Understood NoteKind = "understood"
	// Kept stays as it is written, for one target alone.
	Kept NoteKind = "kept"
	// NeedsDecision is decided by something that the file does not hold; the
	// import asks.
	NeedsDecision NoteKind = "needs-decision"
	// Refused is not imported.
	Refused NoteKind = "refused"
	// Left is no permission and no text of a subject: it stays in its file.
	Left NoteKind = "left"
	// Repaired was mended before it was read (Source.Repair).
	Repaired NoteKind = "repaired"
	// Conflict is said by two sources in two ways; the stricter holds.
	Conflict NoteKind = "conflict"
)

// Note tells what became of one thing in a file.
type Note struct {
	Kind    NoteKind `json:"kind"`
	Pos     diag.Pos `json:"pos"`
	Subject string   `json:"subject,omitempty"` // "mode architect", "role claude", "server docs"
	What    string   `json:"what"`              // as it stands in the file: "Bash(npm ci)", "fileRegex: \.md$"
	// Why is a reason, lower case and without a period; "" where the kind says
	// it all.
	Why string `json:"why,omitempty"`
	// Rule is set where the thing permits, asks or denies: the share of rules
	// that are understood is a figure of the report.
	Rule bool `json:"rule,omitempty"`
}

// Note appends a note.
func (im *Imported) Note(k NoteKind, at diag.Pos, subject, what, why string) {
	im.Notes = append(im.Notes, Note{Kind: k, Pos: at, Subject: subject, What: what, Why: why})
}

// NoteRule appends a note about a rule.
func (im *Imported) NoteRule(k NoteKind, at diag.Pos, subject, what, why string) {
	im.Notes = append(im.Notes, Note{Kind: k, Pos: at, Subject: subject, What: what, Why: why, Rule: true})
}

// MaxImport is the most bytes of a file that is imported.
const MaxImport = 4 << 20

// ReadImport reads a file to import: a regular one, of MaxImport bytes at most,
// in UTF-8. The error says what it is instead, without the file's name.
func ReadImport(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name) // before opening: a named pipe would wait for ever
	if err != nil {
		return nil, diag.WithoutPath(err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is %s, want a file", diag.FileKind(info.Mode()))
	case info.Size() > MaxImport:
		return nil, errTooLarge
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, diag.WithoutPath(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxImport+1))
	switch {
	case err != nil:
		return nil, diag.WithoutPath(err)
	case len(data) > MaxImport:
		return nil, errTooLarge
	case !utf8.Valid(data):
		return nil, errors.New("got bytes that are not UTF-8, want UTF-8")
	}
	return data, nil
}

var errTooLarge = fmt.Errorf("got more than %d MiB, want a smaller file", MaxImport>>20)

// CommandsOn returns patterns of commands that are given a path which a deny glob
// matches: some agents hold a file's rule against `cat FILE` too. They match more
// than that, never less of what is written plainly.
func CommandsOn(glob string) []string {
	text := strings.TrimPrefix(glob, "./")
	anchored := strings.Contains(strings.TrimSuffix(text, "/"), "/") && !strings.HasPrefix(text, "**/")
	text = strings.Trim(strings.TrimPrefix(text, "**/"), "/")
	text = strings.TrimSuffix(text, "/**")
	text = strings.Map(func(c rune) rune {
		if strings.ContainsRune("?[]{}\\,", c) {
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

package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Answered is a target whose agent asks programs of people's own about calls, and takes their allow.
type Answered interface {
	Target
	// Programs returns those that the files of a project name, and whose answer nobody knows from there.
	Programs(project fs.FS) []Program
	// Allowing returns the file that names some of them as it would be if each allowed whatever it is asked
	// about, and for each the place in it at which a verdict names it; nil for a file that the agent does not read.
	Allowing(project fs.FS, programs []Program) (file *File, at []diag.Pos)
}

// Program is a program of somebody's own that an agent asks.
type Program struct {
	Of   string // what it is asked about, as the file says it
	Text string // its command line, or what else names it
	// Sum is a hash of the whole entry, and of the files of the project that it names.
	Sum string
	At  diag.Pos
	// Judged is set for what a verification judges, which knows what it permits.
	Judged bool
	// Unknown is set beside Judged for one of which it knows no more than that it may allow.
	Unknown bool
}

// MayAllow warns of a program of somebody's own, with something that it can permit to a subject.
func (p *Program) MayAllow(diags *diag.List, target, subject, format string, args ...any) {
	diags.Warnf(diag.ForeignWidening, p.At, "%s runs a program of somebody's own, and what it answers is not known: "+
		"it can allow %s", p.Of, fmt.Sprintf(format, args...)).
		Hintf("take it out, or accept it: an [[exceptions]] of modec.toml with what = %q", p.What()).
		Target(target).
		Subject(subject).
		Accepted(diag.Acceptance{Subject: subject, What: p.What()})
}

// Accepts returns whether an exception accepts what a program may allow to a subject: one without a subject does for
// all.
func (p *Program) Accepts(x *Exception, subject string) bool {
	return x.Entry == p.What() && (x.Subject == ir.SubjectRef{} || x.Subject.String() == subject)
}

// What names the program as an exception does.
func (p *Program) What() string { return EntryHook + " " + p.Text }

// SumOfProgram returns the hash of an entry that names a program, and of the files of a project that its command line
// names.
func SumOfProgram(project fs.FS, entry []byte, line string) string {
	var b bytes.Buffer
	b.Write(entry)
	for _, name := range filesIn(line) {
		data, err := ReadImport(project, name)
		if err != nil {
			continue
		}
		sum := sha256.Sum256(data)
		b.WriteString("\n" + name + " " + hex.EncodeToString(sum[:]))
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:])
}

// filesIn returns the words of a command line that may be paths in a project.
func filesIn(line string) (names []string) {
	line = strings.NewReplacer(`"`, "", "'", "", "${", "$", "}", "").Replace(line)
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>=`", r) })
	for _, word := range words {
		if rest, ok := strings.CutPrefix(word, "$"); ok { // the project's folder, in a variable of the agent's
			if _, word, ok = strings.Cut(rest, "/"); !ok {
				continue
			}
		}
		if word = path.Clean(word); fs.ValidPath(word) && word != "." && !slices.Contains(names, word) {
			names = append(names, word)
		}
	}
	return names
}

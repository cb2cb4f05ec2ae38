// Package report prints what commands find: as text, as JSON, and as annotations for other programs, of the same
// structs. A command hands over a struct; [Printer] writes it in the form that the command line asks for.
package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/textdiff"
)

// Printer is the whole voice of modec. Its rules:
//
//   - results go to standard output, diagnostics to standard error; with
//     --json both are one value on standard output;
//   - a message is one line: lower case, no period, what is wrong and then what to
//     do; a hint follows on a line of its own;
//   - -q hides progress and summaries, and what a command that succeeds lists on its way,
//     never the answer to a question, an error or a loss;
//   - colour only on a terminal, and not with NO_COLOR.
type Printer struct {
	Out, Err io.Writer
	command  string
	JSON     bool
	Quiet    bool
	Verbose  bool
	colour   bool // of results
	Render   diag.Renderer
	Written  *written
	// Annotator writes findings for the form sarif or github; nil for another form.
	Annotator func(diag.List) error
	// At is what commands need that are typed where this one was, as "-C shop"; "" for nothing.
	At string
	// Up is the flag that names the project above the folder where it was called, for a command that does not look
	// upwards.
	Up string
	// Endless is set for a command that ^C may end as it should: it says nothing of it.
	Endless bool
}

// Options are what a command line says of the output.
type Options struct {
	Command              string // "build", "cursor add"
	JSON, Quiet, Verbose bool
	Color                string // auto, always or never
	Dir                  string // the project, of which diagnostics show lines
}

// New returns what writes the results of a command to stdout, and its diagnostics to stderr.
func New(stdout, stderr io.Writer, o Options) *Printer {
	u := &Printer{Out: stdout, Err: stderr, command: o.Command, JSON: o.JSON, Quiet: o.Quiet, Verbose: o.Verbose,
		Written: &written{}}
	coloured := func(w io.Writer) bool {
		return o.Color == "always" || o.Color == "auto" && terminal(w) && os.Getenv("NO_COLOR") == ""
	}
	u.colour, u.Render.Color = coloured(stdout), coloured(stderr)
	u.Render.Typed = u.typed
	u.Render.Source = func(file string) ([]byte, error) {
		root, err := os.OpenRoot(o.Dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return root.ReadFile(file)
	}
	return u
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Printf writes a line of a result.
func (u *Printer) Printf(format string, args ...any) {
	fmt.Fprint(u.Out, diag.Printable(fmt.Sprintf(format, args...)))
}

// Note writes a summary or progress, which -q hides.
func (u *Printer) Note(format string, args ...any) {
	if !u.Quiet && !u.JSON {
		u.Printf("%s", u.typed(fmt.Sprintf(format, args...)))
	}
}

// ownCommand matches what begins a command of modec's that a person may type. Hooks are typed by agents.
var ownCommand = lazy.Regexp("(^|next: |`| && )modec ([a-z]+)")

// gitCommand begins a command of git's in a hint.
const gitCommand = "`git checkout "

// typed returns a text whose commands of modec's work where this one was typed.
func (u *Printer) typed(text string) string {
	if u.At == "" && u.Up == "" {
		return text
	}
	text = strings.ReplaceAll(text, gitCommand, strings.Replace(gitCommand, "git ", "git "+cmp.Or(u.At, u.Up)+" ", 1))
	return ownCommand().ReplaceAllStringFunc(text, func(found string) string {
		at := u.At
		if at == "" && strings.HasSuffix(found, " migrate") {
			at = u.Up
		}
		if at == "" || strings.HasSuffix(found, " hook") {
			return found
		}
		return strings.Replace(found, "modec ", "modec "+at+" ", 1)
	})
}

// Failure prints an error of usage or of the environment.
func (u *Printer) Failure(err error) {
	fmt.Fprintf(u.Err, "modec: error: %s\n", diag.Clean(u.typed(secret.Text(err.Error()))))
}

// Interrupted prints the one line of a command that ^C ended.
func (u *Printer) Interrupted() ExitCode {
	if !u.Endless {
		fmt.Fprintf(u.Err, "modec: interrupted: %s\n", diag.Clean(u.left()))
	}
	return ExitInterrupted
}

// Waits says why nothing happens.
func (u *Printer) Waits() {
	if !u.Quiet {
		fmt.Fprintf(u.Err, "modec: waiting for another modec that writes into the same folder\n")
	}
}

// left says what an interrupted command changed.
func (u *Printer) left() string {
	files := u.Written.files()
	if len(files) == 0 {
		return "no file was changed"
	}
	return were(len(files), "file") + " changed before: " + strings.Join(files, ", ")
}

// Fail ends a command with the diagnostics that stopped it. The exit code is 2 where
// there is no project to speak of.
func (u *Printer) Fail(list diag.List) error {
	code := ExitFindings
	switch {
	case Has(list, diag.Interrupted):
		if code = ExitInterrupted; !u.JSON {
			u.Diagnostics(slices.DeleteFunc(slices.Clone(list), func(d diag.Diagnostic) bool {
				return d.Code != diag.Wider && d.Code != diag.ForeignWidening
			}))
			return u.Interrupted()
		}
		if len(u.Written.files()) > 0 {
			list.Notef(diag.Interrupted, diag.Pos{}, "%s", u.left())
		}
	case Has(list, diag.NoProject), Has(list, diag.CannotWrite):
		code = ExitUsage
	}
	var err error
	switch {
	case u.JSON:
		err = u.Emit(Outcome{u.Envelope(), "failed", list})
	case u.Annotator != nil:
		err = u.Annotator(list)
	default:
		u.Diagnostics(list)
	}
	if err != nil {
		return err
	}
	return code
}

func Has(list diag.List, code diag.Code) bool {
	return slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == code })
}

// Diagnostics prints a list to standard error, in text; notes with -v only.
func (u *Printer) Diagnostics(list diag.List) {
	for _, d := range list {
		if d.Severity != diag.Note || u.Verbose {
			u.Render.Render(u.Err, d)
		}
	}
	if n := list.Count(diag.Error); n > 0 && !u.Quiet {
		fmt.Fprintf(u.Err, "%s\n", Count(n, "error"))
	}
}

// Findings prints errors and then warnings as far as they fit into a number of lines, the
// first error in any case, and all of them with -v. It returns how many lines it printed.
func (u *Printer) Findings(list diag.List, most int) int {
	if u.Verbose {
		u.Diagnostics(list)
		return 0
	}
	lines := 0
	var hidden []string
	for _, s := range []struct {
		severity diag.Severity
		noun     string
	}{{diag.Error, "error"}, {diag.Warning, "warning"}} {
		more := 0
		for _, d := range list {
			if d.Severity != s.severity || u.Quiet && d.Severity != diag.Error {
				continue
			}
			var text bytes.Buffer
			u.Render.Render(&text, d)
			n := bytes.Count(text.Bytes(), []byte("\n"))
			if first := lines == 0 && d.Severity == diag.Error; !first && (more > 0 || lines+n >= most) {
				more++
				continue
			}
			lines += n
			u.Err.Write(text.Bytes())
		}
		if more > 0 && lines > 0 {
			hidden = append(hidden, "and "+Count(more, "more "+s.noun))
		} else if more > 0 {
			hidden = append(hidden, Count(more, s.noun))
		}
	}
	if len(hidden) > 0 {
		fmt.Fprintf(u.Err, "%s (-v lists them)\n", strings.Join(hidden, " "))
		lines++
	}
	return lines
}

// Colours of a terminal.
const (
	Bold   = "1"
	Red    = "31"
	green  = "32"
	cyan   = "36"
	Yellow = "33"
)

// Paint colours a text where results are coloured.
func (u *Printer) Paint(colour, text string) string {
	if !u.colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// PatchOf returns the patch between two texts of a file, with their secrets masked. What is not
// there is nil.
func PatchOf(path string, was, is []byte) string {
	patch := textdiff.Patch(path, Masked(was), Masked(is))
	if patch == "" && !bytes.Equal(was, is) {
		return fmt.Sprintf("--- a/%s\n+++ b/%s\n another secret\n", path, path)
	}
	return patch
}

// Masked masks the secrets of a file; nil stays nil.
func Masked(text []byte) []byte {
	if text == nil {
		return nil
	}
	return []byte(secret.Text(string(text)))
}

// Unified prints a patch, in colour on a terminal.
func (u *Printer) Unified(patch string) {
	for line := range strings.Lines(patch) {
		line = strings.TrimSuffix(line, "\n")
		colour := ""
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			colour = Bold
		case strings.HasPrefix(line, "-"):
			colour = Red
		case strings.HasPrefix(line, "+"):
			colour = green
		case strings.HasPrefix(line, "@@"):
			colour = cyan
		}
		parts := strings.Split(line, "\t")
		for i := range parts {
			parts[i] = diag.Clean(parts[i])
		}
		u.Printf("%s\n", u.Paint(colour, strings.Join(parts, "\t")))
	}
}

// Progress returns a function that reports progress on a terminal, at most ten times a
// second, and one that ends it. Elsewhere both do nothing.
func (u *Printer) Progress(what string) (step func(done, total int), end func()) {
	show, end := u.Showing()
	if show == nil {
		return nil, end
	}
	return func(done, total int) { show(what, done, total) }, end
}

// Showing returns a function that shows how far something is, and what of it.
func (u *Printer) Showing() (step func(what string, done, total int), end func()) {
	if u.Quiet || u.JSON || !terminal(u.Err) {
		return nil, func() {}
	}
	var last time.Time
	step = func(what string, done, total int) {
		if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
			last = now
			fmt.Fprintf(u.Err, "\r%s %d %%\x1b[K", diag.Clean(what), 100*done/max(total, 1))
		}
	}
	return step, func() { fmt.Fprint(u.Err, "\r\x1b[K") }
}

// Count writes a number with its noun: "1 error", "2 errors", "2 losses".
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// were writes a number with its noun and verb: "1 file was", "2 files were".
func were(n int, noun string) string {
	if n == 1 {
		return Count(n, noun) + " was"
	}
	return Count(n, noun) + " were"
}

// Size writes a number of bytes as a person reads it.
func Size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000/1000)
}

// place writes a position in parentheses; nothing where none is known.
func place(p diag.Pos) string {
	if s := p.String(); s != "" {
		return "  (" + diag.Clean(s) + ")"
	}
	return ""
}

// written is what a command has changed so far.
type written struct {
	mu    sync.Mutex // modec serve writes for several clients
	paths []string
}

func (w *written) Add(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.paths, path) {
		w.paths = append(w.paths, path)
	}
}

// files returns the changed files in the order of their first change.
func (w *written) files() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.paths)
}

// Some names a few of a list.
func Some(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Few lists the first of some names.
func Few(names []string) string {
	const most = 3
	if len(names) > most {
		return diag.Clean(strings.Join(names[:most], ", ")) + " …"
	}
	return diag.Clean(strings.Join(names, ", "))
}

func HintOf(hint string) string {
	if hint == "" {
		return ""
	}
	return " (" + hint + ")"
}

// someOf names the first of some things and counts the others: JSON and -v have all.
func someOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// distinct returns texts each once, in their order.
func distinct(texts []string) []string {
	var once []string
	for _, text := range texts {
		if !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return once
}

// positive writes a number, "" for zero.
func positive(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/textdiff"
)

// ui is the whole voice of modec. Its rules:
//
//   - results go to standard output, diagnostics to standard error; with
//     --json both are one value on standard output;
//   - a message is one line: lower case, no period, what is wrong and then what to
//     do; a hint follows on a line of its own;
//   - -q hides progress and summaries, and what a command that succeeds lists on its way,
//     never the answer to a question, an error or a loss;
//   - colour only on a terminal, and not with NO_COLOR.
type ui struct {
	out, err io.Writer
	command  command
	json     bool
	quiet    bool
	verbose  bool
	colour   bool // of results
	render   diag.Renderer
	written  *written
	// annotator writes findings for the form sarif or github; nil for another form.
	annotator func(diag.List) error
	// at is what commands need that are typed where this one was, as "-C shop"; "" for nothing.
	at string
	// up is the flag that names the project above the folder where it was called, for a command that does not look
	// upwards.
	up string
	// endless is set for a command that ^C may end as it should: it says nothing of it.
	endless bool
}

func newUI(stdout, stderr io.Writer, g *globals, cmd command, dir string) *ui {
	u := &ui{out: stdout, err: stderr, command: cmd, json: g.JSON || cmd.form == "json",
		quiet: g.Quiet, verbose: g.Verbose, written: &written{}}
	coloured := func(w io.Writer) bool {
		return g.Color == "always" || g.Color == "auto" && terminal(w) && os.Getenv("NO_COLOR") == ""
	}
	u.colour, u.render.Color = coloured(stdout), coloured(stderr)
	u.render.Typed = u.typed
	u.render.Source = func(file string) ([]byte, error) {
		root, err := os.OpenRoot(dir)
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

// printf writes a line of a result.
func (u *ui) printf(format string, args ...any) {
	fmt.Fprint(u.out, diag.Printable(fmt.Sprintf(format, args...)))
}

// note writes a summary or progress, which -q hides.
func (u *ui) note(format string, args ...any) {
	if !u.quiet && !u.json {
		u.printf("%s", u.typed(fmt.Sprintf(format, args...)))
	}
}

// ownCommand matches what begins a command of modec's that a person may type. Hooks are typed by agents.
var ownCommand = lazy.Regexp("(^|next: |`| && )modec ([a-z]+)")

// gitCommand begins a command of git's in a hint.
const gitCommand = "`git checkout "

// typed returns a text whose commands of modec's work where this one was typed.
func (u *ui) typed(text string) string {
	if u.at == "" && u.up == "" {
		return text
	}
	text = strings.ReplaceAll(text, gitCommand, strings.Replace(gitCommand, "git ", "git "+cmp.Or(u.at, u.up)+" ", 1))
	return ownCommand().ReplaceAllStringFunc(text, func(found string) string {
		at := u.at
		if at == "" && strings.HasSuffix(found, " migrate") {
			at = u.up
		}
		if at == "" || strings.HasSuffix(found, " hook") {
			return found
		}
		return strings.Replace(found, "modec ", "modec "+at+" ", 1)
	})
}

// failure prints an error of usage or of the environment.
func (u *ui) failure(err error) {
	fmt.Fprintf(u.err, "modec: error: %s\n", diag.Clean(u.typed(secret.Text(err.Error()))))
}

// interrupted prints the one line of a command that ^C ended.
func (u *ui) interrupted() exitCode {
	if !u.endless {
		fmt.Fprintf(u.err, "modec: interrupted: %s\n", diag.Clean(u.left()))
	}
	return exitInterrupted
}

// waits says why nothing happens.
func (u *ui) waits() {
	if !u.quiet {
		fmt.Fprintf(u.err, "modec: waiting for another modec that writes into the same folder\n")
	}
}

// left says what an interrupted command changed.
func (u *ui) left() string {
	files := u.written.files()
	if len(files) == 0 {
		return "no file was changed"
	}
	return were(len(files), "file") + " changed before: " + strings.Join(files, ", ")
}

// fail ends a command with the diagnostics that stopped it. The exit code is 2 where
// there is no project to speak of.
func (u *ui) fail(list diag.List) error {
	code := exitFindings
	switch {
	case has(list, diag.Interrupted):
		if code = exitInterrupted; !u.json {
			u.diagnostics(slices.DeleteFunc(slices.Clone(list), func(d diag.Diagnostic) bool {
				return d.Code != diag.Wider && d.Code != diag.ForeignWidening
			}))
			return u.interrupted()
		}
		if len(u.written.files()) > 0 {
			list.Notef(diag.Interrupted, diag.Pos{}, "%s", u.left())
		}
	case has(list, diag.NoProject), has(list, diag.CannotWrite):
		code = exitUsage
	}
	var err error
	switch {
	case u.json:
		err = u.emit(outcome{u.envelope(), "failed", list})
	case u.annotator != nil:
		err = u.annotator(list)
	default:
		u.diagnostics(list)
	}
	if err != nil {
		return err
	}
	return code
}

func has(list diag.List, code diag.Code) bool {
	return slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == code })
}

// diagnostics prints a list to standard error, in text; notes with -v only.
func (u *ui) diagnostics(list diag.List) {
	for _, d := range list {
		if d.Severity != diag.Note || u.verbose {
			u.render.Render(u.err, d)
		}
	}
	if n := list.Count(diag.Error); n > 0 && !u.quiet {
		fmt.Fprintf(u.err, "%s\n", count(n, "error"))
	}
}

// findings prints errors and then warnings as far as they fit into a number of lines, the
// first error in any case, and all of them with -v. It returns how many lines it printed.
func (u *ui) findings(list diag.List, most int) int {
	if u.verbose {
		u.diagnostics(list)
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
			if d.Severity != s.severity || u.quiet && d.Severity != diag.Error {
				continue
			}
			var text bytes.Buffer
			u.render.Render(&text, d)
			n := bytes.Count(text.Bytes(), []byte("\n"))
			if first := lines == 0 && d.Severity == diag.Error; !first && (more > 0 || lines+n >= most) {
				more++
				continue
			}
			lines += n
			u.err.Write(text.Bytes())
		}
		if more > 0 && lines > 0 {
			hidden = append(hidden, "and "+count(more, "more "+s.noun))
		} else if more > 0 {
			hidden = append(hidden, count(more, s.noun))
		}
	}
	if len(hidden) > 0 {
		fmt.Fprintf(u.err, "%s (-v lists them)\n", strings.Join(hidden, " "))
		lines++
	}
	return lines
}

// Colours of a terminal.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	cyan   = "36"
	yellow = "33"
)

// paint colours a text where results are coloured.
func (u *ui) paint(colour, text string) string {
	if !u.colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// patchOf returns the patch between two texts of a file, with their secrets masked. What is not
// there is nil.
func patchOf(path string, was, is []byte) string {
	patch := textdiff.Patch(path, masked(was), masked(is))
	if patch == "" && !bytes.Equal(was, is) {
		return fmt.Sprintf("--- a/%s\n+++ b/%s\n another secret\n", path, path)
	}
	return patch
}

// masked masks the secrets of a file; nil stays nil.
func masked(text []byte) []byte {
	if text == nil {
		return nil
	}
	return []byte(secret.Text(string(text)))
}

// unified prints a patch, in colour on a terminal.
func (u *ui) unified(patch string) {
	for line := range strings.Lines(patch) {
		line = strings.TrimSuffix(line, "\n")
		colour := ""
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			colour = bold
		case strings.HasPrefix(line, "-"):
			colour = red
		case strings.HasPrefix(line, "+"):
			colour = green
		case strings.HasPrefix(line, "@@"):
			colour = cyan
		}
		parts := strings.Split(line, "\t")
		for i := range parts {
			parts[i] = diag.Clean(parts[i])
		}
		u.printf("%s\n", u.paint(colour, strings.Join(parts, "\t")))
	}
}

// progress returns a function that reports progress on a terminal, at most ten times a
// second, and one that ends it. Elsewhere both do nothing.
func (u *ui) progress(what string) (step func(done, total int), end func()) {
	show, end := u.showing()
	if show == nil {
		return nil, end
	}
	return func(done, total int) { show(what, done, total) }, end
}

// showing returns a function that shows how far something is, and what of it.
func (u *ui) showing() (step func(what string, done, total int), end func()) {
	if u.quiet || u.json || !terminal(u.err) {
		return nil, func() {}
	}
	var last time.Time
	step = func(what string, done, total int) {
		if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
			last = now
			fmt.Fprintf(u.err, "\r%s %d %%\x1b[K", diag.Clean(what), 100*done/max(total, 1))
		}
	}
	return step, func() { fmt.Fprint(u.err, "\r\x1b[K") }
}

// count writes a number with its noun: "1 error", "2 errors", "2 losses".
func count(n int, noun string) string {
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
		return count(n, noun) + " was"
	}
	return count(n, noun) + " were"
}

// size writes a number of bytes as a person reads it.
func size(n int) string {
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

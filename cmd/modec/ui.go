package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
)

// ui is the whole voice of modec. Its rules:
//
//   - results go to standard output, diagnostics to standard error; with
//     --json both are one value on standard output;
//   - a message is one line: lower case, no period, what was got before what
//     was wanted; a hint follows on a line of its own;
//   - -q hides progress and summaries, never a result, an error or a loss;
//   - colour only on a terminal, and not with NO_COLOR.
type ui struct {
	out, err io.Writer
	json     bool
	format   string
	quiet    bool
	verbose  bool
	colour   bool // of results
	render   diag.Renderer
}

func newUI(stdout, stderr io.Writer, g *globals, dir string) *ui {
	u := &ui{out: stdout, err: stderr, json: g.JSON || g.Format == "json", format: g.Format, quiet: g.Quiet, verbose: g.Verbose}
	coloured := func(w io.Writer) bool {
		return g.Color == "always" || g.Color == "auto" && terminal(w) && os.Getenv("NO_COLOR") == ""
	}
	u.colour, u.render.Color = coloured(stdout), coloured(stderr)
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
func (u *ui) printf(format string, args ...any) { fmt.Fprintf(u.out, format, args...) }

// note writes a summary or progress, which -q hides.
func (u *ui) note(format string, args ...any) {
	if !u.quiet && !u.json {
		fmt.Fprintf(u.out, format, args...)
	}
}

// failure prints an error of the environment.
func (u *ui) failure(err error) { fmt.Fprintf(u.err, "modec: error: %s\n", diag.Clean(err.Error())) }

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

// unified prints a patch, in colour on a terminal.
func (u *ui) unified(patch string) {
	for line := range strings.Lines(patch) {
		line = strings.TrimSuffix(line, "\n")
		colour := ""
		switch {
		case !u.colour:
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			colour = "1"
		case strings.HasPrefix(line, "-"):
			colour = "31"
		case strings.HasPrefix(line, "+"):
			colour = "32"
		case strings.HasPrefix(line, "@@"):
			colour = "36"
		}
		parts := strings.Split(line, "\t")
		for i := range parts {
			parts[i] = diag.Clean(parts[i])
		}
		if line = strings.Join(parts, "\t"); colour != "" {
			line = "\x1b[" + colour + "m" + line + "\x1b[0m"
		}
		u.printf("%s\n", line)
	}
}

// formats are the forms of the output that a command has beside text and json.
var formats = map[string][]string{"diff": {"markdown", "github"}, "lint": {"sarif", "github"}}

// checkFormat refuses a form of the output that a command does not have.
func (u *ui) checkFormat(command string) error {
	has := append([]string{"text", "json"}, formats[command]...)
	if u.json || slices.Contains(has, u.format) {
		return nil
	}
	return fmt.Errorf("got --format %s, want one of %s for %s", u.format, strings.Join(has, ", "), command)
}

// emit writes a value as JSON on standard output.
func (u *ui) emit(v any) error {
	e := json.NewEncoder(u.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// outcome is the JSON of a command that failed on its source.
type outcome struct {
	Version     int       `json:"version"`
	Command     string    `json:"command"`
	Status      string    `json:"status"` // ok or failed
	Diagnostics diag.List `json:"diagnostics"`
}

// fail ends a command with the diagnostics that stopped it: exit code 2 where
// there is no project to speak of, else 1.
func (u *ui) fail(command string, list diag.List) error {
	if u.json {
		if err := u.emit(outcome{1, command, "failed", list}); err != nil {
			return err
		}
	} else {
		u.diagnostics(list)
	}
	for _, d := range list {
		if d.Code == diag.NoProject || d.Code == diag.CannotWrite {
			return exitCode(2)
		}
	}
	return exitCode(1)
}

// count writes a number with its noun: "1 error", "2 errors".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
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

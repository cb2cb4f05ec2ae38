package main

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/pause"
)

type offCmd struct {
	textOrJSON
	For    time.Duration `default:"1h" placeholder:"TIME" help:"For how long, at most 8h: 20m, 1h30m. Default: 1h."`
	Reason string        `placeholder:"TEXT" help:"Why, for the record."`
	End    bool          `help:"Turn them on again, at once."`
}

func (offCmd) reports() []any { return []any{offReport{}} }

// offReport is the JSON of off.
type offReport struct {
	report.Envelope
	Hooks string           `json:"hooks" enum:"on,off"`
	Off   *report.HooksOff `json:"off,omitempty"`
	Past  []pause.Entry    `json:"past" jsonschema:"the record, the oldest first"`
}

// disarmed returns what turned the hooks of a project off, nil where they are on. A project may have
// several folders: those of a work tree of git, and the main one with its policy.
func disarmed(roots ...string) *report.HooksOff {
	for _, root := range roots {
		if e, off := pause.Load(root).Until(time.Now()); off {
			return &report.HooksOff{Since: e.At, Until: e.Until, By: e.By, Reason: e.Reason}
		}
	}
	return nil
}

// offText says until when the hooks are off.
func offText(e pause.Entry) string {
	text := "are off until " + e.Until.Local().Format("15:04")
	if e.By != "" {
		text += ", by " + e.By
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// tellOff says that the hooks are off, where they are.
func (e *env) tellOff() {
	if x := disarmed(e.dir); x != nil && !e.ui.JSON {
		text := offText(pause.Entry{Until: x.Until, By: x.By, Reason: x.Reason})
		fmt.Fprintf(e.ui.Err, "modec: the hooks %s; `modec off --end` turns them on\n", diag.Clean(text))
	}
}

var errNoPerson = errors.New("only a person in a terminal turns the hooks off, and nothing was changed: " +
	"an agent that needs it asks you to run `modec off`")

func (c *offCmd) Run(e *env) error {
	if c.End {
		return c.end(e)
	}
	if c.For <= 0 || c.For > pause.Longest {
		return fmt.Errorf("got --for %s, want a time of at most %s", briefly(c.For), briefly(pause.Longest))
	}
	if err := e.inAProject(); err != nil {
		return err
	}
	if !person(e.stdin) || !person(e.ui.Err) {
		return errNoPerson
	}
	if err := e.challenge(c.For); err != nil {
		return err
	}
	r, start := pause.Load(e.dir), time.Now()
	entry, err := r.Off(start, c.For, userName(), strings.TrimSpace(c.Reason))
	if err != nil {
		return err
	}
	e.recordCommand("off", strings.TrimSpace(briefly(c.For)+" "+entry.Reason), start)
	if e.ui.JSON {
		return e.ui.Emit(offReport{e.ui.Envelope(), "off",
			&report.HooksOff{Since: entry.At, Until: entry.Until, By: entry.By, Reason: entry.Reason},
			r.Entries})
	}
	e.ui.Printf("the hooks %s; `modec off --end` turns them on before\n", diag.Clean(offText(entry)))
	return nil
}

// end turns the hooks on.
func (c *offCmd) end(e *env) error {
	if err := e.inAProject(); err != nil {
		return err
	}
	r := pause.Load(e.dir)
	_, off := r.Until(time.Now())
	if off || r.Broken {
		start := time.Now()
		if err := r.On(start, userName()); err != nil {
			return err
		}
		e.recordCommand("off --end", "", start)
	}
	switch {
	case e.ui.JSON:
		return e.ui.Emit(offReport{e.ui.Envelope(), "on", nil, r.Entries})
	case off:
		e.ui.Printf("the hooks are on\n")
	default:
		e.ui.Printf("the hooks were on\n")
	}
	return nil
}

// inAProject fails where there is no project to speak of.
func (e *env) inAProject() error {
	_, err := os.Stat(filepath.Join(e.dir, config.File))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no modec.toml: go into the project, or name it by -C DIR", e.dir)
	}
	return err
}

// challengeNumber returns a number that a person types who reads a question: who only sends input to a
// terminal, or typed before, does not know it.
func challengeNumber() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(9000))
	if err != nil {
		return "", err
	}
	return fmt.Sprint(n.Int64() + 1000), nil
}

// challenge lets a person type a number before the hooks are off.
func (e *env) challenge(long time.Duration) error {
	code, err := challengeNumber()
	if err != nil {
		return err
	}
	fmt.Fprintf(e.ui.Err, "The hooks of %s will be off for %s: agents decide by their own rules.\nType %s to go on: ",
		diag.Clean(e.dir), briefly(long), code)
	answer, err := bufio.NewReader(e.stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != code {
		return errors.New("that was not the number: the hooks stay on")
	}
	return nil
}

// briefly writes a time without what is zero behind it: 1h30m.
func briefly(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if rest, ok := strings.CutSuffix(text, zero); ok {
			text = rest + zero[:1]
		}
	}
	return text
}

func userName() string {
	u, err := user.Current()
	if err != nil {
		return cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"))
	}
	return u.Username
}

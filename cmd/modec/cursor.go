package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/targets/cursor/allowlist"
	"modec.dev/modec/targets/cursor/format"
	"modec.dev/modec/targets/cursor/model"
)

type cursorCmd struct {
	Check cursorCheckCmd `cmd:"" help:"Tell whether Cursor would run an MCP tool without a question."`
	Add   cursorAddCmd   `cmd:"" help:"Add an entry to Cursor's list of MCP tools that run without a question."`
}

// cursorFile is the flag that both commands have.
type cursorFile struct {
	File string `placeholder:"FILE" help:"The permissions.json. Default: ~/.cursor/permissions.json, which Cursor reads."`
}

// path returns the file as an absolute path.
func (c cursorFile) path(e *env) (string, error) {
	switch {
	case c.File == "":
		home, err := os.UserHomeDir()
		return filepath.Join(home, ".cursor", "permissions.json"), err
	case filepath.IsAbs(c.File):
		return c.File, nil
	}
	return filepath.Join(e.cwd, c.File), nil
}

type cursorCheckCmd struct {
	Tool string `arg:"" help:"The tool as SERVER:TOOL."`
	Mode string `enum:",ask,allowlist,unrestricted" default:"" help:"The run mode: ask (every time), allowlist or unrestricted (Run Everything). Default: the file's approvalMode, else allowlist."`
	cursorFile
}

func (cursorCheckCmd) Help() string {
	return `Reads the list as Cursor's settings do: an entry is SERVER:TOOL, each a name or * alone, without regard to case. An organisation's settings and Cursor's protection of its own browser stand above the list and are not seen here.

Exits 0 when the tool would run without a question, 1 when Cursor would ask, 2 when there is no list to go by.

Examples:
  modec cursor check github:list_issues
  modec cursor check shop:refund_order --file .cursor/modec/developer/permissions.json
  modec cursor check docs:get_page --mode unrestricted --json`
}

// cursorChecked is the JSON of a check.
type cursorChecked struct {
	Tool  string         `json:"tool"`
	Runs  bool           `json:"runs"` // without a question
	Why   model.Reason   `json:"why"`
	Entry string         `json:"entry,omitempty"`
	Pos   string         `json:"pos,omitempty"`
	Mode  format.RunMode `json:"mode"`
	File  string         `json:"file"`
}

func (c *cursorCheckCmd) Run(e *env) error {
	tool, err := format.ParseEntry(c.Tool)
	if err != nil || tool.Server == "*" || tool.Tool == "*" {
		return fmt.Errorf("got %q, want SERVER:TOOL, both names", c.Tool)
	}
	file, err := c.path(e)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mode := format.RunMode(c.Mode)
	if mode == "ask" {
		mode = format.AskEveryTime
	}
	got, err := model.CheckTool(file, data, mode, tool.Server, tool.Tool)
	if err != nil {
		return err
	}
	x := cursorChecked{
		Tool: tool.String(), Runs: got.Alone, Why: got.Why, Pos: got.At.String(), Mode: got.Mode, File: file,
	}
	if got.Entry != (format.Entry{}) {
		x.Entry = got.Entry.String()
	}
	if e.ui.json {
		err = e.ui.emit(x)
	} else {
		e.ui.cursorChecked(x)
		e.ui.diagnostics(got.Ignored)
	}
	if err == nil && !got.Alone {
		return exitCode(1)
	}
	return err
}

func (u *ui) cursorChecked(x cursorChecked) {
	does := "asks"
	if x.Runs {
		does = "runs"
	}
	u.printf("%s: %s\n", does, diag.Clean(x.Tool))
	switch {
	case x.Entry != "":
		u.printf("  by %s  (%s)\n", diag.Clean(x.Entry), diag.Clean(x.Pos))
	case x.Why == model.ByMode:
		u.printf("  by the run mode %s\n", x.Mode)
	default:
		u.printf("  by %s  (%s)\n", x.Why, diag.Clean(x.File))
	}
}

type cursorAddCmd struct {
	Entry  string `arg:"" help:"The entry: SERVER:TOOL, each a name or *."`
	Create bool   `help:"Create the file where there is none. A list in the home folder replaces that of the settings and switches off Run Everything and Auto-review."`
	cursorFile
}

func (cursorAddCmd) Help() string {
	return `Everything else in the file keeps its bytes, comments too. Entries that the new one covers are removed; an entry that is covered already is not added.

A file that is missing is created with --create only: Cursor takes a permissions.json with any entry for the whole list, instead of that of its settings, and no longer runs everything or reviews by itself.

Examples:
  modec cursor add github:list_issues
  modec cursor add 'docs:*' --file permissions.json --create`
}

// cursorAdded is the JSON of an addition.
type cursorAdded struct {
	Entry   string   `json:"entry"`
	Added   bool     `json:"added"`
	By      string   `json:"coveredBy,omitempty"`
	Removed []string `json:"removed"`
	Pins    bool     `json:"pinsRunMode"` // the file has a say in the run mode from now on
	Created bool     `json:"created"`
	File    string   `json:"file"`
}

func (c *cursorAddCmd) Run(e *env) error {
	entry, err := format.ParseEntry(c.Entry)
	if err != nil {
		if strings.Contains(c.Entry, "*") {
			return fmt.Errorf("%w; list the tools one by one, or write SERVER:*", err)
		}
		return err
	}
	file, err := c.path(e)
	if err != nil {
		return err
	}
	if c.Create {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
	}
	x := cursorAdded{Entry: entry.String(), Removed: []string{}, File: file}
	err = editFile(file, func(data []byte, exists bool) ([]byte, error) {
		if !exists {
			if !c.Create {
				return nil, fmt.Errorf("got no file %s: with --create it is written, and then its list is the only one "+
					"that Cursor goes by, without Run Everything and Auto-review", file)
			}
			data = allowlist.NewFile
			x.Created = true
		}
		added, err := allowlist.Add(data, entry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		x.By, x.Added, x.Pins = added.By, added.By == "", added.Pins
		x.Removed = append(x.Removed, added.Removed...)
		return added.Data, nil
	})
	if err != nil {
		return err
	}
	if e.ui.json {
		return e.ui.emit(x)
	}
	e.ui.cursorAdded(x)
	return nil
}

func (u *ui) cursorAdded(x cursorAdded) {
	if !x.Added {
		u.printf("unchanged: %s is covered by %s  (%s)\n", diag.Clean(x.Entry), diag.Clean(x.By), diag.Clean(x.File))
		return
	}
	u.printf("added: %s  (%s)\n", diag.Clean(x.Entry), diag.Clean(x.File))
	for _, r := range x.Removed {
		u.printf("  removed %s, which it covers\n", diag.Clean(r))
	}
	if x.Pins {
		u.printf("  from now on this list replaces that of Cursor's settings, " +
			"and Run Everything and Auto-review are off\n")
	}
}

// editFile replaces a file by what edit makes of it, at once: whoever reads it
// sees the old bytes or the new. A link is followed inside the file's folder
// only.
func editFile(file string, edit func(data []byte, exists bool) ([]byte, error)) error {
	root, err := os.OpenRoot(filepath.Dir(file))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = edit(nil, false)
		return cmp.Or(err, error(fs.ErrNotExist))
	}
	if err != nil {
		return err
	}
	defer root.Close()
	name, err := behindLinks(root, filepath.Base(file))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	data, err := root.ReadFile(name)
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := edit(data, exists)
	if err != nil || exists && string(out) == string(data) {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := root.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	temp := fmt.Sprintf("%s.%d.modec-tmp", name, os.Getpid())
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(out)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// behindLinks returns the file that a name stands for, which may lie anywhere
// below the folder.
func behindLinks(root *os.Root, name string) (string, error) {
	for range 16 {
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return "", fmt.Errorf("got no regular file")
		}
		to, err := root.Readlink(name)
		if err != nil {
			return "", err
		}
		if next := filepath.Join(filepath.Dir(name), to); !filepath.IsAbs(to) && filepath.IsLocal(next) {
			name = next
			continue
		}
		return "", fmt.Errorf("got a link to %s, which leaves its folder", to)
	}
	return "", fmt.Errorf("got links without an end")
}

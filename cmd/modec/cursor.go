package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/targets/cursor/allowlist"
	"modec.dev/modec/targets/cursor/format"
	"modec.dev/modec/targets/cursor/model"
)

type cursorCmd struct {
	Check cursorCheckCmd `cmd:"" group:"subcommands" help:"Check whether Cursor runs an MCP tool without a question."`
	Add   cursorAddCmd   `cmd:"" group:"subcommands" help:"Add an entry to that list."`
}

// cursorFile is the flag of both commands.
type cursorFile struct {
	File string `placeholder:"FILE" help:"The permissions.json. Default: ~/.cursor/permissions.json."`
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
	textOrJSON
	Tool string `arg:"" help:"The tool as SERVER:TOOL, or mcp_SERVER_TOOL as Cursor names it to the model."`
	Mode string `enum:"${cursor_modes}" default:"" help:"The run mode. Default: the file's."`

	McpToolsProtection bool     `help:"Cursor's settings protect MCP tools."`
	BrowserProtection  bool     `negatable:"" default:"true" help:"Cursor protects its own browser (the default)."`
	AdminControlled    bool     `help:"An organisation controls the run mode: nobody's own list counts."`
	AdminList          []string `placeholder:"ENTRY" help:"An entry of the organisation's list; it controls then."`
	AdminDisabled      bool     `help:"The organisation forbids that MCP tools run by themselves."`
	McpAllowlists      bool     `negatable:"" default:"true" help:"The gate mcp_allowlists is on (the default)."`
	cursorFile
}

func (cursorCheckCmd) reports() []any { return []any{cursorChecked{}} }

// cursorChecked is the JSON of a check.
type cursorChecked struct {
	report.Envelope
	Tool     string         `json:"tool"`
	Runs     bool           `json:"runs" jsonschema:"without a question"`
	Why      model.Reason   `json:"why"`
	Entry    string         `json:"entry,omitempty" jsonschema:"the entry of a list that decided"`
	Proposed string         `json:"proposed,omitempty" jsonschema:"the entry that would let it run"`
	Pos      string         `json:"pos,omitempty"`
	Mode     format.RunMode `json:"mode"`
	File     string         `json:"file"`

	next string // the command that adds the proposed entry
}

// question returns what the command line asks.
func (c *cursorCheckCmd) question() (model.Asked, error) {
	return model.Question{Tool: c.Tool, Mode: c.Mode, GateOff: !c.McpAllowlists, ProtectTools: c.McpToolsProtection,
		ProtectBrowser: c.BrowserProtection, Controlled: c.AdminControlled, Disabled: c.AdminDisabled,
		List: c.AdminList}.Asked()
}

func (c *cursorCheckCmd) Run(e *env) error {
	q, err := c.question()
	if err != nil {
		return err
	}
	file, err := c.path(e)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c.noList(file)
	}
	if err != nil {
		return err
	}
	got, err := model.CheckTool(file, data, q)
	if err != nil {
		return err
	}
	x := cursorChecked{Envelope: e.ui.Envelope(), Tool: format.Entry{Server: q.Server, Tool: q.Tool}.String(),
		Runs: got.Alone, Why: got.Why, Pos: got.At.String(), Mode: got.Mode, File: file}
	if got.Entry != (format.Entry{}) {
		x.Entry = got.Entry.String()
	}
	if got.Proposed != (format.Entry{}) {
		x.Proposed = got.Proposed.String()
		x.next = "modec cursor add " + contract.ShellQuote(x.Proposed)
		if c.File != "" {
			x.next += " --file " + contract.ShellQuote(c.File)
		}
	}
	if e.ui.JSON {
		err = e.ui.Emit(x)
	} else {
		printCursorChecked(e.ui, x)
		e.ui.Diagnostics(got.Ignored)
	}
	if err == nil && !got.Alone {
		return report.ExitFindings
	}
	return err
}

// noList says what to do where there is no list.
func (c *cursorCheckCmd) noList(file string) error {
	const own = "then Cursor goes by the list of its own settings, which modec cannot read"
	if c.File != "" {
		return fmt.Errorf("%s does not exist: name the permissions.json of a mode or role "+
			"(`modec args NAME --target cursor --out DIR` writes one), or leave --file out for your own", c.File)
	}
	return fmt.Errorf("%s does not exist: %s; `modec cursor add --create %s` writes one, "+
		"and --file names another", file, own, contract.ShellQuote(c.Tool))
}

func printCursorChecked(u *report.Printer, x cursorChecked) {
	does := "asks"
	if x.Runs {
		does = "runs"
	}
	u.Printf("%s: %s\n", does, diag.Clean(x.Tool))
	switch {
	case x.Why == model.ByAdminList:
		u.Printf("  by %s of the organisation's list\n", diag.Clean(x.Entry))
	case x.Entry != "":
		u.Printf("  by %s  (%s)\n", diag.Clean(x.Entry), diag.Clean(x.Pos))
	case x.Why == model.ByMode:
		u.Printf("  by the run mode %s\n", x.Mode)
	default:
		u.Printf("  by %s  (%s)\n", x.Why, diag.Clean(x.File))
	}
	if x.next != "" {
		u.Note("next: %s\n", diag.Clean(x.next))
	}
}

type cursorAddCmd struct {
	textOrJSON
	Entry  string `arg:"" help:"The entry: SERVER:TOOL, each a name or *."`
	Create bool   `help:"Create the file where there is none."`
	cursorFile
}

func (cursorAddCmd) reports() []any { return []any{cursorAdded{}} }

// cursorAdded is the JSON of an addition.
type cursorAdded struct {
	report.Envelope
	Entry   string   `json:"entry"`
	Added   bool     `json:"added"`
	By      string   `json:"coveredBy,omitempty" jsonschema:"the entry that covers it already"`
	Removed []string `json:"removed" jsonschema:"entries that the new one covers"`
	Pins    bool     `json:"pinsRunMode" jsonschema:"from now on the file decides the run mode"`
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
	x := cursorAdded{Envelope: e.ui.Envelope(), Entry: entry.String(), Removed: []string{}, File: file}
	err = e.editFile(file, func(data []byte) ([]byte, error) {
		if data == nil {
			if !c.Create {
				return nil, fmt.Errorf("%s does not exist: --create writes it, and then its list is the only one "+
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
	if e.ui.JSON {
		return e.ui.Emit(x)
	}
	printCursorAdded(e.ui, x)
	return nil
}

func printCursorAdded(u *report.Printer, x cursorAdded) {
	if !x.Added {
		u.Printf("unchanged: %s is covered by %s  (%s)\n", diag.Clean(x.Entry), diag.Clean(x.By), diag.Clean(x.File))
		return
	}
	u.Printf("added: %s  (%s)\n", diag.Clean(x.Entry), diag.Clean(x.File))
	for _, r := range x.Removed {
		u.Printf("  removed %s, which it covers\n", diag.Clean(r))
	}
	if x.Pins {
		u.Printf("  from now on this list replaces that of Cursor's settings, " +
			"and Run Everything and Auto-review are off\n")
	}
}

// editFile replaces a file by what edit makes of it, in one step. It follows a link only
// inside the file's folder.
func (e *env) editFile(file string, edit func(have []byte) ([]byte, error)) error {
	name := filepath.Base(file)
	root, err := os.OpenRoot(filepath.Dir(file))
	if err == nil {
		defer root.Close()
		if name, err = behindLinks(root, name); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	opt := output.PutOptions{Dir: filepath.Dir(file), Progress: e.progress()}
	return output.Edit(e.ctx, filepath.ToSlash(name), edit, opt)
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
			return "", errors.New("it is not a regular file")
		}
		to, err := root.Readlink(name)
		if err != nil {
			return "", err
		}
		if next := filepath.Join(filepath.Dir(name), to); !filepath.IsAbs(to) && filepath.IsLocal(next) {
			name = next
			continue
		}
		return "", fmt.Errorf("it is a link to %s, which leaves its folder: name the file itself", to)
	}
	return "", errors.New("it is a link that leads to itself")
}

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
)

type installCmd struct {
	textOrJSON
	acceptFlag
	Subject string `arg:"" help:"A role's name or a mode's slug."`
	homeFlags
	Force bool `help:"Replace your own entries that contradict, until uninstall puts them back."`
}

// homeFlags are the flags of commands that write to a home folder.
type homeFlags struct {
	Target []string `placeholder:"NAME" help:"Only for this agent (${installers}); may be repeated."`
	Home   string   `placeholder:"DIR" help:"The home folder. Default: your own."`
	DryRun bool     `help:"Write nothing; list what would change."`
}

func (installCmd) Help() string {
	return `Some of what holds an agent it reads from your home folder alone. This command merges a subject into
~/.cursor/permissions.json (the only list of MCP tools that Cursor's editor reads), ~/.cursor/cli-config.json,
~/.cursor/hooks.json and ~/.claude/settings.json. Every other byte of these files stays.

What was there before is kept in ~/.local/state/modec; modec uninstall puts it back. An entry of your own that
contradicts the subject stops the installation, and nothing is written. What your own entries permit beyond
the source is a warning each.

Run modec build first, and install again after a change of the source. A project that you have not accepted is
shown first, as by modec run.

The installed hooks ask the policy of this project in whatever folder the agent works; to them every other folder is
outside the project. A hook that you installed may answer allow, unlike one that came with a repository.

Modes are installed for Cursor only. A role's servers, built-in tools and prompt are not installed: modec args
ROLE carries them. Cursor's command line reads its files elsewhere where CURSOR_CONFIG_DIR or XDG_CONFIG_HOME
is set.

Examples:
  modec install developer --dry-run
  modec install developer
  modec install reviewer --target cursor
  modec uninstall`
}

type uninstallCmd struct {
	textOrJSON
	homeFlags
}

func (uninstallCmd) Help() string {
	return `Removes from your home folder what modec install put there. A file that nobody changed since gets its former
bytes back. From any other file modec's own entries are removed and the rest stays, entries that somebody
edited included. It needs no project.

Examples:
  modec uninstall --dry-run
  modec uninstall
  modec uninstall --target claude`
}

func (installCmd) reports() []any   { return []any{installReport{}, outcome{}} }
func (uninstallCmd) reports() []any { return []any{installReport{}, outcome{}} }

// installReport is the JSON of an installation or an uninstallation.
type installReport struct {
	envelope
	Status      string          `json:"status" enum:"ok"`
	DryRun      bool            `json:"dryRun,omitempty" jsonschema:"nothing was written"`
	Home        string          `json:"home"`
	Files       []output.Change `json:"files" jsonschema:"paths are relative to the home folder"`
	Diagnostics diag.List       `json:"diagnostics" jsonschema:"what your own entries permit beyond the source"`
}

// options resolves the flags.
func (f *homeFlags) options(e *env) (opt output.InstallOptions, chosen []contract.Target, err error) {
	all := e.installers()
	for _, t := range all {
		if len(f.Target) == 0 || slices.Contains(f.Target, t.Name()) {
			chosen = append(chosen, t)
		}
	}
	for _, name := range f.Target {
		if !slices.Contains(contract.Names(all), name) {
			return opt, nil, fmt.Errorf("target %q has no files in a home folder: name %s", name, names(all, " or "))
		}
	}
	home := f.Home
	if home == "" {
		if home, err = os.UserHomeDir(); err != nil {
			return opt, nil, fmt.Errorf("cannot find the home folder: %w", err)
		}
	}
	opt = output.InstallOptions{Home: e.abs(home), Version: version(), DryRun: f.DryRun, Progress: e.progress()}
	return opt, chosen, nil
}

func (c *installCmd) Run(e *env) error {
	opt, chosen, err := c.options(e)
	if err != nil {
		return err
	}
	opt.Force = c.Force
	req := e.request()
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.fail(diags)
	}
	chosen = slices.DeleteFunc(chosen, func(t contract.Target) bool {
		return !slices.ContainsFunc(res.Outputs, func(o contract.Artifacts) bool { return o.Target.Name() == t.Name() })
	})
	if len(chosen) == 0 {
		return fmt.Errorf("no target of modec.toml has files in a home folder: %s do", names(e.installers(), " and "))
	}
	ref, err := res.Project.ParseSubject(c.Subject, "")
	if err != nil {
		return err
	}
	if err := e.fresh(res); err != nil {
		return err
	}
	if !c.DryRun {
		if err := c.accept(e, res, ref, chosen...); err != nil {
			return err
		}
	}
	changes, list := res.Install(e.ctx, ref, e.dir, chosen, opt)
	if list.HasErrors() {
		return e.ui.fail(list)
	}
	return c.tell(e, told{opt: opt, changes: changes, diags: list, updated: "merged",
		end: fmt.Sprintf("%s holds the sessions of %s", ref, names(chosen, " and "))})
}

func (c *uninstallCmd) Run(e *env) error {
	opt, chosen, err := c.options(e)
	if err != nil {
		return err
	}
	changes, diags := output.Uninstall(e.ctx, chosen, opt)
	if diags.HasErrors() {
		return e.ui.fail(diags)
	}
	return c.tell(e, told{opt: opt, changes: changes, diags: diags, updated: "restored",
		end:     "modec's entries are out of the files of " + names(chosen, " and "),
		nothing: "nothing to do: nothing of modec is installed for " + names(chosen, " or ")})
}

// installers are the targets whose agents read files of a home folder.
func (e *env) installers() (list []contract.Target) {
	for _, t := range e.targets {
		if _, ok := t.(contract.Installer); ok {
			list = append(list, t)
		}
	}
	return list
}

func names(list []contract.Target, between string) string {
	return strings.Join(contract.Names(list), between)
}

// told is what became of the files of a home folder.
type told struct {
	opt     output.InstallOptions
	changes []output.Change
	diags   diag.List
	updated string // the word for a file that was changed
	end     string // the last line
	nothing string // the last line where no file is concerned; "": end
}

func (f *homeFlags) tell(e *env, x told) error {
	if e.ui.json {
		return e.ui.emit(installReport{e.ui.envelope(), "ok", f.DryRun, x.opt.Home, x.changes, x.diags})
	}
	e.ui.diagnostics(x.diags)
	verbs := map[output.Action]string{output.Create: "created", output.Update: x.updated,
		output.Remove: "removed", output.Unchanged: "as it was"}
	for _, c := range x.changes {
		e.ui.note("%-9s ~/%s\n", verbs[c.Action], diag.Clean(c.Path))
	}
	switch {
	case len(x.changes) == 0 && x.nothing != "":
		x.end = x.nothing
	case f.DryRun:
		x.end = "nothing was written"
	}
	e.ui.note("%s\n", x.end)
	return nil
}

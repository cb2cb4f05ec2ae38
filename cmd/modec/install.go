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
	Subject string `arg:"" help:"A role's name or a mode's slug."`
	homeFlags
	Force bool `help:"Replace entries of your own that contradict, until the uninstallation puts them back."`
}

// homeFlags are those of the commands that write below a home folder.
type homeFlags struct {
	Target []string `placeholder:"NAME" help:"For this agent only (${installers}); may be repeated. Default: those of modec.toml."`
	Home   string   `placeholder:"DIR" help:"The home folder. Default: your own."`
	DryRun bool     `help:"Say what would change, and write nothing."`
}

func (installCmd) Help() string {
	return `Merges what holds a subject into the files of your home folder, for the sessions that no project file holds: ~/.cursor/permissions.json (the only list of MCP tools that Cursor's editor reads), ~/.cursor/cli-config.json, ~/.cursor/hooks.json and ~/.claude/settings.json. Every other byte of them stays. The hooks ask the policy of this project, by its absolute path, in whatever folder the agent works: paths outside the project are outside to them. A hook that is installed may answer allow, unlike one that came with a repository.

What was there before is kept in ~/.local/state/modec, and modec uninstall puts it back. An entry of your own that contradicts stops the installation, and nothing is written. What your own entries permit beyond the source is a warning for each.

The artifacts have to be up to date: run modec build first, and install again after a change of the source. Cursor's command line reads its configuration elsewhere where CURSOR_CONFIG_DIR or XDG_CONFIG_HOME is set. Modes are installed for Cursor only. Servers, built-in tools and prompts of a role are not: modec args ROLE carries those.

Examples:
  modec install developer --dry-run
  modec install developer
  modec install reviewer --target cursor
  modec uninstall`
}

type uninstallCmd struct {
	homeFlags
}

func (uninstallCmd) Help() string {
	return `Takes out of your home folder what modec install put there. A file that nobody changed since gets back the bytes that it had; of any other modec's entries are taken out, and the rest stays as it is, an entry that somebody edited too. It needs no project.

Examples:
  modec uninstall --dry-run
  modec uninstall
  modec uninstall --target claude`
}

// installReport is the JSON of an installation or an uninstallation.
type installReport struct {
	Version     int             `json:"version"`
	Command     string          `json:"command"`
	Status      string          `json:"status"`
	DryRun      bool            `json:"dryRun,omitempty"`
	Home        string          `json:"home"`
	Files       []output.Change `json:"files"`
	Diagnostics diag.List       `json:"diagnostics"`
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
			return opt, nil, fmt.Errorf("got target %q, want %s", name, names(all, " or "))
		}
	}
	home := f.Home
	if home == "" {
		if home, err = os.UserHomeDir(); err != nil {
			return opt, nil, fmt.Errorf("cannot find the home folder: %w", err)
		}
	}
	return output.InstallOptions{Home: e.abs(home), Version: version(), DryRun: f.DryRun}, chosen, nil
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
		return e.ui.fail("install", diags)
	}
	chosen = slices.DeleteFunc(chosen, func(t contract.Target) bool {
		return !slices.ContainsFunc(res.Outputs, func(o contract.Artifacts) bool { return o.Target.Name() == t.Name() })
	})
	if len(chosen) == 0 {
		return fmt.Errorf("got no target of modec.toml that is installed, want %s among them", names(e.installers(), " or "))
	}
	ref, err := res.Project.ParseSubject(c.Subject, "")
	if err != nil {
		return err
	}
	if err := e.fresh(res); err != nil {
		return err
	}
	changes, list := res.Install(e.ctx, ref, e.dir, chosen, opt)
	if list.HasErrors() {
		return e.ui.fail("install", list)
	}
	return c.tell(e, "install", opt, changes, list, fmt.Sprintf("%s holds the sessions of %s", ref, names(chosen, " and ")))
}

func (c *uninstallCmd) Run(e *env) error {
	opt, chosen, err := c.options(e)
	if err != nil {
		return err
	}
	changes, diags := output.Uninstall(e.ctx, chosen, opt)
	if diags.HasErrors() {
		return e.ui.fail("uninstall", diags)
	}
	return c.tell(e, "uninstall", opt, changes, diags, "modec's entries are out of the files of "+names(chosen, " and "))
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

// tell reports what became of the files.
func (f *homeFlags) tell(e *env, command string, opt output.InstallOptions, changes []output.Change, diags diag.List, end string) error {
	if e.ui.json {
		return e.ui.emit(installReport{1, command, "ok", f.DryRun, opt.Home, orEmpty(changes), orEmpty(diags)})
	}
	e.ui.diagnostics(diags)
	verbs := map[output.Action]string{output.Create: "created", output.Update: "merged", output.Remove: "removed", output.Unchanged: "as it was"}
	if command == "uninstall" {
		verbs[output.Update] = "restored"
	}
	for _, c := range changes {
		e.ui.printf("%-9s ~/%s\n", verbs[c.Action], diag.Clean(c.Path))
	}
	if f.DryRun {
		end = "nothing was written"
	}
	e.ui.note("%s\n", end)
	return nil
}

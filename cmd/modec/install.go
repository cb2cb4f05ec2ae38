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

type uninstallCmd struct {
	textOrJSON
	homeFlags
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

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/output"
)

// launchers returns the targets whose agents can be started.
func (e *env) launchers() (list []contract.Launcher) {
	for _, t := range e.targets {
		if l, ok := t.(contract.Launcher); ok {
			list = append(list, l)
		}
	}
	return list
}

func programs(list []contract.Launcher) (names []string) {
	for _, l := range list {
		names = append(names, l.Agent().Programs...)
	}
	return names
}

// launcherOf returns the target whose agent a program is.
func (e *env) launcherOf(program string) (contract.Launcher, error) {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	for _, l := range e.launchers() {
		if slices.Contains(l.Agent().Programs, name) {
			return l, nil
		}
	}
	return nil, fmt.Errorf("%s is not an agent that modec can start as a subject: these are %s",
		name, strings.Join(programs(e.launchers()), ", "))
}

// launcher returns the target of a name. For no name it is the first that modec.toml
// compiles for, else the first of all.
func (e *env) launcher(name string) (contract.Launcher, error) {
	list := e.launchers()
	if name != "" {
		var names []string
		for _, l := range list {
			if l.Name() == name {
				return l, nil
			}
			names = append(names, l.Name())
		}
		return nil, fmt.Errorf("target %q starts no agent: name %s", name, strings.Join(names, " or "))
	}
	if cfg, _ := compiler.ReadConfig(e.request()); cfg != nil {
		for _, t := range cfg.Targets {
			if l, ok := t.Target.(contract.Launcher); ok {
				return l, nil
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there is no target that starts an agent")
	}
	return list[0], nil
}

// launch is a subject with the arguments that start an agent as it.
type launch struct {
	res  *compiler.Result
	ref  ir.SubjectRef
	args []string
	// env are variables, as NAME=VALUE; one without a value is taken away.
	env []string
	// session has the files that they name.
	session *output.Session
}

// write writes the files that the arguments name.
func (l *launch) write() error { return l.session.Write(slices.Concat(l.args, l.env)) }

// launch compiles the project for a target alone and returns the arguments for a subject: of an agent that modec does
// not start, what its sessions need. Their files go into the folder out; "": into one of the user's.
func (e *env) launch(target contract.Target, subject, out string, opt contract.ArgsOptions) (
	*launch, diag.List, error) {
	req := e.request()
	req.Only = []string{target.Name()}
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return nil, diags, nil
	}
	ref, err := res.Project.ParseSubject(subject, "")
	if err != nil {
		return nil, nil, err
	}
	if !opt.FlagsOnly {
		if err := e.fresh(res, target); err != nil {
			return nil, nil, err
		}
	}
	session, err := e.session(out)
	if err != nil {
		return nil, nil, err
	}
	opt.Copies = session.Copies()
	opt.Root, opt.Elsewhere = e.dir, e.cwd != e.dir
	opt.Below = strings.HasPrefix(e.cwd, e.dir+string(filepath.Separator))
	as, ok := contract.InView(target, res.Project, ref)
	if !ok {
		return nil, nil, fmt.Errorf("%s is not emitted for %s: its targets name others", ref, target.Name())
	}
	in := res.Input(target)
	in.Root = e.dir
	l := &launch{res: res, ref: ref, session: session}
	var list diag.List
	if a, ok := target.(contract.Launcher); ok {
		l.args, list = a.Args(in, as, opt)
	} else {
		files, _ := target.Emit(in)
		for _, f := range files {
			if strings.HasPrefix(f.Path, contract.SessionPath(target.Name(), contract.SubjectName(as)+"/")) {
				l.args = append(l.args, opt.Copies.Put(f))
			}
		}
		if l.args == nil {
			return nil, nil, fmt.Errorf("%s has nothing of its own as %s: the files of the project say it all",
				target.Name(), ref)
		}
	}
	diags = append(diags, list...)
	if a, ok := target.(contract.EnvironmentLauncher); ok && !diags.HasErrors() {
		l.env, list = a.Environment(in, as, opt)
		diags = append(diags, list...)
	}
	return l, diags, nil
}

// environment returns a process's variables with those of a launch in the place of its own.
func (l *launch) environment(own []string) []string {
	named := func(v string) string { name, _, _ := strings.Cut(v, "="); return name }
	out := slices.DeleteFunc(slices.Clone(own), func(v string) bool {
		return slices.ContainsFunc(l.env, func(x string) bool { return named(x) == named(v) })
	})
	for _, v := range l.env {
		if !strings.HasSuffix(v, "=") {
			out = append(out, v)
		}
	}
	return out
}

// session returns a session of the project, whose files are not written yet.
func (e *env) session(out string) (*output.Session, error) {
	if out != "" {
		out = e.abs(out)
		there, err := contract.ResolveLinks(out)
		dir, failed := contract.ResolveLinks(e.dir)
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		if rel, err := filepath.Rel(dir, there); err == nil && filepath.IsLocal(rel) {
			return nil, fmt.Errorf("--out %s lies in the project, where the session may edit what it is held by: "+
				"name a folder outside of it", out)
		}
		return output.NewSession("", out, e.dir), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("cannot find the home folder, where a session keeps its files: %w", err)
	}
	return output.NewSession(home, "", e.dir), nil
}

// filling returns what the user's own files permit to a role where the source leaves it to
// the agent, and what has no effect there, since the source denies it.
func (e *env) filling(res *compiler.Result, t contract.Target, role string) (fills []contract.Allow, void []voidAllow) {
	personal, ok := t.(contract.Personal)
	if !ok {
		return nil, nil
	}
	as, emitted := contract.InView(t, res.Project, ir.SubjectRef{Role: role})
	if !emitted {
		return nil, nil
	}
	view := contract.View(t, res.Policy)
	s, err := view.Subject(as)
	if err != nil {
		return nil, nil
	}
	allows := personal.Allows(res.Over(folderFS(e.dir)), folderFS(homeDir()), view.Project(), as.Role)
	allows = slices.DeleteFunc(allows, func(a contract.Allow) bool {
		by, denied := a.Denied(t, s, view.Project().Native(as))
		if denied {
			void = append(void, voidAllow{a, by})
		}
		return denied
	})
	return contract.Filling(allows, s.Left()), void
}

// voidAllow is an allow of the user's own that a rule of the source denies.
type voidAllow struct {
	contract.Allow
	by diag.Pos // of the rule
}

// why says which roles deny it.
func (v voidAllow) why(roles ...string) string {
	text := "role " + strings.Join(roles, ", ") + " denies it"
	if !v.by.IsZero() {
		text += " (" + v.by.String() + ")"
	}
	return text
}

// folderFS returns the files of a folder, nil where its name is not known.
func folderFS(dir string) fs.FS {
	if dir == "" {
		return nil
	}
	return contract.Plain(os.DirFS(dir))
}

// homeDir returns the user's home folder, "" where it is not known.
func homeDir() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}

// fresh reports an error where the artifacts of a target on disk are not those of the source.
func (e *env) fresh(res *compiler.Result, target contract.Target) error {
	emitted := func(t config.Target) bool { return t.Target == target }
	if !slices.ContainsFunc(res.Config.Targets, emitted) {
		return fmt.Errorf("%s is no target of modec.toml: add [targets.%[1]s], and run `modec build`", target.Name())
	}
	changes, list := res.Write(e.ctx, output.Options{Dir: e.dir, Version: version(), DryRun: true, Force: true})
	if list.HasErrors() {
		return e.ui.Fail(list)
	}
	for _, c := range changes {
		if c.Action != output.Unchanged && c.Action != output.Remove {
			return fmt.Errorf("the artifacts are not those of the source (%s differs); run `modec build` first", c.Path)
		}
	}
	return nil
}

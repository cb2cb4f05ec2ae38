package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/accepted"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/explain"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
)

// acceptFlag is the flag of commands that give an agent what a project says.
type acceptFlag struct {
	Accept bool `help:"Accept what the project allows, starts and runs, without being asked: for scripts."`
}

// accept has the user accept what a project that somebody else may have written allows, starts and
// runs, once, and again what is new in it. Nobody is asked where a repository is the user's record.
func (c *acceptFlag) accept(e *env, res *compiler.Result, ref ir.SubjectRef, target contract.Target) error {
	points, err := e.points(res, ref, target)
	if err != nil {
		return err
	}
	return c.acceptPoints(e, points, fmt.Sprintf("With %s:", ref), fmt.Sprintf("New with %s:", ref))
}

// acceptPoints does so for points of a project, which follow either text: that all of them are new, or some.
func (c *acceptFlag) acceptPoints(e *env, points []accepted.Point, all, some string) error {
	record := accepted.Load(mainTree(e.dir))
	fresh := record.New(points)
	if len(fresh) == 0 {
		return nil
	}
	if !c.Accept {
		title := fmt.Sprintf("You have not accepted %s yet. %s", e.dir, all)
		if len(fresh) < len(points) {
			title = fmt.Sprintf("%s is not what you accepted. %s", e.dir, some)
		}
		if err := e.confirmPoints(title, fresh); err != nil {
			return err
		}
	}
	if err := record.Accept(fresh); err != nil && !e.ui.JSON {
		fmt.Fprintf(e.ui.Err, "modec: %s\n", diag.Clean(err.Error()))
	}
	return nil
}

// mainTree returns the folder of the project in the main work tree of its repository: what is accepted
// in one work tree is in all.
func mainTree(dir string) string {
	if w, ok := contract.FindWorktree(dir); ok {
		if main, ok := w.InMain(dir); ok {
			return main
		}
	}
	return dir
}

// confirmPoints prints points and asks a person.
func (e *env) confirmPoints(title string, points []accepted.Point) error {
	if !e.ui.JSON {
		fmt.Fprintf(e.ui.Err, "%s\n", diag.Clean(title))
		kind, of := accepted.Kind(""), ""
		for _, p := range points {
			if p.Kind != kind || p.Of != of {
				fmt.Fprintf(e.ui.Err, "  %s %s\n", diag.Clean(p.Of), e.ui.Paint(report.Bold, string(p.Kind)))
				kind, of = p.Kind, p.Of
			}
			text := report.Wrap(diag.Clean(p.Text), report.ShowWidth-6)
			fmt.Fprintf(e.ui.Err, "    %s\n", strings.ReplaceAll(text, "\n", "\n      "))
		}
	}
	if !person(e.stdin) || !person(e.ui.Err) {
		return errors.New("nobody can be asked here whether that is accepted, and nothing was done: run this in a " +
			"terminal, or read the list and add --accept")
	}
	return e.confirm("Accept it?", "--accept")
}

// points returns what a session as a subject is allowed, starts and runs by a project, for a target.
func (e *env) points(res *compiler.Result, ref ir.SubjectRef, target contract.Target) (
	list []accepted.Point, err error) {
	targets := []contract.Target{target}
	return pointsOf(res, folderFS(e.dir), sessionOf(res.Project, ref, emittedBy(targets)), targets)
}

// emittedBy returns whether something is emitted for one of some targets.
func emittedBy(targets []contract.Target) func(ir.Place) bool {
	return func(pl ir.Place) bool {
		return slices.ContainsFunc(targets, func(t contract.Target) bool { return pl.For(t.Name()) })
	}
}

// pointsOf returns what some subjects are allowed, start and run by a project with the files of agents.
func pointsOf(res *compiler.Result, files fs.FS, subjects []ir.SubjectRef, targets []contract.Target) (
	list []accepted.Point, err error) {
	p := res.Project
	emitted := emittedBy(targets)
	for _, ref := range subjects {
		if ref == (ir.SubjectRef{}) {
			continue // of a project with servers alone
		}
		for _, t := range targets { // for one of which it may have rules of its own
			texts, err := allowedTo(res.Policy.On(t.Name()), ref, subjects)
			if err != nil {
				return nil, err
			}
			for _, text := range texts {
				point := accepted.Point{Kind: accepted.Allows, Of: ref.String(), Text: text}
				if !slices.Contains(list, point) {
					list = append(list, point)
				}
			}
		}
	}
	for i := range p.Servers {
		if sv := &p.Servers[i]; emitted(sv.Place) && sv.Shape() != "" { // nothing starts one by its name alone
			list = append(list, startOf(sv))
		}
	}
	for _, t := range targets {
		if r, ok := t.(contract.Runner); ok {
			for _, x := range r.Runs(files, artifactsOf(res, t), p, subjects) {
				list = append(list, accepted.Point{Kind: accepted.Runs, Of: x.Of, Text: secret.Text(x.Text)})
			}
		}
		if l, ok := t.(contract.Loading); ok {
			for _, x := range contract.Loaded(files, l.Loads(files, writtenBy(res, t))) {
				list = append(list, accepted.Point{Kind: accepted.Runs, Of: x.Of, Text: secret.Text(x.Text)})
			}
		}
	}
	return list, nil
}

// artifactsOf returns what a target emitted.
func artifactsOf(res *compiler.Result, t contract.Target) []contract.File {
	for _, o := range res.Outputs {
		if o.Target.Name() == t.Name() {
			return o.Files
		}
	}
	return nil
}

// writtenBy returns what a target emitted as a file system.
func writtenBy(res *compiler.Result, t contract.Target) fs.FS {
	written := memfs.FS{}
	for _, f := range artifactsOf(res, t) {
		written[f.Path] = f.Data
	}
	return written
}

// sessionOf returns the subjects that a session can be: a role with the modes that it may enter, a
// mode with the baseline.
func sessionOf(p *ir.Project, ref ir.SubjectRef, emitted func(ir.Place) bool) []ir.SubjectRef {
	list := []ir.SubjectRef{ref}
	r := p.Role(ref.Role)
	if r == nil {
		if p.Baseline != "" {
			list = append(list, ir.SubjectRef{Role: p.Baseline})
		}
		return list
	}
	for i := range p.Modes {
		m := &p.Modes[i]
		if emitted(m.Place) && r.Enters(m.Slug) {
			list = append(list, ir.SubjectRef{Mode: m.Slug})
		}
	}
	return list
}

// allowedTo returns what a subject of a session may do without a question, a line for each group with
// the whole of what decides about it: what a list no longer denies is new, too. A mode opens only what
// the session's role leaves to the agent.
func allowedTo(e *policy.Engine, ref ir.SubjectRef, session []ir.SubjectRef) (lines []string, err error) {
	p := e.Project()
	s, err := e.Subject(ref)
	if err != nil {
		return nil, err
	}
	part, servers := explain.SourceOf(p, s, ref), explain.Servers(p, s)
	may := func(ir.Group) bool { return true }
	if role := roleOf(session); ref.Role == "" && role != "" {
		if s, err = e.Subject(ir.SubjectRef{Role: role}); err != nil {
			return nil, err
		}
		left := s.Left()
		may = func(g ir.Group) bool { return slices.Contains(left, g) }
	}
	if part.PermissionMode != "" && part.PermissionMode != "default" && part.PermissionMode != "plan" {
		lines = append(lines, "permission mode "+part.PermissionMode)
	}
	for i := range part.Groups {
		if g := &part.Groups[i]; g.Group != ir.MCP && may(g.Group) && g.Allows() {
			lines = append(lines, groupLine(g))
		}
	}
	if o := part.Outside; o.Read == ir.Allow || o.Edit == ir.Allow {
		lines = append(lines, fmt.Sprintf("outside the project: read %s, edit %s", o.Read, o.Edit))
	}
	for i := range servers {
		for _, tools := range report.ByDecision(&servers[i]) {
			if tools.Decision == ir.Allow && may(ir.MCP) {
				lines = append(lines, "mcp "+servers[i].Server+": allow "+tools.Text())
			}
		}
	}
	for _, x := range p.Native(ref) {
		if x.Decision == ir.Allow {
			lines = append(lines, fmt.Sprintf("%s: allow %s", x.Target, x.Text))
		}
	}
	return lines, nil
}

// roleOf returns the role of a session, "" for none.
func roleOf(session []ir.SubjectRef) string {
	for _, ref := range session {
		if ref.Role != "" {
			return ref.Role
		}
	}
	return ""
}

// groupLine writes a group with its lists on one line.
func groupLine(g *explain.Group) string {
	parts := []string{fmt.Sprintf("%s %s", g.Group, g.Default)}
	for _, l := range report.ListsOf(g, report.InFull) {
		parts = append(parts, strings.TrimSpace(l.Title+" "+l.Text()))
	}
	return strings.Join(parts, "; ")
}

// startOf returns the point that a server is started or reached.
func startOf(sv *ir.Server) accepted.Point {
	return accepted.Point{Kind: accepted.Starts, Of: "server " + sv.Name, Text: startText(sv)}
}

// startText writes how a server is started or reached, its secrets masked.
func startText(sv *ir.Server) string {
	entry := sv.Entry().Masked()
	text := strings.TrimSpace(strings.Join(append([]string{entry.Command + entry.URL}, entry.Args...), " "))
	if entry.Cwd != "" {
		text += " in " + entry.Cwd
	}
	for _, m := range []map[string]string{entry.Env, entry.Headers} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			text += fmt.Sprintf(" %s=%s", name, m[name])
		}
	}
	return text
}

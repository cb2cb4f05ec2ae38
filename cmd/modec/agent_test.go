package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
)

// robot is an agent that nobody has: it shows that a target needs its package and a
// place in the list, and nothing in the compiler or the commands. Its one file names its
// hook, and lists, for each mode, the groups that the mode may use without a question.
type robot struct{}

const (
	robotFile = ".robot"
	robotHook = "# modec hook robot\n"
)

func (robot) Name() string                             { return "robot" }
func (robot) Summary() string                          { return "An agent of the tests" }
func (robot) Options() []contract.Option               { return nil }
func (robot) Codes() []diag.Doc                        { return nil }
func (robot) Owns() []string                           { return []string{robotFile} }
func (robot) Governs(string, ir.Group) contract.Halves { return contract.Both }
func (robot) Agent() contract.Agent {
	return contract.Agent{Name: "Robot", Programs: []string{"robot"}}
}
func (robot) Replaces(line contract.CommandLine) (contract.Replacement, bool) {
	const anything = "--anything-goes"
	return contract.Replacement{What: anything, Does: "it asks nothing", Instead: "leave it out"},
		slices.Contains(line.Own, anything)
}
func (robot) Formats() []string { return []string{"robot"} }
func (robot) Tool(name string) (contract.Tool, bool) {
	return contract.Tool{Group: ir.Read}, name == "look"
}
func (robot) ServerList() contract.ServerList {
	return contract.ServerList{File: ".robot.json", Field: "servers"}
}
func (robot) Hook(req contract.HookRequest) contract.HookAnswer {
	return contract.Refuse(req.Subject.String())
}

func (robot) Emit(in contract.Input) ([]contract.File, diag.List) {
	var b strings.Builder
	b.WriteString(robotHook)
	for _, m := range in.Project.Modes {
		s, err := in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
		if err != nil {
			panic(err)
		}
		b.WriteString(m.Slug)
		for _, g := range ir.Groups {
			if s.Default(g).Decision == ir.Allow && len(s.Rules(g)) == 0 {
				b.WriteString(" " + string(g))
			}
		}
		b.WriteString("\n")
	}
	return []contract.File{{Path: robotFile, Data: []byte(b.String())}}, nil
}

func (robot) Args(_ contract.Input, ref ir.SubjectRef, _ contract.ArgsOptions) ([]string, diag.List) {
	return []string{"--as", ref.String()}, nil
}

func (robot) Import(src contract.Source) (contract.Imported, diag.List) {
	data, err := fs.ReadFile(src.Root, robotFile)
	if err != nil {
		return contract.Imported{}, nil
	}
	out := contract.Imported{Files: []string{robotFile}, Project: &ir.Project{Version: ir.Version}}
	for line, text := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		at := diag.Pos{File: robotFile, Line: line + 1, Col: 1}
		words := strings.Fields(text)
		m := ir.Mode{Slug: words[0], Name: words[0], RoleDefinition: "You are a robot.", Pos: at}
		for _, w := range words[1:] {
			if w == "read" {
				m.Can.Read = &ir.Table{Default: &ir.Default{Decision: ir.Allow, Pos: at}}
			}
		}
		out.Project.Modes = append(out.Project.Modes, m)
		out.NoteRule(contract.Understood, at, "mode "+m.Slug, text, "")
		out.Originals = append(out.Originals, contract.Original{File: robotFile, Files: memfs.FS{robotFile: data},
			Subjects: []ir.SubjectRef{{Mode: m.Slug}}})
	}
	return out, nil
}

func (robot) Open(fsys fs.FS, _ contract.Options) ([]contract.Decider, diag.List) {
	data, err := fs.ReadFile(fsys, robotFile)
	if err != nil {
		return nil, nil
	}
	d := robotDecider{}
	for line := range strings.Lines(strings.TrimPrefix(string(data), robotHook)) {
		words := strings.Fields(line)
		d[words[0]] = words[1:]
	}
	return []contract.Decider{d}, nil
}

// Alone: a robot that nobody wrote anything for does nothing.
func (robot) Alone(p *ir.Project) []contract.Decider {
	d := robotDecider{}
	for _, m := range p.Modes {
		d[m.Slug] = nil
	}
	return []contract.Decider{d}
}

// robotDecider is what each mode may do unasked.
type robotDecider map[string][]string

func (robotDecider) Surface() string   { return "" }
func (robotDecider) Assumes() []string { return nil }

func (d robotDecider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	groups, ok := d[ref.Mode]
	if !ok || ref.Role != "" {
		return contract.Verdict{}
	}
	out := contract.Answer{Governs: contract.Both, At: diag.Pos{File: robotFile}}
	inside := !strings.ContainsAny(a.Arg, "~:\\\x00") && filepath.IsLocal(a.Arg)
	for _, g := range groups {
		if g == string(a.Group) && (a.Group != ir.Read || inside) {
			out.Decision = ir.Allow
		}
	}
	return contract.Verdict{Answer: out}
}

// TestANewTarget types what a user would, with one more target in the list.
func TestANewTarget(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	type it struct {
		args []string
		exit int
		want string // in what is printed
	}
	try := func(steps ...it) {
		t.Helper()
		for _, x := range steps {
			var out bytes.Buffer
			args := append([]string{"-C", dir}, x.args...)
			code := run(t.Context(), append(targets.All(), robot{}), args, strings.NewReader("{}"), &out, &out)
			if code != x.exit || !strings.Contains(out.String(), x.want) {
				t.Errorf("modec %s: got exit %d, want %d with %q in\n%s",
					strings.Join(x.args, " "), code, x.exit, x.want, out.String())
			}
		}
	}
	put("modec.toml", "[targets.robot]\n")
	put("modec/a.yaml", "modes: {plan: {name: Plan, roleDefinition: You plan., "+
		"can: {read: allow, edit: {allow: [\"docs/**\"]}}}}\n")
	try(
		it{[]string{"build"}, 0, "robot: 1 file"},
		it{[]string{"build", "--check"}, 0, ""},
		it{[]string{"verify"}, 0, "robot: "},
		it{[]string{"verify"}, 0, "nothing is wider"},
		it{[]string{"targets", "robot"}, 0, "An agent of the tests"},
		it{[]string{"explain", "plan", "read", "a.go"}, 0, "robot: allow"},
		it{[]string{"args", "plan", "--accept"}, 0, "--as 'mode plan'"},
		it{[]string{"args", "plan", "--target", "robot"}, 0, "--as 'mode plan'"},
		it{[]string{"run", "plan", "--", "robot", "--anything-goes"}, 2, "--anything-goes would replace"},
		it{[]string{"run", "plan", "--", "echo", "hi"}, 2, "echo is not an agent"},
		it{[]string{"hook", "robot", "--subject", "plan"}, 2, "mode plan"},
		it{[]string{"serve", "--print-config", "robot"}, 0, `"servers"`},
		it{[]string{"hook", "--help"}, 0, "robot"},
		it{[]string{"clean"}, 0, robotFile},
	)
	dir = t.TempDir()
	put(robotFile, "look read\nrest\n")
	try(
		it{[]string{"migrate"}, 0, "look, rest"},
		it{[]string{"show"}, 0, "look"},
	)
	data, err := os.ReadFile(filepath.Join(dir, "modec.toml"))
	if err != nil || !strings.Contains(string(data), "[targets.robot]") {
		t.Errorf("modec.toml: %v\n%s", err, data)
	}
}

package resolve_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/resolve"
	"modec.dev/modec/targets"
)

// guarding returns what the guards alone decide about editing a path.
func guarding(t *testing.T) func(path string) ir.Decision {
	edit := &ir.Table{Default: &ir.Default{Decision: ir.Allow}}
	s, err := policy.New(&ir.Project{Guards: resolve.Guards(targets.All()),
		Modes: []ir.Mode{{Slug: "m", Can: ir.Can{Edit: edit}}}}).Subject(ir.SubjectRef{Mode: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return func(path string) ir.Decision {
		return s.DecideAt(&policy.Place{Folds: true}, policy.Action{Group: ir.Edit, Arg: path}).Decision
	}
}

// What holds permissions or runs code is guarded at any depth, in any case, and by every name
// that some file system takes for it.
func TestGuardsAtAnyDepth(t *testing.T) {
	guarded := guarding(t)
	for _, folder := range []string{"", "sub/", "a/b/"} {
		for path, want := range map[string]ir.Decision{
			".git": ir.Deny, ".git/config": ir.Deny, ".GIT/hooks/pre-commit": ir.Deny, ".git/modules/lib/config": ir.Deny,
			".git./config": ir.Deny, ".git /config": ir.Deny, ".g\u200cit/config": ir.Deny, "GIT~1/config": ir.Deny,
			".git::$INDEX_ALLOCATION/config": ir.Deny, `.git\config`: ir.Deny,
			"HEAD": ir.Deny, "head": ir.Deny, "HEAD.": ir.Deny, "HEAD::$DATA": ir.Deny,
			"modec.toml": ir.Deny, "Modec.Toml": ir.Deny, "modec.lock": ir.Deny, "modec.pins.json": ir.Deny, ".modec/policy.json": ir.Deny,
			".claude/settings.json": ir.Deny, ".Claude/settings.json": ir.Deny, ".claude./settings.json": ir.Deny, ".claude/agents/x.md": ir.Deny,
			".claude/skills/x/SKILL.md": ir.Ask, ".CLAUDE/commands/x.md": ir.Ask, ".mcp.json": ir.Deny,
			".cursor/cli.json": ir.Deny, ".cursor/hooks.json": ir.Deny, ".cursor/mcp.json": ir.Deny, ".cursor/rules/x.mdc": ir.Ask,
			".roomodes": ir.Deny, ".roo/mcp.json": ir.Deny, ".roo/rules/x.md": ir.Ask, ".zoomodes": ir.Deny, ".zoo/x": ir.Ask,
			".vscode/tasks.json": ir.Ask, ".VSCode/settings.json": ir.Deny, "VSCODE~1/tasks.json": ir.Deny,
			".envrc": ir.Ask, ".gitmodules": ir.Ask, ".devcontainer/devcontainer.json": ir.Ask,
			".github/workflows/ci.yml": ir.Allow, ".gitignore": ir.Allow, "git/config": ir.Allow, "src/main.go": ir.Allow, "HEADER": ir.Allow,
		} {
			if got := guarded(folder + path); got != want {
				t.Errorf("%s: got %s, want %s", folder+path, got, want)
			}
		}
	}
}

// The files of the audit are guarded, older ones too; what lies beside them is not.
func TestAuditIsGuarded(t *testing.T) {
	edit := &ir.Table{Default: &ir.Default{Decision: ir.Allow}}
	for file, denied := range map[string][]string{
		"log/a.jsonl":      {"log/a.jsonl", "LOG/A.jsonl", "log/a.1.jsonl", "log/a.12.jsonl"},
		".modec/a.jsonl":   {".modec/a.jsonl", ".modec/a.1.jsonl"},
		"a.jsonl":          {"a.jsonl", "a.3.jsonl"},
		"~/a.jsonl":        nil,
		"/var/log/a.jsonl": nil,
	} {
		audit := &ir.Audit{File: file}
		s, err := policy.New(&ir.Project{Guards: resolve.Guards(nil, audit.Globs()...),
			Modes: []ir.Mode{{Slug: "m", Can: ir.Can{Edit: edit}}}}).Subject(ir.SubjectRef{Mode: "m"})
		if err != nil {
			t.Fatal(err)
		}
		decide := func(path string) ir.Decision {
			return s.DecideAt(&policy.Place{Folds: true}, policy.Action{Group: ir.Edit, Arg: path}).Decision
		}
		for _, path := range denied {
			if got := decide(path); got != ir.Deny {
				t.Errorf("%s: editing %s is %s", file, path, got)
			}
		}
		for _, path := range []string{"log/b.jsonl", "b.jsonl", "log/a.json"} {
			if got := decide(path); got != ir.Allow {
				t.Errorf("%s: editing %s is %s", file, path, got)
			}
		}
	}
}

// No files that the guards leave open let git run a program of their author on `git status`.
// With the guarded ones too, each of these does.
func TestGuardsAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	guarded, outside := guarding(t), t.TempDir()
	mark, script := filepath.Join(outside, "ran"), filepath.Join(outside, "evil")
	write := func(name, text string, mode os.FileMode) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(script, "#!/bin/sh\ntouch '"+mark+"'\n", 0o755)
	config := func(worktree string) string {
		return "[core]\nrepositoryformatversion = 0\nbare = false\nfsmonitor = " + script + "\n" + worktree
	}
	run := func(dir string, args ...string) {
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		_ = cmd.Run() // a repository that is broken is a refusal too
	}
	const head = "ref: refs/heads/main\n"
	bare := func(at string) map[string]string {
		return map[string]string{at + "HEAD": head, at + "config": config("worktree = .\n"), at + "objects/x": "", at + "refs/x": ""}
	}
	for name, attack := range map[string]struct {
		files map[string]string
		in    string
	}{
		"the project's own":           {map[string]string{".git/config": config("")}, "."},
		"a nested repository":         {bare("pkg/.git/"), "pkg"},
		"one that is there":           {map[string]string{"nested/.git/config": config("")}, "nested"},
		"a bare repository":           {bare("pkg/"), "pkg"},
		"one in a submodule":          {bare("sub/docs/"), "sub/docs"},
		"a file .git":                 {join(bare("store/"), map[string]string{"pkg/.git": "gitdir: ../store\n"}), "pkg"},
		"a submodule's file .git":     {join(bare("store/"), map[string]string{"sub/.git": "gitdir: ../store\n"}), "sub"},
		"a submodule's configuration": {map[string]string{".git/modules/sub/config": config("")}, "sub"},
		"a folder with a common one":  {join(bare("store/"), map[string]string{"pkg/.git/commondir": "../../store\n", "pkg/.git/HEAD": head}), "pkg"},
		"a configuration by a work tree": {map[string]string{".git/config": "[core]\nrepositoryformatversion = 1\n[extensions]\nworktreeConfig = true\n",
			".git/config.worktree": config("")}, "."},
	} {
		for _, held := range []bool{false, true} {
			root := t.TempDir()
			run(root, "init", "-q", "-b", "main")
			run(root, "init", "-q", "nested")
			write(filepath.Join(root, ".git/modules/x"), "", 0o644)
			run(root, "init", "-q", "--separate-git-dir", filepath.Join(root, ".git/modules/sub"), "sub")
			for file, text := range attack.files {
				if !held || guarded(file) == ir.Allow {
					write(filepath.Join(root, file), text, 0o644)
				}
			}
			if err := os.MkdirAll(filepath.Join(root, attack.in), 0o755); err != nil {
				t.Fatal(err)
			}
			run(filepath.Join(root, attack.in), "status")
			_, err := os.Stat(mark)
			if ran := err == nil; ran == held {
				t.Errorf("%s, guarded %v: ran %v", name, held, ran)
			}
			os.Remove(mark)
		}
	}
}

func join(a, b map[string]string) map[string]string {
	for name, text := range b {
		a[name] = text
	}
	return a
}

// An opened path has one spelling, in which agents get it.
func TestOpenedPathsAreClean(t *testing.T) {
	p := model(t, map[string]string{"a.cue": `package modec
modes: a: {name: "A", roleDefinition: "r", can: edit: {ask: ["**/*.md"], guarded: ["./.roo//x.md", "a/../CLAUDE.md", "HEAD"]}}
`})
	var got []string
	for _, o := range p.Modes[0].Can.Edit.Open {
		got = append(got, o.Path)
	}
	if want := []string{".roo/x.md", "CLAUDE.md", "HEAD"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

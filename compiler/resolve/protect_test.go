package resolve_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// protected returns what becomes of editing a path in a mode that may edit everything, below protect.
func protected(t *testing.T) func(path string) ir.Decision {
	p := model(t, map[string]string{"a.cue": `package modec
everyone: extends: ["protect"]
modes: m: {name: "M", roleDefinition: "r", can: edit: "allow"}
`})
	s, err := policy.New(p).Subject(ir.SubjectRef{Mode: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return func(path string) ir.Decision {
		return s.DecideAt(&policy.Place{Folds: true}, policy.Action{Group: ir.Edit, Arg: path}).Decision
	}
}

// What decides what agents may do is asked about in any case, and by every name that some file system takes for it:
// what agents read in any folder, at any depth.
func TestProtect(t *testing.T) {
	edit := protected(t)
	for path, want := range map[string]ir.Decision{
		".git/config": ir.Ask, ".GIT/hooks/pre-commit": ir.Ask, ".git/modules/lib/config": ir.Ask,
		".git./config": ir.Ask, ".git /config": ir.Ask, ".g\u200cit/config": ir.Ask, "GIT~1/config": ir.Ask,
		".git::$INDEX_ALLOCATION/config": ir.Ask, `.git\config`: ir.Ask, "HEAD": ir.Ask, "HEAD::$DATA": ir.Ask,
		"modec.toml": ir.Ask, "Modec.Toml": ir.Ask, "modec.lock": ir.Ask, "modec.pins.json": ir.Ask,
		".claude/settings.json": ir.Ask, ".Claude/settings.json": ir.Ask, ".claude/skills/x/SKILL.md": ir.Ask, ".mcp.json": ir.Ask,
		".cursor/hooks.json": ir.Ask, ".roomodes": ir.Ask, ".zoomodes": ir.Ask, ".vscode/tasks.json": ir.Ask,
		"opencode.json": ir.Ask, "opencode.jsonc": ir.Ask, "kilo.jsonc": ir.Ask,
		"git/config": ir.Allow, "src/main.go": ir.Allow, "HEADER": ir.Allow, ".gitignore": ir.Allow, ".env": ir.Allow,
	} {
		for _, folder := range []string{"", "sub/", "a/b/"} {
			if got := edit(folder + path); got != want {
				t.Errorf("%s: got %s, want %s", folder+path, got, want)
			}
		}
	}
	for path, want := range map[string]ir.Decision{"modec/modes/a.cue": ir.Ask, "docs/modec/a.md": ir.Allow} {
		if got := edit(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// No files that may be written unasked under protect let git run a program of their author on `git status`.
// With those that it asks about, each of these does.
func TestProtectAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	edit, outside := protected(t), t.TempDir()
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
				if !held || edit(file) == ir.Allow {
					write(filepath.Join(root, file), text, 0o644)
				}
			}
			if err := os.MkdirAll(filepath.Join(root, attack.in), 0o755); err != nil {
				t.Fatal(err)
			}
			run(filepath.Join(root, attack.in), "status")
			_, err := os.Stat(mark)
			if ran := err == nil; ran == held {
				t.Errorf("%s, protected %v: ran %v", name, held, ran)
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

package migrate_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/targets"
)

const (
	oneMode = "customModes:\n  - slug: a\n    name: A\n    roleDefinition: You are a.\n    groups: [read]\n"
	prompt  = "Do it.\n"
	permits = "---\nallowed-tools: Bash(git push:*)\n---\nPush.\n"
)

// TestSeen holds what is said of each file of an agent that is not imported.
func TestSeen(t *testing.T) {
	for _, c := range []struct {
		file, text string
		path       string // as it is named; "": as the file
		reason     contract.Reason
		why        string // a part of it
	}{
		{"CLAUDE.md", prompt, "", contract.Instructions, "no permissions"},
		{"CLAUDE.local.md", prompt, "", contract.Private, "personal"},
		{".claude/CLAUDE.md", prompt, "", contract.Instructions, ""},
		{".claude/rules/go/style.md", prompt, ".claude/rules/", contract.Instructions, ""},
		{".claude/output-styles/brief.md", prompt, ".claude/output-styles/", contract.Instructions, ""},
		{".claude/commands/a.md", prompt, ".claude/commands/", contract.Prompts, "prompts, no permissions"},
		{".claude/commands/git/push.md", permits, ".claude/commands/", contract.Permission, "stays in force"},
		{".claude/commands/odd.md", "---\nallowed-tools: [\n---\n", ".claude/commands/", contract.Permission, ""},
		{".claude/commands/text.md", "---\n- a\n---\n", ".claude/commands/", contract.Prompts, ""},
		{".claude/skills/pdf/SKILL.md", permits, ".claude/skills/", contract.Permission, "allowed-tools"},
		{".claude/skills/pdf/SKILL.md", "---\nhooks: {Stop: []}\n---\n", ".claude/skills/", contract.Programs, "hooks"},
		{".claude/skills/pdf/table.txt", prompt, ".claude/skills/", contract.Prompts, "skills"},
		{".claude/hooks/guard.sh", "exit 2", ".claude/hooks/", contract.Programs, ""},
		{".claude/agents/notes.txt", prompt, ".claude/agents/", contract.NotRead, "Markdown"},
		{".claude/scheduled.json", "{}", ".claude/", contract.Unknown, "Claude Code"},
		{".cursor/rules/a.mdc", prompt, ".cursor/rules/", contract.Instructions, ""},
		{".cursorrules", prompt, "", contract.Instructions, ""},
		{".cursor/agents/a.md", prompt, ".cursor/agents/", contract.Settings, "all of the session's tools"},
		{".cursor/commands/a.md", prompt, ".cursor/commands/", contract.Prompts, ""},
		{".cursor/skills/a/SKILL.md", permits, ".cursor/skills/", contract.Prompts, ""},
		{".cursor/hooks.json", `{"hooks": {"stop": [{"command": "mine"}]}}`, "", contract.Programs, "programs decide"},
		{".cursor/modes.json", "{}", "", contract.NotRead, ""},
		{".cursor/sandbox.json", "{}", "", contract.Permission, ""},
		{".cursorignore", ".env", "", contract.Permission, "can.read"},
		{".cursor/environment.json", "{}", ".cursor/", contract.Unknown, "Cursor"},
		{".roo/rules/a.md", prompt, ".roo/rules/", contract.Instructions, "every mode"},
		{".roo/rules-code/a.md", prompt, ".roo/rules-code/", contract.Instructions, "not imported"},
		{".roorules-ask", prompt, "", contract.Instructions, "not imported"},
		{".roorules", prompt, "", contract.Instructions, ""},
		{".clinerules", prompt, "", contract.Instructions, ""},
		{".clinerules/a.md", prompt, ".clinerules/", contract.Instructions, ""},
		{".roo/commands/a.md", prompt, ".roo/commands/", contract.Prompts, ""},
		{".roo/tools/a.ts", prompt, ".roo/tools/", contract.Programs, ""},
		{".roo/system-prompt-code", prompt, ".roo/", contract.Unknown, ""},
		{"custom_modes.yml", oneMode, "", "", ""},
		{".vscode/settings.json", `{"roo-cline.allowedCommands": ["rm"]}`, "", contract.Permission, "roo-cline.allowedCommands"},
		{".vscode/settings.json", `{"zoo-code.x": 1}`, "", contract.Settings, ""},
		{".vscode/settings.json", `{"chat.tools.global.autoApprove": true}`, "", contract.Permission, "VS Code"},
		{".vscode/settings.json", `{"editor.tabSize": 2}`, "", "", ""},
		{".zoo/rules/a.md", prompt, ".zoo/rules/", contract.Instructions, ""},
		{".kilocode/rules/a.md", prompt, ".kilocode/rules/", contract.Instructions, ""},
		{".kilocode/x.json", "{}", ".kilocode/", contract.Unknown, "Kilo"},
		{".kilocode/mcp.json", "{}", "", contract.NoTarget, "--from kilo"},
		{".kilocodemodes", "customModes: []", "", contract.NoTarget, "--from kilo"},
		{".kilo/commands/a.md", prompt, ".kilo/commands/", contract.Prompts, ""},
		{".kilo/skills/a/SKILL.md", prompt, ".kilo/skills/", contract.Prompts, ""},
		{".kilo/plugin/a.ts", prompt, ".kilo/plugin/", contract.Programs, "Kilo"},
		{".gemini/commands/a.toml", prompt, ".gemini/commands/", contract.Prompts, ""},
		{".gemini/policies/a.toml", prompt, ".gemini/policies/", contract.NotRead, "0.61"},
		{".gemini/agents/_a.md", prompt, "", contract.NotRead, ""},
		{"GEMINI.md", prompt, "", contract.Instructions, "every session"},
		{".codex/rules/default.rules", "", ".codex/rules/", contract.Permission, "trusted"},
		{".opencode/command/a.md", prompt, ".opencode/command/", contract.Prompts, ""},
		{".github/copilot-instructions.md", prompt, "", contract.Instructions, "Copilot"},
		{".github/agents/a.md", prompt, ".github/agents/", contract.Permission, "Copilot"},
		{".github/hooks/a.json", "{}", ".github/hooks/", contract.Programs, ""},
		{".github/copilot/settings.json", "{}", ".github/copilot/", contract.Permission, ""},
		{".github/workflows/ci.yml", prompt, "", "", ""},
		{".windsurf/rules/a.md", prompt, ".windsurf/", contract.NoTarget, "Windsurf"},
		{".aider.conf.yml", "yes-always: true", "", contract.NoTarget, "Aider"},
		{"AGENTS.md", prompt, "", contract.Instructions, "every agent"},
		{".agents/skills/a/SKILL.md", prompt, ".agents/", contract.Prompts, ""},

		// What is read is not named again, nor what modec wrote.
		{".mcp.json", `{"mcpServers": {}}`, "", "", ""},
		{".roo/rules-a/a.md", prompt, "", "", ""},
		{".cursor/hooks.json", `{"hooks": {"stop": [{"command": "modec hook cursor --subject role:a"}]}}`, "", "", ""},
		{"README.md", prompt, "", "", ""},

		// Below.
		{"services/api/CLAUDE.md", prompt, "**/CLAUDE.md", contract.Instructions, ""},
		{"services/api/.claude/settings.json", "{}", "services/api/", contract.Nested, ""},
		{"a/b/c/d/e/.roomodes", oneMode, "a/b/c/d/e/", contract.Nested, ""},
		{"a/b/c/d/e/f/.roomodes", oneMode, "", "", ""},
		{"node_modules/x/CLAUDE.md", prompt, "", "", ""},
		{".hidden/CLAUDE.md", prompt, "", "", ""},
	} {
		files := map[string]string{".roomodes": oneMode, c.file: c.text}
		res, diags := run(t, files, nil)
		if diags.HasErrors() {
			t.Errorf("%s: %v", c.file, diags)
			continue
		}
		named := slices.DeleteFunc(slices.Clone(res.Report.Seen), func(x migrate.Seen) bool {
			return c.file == "custom_modes.yml" && x.Reason == contract.NotRead
		})
		want := c.path
		if want == "" {
			want = c.file
		}
		switch {
		case c.reason == "" && len(named) == 0:
		case c.reason == "" || len(named) != 1:
			t.Errorf("%s: got %+v", c.file, named)
		case named[0].Path != want || named[0].Reason != c.reason || !strings.Contains(named[0].Why, c.why) ||
			named[0].Files != 1 || !slices.Contains(contract.Reasons, named[0].Reason):
			t.Errorf("%s: got %+v, want %s %s %q", c.file, named[0], want, c.reason, c.why)
		}
	}
}

// TestSeenInGroups: many files of a kind are named once, those that permit something by name.
func TestSeenInGroups(t *testing.T) {
	files := map[string]string{".roomodes": oneMode}
	for i := range 40 {
		files[fmt.Sprintf(".claude/commands/c%02d.md", i)] = prompt
		files[fmt.Sprintf("pkg%02d/CLAUDE.md", i)] = prompt
		files[fmt.Sprintf("pkg%02d/src/AGENTS.md", i)] = prompt
	}
	files[".claude/commands/c07.md"], files[".claude/commands/c09.md"] = permits, permits
	res, diags := run(t, files, nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	got := ""
	for _, x := range res.Report.Seen {
		got += fmt.Sprintln(x.Path, x.Files, x.Reason, len(x.Names), x.Names[:min(2, len(x.Names))])
	}
	const want = `**/AGENTS.md 40 instructions 40 [pkg00/src/AGENTS.md pkg01/src/AGENTS.md]
**/CLAUDE.md 40 instructions 40 [pkg00/CLAUDE.md pkg01/CLAUDE.md]
.claude/commands/ 38 prompts 0 []
.claude/commands/ 2 permission 2 [c07.md c09.md]
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestSeenOfPersons: what git ignores and what lies in the home folder is personal, and not read.
func TestSeenOfPersons(t *testing.T) {
	home := fstest.MapFS{".claude/commands/a.md": {Data: []byte(permits)}, ".claude/history.jsonl": {},
		".codex/rules/default.rules": {}, ".roo/rules/a.md": {}}
	files := map[string]string{".roomodes": oneMode, "CLAUDE.md": prompt, "out/.mcp.json": "{}", "src/.mcp.json": "{}"}
	res, diags := run(t, files, func(r *migrate.Request) {
		r.Home = home
		r.Ignored = func(_ context.Context, paths []string) []string {
			return slices.DeleteFunc(paths, func(p string) bool { return p != "out" && p != "CLAUDE.md" })
		}
	})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	got := ""
	for _, x := range res.Report.Seen {
		got += fmt.Sprintln(x.Path, x.Files, x.Reason)
	}
	const want = `CLAUDE.md 1 personal
src/ 1 nested-project
~/.claude/commands/ 0 personal
~/.codex/rules/ 0 personal
~/.roo/rules/ 0 personal
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestSeenIsBounded: neither many files nor links keep a migration from its end.
func TestSeenIsBounded(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".roomodes", oneMode)
	write(".claude/commands/a\n\x1b[31mb.md", permits)
	write(".roo/commands/large.md", strings.Repeat("x", 1<<20))
	for i := range 12_000 {
		write(fmt.Sprintf(".claude/skills/%05d.md", i), "")
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.md"), []byte(permits), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		".cursor/rules": outside, ".roo/rules": ".", "CLAUDE.md": filepath.Join(outside, "secret.md"), "loop": ".",
		".claude/rules": "../.claude", ".kilo": "/", ".claude/commands/link.md": filepath.Join(outside, "secret.md"),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	once := &counted{FS: root.FS()}
	seen := migrate.Look(t.Context(), migrate.Request{Root: once, Targets: targets.All()})
	if once.entries > 13_000 || once.files > 2_000 || once.bytes > 1<<20 {
		t.Errorf("read %d entries of folders, and %d files of %d bytes", once.entries, once.files, once.bytes)
	}
	got := map[string]migrate.Seen{}
	for _, x := range seen {
		got[x.Path+" "+string(x.Reason)] = x
	}
	for _, link := range []string{
		".cursor/rules instructions", ".roo/rules instructions", "CLAUDE.md instructions", ".claude/rules instructions",
		".kilo unknown",
	} {
		if got[link].Files != 1 {
			t.Errorf("the link %s: got %+v", link, got[link])
		}
	}
	if x := got[".claude/skills/ not-searched"]; x.Files != 10_000 || !x.More {
		t.Errorf("many skills: got %d %v", x.Files, x.More)
	}
	if x := got[".claude/commands/ permission"]; x.Files != 1 || !slices.Equal(x.Names, []string{"a\n\x1b[31mb.md"}) {
		t.Errorf("a hostile name: got %+v", x)
	}
	if x := got[".claude/commands/ not-searched"]; !slices.Equal(x.Names, []string{"link.md"}) {
		t.Errorf("a link to a command: got %+v", x)
	}

	many := &counted{FS: endless{width: 300}}
	seen = migrate.Look(t.Context(), migrate.Request{Root: many, Targets: targets.All()})
	if many.entries > 200_000 {
		t.Errorf("read %d entries of folders without end", many.entries)
	}
	if len(seen) == 0 || seen[len(seen)-1].Reason != contract.NotSearched {
		t.Errorf("got %d, want a note that not everything was searched", len(seen))
	}
}

// TestNothingIsSeenInUnsaid puts every real file where its agent looks for it: it is imported,
// refused at its place, or named.
func TestNothingIsSeenInUnsaid(t *testing.T) {
	dir := corpus(t)
	for glob, as := range map[string]string{
		"roomodes/*modes": ".roomodes", "roomodes/*.yaml": "custom_modes.yaml", "roo_mcp/*.json": ".roo/mcp.json",
		"claude/settings/*.json": ".claude/settings.json", "claude/agents/*.md": ".claude/agents/",
		"claude/mcp/*.json": ".mcp.json", "cursor/*/*": ".cursor/",
	} {
		names, err := filepath.Glob(filepath.Join(dir, glob))
		if err != nil || len(names) == 0 {
			t.Fatal(glob, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			at := as
			if kind := filepath.Base(filepath.Dir(name)); at == ".cursor/" && kind == "agents" {
				at = ".cursor/agents/" + filepath.Base(name)
			} else if at == ".cursor/" {
				at += kind + ".json"
			} else if strings.HasSuffix(at, "/") {
				at += filepath.Base(name)
			}
			if strings.HasSuffix(name, ".tsv") {
				continue
			}
			for _, at := range []string{at, "services/api/" + at} {
				silent(t, name, at, data)
			}
		}
	}
}

// silent fails for a file that a migration neither reads nor names.
func silent(t *testing.T, name, at string, data []byte) {
	t.Helper()
	root := fstest.MapFS{at: {Data: data, Mode: 0o644}}
	req := migrate.Request{Root: root, Targets: targets.All(), Out: "modec", Today: today, Seed: 1}
	if slices.Contains(migrate.AgentFiles(t.Context(), req), at) {
		return
	}
	for _, x := range migrate.Look(t.Context(), req) {
		if strings.HasPrefix(at, x.Path) || slices.Contains(x.Names, at) {
			return
		}
	}
	t.Errorf("%s as %s: neither imported nor named", name, at)
}

// counted is a file system that counts what is read of it.
type counted struct {
	fs.FS
	entries, files, bytes int
}

type countedFile struct {
	fs.ReadDirFile
	of   *counted
	read bool
}

func (c *counted) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(c.FS, name) }
func (c *counted) ReadLink(name string) (string, error)   { return fs.ReadLink(c.FS, name) }

func (c *counted) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &countedFile{ReadDirFile: f.(fs.ReadDirFile), of: c}, nil
}

func (f *countedFile) Read(b []byte) (int, error) {
	n, err := f.ReadDirFile.Read(b)
	if f.of.bytes += n; !f.read {
		f.read = true
		f.of.files++
	}
	return n, err
}

func (f *countedFile) ReadDir(n int) ([]fs.DirEntry, error) {
	list, err := f.ReadDirFile.ReadDir(n)
	f.of.entries += len(list)
	return list, err
}

// endless is a file system in which every folder has many folders.
type endless struct{ width int }

type endlessDir struct {
	fs.FileInfo
	left int
}

func (e endless) Open(name string) (fs.File, error) {
	if strings.Contains(name, ".") && name != "." {
		return nil, fs.ErrNotExist
	}
	return &endlessDir{left: e.width}, nil
}

func (d *endlessDir) Name() string               { return fmt.Sprintf("d%d", d.left) }
func (d *endlessDir) IsDir() bool                { return true }
func (d *endlessDir) Mode() fs.FileMode          { return fs.ModeDir | 0o755 }
func (d *endlessDir) Type() fs.FileMode          { return fs.ModeDir }
func (d *endlessDir) Info() (fs.FileInfo, error) { return d, nil }
func (d *endlessDir) Stat() (fs.FileInfo, error) { return d, nil }
func (d *endlessDir) Size() int64                { return 0 }
func (d *endlessDir) ModTime() time.Time         { return time.Time{} }
func (d *endlessDir) Sys() any                   { return nil }
func (d *endlessDir) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }
func (d *endlessDir) Close() error               { return nil }

func (d *endlessDir) ReadDir(n int) (list []fs.DirEntry, err error) {
	for ; n != 0 && d.left > 0; n-- {
		list = append(list, &endlessDir{left: d.left})
		d.left--
	}
	if len(list) == 0 {
		return nil, io.EOF
	}
	return list, nil
}

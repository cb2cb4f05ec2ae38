package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/targets"
)

// answer is what a run says and ends with, times left out.
func answer(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), targets.All(), args, strings.NewReader(""), &stdout, &stderr)
	return milliseconds.ReplaceAllString(fmt.Sprintf("exit %d\n%s%s", code, stdout.String(), stderr.String()), "N ms")
}

var milliseconds = regexp.MustCompile(
	`\d+ ms|\d+ distinct decisions compared in [\d.]+ s|nothing changed since the last verification`)

// tree reads every file below a folder, and what links point to.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if d.Type()&os.ModeSymlink != 0 {
			out[rel], err = os.Readlink(name)
			return err
		}
		data, err := os.ReadFile(name)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// change does something to one file of a project.
type change struct {
	name string
	do   func(t *testing.T, r *rand.Rand, dir string)
}

func pick(t *testing.T, r *rand.Rand, dir string, of func(name string) bool) string {
	var names []string
	for name := range treeOf(t, dir) {
		if of(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		t.Fatal("no such file")
	}
	return filepath.Join(dir, names[r.IntN(len(names))])
}

func mustWrite(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func ofSource(name string) bool {
	return strings.HasPrefix(name, "modec"+string(filepath.Separator))
}
func made(name string) bool { return !ofSource(name) && name != "modec.toml" && name != "modec.lock" }

// flip changes one letter of a file and keeps its size and its times.
func flip(t *testing.T, r *rand.Rand, file string) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if i := r.IntN(len(data)); 'a' <= data[i] && data[i] < 'z' {
			data[i]++
			break
		}
	}
	mustWrite(t, file, data)
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

var changes = []change{
	{"nothing", func(*testing.T, *rand.Rand, string) {}},
	{"the same bytes again", func(t *testing.T, r *rand.Rand, dir string) {
		file := pick(t, r, dir, func(string) bool { return true })
		data, _ := os.ReadFile(file)
		mustWrite(t, file, data)
	}},
	{"a letter of the source", func(t *testing.T, r *rand.Rand, dir string) { flip(t, r, pick(t, r, dir, ofSource)) }},
	{"a letter of modec.toml", func(t *testing.T, r *rand.Rand, dir string) {
		flip(t, r, filepath.Join(dir, "modec.toml"))
	}},
	{"a letter of an artifact", func(t *testing.T, r *rand.Rand, dir string) { flip(t, r, pick(t, r, dir, made)) }},
	{"a letter of the lock", func(t *testing.T, r *rand.Rand, dir string) {
		flip(t, r, filepath.Join(dir, "modec.lock"))
	}},
	{"a new source file", func(t *testing.T, r *rand.Rand, dir string) {
		role := "package modec\n\nroles: zz: can: read: \"allow\"\n"
		mustWrite(t, filepath.Join(dir, "modec", "roles", "zz.cue"), []byte(role))
	}},
	{"a new folder of the source", func(t *testing.T, r *rand.Rand, dir string) {
		mustWrite(t, filepath.Join(dir, "modec", "more", "zz.yaml"), []byte("roles: {zz: {can: {read: allow}}}\n"))
	}},
	{"a source file that is gone", func(t *testing.T, r *rand.Rand, dir string) {
		os.Remove(pick(t, r, dir, ofSource))
	}},
	{"an artifact that is gone", func(t *testing.T, r *rand.Rand, dir string) { os.Remove(pick(t, r, dir, made)) }},
	{"a lock that is gone", func(t *testing.T, r *rand.Rand, dir string) {
		os.Remove(filepath.Join(dir, "modec.lock"))
	}},
	{"an interrupted build", func(t *testing.T, r *rand.Rand, dir string) {
		mustWrite(t, filepath.Join(dir, ".modec", "lock.next"), []byte("version = 1\n"))
	}},
	{"a link in the place of an artifact", func(t *testing.T, r *rand.Rand, dir string) {
		file := pick(t, r, dir, made)
		data, _ := os.ReadFile(file)
		mustWrite(t, file+".real", data)
		os.Remove(file)
		if err := os.Symlink(filepath.Base(file)+".real", file); err != nil {
			t.Fatal(err)
		}
	}},
	{"a folder in the place of an artifact", func(t *testing.T, r *rand.Rand, dir string) {
		file := pick(t, r, dir, made)
		os.Remove(file)
		os.MkdirAll(file, 0o755)
	}},
	{"an entry of somebody's own", func(t *testing.T, r *rand.Rand, dir string) {
		mustWrite(t, filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers": {"mine": {"command": "x"}}}`))
	}},
	{"settings of the project, which a check judges", func(t *testing.T, r *rand.Rand, dir string) {
		settings := `{"permissions": {"allow": ["Bash(rm *)"]}}`
		mustWrite(t, filepath.Join(dir, ".claude", "settings.json"), []byte(settings))
	}},
	{"a skill, which a check looks for", func(t *testing.T, r *rand.Rand, dir string) {
		mustWrite(t, filepath.Join(dir, ".claude", "skills", "code", "SKILL.md"), []byte("x"))
	}},
}

// TestTheCacheIsNeverWrong: whatever changes, a build and a check that may use the
// record of the verification before say and do what they do without.
func TestTheCacheIsNeverWrong(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	pristine := t.TempDir()
	for name, text := range cached {
		mustWrite(t, filepath.Join(pristine, name), []byte(text))
	}
	if s := answer(t, "-C", pristine, "build"); !strings.HasPrefix(s, "exit 0") {
		t.Fatal(s)
	}
	for round := range 3 {
		for i, c := range changes {
			if testing.Short() && (round > 0 || i%3 != 0) {
				continue // a share of them
			}
			if round > 0 && !strings.HasPrefix(c.name, "a letter") {
				continue // it is the same each time
			}
			// Two projects at one place, one after the other: the record is that of the
			// place.
			dir := filepath.Join(t.TempDir(), "project")
			run := func(cache string) (out []string, tree map[string]string) {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				if err := os.CopyFS(dir, os.DirFS(pristine)); err != nil {
					t.Fatal(err)
				}
				answer(t, "-C", dir, "build", "--force") // it is remembered nowhere, and keeps the lock each time
				for _, args := range [][]string{{"build"}, {"build", "--check"}, {"verify"}, {"verify", "--disk"}} {
					answer(t, append([]string{"-C", dir}, args...)...) // what is remembered
				}
				c.do(t, rand.New(rand.NewPCG(uint64(round), 7)), dir) // the same to both
				t.Setenv("MODEC_CACHE", cache)
				defer t.Setenv("MODEC_CACHE", "")
				for _, line := range []string{"build --check", "verify -q", "verify --disk -q", "build",
					"build --check", "build --target model"} {
					out = append(out, line+": "+answer(t, append([]string{"-C", dir}, strings.Fields(line)...)...))
				}
				return out, treeOf(t, dir)
			}
			with, withTree := run("")
			without, withoutTree := run("off")
			if d := cmp.Diff(without, with); d != "" {
				t.Errorf("%s, round %d (-without +with the cache)\n%s", c.name, round, d)
			}
			if d := cmp.Diff(withoutTree, withTree); d != "" {
				t.Errorf("%s, round %d: the files (-without +with the cache)\n%s", c.name, round, d)
			}
		}
	}
}

// cached is a small project with a prompt in a file.
var cached = map[string]string{
	"modec.toml": "hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.claude]\n[targets.cursor]\n[targets.roo]\n[targets.model]\n",
	"modec/servers.cue": `package modec

servers: docs: {command: "docs-mcp", tools: {search: {}, drop: risk: "destructive"}}
`,
	"modec/modes/code.cue": `package modec

modes: code: {
	name: "Code"
	whenToUse: "always"
	roleDefinitionFile: "code.md"
	can: {read: "allow", edit: {allow: ["src/**"]}, mcp: docs: {allow: ["search"]}}
}
`,
	"modec/modes/code.md": "You write code and read it again.\n",
	"modec/roles/dev.cue": `package modec

roles: dev: {permissionMode: "default", can: {
	command: {allow: ["make test"], deny: ["rm *"], default: "ask"}
	mcp: docs: {allow: ["search"]}
}}
`,
}

// TestVerifyRemembers: the second of two verifications that find nothing compares nothing, unless all is to be printed.
// With CI or MODEC_CACHE=off it compares all, and keeps nothing.
func TestVerifyRemembers(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("CI", "")
	dir := t.TempDir()
	for name, text := range cached {
		mustWrite(t, filepath.Join(dir, name), []byte(text))
	}
	last := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		run(t.Context(), targets.All(), append([]string{"-C", dir}, args...), strings.NewReader(""), &stdout, &stderr)
		return stdout.String() + stderr.String()
	}
	const unchanged = "nothing changed since the last verification"
	for _, off := range []string{"CI", "MODEC_CACHE"} {
		t.Setenv(off, "off")
		for range 2 {
			if s := last("verify"); strings.Contains(s, unchanged) || len(treeOf(t, cache)) > 0 {
				t.Errorf("with %s set something is kept: %s", off, s)
			}
		}
		t.Setenv(off, "")
	}
	first := last("verify", "--json")
	if second := last("verify", "--json"); second != first {
		t.Errorf("the second run says otherwise: %s", cmp.Diff(first, second))
	}
	if s := last("verify"); s != unchanged+": nothing is wider than the source\n" {
		t.Errorf("got %s", s)
	}
	for _, other := range [][]string{{"verify", "-v"}, {"verify", "--seed", "2"}, {"verify", "--target", "claude"}} {
		if s := last(other...); strings.Contains(s, unchanged) {
			t.Errorf("%v: %s", other, s)
		}
	}
	answer(t, "-C", dir, "build")
	for i, want := range []bool{false, true} {
		if s := last("verify", "--disk"); strings.Contains(s, unchanged) != want {
			t.Errorf("run %d: %s", i, s)
		}
	}
	settings := `{"permissions": {"allow": ["Bash(rm *)"]}}` // a file that no build wrote
	mustWrite(t, filepath.Join(dir, ".claude", "settings.local.json"), []byte(settings))
	if s := last("verify", "--disk"); strings.Contains(s, unchanged) {
		t.Errorf("with a file of the user's: %s", s)
	}
	code := filepath.Join(dir, "modec", "modes", "code.cue")
	mustWrite(t, code, []byte(strings.Replace(cached["modec/modes/code.cue"], "src/**", "lib/**", 1)))
	for i, want := range []bool{false, true} {
		if s := last("verify"); strings.Contains(s, unchanged) != want {
			t.Errorf("after a change, run %d: %s", i, s)
		}
	}
	for name, data := range treeOf(t, cache) { // a record that others may have written
		file := filepath.Join(cache, name)
		mustWrite(t, file, []byte(data))
		if err := os.Chmod(file, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if s := last("verify"); strings.Contains(s, unchanged) && runtime.GOOS != "windows" {
		t.Errorf("a record counts that others may write: %s", s)
	}
}

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// version is that of the release that `make packages` tries.
const version = "v0.0.1"

// released returns the folder of a release for this platform.
func released(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MODEC_RELEASED")
	if dir == "" {
		t.Skip("MODEC_RELEASED names no release: `make packages` makes one")
	}
	return dir
}

// only returns the file of a release that a pattern names.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: got %q, want one file (%v)", pattern, found, err)
	}
	return found[0]
}

func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}

// does runs a command that has to succeed, and returns what it prints.
func does(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// starts checks that a program is the release's.
func starts(t *testing.T, program string) {
	t.Helper()
	if got, want := does(t, t.TempDir(), program, "--version"), "modec "+version+"\n"; got != want {
		t.Errorf("%s --version: got %q, want %q", program, got, want)
	}
}

// TestSums holds SHA256SUMS to name each file of the release, with its sum.
func TestSums(t *testing.T) {
	dir := released(t)
	text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "SHA256SUMS" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(data), f.Name())
	}
	if got := strings.ReplaceAll(string(text), " *", "  "); got != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
}

// TestArchive unpacks the archive as people do, and starts the program.
func TestArchive(t *testing.T) {
	dir, to := released(t), t.TempDir()
	folder := fmt.Sprintf("modec-%s-%s-%s", version, runtime.GOOS, runtime.GOARCH)
	exe := ""
	if runtime.GOOS == "windows" {
		exe = ".exe"
		needs(t, "unzip")
		does(t, to, "unzip", "-q", only(t, dir, folder+".zip"))
	} else {
		does(t, to, "tar", "-xzf", only(t, dir, folder+".tar.gz"))
	}
	starts(t, filepath.Join(to, folder, "modec"+exe))
	for _, name := range []string{"LICENSE", "README.md", "completions/modec.bash", "completions/_modec",
		"completions/modec.fish"} {
		data, err := os.ReadFile(filepath.Join(to, folder, name))
		if err != nil || len(data) == 0 {
			t.Errorf("%s: got %d bytes and %v", name, len(data), err)
		}
	}
	needs(t, "bash")
	does(t, filepath.Join(to, folder), "bash", "-n", "completions/modec.bash")
}

// TestFixed holds everything in archives to a time, an owner and an order that no machine changes.
func TestFixed(t *testing.T) {
	list := []file{{"b", 0o755, []byte("b")}, {"a/c", 0o644, []byte("c")}}
	var packed, zipped bytes.Buffer
	if err := errors.Join(writeTar(&packed, list), writeZip(&zipped, list)); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("got a gzip header with the time %v and the name %q", z.ModTime, z.Name)
	}
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %o %d:%d %q %v", h.Name, h.Mode, h.Uid, h.Gid, h.Uname, h.ModTime.Equal(epoch)))
	}
	if want := []string{`a/c 644 0:0 "" true`, `b 755 0:0 "" true`}; !slices.Equal(got, want) {
		t.Errorf("tar: got %q, want %q", got, want)
	}
	archive, err := zip.NewReader(bytes.NewReader(zipped.Bytes()), int64(zipped.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, f := range archive.File {
		got = append(got, fmt.Sprintf("%s %o %v", f.Name, f.Mode(), f.Modified.Equal(epoch)))
	}
	if want := []string{"a/c 644 true", "b 755 true"}; !slices.Equal(got, want) {
		t.Errorf("zip: got %q, want %q", got, want)
	}
}

// TestSemantic holds versions to what npm and Debian take.
func TestSemantic(t *testing.T) {
	for from, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "v1.2.3-4-gabcdef0": "1.2.3-4-gabcdef0",
		"abcdef0": "0.0.0-gabcdef0", "0123456": "0.0.0-g0123456", "v1": "0.0.0-gv1", "v1.2": "0.0.0-gv1-2",
		"devel": "0.0.0-gdevel", "feature/x": "0.0.0-gfeature-x",
	} {
		if got := (&release{version: from}).semantic(); got != want {
			t.Errorf("%s: got %q, want %q", from, got, want)
		}
	}
}

// TestDebian unpacks the package, and installs it with dpkg into a folder.
func TestDebian(t *testing.T) {
	dir := released(t)
	if runtime.GOOS != "linux" {
		t.Skip("a release for this platform has no Debian package")
	}
	needs(t, "dpkg-deb")
	deb := only(t, dir, "modec_*.deb")
	about := does(t, dir, "dpkg-deb", "-I", deb)
	for _, want := range []string{"Package: modec", "Version: 0.0.1", "Architecture: " + runtime.GOARCH} {
		if !strings.Contains(about, want) {
			t.Errorf("got\n%swant %s", about, want)
		}
	}
	var got []string
	for line := range strings.Lines(does(t, dir, "dpkg-deb", "-c", deb)) {
		f := strings.Fields(line)
		if f[1] != "root/root" || !strings.Contains(line, "1980-01-01") {
			t.Errorf("got %q, want it to be root's, and of 1980", line)
		}
		if !strings.HasSuffix(f[5], "/") {
			got = append(got, f[0]+" "+f[5])
		}
	}
	want := []string{"-rwxr-xr-x ./usr/bin/modec"}
	for _, to := range debian {
		want = append(want, "-rw-r--r-- ."+to)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	root := t.TempDir()
	does(t, root, "dpkg-deb", "-x", deb, root)
	starts(t, filepath.Join(root, "usr/bin/modec"))
	if os.Getuid() != 0 {
		return // dpkg wants to be root
	}
	root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg/info"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	does(t, root, "dpkg", "--root="+root, "--install", deb)
	starts(t, filepath.Join(root, "usr/bin/modec"))
	does(t, root, "dpkg", "--root="+root, "--remove", "modec")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/modec")); !os.IsNotExist(err) {
		t.Errorf("after its removal: got %v", err)
	}
}

// TestNPM installs the packages without a network, and starts modec as npm users do.
func TestNPM(t *testing.T) {
	dir := released(t)
	needs(t, "npm")
	p := platform{os: runtime.GOOS, arch: runtime.GOARCH}
	project := t.TempDir()
	does(t, project, "npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts",
		only(t, dir, "modec-[0-9]*.tgz"), only(t, dir, p.npmName()+"-*.tgz"))
	if got := does(t, project, "npx", "--offline", "modec", "--version"); !strings.HasSuffix(got, "modec "+version+"\n") {
		t.Errorf("got %q", got) // npm may warn before
	}
	shim := filepath.Join(project, "node_modules", "modec", "bin", "modec.js")
	var failed *exec.ExitError
	if _, err := exec.Command("node", shim, "no-command").Output(); !errors.As(err, &failed) || failed.ExitCode() != 2 {
		t.Errorf("a command that does not exist: got %v, want the exit code 2", err)
	}
	if err := os.RemoveAll(filepath.Join(project, "node_modules", p.npmName())); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("node", shim, "--version").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the package "+p.npmName()+" is not installed") {
		t.Errorf("without the platform's package: got %v and %q", err, out)
	}
}

// An action is what action.yml says, as far as it is run here.
type action struct {
	Runs struct {
		Steps []struct {
			If, Run string
			Env     map[string]string
		}
	}
}

// runner runs the steps of the Action as GitHub's runner does, with folders of its own.
type runner struct {
	dir    string            // the repository of the user
	values map[string]string // of expressions
	temp   string
}

// run returns what the steps print. It stops at the first that fails.
func (r *runner) run(t *testing.T) (string, error) {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil || len(a.Runs.Steps) != 4 {
		t.Fatalf("got %d steps and %v", len(a.Runs.Steps), err)
	}
	r.temp = t.TempDir()
	at := func(name string) string { return filepath.Join(r.temp, name) }
	words := map[string][2]string{"linux": {"Linux", "X64"}, "darwin": {"macOS", "X64"}, "windows": {"Windows", "X64"}}
	system := words[runtime.GOOS]
	if runtime.GOARCH == "arm64" {
		system[1] = "ARM64"
	}
	var printed strings.Builder
	for _, step := range a.Runs.Steps {
		if step.If != "" && r.values[step.If] != "true" {
			continue
		}
		added, err := os.ReadFile(at("path"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.Run)
		cmd.Dir = r.dir
		cmd.Env = append(os.Environ(), "CI=true", "RUNNER_TEMP="+r.temp, "RUNNER_OS="+system[0], "RUNNER_ARCH="+system[1],
			"GITHUB_PATH="+at("path"), "GITHUB_OUTPUT="+at("output"), "GITHUB_STEP_SUMMARY="+at("summary"),
			"PATH="+strings.TrimSpace(string(added))+string(os.PathListSeparator)+os.Getenv("PATH"))
		for name, expression := range step.Env {
			value, ok := r.values[expression]
			if !ok {
				t.Fatalf("%s: the test has no value for %s", name, expression)
			}
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		printed.Write(out)
		if err != nil {
			return printed.String(), err
		}
	}
	return printed.String(), nil
}

// TestAction runs the Action with a folder in the place of its releases.
func TestAction(t *testing.T) {
	dir := released(t)
	needs(t, "bash")
	needs(t, "curl")
	releases, project := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(releases, version), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	const (
		versions  = "${{ inputs.version || github.action_ref }}"
		addresses = "${{ inputs.releases || format('{0}/{1}/releases/download', github.server_url, github.action_repository) }}"
	)
	r := runner{dir: project, values: map[string]string{
		versions: version, addresses: "file://" + filepath.ToSlash(releases),
		"${{ inputs.directory }}": "app", "inputs.lint == 'true'": "true", "inputs.check == 'true'": "true",
		"inputs.diff != ''": "true", "${{ inputs.diff }}": "HEAD", "${{ inputs.fail-on }}": "widen",
	}}
	git := func(args ...string) {
		does(t, project, "git", append([]string{"-c", "user.name=n", "-c", "user.email=e"}, args...)...)
	}
	write := func(name, text string) {
		name = filepath.Join(project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	const mode = "package modec\n\n" + `modes: a: {name: "A", whenToUse: "Now.", roleDefinition: "You are a.", can: %s}` + "\n"
	write("app/modec.toml", "[targets.roo]\n")
	write("app/modec/a.cue", fmt.Sprintf(mode, `read: "allow"`))
	programs := filepath.Join(releases, version, fmt.Sprintf("modec-%s-%s-%s*", version, runtime.GOOS, runtime.GOARCH))
	found, err := filepath.Glob(programs)
	if err != nil {
		t.Fatal(err)
	}
	program := slices.MinFunc(found, func(a, b string) int { return len(a) - len(b) })
	build := func() { does(t, project, program, "build", "-C", "app") }
	build()
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "what we have")

	if out, err := r.run(t); err != nil || strings.Contains(out, "::error") {
		t.Fatalf("a project as it should be: got %v and\n%s", err, out)
	}
	starts(t, filepath.Join(r.temp, "modec", "bin", "modec"))
	if out, err := os.ReadFile(filepath.Join(r.temp, "output")); err != nil || !strings.HasPrefix(string(out), "markdown<<") {
		t.Errorf("got the output %q and %v", out, err)
	}

	write("app/modec/a.cue", fmt.Sprintf(mode, `{read: "allow", edit: allow: ["docs/**"]}`))
	out, err := r.run(t)
	if want := "::error file=app/.roomodes,line="; err == nil || !strings.Contains(out, want) {
		t.Errorf("a stale file: got %v and\n%s\nwant %s", err, out, want)
	}
	build()
	if out, err := r.run(t); err == nil {
		t.Errorf("a permission more, with fail-on widen: got\n%s", out)
	}

	refused := func(what, want string) {
		t.Helper()
		out, err := r.run(t)
		if err == nil || !strings.Contains(out, "::error title=modec was not installed::") || !strings.Contains(out, want) {
			t.Errorf("%s: got %v and\n%s\nwant %s", what, err, out, want)
		}
		if added, err := os.ReadFile(filepath.Join(r.temp, "path")); err == nil {
			t.Errorf("%s: the path got %q", what, added)
		}
	}
	for _, moves := range []string{"latest", "v1", "main", "", "v0.0.1/../v0.0.2", "0123456789abcdef"} {
		r.values[versions] = moves
		refused("version "+moves, "got version '"+moves+"', want a release such as v0.1.0")
	}
	r.values[versions] = "v9.9.9"
	refused("a release that does not exist", "v9.9.9/SHA256SUMS cannot be downloaded")
	r.values[versions] = version
	f, err := os.OpenFile(program, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("x"); err != nil || f.Close() != nil {
		t.Fatal("the program cannot be changed")
	}
	refused("a changed program", "has the SHA-256 sum ")
	if err := os.WriteFile(filepath.Join(releases, version, "SHA256SUMS"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused("a sum that is not listed", "want one in SHA256SUMS, which does not list it")
}

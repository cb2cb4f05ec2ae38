//go:build unix

package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkBuild measures the whole process, all targets, into a memory file
// system where there is one: every iteration writes everything anew. Run it as
// `go test -run '^$' -bench Build -benchtime 30x ./cmd/modec`; the figures of
// interest are the median and the peak memory.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, layout := range []string{"few", "each"} {
			b.Run(fmt.Sprintf("modes=%d/files=%s", n, layout), func(b *testing.B) {
				dir := memoryDir(b)
				project(b, dir, n, layout)
				measure(b, func() *exec.Cmd {
					if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
						b.Fatal(err)
					}
					cmd := exec.Command(binary(b), "-q", "build", "-C", dir, "--out", filepath.Join(dir, "out"))
					return cmd
				})
			})
		}
	}
}

// BenchmarkUnchanged measures a build, and a check, of a project in which nothing
// changed.
func BenchmarkUnchanged(b *testing.B) {
	b.Setenv("CI", "")
	b.Setenv("XDG_CACHE_HOME", b.TempDir())
	for _, n := range []int{10, 1000} {
		for _, layout := range []string{"few", "each"} {
			for _, check := range []string{"", "--check"} {
				b.Run(fmt.Sprintf("modes=%d/files=%s%s", n, layout, check), func(b *testing.B) {
					dir := memoryDir(b)
					project(b, dir, n, layout)
					args := []string{"build", "-C", dir}
					if out, err := exec.Command(binary(b), args...).CombinedOutput(); err != nil {
						b.Fatalf("%v\n%s", err, out)
					}
					if check != "" {
						args = append(args, check)
						if out, err := exec.Command(binary(b), args...).CombinedOutput(); err != nil {
							b.Fatalf("%v\n%s", err, out)
						}
					}
					measure(b, func() *exec.Cmd { return exec.Command(binary(b), args...) })
				})
			}
		}
	}
}

// BenchmarkVerify measures a whole verification in which nothing is remembered: each mode and
// each role has rules of its own, and every role may enter every mode.
func BenchmarkVerify(b *testing.B) {
	b.Setenv("MODEC_CACHE", "off")
	run := func(name, dir string) {
		b.Run(name, func(b *testing.B) {
			measure(b, func() *exec.Cmd { return exec.Command(binary(b), "-q", "verify", "-C", dir) })
		})
	}
	for _, n := range []struct{ modes, roles int }{{10, 5}, {30, 15}, {100, 50}, {1000, 1}} {
		dir := memoryDir(b)
		team(b, dir, n.modes, n.roles)
		run(fmt.Sprintf("modes=%d/roles=%d", n.modes, n.roles), dir)
	}
	run("acme", filepath.Join("..", "..", "fixtures", "acme"))
	run("acme/six agents", showcase(b, sixAgents))
}

// sixAgents are those that the showcase had first.
var sixAgents = []string{"roo", "zoo", "cursor", "claude", "mcpnest", "thurbox", "model"}

// showcase returns a copy of the showcase project with some of its targets; nil: with all.
func showcase(b *testing.B, targets []string) (dir string) {
	dir = filepath.Join(memoryDir(b), "acme")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "fixtures", "acme"))); err != nil {
		b.Fatal(err)
	}
	if targets == nil {
		return dir
	}
	file := filepath.Join(dir, "modec.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	var out []string
	left := false
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "[") {
			name, is := strings.CutPrefix(strings.TrimSuffix(line, "]"), "[targets.")
			left = is && !slices.Contains(targets, name)
		}
		if !left {
			out = append(out, line)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(out, "\n")), 0o644); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkVerifyAgain measures a verification in which nothing changed since the last one.
func BenchmarkVerifyAgain(b *testing.B) {
	b.Setenv("CI", "")
	b.Setenv("XDG_CACHE_HOME", b.TempDir())
	dir := memoryDir(b)
	team(b, dir, 100, 50)
	verify := func() *exec.Cmd { return exec.Command(binary(b), "-q", "verify", "-C", dir) }
	if out, err := verify().CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	measure(b, verify)
}

// BenchmarkCheck measures a check of the showcase project: with nothing remembered, and where nothing
// changed since.
func BenchmarkCheck(b *testing.B) {
	b.Setenv("CI", "")
	for _, project := range []struct {
		name    string
		targets []string
	}{{"acme", nil}, {"six agents", sixAgents}} {
		b.Run(project.name, func(b *testing.B) {
			cache := b.TempDir()
			b.Setenv("XDG_CACHE_HOME", cache)
			dir := showcase(b, project.targets)
			if out, err := exec.Command(binary(b), "-q", "build", "-C", dir).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			for _, of := range []struct{ name, forget string }{
				{"cold", "modec"}, {"verified", "none"},
			} {
				b.Run(of.name, func(b *testing.B) {
					measure(b, func() *exec.Cmd {
						if err := os.RemoveAll(filepath.Join(cache, of.forget)); err != nil {
							b.Fatal(err)
						}
						return exec.Command(binary(b), "-q", "build", "--check", "-C", dir)
					})
				})
			}
		})
	}
}

// BenchmarkHook measures `modec hook` as an agent runs it, in a session that has begun.
func BenchmarkHook(b *testing.B) {
	dir := memoryDir(b)
	project(b, dir, 10, "few")
	if out, err := exec.Command(binary(b), "build", "-C", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	payload := `{"session_id":"` + rand.Text() + `","hook_event_name":"PreToolUse","tool_name":"Bash",` +
		`"tool_input":{"command":"git status && go test ./..."},"cwd":"` + dir + `"}`
	measure(b, func() *exec.Cmd {
		cmd := exec.Command(binary(b), "hook", "claude", "--root", dir, "--subject", "mode-0")
		cmd.Stdin = strings.NewReader(payload)
		return cmd
	})
}

// measure runs a command b.N times and reports the median time and the peak
// memory of the process.
func measure(b *testing.B, command func() *exec.Cmd) {
	var times []time.Duration
	var peak int64
	for b.Loop() {
		b.StopTimer()
		cmd := command()
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		b.StartTimer()
		start := time.Now()
		err := cmd.Run()
		times = append(times, time.Since(start))
		if err != nil {
			b.Fatalf("%v\n%s", err, stderr.String())
		}
		peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(peak)/1024, "MiB-peak")
}

var binary = func() func(testing.TB) string {
	var once sync.Once
	var file string
	return func(b testing.TB) string {
		once.Do(func() {
			dir, err := os.MkdirTemp("", "modec-bench-")
			if err != nil {
				b.Fatal(err)
			}
			file = filepath.Join(dir, "modec")
			if out, err := exec.Command("go", "build", "-o", file, ".").CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
		})
		return file
	}
}()

func memoryDir(b *testing.B) string {
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "modec-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// project writes a project of n modes for every target: in few files, or one
// file a mode.
func project(b *testing.B, dir string, n int, layout string) {
	put := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	put("modec.toml", benchConfig)
	put("modec/servers.cue", benchServers)
	put("modec/roles.cue", benchRoles)
	var all strings.Builder
	all.WriteString("package modec\n")
	for i := range n {
		mode := fmt.Sprintf(benchMode, i, i, i, i)
		if layout == "few" {
			all.WriteString(mode)
			continue
		}
		put(fmt.Sprintf("modec/modes/mode-%d.cue", i), "package modec\n"+mode)
	}
	if layout == "few" {
		put("modec/modes.cue", all.String())
	}
}

// team writes a project for three agents in which no two subjects have the same rules.
func team(b *testing.B, dir string, modes, roles int) {
	var all strings.Builder
	all.WriteString("package modec\n")
	for i := range modes {
		fmt.Fprintf(&all, teamMode, i)
	}
	for i := range roles {
		fmt.Fprintf(&all, teamRole, i)
	}
	if err := os.Mkdir(filepath.Join(dir, "modec"), 0o755); err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"modec.toml": teamConfig, "modec/team.cue": all.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

const teamConfig = `baseline = "role-0"
[targets.roo]
[targets.cursor]
[targets.claude]
`

const teamMode = `
modes: "mode-%[1]d": {
	name:           "Mode %[1]d"
	roleDefinition: "You work on part %[1]d."
	can: {
		read:    "allow"
		edit:    {allow: ["src/part%[1]d/**", "*.md"], deny: ["src/part%[1]d/gen/**"]}
		command: {allow: ["npm run job%[1]d *", "git status"], deny: ["git push *"], default: "ask"}
	}
}
`

const teamRole = `
roles: "role-%[1]d": can: {
	read:    deny: [".env", "secrets%[1]d/**"]
	edit:    deny: ["infra%[1]d/**"]
	command: {allow: ["make t%[1]d"], deny: ["git push --force *"]}
}
`

const benchConfig = `name = "bench"
baseline = "developer"
[targets.roo]
builtins = "shadow"
[targets.zoo]
[targets.cursor]
subject = "developer"
[targets.claude]
[targets.mcpnest]
servers = ["shop"]
[targets.thurbox]
[targets.model]
`

const benchServers = `package modec

servers: {
	docs: {url: "https://docs.example.com/mcp", tools: {search_docs: risk: "read", get_page: risk: "read"}}
	shop: {command: "shop-mcp", tools: {
		list_orders: risk: "read", refund_order: risk: "destructive", update_stock: risk: "write"
	}}
	admin: {command: "admin-mcp", defaultEnabled: false, tools: drop_table: risk: "destructive"}
}
`

const benchRoles = `package modec

roles: developer: {
	description:    "Writes code"
	permissionMode: "acceptEdits"
	claims: roles: ["developer"]
	can: {
		command: {allow: ["go test *", "git status"], deny: ["git push *"]}
		mcp: {docs: "allow", shop: {allow: ["list_*"], ask: ["update_stock"]}}
	}
}
roles: reviewer: {
	description:    "Reads code"
	permissionMode: "plan"
	claims: roles: ["reviewer"]
	can: mcp: docs: "allow"
}
`

const benchMode = `
modes: "mode-%d": {
	name:           "Mode %d"
	description:    "Works on part %d of the system"
	whenToUse:      "When a change touches this part."
	roleDefinition: "You are an experienced engineer who works on part %d and nothing else."
	customInstructions: """
		Read before you write.

		- Keep changes small.
		- Run the tests.
		"""
	can: {
		read:    "allow"
		edit: {
			allow: ["src/**/*.go", "docs/**/*.md", {regex: "^cmd/[a-z]+/main\\.go$"}]
			deny: ["**/*_generated.go"]
		}
		command: {allow: ["git status", "git log *", "go test *"], deny: ["git push *"], default: "ask"}
		web:     "ask"
		mcp: {
			docs: "allow"
			shop: {allow: ["list_*"], ask: ["update_stock"], deny: ["refund_*"]}
		}
	}
}
`

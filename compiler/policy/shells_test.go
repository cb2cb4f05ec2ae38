package policy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// shellsUnderTest are the shells that have to read a plain line as this package does, each with
// its printf.
var shellsUnderTest = []struct {
	name   string
	args   []string
	printf string
}{
	{"bash", []string{"bash", "--norc", "--noprofile"}, "printf"},
	{"dash", []string{"dash"}, "printf"},
	{"zsh", []string{"zsh", "-f"}, "printf"},
	{"zsh with EXTENDED_GLOB", []string{"zsh", "-f", "-o", "extendedglob"}, "printf"},
	{"mksh", []string{"mksh"}, "/usr/bin/printf"},
	{"busybox", []string{"busybox", "sh"}, "printf"},
}

// endOfWords ends the words of a command in the log.
const endOfWords = "<end>"

// stubs are the programs that the lines run. The last of them fail.
var stubs = []string{"ls", "git", "npm", "make", "cat", "x", "no", "nope"}

// Every shell runs the commands that this package reads of a plain line, with the same words.
// Lines are drawn from the grammar, and changed at random: those that are still plain count.
func TestShells(t *testing.T) {
	count := 20000
	if testing.Short() {
		count = 2000
	}
	lines := plainLines(rand.New(rand.NewPCG(15, 1)), count)
	ran := 0
	for _, sh := range shellsUnderTest {
		if _, err := exec.LookPath(sh.args[0]); err != nil {
			t.Logf("not run: %s is not installed", sh.name)
			continue
		}
		ran++
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			some := lines
			if sh.printf != "printf" { // a process for each command
				some = lines[:count/8]
			}
			for part := range slices.Chunk(some, 200) {
				got := runIn(t, sh.args, sh.printf, part)
				for i, line := range part {
					if why := differs(line, got[i]); why != "" {
						alone := runIn(t, sh.args, sh.printf, []string{line})[0]
						t.Errorf("%q: %s\nit ran %q\nalone it ran %q", line, why, got[i], alone)
						return // what follows may be of the same line
					}
				}
			}
		})
	}
	if ran == 0 {
		t.Error("no shell is installed")
	}
}

// runIn runs lines in one shell and returns the commands that each of them ran.
func runIn(t *testing.T, shell []string, printf string, lines []string) [][][]string {
	t.Helper()
	dir := t.TempDir()
	var script strings.Builder
	log := filepath.Join(dir, "log")
	for _, name := range append(slices.Clone(stubs), "mark") {
		fmt.Fprintf(&script, "%s() { %s '%%s\\0' %s \"$@\" '%s' >>'%s'; %s; }\n", name, printf, name, endOfWords, log,
			map[bool]string{true: "return 1", false: "return 0"}[strings.HasPrefix(name, "no")])
	}
	for i, line := range lines {
		fmt.Fprintf(&script, "%s\nwait\nmark %d\n", line, i)
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"work/in": "x", "script": script.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), shell[0], append(slices.Clone(shell[1:]), filepath.Join(dir, "script"))...)
	cmd.Dir, cmd.Env = work, []string{"PATH=/nonexistent", "HOME=" + work, "V=v w", "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	data, _ := os.ReadFile(log)
	got := make([][][]string, len(lines))
	at := 0
	for _, entry := range strings.Split(string(data), "\x00"+endOfWords+"\x00") {
		words := strings.Split(entry, "\x00")
		if words[0] == "mark" {
			at++
			continue
		}
		if at < len(got) && entry != "" {
			got[at] = append(got[at], words)
		}
	}
	if at < len(lines) {
		t.Errorf("%s stopped at %q: %v\n%s", shell[0], lines[min(at, len(lines)-1)], err, bytes.TrimSpace(out))
	}
	return got
}

// differs says why a line ran other commands than this package reads, "" where it did not.
func differs(line string, ran [][]string) string {
	a := New(&ir.Project{}).analyse(&Place{}, line)
	var read [][]word
	for i := range a.commands {
		if !a.commands[i].neutral {
			read = append(read, a.commands[i].words)
		}
	}
	if a.opaque || a.odd {
		return "it is not plain"
	}
	left := slices.Clone(read)
	for _, argv := range ran {
		i := slices.IndexFunc(left, func(words []word) bool { return fixed(words) && same(words, argv) })
		if i < 0 {
			i = slices.IndexFunc(left, func(words []word) bool { return same(words, argv) })
		}
		if i < 0 {
			return fmt.Sprintf("%q is not among what is read", argv)
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 && !strings.Contains(line, "&&") && !strings.Contains(line, "||") {
		return fmt.Sprintf("%v did not run", left[0])
	}
	return ""
}

// same reports whether words that are read are those that a program got. One with a hole has a
// text that is not known.
func same(words []word, argv []string) bool {
	return slices.EqualFunc(words, argv, func(w word, arg string) bool { return w.holes || w.script() == arg })
}

// fixed reports whether the texts of all words are known.
func fixed(words []word) bool {
	return !slices.ContainsFunc(words, func(w word) bool { return w.holes })
}

// plainLines draws plain lines.
func plainLines(r *rand.Rand, n int) []string {
	d := lineDrawer{r}
	var lines []string
	for len(lines) < n {
		line := d.line()
		if d.IntN(2) == 0 {
			line = d.changed(line)
		}
		if !isPlain(line) || strings.TrimSpace(line) == "" || !known(line) {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// known reports whether all programs of a line are stubs, and all files that its redirects open
// can be opened, so that a shell that reads it right runs that and nothing else.
func known(line string) bool {
	a := New(&ir.Project{}).analyse(&Place{}, line)
	beside := strings.ContainsAny(strings.NewReplacer("&&", "", "||", "", "2>&1", "").Replace(line), "|&")
	for _, c := range a.commands {
		if len(c.words) == 0 || !slices.Contains(stubs, c.words[0].script()) {
			return false
		}
		// What is written with a line break is written in parts, between which others write.
		if beside && slices.ContainsFunc(c.words, func(w word) bool { return strings.Contains(w.text, "\n") }) {
			return false
		}
	}
	return !slices.ContainsFunc(a.touches, func(t touch) bool {
		name := strings.Join(t.names, "/")
		return t.group == ir.Read && name != "in" || strings.Contains(name, "/") || strings.Trim(name, ".") == ""
	})
}

type lineDrawer struct{ *rand.Rand }

func (d lineDrawer) of(words ...string) string { return words[d.IntN(len(words))] }

func (d lineDrawer) line() string {
	var b strings.Builder
	for i := range 1 + d.IntN(3) {
		if i > 0 {
			b.WriteString(d.of(" && ", " || ", "; ", " | ", " & ", "\n", "&&", ";", "|", " &&\n", "\n\n"))
		}
		b.WriteString(d.command())
	}
	return b.String() + d.of("", "", "", ";", " &", "\n")
}

func (d lineDrawer) command() string {
	if d.IntN(12) == 0 {
		return "git commit -m \"$(cat <<'EOF'\n" + d.of("A subject", "it's (a 'text')", "x\n\n- y", "$(no) \\n !") + "\nEOF\n)\""
	}
	var b strings.Builder
	b.WriteString(d.of(stubs...))
	for range d.IntN(4) {
		b.WriteString(d.of(" ", " ", " ", "  ", "\t") + d.word())
	}
	switch d.IntN(8) {
	case 0:
		b.WriteString(d.of(" > out", " >> out", " 2> err", " < in", " 2>&1", " >&2", " >out", " 2>>'a b'", " > /dev/null 2>&1"))
	case 1:
		b.WriteString(" <<'EOF'\n" + d.of("text", "$(no) `no`", "a\\", "it's \"x", "!! # x\\\\") + "\nEOF")
	}
	return b.String()
}

func (d lineDrawer) word() string {
	var b strings.Builder
	for range 1 + d.IntN(2) {
		b.WriteString(d.of("a", "-n", "--opt=v", "a/b.c", "x,y:z", "@1", "%d", "+x", "if", "do", "12", "{", "''", "'a b'", "'$x `y` \"'", "'#;&|<>()*?[]{}~^='",
			"\"a b\"", "\"$V\"", "\"$HOME/x\"", "\"x $V y\"", "\"it's\"", "\"#;&|<>()*?[]{}~^=\"", "\"é—→\"", "'a\nb'", "\"a\n $V\n\nls\"", "'日本'", "-", "--", "a=b", "."))
	}
	return b.String()
}

const bytesOfShells = "\\\"'`$(){}[]<>|&;#!*?~^=%@:,.-+ \n\t\r0aV"

// changed changes some bytes of a line.
func (d lineDrawer) changed(line string) string {
	for range 1 + d.IntN(2) {
		i := d.IntN(len(line) + 1)
		c := string(bytesOfShells[d.IntN(len(bytesOfShells))])
		if rest := line[i:]; d.IntN(3) == 0 && rest != "" {
			rest = rest[1:]
			line = line[:i] + rest
		} else {
			line = line[:i] + c + line[i:]
		}
	}
	return line
}

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
	{"bash with nullglob", []string{"bash", "--norc", "--noprofile", "-O", "nullglob", "-O", "extglob", "-O", "globstar"}, "printf"},
	{"zsh", []string{"zsh", "-f", "-o", "nonomatch"}, "printf"}, // else it ends where no file has a name
	{"zsh with EXTENDED_GLOB", []string{"zsh", "-f", "-o", "extendedglob", "-o", "nonomatch"}, "printf"},
	{"zsh with NULL_GLOB", []string{"zsh", "-f", "-o", "extendedglob", "-o", "nullglob", "-o", "globdots"}, "printf"},
	{"mksh", []string{"mksh"}, "/usr/bin/printf"},
	{"busybox", []string{"busybox", "sh"}, "printf"},
}

// endOfWords ends the words of a command in the log. newLine stands for one in them: bash writes
// what its printf has at each line, and so two commands of a pipe would write between each other.
const (
	endOfWords = "<end>"
	newLine    = "<line>"
)

// stubs are the programs that the lines run. The last of them fail.
var stubs = []string{"ls", "git", "npm", "make", "cat", "x", "no", "nope"}

// Every shell runs the commands that this package reads of a plain line, with the same words.
// Lines are drawn from the grammar, and changed at random: those that are still plain count.
func TestShells(t *testing.T) {
	count := 20000
	if testing.Short() {
		count = 600
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
		then := "return 0"
		switch {
		case strings.HasPrefix(name, "no"):
			then = "return 1"
		case name == "cat":
			then = fmt.Sprintf(`while IFS= read -r L; do %s '%%s\n' "$L"; done; %[1]s ''`, printf)
		}
		words := `"$@"`
		if shell[0] == "bash" {
			words = `"${@//$'\n'/` + newLine + `}"`
		}
		fmt.Fprintf(&script, "%s() { %s '%%s\\0' %s %s '%s' >>'%s'; %s; }\n", name, printf, name, words, endOfWords, log, then)
	}
	for i, line := range lines {
		fmt.Fprintf(&script, "%s\nwait\nmark %d\n", line, i)
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"script": script.String()}
	for _, name := range []string{"in", "HEAD", "HEADS", "HEAD ~x", "a.ts", "ab", "-n", "$(x)"} {
		files["work/"+name] = "x"
	}
	for name, text := range files {
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
	for _, entry := range strings.Split(strings.ReplaceAll(string(data), newLine, "\n"), "\x00"+endOfWords+"\x00") {
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
	a := analyse(&Place{}, line)
	var read [][]word
	for i := range a.commands {
		if c := &a.commands[i]; !c.neutral || c.words[0].text == "cat" { // that of a message
			read = append(read, a.commands[i].words)
		}
	}
	if a.opaque || a.odd {
		return "it is not plain"
	}
	left, ok := matched(read, ran)
	if !ok {
		return "it does not run what is read"
	}
	if left > 0 && !strings.Contains(line, "&&") && !strings.Contains(line, "||") {
		return "some of it did not run"
	}
	return ""
}

// matched gives each command that ran one that is read, and returns how many of these are left.
func matched(read [][]word, ran [][]string) (left int, ok bool) {
	if len(ran) == 0 {
		return len(read), true
	}
	for i, words := range read {
		if same(words, ran[0]) {
			if left, ok := matched(slices.Delete(slices.Clone(read), i, i+1), ran[1:]); ok {
				return left, true
			}
		}
	}
	return 0, false
}

// same reports whether words that are read are those that a program got. One with a hole has a
// text that is not known, and one that names files may be any number of names.
func same(words []word, argv []string) bool {
	if len(words) == 0 {
		return len(argv) == 0
	}
	w := words[0]
	if w.names && same(words[1:], argv) {
		return true
	}
	if len(argv) == 0 {
		return false
	}
	switch arg := argv[0]; {
	case w.signs() && intersect(strings.ReplaceAll(w.stem, string(rune(inner)), " ")+string(rune(hole)), arg), w.names && intersect(w.script(), arg):
		return same(words[1:], argv[1:]) || same(words, argv[1:])
	case w.names || !w.holes && w.script() != arg:
		return false
	}
	return same(words[1:], argv[1:])
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
	a := analyse(&Place{}, line)
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
		return "git commit -m \"$(cat <<'EOF'\n" + d.of("A subject", "it's (a 'text')", "say \"it\" (x) `y z`", "# a\n\n'b' #c", "x ()\n\"(y)\" $z \\a", "x\n\n- y", "$(no) \\n !") + "\nEOF\n)\""
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
			"\"a b\"", "\"$V\"", "\"$HOME/x\"", "\"x $V y\"", "\"it's\"", "\"#;&|<>()*?[]{}~^=\"", "\"é—→\"", "'a\nb'", "\"a\n $V\n\nls\"", "'日本'", "-", "--", "a=b", ".",
			"*", "a*", "?b", "*.ts", "x*", "HEAD~1", "HEAD^", "HEAD~1..a^2", "a~b", "--x=*"))
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

// builtinNames are the builtins of the shells, and words that some shell gives a meaning. One that
// a shell does not have is not found there.
const builtinNames = ". : [ alias autoload bg bgetopt bind bindkey break builtin bye caller cat cd chdir command " +
	"compadd compcall compctl compgen complete compopt continue declare dirs disable disown echo echotc echoti " +
	"emulate enable eval exec exit export false fc fg float functions getln getopts global hash help hist history " +
	"integer jobs kill let limit local log logout mapfile mknod nameref noglob popd print printf private pushd pushln " +
	"pwd r read readarray readonly realpath rehash rename return sched set setopt shift shopt sleep source stat " +
	"strftime test times trap true ttyctl type typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt " +
	"vared wait whence where which zcompile zformat zle zmodload zparseopts zregexparse zstat zstyle"

// drawnBuiltins returns plain lines that give a builtin every option and, in several places,
// words that run something, or name or set a variable, where the builtin evaluates them.
func drawnBuiltins() []string {
	var lines []string
	options := []string{"", "--", "-"}
	for c := 'A'; c <= 'z'; c++ {
		if isLetter(byte(c)) {
			options = append(options, "-"+string(c))
		}
	}
	for _, name := range strings.Fields(builtinNames) {
		for _, option := range options {
			call := strings.TrimSpace(name + " " + option)
			for _, args := range []string{"'path[$(mark)]'", "1 'path[$(mark)]'", "x 'path[$(mark)]'", "1 -eq 'path[$(mark)]'", "mark", "mark x",
				"x mark", "'$(mark)'", "NAMED x", "'NAMED=5'", "x NAMED", "1 -eq 'NAMED=5'", "x 'NAMED=5'", "NAMED", "%n NAMED", "x y NAMED"} {
				line := call + " " + args
				if strings.Contains(args, "NAMED") {
					line += "; ls"
				}
				if isPlain(line) {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// No builtin of a shell runs what is in its arguments, or sets a variable for the commands
// behind it, on a plain line.
func TestBuiltinsOfShells(t *testing.T) {
	lines := drawnBuiltins()
	part := 3
	if testing.Short() {
		part = 24
	}
	r := rand.New(rand.NewPCG(15, 2))
	lines = slices.DeleteFunc(lines, func(string) bool { return r.IntN(part) > 0 })
	refused := map[string][]string{ // the test sees what such lines do
		"bash":    {"printf -v NAMED x; ls", "read -r NAMED; ls", "mapfile -c 1 -C mark x", "printf 'x%n' NAMED; ls", "compgen -W '$(mark)'", "wait -p NAMED; ls"},
		"dash":    {"read -r NAMED; ls", "getopts x NAMED -x; ls", "export NAMED=x; ls"},
		"zsh":     {"exit 'path[$(mark)]'", "read -r NAMED; ls", "printf %d 'NAMED=5'; ls", "print -v NAMED x; ls", "emulate sh -c mark"},
		"mksh":    {"shift 'path[$(mark)]'", "read -r NAMED; ls", "unset NAMED; ls", "[ 1 -eq 'NAMED=5' ]; ls"},
		"busybox": {"read -r NAMED; ls", "let NAMED=5; ls"},
	}
	for _, sh := range shellsUnderTest {
		if _, err := exec.LookPath(sh.args[0]); err != nil {
			t.Logf("not run: %s is not installed", sh.name)
			continue
		}
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			for _, line := range refused[sh.args[0]] {
				if isPlain(line) {
					t.Errorf("%q is plain", line)
				}
			}
			if seen := marked(t, sh.args, refused[sh.args[0]]); !slices.Equal(seen, refused[sh.args[0]]) {
				t.Errorf("the test sees only what %q do", seen)
			}
			for _, line := range marked(t, sh.args, lines) {
				t.Errorf("%q is plain, and runs something else or sets a variable", line)
			}
		})
	}
}

// marked runs lines in a shell, each in a subshell, and returns those that ran the function
// mark or changed the variable NAMED.
func marked(t *testing.T, shell, lines []string) []string {
	t.Helper()
	dir := t.TempDir()
	var script strings.Builder
	script.WriteString("mark() { echo $LINE >>../log; }\nls() { :; }\nNAMED=v\n")
	for i, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		fmt.Fprintf(&script, "command -v %s >/dev/null && (LINE=%d; %s\n[ \"$NAMED\" = v ] || mark) <in >/dev/null 2>&1\n", name, i, line)
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"work/in": "x y\n", "script": script.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), shell[0], append(slices.Clone(shell[1:]), "../script")...)
	cmd.Dir, cmd.Env = work, []string{"PATH=/nonexistent", "HOME=" + work, "LC_ALL=C.UTF-8"}
	if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(err.Error(), "exit status") {
		t.Fatalf("%v\n%s", err, out)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	var found []string
	for _, n := range slices.Compact(strings.Fields(string(log))) {
		var i int
		if _, err := fmt.Sscan(n, &i); err == nil && i < len(lines) {
			found = append(found, lines[i])
		}
	}
	return found
}

package policy

import (
	"slices"
	"strings"
)

// wrappers are programs that run the program named in their arguments. Deny
// and ask are tried on every tail of their words, so that no table of their
// options can be incomplete.
var wrappers = set("env timeout time nice nohup stdbuf command exec sudo xargs " +
	"builtin noglob nocorrect repeat - doas su runuser pkexec setsid ionice chrt taskset unshare nsenter chroot " +
	"flock watch strace ltrace script parallel busybox toybox entr setarch prlimit systemd-run dbus-run-session " +
	"caffeinate arch firejail bwrap proot fakeroot rush torsocks proxychains proxychains4 unbuffer " +
	"npx bunx pnpx uvx pipx corepack direnv mise asdf nix-shell with-contenv")

// shellWrappers give words of their arguments to a shell, so that what these say of files counts, those of
// scriptOptions behind an option (their manuals). Of long options a beginning is enough to some.
var (
	shellWrappers = set("watch parallel rush entr firejail")
	scriptOptions = map[string][]string{
		"su": {"-c", "--command", "--session-command"}, "runuser": {"-c", "--command", "--session-command"},
		"flock": {"-c", "--command"}, "script": {"-c", "--command"}, "npx": {"-c", "--call"},
		"pnpx": {"-c", "--shell-mode"}, "nix-shell": {"--run", "--command"}, "mise": {"-c", "--command"},
	}
)

// ShellGets reports whether a wrapper, the first of some words, gives others of them to a shell.
func ShellGets(words []string) bool {
	name := base(words[0])
	return shellWrappers[name] || slices.ContainsFunc(words[1:], func(w string) bool {
		option, _, _ := strings.Cut(w, "=")
		return slices.ContainsFunc(scriptOptions[name], func(o string) bool {
			if long := strings.HasPrefix(o, "--"); long || strings.HasPrefix(option, "--") {
				return long && len(option) > 2 && strings.HasPrefix(o, option)
			}
			return strings.HasPrefix(option, "-") && strings.Contains(option, o[1:]) // -lc, or the text behind it
		})
	})
}

// finders run the program that follows one of their options.
var finders = set("find fd fdfind gfind")

var finderOptions = set("-exec -execdir -ok -okdir -x -X --exec --exec-batch")

// feeders are wrappers that add arguments of their own to what they run.
var feeders = set("xargs parallel find fd fdfind entr rush")

// Feeds reports whether a program adds arguments of its own to the programs that it runs.
func Feeds(program string) bool { return feeders[base(program)] }

// Runs reports whether a program runs what its arguments say: a wrapper or a shell.
func Runs(program string) bool {
	name := base(program)
	return wrappers[name] || finders[name] || shells[name] || foreignShells[name] || name == "eval" || name == "trap"
}

// changers are builtins of shells that change what another command means, or run their arguments.
var changers = strings.Fields("alias builtin cd command coproc declare eval exec export let local noglob printf read " +
	"readonly repeat set source test trap typeset ulimit unset wait")

// Changers returns them, in order: no text of a rule says what a line does that begins with one.
func Changers() []string { return changers }

// Runners returns the names, in order, of the programs whose names a pattern takes and that run what their arguments
// say; none where it has no "*".
func Runners(pattern string) (out []string) {
	if !strings.Contains(pattern, "*") {
		return nil
	}
	pattern = base(pattern)
	for _, names := range []map[string]bool{wrappers, finders, shells, foreignShells, set("eval trap")} {
		for name := range names {
			if Wildcard(pattern, name) || Wildcard(pattern, name+".exe") {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// shells read POSIX shell or a language that contains it.
var shells = set("sh bash dash zsh ksh ksh93 mksh ash rbash rzsh yash posh")

// IsShell reports whether a program is a shell, of whatever family.
func IsShell(program string) bool { return shells[base(program)] || foreignShells[base(program)] }

// foreignShells read another language: what they run is not known.
var foreignShells = set("fish pwsh powershell powershell.exe pwsh.exe cmd cmd.exe nu elvish xonsh tcsh csh rc es")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// base is the name by which a program is known: without its folder, in lower
// case (file systems may not tell "GIT" from "git") and without ".exe".
func base(program string) string {
	name := program[strings.LastIndexAny(program, `/\`)+1:]
	return strings.TrimSuffix(lowerASCII(name), ".exe")
}

// programs returns the places in a command where a program that it runs may
// stand, its own first. Behind a wrapper that is understood whole it stands at one.
func programs(words []word) []int {
	at, own := []int{0}, 0
	for n := transparent(words); n > 0; n = transparent(words[own:]) {
		own += n
		at = append(at, own)
	}
	first := base(words[own].text)
	any := wrappers[first]
	if !any && !finders[first] {
		return at
	}
	for i := own + 1; i < len(words); i++ {
		t := words[i].text
		found := any && t != "" && t[0] != '-' || finderOptions[words[i-1].text]
		if found {
			at = append(at, i)
		}
		any = any || found && wrappers[base(t)]
	}
	return at
}

// feedsArguments reports whether any wrapper in the command adds arguments. One that finds
// files adds them to what it runs only, by an option.
func feedsArguments(words []word) bool {
	if b := base(words[0].text); !wrappers[b] && !finders[b] {
		return false
	}
	runs := slices.ContainsFunc(words, func(w word) bool { return finderOptions[w.text] })
	return slices.ContainsFunc(words, func(w word) bool {
		b := base(w.text)
		return feeders[b] && (runs || !finders[b])
	})
}

// withHoles returns the words of a feeder with holes where it puts arguments
// of its own: at "{}", at what -I names, and at parallel's "{1}" and "{.}".
func withHoles(words []word) []word {
	marks := []string{"{}"}
	for i, w := range words {
		switch t := w.text; {
		case (t == "-I" || t == "-J") && i+1 < len(words):
			marks = append(marks, words[i+1].text)
		case strings.HasPrefix(t, "-I"), strings.HasPrefix(t, "-J"), strings.HasPrefix(t, "-i"):
			marks = append(marks, t[2:])
		case strings.HasPrefix(t, "--replace="):
			marks = append(marks, t[len("--replace="):])
		}
	}
	out := make([]word, len(words))
	for i, w := range words {
		for _, m := range marks {
			if m != "" && strings.Contains(w.text, m) {
				w.text, w.holes = strings.ReplaceAll(w.text, m, string(rune(hole))), true
			}
		}
		if open := strings.IndexByte(w.text, '{'); open >= 0 {
			w.text, w.holes = w.text[:open]+string(rune(hole)), true
		}
		out[i] = w
	}
	return out
}

// transparent returns how many words a wrapper that an allow may strip takes
// in front of the program it runs. It returns 0 for words that are not such a
// wrapper, or contain an option that may change more than time and buffers.
func transparent(words []word) int {
	if len(words) < 2 {
		return 0
	}
	options := wrapperOptions[words[0].text]
	if options == nil {
		return 0
	}
	w := wrapperWords{words: words, i: 1}
	if !options(&w) || w.i >= len(words) {
		return 0
	}
	if t := w.next(); t == "" || t[0] == '-' {
		return 0
	}
	return w.i
}

// IsWrapper reports whether a program only runs another command, and its options are known: timeout,
// time, nice, nohup, stdbuf.
func IsWrapper(program string) bool { return wrapperOptions[program] != nil }

// wrapperOptions step over the options of a wrapper; false where one is missing.
var wrapperOptions = map[string]func(*wrapperWords) bool{
	"timeout": func(w *wrapperWords) bool {
		for w.valued("ks", "--kill-after", "--signal") || timeoutFlags[w.next()] {
			if timeoutFlags[w.next()] {
				w.i++
			}
		}
		if !isDuration(w.next()) {
			return false
		}
		w.i++
		return true
	},
	"nice": func(w *wrapperWords) bool {
		if t := w.next(); len(t) > 1 && t[0] == '-' && strings.Trim(t[1:], "0123456789") == "" {
			w.i++
		} else {
			w.valued("n", "--adjustment")
		}
		return true
	},
	"stdbuf": func(w *wrapperWords) bool {
		for w.valued("ioe", "--input", "--output", "--error") {
		}
		return true
	},
	"time": func(w *wrapperWords) bool {
		if w.next() == "-p" {
			w.i++
		}
		return true
	},
	"nohup": func(*wrapperWords) bool { return true },
}

// wrapperWords reads the words of a wrapper one after the other.
type wrapperWords struct {
	words []word
	i     int
}

// next returns the word that is not read yet, "" at the end and where the word is not
// known as a whole.
func (w *wrapperWords) next() string {
	if w.i < len(w.words) && !w.words[w.i].holes {
		return w.words[w.i].text
	}
	return ""
}

// valued steps over an option with a value: one of the letters in short, or a long one with
// "=". It returns false where there is none.
func (w *wrapperWords) valued(short string, long ...string) bool {
	t := w.next()
	for _, l := range long {
		if strings.HasPrefix(t, l+"=") {
			w.i++
			return true
		}
	}
	if len(t) < 2 || t[0] != '-' || strings.IndexByte(short, t[1]) < 0 {
		return false
	}
	w.i++
	if len(t) > 2 {
		return true
	}
	if w.next() == "" {
		return false
	}
	w.i++
	return true
}

var timeoutFlags = set("--foreground --preserve-status -v --verbose")

// isDuration reports whether s is a number with a unit of timeout.
func isDuration(s string) bool {
	digits := strings.TrimRight(s, "smhd")
	return digits != "" && len(s)-len(digits) <= 1 && strings.Trim(digits, "0123456789.") == ""
}

// gitValues are git's global options that take the next word.
var gitValues = set("-C -c --git-dir --work-tree --namespace --super-prefix --config-env --exec-path " +
	"--attr-source --list-cmds")

// gitGlobals returns how many words in front of git's subcommand are global
// options.
func gitGlobals(words []word) int {
	for i := 0; i < len(words); i++ {
		t := words[i].text
		if !strings.HasPrefix(t, "-") {
			return i
		}
		if gitValues[t] {
			i++
		}
	}
	return len(words)
}

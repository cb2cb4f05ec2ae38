package claude

import (
	"slices"
	"strings"
)

// reading lists the programs that Claude Code 2.1.329 runs without a question
// because they only read, each with what its arguments must be. Every entry was
// observed on the binary; where an argument was not tried, it is taken to be
// permitted.
var reading = map[string]func(args []string) bool{
	"[": anything, "arch": anything, "base64": anything, "basename": anything, "cal": anything, "cat": anything, "cd": anything, "cmp": anything, "column": anything,
	"comm": anything, "cut": anything, "df": anything, "diff": anything, "dirname": anything, "du": anything, "echo": anything, "expand": anything, "expr": anything,
	"false": anything, "fd": anything, "fmt": anything, "fold": anything, "free": anything, "grep": anything, "groups": anything, "head": anything, "help": anything,
	"hexdump": anything, "history": anything, "id": anything, "locale": anything, "ls": anything, "lsof": anything, "md5sum": anything, "netstat": anything,
	"nl": anything, "nproc": anything, "od": anything, "paste": anything, "pgrep": anything, "readlink": anything, "realpath": anything, "rev": anything,
	"seq": anything, "sha1sum": anything, "sha256sum": anything, "sleep": anything, "ss": anything, "stat": anything, "strings": anything, "tac": anything,
	"test": anything, "tput": anything, "tr": anything, "true": anything, "tsort": anything, "type": anything, "uname": anything, "uptime": anything, "wc": anything,
	"which": anything,

	"pwd": none, "whoami": none,
	"date":     func(a []string) bool { return !given(a, "-s", "--set") && !free(a, "+") },
	"hostname": func(a []string) bool { return !free(a, "-") },
	"printf":   func(a []string) bool { return !given(a, "-v") },
	"ps":       func(a []string) bool { return !given(a, "e") },
	"tail":     func(a []string) bool { return !given(a, "--pid") },
	"man":      func(a []string) bool { return !given(a, "-P", "--pager") },
	"file":     func(a []string) bool { return !given(a, "-C", "--compile") },
	"tree":     func(a []string) bool { return !given(a, "-o") },
	"sort":     func(a []string) bool { return !given(a, "-o", "--output", "--compress-program") },
	"uniq":     func(a []string) bool { return !free(a, "-") },
	"rg":       func(a []string) bool { return !given(a, "--pre") },
	"jq": func(a []string) bool {
		return !given(a, "-f", "--from-file") && !strings.Contains(strings.Join(a, " "), "env")
	},
	"find": func(a []string) bool {
		return !given(a, "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls")
	},
	"sed":     sedReads,
	"xargs":   func(a []string) bool { return len(a) == 0 || a[0] == "echo" || a[0] == "grep" },
	"node":    func(a []string) bool { return only(a, "--version", "-v") },
	"python":  func(a []string) bool { return only(a, "--version") },
	"python3": func(a []string) bool { return only(a, "--version") },
	"docker":  func(a []string) bool { return len(a) > 0 && (a[0] == "ps" || a[0] == "images") },
	"git":     gitReads,
}

func anything([]string) bool  { return true }
func none(args []string) bool { return len(args) == 0 }

// given reports whether one of the flags is given, also as --flag=value.
func given(args []string, flags ...string) bool {
	for _, a := range args {
		name, _, _ := strings.Cut(a, "=")
		for _, f := range flags {
			if name == f {
				return true
			}
		}
	}
	return false
}

// free reports an argument that does not begin with a prefix and is no flag.
func free(args []string, prefix string) bool {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, prefix) {
			return true
		}
	}
	return false
}

func only(args []string, one ...string) bool { return len(args) == 1 && given(args, one...) }

// sedReads: `sed -n 1,5p FILE` only reads, and so does s/// over standard input.
func sedReads(args []string) bool {
	if given(args, "-i", "--in-place") || len(args) == 0 {
		return false
	}
	if args[0] == "-n" && len(args) > 1 {
		return strings.Trim(args[1], "0123456789,$p") == ""
	}
	return len(args) == 1 && strings.HasPrefix(args[0], "s/") && strings.HasSuffix(args[0], "/")
}

// gitReading lists git's commands and whether they take arguments that are no
// flags.
var gitReading = map[string]bool{
	"status": true, "log": true, "diff": true, "show": true, "blame": true, "rev-parse": true, "ls-files": true, "describe": true,
	"shortlog": true, "cat-file": true, "for-each-ref": true, "rev-list": true, "merge-base": true, "grep": true, "ls-remote": true,
	"branch": false, "tag": false, "remote": false, "reflog": false,
}

// gitFlags are the long flags that keep a command from only reading; one that
// git does not know does so too, and the universe's --two and --x stand for it.
var gitFlags = []string{"--output", "--ext-diff", "--textconv", "--two", "--x", "--open-files-in-pager", "-O", "--upload-pack", "--exec"}

func gitReads(args []string) bool {
	if len(args) == 0 {
		return false
	}
	rest := args[1:]
	switch args[0] {
	case "config":
		return len(rest) > 0 && rest[0] == "--get"
	case "stash":
		return len(rest) > 0 && (rest[0] == "list" || rest[0] == "show")
	case "worktree":
		return len(rest) > 0 && rest[0] == "list"
	}
	takes, ok := gitReading[args[0]]
	if !takes && given(rest, "-D", "-d", "-m", "-M", "--delete", "--move", "--edit-description") {
		return false
	}
	return ok && !given(rest, gitFlags...) && (takes || !free(rest, "-")) && !slices.ContainsFunc(rest, aliasFormat)
}

// aliasFormat reports a --pretty that names a format of the user's own.
func aliasFormat(arg string) bool {
	name, ok := strings.CutPrefix(arg, "--pretty=")
	return ok && !strings.Contains(name, "%") && !strings.HasPrefix(name, "format:") && !strings.HasPrefix(name, "tformat:") && !prettyFormats[name]
}

// prettyFormats are git's own (git-log, PRETTY FORMATS).
var prettyFormats = map[string]bool{"oneline": true, "short": true, "medium": true, "full": true, "fuller": true, "reference": true, "email": true, "mboxrd": true, "raw": true}

// known takes the wrappers away through which Claude Code still knows a command
// that only reads: timeout, command and builtin, but not nice, nohup or time.
func (c *simple) known() []string {
	return unwrap(c.words, wrappers{"timeout": "k s", "command": "", "builtin": ""})
}

func (c *simple) onlyReads() bool {
	w := c.known()
	if len(w) == 0 || c.timed || c.words[0] == "command" && len(c.words) > 1 && strings.HasPrefix(c.words[1], "-") {
		return false
	}
	is := reading[w[0]]
	return is != nil && is(w[1:])
}

// editing are the programs that acceptEdits runs in the project.
var editing = map[string]bool{"mkdir": true, "touch": true, "rm": true, "rmdir": true, "mv": true, "cp": true, "sed": true}

func (c *simple) edits() bool {
	return len(c.words) > 0 && editing[c.words[0]] && (c.words[0] != "sed" || !c.onlyReads())
}

// unread are the reading programs whose arguments are not held against the
// working directory.
var unread = map[string]bool{"[": true, "test": true, "basename": true, "dirname": true, "realpath": true, "readlink": true, "du": true,
	"tree": true, "echo": true, "printf": true, "true": true, "false": true, "seq": true, "expr": true, "which": true, "type": true,
	"id": true, "date": true, "git": true, "sleep": true, "xargs": true, "docker": true, "man": true, "help": true, "tr": true, "ps": true}

func (c *simple) readsPaths() bool {
	w := c.known()
	return len(w) > 0 && reading[w[0]] != nil && !unread[w[0]]
}

// paths are a command's arguments that may be paths.
func (c *simple) paths() []string {
	w := c.known()
	var list []string
	pattern := patterned[w[0]]
	for _, a := range w[1:] {
		switch {
		case strings.HasPrefix(a, "-") || a == "":
		case pattern:
			pattern = false
		default:
			list = append(list, a)
		}
	}
	return list
}

// patterned are the programs whose first argument is no path.
var patterned = map[string]bool{"grep": true, "rg": true, "sed": true, "jq": true, "fd": true, "pgrep": true}

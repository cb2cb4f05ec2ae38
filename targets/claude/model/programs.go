package model

import (
	"slices"
	"strings"
)

// reading contains the programs that Claude Code 2.1.329 runs without a question because
// they only read, each with a check of its arguments. Every entry was observed on the
// binary. Arguments that were not tried are taken to be permitted.
var reading = withAnyArguments(map[string]func(args []string) bool{
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
}, "[ arch base64 basename cal cat cd cmp column comm cut df diff dirname du echo expand expr false fd fmt fold free "+
	"grep groups head help hexdump history id locale ls lsof md5sum netstat nl nproc od paste pgrep readlink realpath "+
	"rev seq sha1sum sha256sum sleep ss stat strings tac test tput tr true tsort type uname uptime wc which")

// withAnyArguments adds programs whose arguments do not matter.
func withAnyArguments(all map[string]func([]string) bool, names string) map[string]func([]string) bool {
	for name := range strings.FieldsSeq(names) {
		all[name] = func([]string) bool { return true }
	}
	return all
}

func none(args []string) bool { return len(args) == 0 }

// given reports whether one of the flags is given, also as --flag=value.
func given(args []string, flags ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(flags, name)
	})
}

// free reports whether there is an argument that does not begin with a prefix and is not
// a flag.
func free(args []string, prefix string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, prefix)
	})
}

func only(args []string, one ...string) bool { return len(args) == 1 && given(args, one...) }

// sedReads reports whether sed only reads: `sed -n 1,5p FILE`, and s/// over standard
// input.
func sedReads(args []string) bool {
	if given(args, "-i", "--in-place") || len(args) == 0 {
		return false
	}
	if args[0] == "-n" && len(args) > 1 {
		return strings.Trim(args[1], "0123456789,$p") == ""
	}
	return len(args) == 1 && strings.HasPrefix(args[0], "s/") && strings.HasSuffix(args[0], "/")
}

// gitReading lists git's commands that only read, and whether they do so with arguments
// that are not flags.
var gitReading = map[string]bool{
	"status": true, "log": true, "diff": true, "show": true, "blame": true, "rev-parse": true, "ls-files": true,
	"describe": true, "shortlog": true, "cat-file": true, "for-each-ref": true, "rev-list": true, "merge-base": true,
	"grep": true, "ls-remote": true,
	"branch": false, "tag": false, "remote": false, "reflog": false,
}

// gitFlags are the long flags with which a command does more than reading. A flag that git
// does not know has the same effect: the witnesses' --two and --x stand for it.
var gitFlags = []string{
	"--output", "--ext-diff", "--textconv", "--two", "--x", "--open-files-in-pager", "-O", "--upload-pack", "--exec",
}

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
	anyArguments, ok := gitReading[args[0]]
	switch {
	case !ok, given(rest, gitFlags...), slices.ContainsFunc(rest, aliasFormat):
		return false
	case anyArguments:
		return true
	}
	return !given(rest, "-D", "-d", "-m", "-M", "--delete", "--move", "--edit-description") && !free(rest, "-")
}

// aliasFormat reports whether an argument is a --pretty that names a format of the user's
// own.
func aliasFormat(arg string) bool {
	name, ok := strings.CutPrefix(arg, "--pretty=")
	own := strings.Contains(name, "%") || strings.HasPrefix(name, "format:") || strings.HasPrefix(name, "tformat:")
	return ok && !own && !slices.Contains(prettyFormats, name)
}

// prettyFormats are git's own (git-log, PRETTY FORMATS).
var prettyFormats = []string{
	"oneline", "short", "medium", "full", "fuller", "reference", "email", "mboxrd", "raw",
}

// known returns the words of a command without the wrappers through which Claude Code still
// knows a command that only reads: timeout, command and builtin, but not nice, nohup or
// time.
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
var editing = []string{"mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"}

func (c *simple) edits() bool {
	return len(c.words) > 0 && slices.Contains(editing, c.words[0]) && (c.words[0] != "sed" || !c.onlyReads())
}

// unread are the reading programs whose arguments are not held against the working
// directory.
var unread = strings.Fields("[ test basename dirname realpath readlink du tree echo printf true false seq expr " +
	"which type id date git sleep xargs docker man help tr ps")

func (c *simple) readsPaths() bool {
	w := c.known()
	return len(w) > 0 && reading[w[0]] != nil && !slices.Contains(unread, w[0])
}

// paths are a command's arguments that may be paths.
func (c *simple) paths() []string {
	w := c.known()
	var list []string
	pattern := slices.Contains(patterned, w[0])
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

// patterned are the programs whose first argument is not a path.
var patterned = []string{"grep", "rg", "sed", "jq", "fd", "pgrep"}

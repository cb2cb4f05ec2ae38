package policy

import "strings"

// shellBuiltin is what keeps a command that a shell does by itself from being plain.
type shellBuiltin struct {
	// refuses reports whether an argument may run something or set a variable, by its place and
	// text. One whose text is not known always may.
	refuses func(at int, text string) bool
	// changes reports whether the command may change what another one of the line means.
	changes func(args []plainWord) bool
}

// builtinsOfShells are the commands that some shell does by itself and that do more than their
// arguments say. TestBuiltins runs every builtin of the installed shells and finds what is
// missing here. Behind the builtin "command" they count too.
//
//   - Arithmetic: a shell evaluates the argument, so that 'path[$(cmd)]' runs cmd and 'HOME=1'
//     sets a variable (test, printf, exit, shift, ulimit, … in zsh or mksh).
//   - Names: a shell sets the variable that the argument names, and evaluates an index in it
//     (read, printf -v, getopts, wait -p, …). A line with other commands is not plain then: with
//     another HOME git reads another configuration, with another PATH there are other programs.
//   - Meanings: the command changes functions, aliases, options, where programs are found, or
//     keys, and so what the other commands of the line are.
//   - Callbacks: the command runs an argument of its own (mapfile -C, jobs -x, complete -C), or
//     loads code.
var builtinsOfShells = func() map[string]shellBuiltin {
	m := map[string]shellBuiltin{}
	add := func(names string, b shellBuiltin) {
		for name := range set(names) {
			m[name] = b
		}
	}
	// What counts or leaves takes a number, which zsh and mksh evaluate as arithmetic.
	add("exit return break continue shift logout bye", shellBuiltin{refuses: notNumber})
	// Arithmetic in an operand: `[ x -eq 'path[$(cmd)]' ]`. An index or a substitution is needed to
	// run something, "=" or "++" to set a variable.
	add("test [ ulimit limit unlimit", shellBuiltin{refuses: evaluated, changes: assigning})
	add("cd chdir pushd popd dirs", shellBuiltin{refuses: evaluated})
	// printf -v NAME and "%n" set a variable, and numbers are arithmetic.
	add("printf", shellBuiltin{refuses: evaluated, changes: formatting})
	// wait -p NAME sets one.
	add("wait", shellBuiltin{refuses: evaluated, changes: withOption})
	// They set the variables that they name, or others (print -v, vared, "getopts" OPTARG).
	add("read getopts export declare typeset local readonly unset let global private set print vared "+
		" zparseopts zformat zstyle zstat sysread sysopen syswrite sysseek zselect zsystem strftime pcre_match "+
		"ztie zuntie zgdbmpath ztcp zsocket zcurses getln pushln",
		shellBuiltin{refuses: evaluated, changes: always})
	// They change what a name stands for, where programs are found, or how a line is read.
	add("hash rehash unhash enable disable shopt setopt unsetopt unalias unfunction functions bindkey "+
		" ttyctl",
		shellBuiltin{refuses: evaluated, changes: always})
	// jobs -x runs a command.
	add("jobs", shellBuiltin{refuses: func(_ int, text string) bool {
		return strings.HasPrefix(text, "-") && strings.Contains(text, "x") || evaluated(0, text)
	}})
	// They run what they are given, now or later, or load code: no line with them is plain.
	never := shellBuiltin{refuses: func(int, string) bool { return true }, changes: always}
	add("mapfile readarray fc hist history r compgen complete compopt compctl bind enable zmodload "+
		"autoload emulate sched zle zpty zregexparse zcompile redirect", never)
	return m
}()

func notNumber(_ int, text string) bool { return text == "" || strings.Trim(text, "0123456789") != "" }

func evaluated(_ int, text string) bool { return strings.ContainsAny(text, "[$`") }

func always([]plainWord) bool { return true }

// assigning reports whether an argument may be arithmetic that sets a variable.
func assigning(args []plainWord) bool {
	for _, w := range args {
		if w.text != "=" && w.text != "==" && strings.Contains(w.text, "=") ||
			strings.Contains(w.text, "++") || strings.Contains(w.text, "--") {
			return true
		}
	}
	return false
}

// formatting reports whether a printf may set a variable: by an option, by the count "%n" in
// its format, or by arithmetic.
func formatting(args []plainWord) bool {
	if len(args) == 0 {
		return false
	}
	if format := args[0].text; strings.HasPrefix(format, "-") || counts(format) {
		return true
	}
	return assigning(args[1:])
}

// counts reports whether a format has a "%n", with flags and sizes.
func counts(format string) bool {
	for _, field := range strings.Split(format, "%")[1:] {
		if strings.HasPrefix(strings.TrimLeft(field, "-+ #'0123456789.*$hlLqjzt"), "n") {
			return true
		}
	}
	return false
}

// withOption reports whether there is an option among arguments.
func withOption(args []plainWord) bool {
	for _, w := range args {
		if strings.HasPrefix(w.text, "-") {
			return true
		}
	}
	return assigning(args)
}

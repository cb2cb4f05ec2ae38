package lastmatch

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// NoArgs reports what no command line says: an agent is started by variables.
func (a *Agent) NoArgs(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) (diags diag.List) {
	r := in.Project.Role(ref.Role)
	switch {
	case opt.FlagsOnly:
		diags.Errorf(a.Codes.NoFlags, diag.Pos{}, "%s takes no permissions as flags", a.Title).
			Hint("leave out --flags-only").
			Target(a.Name).
			Subject(ref.String())
	case r != nil && ref.Mode != "":
		diags.Errorf(a.Codes.NoFlags, r.Pos, "%s starts no session as a role in a mode", a.Title).
			Hint("start it as the role, and turn to the mode in it").
			Target(a.Name).
			Subject(ref.String())
	}
	return diags
}

// Launch is what starts a session.
type Launch struct {
	// Content is the file of the session in one line, "" for a subject that says nothing.
	Content   string
	Variables []string // the subject's own, as NAME=VALUE
	// Agents and Servers are the names of those that the session has, none where its subject is a text alone.
	Agents, Servers []string
}

// mostVariable is how long the text of a variable may be: Linux has 128 KiB for it, with its name.
const mostVariable = 128*1024 - 64

// Launch returns what starts a session of a subject.
func (a *Agent) Launch(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) (l Launch, _ diag.List) {
	e := New(a, in)
	e.root, e.copies = filepath.ToSlash(opt.Root), opt.Copies
	var s Session
	says := false
	var at diag.Pos
	// AGENTS.md is read with the project's files alone.
	instructions := []string{filepath.Join(opt.Root, "AGENTS.md")}
	switch r, m := in.Project.Role(ref.Role), in.Project.Mode(ref.Mode); {
	case r != nil:
		at = r.Pos
		if w, ok := e.quiet().compile(ref, at); ok {
			s, says = e.quiet().roleSession(r, w)
		}
		if r.AppendSystemPrompt != "" && opt.Copies != nil {
			text := contract.File{Path: contract.PathName(r.Name) + ".md", Data: []byte(r.AppendSystemPrompt + "\n")}
			instructions, says = append(instructions, opt.Copies.Put(text)), true
		}
		for _, k := range slices.Sorted(maps.Keys(r.Env)) {
			l.Variables = append(l.Variables, k+"="+r.Env[k])
		}
	case m != nil:
		at = m.Pos
		if w, ok := e.quiet().compile(ref, at); ok {
			s, says = e.quiet().modeSession(m, w)
		}
	}
	if !says {
		return l, nil
	}
	s.Instructions = instructions
	var content bytes.Buffer
	if err := json.Compact(&content, e.SessionText(s)); err != nil {
		e.Diags.Errorf(a.Codes.NoFlags, at, "%v", err).Target(a.Name).Subject(ref.String())
		return Launch{}, e.Diags
	}
	if content.Len() > mostVariable {
		e.Diags.Errorf(a.Codes.NoFlags, at, "%s takes %s from a variable, which is too short for its %d bytes", a.Title,
			ref, content.Len()).
			Hint("have the role enter fewer modes").
			Target(a.Name).
			Subject(ref.String())
		return Launch{}, e.Diags
	}
	l.Content, l.Agents, l.Servers = content.String(), names(s.Agents), names(e.of(s))
	return l, e.Diags
}

// names returns the keys of an object.
func names(o contract.Object) (out []string) {
	for i := 0; i < len(o); i += 2 {
		if key, ok := o[i].(string); ok {
			out = append(out, key)
		}
	}
	return out
}

// Switches are the options of opencode 1.18 and Kilo 7.7 by which a command line takes away what a session holds. Only
// Kilo has worktrees, and opencode takes no option that it does not know.
var Switches = map[string]string{
	"--agent":  "the session begins as another agent",
	"--attach": "the session is one of another server, which has settings of its own",
	"--auto":   answersYes,
	// Other names of it, which no help shows.
	"--dangerously-skip-permissions": answersYes,
	"--dangerouslySkipPermissions":   answersYes,
	"--yolo":                         answersYes,
	"--dir":                          anotherFolder,
	"--worktree":                     anotherFolder,
}

const (
	answersYes    = "it answers every question with yes"
	anotherFolder = "the session is in another folder"
)

// valued are the options before a command that take the argument behind them.
var valued = []string{"--cors", "--hostname", "--log-level", "--mdns-domain", "--model", "--port", "--prompt",
	"--replay-limit", "--session", "-m", "-s"}

// Replaced returns what of a command line takes away what a session holds. After some words the agent starts none, or
// one whose clients have permissions of their own: they are the first one that is no option, wherever it stands.
func Replaced(own, commands []string) (contract.Replacement, bool) {
	running := false
	for i := 0; i < len(own); i++ {
		arg := own[i]
		option, _, joined := strings.Cut(arg, "=")
		switch does := Switches[option]; {
		case running && arg == "--", arg == "--" && i == len(own)-1:
			return contract.Replacement{}, false
		case arg == "--": // it only ends the options
			return inFolder(own[i+1]), true
		case does != "":
			return contract.ByOption(option, does), true
		case strings.HasPrefix(arg, "-"):
			if !joined && slices.Contains(valued, option) && i+1 < len(own) && !strings.HasPrefix(own[i+1], "-") {
				i++
			}
		case running || arg == "run":
			running = true
		case slices.Contains(commands, arg):
			return contract.ByCommand(arg), true
		default:
			return inFolder(arg), true
		}
	}
	return contract.Replacement{}, false
}

// inFolder is a folder on a command line.
func inFolder(dir string) contract.Replacement {
	return contract.Replacement{What: dir, Does: anotherFolder, Instead: "start it in the folder of the project"}
}

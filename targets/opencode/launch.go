package opencode

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

// Args returns no arguments: a command line names an agent, and the variables of Environment the one to begin with.
func (opencode) Args(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	var diags diag.List
	r := in.Project.Role(ref.Role)
	switch {
	case opt.FlagsOnly:
		diags.Errorf(codeNoFlags, diag.Pos{}, "opencode takes no permissions as flags").
			Hint("leave out --flags-only").
			Target(name).
			Subject(ref.String())
	case r != nil && ref.Mode != "":
		diags.Errorf(codeNoFlags, r.Pos, "opencode starts no session as a role in a mode").
			Hint("start it as the role, and turn to the mode in it").
			Target(name).
			Subject(ref.String())
	}
	return nil, diags
}

// mostVariable is how long the text of a variable may be: Linux has 128 KiB for it, with its name.
const mostVariable = 128*1024 - 64

// Environment returns the variables that start a session of a subject: what it may do stands behind every file of the
// user's own, and the files of the project are not read, whatever they say.
func (opencode) Environment(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	e := newEmitter(in)
	var s session
	says := false
	var at diag.Pos
	root := opt.Root
	if root == "" {
		var err error
		if root, err = filepath.Abs(opt.Dir); err != nil {
			root = opt.Dir
		}
	}
	e.root = filepath.ToSlash(root)
	instructions := []string{filepath.Join(root, "AGENTS.md")} // which opencode reads with the project's files alone
	var vars []string
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
			vars = append(vars, k+"="+r.Env[k])
		}
	case m != nil:
		at = m.Pos
		if w, ok := e.quiet().compile(ref, at); ok {
			s, says = e.quiet().modeSession(m, w)
		}
	}
	if !says {
		return vars, nil // the subject says nothing
	}
	s.instructions = instructions
	var content bytes.Buffer
	if err := json.Compact(&content, e.sessionText(s)); err != nil {
		e.diags.Errorf(codeNoFlags, at, "%v", err).Target(name).Subject(ref.String())
		return nil, e.diags
	}
	if content.Len() > mostVariable {
		e.diags.Errorf(codeNoFlags, at, "opencode takes %s from a variable, which is too short for its %d bytes", ref,
			content.Len()).
			Hint("have the role enter fewer modes").
			Target(name).
			Subject(ref.String())
		return nil, e.diags
	}
	return append(vars, "OPENCODE_CONFIG_CONTENT="+content.String(), "OPENCODE_DISABLE_PROJECT_CONFIG=1",
		"OPENCODE_PERMISSION=", "OPENCODE_TEST_MANAGED_CONFIG_DIR="), nil
}

// switches are the options of opencode 1.18 by which a command line takes away what a session holds.
var switches = map[string]string{
	"--agent":  "the session begins as another agent",
	"--attach": "the session is one of another server, which has settings of its own",
	"--auto":   "it answers every question with yes",
	"--dir":    "the session is in another folder",
}

// commands are the words after which opencode starts no session, or one whose clients have permissions of their own.
var commands = []string{"acp", "agent", "attach", "auth", "completion", "db", "debug", "export", "github", "import",
	"mcp", "models", "plugin", "plug", "pr", "providers", "serve", "session", "stats", "uninstall", "upgrade", "web"}

// Replaces returns what a person's command line would take away.
func (opencode) Replaces(line contract.CommandLine) (contract.Replacement, bool) {
	for i, arg := range line.Own {
		if arg == "--" {
			break
		}
		if i == 0 && slices.Contains(commands, arg) {
			return contract.ByCommand(arg), true
		}
		if i == 0 && arg != "run" && !strings.HasPrefix(arg, "-") {
			return contract.Replacement{What: arg, Does: "the session is in another folder",
				Instead: "start it in the folder of the project"}, true
		}
		option, _, _ := strings.Cut(arg, "=")
		if does := switches[option]; does != "" {
			return contract.ByOption(option, does), true
		}
	}
	return contract.Replacement{}, false
}

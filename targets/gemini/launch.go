package gemini

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/gemini/format"
)

// Args returns the arguments that start Gemini CLI as a role, or held to a mode. --admin-policy puts the policy
// above every settings, those of a project included; --policy takes the place of the user's own rules, and
// holds where the system's administrator has turned the first one off.
func (gemini) Args(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	e := &emitter{in: in}
	p := in.Project
	switch r, m := p.Role(ref.Role), p.Mode(ref.Mode); {
	case opt.FlagsOnly:
		e.diags.Errorf(codeNoFlags, diag.Pos{}, "Gemini CLI takes no permissions as flags: its policies are files").
			Hint("leave out --flags-only").
			Target(name).
			Subject(ref.String())
		return nil, e.diags
	case r != nil && ref.Mode != "":
		e.diags.Errorf(codeNoFlags, r.Pos, "Gemini CLI starts no session as a role in a mode").
			Hint("start it as the role: what it hands to the mode is held to both").
			Target(name).
			Subject(ref.String())
		return nil, e.diags
	case m != nil:
		e.diags.Warnf(codePrompt, m.Pos, "the session is held to mode %s, and does not have its prompt", ref.Mode).
			Hint("have a session hand work to the agent of that name").
			Target(name).
			Subject(ref.String()).
			Loses(diag.Text, "")
	}
	e.started(ref)
	e.diags = slices.DeleteFunc(e.diags, func(d diag.Diagnostic) bool { // the build reports the others
		return d.Severity != diag.Error && d.Code != codePrompt
	})
	var policies, admin []string
	for _, f := range e.filesOf(ref) {
		at := opt.Copies.Put(f)
		if strings.Contains(at, ",") { // it separates files there
			e.diags.Errorf(codeNoFlags, diag.Pos{},
				"Gemini CLI takes the path %s, with a comma, for several files", at).
				Hint("move the folder, or rename it").
				Target(name).
				Subject(ref.String())
			return nil, e.diags
		}
		policies, admin = append(policies, "--policy="+at), append(admin, "--admin-policy="+at)
	}
	if policies != nil {
		return append(policies, admin...), e.diags
	}
	if m := p.Mode(ref.Mode); m != nil && format.AgentName(format.AgentOf(m)) {
		e.diags = nil
		e.diags.Errorf(codeNoFlags, m.Pos,
			"mode %s is held by the list of tools of its agent, and no session is", ref.Mode).
			Hint("start a session, and have it hand work to the agent of that name").
			Target(name).
			Subject(ref.String())
		return nil, e.diags
	}
	return nil, e.diags // the subject says nothing
}

// started compiles what a session of a subject is started with.
func (e *emitter) started(ref ir.SubjectRef) {
	if r := e.in.Project.Role(ref.Role); r != nil {
		e.role(r)
	}
	for i := range e.in.Project.Modes {
		e.mode(&e.in.Project.Modes[i])
	}
	e.policies()
}

// Environment returns the variable that starts Gemini CLI as a subject with a hook: a folder in the place of the user's
// own, with settings that have it. The folders that the user trusts stay trusted; in others Gemini CLI runs no hook.
func (gemini) Environment(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	e := &emitter{in: in}
	e.started(ref)
	if !slices.ContainsFunc(e.files, func(f contract.File) bool { return f.Path == format.SessionSettings(ref) }) {
		return nil, nil
	}
	line := in.SessionHook(name, ref) + in.HookEnd(contract.Refusing)
	if at := format.HookOff(readSettings(opt.Root), line); at != nil {
		e.diags = nil
		e.diags.Errorf(codeHooksOff, at.Pos, "%s turns hooks off, also that of %s", format.SettingsFile, ref).
			Hint("take it out of the file").
			Target(name).
			Subject(ref.String())
		return nil, e.diags
	}
	own, _ := os.UserHomeDir() // an error: "", where nothing is
	settings := e.sessionSettings(ref)
	login := readSettings(own).Get("security").Get("auth").Get("selectedType")
	if kind, ok := login.Str(); ok { // else it asks at each start
		settings = append(settings, "security", contract.Object{"auth", contract.Object{"selectedType", kind}})
	}
	home := opt.Copies.Folder(contract.Folder{Name: name + "-" + contract.SubjectName(ref),
		Files: []contract.File{{Path: format.SettingsFile, Data: contract.JSON(settings)}}})
	vars := []string{"GEMINI_CLI_HOME=" + home}
	if os.Getenv(trustedFolders) == "" {
		vars = append(vars, trustedFolders+"="+filepath.Join(own, format.Dir, "trustedFolders.json"))
	}
	return vars, nil
}

// trustedFolders names the file that has the folders which the user trusts.
const trustedFolders = "GEMINI_CLI_TRUSTED_FOLDERS_PATH"

// readSettings reads the settings below a folder, nil where there are none.
func readSettings(dir string) *located.Value {
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(format.SettingsFile)))
	if err != nil {
		return nil
	}
	v, err := located.JSONC(format.SettingsFile, data)
	if err != nil {
		return nil
	}
	return v
}

// filesOf returns the policies of a subject's session: its own, and that of the agents to which it hands work.
// A mode without a file of its own is no session.
func (e *emitter) filesOf(ref ir.SubjectRef) (out []contract.File) {
	own := format.PolicyFile(ref)
	for _, f := range e.files {
		if f.Path == own || f.Path == format.AgentsPolicy && (ref.Mode == "" || len(out) > 0) {
			out = append(out, f)
		}
	}
	return out
}

// switches are the options of Gemini CLI 0.61 by which a command line takes away what a policy holds, without
// the dashes: it takes admin-policy and adminPolicy.
var switches = map[string]string{
	"policy":                "its rules stand beside those of the subject, or above them",
	"adminpolicy":           "its rules stand beside those of the subject",
	"approvalmode":          "the mode approves what the subject leaves to Gemini CLI",
	"yolo":                  "what the subject leaves to Gemini CLI is approved",
	"allowedtools":          "they need no question where the subject leaves them to Gemini CLI",
	"allowedmcpservernames": "their tools need no question where the subject leaves them to Gemini CLI",
	"includedirectories":    "the folders are read and written like the project's own",
	"worktree":              "the session is in another folder",
}

// short are the options of one letter that are among the switches.
var short = map[byte]string{'y': "yolo", 'w': "worktree"}

// commands are the words after which Gemini CLI starts no session.
var commands = []string{"extensions", "extension", "gemma", "hooks", "hook", "mcp", "skills", "skill"}

// Replaces returns what a person's command line would take away.
func (gemini) Replaces(line contract.CommandLine) (contract.Replacement, bool) {
	for i, arg := range line.Own {
		if arg == "--" {
			break
		}
		if i == 0 && slices.Contains(commands, arg) {
			return contract.ByCommand(arg), true
		}
		if does, ok := switched(arg, append(slices.Clone(line.Own[i+1:]), "")[0]); ok {
			what, _, _ := strings.Cut(arg, "=")
			return contract.ByOption(what, does), true
		}
	}
	return contract.Replacement{}, false
}

// switched reports whether an argument, with what follows it, is among the switches, and what that does.
func switched(arg, next string) (string, bool) {
	long, ok := strings.CutPrefix(arg, "--")
	if !ok {
		if len(arg) < 2 || arg[0] != '-' {
			return "", false
		}
		letters, _, _ := strings.Cut(arg[1:], "=")
		for i := range len(letters) {
			if name := short[letters[i]]; name != "" {
				return switches[name], true
			}
		}
		return "", false
	}
	name, value, written := strings.Cut(long, "=")
	if !written {
		value = next
	}
	key := strings.ToLower(strings.ReplaceAll(name, "-", ""))
	does, ok := switches[key]
	if key == "approvalmode" && (value == "default" || value == "plan") { // which approve nothing
		return "", false
	}
	return does, ok
}

package claude

import (
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Flags are a role's permissions as Claude Code's command line carries them.
type Flags struct {
	PermissionMode      string
	Allowed, Disallowed []string
	Tools               *string // --tools; nil: not given
	AppendSystemPrompt  string
	Env                 map[string]string
}

// RoleFlags compiles a role for a command line without a settings file. What
// flags cannot carry is a loss: a rule to ask about (it is left out, so that
// Claude Code decides, which is to ask), the hook (what only it denies is
// dropped as with hooks = false), a rule with a closing parenthesis in it.
func RoleFlags(in contract.Input, r *ir.Role) (Flags, diag.List) {
	e := &emitter{in: in}
	list, mode, err := e.compile(r)
	if err != nil {
		e.diags.Errorf(diag.BadPattern, r.Pos, "%v", err)
		return Flags{}, e.diags
	}
	f := Flags{PermissionMode: mode, AppendSystemPrompt: r.AppendSystemPrompt, Env: r.Env}
	if r.Tools != nil {
		t := strings.Join(*r.Tools, ",")
		f.Tools = &t
	}
	lost := func(message, hint string) { e.loss("role "+r.Name, r.Pos, "", codeFlags, message, hint) }
	f.Allowed = list.allow
	if len(list.ask) > 0 {
		lost("flags have no list of rules to ask about: what Claude Code would approve by itself is denied, and allows that such a rule would hold back are left out", "use the settings file")
		f.Allowed = nil
		for _, a := range list.ask {
			if selfApproved(a) && !torn(a) {
				f.Disallowed = append(f.Disallowed, a)
			}
		}
		for _, a := range list.allow {
			if !asked(a, list.ask) || readsOnly(a) {
				f.Allowed = append(f.Allowed, a)
			}
		}
		if mode != "default" && mode != "plan" && mode != "dontAsk" {
			f.PermissionMode = "default" // the mode would approve what a rule asks about
		}
	}
	if mode == "plan" { // without disableAutoMode, which no flag sets, a classifier answers what plan would ask
		f.PermissionMode = "default"
		lost("flags cannot keep the mode plan from answering its own questions: the mode is default", "use the settings file")
	}
	f.Allowed = plain(f.Allowed)
	for _, d := range list.deny {
		if torn(d) {
			tool, _, _ := strings.Cut(d, "(")
			lost("a flag would tear the rule "+d+" apart: the whole tool is denied", "use the settings file")
			d = tool
		}
		f.Disallowed = append(f.Disallowed, d)
	}
	return f, e.diags
}

// selfApproved reports whether Claude Code would run by itself what a rule asks
// about: reading, and commands that only read.
func selfApproved(rule string) bool {
	if rule == "Bash" || strings.HasPrefix(rule, "Read") {
		return true
	}
	for _, name := range slices.Concat(readOnly, accepted) {
		if strings.HasPrefix(rule, "Bash("+name+" ") || rule == "Bash("+name+")" {
			return true
		}
	}
	return false
}

// readsOnly reports a rule for a bare command that Claude Code runs by itself: it
// permits nothing, and tells that the source allows the command.
func readsOnly(rule string) bool {
	return slices.ContainsFunc(readOnly, func(name string) bool { return rule == "Bash("+name+")" })
}

// asked reports whether a rule to ask about may concern what an allow names:
// the same tool, or the same server.
func asked(allow string, ask []string) bool {
	tool, _, _ := strings.Cut(allow, "(")
	for _, a := range ask {
		t, _, _ := strings.Cut(a, "(")
		if t == tool || strings.HasPrefix(t, tool+"__") || strings.HasPrefix(tool, t+"__") || t == "mcp__*" && strings.HasPrefix(tool, "mcp__") {
			return true
		}
	}
	return false
}

// torn reports whether Claude Code's splitting of a flag would break a rule: a
// parenthesis inside the content.
func torn(rule string) bool {
	open := strings.IndexByte(rule, '(')
	return open >= 0 && strings.ContainsAny(rule[open+1:len(rule)-1], "()")
}

func plain(list []string) []string {
	var out []string
	for _, r := range list {
		if !torn(r) {
			out = append(out, r)
		}
	}
	return out
}

// Args returns the arguments that start Claude Code as a role (its settings
// file) or in a mode (its subagent). Flags that take several values are written
// with "=" and one value, so that they cannot swallow what follows.
func (claude) Args(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	if ref.Role == "" {
		return []string{"--agent=" + ref.Mode}, nil
	}
	r := in.Project.Role(ref.Role)
	at := func(p string) string { return filepath.Join(opt.Dir, filepath.FromSlash(p)) }
	e := &emitter{in: in, hooks: in.Options.Bool("hooks")}
	var args []string
	if opt.FlagsOnly {
		f, diags := RoleFlags(in, r)
		e.diags = diags
		args = append(args, "--permission-mode="+f.PermissionMode)
		for _, a := range f.Allowed {
			args = append(args, "--allowedTools="+a)
		}
		for _, d := range f.Disallowed {
			args = append(args, "--disallowedTools="+d)
		}
	} else {
		settings, err := e.settings(r)
		if err != nil {
			e.diags.Errorf(diag.BadPattern, r.Pos, "%v", err)
			return nil, e.diags
		}
		e.diags = nil // said by the build
		value := at(settingsPath(r))
		if opt.Inline {
			value = strings.TrimSpace(string(contract.JSON(settings)))
		}
		mode := r.PermissionMode
		if mode == "" {
			mode = "default"
		}
		args = append(args, "--settings="+value, "--permission-mode="+mode)
	}
	if own, differs := e.roleServers(r); differs {
		value := at(serversPath(r))
		if opt.Inline {
			value = strings.TrimSpace(string(e.serversJSON(own)))
		}
		args = append(args, "--mcp-config="+value, "--strict-mcp-config")
	}
	if r.Tools != nil {
		args = append(args, "--tools="+strings.Join(*r.Tools, ","))
	}
	if r.AppendSystemPrompt != "" {
		args = append(args, "--append-system-prompt="+r.AppendSystemPrompt)
	}
	if ref.Mode != "" {
		args = append(args, "--agent="+ref.Mode)
	}
	return args, e.diags
}

package claude

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"modec.dev/modec/compiler/artifact"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
)

// ImportArgs turns a command line of claude into a role: its flags, and the
// settings file that it names below root. at is where the command line stands.
func ImportArgs(fsys fs.FS, name string, args []string, at diag.Pos) (target.Imported, diag.List) {
	im := newImporter(target.Source{Root: fsys})
	role := ir.Role{Name: name, Pos: at}
	subject := "role " + name
	im.out.Files = []string{at.File}
	rules := &importedRules{}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		args = args[1:] // the program
	}
	note := func(kind target.NoteKind, what, why string) { im.out.Note(kind, at, subject, what, why) }
	var settings string
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		next := func() string {
			if joined {
				return value
			}
			if i+1 >= len(args) {
				im.diags.Errorf(at, "claude-import", "", "got %s without a value, want one", flag)
				return ""
			}
			i++
			return args[i]
		}
		several := func() []string {
			if joined {
				return []string{value}
			}
			var all []string
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				all = append(all, args[i])
			}
			return all
		}
		list := func(d ir.Decision) {
			for _, v := range several() {
				for _, text := range splitRules(v, true) {
					im.ruleText(rules, subject, d, text, at, flag+" "+text)
				}
			}
		}
		switch flag {
		case "--permission-mode":
			mode := next()
			if !permissionModes[mode] {
				im.diags.Errorf(at, "claude-import", "", "got the permission mode %q, which claude refuses, want default, plan, acceptEdits, dontAsk, auto or bypassPermissions", mode)
			}
			if mode == "manual" || mode == "delegate" {
				mode = "default"
			}
			rules.mode, rules.modePos = mode, at
			im.out.NoteRule(target.Understood, at, subject, flag+" "+mode, "")
		case "--dangerously-skip-permissions":
			rules.mode, rules.modePos = "bypassPermissions", at
			im.out.NoteRule(target.Understood, at, subject, flag, "")
		case "--allowedTools", "--allowed-tools":
			list(ir.Allow)
		case "--disallowedTools", "--disallowed-tools":
			list(ir.Deny)
		case "--tools":
			names := []string{}
			for _, v := range several() {
				names = append(names, splitRules(v, true)...)
			}
			names = slices.DeleteFunc(names, func(n string) bool { return strings.Contains(n, "(") })
			if !slices.Contains(names, "default") {
				role.Tools = &names
			}
			im.out.NoteRule(target.Understood, at, subject, flag+" "+strings.Join(names, ","), "")
		case "--settings":
			settings = next()
		case "--append-system-prompt":
			role.AppendSystemPrompt = next()
		case "--append-system-prompt-file":
			file := path.Clean(next())
			data, err := target.ReadImport(fsys, file)
			if err != nil {
				im.diags.Errorf(at, "claude-import", "", "got the prompt file %q: %v", file, err)
			}
			role.AppendSystemPrompt = strings.TrimSpace(string(data))
		case "--mcp-config":
			for _, v := range several() {
				if strings.HasPrefix(strings.TrimSpace(v), "{") {
					im.serversFile(at.File, []byte(v))
				} else if data, ok := im.file(fsys, path.Clean(v), path.Clean(v)); ok {
					im.serversFile(path.Clean(v), data)
				}
			}
		case "--strict-mcp-config":
			note(target.Left, flag, "modec starts a role with its own servers where they differ from those of the project")
		case "--model", "--session-id", "--effort", "--agent", "--setting-sources", "--max-turns", "--system-prompt", "--system-prompt-file", "--output-format", "--input-format", "--debug-file", "--fallback-model", "--json-schema", "--permission-prompt-tool":
			note(target.Left, flag+" "+next(), "no permission of a role")
		case "--add-dir", "--betas", "--plugin-dir":
			note(target.Left, flag+" "+strings.Join(several(), " "), "the source knows one project folder")
		case "--resume", "-r", "--continue", "-c", "-p", "--print", "--verbose", "--fork-session":
			if flag == "--resume" || flag == "-r" {
				several()
			}
			note(target.Left, flag, "no permission of a role")
		case "--":
			i = len(args) // a prompt
		default:
			if strings.HasPrefix(flag, "-") {
				im.diags.Errorf(at, "claude-import", "", "got the flag %q, which modec does not know: it may permit something", flag)
			}
		}
	}
	im.settingsFlag(settings, fsys, &role, rules, subject, at)
	im.folder = ""
	role.PermissionMode, role.PermissionModePos = rules.mode, rules.modePos
	rules.inMode()
	rules.into(&role.Can, &role, "")
	role.ClaudeRules = rules.kept
	habits(&role)
	limit(&role, at)
	im.roles[name] = role
	im.finish()
	im.out.Originals = nil // a command line is no file that Open finds
	im.diags.Sort()
	return im.out, im.diags
}

// limit denies the groups of which --tools leaves no tool: other agents know no such
// list.
func limit(role *ir.Role, at diag.Pos) {
	if role.Tools == nil {
		return
	}
	for g, t := range map[ir.Group]**ir.Table{ir.Read: &role.Can.Read, ir.Edit: &role.Can.Edit, ir.Command: &role.Can.Command, ir.Web: &role.Can.Web, ir.Modes: &role.Can.Modes} {
		names := tools[g]
		if g == ir.Modes {
			names = []string{"Agent", "Task", "Skill"}
		}
		if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(*role.Tools, n) }) {
			*t = &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: at}}}
		}
	}
	role.Can.Unknown = &ir.Default{Decision: ir.Deny, Pos: at}
}

// settingsFlag reads what --settings names: a file, or JSON.
func (im *importer) settingsFlag(value string, fsys fs.FS, role *ir.Role, rules *importedRules, subject string, at diag.Pos) {
	if value == "" {
		return
	}
	name, data := at.File, []byte(value)
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		var ok bool
		name = path.Clean(value)
		if data, ok = im.file(fsys, name, name); !ok {
			im.diags.Errorf(at, "claude-import", "", "got the settings file %q, which is not there: claude does not start", value)
			return
		}
		im.folder = path.Dir(name)
	}
	v, err := artifact.JSON(name, data)
	if err != nil {
		im.diags.Errorf(artifact.PlaceOf(name, err), "claude-import", "", "got settings that Claude Code does not load: %v", err)
		return
	}
	o := &opener{fsys: fstest.MapFS{}, engines: map[string]*policy.Engine{}}
	if s := o.settings(name, data, root, false); s == nil {
		im.diags.Errorf(diag.Pos{File: name}, "claude-import", "", "got settings that Claude Code does not load: %s", fmt.Sprint(o.diags))
		return
	} else {
		if s.mode != "" && rules.mode == "" {
			rules.mode, rules.modePos = s.mode, v.Get("permissions").Get("defaultMode").Line()
		}
		if rules.mode == "bypassPermissions" && s.noPass || rules.mode == "auto" && s.noAuto {
			rules.mode = "default" // switched off, for a flag too
		}
	}
	for _, l := range []struct {
		key string
		d   ir.Decision
	}{{"deny", ir.Deny}, {"ask", ir.Ask}, {"allow", ir.Allow}} {
		for _, item := range v.Get("permissions").Get(l.key).List() {
			im.rule(rules, subject, l.d, item, l.key)
		}
	}
	im.otherKeys(role, rules, subject, v)
}

package claude

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
)

// OpenArgs judges the session that a command line of claude starts in the
// project below fsys. at is where the command line stands. A flag that says
// nothing about permissions is passed over; of several --settings the last one
// holds.
func OpenArgs(fsys fs.FS, args []string, at diag.Pos) (*Session, diag.List, error) {
	o := &opener{fsys: fsys, engines: map[string]*policy.Engine{}}
	own := &settings{file: at.File}
	var file string
	var lists [2][]string
	var servers []string
	strict := false
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		next := func() (string, error) {
			if joined {
				return value, nil
			}
			if i++; i >= len(args) {
				return "", fmt.Errorf("got %s without a value", name)
			}
			return args[i], nil
		}
		// several takes the values up to the next flag.
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
		var err error
		switch name {
		case "--permission-mode":
			if own.mode, err = next(); err == nil && !permissionModes[own.mode] {
				err = fmt.Errorf("got the permission mode %q, which claude refuses", own.mode)
			}
		case "--dangerously-skip-permissions":
			own.mode = "bypassPermissions"
		case "--allowedTools", "--allowed-tools":
			lists[0] = append(lists[0], several()...)
		case "--disallowedTools", "--disallowed-tools":
			lists[1] = append(lists[1], several()...)
		case "--tools":
			names := []string{}
			for _, v := range several() {
				names = append(names, splitRules(v, true)...)
			}
			if !slices.Contains(names, "default") {
				own.tools = append(own.tools, builtinList(names))
			}
		case "--settings":
			file, err = next()
		case "--mcp-config":
			for _, v := range several() {
				servers = append(servers, o.serverNames(path.Clean(v))...)
			}
		case "--strict-mcp-config":
			strict = true
		case "--append-system-prompt", "--append-system-prompt-file", "--system-prompt", "--system-prompt-file", "--model", "--session-id", "--effort", "--agent", "--setting-sources", "--max-turns":
			_, err = next()
		case "--add-dir", "--betas":
			several()
		case "--resume":
			several()
		}
		if err != nil {
			return nil, o.diags, err
		}
	}
	for i, list := range []ir.Decision{ir.Allow, ir.Deny} {
		for _, v := range lists[i] {
			for _, text := range splitRules(v, true) {
				if err := own.rules[list].add(list, text, at, root); err != nil {
					o.warn(at, "got the rule %q, which Claude Code leaves out: %v", text, err)
				}
			}
		}
	}
	s := &session{mode: "default", skills: map[string]bool{}, at: at, approval: target.Both, bare: target.Both}
	for _, name := range []string{".claude/settings.json", ".claude/settings.local.json"} {
		if data := o.read(name); data != nil {
			if l := o.settings(name, data, root, true); l != nil {
				s.add(l)
			}
		}
	}
	if file != "" {
		file = path.Clean(file)
		data := o.read(file)
		if data == nil {
			return nil, o.diags, fmt.Errorf("got the settings file %q, which is not there: claude does not start", file)
		}
		if l := o.settings(file, data, path.Join(root, path.Dir(file)), false); l != nil {
			s.add(l)
		}
	}
	s.add(own)
	s.tools = append(s.tools, own.tools...)
	if s.strict = strict; strict {
		s.servers = servers
	}
	s.settle()
	o.diags.Sort()
	return &Session{s}, o.diags, nil
}

// builtinList is --tools: a name with a specifier drops out.
func builtinList(names []string) *toolList {
	return newToolList(slices.DeleteFunc(names, func(n string) bool { return strings.Contains(n, "(") }), false, true)
}

// splitRules cuts a list at the commas, and with blanks also at the blanks,
// that stand outside of parentheses.
func splitRules(text string, blanks bool) []string {
	var out []string
	depth, from := 0, 0
	cut := func(to int) {
		if item := strings.TrimSpace(text[from:to]); item != "" {
			out = append(out, item)
		}
		from = to + 1
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth = max(depth-1, 0)
		case depth == 0 && (c == ',' || blanks && (c == ' ' || c == '\t' || c == '\n')):
			cut(i)
		}
	}
	cut(len(text))
	return out
}

package claude

import (
	"fmt"
	"slices"
	"strings"
)

// commandLine is what a command line of claude says, flag by flag. Of a flag that
// takes one value the last one holds; lists add up.
type commandLine struct {
	mode        string
	allowed     []string // rules
	disallowed  []string // rules
	tools       *[]string
	settings    string   // a file, or JSON
	sources     []string // of settings, where sourced; else each
	sourced     bool
	servers     []string // --mcp-config: files, or JSON
	strict      bool     // no other servers
	agent       string   // as whose subagent the session runs
	prompt      string   // --append-system-prompt
	promptFile  string
	others      []flagUse // no permission
	unknown     []string
	modeWritten string // as it stands in the command line, with its flag
}

type flagUse struct{ text, why string }

const noPermission = "no permission of a role"

// readFlags reads the flags of a command line. The error is one with which claude
// does not start.
func readFlags(args []string) (c commandLine, err error) {
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		next := func() string {
			switch {
			case joined:
			case i+1 >= len(args):
				err = fmt.Errorf("got %s without a value, want one", flag)
			default:
				i++
				value = args[i]
			}
			return value
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
		rules := func() (all []string) {
			for _, v := range several() {
				all = append(all, splitRules(v, true)...)
			}
			return all
		}
		switch flag {
		case "--permission-mode":
			c.mode = next()
			c.modeWritten = flag + " " + c.mode
			if err == nil && !permissionModes[c.mode] {
				err = fmt.Errorf("got the permission mode %q, which claude refuses, want default, plan, acceptEdits, dontAsk, auto or bypassPermissions", c.mode)
			}
		case "--dangerously-skip-permissions":
			c.mode, c.modeWritten = "bypassPermissions", flag
		case "--allowedTools", "--allowed-tools":
			c.allowed = append(c.allowed, rules()...)
		case "--disallowedTools", "--disallowed-tools":
			c.disallowed = append(c.disallowed, rules()...)
		case "--tools":
			// A name with a specifier drops out. Observed on 2.1.329: beside another
			// name "default" is none.
			names := slices.DeleteFunc(rules(), func(n string) bool { return strings.Contains(n, "(") })
			if c.tools == nil {
				c.tools = &[]string{}
			}
			*c.tools = append(*c.tools, names...)
		case "--settings":
			c.settings = next()
		case "--mcp-config":
			c.servers = append(c.servers, several()...)
		case "--strict-mcp-config":
			c.strict = true
		case "--setting-sources":
			for _, name := range splitRules(next(), false) {
				if err == nil && !slices.Contains([]string{"user", "project", "local"}, name) {
					err = fmt.Errorf("got the setting source %q, which claude refuses, want user, project or local", name)
				}
				c.sources = append(c.sources, name)
			}
			c.sourced = true
		case "--agent":
			c.agent = next()
		case "--append-system-prompt":
			c.prompt = next()
		case "--append-system-prompt-file":
			c.promptFile = next()
		case "--model", "--session-id", "--effort", "--max-turns", "--system-prompt", "--system-prompt-file", "--output-format", "--input-format", "--debug-file", "--fallback-model", "--json-schema", "--permission-prompt-tool":
			c.others = append(c.others, flagUse{flag + " " + next(), noPermission})
		case "--add-dir", "--betas", "--plugin-dir":
			c.others = append(c.others, flagUse{flag + " " + strings.Join(several(), " "), "the source knows one project folder"})
		case "--resume", "-r", "--continue", "-c", "-p", "--print", "--verbose", "--fork-session":
			if flag == "--resume" || flag == "-r" {
				several()
			}
			c.others = append(c.others, flagUse{flag, noPermission})
		case "--":
			return c, err // a prompt
		default:
			if strings.HasPrefix(flag, "-") {
				c.unknown = append(c.unknown, flag)
			}
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// builtins are the built-in tools of --tools, nil where it leaves all of them.
func (c *commandLine) builtins() *[]string {
	if c.tools != nil && slices.Equal(*c.tools, []string{"default"}) {
		return nil
	}
	return c.tools
}

// reads reports whether the session reads the settings of a source.
func (c *commandLine) reads(source string) bool {
	return !c.sourced || slices.Contains(c.sources, source)
}

// isJSON reports whether the value of a flag is JSON and not the name of a file.
func isJSON(value string) bool { return strings.HasPrefix(strings.TrimSpace(value), "{") }

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

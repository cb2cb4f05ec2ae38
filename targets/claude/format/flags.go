package format

import (
	"fmt"
	"slices"
	"strings"
)

// CommandLine is what the flags of a command line say. Of a flag that takes one value
// the last one holds. Lists add up.
type CommandLine struct {
	Mode        string
	ModeWritten string   // as it stands in the command line, with its flag
	Allowed     []string // rules
	Disallowed  []string // rules
	Tools       *[]string
	Settings    string    // a file, or JSON
	Sources     *[]string // of settings; nil: all
	Servers     []string  // --mcp-config: files, or JSON
	Strict      bool      // there are no other servers
	Agent       string    // the subagent as which the session runs
	Prompt      string    // --append-system-prompt
	PromptFile  string
	Others      []Flag // which do not concern permissions
	Unknown     []string
}

// Flag is a flag that does not concern permissions.
type Flag struct {
	Name string
	Text string // with its values
}

// ReadFlags reads the flags of a command line. Claude Code does not start with one for
// which it fails.
func ReadFlags(args []string) (CommandLine, error) {
	r := flagReader{rest: args}
	for len(r.rest) > 0 && r.err == nil {
		r.name, r.value, r.joined = strings.Cut(r.rest[0], "=")
		r.rest = r.rest[1:]
		if r.name == "--" { // a prompt follows
			break
		}
		if read := flags[r.name]; read != nil {
			read(&r)
		} else if strings.HasPrefix(r.name, "-") {
			r.line.Unknown = append(r.line.Unknown, r.name)
		}
	}
	return r.line, r.err
}

// flagReader reads one flag after the other.
type flagReader struct {
	line   CommandLine
	rest   []string // the arguments after the flag
	name   string
	value  string
	joined bool // the value follows "=" in the same argument
	err    error
}

// flags says how each flag is read.
var flags = func() map[string]func(*flagReader) {
	table := map[string]func(*flagReader){}
	add := func(read func(*flagReader), names ...string) {
		for _, name := range names {
			table[name] = read
		}
	}
	add((*flagReader).mode, "--permission-mode")
	add((*flagReader).bypass, "--dangerously-skip-permissions")
	add((*flagReader).allowed, "--allowedTools", "--allowed-tools")
	add((*flagReader).disallowed, "--disallowedTools", "--disallowed-tools")
	add((*flagReader).tools, "--tools")
	add((*flagReader).servers, "--mcp-config")
	add((*flagReader).sources, "--setting-sources")
	add(func(r *flagReader) { r.line.Settings = r.one() }, "--settings")
	add(func(r *flagReader) { r.line.Strict = true }, "--strict-mcp-config")
	add(func(r *flagReader) { r.line.Agent = r.one() }, "--agent")
	add(func(r *flagReader) { r.line.Prompt = r.one() }, "--append-system-prompt")
	add(func(r *flagReader) { r.line.PromptFile = r.one() }, "--append-system-prompt-file")

	add(func(r *flagReader) { r.other(r.one()) }, "--model", "--session-id", "--effort", "--max-turns",
		"--system-prompt", "--system-prompt-file", "--output-format", "--input-format", "--debug-file",
		"--fallback-model", "--json-schema", "--permission-prompt-tool")
	add(func(r *flagReader) { r.other(r.several()...) }, WorkFlags...)
	add(func(r *flagReader) { r.several(); r.other() }, "--resume", "-r")
	add(func(r *flagReader) { r.other() }, "--continue", "-c", "-p", "--print", "--verbose", "--fork-session")
	return table
}()

// WorkFlags are those that add a folder or a plugin to the session.
var WorkFlags = []string{"--add-dir", "--betas", "--plugin-dir"}

// one returns the value of a flag: what follows "=", or the next argument.
func (r *flagReader) one() string {
	switch {
	case r.joined:
		return r.value
	case len(r.rest) == 0:
		r.err = fmt.Errorf("%s has no value: write one behind it", r.name)
		return ""
	}
	value := r.rest[0]
	r.rest = r.rest[1:]
	return value
}

// several returns the values up to the next flag.
func (r *flagReader) several() []string {
	if r.joined {
		return []string{r.value}
	}
	n := slices.IndexFunc(r.rest, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if n < 0 {
		n = len(r.rest)
	}
	values := r.rest[:n]
	r.rest = r.rest[n:]
	return values
}

// other notes a flag that does not concern permissions, with its values.
func (r *flagReader) other(values ...string) {
	text := strings.Join(append([]string{r.name}, values...), " ")
	r.line.Others = append(r.line.Others, Flag{r.name, text})
}

func (r *flagReader) allowed() { r.line.Allowed = append(r.line.Allowed, r.rules()...) }

func (r *flagReader) disallowed() { r.line.Disallowed = append(r.line.Disallowed, r.rules()...) }

func (r *flagReader) servers() { r.line.Servers = append(r.line.Servers, r.several()...) }

func (r *flagReader) rules() (all []string) {
	for _, v := range r.several() {
		all = append(all, SplitRules(v, AtCommasAndBlanks)...)
	}
	return all
}

func (r *flagReader) mode() {
	mode := r.one()
	r.line.Mode, r.line.ModeWritten = mode, r.name+" "+mode
	if r.err == nil && !IsMode(mode) {
		r.err = fmt.Errorf("claude refuses the permission mode %q: write %s", mode, ModeNames)
	}
}

func (r *flagReader) bypass() { r.line.Mode, r.line.ModeWritten = Bypass, r.name }

// tools reads the names of --tools. A name with a specifier drops out. Observed on
// 2.1.329: "default" beside another name has no effect.
func (r *flagReader) tools() {
	names := slices.DeleteFunc(r.rules(), func(n string) bool { return strings.Contains(n, "(") })
	if r.line.Tools == nil {
		r.line.Tools = &[]string{}
	}
	*r.line.Tools = append(*r.line.Tools, names...)
}

func (r *flagReader) sources() {
	if r.line.Sources == nil {
		r.line.Sources = &[]string{}
	}
	for _, name := range SplitRules(r.one(), AtCommas) {
		if r.err == nil && !slices.Contains(sources, name) {
			r.err = fmt.Errorf("claude refuses the setting source %q: write user, project or local", name)
		}
		*r.line.Sources = append(*r.line.Sources, name)
	}
}

// BuiltIns returns the built-in tools of --tools, nil where the session has all of them.
func (c *CommandLine) BuiltIns() *[]string {
	if c.Tools != nil && slices.Equal(*c.Tools, []string{"default"}) {
		return nil
	}
	return c.Tools
}

// Reads reports whether the session reads the settings of a source.
func (c *CommandLine) Reads(source string) bool {
	return c.Sources == nil || slices.Contains(*c.Sources, source)
}

// IsJSON reports whether the value of a flag is JSON and not the name of a file.
func IsJSON(value string) bool { return strings.HasPrefix(strings.TrimSpace(value), "{") }

// Separators are the characters at which a list of rules is cut.
type Separators string

const (
	AtCommas          Separators = ","
	AtCommasAndBlanks Separators = ", \t\n"
)

// SplitRules cuts a list at the separators that stand outside of parentheses.
func SplitRules(text string, at Separators) []string {
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
		case depth == 0 && strings.IndexByte(string(at), c) >= 0:
			cut(i)
		}
	}
	cut(len(text))
	return out
}

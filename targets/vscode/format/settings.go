package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
)

// SettingsFile has the settings of a project.
const SettingsFile = Dir + "/settings.json"

// The settings of a project that decide what VS Code asks about.
const (
	// EnableKey is false where VS Code asks about every command.
	EnableKey = "chat.tools.terminal.enableAutoApprove"
	// TerminalKey is an object of commands, or of expressions, with whether they run unasked.
	TerminalKey = "chat.tools.terminal.autoApprove"
	// OldTerminalKey is what TerminalKey was called before; VS Code adds its entries.
	OldTerminalKey = "chat.agent.terminal.autoApprove"
	// DefaultsKey is true where the entries count for nothing that VS Code has by itself.
	DefaultsKey = "chat.tools.terminal.ignoreDefaultAutoApproveRules"
	// ScriptsKey is false where the scripts of a package.json do not run unasked.
	ScriptsKey = "chat.tools.terminal.autoApproveWorkspaceNpmScripts"
	// EditsKey is an object of globs with whether files are edited unasked.
	EditsKey = "chat.tools.edits.autoApprove"
	// LevelKey is the level of permissions at which sessions start.
	LevelKey = "chat.permissions.default"
)

// ReadSettings reads the settings of a project, with comments. An error is one for which VS Code reads none.
func ReadSettings(file string, data []byte) (*located.Value, error) {
	root, err := located.JSONC(file, data)
	switch {
	case err != nil:
		return nil, err
	case !root.Is(located.Object):
		return nil, fmt.Errorf("%s: got %s, want an object of settings", root.Pos, root.Kind)
	}
	return root, nil
}

// TerminalRule is an entry about commands.
type TerminalRule struct {
	Key     string
	Approve bool // it runs unasked; else it is asked about
	Line    bool // the whole line is compared, and not each of its commands
	At      diag.Pos
}

// TerminalRules returns the entries about commands that say something.
func TerminalRules(root *located.Value) (rules []TerminalRule) {
	for _, key := range []string{TerminalKey, OldTerminalKey} {
		for _, m := range root.Get(key).Fields() {
			if approve, line, ok := Says(m.Value); ok {
				rules = append(rules, TerminalRule{m.Key, approve, line, m.Pos})
			}
		}
	}
	return rules
}

// Says returns what the value of an entry about commands says, and whether that is about whole lines; false where it
// says nothing.
func Says(v *located.Value) (approve, line, ok bool) {
	if v.Is(located.Object) {
		v, line = v.Get("approve"), v.Get("matchCommandLine").True()
	}
	return v.True(), line, v.Is(located.Bool)
}

// expressionKey matches a key that is an expression, with its flags.
var expressionKey = lazy.Regexp(`^/(.+)/([dgimsuvy]*)$`)

// separator matches either sign between the names of a path.
const separator = `[/\\]`

// Expression returns the expression that VS Code compares, with its flags; "" for one that matches nothing.
func (r *TerminalRule) Expression() (source, flags string) {
	if m := expressionKey().FindStringSubmatch(r.Key); m != nil {
		flags = strings.ReplaceAll(m[2], "g", "")
		if m[1] == ".*" {
			return m[1], ""
		}
		if matchesNothing(m[1]) {
			return "", ""
		}
		return m[1], flags
	}
	switch {
	case r.Key == "":
		return "", ""
	case !strings.ContainsAny(r.Key, `/\`):
		return "^" + ecma.Quote(r.Key) + `\b`, ""
	}
	names := strings.Split(strings.ReplaceAll(r.Key, `\`, "/"), "/")
	for i := range names {
		names[i] = ecma.Quote(names[i])
	}
	return `^(?:\.` + separator + `)?` + strings.Join(names, separator) + `\b`, ""
}

// endless are expressions of the empty text that VS Code takes for rules all the same.
var endless = []string{"^", "^$", "$", `^\s*$`}

// matchesNothing reports an expression that VS Code does not take: no expression at all, or one of the empty text.
func matchesNothing(source string) bool {
	p, err := ecma.Compile(source, ecma.Options{})
	if err != nil {
		return true
	}
	if slices.Contains(endless, source) {
		return false
	}
	empty, err := p.Match("")
	return err == nil && empty
}

// EditRule is an entry about files.
type EditRule struct {
	Glob    string
	Approve bool // it is edited unasked; else it is asked about
	At      diag.Pos
}

// EditRules returns the entries about files, in their order: the last one that matches decides.
func EditRules(root *located.Value) (rules []EditRule) {
	for _, m := range root.Get(EditsKey).Fields() {
		rules = append(rules, EditRule{m.Key, m.Value.True(), m.Pos})
	}
	return rules
}

// OwnGlobs are those that VS Code has by itself, before all others.
var OwnGlobs = []string{"**/*", "**/.vscode/*.json", "**/.git/**", "**/gradle.properties", "**/ruby_lsp/*/addon",
	"**/*.lock", "**/*-lock.{yaml,json}",
	"**/{package.json,server.xml,build.rs,web.config,.gitattributes,.env,Cargo.toml}",
	"**/*.{code-workspace,csproj,fsproj,vbproj,vcxproj,proj,targets,props,gradle,gradle.kts}"}

// Signs of expressions over paths.
const (
	anyName   = `[^/\\]*?`
	anySign   = `[^/\\]`
	anyFolder = `(?:[/\\]|[^/\\]+[/\\])*?`
	anyBelow  = `(?:[/\\]|[^/\\]+[/\\]|[/\\][^/\\]+)*?`
)

// GlobExpression returns the expression of the paths, from the project's folder on, that a glob of VS Code matches.
func GlobExpression(glob string) string { return "^" + globSource(glob) + "$" }

// PlainGlobExpression returns one that matches the same clean paths, and has fewer states.
func PlainGlobExpression(glob string) string {
	return strings.NewReplacer(anyFolder, `(?:.*/)?`, anyBelow, `(?:/.*)?`).Replace(GlobExpression(glob))
}

func globSource(glob string) string {
	if glob == "" {
		return ""
	}
	names := splitGlob(glob, '/')
	deep := 0
	for _, n := range names {
		if n == "**" {
			deep++
		}
	}
	if deep == len(names) {
		return ".*"
	}
	var b strings.Builder
	before := false // a "**" stands before
	for i, n := range names {
		last := i == len(names)-1
		switch {
		case n == "**" && before:
			continue
		case n == "**" && last:
			b.WriteString(anyBelow)
		case n == "**":
			b.WriteString(anyFolder)
		default:
			b.WriteString(nameSource(n))
			if !last && (names[i+1] != "**" || i+2 < len(names)) {
				b.WriteString(separator)
			}
		}
		before = n == "**"
	}
	return b.String()
}

// nameSource writes a name of a glob as an expression.
func nameSource(name string) string {
	var b, in strings.Builder
	braces, brackets := false, false
	for _, c := range name {
		switch {
		case braces && c != '}':
			in.WriteRune(c)
		case brackets && (c != ']' || in.Len() == 0):
			switch {
			case c == '-':
				in.WriteRune(c)
			case (c == '^' || c == '!') && in.Len() == 0:
				in.WriteByte('^')
			case c != '/':
				in.WriteString(ecma.Quote(string(c)))
			}
		case c == '{':
			braces = true
		case c == '[':
			brackets = true
		case c == '}':
			var any []string
			for _, choice := range splitGlob(in.String(), ',') {
				any = append(any, globSource(choice))
			}
			b.WriteString("(?:" + strings.Join(any, "|") + ")")
			braces = false
			in.Reset()
		case c == ']':
			b.WriteString("[" + in.String() + "]")
			brackets = false
			in.Reset()
		case c == '?':
			b.WriteString(anySign)
		case c == '*':
			b.WriteString(anyName)
		default:
			b.WriteString(ecma.Quote(string(c)))
		}
	}
	return b.String()
}

// splitGlob splits a glob at a sign that stands neither in braces nor in brackets.
func splitGlob(glob string, at rune) (parts []string) {
	from, braces, brackets := 0, false, false
	for i, c := range glob {
		switch c {
		case '{':
			braces = true
		case '}':
			braces = false
		case '[':
			brackets = true
		case ']':
			brackets = false
		case at:
			if !braces && !brackets {
				parts, from = append(parts, glob[from:i]), i+1
			}
		}
	}
	if from < len(glob) {
		parts = append(parts, glob[from:])
	}
	return parts
}

// Scripts matches the beginnings of commands that VS Code may take for a script of a package.json.
var Scripts = lazy.Regexp(`(?i)^\s*(?:npm\s+(?:run(?:-script)?\s|test\b|start\b|stop\b|restart\b)|(?:yarn|pnpm)\s)`)

// Assigns matches a command that begins with an assignment: VS Code asks about it.
var Assigns = lazy.Regexp(`(?i)^[A-Z_][A-Z0-9_]*=`)

// Words before the key of an entry, where a source has it as it is written.
const (
	ofCommands = "terminal "
	ofLines    = "line "
	ofFiles    = "edits "
)

// Text returns the entry as a source has it.
func (r *TerminalRule) Text() string {
	if r.Line {
		return ofLines + r.Key
	}
	return ofCommands + r.Key
}

// Text returns the entry as a source has it.
func (r *EditRule) Text() string { return ofFiles + r.Glob }

// ParseEntry reads an entry as a source has it: about commands, or about files.
func ParseEntry(text string, d ir.Decision) (command *TerminalRule, file *EditRule, err error) {
	word, key, _ := strings.Cut(text, " ")
	switch word += " "; {
	case key == "":
	case word == ofFiles:
		return nil, &EditRule{Glob: key, Approve: d == ir.Allow}, nil
	case word == ofCommands, word == ofLines:
		return &TerminalRule{Key: key, Approve: d == ir.Allow, Line: word == ofLines}, nil, nil
	}
	return nil, nil, errors.New("no setting of VS Code says so: want terminal COMMAND, line EXPRESSION or edits GLOB")
}

// InOrder returns entries about files in the order in which a build writes them: what is about every file and asks,
// what runs unasked, and what else is asked about.
func InOrder(rules []EditRule) []EditRule {
	out := slices.Clone(rules)
	rank := func(r EditRule) int {
		switch {
		case r.Approve:
			return 1
		case strings.Trim(r.Glob, "*/?") == "":
			return 0
		}
		return 2
	}
	slices.SortStableFunc(out, func(a, b EditRule) int { return rank(a) - rank(b) })
	return out
}

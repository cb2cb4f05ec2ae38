package thurbox

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude"
)

// decider answers for the sessions of Claude Code that Thurbox starts from one
// of the artifacts: Thurbox itself decides nothing.
type decider struct {
	surface  string
	assumes  []string
	sessions map[string]*claude.Session // by role
}

// Open reads set_roles.json and agents.toml as the two ages of Thurbox do, and
// judges the command lines of claude that they build.
func (thurbox) Open(fsys fs.FS, _ contract.Options) ([]contract.Decider, diag.List) {
	var deciders []contract.Decider
	var diags diag.List
	for _, r := range []struct {
		path, surface string
		assumes       []string
		read          func(*decider, fs.FS, []byte) diag.List
	}{
		{rolesPath, "set_roles", []string{"a Thurbox with roles (schema v2 to v22), which stores rules joined by commas", "an MCP server of the project is connected as .mcp.json has it, and the user may have more"}, (*decider).roles},
		{agentsPath, "agents", []string{"a Thurbox without roles (schema v23 and later), without an agent patch for these names"}, (*decider).agents},
	} {
		data, err := fs.ReadFile(fsys, r.path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				diags.Warnf(codeIgnored, diag.Pos{File: r.path}, "got a file that cannot be read: %v", err)
			}
			continue
		}
		d := &decider{surface: r.surface, assumes: r.assumes, sessions: map[string]*claude.Session{}}
		diags = append(diags, r.read(d, fsys, data)...)
		deciders = append(deciders, d)
	}
	diags.Sort()
	return deciders, diags
}

func (d *decider) Surface() string   { return d.surface }
func (d *decider) Assumes() []string { return d.assumes }

// Decide answers for roles; Thurbox knows no modes.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	if s := d.sessions[ref.Role]; s != nil && ref.Mode == "" {
		return s.Decide(a)
	}
	return contract.Verdict{}
}

// roles builds the flags as src/claude/backend.rs of 235d4f71 does: the stored
// lists are cut at every comma, joined by one space into one argument, and left
// out when they are empty; the mode is always there. The last role of a name
// holds.
func (d *decider) roles(fsys fs.FS, data []byte) (diags diag.List) {
	v, err := located.JSON(rolesPath, data)
	if err != nil {
		diags.Warnf(codeIgnored, diag.Pos{File: rolesPath}, "got arguments of set_roles that do not load: %v", err)
		return diags
	}
	for _, r := range v.Get("roles").List() {
		name, ok := r.Get("name").Str()
		if !ok {
			diags.Warnf(codeIgnored, r.Line(), "got a role without a name")
			continue
		}
		mode, ok := r.Get("permission_mode").Str()
		if !ok || mode == "" {
			mode = "default"
		}
		args := []string{"--permission-mode", mode}
		for _, list := range []struct{ key, flag string }{{"allowed_tools", "--allowed-tools"}, {"disallowed_tools", "--disallowed-tools"}} {
			if rules := stored(r.Get(list.key).Strings()); len(rules) > 0 {
				args = append(args, list.flag, strings.Join(rules, " "))
			}
		}
		if tools, ok := r.Get("tools").Str(); ok {
			args = append(args, "--tools", tools)
		}
		if text, ok := r.Get("append_system_prompt").Str(); ok {
			args = append(args, "--append-system-prompt", text)
		}
		diags = append(diags, d.open(fsys, name, args, r.Line())...)
	}
	return diags
}

// stored is what comes back of a list of rules.
func stored(rules []string) []string {
	var torn []string
	for part := range strings.SplitSeq(strings.Join(rules, ","), ",") {
		if part = strings.TrimSpace(part); part != "" {
			torn = append(torn, part)
		}
	}
	return torn
}

// agents reads [[agents]]: the command must be claude, and its args are always
// there.
func (d *decider) agents(fsys fs.FS, data []byte) (diags diag.List) {
	var file struct {
		Agents []struct {
			Name    string   `toml:"name"`
			Command string   `toml:"command"`
			Args    []string `toml:"args"`
		} `toml:"agents"`
	}
	at := diag.Pos{File: agentsPath}
	if err := toml.Unmarshal(data, &file); err != nil {
		var syntax *toml.DecodeError
		if errors.As(err, &syntax) {
			at.Line, at.Col = syntax.Position()
		}
		diags.Warnf(codeIgnored, at, "got agents that do not load: %v", err)
		return diags
	}
	for _, a := range file.Agents {
		if a.Command != "claude" {
			diags.Warnf(codeIgnored, at, "got the agent %q of the command %q, want claude", a.Name, a.Command)
			continue
		}
		diags = append(diags, d.open(fsys, a.Name, a.Args, at)...)
	}
	return diags
}

func (d *decider) open(fsys fs.FS, name string, args []string, at diag.Pos) (diags diag.List) {
	s, diags, err := claude.OpenArgs(fsys, args, at)
	if err != nil {
		diags.Warnf(codeIgnored, at, "got arguments of %q with which claude does not start: %v", name, err)
		return diags
	}
	d.sessions[name] = s
	return diags
}

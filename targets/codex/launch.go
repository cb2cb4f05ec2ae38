package codex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/targets/codex/format"
	"modec.dev/modec/targets/internal/persona"
)

// Agent describes Codex.
func (codex) Agent() contract.Agent {
	return contract.Agent{Name: "Codex", Programs: []string{"codex"}, Observed: "0.169.0"}
}

// hookTrust has Codex run the hooks of its command line: it asks about others in a dialogue, and until then goes on
// without them.
const hookTrust = "--dangerously-bypass-hook-trust"

// Args returns the arguments that start Codex as a role, or as a mode: the keys of its configuration as options, which
// stand above every file, and the folder as one that is not trusted, whose own files Codex does not read.
func (codex) Args(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	e := newEmitter(in)
	fail := func(at diag.Pos, message, hint string) ([]string, diag.List) {
		e.diags = nil
		e.diags.Errorf(codeNoFlags, at, "%s", message).Hint(hint).Target(name).Subject(ref.String())
		return nil, e.diags
	}
	r := in.Project.Role(ref.Role)
	if r != nil && ref.Mode != "" {
		return fail(r.Pos, "Codex starts no session as a role in a mode",
			"start it as the role: what it hands to the mode's agent is held to both")
	}
	o, ok := e.config(ref, diag.Pos{})
	if !ok || e.diags.HasErrors() {
		return nil, e.diags
	}
	e.diags = nil // the build reports them
	var args []string
	holds, hooks := false, false
	o = append(o, e.agents(ref, o, opt)...)
	for i := 0; i+1 < len(o); i += 2 {
		key := o[i].(string)
		args = append(args, "-c", key+"="+contract.InlineTOML(o[i+1]))
		holds, hooks = holds || key == "sandbox_mode", hooks || key == "hooks"
	}
	if hooks {
		if opt.FlagsOnly {
			return fail(diag.Pos{}, ref.String()+" needs a hook, which reads a file", "leave out --flags-only")
		}
		args = append([]string{hookTrust}, args...)
	}
	if holds {
		if slices.Contains(o, any(string(format.Workspace))) { // the user's own folders and network would join it
			args = append(args, "-c", "sandbox_workspace_write={ writable_roots = [], network_access = false }")
		}
		args = append(args, "-c", "projects="+contract.InlineTOML(untrusted(opt.Root)))
	}
	return args, nil
}

// agents returns the agents to which the session may hand work: of a folder that is not trusted, Codex reads none.
func (e *emitter) agents(ref ir.SubjectRef, config contract.Object, opt contract.ArgsOptions) contract.Object {
	if !slices.Contains(config, any("sandbox_mode")) || slices.Contains(config, any("agents")) {
		return nil
	}
	var list contract.Object
	r := e.in.Project.Role(ref.Role)
	for i := range e.in.Project.Modes {
		m := &e.in.Project.Modes[i]
		if m.Slug == ref.Mode || r != nil && !r.Enters(m.Slug) {
			continue
		}
		of := emitter{in: e.in}
		of.agent(m)
		for _, f := range of.files {
			list = append(list, agentName(m),
				contract.Object{"description", persona.Description(m), "config_file", opt.Copies.Put(f)})
		}
	}
	if list == nil {
		return nil
	}
	return contract.Object{"agents", list}
}

// untrusted says of a folder, and of those above it and the one in which the session starts, that it is not trusted:
// Codex looks for each of them, for that of the repository too.
func untrusted(project string) (o contract.Object) {
	dirs := []string{project}
	if here, err := os.Getwd(); err == nil {
		dirs = append(dirs, here)
	}
	for _, dir := range slices.Clone(dirs) {
		if real, err := contract.ResolveLinks(dir); err == nil {
			dirs = append(dirs, real)
		}
	}
	seen := map[string]bool{}
	for _, dir := range dirs {
		for ; !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			o = append(o, dir, contract.Object{"trust_level", "untrusted"})
		}
	}
	return o
}

// switches are the options of Codex 0.169 by which a command line takes away what a configuration holds.
var switches = map[string]string{
	"--profile":          "its keys may take the questions away",
	"--sandbox":          "the sandbox is another one",
	"--ask-for-approval": "Codex asks about less",
	"--approve-for-me":   "a model answers the questions",
	"--dangerously-bypass-approvals-and-sandbox": "nothing is asked, and nothing is in a sandbox",
	"--yolo":      "nothing is asked, and nothing is in a sandbox",
	"--full-auto": "Codex asks about less",
	"--search":    "the session searches the web",
	"--cd":        "the session is in another folder",
	"--add-dir":   "the folder is written like the project's own",
	"--worktree":  "the session is in another folder",
	"--remote":    "the session runs elsewhere",
	"--trust":     "Codex reads the project's own configuration",
	"--enable":    "the feature may be a tool that the subject does not have",
	"--disable":   "the feature may be what holds the subject",
	"--config":    "the key may take away what holds the subject",
}

// short are the options of one letter.
var short = map[byte]string{'p': "--profile", 's': "--sandbox", 'a': "--ask-for-approval", 'C': "--cd",
	'c': "--config", 'i': "--image", 'm': "--model"}

// valued are the options that take the argument behind them.
var valued = []string{"--profile", "--sandbox", "--ask-for-approval", "--cd", "--config", "--image", "--model",
	"--add-dir", "--enable", "--disable", "--remote", "--remote-auth-token-env", "--local-provider", "--color",
	"--output-schema", "--output-last-message", "--thread-source", "--cyber-access-program"}

// ofUser are the first words of keys that a person may set for a session.
var ofUser = lazy.Regexp(`\A(?:model|model_[a-z_]+|tui|history|personality|service_tier|file_opener|` +
	`hide_agent_reasoning|show_raw_agent_reasoning|disable_paste_burst|check_for_update_on_startup)(?:\.|=)`)

// sessions are the commands that start one by the options of the command line.
var sessions = []string{"exec", "e"}

// commands are the other ones.
var commands = []string{
	"a", "agents", "app-server", "apply", "archive", "cloud", "completion", "debug", "delete", "doctor", "exec-server",
	"features", "fork", "help", "login", "logout", "mcp", "mcp-server", "migrate-nfs-db", "migrate-rollouts", "plugin",
	"queue", "remote-control", "resume", "review", "sandbox", "unarchive", "update",
}

// Replaces returns what a person's command line, or their own files, would take away.
func (codex) Replaces(line contract.CommandLine) (contract.Replacement, bool) {
	positional := false
	for i := 0; i < len(line.Own); i++ {
		arg := line.Own[i]
		if arg == "--" {
			break
		}
		name, value, joined := option(arg)
		if name == "" {
			if !positional && slices.Contains(commands, arg) {
				return contract.ByCommand(arg), true
			}
			positional = positional || !slices.Contains(sessions, arg)
			continue
		}
		if !joined && slices.Contains(valued, name) && i+1 < len(line.Own) {
			i++
			value = line.Own[i]
		}
		if does := switches[name]; does != "" && !(name == "--config" && ofUser().MatchString(value)) {
			return contract.ByOption(arg, does), true
		}
	}
	return owned(line)
}

// option returns the long name of an option, with the value that is in the same argument.
func option(arg string) (name, value string, joined bool) {
	switch {
	case strings.HasPrefix(arg, "--"):
		return cut(arg)
	case len(arg) > 1 && arg[0] == '-':
		if name = short[arg[1]]; name == "" {
			return arg, "", false
		}
		return name, strings.TrimPrefix(arg[2:], "="), len(arg) > 2
	}
	return "", "", false
}

func cut(arg string) (name, value string, joined bool) {
	name, value, joined = strings.Cut(arg, "=")
	return name, value, joined
}

// owned returns what of a user's own files would take away what the options hold: Codex joins these.
func owned(line contract.CommandLine) (contract.Replacement, bool) {
	given := map[string]string{}
	for i, arg := range line.Given {
		if key, value, ok := strings.Cut(arg, "="); ok && i > 0 && line.Given[i-1] == "-c" {
			given[key] = value
		}
	}
	if given["sandbox_mode"] == "" {
		return contract.Replacement{}, false
	}
	home := homeOf(line.Env)
	asks := given["approval_policy"] == ""
	ours, _ := format.ReadConfig("", []byte("mcp_servers="+given["mcp_servers"]))
	for _, dir := range []string{home, "/etc/codex"} {
		file := filepath.Join(dir, "hooks.json")
		if v, err := contract.ReadJSONC(os.DirFS(dir), "hooks.json"); err == nil && format.Answering(v) != nil {
			return answering(file), true
		}
		if rules, ok := allowing(filepath.Join(dir, "rules")); asks && ok {
			return contract.Replacement{What: rules,
				Does: "its rules may run commands without asking, outside of the sandbox", Instead: elsewhere}, true
		}
		file = filepath.Join(dir, "config.toml")
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		c, err := format.ReadConfig(file, data)
		switch {
		case err != nil:
			return contract.Replacement{What: file, Does: err.Error(), Instead: "mend it"}, true
		case asks && (c.Policy != format.Untrusted || c.Profile != ""):
			return contract.Replacement{What: "approval_policy or default_permissions in " + file,
				Does: "Codex then runs commands without asking", Instead: elsewhere}, true
		case c.Root.Get("approvals_reviewer") != nil:
			return contract.Replacement{What: "approvals_reviewer in " + file, Does: "a model answers the questions",
				Instead: elsewhere}, true
		case format.Answering(c.Root) != nil:
			return answering(file), true
		}
		if x, ok := served(file, c.Servers, ours); ok {
			return x, true
		}
	}
	return contract.Replacement{}, false
}

// served returns a server of a file that Codex takes for one of the session.
func served(file string, servers []format.Server, ours *format.Config) (contract.Replacement, bool) {
	if ours == nil {
		return contract.Replacement{}, false
	}
	for i := range servers {
		s := &servers[i]
		what := "the server " + s.Name + " in " + file
		switch {
		case ours.Server(s.Name) != nil:
			return contract.Replacement{What: what, Does: "Codex joins its entry with that of the source",
				Instead: elsewhere}, true
		case !s.Off && slices.ContainsFunc(ours.Servers, s.Alike):
			return contract.Replacement{What: what, Does: "its tools have the names of a server's of the source",
				Instead: elsewhere}, true
		}
	}
	return contract.Replacement{}, false
}

// homeOf returns the folder of a user's own files.
func homeOf(env []string) string {
	if home := contract.Variable(env, "CODEX_HOME"); home != "" {
		return home
	}
	if home := contract.Variable(env, "HOME"); home != "" {
		return filepath.Join(home, format.Dir)
	}
	return filepath.Join(contract.Variable(env, "USERPROFILE"), format.Dir)
}

// allowing returns a file of rules that may allow something.
func allowing(dir string) (string, bool) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.rules"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || !format.OnlyRestrains(data) {
			return file, true
		}
	}
	return "", false
}

// answering is a file with a hook that may answer a question in the place of a person.
func answering(file string) contract.Replacement {
	return contract.Replacement{What: "a hook for PermissionRequest in " + file,
		Does: "it may answer what Codex asks a person", Instead: elsewhere}
}

const elsewhere = "take it out, or give Codex a home of its own (CODEX_HOME)"

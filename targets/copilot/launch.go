package copilot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/copilot/format"
)

// Agent describes the Copilot CLI.
func (copilot) Agent() contract.Agent {
	return contract.Agent{Name: "GitHub Copilot CLI", Programs: []string{"copilot"}, Observed: "1.0.102"}
}

// Args returns the options that start Copilot as a role, or as a mode. They come with a folder in the place of the
// user's own, which Environment names.
func (copilot) Args(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	e := newEmitter(in)
	s, problem := e.started(ref, opt)
	if s == nil || problem != nil {
		return nil, problem
	}
	var args []string
	if s.limited() { // Replaces knows by an option that something holds the session
		args = append([]string{"--no-remote"}, s.args()...)
	}
	if list := s.servers(); len(list) > 0 && s.says() {
		file := contract.File{Path: contract.SubjectName(ref) + ".mcp.json",
			Data: contract.JSON(contract.Object{format.ServersKey, list})}
		args = append(args, "--additional-mcp-config=@"+opt.Copies.Put(file))
	}
	if ref.Mode != "" {
		args = append(args, "--agent="+format.AgentOf(in.Project.Mode(ref.Mode)))
	}
	return args, nil
}

// Environment returns the variables that start Copilot as a subject: a folder in the place of the user's own, with the
// hook and the agents of the modes. The user's own hooks, approvals and trusted folders are not read.
func (copilot) Environment(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	e := newEmitter(in)
	s, problem := e.started(ref, opt)
	if s == nil || problem != nil {
		return nil, problem
	}
	var vars []string
	r := in.Project.Role(ref.Role)
	if r != nil {
		vars = variables(r)
	}
	if len(s.members()) == 0 && ref.Mode == "" {
		return vars, nil // the subject says nothing
	}
	f := contract.Folder{Name: name + "-" + contract.SubjectName(ref), Only: []string{"hooks", "agents"}}
	put := func(path string, data []byte) {
		f.Files = append(f.Files, contract.File{Path: path, Data: data})
	}
	if s.listens() {
		put(format.HomeHooks, contract.JSON(contract.Object{"version", 1, format.HooksKey, s.hookLines(true)}))
	}
	text := ""
	if r != nil && strings.TrimSpace(r.AppendSystemPrompt) != "" {
		text = strings.TrimSpace(r.AppendSystemPrompt) + "\n"
	}
	put(format.HomeInstructions, []byte(text))
	for i := range in.Project.Modes {
		m := &in.Project.Modes[i]
		if ref.Mode != m.Slug && (r == nil || !r.Enters(m.Slug)) {
			continue
		}
		if of := e.quiet().session(ir.SubjectRef{Mode: m.Slug}, m.Pos); of != nil {
			put(format.HomeAgents+format.AgentOf(m)+".agent.md", e.quiet().agentText(m, of, !s.listens(), true))
		}
	}
	return append(vars, "COPILOT_HOME="+opt.Copies.Folder(f), "COPILOT_ALLOW_ALL=", "COPILOT_ASSISTED_APPROVAL="), nil
}

// variables returns those of a role.
func variables(r *ir.Role) (vars []string) {
	for key, value := range r.Env {
		vars = append(vars, key+"="+value)
	}
	slices.Sort(vars)
	return vars
}

// started returns the session of a subject that is started; nil with what keeps it from that.
func (e *emitter) started(ref ir.SubjectRef, opt contract.ArgsOptions) (*session, diag.List) {
	fail := func(code diag.Code, at diag.Pos, message, hint string) (*session, diag.List) {
		e.diags = nil
		e.diags.Errorf(code, at, "%s", message).Hint(hint).Target(name).Subject(ref.String())
		return nil, e.diags
	}
	if r := e.in.Project.Role(ref.Role); r != nil && ref.Mode != "" {
		return fail(codeNoFlags, r.Pos, "Copilot starts no session as a role in a mode",
			"start it as the role: what it hands to the mode's agent is held to both")
	}
	s := e.session(ref, diag.Pos{})
	if s == nil {
		return nil, e.diags
	}
	e.diags = nil // the build reports them
	if opt.FlagsOnly && (len(s.members()) > 0 || ref.Mode != "") {
		return fail(codeNoFlags, diag.Pos{}, ref.String()+" needs a folder in the place of the user's own",
			"start it by `modec run`, which lays one out")
	}
	if s.hooked {
		if file, at := hooksOff(opt.Root); file != "" {
			return fail(codeHooksOff, at, file+" turns every hook off, also that of "+ref.String(),
				"take it out of the file")
		}
	}
	return s, nil
}

// hooksOff returns a file of the project that turns hooks off.
func hooksOff(root string) (string, diag.Pos) {
	for _, file := range format.Settings {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			continue
		}
		if v, err := located.JSONC(file, data); err == nil && v.Get(format.HooksOff).True() {
			return file, v.Get(format.HooksOff).Pos
		}
	}
	return "", diag.Pos{}
}

// switches are the options of Copilot CLI 1.0 by which a command line takes away what a session holds.
var switches = map[string]string{
	"--acp":                         "another program is asked, which may answer by itself",
	"--add-dir":                     "the folder is read and written like the project, and its agents are trusted",
	"--add-github-mcp-tool":         "the tools are those of a server that the source does not name",
	"--add-github-mcp-toolset":      "the tools are those of a server that the source does not name",
	"--additional-mcp-config":       "its servers stand above those of the source",
	"--agent":                       "the session works as another agent",
	"--allow-all":                   "nothing is asked",
	"--allow-all-paths":             "files outside of the project need no question",
	"--allow-all-tools":             "nothing is asked",
	"--allow-all-urls":              "no address needs a question",
	"--allow-tool":                  "the tool needs no question",
	"--allow-url":                   "the address needs no question",
	"--assisted-approval":           "a model answers the questions",
	"--autopilot":                   "the session goes on without anybody who answers",
	"--available-tools":             "the session has other tools",
	"--config-dir":                  "the hook that holds the session is in another folder",
	"--connect":                     "the session runs elsewhere",
	"--enable-all-github-mcp-tools": "the tools are those of a server that the source does not name",
	"--enable-mcp-server":           "the server is one that is turned off",
	"--environment-host":            "the session is controlled from elsewhere",
	"--experimental":                "nobody has seen which tools and questions there are then",
	"--extension-sdk-path":          "extensions run other code",
	"--headless":                    "another program is asked, which may answer by itself",
	"--plugin-dir":                  "the plugin has servers, hooks and agents of its own",
	"--remote":                      "the session is controlled from elsewhere",
	"--server":                      "another program is asked, which may answer by itself",
	"--stdio":                       "another program is asked, which may answer by itself",
	"--trust-folder":                "Copilot reads the project's own servers, hooks and settings",
	"--ui-server":                   "another program is asked, which may answer by itself",
	"--worktree":                    "the session is in another folder",
	"--yolo":                        "nothing is asked",
	"-C":                            "the session is in another folder",
	"-w":                            "the session is in another folder",
}

// valued are the options that take the argument behind them.
var valued = []string{"--attachment", "--auto-tier", "--context", "--deny-tool", "--deny-url", "--disable-mcp-server",
	"--dynamic-retrieval", "--environment-compute-id", "--excluded-tools", "--interactive", "--log-dir", "--log-level",
	"--max-ai-credits", "--max-autopilot-continues", "--mcp-github-auth", "--mode", "--model", "--name",
	"--output-format", "--prompt", "--reasoning-effort", "--secret-env-vars", "--session-id", "--stream",
	"--usage-output-file", "-i", "-n", "-p"}

// commands are the words after which Copilot starts no session.
var commands = []string{"app", "completion", "config", "help", "init", "instruction", "login", "lsp", "mcp", "memories",
	"plugin", "sandbox", "sessions", "skill", "update", "version", "workflow"}

// signingIn are those of the commands that a session's own folder needs.
var signingIn = []string{"login"}

// Replaces returns what a person's command line would take away.
func (copilot) Replaces(line contract.CommandLine) (contract.Replacement, bool) {
	if len(line.Given) == 0 {
		return contract.Replacement{}, false
	}
	for i := 0; i < len(line.Own); i++ {
		arg := line.Own[i]
		if arg == "--" {
			break
		}
		option, value, joined := strings.Cut(arg, "=")
		if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' {
			option, value, joined = arg[:2], arg[2:], len(arg) > 2
		}
		if !strings.HasPrefix(arg, "-") {
			if slices.Contains(commands, arg) && !slices.Contains(signingIn, arg) {
				return contract.ByCommand(arg), true
			}
			continue
		}
		if !joined && slices.Contains(valued, option) && i+1 < len(line.Own) {
			i++
			value = line.Own[i]
		}
		if does := switches[option]; does != "" {
			return contract.ByOption(arg, does), true
		}
		if option == "--mode" && value == "autopilot" {
			return contract.ByOption(arg, switches["--autopilot"]), true
		}
	}
	return contract.Replacement{}, false
}

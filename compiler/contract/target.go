// Package contract is the contract between the compiler and the packages of the targets.
//
// A [Target] turns the resolved model into files. It returns them and never writes them, so
// that build, check, diff and the tests cannot disagree. Whatever else a target offers is an
// interface of its own that its type implements: [Judged] models how the agent decides,
// [Importer] reads the agent's files, [Hooker] answers its hook, [Launcher]
// start the agent as a subject, [GatewayHost] gives it modec's gateway in the place of the servers, [Dialect] and
// [Linter] know its rule grammar.
package contract

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

// Target is one agent's configuration format.
type Target interface {
	// Name returns the target's name in modec.toml and on the command line.
	Name() string
	// Summary returns a line that says which agent reads the artifacts.
	Summary() string
	// Options returns the options of [targets.NAME] in modec.toml, sorted by name.
	Options() []Option
	// Codes returns the documentation of every code that the target reports.
	Codes() []diag.Doc
	// Owns returns globs of the paths that it may write, relative to the root.
	Owns() []string
	// Governs returns the halves of a decision about a group that the artifact at a path
	// governs.
	Governs(path string, g ir.Group) Halves
	// Emit compiles the project. Losses are diagnostics with their Target,
	// Subject, Group and Loss set; an error means that nothing is written.
	Emit(Input) ([]File, diag.List)
}

// RoleHolder is a target whose artifacts restrict every role that says something. Verify
// compares a role that none of them restricts with what the agent does by itself.
type RoleHolder interface {
	// HoldsRoles only marks the target.
	HoldsRoles()
}

// Sharer is a target that starts the agent of another one as a role, without taking away
// the files that the other target writes for everybody.
type Sharer interface {
	Target
	// Shares returns the name of the other target.
	Shares() string
}

// PermissionModes is a target whose agent has the permission modes of a role itself. On
// every other target a written permissionMode decides what the role leaves unsaid.
type PermissionModes interface {
	Target
	// HasPermissionModes only marks the target.
	HasPermissionModes()
}

// Decision returns what a result of the source means for a target's agent.
func Decision(t Target, r *policy.Result) ir.Decision {
	if _, ok := t.(PermissionModes); ok {
		return r.Decision
	}
	return r.WithoutPermissionMode()
}

// FileChooser is a target some of whose files are for a subject that an option of their own names, and not for that of
// the option "subject".
type FileChooser interface {
	// ChosenBy returns the name of the option for a file.
	ChosenBy(file string) string
}

// LaidOut is a target with files that people lay out in their own way. A build keeps their lines
// where they say what it would write.
type LaidOut interface {
	Target
	// Layout returns the style of the file at a path, nil for one that is written as it is.
	Layout(path string) *layout.Style
}

// Input is what a target compiles.
type Input struct {
	Project    *ir.Project    // the target's [View] of the source
	Policy     *policy.Engine // decides for the same project
	Source     *ir.Project    // the whole source, with its own names; nil: it is not known
	Reach      *Reach         // what any subject may do with each server and tool
	Options    Options
	Exceptions []Exception // those written for this target, none expired
	// Partial is set where a group stays of which the target cannot say all (partial = "keep").
	Partial bool
	Entries Entries // the entries of external servers that lie in the project's files
	// Beside are the names of the targets whose artifacts are in the same project: those
	// of modec.toml and those compiled with this one.
	Beside []string
	// Everybodys are the roles of every session of those of them that name one, by the name of the target.
	Everybodys map[string]string
	// Shared is set where another target of the project starts this target's agent as a
	// role, and the agent then reads the project's files as well ([Sharer]).
	Shared bool
	// Root is the project's folder, as the hooks of a session that is started name it; "": the models' own.
	Root string
}

// ProjectHook returns the command that a hook in a file of the project runs for an agent.
func (in *Input) ProjectHook(agent string, ref ir.SubjectRef) string {
	if ref == (ir.SubjectRef{Role: in.Project.Baseline}) {
		return "modec hook " + agent
	}
	return "modec hook " + agent + " --subject " + hookSubject(ref)
}

// SessionHook returns the command that the hook of a session runs.
func (in *Input) SessionHook(agent string, ref ir.SubjectRef) string {
	return "modec hook " + agent + " --root " + ShellQuote(cmp.Or(in.Root, ".")) + " --subject " + hookSubject(ref)
}

func hookSubject(ref ir.SubjectRef) string {
	if ref.Role != "" {
		return ShellQuote("role:" + ref.Role)
	}
	return ShellQuote("mode:" + ref.Mode)
}

// Hooked reports whether sessions and modes that say something have modec's hook.
func (in *Input) Hooked() bool { return in.Options.hooks == Enforce }

// Listens reports whether they have it at all.
func (in *Input) Listens() bool { return in.Hooked() || in.Options.hooks == Observe }

// HookEnd returns the end of a hook's line: one that refuses where modec does not decide, or of a hook that only
// observes, and then never fails.
func (in *Input) HookEnd(refusing string) string {
	if in.Hooked() {
		return refusing
	}
	return observing
}

// AlsoFor reports whether another target emits a role of this one's project too, under the
// same name.
func (in *Input) AlsoFor(target, other, role string) bool {
	if in.Source == nil {
		return true
	}
	return slices.ContainsFunc(in.Source.Roles, func(r ir.Role) bool {
		return r.Place.Name(target, r.Name) == role && r.Place.Name(other, r.Name) == role
	})
}

// Halves are the two halves of a decision that an artifact may govern: access
// (may it happen at all) and approval (does a person confirm it).
type Halves uint8

const (
	Neither Halves = 0
	Access  Halves = 1 << (iota - 1)
	Approval
	Both = Access | Approval
)

// File is what a target wants on disk.
type File struct {
	Path string // slash-separated, relative to the output root, matched by Owns
	Data []byte // nil, in a change of files that people own: the file goes
	// Places are the places of modec's entries in a JSON file that people write too, as
	// patterns of package jsonedit; nil: the whole file is modec's.
	Places []string
	// Restrains are those Places whose entries only hold back: a build puts one back that a person took out,
	// while it asks before it permits something again.
	Restrains []string
	// Keys are the members of an object at such a place that the target knows. Any other stays
	// as a person wrote it; nil: all are the target's.
	Keys []string
	// Whole are those of the Places at which all members of an object are the target's, whatever Keys are.
	Whole []string
	// Once are those of the Places that are written into a file of modec's own, and not into one that people have.
	Once []string
	// Resting are those of the Keys that say nothing while the object has "disabled": true: they are a
	// person's then.
	Resting []string
	// Sets are those of the Keys that are lists in which the order means nothing.
	Sets []string
	// Defaults are members of such an object that mean the same where they are missing, by their JSON.
	Defaults map[string][]string
	// Renamed are those of the Keys that a person may write by another name, of the Keys too, which means the same.
	Renamed map[string]string
	// Spelled returns how the target writes what an item of a person's means in the list at a place, or a
	// text in such an object, "" for one of its own; nil: each is the only way to say it.
	Spelled func(place, item string) string
	// Alike reports whether an entry of a person's at a place, without members that are theirs alone, means what the
	// emitted one does. nil: where it has the same members, in any order.
	Alike func(place string, have, emitted []byte) bool
	// About are the keys at the top of such a file that the agent and its permissions are about, each with those that
	// it begins ("chat" with "chat.tools"): what people change below others concerns no check. nil: all keys are.
	About []string
	// Programs are the keys at the top of such a file that name what the agent starts by itself.
	Programs []string
	// Strict is set for a file with Places that the agent ignores as a whole if it has comments or trailing
	// commas.
	Strict bool
	// Judged is the file as the agent finds it where Data counts on what people's own entries
	// say beside modec's; nil: Data.
	Judged []byte
	// Stated is what the source says in such a file about the entries that no build changes, those of external
	// servers; nil: nothing.
	Stated []byte
}

// ModelFile is the resolved model, which the target model writes.
const ModelFile = "modec.model.json"

// ForMachines reports whether an artifact is not meant for people to read or to edit.
func ForMachines(path string) bool { return path == ModelFile }

// Artifacts are what one target emitted.
type Artifacts struct {
	Target   Target
	Files    []File    // sorted by path
	Sessions []File    // what sessions are started with, by [SessionPath], sorted: no build writes it
	Losses   diag.List // sorted
}

// Names returns the names of targets, in their order.
func Names(targets []Target) []string {
	var names []string
	for _, t := range targets {
		names = append(names, t.Name())
	}
	return names
}

// Placer is a target that writes files where the source places them, or where it wants them, beside those of Owns.
type Placer interface {
	Target
	// OwnsPlaced returns globs of the paths that it may be told, relative to the root.
	OwnsPlaced() []string
}

// Owns reports whether a target may write a path.
func Owns(t Target, p string) bool {
	globs := t.Owns()
	if placer, ok := t.(Placer); ok {
		globs = slices.Concat(globs, placer.OwnsPlaced())
	}
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := doublestar.Match(glob, p)
		return ok && err == nil
	})
}

// InMemory returns files as a file system.
func InMemory(files []File) memfs.FS {
	out := memfs.FS{}
	for _, f := range files {
		if out[f.Path] = f.Data; f.Judged != nil {
			out[f.Path] = f.Judged
		}
	}
	return out
}

// MCPServers are the Places of the files that list MCP servers.
var MCPServers = []string{"/mcpServers/*"}

// ServerDefaults are the Defaults of their entries: a server with a command is started, and what is empty
// says nothing.
var ServerDefaults = map[string][]string{
	"type": {`"stdio"`}, "args": {"[]"}, "env": {"{}"}, "headers": {"{}"},
}

// Hooker is a target whose agent asks a hook before a tool runs.
type Hooker interface {
	Target
	// Hook answers one payload of the agent's own protocol. It never panics, never permits
	// more than the policy, and refuses what it does not understand.
	Hook(HookRequest) HookAnswer
}

// HookRequest is one question of an agent.
type HookRequest struct {
	Payload []byte
	Policy  *policy.Engine
	Subject ir.SubjectRef
	Root    string // the project's root as an absolute path
	// MayAllow is set for a hook that comes from --settings. Any other
	// hook abstains where the policy allows.
	MayAllow bool
	// Resolve, Home, Same, Folds, Closed and Kept are those of a [Disk].
	Resolve func(path string) (string, error)
	Home    string
	Same    func(a, b string) bool
	Folds   bool
	Closed  []string
	Kept    *Decisions
	// AnyArgs is set where a model asks: a call of a server's tool stands for those with any arguments.
	AnyArgs bool
	// Worktree returns the project's folder in the work tree of git that a folder is in. It
	// reports false for the main work tree. Nil: there is no other.
	Worktree func(dir string) (root string, ok bool)
}

// Disk returns the disk on which the agent acts.
func (r *HookRequest) Disk() *Disk {
	return &Disk{Root: r.Root, Home: r.Home, Resolve: r.Resolve, Same: r.Same, Folds: r.Folds,
		Closed: r.Closed, Kept: r.Kept}
}

// HookAnswer is what the hook's process writes, and its exit code: 0 or 2.
type HookAnswer struct {
	Stdout []byte
	Stderr string
	Exit   int
	// Judgement is what was decided; nil where nothing was.
	Judgement *Judgement
}

// Judgement is a call as a hook judged it, for the record.
type Judgement struct {
	Tool   string // by the agent's name
	Group  ir.Group
	Server string // of a tool of an MCP server
	Mode   string // in which a role works, where the agent says so
	Input  any    // the arguments: what can be written as JSON
	// About returns what a rule would name: a tool of the server, a command line, a path of the project, a host or
	// a mode. It is "" for a call about several things, or about none; nil: nobody knows.
	About  func() string
	Result policy.Result
	Answer ir.Decision // what the agent was told; Agent: nothing
}

// NoOpinion is the answer of a hook that leaves the call to its agent, in the words of all of them.
func NoOpinion() HookAnswer { return HookAnswer{Stdout: []byte("{}\n")} }

// With returns the answer with what was decided. told is the decision in it.
func (a HookAnswer) With(j *Judgement, told ir.Decision) HookAnswer {
	j.Answer = told
	a.Judgement = j
	return a
}

// Lower reports whether an answer permits less than another one.
func (a *HookAnswer) Lower(than *HookAnswer) bool { return a.rank() < than.rank() }

func (a *HookAnswer) rank() int {
	if a.Exit != 0 || a.Judgement == nil {
		return -1
	}
	return slices.Index([]ir.Decision{ir.Deny, ir.Ask, ir.Agent, ir.Allow}, a.Judgement.Answer)
}

// NeedsPerson is what a hook tells of a command that takes it away ([policy.NeedsPerson]).
const NeedsPerson = "a command of modec that only a person gives, in a terminal"

// Refuse returns the answer of a hook that cannot decide. Every agent that modec knows reads
// the exit code 2 as a refusal.
func Refuse(reason string) HookAnswer { return HookAnswer{Stderr: reason, Exit: 2} }

// Launcher is a target whose agent can be started as a subject.
type Launcher interface {
	Installed
	// Args returns the agent's arguments for a subject.
	Args(Input, ir.SubjectRef, ArgsOptions) ([]string, diag.List)
	// Replaces returns what of a person's own command line would replace what a subject
	// may do. It reports false where that is nothing.
	Replaces(CommandLine) (Replacement, bool)
}

// EnvironmentLauncher is a Launcher whose agent takes what a subject may do from variables.
type EnvironmentLauncher interface {
	Launcher
	// Environment returns the variables that start the agent as a subject, as NAME=VALUE, beside the arguments of
	// Args. One without a value is taken away. It reports what keeps the agent from starting.
	Environment(Input, ir.SubjectRef, ArgsOptions) ([]string, diag.List)
}

// CommandLine is what an agent is to be started with.
type CommandLine struct {
	Given     []string // the arguments that Args returned
	Variables []string // what Environment returned
	Own       []string // a person's own
	Env       []string // the environment, as NAME=VALUE, with the variables in it
}

// Variable returns the value of a variable of an environment, "" for none.
func Variable(env []string, name string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// Replacement is a part of a command line with which the agent is not started.
type Replacement struct {
	What    string // an option, a command or a variable
	Does    string // why the subject is no longer held: "no hook runs"
	Instead string // what to do: "leave it out"
}

// ByCommand is that of a command with which no session of a subject starts.
func ByCommand(word string) Replacement {
	return Replacement{What: word, Does: "it is a command of its own, and starts no such session",
		Instead: "run it without modec"}
}

// ByOption is that of an option, and of what it does.
func ByOption(option, does string) Replacement {
	return Replacement{What: option, Does: does, Instead: "leave it out, or say in the source what it is for"}
}

// Copies puts what a session is started with outside the repository.
type Copies struct {
	// Put returns where a file will lie.
	Put func(File) string
	// Folder returns where a folder will lie.
	Folder func(Folder) string
}

// Folder is what an agent finds in a folder that it takes for its user's own, beside what it wrote there itself in an
// earlier session of the same name and project.
type Folder struct {
	Name  string
	Files []File
	Only  []string // the folders in it that have nothing else
}

// ArgsOptions say which form the arguments have.
type ArgsOptions struct {
	Root      string // the project's folder, as an absolute path
	Elsewhere bool   // the session starts in another folder
	Below     bool   // which is one of the project's
	FlagsOnly bool   // flags only; what they cannot express is a diagnostic
	// Copies puts the files that the arguments name; nil only where there is none to name.
	Copies *Copies
}

// OwnModes is a target whose agent has modes of its own: a mode of the source that has the name of one takes its place.
type OwnModes interface {
	Target
	// OwnModes returns the names of those that sessions reach where the source has no such mode.
	OwnModes(Options) []string
}

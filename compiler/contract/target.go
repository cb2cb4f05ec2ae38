// Package target is the contract between the compiler and the agents'
// configuration formats. A target turns the resolved model into files; it
// never writes them, so build, check, diff and the tests cannot disagree.
package contract

import (
	"slices"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

// Target is one agent's configuration format.
type Target interface {
	// Name is the target's name in modec.toml, on the command line and of its
	// golden directory.
	Name() string
	// Summary says in one line which agent reads the artifacts.
	Summary() string
	// Options lists what [targets.NAME] in modec.toml may set, sorted by name.
	Options() []Option
	// Codes documents every diagnostic code that the target reports.
	Codes() []diag.Doc
	// Owns lists globs of the paths that it may write, relative to the root.
	Owns() []string
	// Governs says which halves of a decision the artifact at path holds for
	// a group.
	Governs(path string, g ir.Group) Halves
	// Emit compiles the project. Losses are diagnostics with their Target,
	// Subject, Group and Loss set; an error means that nothing is written.
	Emit(Input) ([]File, diag.List)
}

// Input is what a target compiles.
type Input struct {
	Project    *ir.Project
	Policy     *policy.Engine // decides for the same project
	Reach      *Reach         // what anyone may do with each server and tool
	Options    Options
	Exceptions []Exception // those written for this target, none expired
	Beside     []string    // names of the targets whose artifacts lie beside: those of modec.toml and those compiled with it
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
	Data []byte
	// Places are where modec's entries stand in a JSON file that people write too, as
	// patterns of package jsonedit; nil: the whole file is modec's.
	Places []string
}

// PolicyFile is the compiled policy that the hooks read. Every build writes it,
// whatever its targets.
const PolicyFile = ".modec/policy.json"

// Artifacts are what one target emitted.
type Artifacts struct {
	Target Target
	Files  []File    // sorted by path
	Losses diag.List // sorted
}

// Names returns the names of some targets, in their order.
func Names(targets []Target) []string {
	var names []string
	for _, t := range targets {
		names = append(names, t.Name())
	}
	return names
}

// Owns reports whether a target may write a path.
func Owns(t Target, p string) bool {
	return slices.ContainsFunc(t.Owns(), func(glob string) bool {
		ok, err := doublestar.Match(glob, p)
		return ok && err == nil
	})
}

// InMemory returns files as a file system.
func InMemory(files []File) memfs.FS {
	out := memfs.FS{}
	for _, f := range files {
		out[f.Path] = f.Data
	}
	return out
}

// MCPServers is the shared place of the files that list MCP servers.
var MCPServers = []string{"/mcpServers/*"}

// Exception is a widening that the source permits in writing
// ([[exceptions]] in modec.toml).
type Exception struct {
	Subject ir.SubjectRef
	Group   ir.Group
	// Server is set for mcp, Pattern for every group: what the exception
	// names; both empty mean the whole group. An exception opens a server
	// that is off by default, a guarded path or a destructive tool only when
	// it names it literally.
	Server, Pattern string
	Reason          string
	Until           time.Time // the last day on which it holds
	Pos             diag.Pos
}

// Excepts returns the exception that covers an MCP tool of a subject, nil when
// none does. literal demands that the tool be named, not only its group.
func (in *Input) Excepts(ref ir.SubjectRef, server, tool string, literal bool) *Exception {
	for i := range in.Exceptions {
		e := &in.Exceptions[i]
		if e.Subject != ref || e.Group != ir.MCP {
			continue
		}
		if e.Server == server && (e.Pattern == tool || e.Pattern == "*" && !literal) || e.Server == "" && !literal {
			return e
		}
	}
	return nil
}

// ExceptsGroup returns the exception that covers a whole group of a subject,
// nil when none does.
func (in *Input) ExceptsGroup(ref ir.SubjectRef, g ir.Group) *Exception {
	for i := range in.Exceptions {
		e := &in.Exceptions[i]
		if e.Subject == ref && e.Group == g && e.Server == "" && (e.Pattern == "" || e.Pattern == "*") {
			return e
		}
	}
	return nil
}

// Hooker is a target whose agent asks a hook before a tool runs.
type Hooker interface {
	Target
	// Hook answers one payload of the agent's own protocol. It never panics
	// and never answers more than the policy says; what it does not
	// understand it refuses.
	Hook(HookRequest) HookAnswer
}

// HookRequest is one question of an agent.
type HookRequest struct {
	Payload []byte
	Policy  *policy.Engine
	Subject ir.SubjectRef
	Root    string // the project's root as an absolute path
	// MayAllow is set for a hook that came by --settings or an installation:
	// only such a hook answers allow; any other abstains from it.
	MayAllow bool
	// Resolve returns an absolute path with links resolved, as far as the
	// path exists.
	Resolve func(path string) (string, error)
}

// HookAnswer is what the process says: the bytes for standard output, the
// reason for standard error, and the exit code (0 or 2).
type HookAnswer struct {
	Stdout []byte
	Stderr string
	Exit   int
}

// Refuse is the answer of a hook that cannot decide: exit code 2 is a refusal
// for every agent that modec knows.
func Refuse(reason string) HookAnswer { return HookAnswer{Stderr: reason, Exit: 2} }

// Launcher is a target whose agent can be started as a subject.
type Launcher interface {
	Installed
	// Args returns the agent's arguments for a subject.
	Args(Input, ir.SubjectRef, ArgsOptions) ([]string, diag.List)
	// Decisive returns the flags by which a command line would replace what the
	// subject may do.
	Decisive() []string
}

// ArgsOptions say in which form arguments are wanted.
type ArgsOptions struct {
	Dir       string // the directory of the artifacts, put before their paths
	Inline    bool   // settings as JSON in the argument instead of a file
	FlagsOnly bool   // bare flags; what they cannot carry is a diagnostic
}

package compiler

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/resolve"
	"modec.dev/modec/compiler/source"
)

// Request is what to compile.
type Request struct {
	Root    string            // the project's folder
	FS      fs.FS             // the files to compile instead of those below Root; nil: those
	Targets []contract.Target // every target there is, in printing order
	Only    []string          // names of the targets to compile; empty: those of modec.toml
	Today   time.Time         // when exceptions and allows with times are judged
	Version string            // modec's own version, which a project may ask for; "": not checked
	// Unhooked compiles as without hooks, whatever modec.toml says.
	Unhooked bool
	// SourceAlone takes a project without targets, as one is that only the gateway serves: what is asked is of its
	// source.
	SourceAlone bool
}

// Result is a compiled project. Nothing of it has touched the disk.
type Result struct {
	Config  *config.Config
	Project *ir.Project
	Policy  *policy.Engine
	Sources map[string][]byte    // the data files of the source, by path
	Outputs []contract.Artifacts // one a target, in printing order

	policy  func() []byte             // see PolicyJSON
	entries contract.Entries          // of external servers
	now     time.Time                 // when allows with times are judged
	targets []contract.Target         // every target there is
	inputs  map[string]contract.Input // of the targets that were compiled, by name
}

// Compile loads a project and emits it for its targets. It reads the project's
// folder and writes nothing. The result is nil when a diagnostic is an error.
func Compile(ctx context.Context, req Request) (*Result, diag.List) {
	res, diags := Open(ctx, req)
	if diags.HasErrors() {
		return nil, diags
	}
	targets, list := chosen(res.Config, req)
	diags = append(diags, list...)
	exceptions, list := res.Config.Exceptions(res.Project, req.Today)
	diags = append(diags, list...)
	if !diags.HasErrors() {
		hooks := res.Config.Hooks
		if req.Unhooked {
			hooks = contract.Off
		}
		diags = append(diags, res.emit(targets, exceptions, hooks)...)
	}
	diags.Sort()
	if diags.HasErrors() {
		return nil, diags
	}
	return res, diags
}

// Open loads a project without compiling it for any target: the model and the engine
// that decides by it. The result is nil when a diagnostic is an error.
func Open(ctx context.Context, req Request) (*Result, diag.List) {
	files, end, diags := req.files()
	if diags != nil {
		return nil, diags
	}
	defer end()
	cfg, diags := config.Load(files, req.folder(), req.Targets)
	if !diags.HasErrors() {
		diags = append(diags, cfg.CheckVersion(req.Version)...)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	data, tree, list := load(ctx, files, cfg.Source)
	if diags = append(diags, list...); data == nil {
		return nil, diags
	}
	project, list := resolve.Resolve(data, tree.Texts, settings(cfg, req.Targets))
	diags = append(diags, independent(list, diags)...)
	diags = append(diags, cfg.CheckBaseline(project)...)
	diags = append(diags, Stopped(ctx)...)
	entries, changed, list := entriesOf(files, project, contract.ListsOfServers(req.Targets))
	diags = append(diags, list...)
	diags.Sort()
	if diags.HasErrors() {
		return nil, diags
	}
	if cfg.Gateway.Emit {
		project.Gateways = contract.Gateways(project, req.inUse(cfg))
	}
	engine := policy.New(project)
	if len(tree.Served) > 0 {
		if diags = append(diags, onlyHoldBack(ctx, files, cfg, req.Targets, engine)...); diags.HasErrors() {
			return nil, diags
		}
	}
	for _, s := range changed {
		askAbout(project, engine, s)
		engine = policy.New(project)
	}
	return &Result{
		Config:  cfg,
		Project: project,
		Policy:  engine,
		entries: entries,
		Sources: tree.Data,
		now:     req.Today,
		targets: req.Targets,
		policy:  sync.OnceValue(func() []byte { return policyJSON(project) }),
	}, diags
}

// independent returns the diagnostics that do not follow from earlier ones. The name of
// whatever has an error stays known, except those of a server's tools.
func independent(list, earlier diag.List) diag.List {
	unread := slices.ContainsFunc(earlier, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && strings.HasPrefix(d.Path, "servers.")
	})
	if !unread {
		return list
	}
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool {
		return d.Code == diag.UnknownTool || d.Code == diag.MatchesNothing
	})
}

// ReadConfig reads the project's modec.toml alone.
func ReadConfig(req Request) (*config.Config, diag.List) {
	files, end, diags := req.files()
	if diags != nil {
		return nil, diags
	}
	defer end()
	return config.Load(files, req.folder(), req.Targets)
}

// Format returns the CUE files of the source that `modec fmt` would change, as it would
// leave them. A file that does not parse is an error, and nothing is returned.
func (req *Request) Format() ([]source.Formatted, diag.List) {
	files, end, diags := req.files()
	if diags != nil {
		return nil, diags
	}
	defer end()
	cfg, diags := config.Load(files, req.folder(), req.Targets)
	if diags.HasErrors() {
		return nil, diags
	}
	return source.Format(files, cfg.Source)
}

// inUse returns the targets of modec.toml and those that are compiled beside them.
func (req *Request) inUse(cfg *config.Config) (list []contract.Target) {
	own := contract.Names(cfg.InUse())
	for _, t := range req.Targets {
		if slices.Contains(own, t.Name()) || slices.Contains(req.Only, t.Name()) {
			list = append(list, t)
		}
	}
	return list
}

// Stopped reports a context that has ended; nil where it has not.
func Stopped(ctx context.Context) (diags diag.List) {
	if err := context.Cause(ctx); err != nil {
		diags.Errorf(diag.Interrupted, diag.Pos{}, "stopped before the end: %v", err)
	}
	return diags
}

// files opens the project's files. No link leads out of its folder.
func (req *Request) files() (fs.FS, func() error, diag.List) {
	if req.FS != nil {
		return req.FS, func() error { return nil }, nil
	}
	root, err := os.OpenRoot(req.Root)
	if err != nil {
		var diags diag.List
		diags.Errorf(diag.NoProject, diag.Pos{}, "the folder %q cannot be opened: %v",
			req.Root, diag.WithoutPath(err))
		return nil, nil, diags
	}
	return contract.Plain(root.FS()), root.Close, nil
}

// folder names the project's folder for people.
func (req *Request) folder() string { return cmp.Or(req.Root, "the project") }

// settings returns how modec.toml and the targets want a source to be resolved.
func settings(cfg *config.Config, known []contract.Target) resolve.Settings {
	starts := map[string]string{}
	for _, t := range known {
		if s, ok := t.(contract.Sharer); ok {
			starts[t.Name()] = s.Shares()
		}
	}
	return resolve.Settings{
		Name:            cfg.Name,
		ClosedInventory: cfg.Closed,
		Unsaid:          cfg.Unsaid,
		Baseline:        cfg.Baseline,
		Enforced:        cfg.Enforced(),
		Audit:           cfg.Audit,
		Known:           contract.Names(known),
		Starts:          starts,
		Dialects:        contract.Dialects(known),
	}
}

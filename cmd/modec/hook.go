package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/record"
	"modec.dev/modec/compiler/session"
)

type hookCmd struct {
	Agent    string `arg:"" help:"The agent that asks: ${hookers}."`
	Subject  string `placeholder:"NAME" help:"The mode or role that the session works as. Default: the baseline."`
	Root     string `placeholder:"DIR" help:"The project's folder. Default: that in which the agent was started."`
	MayAllow bool   `help:"Answer allow where the policy allows, instead of abstaining."`
	Floor    string `placeholder:"FILE" help:"A model (modec.model.json) that decides too."`
	Observe  bool   `help:"Write the answer into the audit, and change no call."`
}

func (hookCmd) here() {}

const (
	hookDeadline = contract.HookSeconds * time.Second
	hookPayload  = 8 << 20 // bytes
)

// wayOut is what a person can do where a hook refuses because it cannot decide.
const wayOut = "a person can turn the hooks off for an hour, in a terminal, by `modec off`, " +
	"or leave modec by `modec clean --keep`"

// Run always answers: whatever goes wrong is a refusal.
func (c *hookCmd) Run(e *env) error {
	e.ui.Endless = true // the answer counts, whoever ends the session
	collectSeldom()
	start := time.Now()
	var asked hookRecord
	done := make(chan contract.HookAnswer, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- contract.Refuse(fmt.Sprintf("the hook failed: %v", r))
			}
		}()
		done <- c.answer(e, &asked, start)
	}()
	var a contract.HookAnswer
	select {
	case a = <-done:
	case <-time.After(hookDeadline):
		a = contract.Refuse(fmt.Sprintf("no answer within %s", hookDeadline))
	}
	said := a
	if c.Observe {
		a = contract.NoOpinion()
	}
	if a.Exit == 0 {
		if _, err := e.ui.Out.Write(a.Stdout); err != nil {
			a = contract.Refuse(fmt.Sprintf("the answer could not be written: %v", err))
		}
	}
	if a.Stderr != "" {
		fmt.Fprintf(e.ui.Err, "modec: %s\nmodec: %s\n", a.Stderr, wayOut)
	}
	e.tellLost(asked.write(c, said, start))
	if a.Exit != 0 {
		return report.ExitUsage
	}
	return nil
}

func (c *hookCmd) answer(e *env, asked *hookRecord, now time.Time) contract.HookAnswer {
	hooker := e.hooker(c.Agent)
	if hooker == nil {
		return contract.Refuse(fmt.Sprintf("agent %q has no hook that modec answers", c.Agent))
	}
	payload, err := io.ReadAll(io.LimitReader(e.stdin, hookPayload+1))
	if err != nil {
		return contract.Refuse(fmt.Sprintf("the payload could not be read: %v", err))
	}
	if len(payload) > hookPayload {
		return contract.Refuse(fmt.Sprintf("the payload is over %d bytes", hookPayload))
	}
	s, err := c.session(e, contract.SessionOf(payload))
	if err != nil && !(c.Floor != "" && errors.Is(err, errNoProject)) {
		return contract.Refuse(err.Error())
	}
	if s.off() {
		s.policies = nil
	}
	if c.Floor != "" {
		dir, name := filepath.Split(e.abs(c.Floor))
		if s.floor, err = contract.ReadImport(os.DirFS(dir), name); err != nil {
			return contract.Refuse(fmt.Sprintf("the floor cannot be read: %v", err))
		}
	}
	home, _ := os.UserHomeDir()
	req := contract.HookRequest{Payload: payload, Root: s.root, MayAllow: c.MayAllow,
		Resolve: contract.ResolveLinks, Home: home, Same: contract.SameFolder, Folds: true, Closed: s.closed(),
		Worktree: func(dir string) (string, bool) { return contract.ProjectIn(s.root, dir) }}
	var lowest *contract.HookAnswer
	also := func(compiled []byte, subject string, asked *hookRecord) {
		a := decide(hooker, req, compiled, subject, asked, now)
		if lowest == nil || a.Lower(lowest) {
			lowest = &a
		}
	}
	for _, compiled := range s.policies {
		also(compiled, c.Subject, asked)
	}
	if s.floor != nil {
		also(s.floor, "", new(hookRecord)) // the record is the project's
	}
	if lowest == nil { // off
		return contract.NoOpinion()
	}
	return *lowest
}

// decide answers by a compiled source, for a subject of it.
func decide(
	hooker contract.Hooker, req contract.HookRequest, compiled []byte, subject string, asked *hookRecord, now time.Time,
) contract.HookAnswer {
	p, err := ir.Unmarshal(bytes.NewReader(compiled))
	if err != nil {
		return contract.Refuse(fmt.Sprintf("the compiled source cannot be used: %v", err))
	}
	engine := policy.New(policy.HookView(p, hooker.Name())).At(now)
	line := contract.HookLine{Subject: subject}
	if req.Subject, err = line.Ref(engine); err != nil {
		return contract.Refuse(err.Error())
	}
	req.Policy = engine
	if p.Audit != nil {
		// The first is what the session began with: that says where the record is.
		asked.about.CompareAndSwap(nil, &hookSubject{req.Root, engine.Project(), req.Subject})
	}
	return hooker.Hook(req)
}

// hookSession is the session of a call: its project, and the compiled sources of which the lowest decision holds.
type hookSession struct {
	root     string
	policies [][]byte
	floor    []byte   // an organisation's, which decides too; nil: none
	own      []string // the folders of what modec keeps for the user
}

// errNoProject is why a folder has no policy of its own.
var errNoProject = errors.New("start the agent in the project")

// closed returns the folders of modec's own, without links, each once.
func (s *hookSession) closed() (dirs []string) {
	for _, dir := range append(s.own, originals.Folder(), record.Folder()) {
		real, err := contract.ResolveLinks(dir)
		if err != nil {
			real = dir
		}
		if dir != "" && !slices.Contains(dirs, real) { // a process may have no home
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// off reports whether a person turned the hooks off, in the project or in the one of which it is a work tree of git.
func (s *hookSession) off() bool {
	roots := []string{s.root}
	if tree, ok := contract.FindWorktree(s.root); ok {
		if main, ok := tree.InMain(s.root); ok {
			roots = append(roots, main)
		}
	}
	return disarmed(roots...) != nil
}

// session returns the session of a name, which its first call fixes. What the source says since counts beside it, where
// it compiles, else what it compiled to before: it can only lower a decision. A session without a name is decided by
// the source as it is.
func (c *hookCmd) session(e *env, name string) (*hookSession, error) {
	store, err := session.Open()
	if err != nil {
		return nil, err
	}
	names := []string{c.Agent, name, c.Root}
	first, known := session.Session{}, false
	if name != "" {
		first, known = store.Find(names...)
	}
	root, ok := first.Root, true
	switch {
	case known:
	case c.Root != "":
		root = e.abs(c.Root)
	default:
		if root, ok = config.Outermost(e.dir); !ok {
			return &hookSession{root: e.dir, own: store.Folders()},
				fmt.Errorf("there is no modec.toml in %s or above: %w", e.dir, errNoProject)
		}
	}
	now, digest, err := store.Compiled(root, record.Program(version()), func(files fs.FS) ([]byte, error) {
		req := e.sourceRequest()
		req.Root, req.FS = root, files
		res, diags := compiler.Open(e.ctx, req)
		if diags.HasErrors() {
			return nil, fmt.Errorf("the source does not compile: %s: run `modec lint`", firstError(diags))
		}
		return res.PolicyJSON(), nil
	})
	switch {
	case err != nil && !known:
		return nil, err
	case name != "" && !known:
		if first, err = store.Fix(session.Session{Root: root, Policy: digest}, names...); err != nil {
			return nil, err
		}
	}
	s := &hookSession{root: root, own: store.Folders()}
	if name != "" && (now == nil || first.Policy != digest) {
		began := store.Policy(first.Policy)
		if began == nil {
			return nil, errors.New("what the session began with is no longer there: start the agent anew")
		}
		s.policies = append(s.policies, began)
	}
	if now != nil {
		s.policies = append(s.policies, now)
	}
	return s, nil
}

func (e *env) hooker(name string) contract.Hooker {
	for _, t := range e.targets {
		if h, ok := t.(contract.Hooker); ok && t.Name() == name {
			return h
		}
	}
	return nil
}

// firstError returns the first error of a list.
func firstError(diags diag.List) string {
	i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	return diags[i].String()
}

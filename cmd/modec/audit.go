package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/audit/otlp"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// appendLimit is how long an answer that was given waits for its event to be written.
const appendLimit = 250 * time.Millisecond

// hookRecord is what is known of a hook's question once its policy was read.
type hookRecord struct{ about atomic.Pointer[hookSubject] }

type hookSubject struct {
	root   string
	policy *ir.Project
	ref    ir.SubjectRef
}

// write writes an answer into the project's audit, where it has one.
func (r *hookRecord) write(c *hookCmd, a contract.HookAnswer, start time.Time) error {
	about := r.about.Load()
	if about == nil {
		return nil
	}
	log, err := audit.Open(about.root, *about.policy.Audit)
	if err != nil {
		return err
	}
	return within(appendLimit, func() error { return log.Append(about.event(c, a, start)) })
}

// within returns what a function returns, or an error where it takes too long.
func within(limit time.Duration, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return fmt.Errorf("the audit's file takes no event within %s", limit)
	}
}

// event is the answer to a question of an agent.
func (s *hookSubject) event(c *hookCmd, a contract.HookAnswer, start time.Time) audit.Event {
	e := audit.Event{Time: start, Via: audit.ViaHook, Agent: c.Agent, Principal: userName(), Role: s.ref.Role,
		Mode: s.ref.Mode, Tool: "hook", Policy: s.policy.Digest(s.ref), Outcome: audit.Refused, MS: audit.Since(start)}
	j := a.Judgement
	if j == nil || a.Exit != 0 {
		e.Detail = a.Stderr
	}
	if c.Observe {
		e.Outcome = audit.Observed
	}
	if j == nil {
		return e
	}
	e.Tool, e.Group, e.Server = j.Tool, string(j.Group), j.Server
	if e.Mode == "" {
		e.Mode = j.Mode
	}
	e.Decision, e.Rule, e.Place = j.Result.Decision.String(), j.Result.Rule, j.Result.Pos.String()
	e.Input, _ = json.Marshal(j.Input) // it was read as JSON
	if j.About != nil {
		e.About = j.About()
	}
	if a.Exit == 0 && !c.Observe {
		e.Outcome = outcomes[j.Answer]
	}
	return e
}

// outcomes are what an agent was told.
var outcomes = map[ir.Decision]audit.Outcome{ir.Deny: audit.Refused, ir.Ask: audit.Asked, ir.Allow: audit.Allowed,
	ir.Agent: audit.Left}

// tellLost tells of an event that could not be written: of several in a row, once. What was decided holds.
func (e *env) tellLost(err error) {
	if !audit.Untold(err) {
		return
	}
	fmt.Fprintf(e.ui.Err, "modec: warning: %s; what was decided holds, and `modec audit` tells how many events are "+
		"lost\n", diag.Clean(err.Error()))
}

// fromRoot returns a path as people are told it: below the project without its folder.
func (e *env) fromRoot(file string) string {
	root := e.dir
	if dir, err := filepath.EvalSymlinks(root); err == nil {
		root = dir
	}
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// auditLog returns the log of the project, nil where it has none.
func (e *env) auditLog() (*audit.Log, error) {
	cfg, diags := compiler.ReadConfig(e.request())
	if diags.HasErrors() {
		return nil, fmt.Errorf("modec.toml cannot be read: %s", diags[0].String())
	}
	if cfg.Audit == nil {
		return nil, nil
	}
	return audit.Open(e.dir, *cfg.Audit)
}

// recorder writes events into a project's audit, as long as a server runs.
type recorder struct {
	to        *audit.Log
	send      *otlp.Sender // nil: to nobody
	principal string       // who calls, where an event does not say it
	log       *slog.Logger
	lost      atomic.Uint64
}

// recorder returns what writes events into a project's audit; nil where the project has none.
func (e *env) recorder(p *ir.Project, principal string, log *slog.Logger) *recorder {
	if p.Audit == nil {
		return nil
	}
	to, err := audit.Open(e.dir, *p.Audit)
	if err != nil {
		log.Warn("there is no audit of what is served", "error", err)
		return nil
	}
	r := &recorder{to: to, principal: principal, log: log}
	if p.Audit.OTel {
		if r.send, err = otlp.Open(os.Getenv, version(), log); err != nil {
			log.Warn("no event is sent to an OpenTelemetry collector", "error", err)
		}
	}
	return r
}

// function returns what writes an event; nil where the project has no audit.
func (r *recorder) function() func(audit.Event) {
	if r == nil {
		return nil
	}
	return r.write
}

func (r *recorder) write(ev audit.Event) {
	ev.Principal = cmp.Or(ev.Principal, r.principal)
	if r.send != nil {
		if told, err := r.to.Masked(ev); err == nil {
			ev.ID, ev.Time = told.ID, told.Time
			r.send.Send(&told)
		}
	}
	err := r.to.Append(ev)
	if err != nil {
		r.lost.Add(1)
	}
	if audit.Untold(err) {
		r.log.Warn("events are lost; what was decided holds", "error", err)
	}
}

// missed returns how many events were not written or not sent.
func (r *recorder) missed() uint64 {
	n := r.lost.Load()
	if r.send != nil {
		n += r.send.Lost()
	}
	return n
}

// end sends what waits to be sent.
func (r *recorder) end() {
	if r != nil && r.send != nil {
		r.send.Close()
	}
}

// recordCommand writes what a person did by a command into the project's audit.
func (e *env) recordCommand(tool, detail string, start time.Time) {
	log, err := e.auditLog()
	if err == nil && log != nil {
		err = log.Append(audit.Event{Time: start, Via: audit.ViaCommand, Principal: userName(), Tool: tool,
			Outcome: audit.Done, Detail: detail, MS: audit.Since(start)})
	}
	e.tellLost(err)
}

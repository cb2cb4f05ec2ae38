package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/accepted"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/mcp/gateway"
)

type gatewayCmd struct {
	acceptFlag
	Role      string            `placeholder:"NAME" help:"The role that calls."`
	Mode      string            `placeholder:"SLUG" help:"The mode that calls; with --role, that the role works in."`
	Namespace map[string]string `mapsep:"none" placeholder:"SERVER=PREFIX" help:"${namespace_help}"`
	AgentAsks bool              `help:"The agent asks by itself: pass on what is asked about or left to the agent."`
}

func (c *gatewayCmd) Run(e *env) error {
	ref := ir.SubjectRef{Mode: c.Mode, Role: c.Role}
	if ref == (ir.SubjectRef{}) {
		return errors.New("the gateway serves one role or mode: name it with --role, --mode or both")
	}
	e.ui.endless = true
	l := &gatewayLoader{env: e, ref: ref}
	w, err := e.watch()
	if err != nil {
		return err
	}
	res, diags := compiler.Open(e.ctx, e.request())
	if diags.HasErrors() {
		return e.ui.fail(diags)
	}
	table, err := gateway.NewTable(res.Policy, ref, c.Namespace, c.AgentAsks)
	if err != nil {
		return err
	}
	if err := c.start(e, table); err != nil {
		return err
	}
	level := slog.LevelWarn
	if e.ui.verbose {
		level = slog.LevelInfo
	}
	out := newPatient(e.ui.err)
	defer out.Close()
	l.log = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: maskedAttr}))
	l.record = e.recorder(res.Project, userName(), l.log)
	l.gateway, err = gateway.New(res.Policy, gateway.Options{Subject: ref, Version: version(), Root: e.dir,
		Logger: l.log, Naming: c.Namespace, AgentAsks: c.AgentAsks, Audit: l.record})
	if err != nil {
		return err
	}
	defer l.gateway.Close()
	go func() {
		if err := w.run(e.ctx, l.reload); err != nil {
			l.log.Error("changes are not seen any more", "error", err)
		}
	}()
	in, ok := e.stdin.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(e.stdin)
	}
	return l.gateway.Run(e.ctx, in, keepOpen{e.ui.out})
}

// start has the user accept the servers that the gateway may start or reach, as `modec run` does.
func (c *gatewayCmd) start(e *env, t *gateway.Table) error {
	var points []accepted.Point
	for _, sv := range t.Servers() {
		points = append(points, startOf(sv))
	}
	return c.acceptPoints(e, points, "The gateway", "New in it, the gateway")
}

// reloaded writes down that another source is served.
func (l *gatewayLoader) reloaded(digest string, waiting []string) {
	if l.record == nil {
		return
	}
	ev := audit.Event{Via: audit.ViaGateway, Role: l.ref.Role, Mode: l.ref.Mode, Tool: "reload", Policy: digest,
		Outcome: audit.Done}
	if len(waiting) > 0 {
		ev.Detail = count(len(waiting), "permission") + " more, not served before the gateway is started again"
	}
	l.record(ev)
}

// gatewayLoader takes changes of the source to a gateway.
type gatewayLoader struct {
	*env
	log     *slog.Logger
	ref     ir.SubjectRef
	gateway *gateway.Gateway
	record  func(audit.Event) // nil: nothing is written
}

// reload takes what is there now as far as it narrows, or keeps serving the last good source.
func (l *gatewayLoader) reload() {
	defer func() {
		if r := recover(); r != nil {
			l.log.Error("the source cannot be served; the last good one is", "error", r)
		}
	}()
	res, diags := compiler.Open(l.ctx, l.request())
	if diags.HasErrors() {
		i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
		l.log.Error("the source does not compile; the last good one is served", "error", diags[i].String())
		return
	}
	waiting, err := l.gateway.Reload(res.Policy)
	if err != nil {
		l.log.Error("the source cannot be served; the last good one is", "error", err)
		return
	}
	l.reloaded(res.Policy.Digest(l.ref), waiting)
	for _, what := range waiting {
		l.log.Warn("the source permits more now: start the gateway again to have it served", "what", what)
	}
	if len(waiting) == 0 {
		l.log.Info(fmt.Sprintf("serving the changed source to %s", l.ref))
	}
}

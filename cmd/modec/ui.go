package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"modec.dev/modec/cmd/modec/internal/page"
	"modec.dev/modec/cmd/modec/internal/page/console"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/accepted"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcp/serve"
)

type uiCmd struct {
	HTTP  string `name:"http" default:"127.0.0.1:0" placeholder:"ADDR" help:"Where to listen: a port of this machine."`
	Write bool   `help:"Let the page change the source: it shows what a patch changes first, and can undo it."`
}

// Run serves the page until ^C. Each line that comes in over standard input prints a new address, unless it answers a
// question: a page that was loaded again has lost its key.
func (c *uiCmd) Run(e *env) error {
	p, diags := page.New(e.ctx, e.pageProject(), c.Write)
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	listener, err := net.Listen("tcp", c.HTTP)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	if !onLoopback(listener) {
		_ = listener.Close() // nobody was served
		return errors.New("others could reach this address: " +
			"--http takes one of the loopback interface, such as 127.0.0.1:8700")
	}
	log := slog.New(slog.NewTextHandler(e.ui.Err, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: maskedAttr}))
	keys := &console.Keys{}
	h, err := p.Handler(keys)
	if err != nil {
		return err
	}
	if h, err = serve.FilterRequests(h, serve.HTTPOptions{}, log); err != nil {
		return err
	}
	h = serve.InTime(h, serve.HTTPOptions{})
	w, err := e.watch()
	if err != nil {
		return err
	}
	go func() {
		if err := w.run(e.ctx, func() { p.Load() }); err != nil { // the page says what is wrong
			e.ui.Failure(err)
		}
	}()
	e.ui.Endless = true
	at := "http://" + listener.Addr().String()
	e.ui.Printf("%s\n", keys.Address(at))
	e.ui.Note("one page can be opened by it; Enter prints a new address, ^C stops\n")
	if c.Write {
		e.ui.Note("the page may change the source; what permits more is asked about here\n")
	}
	go func() {
		for lines := bufio.NewScanner(e.stdin); lines.Scan(); {
			if !p.Answered(lines.Text()) {
				e.ui.Printf("%s\n", keys.Address(at))
			}
		}
	}()
	return e.serveHTTP(listener, h, log, quickly)
}

// pageProject returns what the page needs of the project.
func (e *env) pageProject() page.Project {
	return page.Project{
		Dir: e.dir, Disk: e.disk(), Request: e.request, Line: e.ui.Render.Line,
		Revision: e.revision, Proves: e.proves, Audit: e.openAudit, NoAudit: errNoAudit, Pins: e.pins,
		Ask: e.askAccepted, Progress: e.progress(), Terminal: e.ui.Err, Number: challengeNumber,
		Asked: person(e.stdin) && person(e.ui.Err),
		Runs:  func(res *compiler.Result) []contract.Run { return runsOf(res, memfs.FS{}, e.targets) },
	}
}

// revision returns what decides at a revision of git.
func (e *env) revision(rev string) (*policy.Engine, error) {
	c := &diffCmd{}
	before, diags, err := c.load(e, rev, c.decides)
	defer before.close()
	switch {
	case err != nil:
		return nil, err
	case diags.HasErrors():
		return nil, errors.New(diags[0].String())
	}
	return before.engine(), nil
}

// askAccepted asks the servers of a project that the user accepted.
func (e *env) askAccepted(ctx context.Context, p *ir.Project, set *pins.Set) (list []page.Server, err error) {
	var c inventoryCmd
	chosen, err := c.chosen(p)
	if err != nil {
		return nil, err
	}
	record := accepted.Load(mainTree(e.dir))
	for i := range chosen {
		a := &chosen[i]
		if a.Status == externalServer {
			continue
		}
		x := page.Server{Name: a.Name, Accepted: len(record.New([]accepted.Point{startOf(a.server)})) == 0}
		if x.Accepted {
			a.ask(ctx, e)
			a.hold(set)
			x.Error, x.Tools, x.Pinned, x.Pins = a.Error, a.Tools, set.Server(a.Name) != nil, a.Pins
		}
		list = append(list, x)
	}
	return list, nil
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"

	"modec.dev/modec/cmd/modec/console"
	"modec.dev/modec/targets/mcp/serve"
)

type uiCmd struct {
	HTTP  string `name:"http" default:"127.0.0.1:0" placeholder:"ADDR" help:"Where to listen: a port of this machine."`
	Write bool   `help:"Let the page change the source: it shows what a patch changes first, and can undo it."`
}

// Run serves the page until ^C. Each line that comes in over standard input prints a new address, unless it answers a
// question: a page that was loaded again has lost its key.
func (c *uiCmd) Run(e *env) error {
	p := &pageViews{env: e, writes: c.Write}
	if diags := p.load(); diags.HasErrors() {
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
	options := console.Options{Title: p.title(), Views: p.views(), Keys: keys, Writes: c.Write,
		Actions: map[string]console.Action{"ask": p.askServers}}
	answered := func(string) bool { return false }
	if c.Write {
		ed := &editor{pageViews: p, asked: person(e.stdin) && person(e.ui.Err)}
		maps.Copy(options.Actions, ed.actions())
		answered = func(line string) bool { return ed.answered(e.ctx, line) }
		go ed.proof(e.ctx, p.model().res) // so that of what is prepared only the changes are compared
	}
	h, err := console.New(options)
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
		if err := w.run(e.ctx, func() { p.load() }); err != nil { // the page says what is wrong
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
			if !answered(lines.Text()) {
				e.ui.Printf("%s\n", keys.Address(at))
			}
		}
	}()
	return e.serveHTTP(listener, h, log, quickly)
}

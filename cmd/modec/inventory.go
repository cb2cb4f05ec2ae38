package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/accepted"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/inventory"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/render"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/targets/mcp/gateway"
)

type inventoryCmd struct {
	textOrJSON
	acceptFlag
	Server []string `arg:"" optional:"" help:"The servers to ask, or SERVER:TOOL to pin a tool. Default: all servers."`
	Update bool     `help:"Write the tools that a server offers into the source."`
	Pin    bool     `help:"Pin what a server offers: the gateway hides what is not as pinned."`
	Check  bool     `help:"Exit 1 where a server differs from the source or from its pins."`

	named map[string]bool // what is to be pinned, by its ID; none: what is not pinned yet
}

func (inventoryCmd) reports() []any { return []any{inventoryReport{}, report.Outcome{}} }

// inventoryReport is the JSON of a comparison.
type inventoryReport struct {
	report.Envelope
	Servers []askedServer `json:"servers"`
}

// askedServer is what became of asking one server.
type askedServer struct {
	Name      string           `json:"name"`
	Status    string           `json:"status" jsonschema:"same, different, external, failed"`
	Error     string           `json:"error,omitempty" jsonschema:"why it was not asked, or its tools not written"`
	Tools     int              `json:"tools" jsonschema:"tools that the server offers"`
	Prompts   []string         `json:"prompts"`
	Resources []string         `json:"resources" jsonschema:"addresses, those of templates too"`
	New       []inventory.Tool `json:"new" jsonschema:"tools that the source does not list"`
	Gone      []string         `json:"gone" jsonschema:"tools of the source that the server does not offer"`
	Riskier   []inventory.Tool `json:"riskier" jsonschema:"tools whose server claims a worse risk than the source"`
	Refused   []string         `json:"refused" jsonschema:"tools whose names the source does not take"`
	File      string           `json:"file,omitempty" jsonschema:"the file of the source that was written"`
	Permitted []permitted      `json:"permitted" jsonschema:"with --update, who may call the new tools"`
	// Pins and Pinned are about modec.pins.json.
	Pins   []pins.Change `json:"pins" jsonschema:"what is not as pinned; null where nothing of the server is pinned"`
	Pinned []string      `json:"pinned,omitempty" jsonschema:"what was pinned now"`

	server    *ir.Server
	offered   inventory.Offered
	unwritten bool     // no file can have its name
	unpinned  []string // of Pinned, what the server does not offer any more
	kept      bool     // the source lists a tool still that the server does not offer
}

// permitted are the tools new in the source that a subject may call.
type permitted struct {
	Subject string   `json:"subject"`
	Allow   []string `json:"allow" jsonschema:"without a question"`
	Ask     []string `json:"ask" jsonschema:"after a question"`
}

// What can be the status of a server.
const (
	sameServer      = "same"
	differentServer = "different"
	externalServer  = "external"
	failedServer    = "failed"
)

// mostListed is how many definitions are listed that were pinned.
const mostListed = 10

// askAtOnce is how many servers are asked at once.
const askAtOnce = 4

func (c *inventoryCmd) Run(e *env) error {
	res, diags := compiler.Open(e.ctx, e.request())
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	set, diags := e.pins()
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	chosen, err := c.chosen(res.Project)
	if err != nil {
		return err
	}
	var points []accepted.Point
	for _, a := range chosen {
		if a.Status != externalServer {
			points = append(points, startOf(a.server))
		}
	}
	if err := c.acceptPoints(e, points, "To ask the servers:", "New, to ask the servers:"); err != nil {
		return err
	}
	c.ask(e, chosen)
	if e.ctx.Err() != nil {
		return e.ui.Interrupted()
	}
	if c.Update {
		if err := c.update(e, res, chosen); err != nil {
			return err
		}
	}
	for i := range chosen {
		chosen[i].hold(set)
	}
	if c.Pin {
		if err := c.pin(e, set, chosen); err != nil {
			return err
		}
	}
	if e.ui.JSON {
		err = e.ui.Emit(inventoryReport{e.ui.Envelope(), chosen})
	} else {
		for i := range chosen {
			printAsked(e.ui, &chosen[i])
			e.ui.Diagnostics(chosen[i].refused())
		}
		next := "modec build"
		if len(res.Config.Targets) == 0 { // only the gateway serves it
			next = "modec lint"
		}
		printCompared(e.ui, chosen, next)
		c.held(e, chosen)
	}
	if err != nil {
		return err
	}
	return c.code(chosen)
}

// code returns how the command ends.
func (c *inventoryCmd) code(all []askedServer) error {
	is := func(status string) bool {
		return slices.ContainsFunc(all, func(a askedServer) bool { return a.Status == status })
	}
	switch {
	case is(failedServer):
		return report.ExitUsage
	case c.Check && (is(differentServer) || slices.ContainsFunc(all, askedServer.loose)):
		return report.ExitFindings
	case slices.ContainsFunc(all, func(a askedServer) bool { return a.unwritten }):
		return report.ExitFindings
	}
	return nil
}

// chosen returns the servers to ask.
func (c *inventoryCmd) chosen(p *ir.Project) (all []askedServer, err error) {
	var names []string
	for i := range p.Servers {
		names = append(names, p.Servers[i].Name)
	}
	var servers []string
	c.named = map[string]bool{}
	for _, name := range c.Server {
		server := serverOf(names, name)
		servers = append(servers, server)
		if server != name {
			c.Pin, c.named[name] = true, true
		}
		if server == "" {
			return nil, fmt.Errorf("the source has no server %q, but %s", name, diag.OneOf(names, "none"))
		}
	}
	if len(names) == 0 {
		return nil, errors.New("the source has no servers; write them at servers: modec help source")
	}
	for i := range p.Servers {
		sv := &p.Servers[i]
		if len(servers) > 0 && !slices.Contains(servers, sv.Name) {
			continue
		}
		a := askedServer{Name: sv.Name, server: sv}
		if sv.Type == ir.External {
			a.Status = externalServer
		}
		all = append(all, a)
	}
	return all, nil
}

// ask asks all servers that can be asked, some at once.
func (c *inventoryCmd) ask(e *env, all []askedServer) {
	step, end := e.ui.Progress("asking")
	defer end()
	var group sync.WaitGroup
	var mu sync.Mutex
	done, free := 0, make(chan struct{}, askAtOnce)
	for i := range all {
		if all[i].Status == externalServer {
			continue
		}
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			all[i].ask(e.ctx, e)
			mu.Lock()
			defer mu.Unlock()
			if done++; step != nil {
				step(done, len(all))
			}
		})
	}
	group.Wait()
}

// ask asks the server.
func (a *askedServer) ask(ctx context.Context, e *env) {
	log := slog.New(slog.DiscardHandler)
	if e.ui.Verbose {
		log = slog.New(slog.NewTextHandler(e.ui.Err, &slog.HandlerOptions{ReplaceAttr: maskedAttr}))
	}
	offered, err := gateway.Ask(ctx, *a.server, e.dir, version(), log)
	if err != nil {
		why := strings.TrimPrefix(err.Error(), fmt.Sprintf("server %q is ", a.Name)) // which is named before it
		a.Status, a.Error = failedServer, secret.Text(why)
		return
	}
	found := inventory.Compare(a.server, offered)
	a.Status = sameServer
	if found.Any() {
		a.Status = differentServer
	}
	a.Tools, a.Prompts, a.Resources = len(offered.Tools), offered.Prompts, offered.Resources
	refused := func(t inventory.Tool) bool { return !inventory.Takes(t.Name) }
	offered.Tools = slices.DeleteFunc(offered.Tools, refused)
	a.offered = offered
	a.New, a.Riskier, a.Refused = found.New, found.Riskier, found.Refused
	for _, t := range found.Gone {
		a.Gone = append(a.Gone, t.Name)
	}
}

// update writes what was found into the source, a server at a time.
func (c *inventoryCmd) update(e *env, res *compiler.Result, all []askedServer) error {
	for i := range all {
		a := &all[i]
		if a.Status != differentServer {
			continue
		}
		if a.unwritten = !render.InventoryFits(a.Name); a.unwritten {
			a.Error = "no file can have the server's name"
			continue
		}
		d, err := e.draft(e.ctx, sourceFile{
			path:   func(folder string) string { return render.InventoryPath(folder, a.Name) },
			header: render.InventoryHeader,
			text:   render.Inventory(a.server, a.offered, render.InventoryPath(res.Config.Source, a.Name)),
			writer: "modec inventory",
		})
		if err != nil {
			return err
		}
		if d.diags.HasErrors() {
			return e.ui.Fail(d.diags)
		}
		if d.same {
			continue
		}
		opt := output.PutOptions{Dir: e.dir, Existing: output.ReplaceExisting}
		if list := output.Put(e.ctx, []contract.File{d.file}, opt); list.HasErrors() {
			return e.ui.Fail(list)
		}
		a.File = d.file.Path
		a.permits(d.with)
		if sv := d.with.Project.Server(a.Name); sv != nil {
			a.kept = slices.ContainsFunc(a.Gone, func(name string) bool { return sv.Tool(name) != nil })
		}
	}
	return nil
}

// permits notes who may call the tools that are new in the source.
func (a *askedServer) permits(res *compiler.Result) {
	for _, ref := range res.Project.Subjects() {
		s, err := res.Policy.Subject(ref)
		if err != nil || ref.Mode != "" && ref.Role != "" {
			continue
		}
		p := permitted{Subject: ref.String()}
		for _, t := range a.New {
			switch s.Decide(policy.Action{Group: ir.MCP, Server: a.Name, Arg: t.Name}).Decision {
			case ir.Allow:
				p.Allow = append(p.Allow, t.Name)
			case ir.Ask:
				p.Ask = append(p.Ask, t.Name)
			}
		}
		if len(p.Allow)+len(p.Ask) > 0 {
			a.Permitted = append(a.Permitted, p)
		}
	}
}

// printAsked prints what became of asking a server.
func printAsked(u *report.Printer, a *askedServer) {
	name := diag.Clean(a.Name)
	switch a.Status {
	case externalServer:
		u.Printf("%s: not asked: its entry is not in the source\n", name)
		return
	case failedServer:
		fmt.Fprintf(u.Err, "modec: error: server %s: %s\n", name, diag.Clean(a.Error))
		return
	}
	text := report.Count(a.Tools, "tool")
	if n := len(a.Prompts); n > 0 {
		text += ", " + report.Count(n, "prompt")
	}
	if n := len(a.Resources); n > 0 {
		text += ", " + report.Count(n, "resource")
	}
	u.Printf("%s: %s\n", name, text)
	line := func(mark string, t inventory.Tool, about string) {
		if t.Risk != "" {
			about = strings.TrimSpace(about + " (the server says: " + t.Risk + ")")
		}
		u.Printf("  %s\n", strings.TrimSpace(mark+" "+diag.Clean(t.Name)+"  "+diag.Clean(about)))
	}
	for _, t := range a.New {
		line("+", t, inventory.Short(t.Description))
	}
	for _, name := range a.Gone {
		u.Printf("  - %s  the server does not offer it\n", diag.Clean(name))
	}
	for _, t := range a.Riskier {
		line("!", t, "the source says: "+a.server.Tool(t.Name).Risk)
	}
	printPinnedNow(u, "pinned: ", slices.DeleteFunc(slices.Clone(a.Pinned), func(id string) bool {
		return slices.Contains(a.unpinned, id)
	}))
	printPinnedNow(u, "not pinned any more: ", a.unpinned)
	if a.File == "" {
		return
	}
	u.Printf("  written: %s\n", diag.Clean(a.File))
	if slices.ContainsFunc(a.New, func(t inventory.Tool) bool { return t.Risk != "" }) {
		u.Printf("  what the server says of a risk is a comment there: rules such as @read match a tool\n" +
			"    whose risk you have written\n")
	}
	for _, p := range a.Permitted {
		for _, of := range []struct {
			tools []string
			text  string
		}{{p.Allow, "may call"}, {p.Ask, "is asked about"}} {
			if len(of.tools) > 0 {
				text := diag.Clean(p.Subject + " " + of.text + ": " + strings.Join(of.tools, ", "))
				u.Printf("  %s\n", strings.ReplaceAll(report.Wrap(text, report.ShowWidth-6), "\n", "\n    "))
			}
		}
	}
}

// printPinnedNow lists definitions, where there are any.
func printPinnedNow(u *report.Printer, what string, ids []string) {
	if len(ids) == 0 {
		return
	}
	text := what + report.Count(len(ids), "definition")
	if len(ids) <= mostListed {
		text = diag.Clean(what + strings.Join(ids, ", "))
	}
	u.Printf("  %s\n", strings.ReplaceAll(report.Wrap(text, report.ShowWidth-6), "\n", "\n    "))
}

// printCompared prints the end of a comparison, with what is to be done next once the source lists everything.
func printCompared(u *report.Printer, all []askedServer, next string) {
	var open, written []string
	missing, same := false, false
	for i := range all {
		switch a := &all[i]; {
		case a.Status != differentServer:
			same = same || a.Status == sameServer
		case a.File != "" && !a.kept && len(a.Riskier) == 0:
			written = append(written, a.Name)
		default:
			open = append(open, a.Name)
			missing = missing || a.File == "" && len(a.New) > 0
		}
	}
	switch {
	case missing:
		u.Note("the source differs from %s\nnext: modec inventory --update\n", diag.Clean(strings.Join(open, ", ")))
	case len(open) > 0:
		u.Note("the source differs from %s: change there what is marked - or !\n", diag.Clean(strings.Join(open, ", ")))
	case len(written) > 0:
		u.Note("the source lists all tools of %s\nnext: %s\n", diag.Clean(strings.Join(written, ", ")), next)
	case same:
		u.Note("the source lists the tools that the servers offer\n")
	}
}

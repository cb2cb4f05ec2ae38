package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/pins"
)

// pins returns the pins of the project; nil where it has none.
func (e *env) pins() (*pins.Set, diag.List) {
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		var diags diag.List
		diags.Errorf(diag.NoProject, diag.Pos{}, "the project's folder cannot be opened: %v", diag.WithoutPath(err))
		return nil, diags
	}
	defer root.Close()
	return pins.Read(contract.Plain(root.FS()))
}

// serverOf returns the server that a word names: by its name, or SERVER:TOOL. It returns "" where there is none.
func serverOf(servers []string, word string) (server string) {
	for _, name := range servers {
		if word == name {
			return name
		}
		if strings.HasPrefix(word, name+":") && len(name) > len(server) {
			server = name
		}
	}
	return server
}

// hold compares a server that was asked with its pins.
func (a *askedServer) hold(set *pins.Set) {
	if have := set.Server(a.Name); have != nil && a.offered.Pinned != nil {
		a.Pins = append([]pins.Change{}, have.Compare(a.offered.Pinned)...)
	}
}

// loose reports whether something of a server is not as pinned.
func (a askedServer) loose() bool { return len(a.Pins) > 0 }

// takes reports whether something is to be pinned: what is named, of a server of which nothing is named what is new.
func (c *inventoryCmd) takes(x pins.Change) bool {
	for id := range c.named {
		if serverOf([]string{x.Server}, id) == x.Server {
			return c.named[x.ID]
		}
	}
	return pins.Added(x)
}

// pin takes what was asked for into the pins, and writes them. What was pinned otherwise is shown first, and confirmed.
func (c *inventoryCmd) pin(e *env, set *pins.Set, all []askedServer) error {
	if set == nil {
		set = &pins.Set{}
	}
	replaces := false
	for i := range all {
		a := &all[i]
		if a.offered.Pinned == nil {
			continue
		}
		taken, _ := set.Take(a.offered.Pinned, c.takes)
		for _, x := range taken {
			a.Pinned = append(a.Pinned, x.ID)
			if x.Status == pins.Gone {
				a.unpinned = append(a.unpinned, x.ID)
			}
			if x.Status != pins.Unpinned {
				replaces = true
				printReplaced(e.ui, x)
			}
		}
		for id := range c.named {
			if serverOf([]string{a.Name}, id) == a.Name && !slices.Contains(a.Pinned, id) {
				return fmt.Errorf("nothing called %q differs from its pin: `modec inventory` lists what does", id)
			}
		}
	}
	if replaces && !c.Accept {
		if err := e.confirm("Pin it as it is now?", "--accept"); err != nil {
			return err
		}
	}
	file := contract.File{Path: pins.File, Data: set.Bytes()}
	opt := output.PutOptions{Dir: e.dir, Existing: output.ReplaceExisting}
	if list := output.Put(e.ctx, []contract.File{file}, opt); list.HasErrors() {
		return e.ui.Fail(list)
	}
	written, list := e.pins() // in which everything has its new place
	if list.HasErrors() {
		return e.ui.Fail(list)
	}
	for i := range all {
		all[i].hold(written)
	}
	return nil
}

// printReplaced shows what a pin that is replaced was, and what it is from now on.
func printReplaced(u *report.Printer, x pins.Change) {
	if u.JSON {
		return
	}
	fmt.Fprintf(u.Err, "%s\n", diag.Clean(x.String()))
	for _, p := range x.Parts {
		fmt.Fprintf(u.Err, "  %s\n", diag.Clean(p.String()))
	}
}

// held prints what came of pins.
func (c *inventoryCmd) held(e *env, all []askedServer) {
	add := (*diag.List).Warnf
	if c.Check {
		add = (*diag.List).Errorf
	}
	var list diag.List
	for i := range all {
		for _, x := range all[i].Pins {
			var parts []string
			for _, p := range x.Parts {
				parts = append(parts, p.Short())
			}
			text := x.String()
			if len(parts) > 0 {
				text += ": " + strings.Join(parts, "; ")
			}
			add(&list, pinCodes[x.Status], x.Pos, "%s", text).
				Hintf("where that is right, `%s` takes it", pins.Command(x.ID))
		}
	}
	e.ui.Diagnostics(list)
	if c.Pin {
		e.ui.Note("written: %s\nnext: modec lint\n", pins.File)
	}
}

var pinCodes = map[pins.Status]diag.Code{
	pins.Changed:  diag.PinChanged,
	pins.Gone:     diag.PinGone,
	pins.Unpinned: diag.Unpinned,
}

// refused returns what of a server cannot be written into the source, each by itself.
func (a *askedServer) refused() (list diag.List) {
	for _, name := range a.Refused {
		list.Warnf(diag.BadName, a.server.Pos, "server %q offers the tool %q, whose name the source does not take: it "+
			"is left out", a.Name, diag.Short(name)).
			Hint("a tool's name has 1 to 128 letters, digits, \"_\", \".\" and \"-\"")
	}
	if a.unwritten {
		list.Errorf(diag.BadName, a.server.Pos, "no file can have the name of server %q, so its tools are not written",
			diag.Short(a.Name)).
			Hint("give the server a shorter name, or list its tools by hand")
	}
	return list
}

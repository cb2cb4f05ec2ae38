package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/targets/mcp/serve"
)

// client is a program that starts MCP servers from a list of its own.
type client struct {
	file  string // in the project
	field string // that holds the list
	// remote is the type of an entry for HTTP; "": none is written.
	remote string
	typed  bool // an entry for standard input and output has a type too
	roo    bool
}

// clients are those whose entries modec writes, with the forms of their documentation.
var clients = map[string]client{
	"claude": {file: ".mcp.json", field: "mcpServers", remote: "http", typed: true},
	"cursor": {file: ".cursor/mcp.json", field: "mcpServers"},
	"roo":    {file: ".roo/mcp.json", field: "mcpServers", remote: "streamable-http", roo: true},
	"vscode": {file: ".vscode/mcp.json", field: "servers", remote: "http", typed: true},
}

// clientName is a client on the command line; printed stands for the one that
// --print-config names.
type clientName string

const printed clientName = " "

// Decode takes the value that follows, if one does.
func (c *clientName) Decode(ctx *kong.DecodeContext) error {
	*c = printed
	if t := ctx.Scan.Peek(); t.IsValue() {
		*c = clientName(ctx.Scan.Pop().String())
	}
	return nil
}

// entry prints a client's entry, or merges it into the client's file.
func (c *serveCmd) entry(e *env) error {
	name := cmp.Or(strings.TrimSpace(string(c.Install)), c.PrintConfig)
	if c.PrintConfig != "" && name != c.PrintConfig {
		return fmt.Errorf("got --print-config %s and --install %s, want one client", c.PrintConfig, name)
	}
	cl, ok := clients[name]
	if !ok {
		return fmt.Errorf("got client %q, want claude, cursor, roo or vscode", name)
	}
	o := contract.Object{}
	if addr := or(c.HTTP, ""); addr != "" {
		if cl.remote != "" {
			o = append(o, "type", cl.remote)
		}
		o = append(o, "url", serve.Address(addr, or(c.Mode, "")))
	} else {
		if cl.typed {
			o = append(o, "type", "stdio")
		}
		o = append(o, "command", "modec", "args", c.arguments(e))
	}
	if cl.roo {
		o = append(o, "disabled", false, "alwaysAllow", serve.ReadOnlyTools())
	}
	data := contract.JSON(contract.Object{cl.field, contract.Object{"modec", o}})
	if c.Install == "" {
		_, err := e.ui.out.Write(data)
		return err
	}
	file := filepath.Join(e.dir, filepath.FromSlash(cl.file))
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the list of servers cannot be read: %w", err)
	}
	res, err := jsonedit.Merge(have, data, []string{"/" + cl.field + "/modec"}, nil, false)
	switch {
	case err != nil:
		return fmt.Errorf("%s is no JSON: %w", cl.file, err)
	case len(res.Conflicts) > 0:
		return fmt.Errorf("%s:%d: got another entry %q, want to leave it alone: take it out first", cl.file, res.Conflicts[0].Line, res.Conflicts[0].Place)
	case bytes.Equal(have, res.Data):
		e.ui.note("%s has it already\n", cl.file)
		return nil
	}
	if diags := output.Put(e.dir, []contract.File{{Path: cl.file, Data: res.Data}}, output.ReplaceExisting); diags.HasErrors() {
		return e.ui.fail("serve", diags)
	}
	e.ui.note("added modec to %s\n", diag.Clean(cl.file))
	return nil
}

// arguments are those of a server that a client starts in the project's folder.
func (c *serveCmd) arguments(e *env) []string {
	args := []string{"serve"}
	if dir := relativeDir(e); dir != "." {
		args = append(args, "-C", filepath.ToSlash(dir))
	}
	for _, f := range []struct {
		name  string
		value *string
	}{{"mode", c.Mode}, {"role", c.Role}, {"model", c.Model}, {"state", c.State}} {
		if f.value != nil {
			args = append(args, "--"+f.name+"="+*f.value)
		}
	}
	if or(c.AllowWrites, false) {
		args = append(args, "--allow-writes")
	}
	if c.Config != "" {
		args = append(args, "--config="+strings.TrimSpace(c.Config))
	}
	return args
}

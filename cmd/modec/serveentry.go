package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/targets/mcp/serve"
)

// clients returns the programs whose lists of servers modec can write, by name.
func clients(all []contract.Target) map[string]contract.ServerList {
	out := map[string]contract.ServerList{}
	for _, t := range all {
		if c, ok := t.(contract.Client); ok {
			out[t.Name()] = c.ServerList()
		}
	}
	return out
}

// clientName is a client on the command line. The name may be missing: printed stands
// for the one that --print-config names.
type clientName string

const printed clientName = " "

// Decode takes the value that follows, if one does.
func (c *clientName) Decode(ctx *kong.DecodeContext) error {
	*c = printed
	if !ctx.Scan.Peek().IsValue() {
		return nil
	}
	t, err := ctx.Scan.PopValue("client")
	*c = clientName(t.String())
	return err
}

// clientReport is the JSON of a client's entry.
type clientReport struct {
	report.Envelope
	Status string          `json:"status" enum:"printed,added,unchanged"`
	Client string          `json:"client"`
	File   string          `json:"file" jsonschema:"the client's list of servers, relative to the project"`
	Config json.RawMessage `json:"config" jsonschema:"what the file has to contain"`
}

// entry prints a client's entry, or merges it into the client's file.
func (c *serveCmd) entry(e *env) error {
	name := cmp.Or(strings.TrimSpace(string(c.Install)), c.PrintConfig)
	if c.PrintConfig != "" && name != c.PrintConfig {
		return fmt.Errorf("--print-config names %s and --install %s: name one client", c.PrintConfig, name)
	}
	all := clients(e.targets)
	list, ok := all[name]
	if !ok {
		return fmt.Errorf("there is no client %q: the clients are %s", name, diag.Quote(slices.Sorted(maps.Keys(all))))
	}
	if state := or(c.State, ""); secret.Text(state) != state {
		return fmt.Errorf("--state has a password, which would stand in %s: leave it out there, and set MODEC_STATE",
			list.File)
	}
	entry := list.Entry("modec", c.arguments(e), serve.ReadOnlyTools())
	if addr := or(c.HTTP, ""); addr != "" {
		entry = list.RemoteEntry(serve.Address(addr, or(c.Mode, "")), serve.ReadOnlyTools())
	}
	data := contract.JSON(contract.Object{list.Field, contract.Object{"modec", entry}})
	report := clientReport{e.ui.Envelope(), "printed", name, list.File, data}
	switch {
	case c.Install != "":
		return c.install(e, list, report)
	case e.ui.JSON:
		return e.ui.Emit(report)
	}
	_, err := e.ui.Out.Write(data)
	return err
}

// install merges an entry into the client's file.
func (c *serveCmd) install(e *env, list contract.ServerList, report clientReport) error {
	file := filepath.Join(e.dir, filepath.FromSlash(list.File))
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the list of servers cannot be read: %w", err)
	}
	entry := jsonedit.Pattern{Places: []string{"/" + list.Field + "/modec"}}
	res, err := jsonedit.Merge(have, report.Config, entry, nil, false)
	switch {
	case err != nil:
		return fmt.Errorf("%s is not JSON: %w", list.File, err)
	case len(res.Conflicts) > 0:
		return fmt.Errorf("%s:%d: there is another entry %q, and modec leaves it alone: remove it first",
			list.File, res.Conflicts[0].Line, res.Conflicts[0].Place)
	case bytes.Equal(have, res.Data):
		report.Status = "unchanged"
		e.ui.Note("%s has it already\n", list.File)
	default:
		files := []contract.File{{Path: list.File, Data: res.Data}}
		if diags := e.put(files, output.ReplaceExisting); diags.HasErrors() {
			return e.ui.Fail(diags)
		}
		report.Status = "added"
		e.ui.Note("added modec to %s\n", diag.Clean(list.File))
	}
	if e.ui.JSON {
		return e.ui.Emit(report)
	}
	return nil
}

// arguments returns those of a server that a client starts in the project's folder.
func (c *serveCmd) arguments(e *env) []string {
	args := []string{"serve"}
	if dir := e.relativeDir(); dir != "." {
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

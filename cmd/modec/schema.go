package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/shape"
	"modec.dev/modec/cue"
)

type schemaCmd struct {
	textOrJSON
	Config    bool   `help:"Print the schema of modec.toml instead."`
	Reference bool   `help:"Print the reference of the source as Markdown."`
	Output    string `placeholder:"COMMAND" help:"Print the JSON Schema of what COMMAND prints with --json."`
}

func (c *schemaCmd) Run(e *env, k *kong.Kong) error {
	asked := 0
	for _, yes := range []bool{c.Config, c.Reference, c.Output != "", e.ui.JSON && c.Output == ""} {
		if yes {
			asked++
		}
	}
	switch {
	case asked > 1:
		return errors.New("one schema at a time: leave out all but one of --config, --reference, --output and --json")
	case c.Output != "":
		return c.output(e, k)
	case c.Config:
		e.ui.Printf("%s", config.Schema(e.targets))
	case c.Reference:
		text, err := cue.Reference()
		if err != nil {
			return err
		}
		e.ui.Printf("%s", text)
	case e.ui.JSON:
		b, err := shape.JSONSchema()
		if err != nil {
			return err
		}
		e.ui.Printf("%s", b)
	default:
		e.ui.Printf("%s", cue.Text())
	}
	return nil
}

// output prints the schema of a command's JSON.
func (c *schemaCmd) output(e *env, k *kong.Kong) error {
	all := reporters(k)
	r, ok := all[strings.Join(strings.Fields(c.Output), " ")]
	if !ok {
		var names []string
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		return fmt.Errorf("there is no command %q with a JSON output: these are %s%s",
			c.Output, strings.Join(names, ", "), report.HintOf(diag.DidYouMean(c.Output, names)))
	}
	s, err := report.ReportSchema(c.Output, r.reports())
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	e.ui.Printf("%s\n", text)
	return nil
}

// reporters returns the commands that have a JSON output, by name.
func reporters(k *kong.Kong) map[string]reporter {
	all := map[string]reporter{}
	for _, n := range k.Model.Leaves(true) {
		if r, ok := n.Target.Interface().(reporter); ok {
			all[commandName(n)] = r
		}
	}
	return all
}

// A reporter is a command with a JSON output. Its reports are one value of each struct
// that it may print; they stand beside the command, and their JSON Schema is made from
// them. The tags of a report's own fields are part of it: jsonschema is a description,
// enum a list of the values.
type reporter interface{ reports() []any }

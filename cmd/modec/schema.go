package main

import (
	"fmt"

	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/shape"
	schema "modec.dev/modec/cue"
)

type schemaCmd struct {
	Config    bool `help:"The schema of modec.toml instead."`
	Reference bool `help:"The reference of the source as Markdown."`
}

func (schemaCmd) Help() string {
	return `Prints the CUE schema of the data files; --json prints a JSON Schema, which editors can use for the YAML form.

Examples:
  modec schema
  modec schema --json > modec.schema.json
  modec schema --config`
}

func (c *schemaCmd) Run(e *env) error {
	switch {
	case c.Config && c.Reference, (c.Config || c.Reference) && e.ui.json:
		return fmt.Errorf("got more than one form, want one of --config, --reference, --json")
	case c.Config:
		e.ui.printf("%s", config.Schema(e.targets))
	case c.Reference:
		text, err := schema.Reference()
		if err != nil {
			return err
		}
		e.ui.printf("%s", text)
	case e.ui.json:
		b, err := shape.JSONSchema()
		if err != nil {
			return err
		}
		e.ui.printf("%s", b)
	default:
		e.ui.printf("%s", schema.Text())
	}
	return nil
}

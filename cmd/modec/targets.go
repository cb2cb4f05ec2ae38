package main

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/contract"
)

type targetsCmd struct {
	textOrJSON
	Name string `arg:"" optional:"" help:"Print this target's options."`
}

func (targetsCmd) Help() string {
	return `Lists the agents that modec writes for and the files that it writes. With a name it prints what
[targets.NAME] of modec.toml may set.

Examples:
  modec targets
  modec targets roo`
}

func (targetsCmd) reports() []any { return []any{targetsReport{}} }

// targetsReport is the JSON of the targets.
type targetsReport struct {
	envelope
	Targets []targetInfo `json:"targets"`
}

// targetInfo is the JSON of one target.
type targetInfo struct {
	Name    string            `json:"name"`
	Summary string            `json:"summary"`
	Owns    []string          `json:"owns" jsonschema:"globs of the files that it may write"`
	Options []contract.Option `json:"options"`
}

func (c *targetsCmd) Run(e *env) error {
	var infos []targetInfo
	var names []string
	for _, t := range e.targets {
		names = append(names, t.Name())
		if c.Name == "" || c.Name == t.Name() {
			infos = append(infos, targetInfo{t.Name(), t.Summary(), t.Owns(), t.Options()})
		}
	}
	if len(infos) == 0 {
		return fmt.Errorf("there is no target %q: the targets are %s", c.Name, strings.Join(names, ", "))
	}
	if e.ui.json {
		return e.ui.emit(targetsReport{e.ui.envelope(), infos})
	}
	for _, i := range infos {
		e.ui.printf("%-9s %s\n", i.Name, i.Summary)
		e.ui.printf("          writes %s\n", strings.Join(i.Owns, ", "))
		if c.Name == "" {
			continue
		}
		for _, o := range i.Options {
			e.ui.printf("\n  %s (%s)\n%s\n", o.Name, describeOption(o), indent(wrap(o.Doc, 74), "    "))
		}
	}
	return nil
}

func describeOption(o contract.Option) string {
	s := string(o.Type)
	if len(o.Choices) > 0 {
		s = strings.Join(o.Choices, " | ")
	}
	if o.Default != nil {
		s += fmt.Sprintf(", default %v", o.Default)
	}
	return s
}

func indent(text, by string) string { return by + strings.ReplaceAll(text, "\n", "\n"+by) }

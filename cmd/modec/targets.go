package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

type targetsCmd struct {
	textOrJSON
	Name string `arg:"" optional:"" help:"Print this target's options."`
}

func (targetsCmd) reports() []any { return []any{targetsReport{}} }

// targetsReport is the JSON of the targets.
type targetsReport struct {
	report.Envelope
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
	if err := e.knownTarget(c.Name); err != nil {
		return err
	}
	var infos []targetInfo
	for _, t := range e.targets {
		if c.Name == "" || c.Name == t.Name() {
			infos = append(infos, targetInfo{t.Name(), t.Summary(), t.Owns(), t.Options()})
		}
	}
	if e.ui.JSON {
		return e.ui.Emit(targetsReport{e.ui.Envelope(), infos})
	}
	for _, i := range infos {
		e.ui.Printf("%-9s %s\n", i.Name, i.Summary)
		e.ui.Printf("          writes %s\n", strings.Join(i.Owns, ", "))
		if c.Name == "" {
			continue
		}
		for _, o := range i.Options {
			e.ui.Printf("\n  %s (%s)\n%s\n", o.Name, describeOption(o), indent(report.Wrap(o.Doc, 74), "    "))
		}
	}
	return nil
}

// checkTargets checks the names that --target got.
func (e *env) checkTargets(flags []*kong.Flag) error {
	for _, f := range flags {
		if f.Name != "target" {
			continue
		}
		switch v := f.Target.Interface().(type) {
		case string:
			return e.knownTarget(v)
		case []string:
			for _, name := range v {
				if err := e.knownTarget(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// knownTarget fails where a name is not one of a target; "" stands for a default.
func (e *env) knownTarget(name string) error {
	known := contract.Names(e.targets)
	if name == "" || slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("there is no target %q: the targets are %s%s",
		name, strings.Join(known, ", "), report.HintOf(diag.DidYouMean(name, known)))
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

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/suggest"
)

// unusedReport is the JSON of the rules by which nothing was decided.
type unusedReport struct {
	report.Envelope
	File   string           `json:"file"`
	Since  *time.Time       `json:"since,omitempty" jsonschema:"when the first event was that counts"`
	Events int              `json:"events" jsonschema:"how many events count"`
	Rules  []suggest.Unused `json:"rules" jsonschema:"the allows and asks by which nothing was decided, by place"`
	Denies int              `json:"denies" jsonschema:"how many denies nothing met either"`
	Agents []agentSeen      `json:"agents" jsonschema:"what the log can know of each agent"`
}

// agentSeen is what a log can know of an agent.
type agentSeen struct {
	Agent  string `json:"agent"`
	Hook   bool   `json:"hook" jsonschema:"its files have it ask a hook"`
	Events int    `json:"events" jsonschema:"how many its hook wrote"`
	Note   string `json:"note,omitempty" jsonschema:"what is not seen of it"`
}

// unused lists the rules of the source by which nothing was decided.
func (c *auditListCmd) unused(e *env) error {
	var usage suggest.Usage
	log, err := c.read(e, func(ev *audit.Event) {
		if ev.Via != audit.ViaLog && ev.Via != audit.ViaCommand {
			usage.Add(ev)
		}
	})
	if err != nil {
		return err
	}
	res, diags := compiler.Compile(e.ctx, e.sourceRequest())
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	report := unusedReport{Envelope: e.ui.Envelope(), File: e.fromRoot(log.File()), Events: usage.Events}
	if usage.Events > 0 {
		report.Since = &usage.First
	}
	report.Rules, report.Denies = usage.Unused(res.Policy)
	report.Rules = slices.DeleteFunc(report.Rules, func(r suggest.Unused) bool {
		other := func(kind, name string) bool { return name != "" && !slices.Contains(r.Subjects, kind+" "+name) }
		return other("role", c.Role) || other("mode", c.Mode)
	})
	for _, o := range res.Outputs {
		a := agentSeen{Agent: o.Target.Name(), Hook: res.Hooked(o.Target), Events: usage.Agents[o.Target.Name()]}
		switch gateway := usage.Via[audit.ViaGateway]; {
		case a.Events > 0:
		case a.Hook:
			a.Note = "its hook wrote nothing: nobody used it, or its files are not installed"
		case gateway > 0:
			a.Note = "no hook: only what goes through the gateway is seen"
		default:
			a.Note = "no hook, no gateway: not seen"
		}
		report.Agents = append(report.Agents, a)
	}
	if e.ui.JSON {
		return e.ui.Emit(report)
	}
	printUnusedRules(e.ui, &report)
	return nil
}

func printUnusedRules(u *report.Printer, r *unusedReport) {
	for _, x := range r.Rules {
		u.Printf("%s: %s: %s %s\n", diag.Clean(x.Pos.String()), diag.Clean(strings.Join(x.Subjects, ", ")), x.Group,
			diag.Clean(x.Rule))
	}
	for _, a := range r.Agents {
		if a.Note != "" {
			u.Note("%s: %s\n", a.Agent, a.Note)
		}
	}
	if r.Since == nil {
		u.Note("the log has no event since then: it says nothing of any rule\n")
		return
	}
	text := fmt.Sprintf("%s since %s decided nothing by %s", report.Count(r.Events, "event"),
		r.Since.Local().Format("2006-01-02 15:04"), report.Count(len(r.Rules), "rule"))
	if r.Denies > 0 {
		text += fmt.Sprintf("; %s not met either, which may hold all the same", areDenies(r.Denies))
	}
	u.Note("%s\n", text)
}

func areDenies(n int) string {
	if n == 1 {
		return "1 deny was"
	}
	return fmt.Sprintf("%d denies were", n)
}

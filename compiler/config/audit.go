package config

import (
	"path"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// auditOptions declares [audit].
var auditOptions = []contract.Option{
	{
		Name: "arguments", Type: contract.Bool, Default: false,
		Doc: "Write the arguments of calls too, with the secrets masked that modec recognizes. " +
			"Otherwise there is a keyed digest of them.",
	}, {
		Name: "file", Type: contract.String,
		Doc: "Where hooks, gateway and servers write what was asked, allowed and refused: a name that ends in " +
			ir.AuditEnding + ", in the project or outside of it (\"~/audit/shop" + ir.AuditEnding + "\"). " +
			"It must not exist before.",
	}, {
		Name: "keep", Type: contract.Int, Default: 5,
		Doc: "How many older files there may be. The oldest is removed.",
	}, {
		Name: "max_mb", Type: contract.Int, Default: 10,
		Doc: "The most MiB of the file. A full one becomes an older one: NAME.1" + ir.AuditEnding + ".",
	}, {
		Name: "otel", Type: contract.Bool, Default: false,
		Doc: "Have the gateway and servers send events, and metrics of them, to an OpenTelemetry collector too. " +
			"The variables of OpenTelemetry say where it is.",
	},
}

// The most that [audit] may ask for.
const (
	mostAuditMB   = 1024
	mostAuditKeep = 100
)

// audit reads [audit].
func (c *configReader) audit(cfg *Config, v any) {
	table, ok := v.(map[string]any)
	switch {
	case v == nil:
		return
	case !ok:
		c.diags.Errorf(diag.BadConfig, c.vals["audit"], "got %s, want a table [audit]", describe(v)).Path("audit")
		return
	}
	o := c.options("audit", auditOptions, table)
	a := &ir.Audit{File: o.String("file"), MaxMB: o.Int("max_mb"), Keep: o.Int("keep"), Arguments: o.Bool("arguments"),
		OTel: o.Bool("otel")}
	within := func(key string, got, least, most int) {
		if got < least || got > most {
			c.diags.Errorf(diag.BadConfig, c.vals["audit."+key], "got %d, want %d to %d", got, least, most).
				Path("audit." + key)
		}
	}
	within("max_mb", a.MaxMB, 1, mostAuditMB)
	within("keep", a.Keep, 0, mostAuditKeep)
	if _, written := table["file"]; !written {
		c.diags.Errorf(diag.BadConfig, c.keys["audit"], "the table has no file: nothing can be written").
			Path("audit").Hint("file = \".modec/audit" + ir.AuditEnding + "\"; or take the table out")
		return
	}
	if _, text := table["file"].(string); !text {
		return // it has been reported
	}
	if why := badAuditFile(cfg, a.File); why != "" {
		c.diags.Errorf(diag.BadConfig, c.vals["audit.file"], "%q cannot be the audit's file: %s", a.File, why).
			Path("audit.file")
		return
	}
	cfg.Audit = a
}

// badAuditFile says why the audit cannot be written to a file; "" where it can.
func badAuditFile(cfg *Config, file string) string {
	name, ends := strings.CutSuffix(path.Base(file), ir.AuditEnding)
	below, home := strings.CutPrefix(file, "~/")
	outside := home || path.IsAbs(file) || len(file) > 2 && file[1] == ':'
	switch {
	case !ends || strings.Trim(name, ".") == "":
		return "its name has to end in " + ir.AuditEnding
	case strings.ContainsAny(file, "*?[]{}\\\x00\n"):
		return "it has a character that is not one of a plain path"
	case !outside && !contract.LocalPath(file), home && !contract.LocalPath(below), path.Clean(file) != file:
		return "want a path without \"..\", in the project, absolute, or below ~/"
	case !outside && (strings.HasPrefix(file, cfg.Source+"/") || strings.HasPrefix(strings.ToLower(file), ".git/")):
		return "it would be a part of the source, or of git"
	}
	return ""
}

package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/ir"
)

// The audit is off unless a file is named, and has defaults for the rest.
func TestAudit(t *testing.T) {
	cfg, diags := load("name = \"x\"\n")
	if len(diags) > 0 || cfg.Audit != nil {
		t.Errorf("got %+v, %v", cfg.Audit, diags)
	}
	cfg, diags = load("[audit]\nfile = \"log/a.jsonl\"\n")
	if want := (&ir.Audit{File: "log/a.jsonl", MaxMB: 10, Keep: 5}); len(diags) > 0 || !cmp.Equal(cfg.Audit, want) {
		t.Errorf("got %+v, %v", cfg.Audit, diags)
	}
	cfg, diags = load("[audit]\nfile = \"~/a.jsonl\"\nmax_mb = 1\nkeep = 0\narguments = true\notel = true\n")
	if want := (&ir.Audit{File: "~/a.jsonl", MaxMB: 1, Arguments: true, OTel: true}); len(diags) > 0 || !cmp.Equal(cfg.Audit, want) {
		t.Errorf("got %+v, %v", cfg.Audit, diags)
	}
}

// What is no file of the audit's own is refused.
func TestBadAudit(t *testing.T) {
	for text, want := range map[string]string{
		`file = "~/.bashrc"`:                `modec.toml:2:8: error: "~/.bashrc" cannot be the audit's file: its name has to end in .jsonl [bad-config]`,
		`file = ".jsonl"`:                   `modec.toml:2:8: error: ".jsonl" cannot be the audit's file: its name has to end in .jsonl [bad-config]`,
		`file = "../a.jsonl"`:               "",
		`file = "~/../a.jsonl"`:             "",
		`file = "/x/../a.jsonl"`:            "",
		`file = "*.jsonl"`:                  "",
		`file = "modec/a.jsonl"`:            "",
		`file = ".GIT/a.jsonl"`:             "",
		`file = 3`:                          "",
		`max_mb = 1`:                        "",
		"file = \"a.jsonl\"\nmax_mb = 0":    "",
		"file = \"a.jsonl\"\nmax_mb = 9999": "",
		"file = \"a.jsonl\"\nkeep = -1":     "",
		"file = \"a.jsonl\"\nkepe = 1": `modec.toml:3:1: error: got unknown option "kepe", want one of "arguments", ` +
			`"file", "keep", "max_mb", "otel" [unknown-option]`,
	} {
		cfg, diags := load("[audit]\n" + text + "\n")
		if len(diags) != 1 || !diags.HasErrors() || want != "" && diags[0].String() != want {
			t.Errorf("%s: got %v, want %s", text, diags, want)
		}
		if cfg != nil && cfg.Audit != nil && cfg.Audit.File != "a.jsonl" {
			t.Errorf("%s: got %+v", text, cfg.Audit)
		}
	}
	if _, diags := load("audit = true\n"); len(diags) != 1 {
		t.Errorf("got %v", diags)
	}
}

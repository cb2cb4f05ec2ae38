package config

import (
	"strings"
	"testing"
)

func TestGatewayEmit(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                 false,
		"[gateway]\nemit = true\n":         true,
		"[gateway]\nemit = false\n":        false,
		"[gateway.auth]\nclock_skew = 5\n": false,
	} {
		cfg, diags := load(text + "[targets.roo]\n")
		if len(diags) > 0 || cfg.Gateway.Emit != want {
			t.Errorf("%q: got %v, %v, want emit = %t", text, cfg, diags, want)
		}
	}
	for text, want := range map[string]string{
		"[gateway]\nemit = \"yes\"\n": `got "yes", want true or false`,
		"[gateway]\nemits = true\n":   `got unknown option "emits"`,
		"[gateway.server]\n":          `got unknown table "server"`,
	} {
		_, diags := load(text + "[targets.roo]\n")
		if len(diags) != 1 || !strings.Contains(diags[0].Message, want) || diags[0].Pos.Line == 0 {
			t.Errorf("%q: got %v, want %q", text, diags, want)
		}
	}
}

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
	for text, want := range map[string]string{"": "", "[gateway]\nemit = true\n": "hidden", "[gateway]\ndenial = \"hidden\"\n": "hidden",
		"[gateway]\ndenial = \"explicit\"\n": "explicit"} {
		if cfg, diags := load(text + "[targets.roo]\n"); len(diags) > 0 || cfg.Gateway.Denial != want {
			t.Errorf("%q: got %v, %v, want denial = %s", text, cfg, diags, want)
		}
	}
	cfg, diags := load("[gateway.servers.s]\nforward = [\"X-A\"]\nheader_map = \"X-Map\"\nraw_results = true\n" +
		"open = [\"roots\"]\n[targets.roo]\n")
	if s := cfg.Gateway.Servers["s"]; len(diags) > 0 || s.Map != "X-Map" || len(s.Forward) != 1 || !s.Raw || s.Shared || len(s.Open) != 1 {
		t.Errorf("got %v, %v", s, diags)
	}
	for text, want := range map[string]string{
		"[gateway.servers.s]\nopen = [\"all\"]\n":       `got "all", want one of "elicitation"`,
		"[gateway.servers.s]\nheader_map = [\"X-A\"]\n": "got a list",
		"[gateway]\ndenial = \"loud\"\n":                `got "loud", want one of "explicit", "hidden"`,
		"[gateway]\ndenial = true\n":                    "got true",
		"[gateway]\nemit = \"yes\"\n":                   `got "yes", want true or false`,
		"[gateway]\nemits = true\n":                     `got unknown option "emits"`,
		"[gateway.server]\n":                            `got unknown table "server"`,
	} {
		_, diags := load(text + "[targets.roo]\n")
		if len(diags) != 1 || !strings.Contains(diags[0].Message, want) || diags[0].Pos.Line == 0 {
			t.Errorf("%q: got %v, want %q", text, diags, want)
		}
	}
}

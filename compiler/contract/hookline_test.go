package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHookLine(t *testing.T) {
	full := HookLine{
		Agent: "claude", Root: "/shop", Subject: "role:it's me",
		MayAllow: true, FailClosed: true,
	}
	for line, want := range map[string]HookLine{
		`modec hook claude --root "/shop" --subject ` + ShellQuote("role:it's me") +
			` --may-allow || exit 2`: full,
		`{ modec hook cursor --subject mode:a || exit 2; }`: {
			Agent: "cursor", Subject: "mode:a", FailClosed: true,
		},
		`modec hook codex --subject s` + Closed("it's closed"): {
			Agent: "codex", Subject: "s", FailClosed: true,
		},
		`modec hook claude --subject s`: {Agent: "claude", Subject: "s"},
		`modec hook claude`:             {Agent: "claude"},
	} {
		got, err := ParseHookLine(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
	}
}

func TestParseHookLineRefuses(t *testing.T) {
	for _, line := range []string{
		"",
		"true",
		"modec hook",
		"modec hook claude --subject",
		"modec hook claude --model m",
		"modec hook claude --subject s || exit 0",
		"modec hook claude --subject s || true",
		"modec hook claude --subject s || echo a b",
		"modec hook claude --subject s || { true; echo a; }",
		"modec hook claude --subject s || { [ $? = 2 ] && exit 0; echo a; }",
		"modec hook claude --subject s || { [ $? = 2 ] && exit 2; echo a; } &",
		"modec hook claude --subject s || echo $(id)",
		"modec hook claude --subject s || { echo a >&2; echo b; }",
		"modec hook claude --subject s || { echo a >&2; exit 1; }",
		"modec hook claude --subject s || { echo $(id) >&2; exit 2; }",
		"modec hook claude --subject s || { echo a >&3; exit 2; }",
		"modec hook claude --subject s && exit 2",
		"modec hook claude --subject s; true",
		"! modec hook claude --subject s || exit 2",
		"modec hook claude --subject s || exit 2 &",
		"PATH=/tmp modec hook claude --subject s || exit 2",
		"modec hook claude --root $(cat f) --subject s || exit 2",
		"modec hook claude --subject s --color never || exit 2",
		"modec hook claude --subject s > /dev/null || exit 2",
		"modec hook 'claude",
		"modec hook claude --root ${X:-m} --subject s || exit 2",
	} {
		if got, err := ParseHookLine(line); err == nil {
			t.Errorf("%s: got %+v, want an error", line, got)
		}
	}
}

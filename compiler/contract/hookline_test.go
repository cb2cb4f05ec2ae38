package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHookLine(t *testing.T) {
	full := HookLine{
		Agent: "claude", Model: "${CLAUDE_PROJECT_DIR}/.modec/policy.json", Subject: "role:it's me",
		MayAllow: true, FailClosed: true, Refuses: true,
	}
	for line, want := range map[string]HookLine{
		`modec hook claude --model "${CLAUDE_PROJECT_DIR}/.modec/policy.json" --subject ` + ShellQuote("role:it's me") +
			` --may-allow || exit 2`: full,
		`{ modec hook cursor --model=.modec/policy.json --subject mode:a || exit 2; }`: {
			Agent: "cursor", Model: ".modec/policy.json", Subject: "mode:a", FailClosed: true, Refuses: true,
		},
		`modec hook claude --model m --subject s || echo '{"a":"b"}'`: {
			Agent: "claude", Model: "m", Subject: "s", Otherwise: `{"a":"b"}`,
		},
		`{ modec hook cursor --model m --subject s` + Unless(`{"a":"it's"}`) + `; }`: {
			Agent: "cursor", Model: "m", Subject: "s", Otherwise: `{"a":"it's"}`, Refuses: true,
		},
		`modec hook codex --model m --subject s` + Closed("it's closed"): {
			Agent: "codex", Model: "m", Subject: "s", FailClosed: true, Refuses: true,
		},
		`modec hook claude --model m --subject s`: {Agent: "claude", Model: "m", Subject: "s", Refuses: true},
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
		"modec hook claude --model",
		"modec hook claude --model m --subject s || exit 0",
		"modec hook claude --model m --subject s || true",
		"modec hook claude --model m --subject s || echo a b",
		"modec hook claude --model m --subject s || { true; echo a; }",
		"modec hook claude --model m --subject s || { [ $? = 2 ] && exit 0; echo a; }",
		"modec hook claude --model m --subject s || { [ $? = 2 ] && exit 2; echo a; } &",
		"modec hook claude --model m --subject s || echo $(id)",
		"modec hook claude --model m --subject s || { echo a >&2; echo b; }",
		"modec hook claude --model m --subject s || { echo a >&2; exit 1; }",
		"modec hook claude --model m --subject s || { echo $(id) >&2; exit 2; }",
		"modec hook claude --model m --subject s || { echo a >&3; exit 2; }",
		"modec hook claude --model m --subject s && exit 2",
		"modec hook claude --model m --subject s; true",
		"! modec hook claude --model m --subject s || exit 2",
		"modec hook claude --model m --subject s || exit 2 &",
		"PATH=/tmp modec hook claude --model m --subject s || exit 2",
		"modec hook claude --model $(cat f) --subject s || exit 2",
		"modec hook claude --model m --subject s --color never || exit 2",
		"modec hook claude --model m --subject s > /dev/null || exit 2",
		"modec hook 'claude",
		"modec hook claude --model ${X:-m} --subject s || exit 2",
	} {
		if got, err := ParseHookLine(line); err == nil {
			t.Errorf("%s: got %+v, want an error", line, got)
		}
	}
}

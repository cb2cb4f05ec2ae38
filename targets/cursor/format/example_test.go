package format_test

import (
	"fmt"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/targets/cursor/format"
)

func ExampleParseEntry() {
	e, err := format.ParseEntry("GitHub : *")
	fmt.Println(e, err, e.Matches("github", "list_issues"))

	_, err = format.ParseEntry("github:list_*")
	fmt.Println(err)
	// Output:
	// GitHub:* <nil> true
	// got the tool "list_*", want a name or * alone: Cursor's own list reads no other wildcard
}

func ExampleParseToken() {
	t, ok := format.ParseToken("Bash( git push )", diag.Pos{})
	fmt.Println(t.Keyword, t.Inside, ok)

	_, ok = format.ParseToken("Delete(src)", diag.Pos{})
	fmt.Println(ok)
	// Output:
	// Shell git push true
	// false
}

// One mistake makes Cursor ignore the whole file.
func ExampleReadHooks() {
	hooks, err := format.ReadHooks("hooks.json", []byte(`{"version": 1, "hooks": {
		"preToolUse": [{"command": "check", "failClosed": true}]
	}}`))
	fmt.Println(hooks["preToolUse"][0].Command, hooks["preToolUse"][0].At, err)

	_, err = format.ReadHooks("hooks.json", []byte(`{"version": 1, "hooks": {"beforeEverything": []}}`))
	fmt.Println(err)
	// Output:
	// check hooks.json:2:30 <nil>
	// got the event "beforeEverything", which Cursor does not know
}

package model_test

import (
	"fmt"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/model"
)

// A role is a session with its settings file.
func ExampleOpen() {
	deciders, diags := model.Open(memfs.FS{"session:claude/dev.settings.json": []byte(`{"permissions": {
		"allow": ["Bash(make *)"], "deny": ["Read(.env)", "Write(docs/**)"]}}`)}, "")
	fmt.Println(diags[0].Message)
	for _, a := range []policy.Action{
		{Group: ir.Command, Arg: "make test"},
		{Group: ir.Command, Arg: "make test && rm x"},
		{Group: ir.Read, Arg: "src/.env"},
	} {
		v := deciders[0].Decide(ir.SubjectRef{Role: "dev"}, a)
		fmt.Println(a.Arg, "-", v.Decision, "by", v.Rule)
	}
	// Output:
	// Claude Code ignores the rule "Write(docs/**)" to deny: it never matches a call
	// make test - allow by Bash(make *)
	// make test && rm x - ask by a command in the mode default
	// src/.env - deny by Read(.env)
}

func ExampleOpenArgs() {
	at := diag.Pos{File: "command line"}
	s, _, err := model.OpenArgs(memfs.FS{}, []string{"--permission-mode", "acceptEdits", "--tools", "Read,Edit"}, at)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Decide(policy.Action{Group: ir.Edit, Arg: "main.go"}).Decision)
	fmt.Println(s.Decide(policy.Action{Group: ir.Command, Arg: "ls"}).Decision)
	_, _, err = model.OpenArgs(memfs.FS{}, []string{"--settings", "gone.json"}, at)
	fmt.Println(err)
	// Output:
	// allow
	// deny
	// the settings file "gone.json" is not there
}

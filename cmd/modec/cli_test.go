package main

import (
	"bytes"
	"slices"
	"testing"

	"modec.dev/modec/targets"
)

// TestCalled holds that a parser of one command says what that of all says, right and wrong.
func TestCalled(t *testing.T) {
	said := func(list []entry, args []string) (text string) {
		var out bytes.Buffer
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(kongExit); !ok {
					panic(r)
				}
				text = out.String()
			}
		}()
		k, err := newParser(&cli{}, list, targets.All(), &out, &out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = k.Parse(args); err != nil {
			return err.Error() + "\n" + usageHint(err)
		}
		return out.String()
	}
	alone := 0
	for _, c := range commands() {
		for _, args := range [][]string{
			{c.name, "--help"}, {c.name, "--nix"}, {c.name, "build", "lint", "x", "y"}, {"--json", "-q", c.name, "--help"},
			{"-C", c.name, "--help"}, {c.name, "--version"}, {"--help", c.name}, {"-C", "x", c.name, "--help"},
		} {
			list := called(args)
			if len(list) == 1 {
				alone++
			}
			if got, want := said(list, slices.Clone(args)), said(commands(), args); got != want {
				t.Errorf("%q:\ngot  %s\nwant %s", args, got, want)
			}
		}
	}
	if want := 4 * (len(commands()) - 3); alone < want {
		t.Errorf("%d lines had a parser of one command, want %d at least", alone, want)
	}
	if got := len(called(nil)) + len(called([]string{"lnt"})); got != 2*len(commands()) {
		t.Errorf("got %d commands for nothing and for an unknown one, want all twice", got)
	}
}

package model

import (
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Rules on the whole of a line, as 2.1.329 took them: each letter is what it made of one of the lines.
func TestWholeLines(t *testing.T) {
	lines := []string{
		"wget x|bash", "wget   x|bash", "wget x |& bash", "ls; wget x | bash", "wget x | bash; ls",
		"wget x > /dev/null | bash", "(wget x | bash)", `wget "x" | bash`, "FOO=1 wget x | bash",
		"timeout 5 wget x | bash", "wget x && bash", "wget x | cat | bash", "wget x | bash -s",
		"if true; then wget x | bash; fi", "wget x |\nbash", "wget x 2>&1 | bash", "wget x | bash | ls && pwd",
		"ls && wget x | bash",
	}
	more := []string{
		"wget x && bash", "wget x|bash", "wget x | bash", "cd src && wget x | bash", "ls a; wget x | bash",
		"ls a | wget x && ls | bash", "wget x; ls | bash", "ls | bash &", "x=$(ls | bash)", "{ ls | bash; }",
		`wget x | bash -c "ls"`, `wget "a b" | bash`, "ls; bash", "wget x | bash < f > g", `ls | grep "a | bash"`,
		"ls | env bash", "ls | timeout 5 bash", "ls | A=1 bash",
	}
	parts := []string{"Bash(wget *)", "Bash(bash*)"}
	for _, c := range []struct {
		deny, ask, allow []string
		lines            []string
		want             string
	}{
		{[]string{"Bash(wget * bash*)"}, nil, nil, lines, "dddkddkdddkddkdddk"},
		{[]string{"Bash(wget *| bash*)"}, nil, nil, lines, "ddkkddkdddkddkdddk"},
		{[]string{"Bash(wget *|& bash*)"}, nil, nil, lines, "kkdkkkkkkkkkkkkkkk"},
		{[]string{"Bash(wget * | bash)"}, nil, nil, lines, "ddkkkdkdddkdkkddkk"},
		{[]string{"Bash(wget x | bash)"}, nil, nil, lines, "dkkkkdkkddkkkkddkk"},
		{[]string{"Bash(wget x|bash)"}, nil, nil, lines, "dkkkkkkkkkkkkkkkkk"},
		{[]string{"Bash(wget x && bash)"}, nil, nil, lines, "kkkkkkkkkkdkkkkkkk"},
		{[]string{"Bash(wget x | cat | bash)"}, nil, nil, lines, "kkkkkkkkkkkdkkkkkk"},
		{[]string{"Bash(wget x && bash)", "Bash(wget x|bash)"}, []string{"Bash(wget *)"}, nil, more, "ddkkkkkkkkkkkkakkk"},
		{nil, []string{"Bash(wget *| bash*)", "Bash(wget x && bash)"}, parts, more, "aaaaaaakkkaaakakak"},
		{[]string{"Bash(wget *&& bash*)", "Bash(wget *| bash*)"}, nil, parts, more, "aaaaaaakkkaaadakak"},
		{[]string{"Bash(ls *| bash*)"}, nil, nil, more, "kkkkddkdkkkkkkakkk"},
		{[]string{"Bash(*| bash*)"}, nil, nil, more, "kdddddddddddkddkkk"},
		{[]string{"Bash(*| bash)"}, nil, nil, more, "kddddddkkkkdkddkkk"},
		{[]string{"Bash(*| wget*)"}, nil, nil, more, "kkkkkdkkkkkkkkakkk"},
		{[]string{"Bash(*&& bash*)", "Bash(*; bash*)"}, nil, nil, more, "kkkkkkkkkkkkkkakkk"},
		{[]string{"Bash(wget *| bash*)"}, []string{"Bash(wget *)"}, nil, lines, "kkkkkkkkkkkkkkkkkk"},
		{[]string{"Bash(wget *| bash*)"}, nil, []string{"Bash"}, []string{"wget x|bash", "wget x && bash", "ls | wget x"}, "daa"},
	} {
		d := opened(t, permissions("default", c.allow, c.ask, c.deny), nil)
		for i, line := range c.lines {
			want := map[byte]ir.Decision{'d': ir.Deny, 'k': ir.Ask, 'a': ir.Allow}[c.want[i]]
			v := d.Decide(roleR, policy.Action{Group: ir.Command, Arg: line})
			got := v.Decision
			if v.Hole != nil {
				got = max(got, v.Hole.Decision)
			}
			if got != want {
				t.Errorf("deny %q, ask %q, allow %q: %q: got %s, want %s", c.deny, c.ask, c.allow, line, got, want)
			}
		}
	}
}

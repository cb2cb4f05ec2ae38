package asked

// Split is a line of a shell, and the commands of it that opencode 1.18.33 and Kilo 7.7.9 ask about, as was seen.
// Both parse lines by tree-sitter.
type Split struct {
	Line  string
	Asked []string
	Kilo  []string // nil for the same
}

// Splits are lines with redirects.
var Splits = []Split{
	{Line: "p1 && p2 >x", Asked: []string{"p1", "p2"}},
	{Line: "p1 || p2 >x", Asked: []string{"p1", "p2"}},
	{Line: "p1 | p2 >x", Asked: []string{"p1", "p2"}},
	{Line: "p1 >x && p2", Asked: []string{"p1 >x", "p2"}},
	{Line: "p1 && p2 >x && p3", Asked: []string{"p1", "p2", "p3"}},
	{Line: "p1 && p2 >x | p3", Asked: []string{"p1", "p2", "p3"}},
	{Line: "! p1 >x", Asked: []string{"p1"}},
	{Line: "! p1 | p2 >x", Asked: []string{"p1", "p2"}},
	{Line: "(p1 && p2 >x)", Asked: []string{"p1", "p2"}},
	{Line: "p1; p2 >x", Asked: []string{"p1", "p2 >x"}},
	{Line: "p1 & p2 >x", Asked: []string{"p1", "p2 >x"}},
	{Line: "p1 && (p2 >x)", Asked: []string{"p1", "p2 >x"}},
	{Line: "time p1 && p2 >x", Asked: []string{"time p1", "p2"}},
	{Line: "FOO=1 p1 && FOO=2 p2 >x", Asked: []string{"FOO=1 p1", "FOO=2 p2"}},
	{Line: ">x p1 && p2", Asked: []string{">x p1", "p2"}},
	{Line: "p1 && >x p2", Asked: []string{"p1", ">x p2"}},
	{Line: "p1 >x -y", Asked: []string{"p1 >x -y"}},
	{Line: "p1 && p2 >x -y", Asked: []string{"p1", "p2"}},
	{Line: "p1 && p2 <<EOF\nhi\nEOF", Asked: []string{"p1", "p2"}},
	{Line: "p1 <<EOF && p2\nhi\nEOF", Asked: []string{"p1 <<EOF && p2\nhi\nEOF", "p2"},
		Kilo: []string{"p1 <<EOF && p2_hi_EOF", "p2"}},
	{Line: "p1 && p2 <<< hi", Asked: []string{"p1", "p2 <<< hi"}},
	{Line: "p1 2>&1 | p2 2>&1", Asked: []string{"p1 2>&1", "p2"}, Kilo: []string{"p1 2__1", "p2"}},
	{Line: "p1 && p2 >x 2>&1", Asked: []string{"p1", "p2"}},
	{Line: "echo $(p1 && p2 >x)", Asked: []string{"echo $(p1 && p2 >x)", "p1", "p2"}},
	{Line: "p1 && p2 > >(p3)", Asked: []string{"p1", "p2", "p3"}},
	{Line: "[ -f x ] && p1 >x", Asked: []string{"p1"}},
	{Line: "p1 >x | p2 >y", Asked: []string{"p1 >x", "p2"}},
	{Line: "p1 && p2 >x & p3", Asked: []string{"p1", "p2", "p3"}},
	{Line: "p1 && ! p2 >x", Asked: []string{"p1", "p2"}},
	{Line: `p1 >>x & p3 "a b" <x | p2 -x >x`, Asked: []string{"p1 >>x", `p3 "a b" <x`, "p2 -x"}},
	{Line: `! p2 -x >>x | p3 "a b"`, Asked: []string{"p2 -x", `p3 "a b"`}},
}

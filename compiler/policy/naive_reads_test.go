package policy

import (
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// naiveTool says of a command what the drawn lines have of it: options alone, options with the
// next word, options whose next word is a file, and what its operands are.
type naiveTool struct {
	alone, next, file string
	pattern           bool // the first operand is no file
	objects           bool // operands are objects
	beforeDashes      bool // those before "--" are
	searches          bool // it prints lines of any file
	most              int
}

var naiveTools = map[string]naiveTool{
	"git log":          {alone: "-p --oneline --stat", next: "-n -S", beforeDashes: true, most: 9},
	"git show":         {alone: "-p --stat", next: "-n", beforeDashes: true, most: 9},
	"git diff":         {alone: "--cached --stat", next: "-S", most: 9},
	"git blame":        {alone: "-w", next: "-L", file: "--contents", most: 9},
	"git grep":         {alone: "-n", next: "-A", file: "-f", pattern: true, most: 9, searches: true},
	"git cat-file":     {alone: "-p", objects: true, most: 9},
	"git merge-base":   {alone: "--all", objects: true, most: 9},
	"git shortlog":     {alone: "-n -s", beforeDashes: true, most: 9},
	"git rev-list":     {alone: "--count", next: "-n", beforeDashes: true, most: 9},
	"git for-each-ref": {next: "--count", most: -1},
	"cat":              {alone: "-n", most: 9},
	"head":             {alone: "-q", next: "-n", most: 9},
	"uniq":             {alone: "-c", next: "-f", most: 1},
	"grep":             {alone: "-i", next: "-A", file: "-f", pattern: true, most: 9},
}

var (
	leadsOut  = regexp.MustCompile(`^[/~]|^[A-Za-z]:|(^|/)\.\.(/|$)`)
	pathspecs = regexp.MustCompile(`[*?[]|^:/?([^\w./]|$)`)
	dots      = regexp.MustCompile(`\.\.\.?`)
)

// reads returns the files that a line reads. It is not in the set where in is false, and only
// where all files are decided alike where wide is true.
func naiveReads(line string) (files []string, wide, in bool) {
	words := strings.Fields(line)
	for i, w := range words { // unquoted, zsh may put the file before a "~" there
		if at := strings.IndexByte(w, '~'); at > 0 && !strings.Contains(w, "'") {
			words[i] = strings.ReplaceAll(w, "~", "\x02")
		}
		words[i] = strings.ReplaceAll(words[i], "'", "")
	}
	sign := func(word string) bool { return strings.Contains(word, "\x02") }
	name, args := words[0], words[1:]
	if name == "git" {
		name, args = name+" "+args[0], args[1:]
	}
	tool, in := naiveTools[name]
	git := strings.HasPrefix(name, "git ")
	for _, permuted := range []bool{true, false} {
		operands, dashes, pattern := []string{}, 0, tool.pattern
		for i := 0; i < len(args); i++ {
			has := func(list string) bool { return slices.Contains(strings.Fields(list), args[i]) }
			switch {
			case len(operands) > 0 && !permuted && !git, args[i][0] != '-':
				operands = append(operands, args[i])
			case args[i] == "--":
				dashes = len(operands)
				operands, i = append(operands, args[i+1:]...), len(args)
			case has(tool.alone):
			case has(tool.next):
				i++
				in = in && (i >= len(args) || !sign(args[i]))
			case has(tool.file) && i+1 < len(args):
				i++
				files, pattern = append(files, args[i]), false
				in = in && !sign(args[i])
			case has(tool.file):
				in = false
			default:
				in = false
			}
		}
		in = in && (tool.most < 0 || len(operands) <= tool.most)
		for i, o := range operands {
			if git && leadsOut.MatchString(o) || !git && sign(o) {
				in = false
			}
			if tool.most < 0 || i == 0 && pattern {
				continue
			}
			if !git {
				files = append(files, o)
				continue
			}
			objects := tool.objects || tool.beforeDashes && i < dashes
			if file, _, ok := strings.Cut(o, "\x02"); ok && !objects {
				files = append(files, file)
			}
			wide = wide || !objects && pathspecs.MatchString(o)
			for _, part := range append(dots.Split(o, -1), o) {
				names := strings.Split(part, ":")
				for j := range names {
					name := strings.Join(names[j:], ":")
					if j > 0 {
						name = "./" + name // of the top
					}
					if name != "" && (j > 0 || !objects && !pathspecs.MatchString(part)) {
						files = append(files, name)
					}
				}
			}
		}
	}
	for i := range files {
		files[i] = strings.ReplaceAll(files[i], "\x02", "~")
	}
	return files, wide || tool.searches, in
}

// line decides a line where the built-in sets are allowed and nothing else is.
func (n *naive) line(line string) ir.Decision {
	rest := n.fallback(ir.Command)
	files, wide, in := naiveReads(line)
	alike := n.fallback(ir.Read)
	if t := n.can.Read; wide && in {
		in = alike >= ir.Allow && (t == nil || !slices.ContainsFunc(t.Rules, func(r ir.Rule) bool { return r.Decision < ir.Allow }))
	}
	if !in {
		return rest
	}
	d := ir.Allow
	judge := func(of ir.Decision) {
		if of != ir.Agent || !strings.HasPrefix(line, "git ") {
			d = ir.Both(d, of)
		}
	}
	if wide {
		judge(alike)
	}
	for _, f := range files {
		judge(n.file(ir.Read, f))
	}
	if d != ir.Allow && (rest == ir.Allow || rest > d) {
		return rest
	}
	return d
}

// named is the lowest deny or ask of reading that names one of some files, agent where none does.
func (n *naive) named(files []string) ir.Decision {
	d := ir.Agent
	if n.can.Read == nil {
		return d
	}
	for _, r := range n.can.Read.Rules {
		for _, f := range files {
			if strings.HasPrefix(f, "/") {
				f = "/" + strings.TrimLeft(f, "/")
			}
			if r.Decision < ir.Allow && !r.Pattern.Everything() && naiveFile(r, path.Clean(f), false) {
				d = ir.Both(d, r.Decision)
			}
		}
	}
	return d
}

func decisionOf(r *Result) ir.Decision {
	if r == nil {
		return ir.Agent
	}
	return r.Decision
}

var (
	drawnPaths = []string{"a", "src/a", "SRC/A", "docs/a.md", ".env", "a.md", "src", "./src/x", "a/b/c", "main", "'HEAD~1'", "HEAD~1", "src/a~2", ".env~1..HEAD", "x/../src/a", "../x", "/src/a", "'~/a'", "'src/*'", "':(top)a'",
		"C:/a", ":/a", ":", "src/"}
	drawnOptions = []string{"--output=x", "--outp", "--", "--", "--", "--no-index", "5"}
)

// drawnLine draws a line of a built-in set, or one that is near to it.
func drawnLine(r *rand.Rand) string {
	of := func(from []string) string { return from[r.IntN(len(from))] }
	commands := []string{}
	for name := range naiveTools {
		commands = append(commands, name)
	}
	slices.Sort(commands)
	line := of(commands)
	tool := naiveTools[line]
	options := append(strings.Fields(strings.Join([]string{tool.alone, tool.next, tool.file, tool.alone, tool.next}, " ")), drawnOptions...)
	for range r.IntN(5) {
		switch r.IntN(6) {
		case 0, 1:
			line += " " + of(options)
		case 2:
			line += " " + of([]string{"HEAD", "main", "", ":0", "v1"}) + ":" + of(drawnPaths[:9])
		case 3:
			line += " v1:" + of(drawnPaths[:9]) + of([]string{"..", "..."}) + of([]string{"dev:", "w/", ""}) + of(drawnPaths[:9])
		default:
			line += " " + of(drawnPaths)
		}
	}
	return line
}

// TestReadsAgainstNaive holds what the built-in sets read to a second evaluator.
func TestReadsAgainstNaive(t *testing.T) {
	for i, model := range drawn(400) {
		readsAgainstNaive(t, model, uint64(i))
	}
}

func FuzzReadsAgainstNaive(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add([]byte(s), uint64(i))
	}
	f.Fuzz(readsAgainstNaive)
}

func readsAgainstNaive(t *testing.T, model []byte, seed uint64) {
	p := (&source{model}).project()
	p.Everyone = nil // TestEveryoneLowers decides commands below it
	r := rand.New(rand.NewPCG(15, seed))
	for _, can := range []*ir.Can{&p.Modes[0].Can, &p.Roles[0].Can} {
		can.Command = &ir.Table{Rules: allow("@git_read", "@readonly_filters"), Default: (&source{[]byte{byte(r.Uint32()), byte(r.Uint32())}}).optional()}
	}
	e := New(p)
	for ref, n := range map[ir.SubjectRef]*naive{
		{Mode: "m"}: {p: p, can: &p.Modes[0].Can, mode: &p.Modes[0]},
		{Role: "r"}: {p: p, can: &p.Roles[0].Can, role: &p.Roles[0]},
	} {
		s, err := e.Subject(ref)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			line := drawnLine(r)
			if !isPlain(line) {
				t.Fatalf("%q is not plain", line)
			}
			named, want := s.mentioned(analyse(&atTheRoot, line)), n.line(line)
			if files, _, in := naiveReads(line); in && !strings.ContainsAny(line, "~*(") {
				if d := n.named(files); d != decisionOf(named) {
					t.Errorf("%s: %q names %q: got %v, want %s", ref, line, files, named, d)
				}
			}
			switch {
			case named == nil:
			case want == ir.Agent && n.role != nil && n.role.PermissionMode == "dontAsk" && n.can.Command.Default == nil && n.can.Default == nil:
				want = ir.Deny // nobody is asked there
			default:
				want = ir.Both(want, named.Decision)
			}
			if got := s.Decide(Action{Group: ir.Command, Arg: line}); got.Decision != want {
				t.Errorf("%s: %q: got %s (%s), want %s", ref, line, got.Decision, got.Rule, want)
			}
		}
	}
}

package contract

import (
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

func TestPathName(t *testing.T) {
	for name, want := range map[string]string{
		"developer":  "developer",
		"ci-runner":  "ci-runner",
		"v1.2":       "v1.2",
		"..":         "%2E.",
		".git":       "%2Egit",
		"a/b":        "a%2Fb",
		`a\b`:        "a%5Cb",
		"a b":        "a%20b",
		"é":          "%C3%A9",
		"100%":       "100%25",
		"con:stream": "con%3Astream",
	} {
		if got := PathName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func FuzzPathName(f *testing.F) {
	f.Add("a/b", "a%2Fb")
	f.Add("..", ".")
	f.Fuzz(func(t *testing.T, a, b string) {
		p := PathName(a)
		if strings.ContainsAny(p, "/\\:\x00 \n") || strings.HasPrefix(p, ".") {
			t.Errorf("%q becomes %q", a, p)
		}
		if a != b && p == PathName(b) {
			t.Errorf("%q and %q share %q", a, b, p)
		}
	})
}

func TestWebHost(t *testing.T) {
	for raw, want := range map[string]string{
		"example.com": "example.com", "example.com:8443/x": "example.com", "https://Example.com/a?b": "Example.com", "http://[::1]:80/": "::1",
		"https://a@evil.test/": "evil.test", "HTTPS://x.test": "x.test", "localhost:8080/x": "localhost",
		"https:/evil.test/x": "", `https:\\evil.test`: "", "https:evil.test": "", "file://localhost/etc/passwd": "", "ftp://x": "", "https://": "", "": "",
		`https://a\@evil.test`: "", "https://a b": "", "https://a\n.test": "",
	} {
		got, ok := WebHost(raw)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", raw, got, ok, want)
		}
	}
}

// What is kept of a disk on which nothing changes is what is decided there, wherever the project lies
// and wherever a path begins.
func TestDecisionsKept(t *testing.T) {
	allow := &ir.Default{Decision: ir.Allow}
	of := func(decision ir.Decision, pattern string) *ir.Table {
		return &ir.Table{Default: allow, Rules: []ir.Rule{{Decision: decision, Pattern: ir.Pattern{Text: pattern}}}}
	}
	e := policy.New(&ir.Project{Modes: []ir.Mode{
		{Slug: "code", Can: ir.Can{Read: of(ir.Deny, "src/.env"), Command: of(ir.Ask, "git push *"),
			OutsideRead: allow}},
		{Slug: "ask", Can: ir.Can{Read: of(ir.Ask, "x/**"), Command: of(ir.Deny, "make *")}},
	}})
	kept := NewDecisions()
	decisions := map[policy.Result]bool{}
	for range 2 {
		for _, mode := range []string{"code", "ask"} {
			s, err := e.Subject(ir.SubjectRef{Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range []policy.Action{
				{Group: ir.Read, Arg: ".env"}, {Group: ir.Read, Arg: "/srv/x/.env"}, {Group: ir.Edit, Arg: ".env"},
				{Group: ir.Command, Arg: "git push origin"}, {Group: ir.Command, Arg: "make all"},
			} {
				for _, at := range [][]string{{"/srv"}, {"/srv/src"}, {"/srv/x", "/srv/src"}, {"/other"}, {}} {
					clean := func(p string) (string, error) { return filepath.Clean(p), nil }
					for _, root := range []string{"/srv", "/srv/x"} {
						plain := Disk{Root: root, Resolve: clean}
						keeping := plain
						keeping.Kept = kept
						want, got := plain.Decide(s, a, at...), keeping.Decide(s, a, at...)
						if got != want {
							t.Errorf("%s, %v from %v in %s: got %v, want %v", mode, a, at, root, got, want)
						}
						decisions[got] = true
					}
				}
			}
		}
	}
	if len(decisions) < 8 {
		t.Errorf("got %d different results, want more", len(decisions))
	}
}

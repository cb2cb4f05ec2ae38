package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// Which names are files a model's disk says by itself: its root is no folder of this system.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := (Disk{Root: dir}); !d.isFile("a") || !d.isFile(name) || d.isFile("b") {
		t.Error("a disk does not see its files")
	}
	if d := (Disk{Root: dir, File: NoFile}); d.isFile("a") {
		t.Error("a disk without files sees one")
	}
	req := HookRequest{}.At(Disk{File: NoFile})
	if req.Disk().File == nil {
		t.Error("a request loses whose files there are")
	}
}

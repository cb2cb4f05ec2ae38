package output

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// listing builds settings with lists of which the one that denies restrains.
func listing(text string) Build {
	b := merged("claude", "s.json", text, "/allow/-", "/deny/-", "/servers/*")
	b.Outputs[0].Files[0].Restrains = []string{"/deny/-"}
	b.Outputs[0].Files[0].Spelled = func(_, item string) string { return strings.ToLower(item) }
	return b
}

const (
	all      = `{"allow": ["a", "b"], "deny": ["d"], "servers": {"x": {}}}`
	original = `{"mine": 1, "allow": ["A", "b", "own"], "deny": ["d"], "servers": {"x": {}}}`
)

// What somebody takes out of an agent's file by hand no build permits again in silence, before the first one and
// after it, also where the entry was never modec's.
func TestNothingRevokedIsWrittenAgain(t *testing.T) {
	for _, c := range []struct{ name, text, again string }{
		{"an allow", `{"mine": 1, "allow": ["b", "own"], "deny": ["d"], "servers": {"x": {}}}`, `"allow A"`},
		{"a server", `{"mine": 1, "allow": ["A", "b"], "deny": ["d"], "servers": {}}`, `"servers x"`},
		{"a list", `{"mine": 1, "deny": ["d"], "servers": {"x": {}}}`, `"allow a", "allow b"`},
		{"everything", `{}`, `"allow a", "allow b", "servers x"`},
	} {
		for _, taken := range [][]string{{"allow A", "allow b", "deny d", "x"}, nil} {
			for _, built := range []bool{false, true} {
				opt := adopting(t, map[string][]string{"s.json": taken}, "s.json", original)
				if built {
					mustWrite(t, listing(all), opt)
				}
				put(t, opt.Dir, "s.json", c.text)
				refuse(t, listing(all), opt, "edited")
				_, diags := Write(t.Context(), listing(all), opt)
				if !strings.HasSuffix(diags[0].Message, ": "+c.again) || diags[0].Pos.File != "s.json" ||
					!strings.Contains(diags[0].Hint, "modec migrate") {
					t.Errorf("%s: got %v, hint %q, want it to end with %s", c.name, diags[0], diags[0].Hint, c.again)
				}
				check := opt
				check.Check = true
				if changes, diags := Write(t.Context(), listing(all), check); diags.HasErrors() || len(changes) != 1 ||
					changes[0].State != Edited {
					t.Errorf("%s: got %+v, %v, want one edited file", c.name, changes, diags)
				}
				opt.Force = true
				changes, diags := Write(t.Context(), listing(all), opt)
				if diags.HasErrors() || len(changes) != 1 || !slices.ContainsFunc(diags,
					func(d diag.Diagnostic) bool { return d.Code == diag.Kept }) {
					t.Errorf("%s: got %v, want force to write it and keep a copy", c.name, diags)
				}
			}
		}
	}
}

// A build puts back what only restrains, and what the source says anew is no revocation.
func TestARestraintIsWrittenAgain(t *testing.T) {
	opt := adopting(t, map[string][]string{"s.json": {"allow A", "deny d"}}, "s.json", original)
	mustWrite(t, listing(all), opt)
	put(t, opt.Dir, "s.json", strings.Replace(original, `"d"`, "", 1))
	if got := mustWrite(t, listing(all), opt); got["s.json"] != Update {
		t.Errorf("got %v, want an update", got)
	}
	mustWrite(t, listing(`{"deny": ["d"]}`), opt)
	put(t, opt.Dir, "s.json", `{"deny": ["d"]}`)
	mustWrite(t, listing(all), opt)
}

// A file that modec took over and somebody removed stays away; one that only modec wrote comes back.
func TestARemovedFileStaysAway(t *testing.T) {
	b := func() Build {
		b := listing(all)
		b.Outputs[0].Files = append(b.Outputs[0].Files, contract.File{Path: "agent.md", Data: []byte("modec's")},
			contract.File{Path: "new.md", Data: []byte("modec's")})
		return b
	}
	for _, built := range []bool{false, true} {
		for _, name := range []string{"agent.md", "s.json"} {
			opt := adopting(t, map[string][]string{"s.json": {"allow A"}}, "agent.md", "mine", "s.json", original)
			if built {
				mustWrite(t, b(), opt)
				removeFile(t, opt.Dir, "new.md")
			}
			removeFile(t, opt.Dir, name)
			refuse(t, b(), opt, "edited")
			check := opt
			check.Check = true
			changes, _ := Write(t.Context(), b(), check)
			if i := slices.IndexFunc(changes, func(c Change) bool { return c.Path == name }); i < 0 ||
				changes[i].State != Removed {
				t.Errorf("%s: got %+v, want it removed", name, changes)
			}
			opt.Force = true
			mustWrite(t, b(), opt)
		}
	}
	opt := adopting(t, nil, "agent.md", "mine")
	mustWrite(t, built("claude", "agent.md", "modec's"), opt)
	mustWrite(t, built("claude"), opt) // the source drops it
	mustWrite(t, built("claude", "agent.md", "modec's"), opt)
}

func removeFile(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

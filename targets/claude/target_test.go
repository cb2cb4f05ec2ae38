package claude

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

// What is imported decides as the model does over the same files: the project's, the
// user's, which no original contains, and flags.
func TestImportIsOpened(t *testing.T) {
	root := memfs.FS{
		".claude/settings.json":  []byte(`{"permissions": {"allow": ["Bash(make *)"], "deny": ["Read(.env)"]}}`),
		".claude/agents/docs.md": []byte("---\nname: docs\ndescription: d\ntools: Read\n---\nYou write.\n"),
	}
	home := memfs.FS{".claude/settings.json": []byte(`{"permissions": {"deny": ["WebFetch(domain:example.com)"]}}`)}
	for name, c := range map[string]struct {
		src       contract.Source
		originals int
		want      map[policy.Action]ir.Decision
	}{
		"files": {contract.Source{Root: root, Home: home}, 2, map[policy.Action]ir.Decision{
			{Group: ir.Command, Arg: "make all"}: ir.Allow,
			{Group: ir.Read, Arg: ".env"}:        ir.Deny,
			{Group: ir.Web, Arg: "example.com"}:  ir.Deny,
		}},
		"flags": {contract.Source{Root: root, Format: "claude-args", Args: []string{"--disallowedTools", "Bash"}}, 1,
			map[policy.Action]ir.Decision{
				{Group: ir.Command, Arg: "make all"}: ir.Deny,
				{Group: ir.Read, Arg: ".env"}:        ir.Deny,
				{Group: ir.Web, Arg: "example.com"}:  ir.Ask,
			}},
	} {
		got, diags := claude{}.Import(c.src)
		if diags.HasErrors() || len(got.Originals) != c.originals {
			t.Errorf("%s: got %d originals, %v", name, len(got.Originals), diags)
			continue
		}
		engine := policy.New(got.Project)
		ref := ir.SubjectRef{Role: got.Project.Roles[0].Name}
		for a, want := range c.want {
			s, err := engine.Subject(ref)
			if err != nil {
				t.Fatal(err)
			}
			by := got.Originals[0].Opened[0].Decide(ref, a).Decision
			is := s.Decide(a).Decision
			if is == ir.Agent { // left to Claude Code, as in the original
				is = claude{}.Alone(got.Project)[0].Decide(ref, a).Decision
			}
			if is != want || by != want {
				t.Errorf("%s, %s %q: got %s of the import and %s of the model, want %s",
					name, a.Group, a.Arg, is, by, want)
			}
		}
	}
}

package migrate_test

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/targets"
)

const (
	localSettings = ".claude/settings.local.json"
	allowsAll     = `{"permissions": {"allow": ["Bash"], "defaultMode": "bypassPermissions"}}`
	oneAgent      = "---\nname: a\ndescription: d\n---\nDo it.\n"
)

// matching is a git that ignores what one of some patterns of path.Match matches.
func matching(patterns ...string) func(context.Context, []string) []string {
	return func(_ context.Context, paths []string) []string {
		return slices.DeleteFunc(paths, func(name string) bool {
			return !slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
		})
	}
}

// TestPersonalFiles: what belongs to one person changes nothing of the source, and is named.
func TestPersonalFiles(t *testing.T) {
	shared := map[string]string{
		".claude/settings.json":    `{"permissions": {"allow": ["Bash(go test *)"], "deny": ["Read(.env)"]}}`,
		".claude/agents/team.md":   strings.ReplaceAll(oneAgent, "name: a", "name: team"),
		".roomodes":                oneMode,
		".cursor/permissions.json": `{"terminalAllowlist": ["git status"]}`,
		".mcp.json":                `{"mcpServers": {"docs": {"command": "docs-mcp"}}}`,
	}
	want := migrated(t, shared)
	for file, text := range map[string]string{
		localSettings:                   allowsAll,
		".claude/agents/own.md":         oneAgent,
		".claude/agents/deep/own.md":    oneAgent,
		".roo/mcp.json":                 `{"mcpServers": {"own": {"command": "own-mcp"}}}`,
		".roo/rules-a/own.md":           "Be mine.\n",
		".cursor/mcp.json":              `{"mcpServers": {"own": {"command": "own-mcp"}}}`,
		".cursor/cli.json":              `{"permissions": {"allow": ["Shell(rm)"], "deny": []}}`,
		".kilocodemodes":                strings.ReplaceAll(oneMode, "slug: a", "slug: own"),
		".zoomodes":                     strings.ReplaceAll(oneMode, "slug: a", "slug: own"),
		"services/api/" + localSettings: allowsAll,
	} {
		files := maps.Clone(shared)
		files[file] = text
		ignores := file
		if strings.HasSuffix(file, localSettings) {
			ignores = "" // by its name alone
		}
		res, diags := run(t, files, func(q *migrate.Request) { q.Ignored = matching(ignores) })
		if res == nil {
			t.Errorf("%s: %v", file, diags)
			continue
		}
		if got := texts(res); !maps.Equal(got, want) {
			t.Errorf("%s: got another source: %v, want %v", file, got, want)
		}
		if slices.Contains(res.Report.Files, file) {
			t.Errorf("%s: it was read", file)
		}
		named := func(x migrate.Seen) bool {
			return x.Reason == contract.Private && (x.Path == file || slices.Contains(x.Names, file)) &&
				strings.HasPrefix(x.Why, "personal")
		}
		if !slices.ContainsFunc(res.Report.Seen, named) {
			t.Errorf("%s: it is not named: %+v", file, res.Report.Seen)
		}
	}
}

func migrated(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	res, diags := run(t, files, nil)
	if res == nil {
		t.Fatal(diags)
	}
	return texts(res)
}

// texts returns the files of a new source.
func texts(res *migrate.Result) map[string]string {
	out := map[string]string{}
	for _, f := range res.Files {
		out[f.Path] = string(f.Data)
	}
	return out
}

// TestPersonalInPlace: where a personal file stands in for one that the team shares, the team's is
// imported, and a personal one that its agent would refuse stops nothing.
func TestPersonalInPlace(t *testing.T) {
	broken := map[string]string{".roomodes": "customModes: [", localSettings: "{", ".claude/settings.json": "{}",
		".mcp.json": `{"mcpServers": {"docs": {"command": "docs-mcp"}}}`}
	res, diags := run(t, broken, func(q *migrate.Request) { q.Ignored = matching(".roomodes") })
	if res == nil || len(res.Project.Modes) > 0 {
		t.Errorf("broken files: got %v", diags)
	}
	res, diags = run(t, map[string]string{localSettings: allowsAll, ".roomodes": oneMode}, func(q *migrate.Request) {
		q.Ignored = matching(".roomodes")
	})
	if res != nil || !strings.Contains(diags.Error(), "nothing-to-migrate") {
		t.Errorf("personal files alone: got %v", diags)
	}
}

// TestPersonalByName: a personal file is refused where somebody names it.
func TestPersonalByName(t *testing.T) {
	files := map[string]string{localSettings: allowsAll, "own.json": allowsAll,
		".claude/Settings.Local.json": allowsAll, ".roomodes": oneMode, "own.md": "Be mine.",
		".cursor/mcp.json": `{"mcpServers": {}}`, "sub/" + localSettings: allowsAll, "settings.local.json": allowsAll}
	for _, c := range []struct {
		from  string
		files []string
		args  []string
	}{
		{"", []string{localSettings}, nil},
		{"", []string{"./.claude/../" + localSettings}, nil},
		{"", []string{"sub/" + localSettings}, nil},
		{"claude", []string{"settings.local.json"}, nil},
		{"", []string{".claude/Settings.Local.json"}, nil},
		{"claude", []string{"own.json"}, nil},
		{"", []string{".roomodes"}, nil},
		{"", []string{".cursor/mcp.json"}, nil},
		{"claude-args", nil, []string{"claude", "--settings", localSettings}},
		{"claude-args", nil, []string{"claude", "--settings=own.json"}},
		{"claude-args", nil, []string{"claude", "--append-system-prompt-file", "own.md"}},
	} {
		res, diags := run(t, files, func(q *migrate.Request) {
			q.From, q.Files, q.Args, q.Ignored = c.from, c.files, c.args, matching("own.*", ".roomodes", ".cursor/*")
		})
		if res != nil || len(diags) != 1 || !strings.Contains(diags.Error(), "it is personal, and the source is the team's") {
			t.Errorf("%s %q %q: got %v", c.from, c.files, c.args, diags)
		}
	}
}

// TestPersonalIsNotImportable: what offers an import offers none of a personal file.
func TestPersonalIsNotImportable(t *testing.T) {
	req := migrate.Request{Root: fstest.MapFS{localSettings: {Data: []byte(allowsAll)}, ".roomodes": {Data: []byte(oneMode)}},
		Targets: targets.All(), Ignored: matching(".roomodes")}
	if got := migrate.AgentFiles(t.Context(), req); len(got) > 0 {
		t.Errorf("got %q, want none", got)
	}
	if got := migrate.Importable(t.Context(), req); len(got) > 0 {
		t.Errorf("got %q, want none", got)
	}
}

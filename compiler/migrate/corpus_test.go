package migrate_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/targets"
)

var update = flag.Bool("update", false, "rewrite the golden figures")

// corpus is a folder of real files of public repositories, which is no part of
// this one: MODEC_CORPUS names it.
func corpus(t *testing.T) string {
	dir := os.Getenv("MODEC_CORPUS")
	if dir == "" {
		t.Skip("MODEC_CORPUS names no folder of real files")
	}
	return dir
}

var today = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func run(t testing.TB, files map[string]string, change func(*migrate.Request)) (*migrate.Result, diag.List) {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	req := migrate.Request{Root: tree, Name: "example", Targets: targets.All(), Out: "modec", Today: today, Seed: 1}
	if change != nil {
		change(&req)
	}
	return migrate.Run(t.Context(), req)
}

// mostCompared bounds the work of one migration: three times what the largest real file
// takes.
const mostCompared = 100_000

// TestCorpus migrates every real file by itself: what its agent loads is
// imported, nothing is wider, and the share of rules that are understood is
// golden. What the agent refuses is refused at a line, or mended.
func TestCorpus(t *testing.T) {
	dir := corpus(t)
	var figures bytes.Buffer
	var total migrate.Share
	refused := roomodesRefused(t, dir)
	for _, kind := range []struct{ glob, from, as string }{
		{"roomodes/*modes", "roo", ".roomodes"},
		{"roomodes/*.yaml", "roo", ".roomodes"},
		{"roo_mcp/*.json", "roo", ".roo/mcp.json"},
		{"claude/settings/*.json", "claude", ".claude/settings.json"},
		{"claude/agents/*.md", "claude", ".claude/agents/a.md"},
		{"claude/mcp/*.json", "claude", ".mcp.json"},
		{"cursor/permissions/*.json", "cursor", ".cursor/permissions.json"},
		{"cursor/cli/*.json", "cursor", ".cursor/cli.json"},
		{"cursor/cli-config/*.json", "cursor", ".cursor/cli-config.json"},
		{"cursor/mcp/*.json", "cursor", ".cursor/mcp.json"},
	} {
		names, err := filepath.Glob(filepath.Join(dir, kind.glob))
		if err != nil {
			t.Fatal(err)
		}
		if migrate.Formats(targets.All())[kind.from] == nil {
			t.Errorf("no importer of %s", kind.from)
			continue
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			short := filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name)
			from := kind.from
			if strings.HasSuffix(name, ".kilocodemodes") {
				from = "kilo"
			}
			one := func(repair bool) (*migrate.Result, diag.List) {
				return run(
					t,
					map[string]string{kind.as: string(data)},
					func(r *migrate.Request) { r.From, r.Files, r.Repair = from, []string{kind.as}, repair },
				)
			}
			res, diags := one(false)
			if refused[filepath.Base(name)] {
				if res != nil || !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Code == "roo-import" && d.Pos.Line > 0 }) {
					t.Errorf("%s: got %v, want a refusal at its place", short, diags)
				}
				if res, diags = one(true); res == nil {
					t.Errorf("%s: not mended: %v", short, diags)
					continue
				}
			}
			if res == nil {
				fmt.Fprintf(&figures, "%s: %s\n", short, first(diags))
				continue
			}
			rep := &res.Report
			total.Understood, total.Of = total.Understood+rep.Rules.Understood, total.Of+rep.Rules.Of
			source, built := rep.Total()
			if n := source.Compared + built.Compared; n > mostCompared {
				t.Errorf("%s: compared %d decisions, want at most %d", short, n, mostCompared)
			}
			if source.Wider+built.Wider > 0 {
				t.Errorf("%s: %d wider", short, source.Wider+built.Wider)
			}
			kinds := map[contract.NoteKind]int{}
			for _, n := range rep.Notes {
				kinds[n.Kind]++
			}
			fmt.Fprintf(&figures, "%s: modes %d, roles %d, servers %d; rules %d of %d; ", short,
				len(rep.Modes), len(rep.Roles), len(rep.Servers), rep.Rules.Understood, rep.Rules.Of)
			fmt.Fprintf(&figures, "kept %d, refused %d, left %d, needs-decision %d, repaired %d\n",
				kinds[contract.Kept], kinds[contract.Refused], kinds[contract.Left],
				kinds[contract.NeedsDecision], kinds[contract.Repaired])
		}
	}
	fmt.Fprintf(&figures, "all: rules %d of %d, %.1f %%\n", total.Understood, total.Of, total.Percent())
	golden := filepath.Join("testdata", "corpus.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, figures.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), figures.String()); diff != "" {
		t.Errorf("%s is stale: `go test ./compiler/migrate -update` rewrites it (-golden +now)\n%s", golden, diff)
	}
}

func first(diags diag.List) string {
	if len(diags) == 0 {
		return "nothing"
	}
	return string(diags[0].Code) + ": " + diags[0].Message
}

// roomodesRefused is Roo's own verdict on the modes files.
func roomodesRefused(t *testing.T, dir string) map[string]bool {
	data, err := os.ReadFile(filepath.Join(dir, "roomodes", "oracle.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, line := range strings.Split(string(data), "\n")[1:] {
		if cells := strings.Split(line, "\t"); len(cells) > 5 {
			out[cells[0]] = cells[5] == "invalid"
		}
	}
	return out
}

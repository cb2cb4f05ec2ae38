package compiler_test

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/targets"
)

var update = flag.Bool("update", false, "rewrite what the invalid fixtures want, and lower the limits of testdata")

// elsewhere are the codes that no source alone can cause, and where they are
// tested.
var elsewhere = map[string]string{
	"bad-lock":            "compiler/output: TestBadLockStopsTheBuild",
	"cannot-write":        "compiler/output: TestWriteStaysInsideTheRoot",
	"edited":              "compiler/output: TestWriteLeavesForeignAndEditedFilesAlone",
	"missing":             "cmd/modec: annotations.txtar",
	"orphaned":            "cmd/modec: annotations.txtar",
	"times-shut":          "targets/claude: TestAllowsWithTimes",
	"touched":             "compiler/output: TestOwnEntriesOutliveClean",
	"stale":               "cmd/modec: annotations.txtar",
	"not-emitted":         "cmd/modec: targets.txtar",
	"not-ours":            "compiler/output: TestWriteLeavesForeignAndEditedFilesAlone",
	"kept":                "compiler/output: TestForceKeepsWhatWasThere",
	"no-original":         "compiler/output: TestAnOriginalOfSomebodyElse",
	"foreign-path":        "TestTargetsAreHeldToWhatTheyOwn",
	"path-collision":      "TestTargetsAreHeldToWhatTheyOwn",
	"cannot-merge":        "cmd/modec: build-shared.txtar",
	"unreadable-artifact": "mcpnest.TestBadTables",
	"wider":               "TestVerify",
	"import-widens":       "compiler/migrate: TestWider",
	"nothing-to-migrate":  "compiler/migrate: TestRefuses",
	"unknown-format":      "compiler/migrate: TestRefuses",
	"foreign-widening":    "TestVerifyDisk",
	"foreign-agent":       "cmd/modec: foreign-agent.txtar",
	"foreign-folder":      "cmd/modec: foreign-folder.txtar",
	"foreign-own":         "cmd/modec: foreign-programs.txtar",
	"foreign-subject":     "compiler/migrate: TestForeign",
	"link-out":            "cmd/modec: foreign-links.txtar",
	"interrupted":         "TestInterrupted",
	"old-modec":           "compiler/config: TestVersion",
	"bad-model":           "cmd/modec: serve.txtar, hook-refuses.txtar",
	"bad-pins":            "compiler/pins: TestBroken",
	"pin-changed":         "cmd/modec: inventory-pins.txtar",
	"pin-gone":            "cmd/modec: inventory-pins.txtar",
	"unpinned":            "cmd/modec: inventory-pins.txtar",
	"bad-pattern":         "a defect of modec: no source causes it",
	"bad-schema":          "a defect of modec: no source causes it",
	"exception-used":      "targets/roo: TestExceptions",
	"gap":                 "cmd/modec: partial.txtar",
}

// TestInvalid holds every fixture of fixtures/invalid to its diagnostics, all
// of them, in order. A file NAME.hex stands for bytes, NAME.size for a file of
// that many.
func TestInvalid(t *testing.T) {
	files, err := filepath.Glob("../fixtures/invalid/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var covered []diag.Code
	for _, file := range files {
		code := strings.TrimSuffix(filepath.Base(file), ".txtar")
		code, _, _ = strings.Cut(code, "_") // CODE_VARIANT.txtar
		covered = append(covered, diag.Code(code))
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { invalid(t, file, code) })
	}
	for _, d := range compiler.Codes() {
		if !slices.Contains(covered, d.Code) && elsewhere[string(d.Code)] == "" {
			t.Errorf("no fixture for %s", d.Code)
		}
		if len(d.Text) < 40 {
			t.Errorf("%s: %q is no paragraph", d.Code, d.Text)
		}
	}
}

func invalid(t *testing.T, file, code string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	want := -1
	for i, f := range a.Files {
		data := f.Data
		name := f.Name
		switch text := strings.TrimSpace(string(data)); {
		case name == "want":
			want = i
			continue
		case strings.HasSuffix(name, ".hex"):
			name = strings.TrimSuffix(name, ".hex")
			if data, err = hex.DecodeString(strings.Join(strings.Fields(text), "")); err != nil {
				t.Fatal(err)
			}
		case strings.HasSuffix(name, ".size"):
			name = strings.TrimSuffix(name, ".size")
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			data = []byte(strings.Repeat("x", n))
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, diags := compiler.Compile(
		t.Context(),
		compiler.Request{Root: dir, Targets: targets.All(), Today: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)},
	)
	var got strings.Builder
	found := false
	for _, d := range diags {
		got.WriteString(strings.ReplaceAll(d.String(), dir, "DIR") + "\n")
		for _, r := range d.Related {
			got.WriteString("  " + r.Pos.String() + ": " + r.Message + "\n")
		}
		if d.Hint != "" {
			got.WriteString("  hint: " + d.Hint + "\n")
		}
		found = found || string(d.Code) == code
	}
	if !found {
		t.Errorf("the fixture does not report %s:\n%s", code, got.String())
	}
	if *update {
		if want < 0 {
			a.Files = append(a.Files, txtar.File{Name: "want"})
			want = len(a.Files) - 1
		}
		a.Files[want].Data = []byte(got.String())
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want < 0 {
		t.Fatal("the fixture has no `-- want --`")
	}
	if diff := cmp.Diff(string(a.Files[want].Data), got.String()); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}

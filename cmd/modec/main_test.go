package main

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/session"
	"modec.dev/modec/targets"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

func TestMain(m *testing.M) {
	if os.Getenv(testHome) == "" {
		dir, err := os.MkdirTemp("", "modec-home-")
		if err != nil {
			panic(err)
		}
		os.Setenv(testHome, dir)
	}
	session.Home = func() (string, error) { return os.Getenv(testHome), nil }
	testscript.Main(m, map[string]func(){"modec": main, "shop-mcp": shopServer, "talk": talk})
}

// testHome names the variable with the home folder of the tests.
const testHome = "MODEC_TEST_HOME"

// testEnv is what a command of a test runs in, in a folder and with one output.
func testEnv(ctx context.Context, dir string, out io.Writer) *env {
	return &env{ctx: ctx, targets: targets.All(), ui: report.New(out, out, report.Options{Dir: dir}), dir: dir, cwd: dir}
}

// TestScript runs testdata/script: one behaviour of the command line a file.
func TestScript(t *testing.T) {
	fixtures, err := filepath.Abs("../../fixtures")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("FIXTURES", fixtures)
			e.Setenv("NO_COLOR", "1")
			e.Setenv(testHome, e.WorkDir+".home")
			e.Setenv("XDG_STATE_HOME", e.WorkDir+".state") // a record in the project would be the repository's
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755)
		},
	})
}

package replay

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
)

// Fixture returns the files of a fixture. The caller is a package two folders below targets.
func Fixture(t *testing.T, name string) memfs.FS {
	t.Helper()
	fsys, source := memfs.FS{}, os.DirFS(filepath.Join("..", "..", "..", "fixtures", name))
	err := fs.WalkDir(source, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			fsys[file], err = fs.ReadFile(source, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

// Target returns the target of a name.
func Target(t *testing.T, all []contract.Target, name string) contract.Judged {
	t.Helper()
	for _, at := range all {
		if j, ok := at.(contract.Judged); ok && at.Name() == name {
			return j
		}
	}
	t.Fatalf("there is no target %s", name)
	return nil
}

// Decider opens files, which a target decides on one surface and without a diagnostic.
func Decider(t *testing.T, of contract.Judged, files fs.FS, o contract.Options) contract.Decider {
	t.Helper()
	deciders, diags := of.Open(files, o)
	if len(diags) > 0 || len(deciders) != 1 {
		t.Fatalf("got %d deciders, %v", len(deciders), diags)
	}
	return deciders[0]
}

// QuestionsFile is what an agent's tests read: what it is asked, with what the model says.
const QuestionsFile = "../e2e/testdata/decide.json"

// Questions writes the file where update is set, and reports that. Else the file has to be what the model says today,
// of least calls at least.
func Questions(t *testing.T, update bool, agent string, text []byte, calls, least int) (written bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(QuestionsFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return true
	}
	if calls < least {
		t.Errorf("%s is asked about %d calls only", agent, calls)
	}
	if was, err := os.ReadFile(QuestionsFile); err != nil || !bytes.Equal(was, text) {
		t.Fatalf("%s is not what the model says today (%v): go test ./targets/%s/model -update, then make agents",
			QuestionsFile, err, agent)
	}
	return false
}

// JSON writes a value in one line.
func JSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

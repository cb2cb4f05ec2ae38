package verify_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/verify"
)

// fixtures are the sources whose subjects are verified with a memory here.
var fixtures = []string{"acme", "promise", "mcp-restrictions"}

func request(res *compiler.Result, m *verify.Memory) verify.Request {
	req := verify.Request{Policy: res.Policy, Targets: judgedTargets(res), Seed: 1, Memory: m}
	for i := range req.Targets {
		req.Targets[i].Files = res.FS()
	}
	return req
}

func report(t *testing.T, req verify.Request) string {
	t.Helper()
	r, err := verify.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A run that remembers all subjects reports what the run before did, to the byte, and leaves
// nothing new.
func TestMemory(t *testing.T) {
	for _, name := range fixtures {
		res := compile(t, name)
		without := report(t, request(res, nil))
		cold := verify.NewMemory("p", nil)
		if d := cmp.Diff(without, report(t, request(res, cold))); d != "" {
			t.Errorf("%s: without a memory, and with an empty one:\n%s", name, d)
		}
		if n, of := cold.Unchanged(); n != 0 || of == 0 {
			t.Errorf("%s: an empty memory knows %d of %d subjects", name, n, of)
		}
		data := cold.Bytes()
		warm := verify.NewMemory("p", data)
		if d := cmp.Diff(without, report(t, request(compile(t, name), warm))); d != "" {
			t.Errorf("%s: cold and warm:\n%s", name, d)
		}
		if n, of := warm.Unchanged(); n != of || of == 0 {
			t.Errorf("%s: it remembers %d of %d subjects", name, n, of)
		}
		if warm.Bytes() != nil {
			t.Errorf("%s: there is something new to remember", name)
		}
		t.Logf("%s: %d bytes", name, len(data))
	}
}

// What is damaged, or another program's, is not read.
func TestMemoryOfAnother(t *testing.T) {
	res := compile(t, "promise")
	m := verify.NewMemory("p", nil)
	report(t, request(res, m))
	data := m.Bytes()
	for name, m := range map[string]*verify.Memory{
		"another program":  verify.NewMemory("q", data),
		"a longer program": verify.NewMemory("", data),
		"nothing":          verify.NewMemory("p", []byte{}),
		"a part":           verify.NewMemory("p", data[:len(data)/2]),
		"more":             verify.NewMemory("p", append(slices.Clone(data), 0)),
		"a letter":         verify.NewMemory("p", flipped(data, len(data)/2)),
		"another form":     verify.NewMemory("p", flipped(data, 8)),
	} {
		report(t, request(res, m))
		if n, _ := m.Unchanged(); n != 0 {
			t.Errorf("%s: got %d subjects of it", name, n)
		}
	}
}

func flipped(data []byte, i int) []byte {
	data = slices.Clone(data)
	data[i] ^= 1
	return data
}
